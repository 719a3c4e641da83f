#include "server/storage/merge_tree.h"

#include <algorithm>

#include "common/base/error.h"
#include "common/columns/create_column.h"
#include "server/storage/codecs.h"
#include "server/storage/merge_tree_scan.h"
#include "server/storage/part_reader.h"
#include "server/storage/part_writer.h"
#include "server/storage/row_order.h"

namespace shardd::storage {

namespace {

constexpr const char* kInsertPrefix = "tmp_insert_";
constexpr const char* kMergePrefix = "tmp_merge_";
constexpr const char* kFormatVersion = "1";
/// As ClickHouse squashes what one INSERT sends before it makes parts.
constexpr uint64_t kMinInsertRows = 1048449;
constexpr uint64_t kMinInsertBytes = 268402944;

bool partLess(const PartPtr& a, const PartPtr& b) { return a->info() < b->info(); }

class MergeTreeSink final : public BlockSink {
public:
    MergeTreeSink(MergeTree& table, const WriteRequest& request)
        : table_(table), schema_(table.schema()), stop_(request.stop) {
        durable_ = table.settings().fsync_after_insert;
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
      traits_(makeTraits(definition, primary_key_, settings_)) {
    if (context.data_path.empty())
        throw Error(ErrorCode::BAD_ARGUMENTS, "Engine {} needs a place on the disk, and the server has none",
                    definition.schema.engine);
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
    std::vector<PartPtr> loaded;
    for (const auto& entry : files().list(directory_->path())) {
        if (!entry.is_directory) continue;
        if (entry.name.starts_with("tmp_") || entry.name.starts_with("delete_tmp_")) {
            files().removeRecursively(path(entry.name));
            continue;
        }
        const auto info = PartInfo::parse(entry.name);
        if (!info) continue;
        next_block_ = std::max(next_block_.load(), info->max_block + 1);
        try {
            loaded.push_back(std::make_shared<Part>(directory_, entry.name, *info, traits_));
        } catch (const Error&) {
            moveToDetached(entry.name, "broken-on-start_");
        }
    }
    for (const PartPtr& part : loaded) {
        const bool covered = std::any_of(loaded.begin(), loaded.end(), [&](const PartPtr& other) {
            return other->info().covers(part->info());
        });
        if (covered)
            part->removeWhenUnused();
        else
            parts_.push_back(part);
    }
    std::sort(parts_.begin(), parts_.end(), partLess);
}

// -- reading --------------------------------------------------------------------------------------

std::vector<PartPtr> MergeTree::parts() const {
    const std::shared_lock lock(parts_mutex_);
    return parts_;
}

std::vector<BlockSourcePtr> MergeTree::scan(const ScanRequest& request) const {
    return scanParts({.schema = schema(),
                      .parts = parts(),
                      .minmax_columns = traits_->minmax_columns,
                      .primary_key = primary_key_},
                     request);
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
            if (const PodVector<RowIndex> order = sortedRows(rows, sorting_key_); !order.empty())
                rows = rows.gather(order.span());
            const int64_t number = next_block_.fetch_add(1);
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
    const std::unique_lock lock(parts_mutex_);
    parts_.insert(parts_.end(), added.begin(), added.end());
    std::sort(parts_.begin(), parts_.end(), partLess);
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

// -- parts by hand --------------------------------------------------------------------------------

void MergeTree::removeParts(const std::vector<PartPtr>& removed, bool to_detached) {
    for (const PartPtr& part : removed) {
        if (to_detached) {
            // Queries that read it go on by their open files; new files of it are not opened by name any
            // longer.
            files().createDirectories(path("detached"));
            std::string target = part->name();
            for (int attempt = 1; files().exists(path("detached/" + target)); ++attempt)
                target = fmt::format("{}_try{}", part->name(), attempt);
            files().rename(path(part->directory()), path("detached/" + target));
            part->setDirectory("detached/" + target);
        } else {
            // Hidden from the next start before it is gone, so that a crash half way brings nothing back.
            files().rename(path(part->directory()), path("delete_tmp_" + part->name()));
            part->setDirectory("delete_tmp_" + part->name());
            part->removeWhenUnused();
        }
    }
    files().syncDirectory(directory_->path());
    const std::unique_lock lock(parts_mutex_);
    std::erase_if(parts_, [&](const PartPtr& part) {
        return std::find(removed.begin(), removed.end(), part) != removed.end();
    });
}

void MergeTree::truncate() {
    const std::lock_guard change(changes_);
    removeParts(parts(), false);
}

void MergeTree::drop() {
    {
        const std::unique_lock lock(parts_mutex_);
        parts_.clear();
    }
    directory_->removeWhenUnused();
}

void MergeTree::removePartition(const std::string& partition_id, bool to_detached) {
    const std::lock_guard change(changes_);
    std::vector<PartPtr> removed;
    for (const PartPtr& part : parts())
        if (partition_id.empty() || part->info().partition_id == partition_id) removed.push_back(part);
    removeParts(removed, to_detached);
}

void MergeTree::removePart(const std::string& name, bool to_detached) {
    const std::lock_guard change(changes_);
    for (const PartPtr& part : parts()) {
        if (part->name() != name) continue;
        removeParts({part}, to_detached);
        return;
    }
    throw Error(ErrorCode::NO_SUCH_DATA_PART, "No part {} in table", name);
}

void MergeTree::attachPart(const std::string& name) {
    const auto info = PartInfo::parse(name);
    if (!info) throw Error(ErrorCode::BAD_DATA_PART_NAME, "Invalid part name: {}", name);
    if (!files().exists(path("detached/" + name)))
        throw Error(ErrorCode::BAD_DATA_PART_NAME, "No detached part {} in table", name);
    const std::lock_guard change(changes_);
    const int64_t number = next_block_.fetch_add(1);
    const PartInfo attached{.partition_id = info->partition_id, .min_block = number, .max_block = number};
    // Loaded before it moves: a broken one stays where it is.
    auto part = std::make_shared<Part>(directory_, "detached/" + name, attached, traits_);
    files().rename(path("detached/" + name), path(attached.name()));
    files().syncDirectory(directory_->path());
    part->setDirectory(attached.name());
    const std::unique_lock lock(parts_mutex_);
    parts_.push_back(std::move(part));
    std::sort(parts_.begin(), parts_.end(), partLess);
}

void MergeTree::attachPartition(const std::string& partition_id) {
    for (const auto& entry : files().list(path("detached"))) {
        const auto info = PartInfo::parse(entry.name);
        if (entry.is_directory && info && (partition_id.empty() || info->partition_id == partition_id))
            attachPart(entry.name);
    }
}

std::string MergeTree::partitionIdOf(const std::vector<Value>& values,
                                     const std::function<Value(const Value&, const TypePtr&)>& cast) const {
    std::vector<ColumnPtr> columns;
    for (size_t i = 0; i < values.size(); ++i) {
        const TypePtr type = removeLowCardinalityRecursively(partition_key_.elements[i].type);
        const bool is_text = values[i].kind() == Value::Kind::String && !removeNullable(type)->isString();
        MutableColumnPtr column = createColumn(*type);
        column->insert(is_text ? cast(values[i], type) : values[i]);
        columns.push_back(std::move(column));
    }
    return partitionId(partition_key_, columns, 0);
}

bool MergeTree::optimize(const std::string& partition_id) {
    const std::lock_guard change(changes_);
    const std::vector<PartPtr> all = parts();
    bool merged_any = false;
    for (size_t first = 0; first < all.size();) {
        size_t last = first;
        while (last < all.size() && all[last]->info().partition_id == all[first]->info().partition_id) ++last;
        const std::vector<PartPtr> sources(all.begin() + static_cast<ptrdiff_t>(first),
                                           all.begin() + static_cast<ptrdiff_t>(last));
        first = last;
        if (sources.size() < 2 || (!partition_id.empty() && sources[0]->info().partition_id != partition_id))
            continue;
        std::vector<PartColumn> columns;
        Block header;
        for (const ColumnDefinition& column : schema()->columns) {
            if (column.default_kind == DefaultKind::Alias || column.default_kind == DefaultKind::Ephemeral)
                continue;
            columns.push_back({column.name, column.type});
        }
        std::vector<Block> blocks;
        PartInfo info = sources[0]->info();
        for (const PartPtr& part : sources) {
            info.max_block = std::max(info.max_block, part->info().max_block);
            info.level = std::max(info.level, part->info().level);
            info.mutation = std::max(info.mutation, part->info().mutation);
            if (Block block = readWholePart(part, columns); !block.empty())
                blocks.push_back(std::move(block));
        }
        ++info.level;
        Block rows = concatenate(std::move(blocks));
        if (const PodVector<RowIndex> order = sortedRows(rows, sorting_key_); !order.empty())
            rows = rows.gather(order.span());
        const UnfinishedPart unfinished =
            writeOnePart(rows, sources[0]->partitionValues(), info, kMergePrefix, true);
        auto merged = std::make_shared<Part>(directory_, unfinished.directory, info, traits_);
        files().rename(path(unfinished.directory), path(info.name()));
        files().syncDirectory(directory_->path());
        merged->setDirectory(info.name());
        const std::unique_lock lock(parts_mutex_);
        std::erase_if(parts_, [&](const PartPtr& part) {
            return std::find(sources.begin(), sources.end(), part) != sources.end();
        });
        parts_.push_back(std::move(merged));
        std::sort(parts_.begin(), parts_.end(), partLess);
        // Their names are covered by the merged part, so that a start between here and their removal reads
        // the rows once.
        for (const PartPtr& part : sources) part->removeWhenUnused();
        merged_any = true;
    }
    return merged_any;
}

std::vector<std::pair<std::string, std::string>> MergeTree::check() const {
    std::vector<std::pair<std::string, std::string>> results;
    for (const PartPtr& part : parts()) {
        std::string wrong;
        try {
            for (const auto& [name, checksum] : part->checksums().files) {
                if (name.ends_with(".proj")) continue;
                FileHasher hasher;
                hasher.update(files().readFile(part->path() + "/" + name, UINT64_MAX));
                if (hasher.bytes() != checksum.bytes || !(hasher.hash() == checksum.hash))
                    throw Error(ErrorCode::CHECKSUM_DOESNT_MATCH,
                                "Checksum mismatch for file {} in data part {}", name, part->name());
            }
            for (const PartColumn& column : part->columns()) readWholePart(part, {column});
        } catch (const Error& error) {
            wrong = error.message();
        }
        results.emplace_back(part->name(), wrong);
    }
    return results;
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
