#include <algorithm>
#include <optional>

#include "common/base/error.h"
#include "common/columns/create_column.h"
#include "server/storage/merge_tree.h"
#include "server/storage/merge_tree_scan.h"
#include "server/storage/row_order.h"

/// What happens to parts after they were inserted: merged, mutated, detached, attached, checked.
namespace shardd::storage {

namespace {

constexpr const char* kMergePrefix = "tmp_merge_";

/// Parts of so many rows are left alone: scans gain nothing from larger ones, and a merge holds its rows in
/// memory.
constexpr uint64_t kLargePartRows = 1000000;
constexpr uint64_t kMaxMergeRows = 4000000;
constexpr uint64_t kMaxMergeBytes = uint64_t{256} << 20;
/// A merge of fewer neighbours is not worth its writes.
constexpr size_t kMinMergeParts = 8;

std::vector<PartColumn> storedColumns(const TableSchema& schema) {
    std::vector<PartColumn> columns;
    for (const ColumnDefinition& column : schema.columns)
        if (column.default_kind != DefaultKind::Alias && column.default_kind != DefaultKind::Ephemeral)
            columns.push_back({column.name, column.type});
    return columns;
}

}  // namespace

/// Waits until none of the parts is claimed; keeps them until its end. Empty when the table is shut down.
class MergeTree::Claim {
public:
    Claim(MergeTree& table, const std::vector<PartPtr>& parts) : table_(table) {
        std::unique_lock lock(table_.claims_mutex_);
        table_.claims_changed_.wait(lock, [&] {
            return table_.stopped_ || std::none_of(parts.begin(), parts.end(), [&](const PartPtr& part) {
                       return table_.claimed_.contains(part->id());
                   });
        });
        if (table_.stopped_) return;
        for (const PartPtr& part : parts) {
            table_.claimed_.insert(part->id());
            ids_.push_back(part->id());
        }
    }

    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

    ~Claim() {
        {
            const std::lock_guard lock(table_.claims_mutex_);
            for (const uint64_t id : ids_) table_.claimed_.erase(id);
        }
        table_.claims_changed_.notify_all();
    }

    bool holds() const { return !ids_.empty(); }

private:
    MergeTree& table_;
    std::vector<uint64_t> ids_;
};

void MergeTree::shutdown() {
    std::unique_lock lock(claims_mutex_);
    stopped_ = true;
    claims_changed_.notify_all();
    claims_changed_.wait(lock, [this] { return claimed_.empty(); });
}

// -- merging --------------------------------------------------------------------------------------

bool MergeTree::replaceParts(const std::vector<PartPtr>& sources, const Block& rows, const PartInfo& info) {
    std::vector<ColumnPtr> partition_values = sources[0]->partitionValues();
    const UnfinishedPart unfinished =
        writeOnePart(rows, std::move(partition_values), info, kMergePrefix, true);
    PartPtr merged;
    try {
        merged = std::make_shared<Part>(directory_, unfinished.directory, info, traits_);
        const std::lock_guard change(changes_);
        const std::vector<PartPtr> active = parts();
        const bool all_there = std::all_of(sources.begin(), sources.end(), [&](const PartPtr& source) {
            return std::find(active.begin(), active.end(), source) != active.end();
        });
        if (!all_there) {
            discard({unfinished});
            return false;
        }
        files().rename(path(unfinished.directory), path(info.name()));
        merged->setDirectory(info.name());
        files().syncDirectory(directory_->path());
        const std::unique_lock lock(parts_mutex_);
        std::erase_if(parts_, [&](const PartPtr& part) {
            return std::find(sources.begin(), sources.end(), part) != sources.end();
        });
        parts_.push_back(merged);
        std::sort(parts_.begin(), parts_.end(), partLess);
    } catch (...) {
        // Without its final name it is nothing; with it, it covers its sources at the next start, and holds
        // the same rows.
        if (!merged || merged->directory() == unfinished.directory) discard({unfinished});
        throw;
    }
    // Their names are covered by the new part, so that a start between here and their removal reads the rows
    // once.
    for (const PartPtr& part : sources) part->removeWhenUnused();
    return true;
}

bool MergeTree::mergeParts(const std::vector<PartPtr>& sources) {
    const std::vector<PartColumn> columns = storedColumns(*schema());
    PartInfo info = sources[0]->info();
    std::vector<Block> blocks;
    for (const PartPtr& part : sources) {
        info.max_block = std::max(info.max_block, part->info().max_block);
        info.level = std::max(info.level, part->info().level);
        info.mutation = std::max(info.mutation, part->info().mutation);
        if (Block block = readWholePart(part, columns); !block.empty()) blocks.push_back(std::move(block));
    }
    if (blocks.empty()) return false;
    ++info.level;
    const Block rows = sortAndCollapse(concatenate(std::move(blocks)));
    return replaceParts(sources, rows, info);
}

bool MergeTree::optimize(const std::string& partition_id) {
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
        const Claim claim(*this, sources);
        if (claim.holds() && mergeParts(sources)) merged_any = true;
    }
    return merged_any;
}

std::vector<PartPtr> MergeTree::partsWorthMerging() const {
    std::vector<PartPtr> run;
    uint64_t rows = 0;
    uint64_t bytes = 0;
    for (const PartPtr& part : parts()) {
        const bool same_partition =
            !run.empty() && run.back()->info().partition_id == part->info().partition_id;
        const bool fits = rows + part->rows() <= kMaxMergeRows && bytes + part->dataBytes() <= kMaxMergeBytes;
        const bool small = part->rows() < kLargePartRows && !part->hasRowMask();
        if (!same_partition || !fits || !small) {
            if (run.size() >= kMinMergeParts) return run;
            run.clear();
            rows = bytes = 0;
        }
        if (!small) continue;
        run.push_back(part);
        rows += part->rows();
        bytes += part->dataBytes();
    }
    if (run.size() < kMinMergeParts) run.clear();
    return run;
}

bool MergeTree::mergeSomeParts() {
    const std::vector<PartPtr> sources = partsWorthMerging();
    if (sources.empty()) return false;
    const Claim claim(*this, sources);
    return claim.holds() && mergeParts(sources);
}

void MergeTree::mutate(const std::function<Block(Block)>& change) {
    const std::vector<PartColumn> columns = storedColumns(*schema());
    std::vector<PartPtr> all;
    std::optional<Claim> claim;
    for (bool all_there = false; !all_there;) {
        claim.reset();
        all = parts();
        if (all.empty()) return;
        claim.emplace(*this, all);
        if (!claim->holds()) throw Error(ErrorCode::ABORTED, "The table is being shut down");
        // A merge may have ended while we waited for its parts; later INSERTs do not matter.
        const std::vector<PartPtr> current = parts();
        all_there = std::all_of(all.begin(), all.end(), [&](const PartPtr& part) {
            return std::find(current.begin(), current.end(), part) != current.end();
        });
    }
    int64_t mutation = 0;
    {
        const std::lock_guard lock(changes_);
        mutation = next_block_++;
    }
    for (const PartPtr& part : all) {
        Block before = readWholePart(part, columns);
        Block after = change(std::move(before));
        if (after.empty()) {
            const std::lock_guard lock(changes_);
            const std::vector<PartPtr> active = parts();
            if (std::find(active.begin(), active.end(), part) != active.end()) removeParts({part}, false);
            continue;
        }
        PartInfo info = part->info();
        info.mutation = mutation;
        replaceParts({part}, after, info);
    }
}

// -- parts by hand --------------------------------------------------------------------------------

void MergeTree::removeParts(const std::vector<PartPtr>& removed, bool to_detached) {
    for (const PartPtr& part : removed) {
        if (to_detached) {
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
    const int64_t number = next_block_++;
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

}  // namespace shardd::storage
