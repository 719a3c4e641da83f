#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "server/exec/group_spill.h"
#include "server/exec/key_table.h"
#include "server/exec/operator.h"
#include "server/exec/query_context.h"
#include "server/plan/plan.h"

namespace shardd {
class DictionaryColumn;
}

namespace shardd::exec {

class BucketStreams;
class TaskOrder;
struct ShardBlock;

/// What an aggregation does, for AggregateStep, MergeStatesStep and each level of WITH ROLLUP alike.
struct AggregationPlan {
    std::vector<std::string> keys;
    std::vector<plan::AggregateCall> calls;
    /// Arguments are one column of states each, which are merged.
    bool merges_states = false;
    /// Results come out; else states.
    bool finish = true;
    bool empty_result_without_input = false;
    uint64_t max_groups = 0;
    plan::OverflowMode overflow = plan::OverflowMode::Throw;
    bool overflow_row = false;
    uint64_t limit_groups = 0;
    /// Many groups come out bucket by bucket in ascending order, see storage/group_buckets.h.
    bool by_buckets = false;
    /// Calls that add() leaves alone: addDeferred() fills them. Only without keys.
    std::vector<size_t> deferred_calls = {};
    /// How many add() and finish() with; 0: as many as the query has.
    size_t workers = 0;
    /// Rows are few enough for a worker's table to hold all of their groups, about so many; 0 if it is not
    /// so.
    size_t groups_in_table = 0;
};

/// GROUP BY, from blocks of rows or of states to blocks of groups.
///
/// Every worker has a table that fits its share of the cache. A table that is full is forgotten while its
/// groups' rows stay, and rows made from then on go to 256 partitions; keys that do not repeat go there
/// without being looked up. At the end rows of equal keys are merged, partition by partition, in parallel,
/// each in cache, and each partition is pushed on the moment it is finished.
///
/// When the query's memory passes max_bytes_before_external_group_by, workers put their groups on the disk,
/// partition by partition, and begin anew; the end then takes one partition after the other from there.
///
/// Threads: add() by each worker for itself; finish() by one thread, which takes others from the pool.
class Aggregator {
public:
    /// `header` are the columns that come out: keys, then calls. Calls without header columns (totals) may be
    /// taken by finishedRow() instead.
    /// Errors: BAD_ARGUMENTS for a max_bytes_ratio_before_external_group_by outside [0, 1).
    Aggregator(AggregationPlan plan, Block header, QueryContext& context);
    ~Aggregator();

    /// Enough when group_by_overflow_mode = 'break' says so.
    Flow add(size_t worker, const Block& block);

    /// Rows for one deferred call only.
    void addDeferred(size_t worker, const Block& block, size_t call);

    /// Groups of one worker so far, those that it met twice counted twice.
    size_t groupsOf(size_t worker) const;

    /// All groups to `sink`; does not finish `sink`.
    void finish(Sink& sink);

    /// finish() with the groups of streams that bring theirs bucket by bucket: each is merged with what add()
    /// took in of its bucket and pushed on, so that of those streams no more than a few buckets are here at a
    /// time. Errors: of the streams; INCORRECT_DATA for keys that are not of the bucket they came in.
    void mergeBuckets(BucketStreams& streams, Sink& sink);

    /// Whether the keys of a block of states are all of the bucket that it names.
    bool hasKeysOfItsBucket(const Block& block) const;

private:
    struct BucketWorker;
    struct Groups;  // the rows of groups and what they point to; lives as long as states that were given away
    struct Part;    // what one worker adds to Groups
    struct Worker;
    struct Input;
    struct Maximum;
    using GroupsPtr = std::shared_ptr<Groups>;

    GroupsPtr makeGroups() const;
    std::unique_ptr<Worker> makeWorker();
    Input prepare(const Block& block, std::optional<size_t> only_call = {}) const;
    void addBlock(Worker& worker, const Input& input, KeyTable::Mode mode);
    void placeByColumns(
        Worker& worker, std::span<const ColumnPtr> keys, size_t from, size_t rows, KeyTable::Mode mode);
    void placeByCodes(
        Worker& worker, const DictionaryColumn& dictionary, size_t from, size_t rows, KeyTable::Mode mode);
    bool placeBySmallKeys(
        Worker& worker, std::span<const ColumnPtr> keys, size_t from, size_t rows, KeyTable::Mode mode);
    template <typename Code>
    void placeByKnownCodes(Worker& worker,
                           const Code* codes,
                           size_t rows,
                           std::span<const ColumnPtr> keys_of_codes,
                           KeyTable::Mode mode);
    void lookUp(Worker& worker, char** places, KeyTable::Mode mode);
    KeyTable::Mode makeRoom(Worker& worker, size_t rows, KeyTable::Mode mode);
    void addStates(Worker& worker, const Input& input, char* const* places, size_t from, size_t rows);
    void addStatesSingle(Worker& worker, const Input& input, char* row);
    void createStates(char* row) const;
    void destroyStates(char* row) const noexcept;
    char* newSingleRow(Worker& worker);

    void prepareMaximum();
    void checkThrowLimit(size_t groups) const;
    Flow addWithinMaximum(Worker& worker, const Input& input);
    void countGroups();
    void takeKnownKeys(Worker& worker);
    Flow addUpToLimit(size_t worker, const Input& input);
    void insertKeysOf(Worker& worker, const PodVector<char*>& rows);

    void mergeRow(char* into, char* from, Arena& arena) const;
    void finishKeyless(Sink& sink);
    void finishOverflow(Sink& sink);
    void finishUnmerged(Worker& worker, Sink& sink);
    void finishPartitions(Sink& sink, size_t partitions, TaskOrder* order);
    void mergeRows(KeyTable& table,
                   const PodVector<char*>& rows,
                   Arena& arena,
                   PodVector<char*>& groups) const;
    Flow emit(size_t worker, char* const* rows, size_t count, Sink& sink, const GroupsPtr& holder) const;
    void findRankedCall(Sink& sink);
    void dropHopeless(PodVector<char*>& rows) const;
    /// `holder` keeps what the rows point to; columns of states hold it.
    Block makeBlock(char* const* rows, size_t count, const GroupsPtr& holder) const;

    bool goesByBucket(size_t rows) const;
    void partitionRows(const GroupRows& all,
                       size_t partitions_per_task,
                       std::vector<PodVector<char*>>& tasks) const;
    Flow emitBucket(size_t worker,
                    size_t bucket,
                    const PodVector<char*>& rows,
                    TaskOrder& order,
                    const GroupsPtr& holder) const;
    Flow emitPartOfBucket(size_t worker,
                          size_t bucket,
                          const PodVector<char*>& rows,
                          TaskOrder& order,
                          const GroupsPtr& holder) const;
    std::vector<ColumnPtr> plainKeys(const Block& block) const;
    static bool areOfBucket(const KeyBatch& batch, size_t bucket);
    size_t readBucket(size_t worker, BucketStreams& streams, size_t bucket, std::vector<ShardBlock>& blocks);
    void placeInBucket(BucketWorker& worker, Part& part) const;
    void takeOwnRows(BucketWorker& worker, Part& part, const PodVector<char*>& rows) const;
    void takeBlock(BucketWorker& worker, Part& part, const ShardBlock& from_shard) const;
    GroupsPtr mergeBuckets(BucketWorker& worker,
                           std::span<PodVector<char*>> own,
                           std::vector<ShardBlock> blocks) const;
    void takeBuckets(BucketStreams& streams);

    void prepareSpilling();
    bool wantsToSpill(const Worker& worker) const;
    void spill(Worker& worker);
    void finishSpilled(Sink& sink);
    size_t sharesOf(std::span<const GroupSpill* const> spills, size_t partition, size_t threads) const;
    GroupsPtr readSpilled(KeyTable& table, SpilledGroups& spilled) const;

    AggregationPlan plan_;
    Block header_;
    QueryContext& context_;
    std::vector<TypePtr> key_types_;  // without LowCardinality
    KeyLayout layout_;
    GroupRowFormat format_;
    std::vector<aggregates::AggregateFunctionPtr> functions_;  // of the calls
    std::vector<size_t> offsets_;                              // of the calls' states in a row
    size_t alive_offset_ = 0;  // of the flag in rows whose states must be destroyed
    bool needs_create_ = false;
    bool needs_destroy_ = false;
    size_t small_keys_ = 0;  // that a table holds within a worker's share of the cache
    size_t large_keys_ = 0;  // … before it is forgotten even if keys repeat
    GroupsPtr groups_;
    std::vector<std::unique_ptr<Worker>> workers_;

    TopFilter* top_filter_ = nullptr;  // of the next operator, when it ranks groups by a call's result
    size_t ranked_call_ = 0;

    std::unique_ptr<Maximum> maximum_;  // with max_groups

    std::mutex frozen_mutex_;         // guards frozen_ while keys are still taken in
    std::unique_ptr<Worker> frozen_;  // with limit_groups: the groups that count
    std::atomic<bool> is_frozen_ = false;

    uint64_t spill_bytes_ = 0;   // memory of the query from which on groups go to the disk; 0: never
    uint64_t bytes_before_ = 0;  // memory of the query before this aggregation
    std::optional<SpillFormat> spill_format_;
    std::atomic<bool> spilled_ = false;
};

}  // namespace shardd::exec
