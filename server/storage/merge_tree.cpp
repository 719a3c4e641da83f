#include "server/storage/merge_tree.h"

#include <algorithm>
#include <tuple>

#include "common/base/error.h"
#include "common/columns/create_column.h"
#include "server/storage/codecs.h"
#include "server/storage/merge_scheduler.h"
#include "server/storage/merge_tree_scan.h"
#include "server/storage/part_writer.h"
#include "server/storage/row_order.h"

namespace shardd::storage {

namespace {

constexpr const char* kInsertPrefix = "tmp_insert_";
constexpr const char* kFormatVersion = "1";
/// As ClickHouse squashes what one INSERT sends before it makes parts.
constexpr uint64_t kMinInsertRows = 1048449;
constexpr uint64_t kMinInsertBytes = 268402944;

class MergeTreeSink final : public BlockSink {
public:
    MergeTreeSink(MergeTree& table, const WriteRequest& request)
        : table_(table), schema_(table.schema()), stop_(request.stop) {
        durable_ = table.durableInserts();
        const auto number = [&](const char* name, uint64_t otherwise) {
            const auto text = request.setting ? request.setting(name) : std::nullopt;
            return text ? std::strtoull(text->c_str(), nullptr, 10) : otherwise;
        };
        max_partitions_ = number("max_partitions_per_insert_block", 100);
        min_rows_ = number("min_insert_block_size_rows", kMinInsertRows);
        min_bytes_ = number("min_insert_block_size_bytes", kMinInsertBytes);
    }

    MergeTreeSink(const MergeTreeSink&) = delete;
    MergeTreeSink& operator=(const MergeTreeSink&) = delete;

    ~MergeTreeSink() override { table_.discard(unfinished_); }

    void write(Block block) override {
        if (block.empty()) return;
        Block complete = completeBlock(block, *schema_);
        rows_ += complete.rows;
        bytes_ += complete.dataBytes();
        pending_.push_back(std::move(complete));
        if ((min_rows_ != 0 && rows_ >= min_rows_) || (min_bytes_ != 0 && bytes_ >= min_bytes_)) flush();
    }

    void finish() override {
        flush();
        table_.commit(std::exchange(unfinished_, {}), durable_);
    }

private:
    void flush() {
        if (pending_.empty()) return;
        if (stop_.stop_requested()) throw Error(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled");
        const Block block = pending_.size() == 1 ? std::move(pending_[0]) : concatenate(std::move(pending_));
        pending_.clear();
        rows_ = bytes_ = 0;
        for (UnfinishedPart& part : table_.writeParts(block, max_partitions_, durable_))
            unfinished_.push_back(std::move(part));
    }

    MergeTree& table_;
    std::shared_ptr<const TableSchema> schema_;
    std::stop_token stop_;
    bool durable_ = true;
    size_t max_partitions_ = 100;
    uint64_t min_rows_ = 0;
    uint64_t min_bytes_ = 0;
    std::vector<Block> pending_;
    uint64_t rows_ = 0;
    uint64_t bytes_ = 0;
    std::vector<UnfinishedPart> unfinished_;
};

std::shared_ptr<const PartTraits> makeTraits(const TableDefinition& definition,
                                             const KeyDescription& primary_key,
                                             const MergeTreeSettings& settings) {
    auto traits = std::make_shared<PartTraits>();
    traits->partition_key = definition.partition_key;
    for (const std::string& name : definition.partition_key.usedColumns())
        if (const ColumnDefinition* column = definition.schema.find(name))
            traits->minmax_columns.push_back({name, column->type});
    for (const KeyElement& element : primary_key.elements) traits->primary_key_types.push_back(element.type);
    traits->index_granularity = settings.index_granularity;
    return traits;
}

}  // namespace

MergeTree::MergeTree(const TableDefinition& definition, const EngineContext& context)
    : NamedTable(definition.schema),
      directory_(std::make_shared<TableDirectory>(*context.files, context.data_path, context.decoded_cache)),
      settings_(MergeTreeSettings::parse(definition.settings)),
      partition_key_(definition.partition_key),
      sorting_key_(definition.sorting_key),
      primary_key_(definition.primary_key.empty() ? definition.sorting_key : definition.primary_key),
      traits_(makeTraits(definition, primary_key_, settings_)),
      durable_inserts_(settings_.fsync_after_insert.value_or(context.durable_inserts)),
      merges_(context.merges) {
    if (context.data_path.empty())
        throw Error(ErrorCode::BAD_ARGUMENTS, "Engine {} needs a place on the disk, and the server has none",
                    definition.schema.engine);
    replacing_ = definition.schema.engine == "ReplacingMergeTree";
    if (replacing_ && !definition.arguments.empty())
        version_column_ = definition.arguments[0].word("version");
    if (!version_column_.empty() && !definition.schema.find(version_column_))
        throw Error(ErrorCode::NO_SUCH_COLUMN_IN_TABLE,
                    "version column {} does not exist in table declaration", version_column_);
    checkKeys(definition.attach);
    if (definition.attach && files().exists(path("format_version.txt"))) {
        load();
        return;
    }
    files().createDirectories(path("detached"));
    files().writeFile(path("format_version.txt"), kFormatVersion, true);
    files().syncDirectory(directory_->path());
    files().syncDirectory(parentPath(directory_->path()));
    files().syncDirectory(parentPath(parentPath(directory_->path())));
}

void MergeTree::checkKeys(bool attach) const {
    for (size_t i = 0; i < primary_key_.elements.size(); ++i) {
        if (i >= sorting_key_.elements.size() ||
            primary_key_.elements[i].text != sorting_key_.elements[i].text)
            throw Error(ErrorCode::BAD_ARGUMENTS,
                        "Primary key must be a prefix of the sorting key, but the column in the position {} "
                        "is {}, not {}",
                        i, i < sorting_key_.elements.size() ? sorting_key_.elements[i].text : "missing",
                        primary_key_.elements[i].text);
        for (size_t j = 0; j < i && !attach; ++j)
            if (primary_key_.elements[i].text == primary_key_.elements[j].text)
                throw Error(ErrorCode::BAD_ARGUMENTS,
                            "Primary key or secondary index contains a duplicate expression. To suppress "
                            "this exception, rerun the command "
                            "with setting 'allow_suspicious_indices = 1'");
    }
    if (attach || settings_.allow_nullable_key) return;
    for (const auto& [key, what] :
         {std::pair{&sorting_key_, "Sorting"}, std::pair{&partition_key_, "Partition"}})
        for (const KeyElement& element : key->elements)
            if (isNullableOrLowCardinalityNullable(element.type))
                throw Error(ErrorCode::ILLEGAL_COLUMN,
                            "{} key contains nullable columns, but merge tree setting `allow_nullable_key` "
                            "is disabled",
                            what);
}

// -- start ----------------------------------------------------------------------------------------

void MergeTree::moveToDetached(const std::string& directory, const std::string& prefix) {
    files().createDirectories(path("detached"));
    std::string target = "detached/" + prefix + directory;
    for (int attempt = 1; files().exists(path(target)); ++attempt)
        target = fmt::format("detached/{}{}_try{}", prefix, directory, attempt);
    files().rename(path(directory), path(target));
}

void MergeTree::load() {
    const std::string version = files().readFile(path("format_version.txt"), 64);
    if (version != kFormatVersion)
        throw Error(ErrorCode::UNKNOWN_FORMAT_VERSION,
                    "Directory {} is of format version {}, only 1 is known", directory_->path(), version);
    std::vector<PartInfo> found;
    for (const auto& entry : files().list(directory_->path())) {
        if (!entry.is_directory) continue;
        if (entry.name.starts_with("tmp_") || entry.name.starts_with("delete_tmp_")) {
            files().removeRecursively(path(entry.name));
            continue;
        }
        const auto info = PartInfo::parse(entry.name);
        if (!info) continue;
        next_block_ = std::max({next_block_, info->max_block + 1, info->mutation + 1});
        found.push_back(*info);
    }
    // Whoever may cover others comes first. What a good part covers goes, however broken it is; what a broken
    // part would cover stays.
    std::sort(found.begin(), found.end(), [](const PartInfo& a, const PartInfo& b) {
        return std::tie(b.level, b.mutation) < std::tie(a.level, a.mutation);
    });
    for (const PartInfo& info : found) {
        const bool covered = std::any_of(parts_.begin(), parts_.end(),
                                         [&](const PartPtr& part) { return part->info().covers(info); });
        if (covered) {
            files().removeRecursively(path(info.name()));
            continue;
        }
        try {
            parts_.push_back(std::make_shared<Part>(directory_, info.name(), info, traits_));
        } catch (const Error&) {
            moveToDetached(info.name(), "broken-on-start_");
        }
    }
    std::sort(parts_.begin(), parts_.end(), partLess);
}

// -- reading --------------------------------------------------------------------------------------

std::vector<PartPtr> MergeTree::parts() const {
    const std::shared_lock lock(parts_mutex_);
    return parts_;
}

PartSnapshot MergeTree::snapshot() const {
    return {.schema = schema(),
            .parts = parts(),
            .minmax_columns = traits_->minmax_columns,
            .primary_key = primary_key_};
}

std::vector<BlockSourcePtr> MergeTree::scan(const ScanRequest& request) const {
    return scanParts(snapshot(), request);
}

std::unique_ptr<KeyRangeScan> MergeTree::scanKeyRanges(const ScanRequest& request,
                                                       size_t elements,
                                                       uint64_t target_rows) const {
    return KeyRangeScan::make(snapshot(), request, elements, target_rows);
}

std::optional<uint64_t> MergeTree::totalRows() const {
    uint64_t rows = 0;
    for (const PartPtr& part : parts()) {
        if (part->hasRowMask()) return std::nullopt;
        rows += part->rows();
    }
    return rows;
}

std::optional<uint64_t> MergeTree::totalBytes() const {
    uint64_t bytes = 0;
    for (const PartPtr& part : parts()) bytes += part->checksums().totalBytes();
    return bytes;
}

// -- writing --------------------------------------------------------------------------------------

BlockSinkPtr MergeTree::write(const WriteRequest& request) {
    return std::make_unique<MergeTreeSink>(*this, request);
}

Block MergeTree::sortAndCollapse(Block rows) const {
    if (const PodVector<RowIndex> order = sortedRows(rows, sorting_key_); !order.empty())
        // One at a time: two copies of all columns are not there at once.
        for (NamedColumn& column : rows.columns) column.column = column.column->gather(order.span());
    return replacing_ && !sorting_key_.empty() ? keepLatest(rows, sorting_key_, version_column_) : rows;
}

bool MergeTree::isSmall(const Block& block) const {
    // Parts without adaptive granules are for servers that know only Wide ones.
    return settings_.index_granularity_bytes != 0 && (block.dataBytes() < settings_.min_bytes_for_wide_part ||
                                                      block.rows < settings_.min_rows_for_wide_part);
}

UnfinishedPart MergeTree::writeOnePart(const Block& sorted,
                                       std::vector<ColumnPtr> partition_values,
                                       PartInfo info,
                                       const char* prefix,
                                       bool durable) {
    info.partition_id = partitionId(partition_key_, partition_values, 0);
    UnfinishedPart unfinished{.directory = prefix + info.name(), .info = std::move(info)};
    PartContent content{.block = &sorted,
                        .primary_key = &primary_key_,
                        .partition_key = &partition_key_,
                        .partition_values = std::move(partition_values),
                        .minmax_columns = traits_->minmax_columns,
                        .codecs = {},
                        .index_granularity = settings_.index_granularity,
                        .index_granularity_bytes = settings_.index_granularity_bytes,
                        .string_sizes = settings_.string_sizes,
                        .compact = isSmall(sorted),
                        .durable = durable};
    for (const ColumnDefinition& column : schema()->columns)
        if (!column.codec.empty()) content.codecs[column.name] = parseCodec(column.codec);
    try {
        writePart(files(), path(unfinished.directory), content);
    } catch (...) {
        discard({unfinished});
        throw;
    }
    return unfinished;
}

std::vector<UnfinishedPart> MergeTree::writeParts(const Block& block, size_t max_partitions, bool durable) {
    std::vector<UnfinishedPart> unfinished;
    try {
        for (PartitionRows& partition : splitByPartition(block, partition_key_, max_partitions)) {
            Block rows = partition.rows.empty() ? block : block.gather(partition.rows.span());
            rows = sortAndCollapse(std::move(rows));
            // A provisional name: the block number comes with the commit, so that no part has a number
            // between those of two others and is not there yet when these are merged.
            const int64_t number = next_temporary_.fetch_add(1);
            unfinished.push_back(writeOnePart(rows, std::move(partition.values),
                                              {.partition_id = {}, .min_block = number, .max_block = number},
                                              kInsertPrefix, durable));
        }
    } catch (...) {
        discard(unfinished);
        throw;
    }
    return unfinished;
}

void MergeTree::commit(std::vector<UnfinishedPart> unfinished, bool durable) {
    if (unfinished.empty()) return;
    std::vector<PartPtr> added;
    try {
        for (const UnfinishedPart& part : unfinished)
            added.push_back(std::make_shared<Part>(directory_, part.directory, part.info, traits_));
    } catch (...) {
        discard(unfinished);
        throw;
    }
    const std::lock_guard change(changes_);
    size_t renamed = 0;
    try {
        for (; renamed < added.size(); ++renamed) {
            const int64_t number = next_block_++;
            added[renamed]->setBlocks(number, number);
            files().rename(path(unfinished[renamed].directory), path(added[renamed]->name()));
            added[renamed]->setDirectory(added[renamed]->name());
        }
        if (durable) files().syncDirectory(directory_->path());
    } catch (...) {
        // Nothing was acknowledged: take back what has its name already.
        for (size_t i = 0; i < renamed; ++i) added[i]->removeWhenUnused();
        discard({unfinished.begin() + static_cast<ptrdiff_t>(renamed), unfinished.end()});
        throw;
    }
    {
        const std::unique_lock lock(parts_mutex_);
        parts_.insert(parts_.end(), added.begin(), added.end());
        std::sort(parts_.begin(), parts_.end(), partLess);
    }
    if (merges_) merges_->wake(weak_from_this());
}

void MergeTree::discard(const std::vector<UnfinishedPart>& unfinished) noexcept {
    for (const UnfinishedPart& part : unfinished) {
        try {
            files().removeRecursively(path(part.directory));
        } catch (...) {
            // The next start removes it by its prefix.
        }
    }
}

std::vector<EngineInfo> mergeTreeEngines() {
    std::vector<EngineInfo> engines;
    for (const char* name : {"MergeTree", "ReplacingMergeTree", "SummingMergeTree", "AggregatingMergeTree",
                             "CollapsingMergeTree", "VersionedCollapsingMergeTree"}) {
        engines.push_back(
            {.name = name,
             .create = [](const TableDefinition& definition, const EngineContext& context) -> TablePtr {
                 return std::make_shared<MergeTree>(definition, context);
             },
             .takes_arguments =
                 std::string_view(name) != "MergeTree" && std::string_view(name) != "AggregatingMergeTree",
             .takes_settings = true,
             .takes_keys = true,
             .takes_ttl = true,
             .takes_indices = true,
             .stores_data = true});
    }
    return engines;
}

}  // namespace shardd::storage
