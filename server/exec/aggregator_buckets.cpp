#include <algorithm>
#include <utility>

#include "common/columns/state_column.h"
#include "server/exec/aggregator_impl.h"
#include "server/exec/bucket_streams.h"
#include "server/exec/operators.h"
#include "server/exec/task_order.h"
#include "server/storage/group_buckets.h"

namespace shardd::exec {

static_assert(storage::kGroupBuckets == GroupStore::kPartitions,
              "a bucket is a partition by the hash of keys");

namespace {

/// Fewer groups than this do not fill 256 blocks, however large their states are.
constexpr size_t kLeastGroups = 1024;
/// Smaller buckets are merged several at a time.
constexpr size_t kLeastRows = 4096;

class BucketSink : public Sink {
public:
    explicit BucketSink(size_t bucket) : bucket_(bucket) {}

    void totals(Block /*block*/) override {}

    void extremes(Block /*block*/) override {}

    void finish() override {}

protected:
    Block numbered(Block block) const {
        block.bucket = static_cast<int32_t>(bucket_);
        return block;
    }

    const size_t bucket_;  // NOLINT(readability-identifier-naming): as a private member
};

/// Keeps the blocks of one bucket.
class CollectedBucket final : public BucketSink {
public:
    using BucketSink::BucketSink;

    Flow consume(size_t /*worker*/, Block block) override {
        blocks.push_back(numbered(std::move(block)));
        return Flow::More;
    }

    std::vector<Block> blocks;
};

/// Pushes the blocks of one bucket when those before it are gone.
class OrderedBucket final : public BucketSink {
public:
    OrderedBucket(TaskOrder& order, size_t bucket) : BucketSink(bucket), order_(order) {}

    Flow consume(size_t worker, Block block) override {
        return order_.push(worker, bucket_, numbered(std::move(block)));
    }

private:
    TaskOrder& order_;
};

}  // namespace

/// What a worker needs to merge one bucket after the other.
struct Aggregator::BucketWorker {
    std::unique_ptr<KeyTable> table;
    KeyBatch batch;
    PodVector<char*> places;
    PodVector<char*> fresh;
    PodVector<const char*> others;
};

/// As ClickHouse decides it, by the settings of the same names.
bool Aggregator::goesByBucket(size_t rows) const {
    if (!plan_.by_buckets) return false;
    const ExecSettings& settings = context_.settings;
    const uint64_t most_groups = settings.group_by_two_level_threshold;
    const uint64_t most_bytes = settings.group_by_two_level_threshold_bytes;
    if (most_groups != 0 && rows >= most_groups) return true;
    return most_bytes != 0 && rows >= kLeastGroups &&
           context_.memory->usedBytes() >= bytes_before_ + most_bytes;
}

/// Appends the addresses of all rows, by the task whose partitions they belong to.
void Aggregator::partitionRows(const GroupRows& all,
                               size_t partitions_per_task,
                               std::vector<PodVector<char*>>& tasks) const {
    PodVector<char*> rows;
    collectRows(all, format_.row_bytes, rows);
    PodVector<uint64_t> hashes(rows.size());
    makeKeyTable(layout_)->hashesOf(rows.data(), rows.size(), hashes.data());
    for (size_t i = 0; i < rows.size(); ++i)
        tasks[GroupStore::partitionOf(hashes[i]) / partitions_per_task].push_back(rows[i]);
}

bool Aggregator::hasKeysOfItsBucket(const Block& block) const {
    const std::vector<ColumnPtr> keys = plainKeys(block);
    KeyBatch batch;
    for (size_t from = 0; from < block.rows; from += kBatchRows) {
        layout_.pack(keys, from, std::min(kBatchRows, block.rows - from), batch);
        if (!areOfBucket(batch, static_cast<size_t>(block.bucket))) return false;
    }
    return true;
}

std::vector<ColumnPtr> Aggregator::plainKeys(const Block& block) const {
    std::vector<ColumnPtr> keys;
    for (const std::string& key : plan_.keys) keys.push_back(fullPlain(block.get(key).column));
    return keys;
}

bool Aggregator::areOfBucket(const KeyBatch& batch, size_t bucket) {
    size_t others = 0;
    for (size_t i = 0; i < batch.rows; ++i) others += GroupStore::partitionOf(batch.hashes[i]) != bucket;
    return others == 0;
}

/// worker.places for the rows of worker.batch; keys that are not there yet get rows with empty states.
void Aggregator::placeInBucket(BucketWorker& worker, Part& part) const {
    KeyTable& table = *worker.table;
    if (!table.fits(worker.batch.rows)) table.growFor(2 * (table.size() + worker.batch.rows));
    worker.places.resize(worker.batch.rows);
    worker.fresh.clear();
    table.lookUp(worker.batch, part.store, format_, *part.arena, KeyTable::Mode::Insert, worker.places.data(),
                 &worker.fresh);
    if (needs_create_ || needs_destroy_)
        for (char* row : worker.fresh) createStates(row);
}

/// Groups that came without buckets, from add().
void Aggregator::takeOwnRows(BucketWorker& worker, Part& part, const PodVector<char*>& rows) const {
    if (rows.empty()) return;
    std::vector<ColumnPtr> keys;
    for (MutableColumnPtr& column : layout_.unpack(rows.data(), rows.size()))
        keys.push_back(std::move(column));
    worker.batch.strings_stay = false;
    for (size_t from = 0; from < rows.size(); from += kBatchRows) {
        const size_t count = std::min(kBatchRows, rows.size() - from);
        layout_.pack(keys, from, count, worker.batch);
        placeInBucket(worker, part);
        for (size_t c = 0; c < plan_.calls.size(); ++c)
            plan_.calls[c].function->mergeBatch(worker.places.data(), rows.data() + from, offsets_[c], count,
                                                *part.arena);
    }
    for (char* row : rows) destroyStates(row);
}

void Aggregator::takeBlock(BucketWorker& worker, Part& part, const ShardBlock& from_shard) const {
    const Block& block = from_shard.block;
    const std::vector<ColumnPtr> keys = plainKeys(block);
    const std::optional<size_t> string_key = layout_.stringKey();
    worker.batch.strings_stay = string_key.has_value();
    if (string_key) part.held.push_back(keys[*string_key]);
    std::vector<ColumnPtr> states;
    for (const plan::AggregateCall& call : plan_.calls)
        states.push_back(fullPlain(block.get(call.arguments[0]).column));
    for (size_t from = 0; from < block.rows; from += kBatchRows) {
        const size_t rows = std::min(kBatchRows, block.rows - from);
        layout_.pack(keys, from, rows, worker.batch);
        if (!areOfBucket(worker.batch, static_cast<size_t>(block.bucket)))
            throw Error(ErrorCode::INCORRECT_DATA,
                        "Shard {} sent keys of other buckets in a block of bucket {}, behind blocks whose "
                        "keys were right. "
                        "distributed_aggregation_memory_efficient = 0 asks for blocks without buckets",
                        from_shard.shard + 1, block.bucket);
        placeInBucket(worker, part);
        worker.others.resize(rows);
        for (size_t c = 0; c < plan_.calls.size(); ++c) {
            char* const* its_states = as<StateColumn>(*states[c]).states().data() + from;
            for (size_t i = 0; i < rows; ++i) worker.others[i] = its_states[i] - offsets_[c];
            plan_.calls[c].function->mergeBatch(worker.places.data(), worker.others.data(), offsets_[c], rows,
                                                *part.arena);
        }
    }
    context_.progress.aggregated_rows.fetch_add(block.rows, std::memory_order_relaxed);
}

/// The groups of some buckets, few enough for one table; the rows of `own` are given up.
Aggregator::GroupsPtr Aggregator::mergeBuckets(BucketWorker& worker,
                                               std::span<PodVector<char*>> own,
                                               std::vector<ShardBlock> blocks) const {
    GroupsPtr groups = makeGroups();
    groups->parts.push_back(std::make_unique<Part>());
    Part& part = *groups->parts[0];
    size_t most = 0;
    for (const ShardBlock& block : blocks) most = std::max(most, block.block.rows);
    worker.table->reset(most);
    for (PodVector<char*>& rows : own) takeOwnRows(worker, part, std::exchange(rows, {}));
    for (ShardBlock& block : blocks) {
        context_.check();
        takeBlock(worker, part, block);
        block.block = {};
    }
    return groups;
}

Flow Aggregator::emitBucket(size_t worker,
                            size_t bucket,
                            const PodVector<char*>& rows,
                            TaskOrder& order,
                            const GroupsPtr& holder) const {
    CollectedBucket collected(bucket);
    emit(worker, rows.data(), rows.size(), collected, holder);
    return order.end(worker, bucket, std::move(collected.blocks));
}

Flow Aggregator::emitPartOfBucket(size_t worker,
                                  size_t bucket,
                                  const PodVector<char*>& rows,
                                  TaskOrder& order,
                                  const GroupsPtr& holder) const {
    OrderedBucket ordered(order, bucket);
    return emit(worker, rows.data(), rows.size(), ordered, holder);
}

/// Returns the rows that came.
size_t Aggregator::readBucket(size_t worker,
                              BucketStreams& streams,
                              size_t bucket,
                              std::vector<ShardBlock>& blocks) {
    size_t rows = 0;
    for (ShardBlock& block : streams.read(bucket)) {
        if (block.block.is_overflows) {
            add(worker, block.block);
            continue;
        }
        rows += block.block.rows;
        blocks.push_back(std::move(block));
    }
    return rows;
}

/// Groups that do not fit into memory go to the disk, with those that came before.
void Aggregator::takeBuckets(BucketStreams& streams) {
    std::mutex mutex;  // guards next and the streams
    size_t next = 0;
    parallel(context_, workers_.size(), [&](size_t number) {
        try {
            while (true) {
                std::vector<ShardBlock> blocks;
                {
                    const std::lock_guard lock(mutex);
                    if (next == GroupStore::kPartitions) return;
                    readBucket(number, streams, next++, blocks);
                }
                for (const ShardBlock& block : blocks) add(number, block.block);
            }
        } catch (...) {
            streams.stop();
            throw;
        }
    });
}

void Aggregator::mergeBuckets(BucketStreams& streams, Sink& sink) {
    if (spilled_.load()) {
        takeBuckets(streams);
        finish(sink);
        return;
    }
    context_.memory->setPhase("ConvertingAggregatedToChunksTransform");
    findRankedCall(sink);
    // Rows that were made here, by bucket.
    std::vector<PodVector<char*>> own(GroupStore::kPartitions);
    for (const auto& part : groups_->parts) {
        partitionRows(part->store.first(), 1, own);
        for (size_t bucket = 0; part->store.partitioned() && bucket < GroupStore::kPartitions; ++bucket)
            collectRows(part->store.at(bucket), format_.row_bytes, own[bucket]);
    }
    TaskOrder order(sink, 2 * workers_.size());
    const size_t least_rows = plan_.by_buckets ? 0 : kLeastRows;
    std::mutex mutex;  // guards next and the streams
    size_t next = 0;
    std::atomic<bool> enough = false;
    const auto work = [&](size_t number) {
        BucketWorker worker;
        worker.table = makeKeyTable(layout_);
        while (true) {
            size_t first = 0;
            size_t end = 0;
            std::vector<ShardBlock> blocks;
            {
                const std::lock_guard lock(mutex);
                if (next == GroupStore::kPartitions || enough.load()) return;
                first = next;
                size_t rows = 0;
                do {
                    rows += own[next].size() + readBucket(number, streams, next, blocks);
                    ++next;
                } while (rows < least_rows && next < GroupStore::kPartitions);
                end = next;
            }
            const GroupsPtr groups =
                mergeBuckets(worker, {own.data() + first, own.data() + end}, std::move(blocks));
            for (const auto& part : groups_->parts)
                for (size_t bucket = first; part->store.partitioned() && bucket < end; ++bucket)
                    part->store.at(bucket).clear();
            PodVector<char*> rows;
            collectRows(groups->parts[0]->store.first(), format_.row_bytes, rows);
            const Flow flow = plan_.by_buckets ? emitBucket(number, first, rows, order, groups)
                                               : emit(number, rows.data(), rows.size(), sink, groups);
            if (flow != Flow::Enough) continue;
            enough.store(true);
            streams.stop();
        }
    };
    parallel(context_, workers_.size(), [&](size_t number) {
        try {
            work(number);
        } catch (...) {
            streams.stop();
            order.stop();
            throw;
        }
    });
    finishOverflow(sink);
}

}  // namespace shardd::exec
