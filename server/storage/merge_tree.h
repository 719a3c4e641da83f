#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "server/storage/engine.h"
#include "server/storage/memory_table.h"
#include "server/storage/merge_tree_settings.h"
#include "server/storage/part.h"

namespace shardd::storage {

class KeyRangeScan;
class MergeScheduler;
struct PartSnapshot;

/// Parts written by one INSERT under temporary names: all of them become visible, or none.
struct UnfinishedPart {
    std::string directory;
    PartInfo info;
};

/// ENGINE = MergeTree: a set of immutable sorted parts in a directory of our own. An INSERT adds parts by
/// renames after everything is synced; a scan works on the parts of the moment it was made. Source:
/// docs/storage-format.md.
class MergeTree final : public NamedTable, public std::enable_shared_from_this<MergeTree> {
public:
    /// Makes the table's directory, or (definition.attach) loads its parts: what was not finished is removed,
    /// what is covered too, what is broken goes to detached/broken-on-start_<part>.
    MergeTree(const TableDefinition& definition, const EngineContext& context);

    std::vector<BlockSourcePtr> scan(const ScanRequest& request) const override;
    BlockSinkPtr write(const WriteRequest& request) override;
    std::optional<uint64_t> totalRows() const override;
    std::optional<uint64_t> totalBytes() const override;
    void truncate() override;
    void drop() override;

    /// Parts are read by their own columns: what they lack gets defaults, what the table no longer has is
    /// left unread.
    void alter(const TableSchema& schema) override { setSchema(schema); }

    bool supportsPrewhere() const override { return true; }

    /// A scan of what would be left if all parts were merged: one source, which reads everything before its
    /// first block. PREWHERE comes before, as in ClickHouse. NOT_IMPLEMENTED (48) for engines whose merging
    /// is not known here.
    std::vector<BlockSourcePtr> scanFinal(const ScanRequest& request) const;

    /// As scan(), range by range of the primary key's first `elements`. nullptr when that cannot be.
    std::unique_ptr<KeyRangeScan> scanKeyRanges(const ScanRequest& request,
                                                size_t elements,
                                                uint64_t target_rows) const;

    /// The active parts, by partition and block.
    std::vector<PartPtr> parts() const;

    // -- parts by hand ----------------------------------------------------------------------------
    /// A part directory in detached/ gets a new block number and becomes active.
    void attachPart(const std::string& name);
    /// All parts of the partition in detached/ (all partitions when it is empty).
    void attachPartition(const std::string& partition_id);
    /// Every part of the partition, or all when `partition_id` is empty: to detached/, or gone.
    void removePartition(const std::string& partition_id, bool to_detached);
    void removePart(const std::string& name, bool to_detached);

    /// Merges all parts of each partition (or of one) into one part each. False when there was nothing to do.
    bool optimize(const std::string& partition_id);

    /// One merge of small parts, when there are too many of them beside each other. False when there was
    /// nothing to do.
    bool mergeSomeParts();

    /// ALTER … DELETE and UPDATE: every part is written anew with the rows that `change` makes of its rows
    /// (the same columns, still in order). A part without rows left is removed.
    void mutate(const std::function<Block(Block)>& change);

    /// No merge begins any more, and none is running when it returns.
    void shutdown() override;

    /// Reads every part against its checksums; the names of parts with what is wrong with them (empty:
    /// nothing).
    std::vector<std::pair<std::string, std::string>> check() const;

    // -- for the sink -----------------------------------------------------------------------------
    /// fsync_after_insert: on unless the table or the configuration says otherwise, so that an acknowledged
    /// INSERT survives the loss of power.
    bool durableInserts() const { return durable_inserts_; }

    const KeyDescription& sortingKey() const { return sorting_key_; }

    /// The first elements of the sorting key.
    const KeyDescription& primaryKey() const { return primary_key_; }

    const KeyDescription& partitionKey() const { return partition_key_; }

    /// The id of the partition with these values; texts that are not of the key's type go through `cast`.
    std::string partitionIdOf(const std::vector<Value>& values,
                              const std::function<Value(const Value&, const TypePtr&)>& cast) const;

    /// Writes the rows of `block` as unfinished parts.
    std::vector<UnfinishedPart> writeParts(const Block& block, size_t max_partitions, bool durable);
    void commit(std::vector<UnfinishedPart> unfinished, bool durable);
    void discard(const std::vector<UnfinishedPart>& unfinished) noexcept;

private:
    PartSnapshot snapshot() const;

    std::string path(const std::string& name) const { return directory_->path() + "/" + name; }

    FileSystem& files() const { return directory_->files(); }

    void load();
    void moveToDetached(const std::string& directory, const std::string& prefix);
    UnfinishedPart writeOnePart(const Block& sorted,
                                std::vector<ColumnPtr> partition_values,
                                PartInfo info,
                                const char* prefix,
                                bool durable);
    bool isSmall(const Block& block) const;
    /// In the order of the sorting key, and with what the engine does to rows that have the same key.
    Block sortAndCollapse(Block rows) const;
    void removeParts(const std::vector<PartPtr>& removed, bool to_detached);
    void checkKeys(bool attach) const;

    /// Parts that a merge or a mutation is reading: nobody else takes them meanwhile.
    class Claim;

    bool mergeParts(const std::vector<PartPtr>& sources);
    /// Puts `rows` in the place of the claimed sources; nothing happens when one of them is gone meanwhile.
    bool replaceParts(const std::vector<PartPtr>& sources, const Block& rows, const PartInfo& info);
    std::vector<PartPtr> partsWorthMerging() const;

    std::shared_ptr<TableDirectory> directory_;
    MergeTreeSettings settings_;
    KeyDescription partition_key_;
    KeyDescription sorting_key_;
    KeyDescription primary_key_;
    std::shared_ptr<const PartTraits> traits_;
    bool durable_inserts_;
    bool replacing_ = false;  // ReplacingMergeTree
    std::string version_column_;

    /// Changes of the set of parts exclude one another; taken before parts_mutex_.
    std::mutex changes_;
    mutable std::shared_mutex parts_mutex_;
    std::vector<PartPtr> parts_;  // guarded by parts_mutex_; by partition and block
    int64_t next_block_ = 1;      // guarded by changes_
    std::atomic<int64_t> next_temporary_ = 1;

    std::shared_ptr<MergeScheduler> merges_;  // nullptr: parts are merged only when asked
    std::mutex claims_mutex_;
    std::condition_variable claims_changed_;
    std::set<uint64_t> claimed_;  // ids of parts; guarded by claims_mutex_
    bool stopped_ = false;        // guarded by claims_mutex_
};

/// The table as FINAL reads it. ILLEGAL_FINAL (181) for engines to which it means nothing.
TablePtr finalTable(const TablePtr& table);

/// By partition and block.
inline bool partLess(const PartPtr& a, const PartPtr& b) { return a->info() < b->info(); }

/// MergeTree and its family. What the others do when merging happens here only in merges, as in ClickHouse
/// readers must not assume that it has happened.
std::vector<EngineInfo> mergeTreeEngines();

}  // namespace shardd::storage
