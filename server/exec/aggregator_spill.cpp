#include <algorithm>

#include "server/exec/aggregator_impl.h"
#include "server/exec/operators.h"
#include "server/exec/task_order.h"

namespace shardd::exec {

namespace {

/// A partition that comes back from the disk may take this much, however little the query was given.
constexpr uint64_t kLeastPartitionBytes = uint64_t{8} << 20;
constexpr size_t kMostShares = 256;

uint64_t bytesBeforeSpilling(const ExecSettings& settings) {
    const uint64_t bytes = settings.max_bytes_before_external_group_by;
    const double ratio = settings.max_bytes_ratio_before_external_group_by;
    if (ratio == 0) return bytes;
    if (!(ratio > 0 && ratio < 1))
        throw Error(ErrorCode::BAD_ARGUMENTS,
                    "Setting max_bytes_ratio_before_external_group_by should be >= 0 and < 1 ({:.3f})",
                    ratio);
    if (!settings.bytes_left_to_user) return bytes;
    const double share = static_cast<double>(*settings.bytes_left_to_user) * ratio;
    const auto share_bytes = std::max<uint64_t>(1, static_cast<uint64_t>(share));
    return bytes == 0 ? share_bytes : std::min(bytes, share_bytes);
}

}  // namespace

void Aggregator::prepareSpilling() {
    bytes_before_ = context_.memory->usedBytes();
    const uint64_t bytes = bytesBeforeSpilling(context_.settings);
    // The groups that a limit lets in must stay at hand, and are as many as the limit says.
    const bool keeps_groups =
        frozen_ || (plan_.max_groups != 0 && plan_.overflow != plan::OverflowMode::Throw);
    if (plan_.keys.empty() || keeps_groups || !context_.temporary.files) return;
    spill_bytes_ = bytes;
    spill_format_.emplace(SpillFormat{layout_, functions_, offsets_});
}

bool Aggregator::wantsToSpill(const Worker& worker) const {
    if (spill_bytes_ == 0) return false;
    const uint64_t used = context_.memory->usedBytes();
    if (used <= spill_bytes_) [[likely]]
        return false;
    const ExecSettings& settings = context_.settings;
    const uint64_t most_groups = settings.group_by_two_level_threshold;
    const uint64_t most_bytes = settings.group_by_two_level_threshold_bytes;
    const size_t groups = worker.part->store.rows();
    const bool is_worth_it = (most_groups != 0 && groups >= most_groups) ||
                             (most_bytes != 0 && used >= bytes_before_ + most_bytes);
    return groups != 0 && is_worth_it;
}

/// All groups of the worker to the disk; its memory is free when this returns.
void Aggregator::spill(Worker& worker) {
    if (!worker.spill) worker.spill = std::make_unique<GroupSpill>(*spill_format_, context_.temporary);
    spilled_.store(true);
    GroupStore& store = worker.part->store;
    std::vector<PodVector<char*>> early(GroupStore::kPartitions);
    partitionRows(store.first(), 1, early);
    for (size_t p = 0; p < GroupStore::kPartitions; ++p) {
        context_.check();
        PodVector<char*> rows = std::move(early[p]);
        if (store.partitioned()) collectRows(store.at(p), format_.row_bytes, rows);
        worker.spill->write(p, rows.span());
        for (char* row : rows) destroyStates(row);
        if (store.partitioned()) store.at(p).clear();
    }
    worker.spill->finishRun();
    store.first().clear();
    store.partition();
    worker.part->arena.emplace();
    worker.part->held.clear();
    worker.rows_of_codes.clear();
    worker.dictionary = nullptr;
    worker.looked_up = 0;
    worker.append_rows = 0;
    worker.table->reset(small_keys_);
}

void Aggregator::finishSpilled(Sink& sink) {
    const size_t threads = workers_.size();
    parallel(context_, threads, [&](size_t number) {
        if (workers_[number]->part->store.rows() != 0) spill(*workers_[number]);
        workers_[number]->table.reset();
    });
    externalAggregationCounters().merges.fetch_add(1);
    std::vector<const GroupSpill*> spills;
    for (const auto& worker : workers_)
        if (worker->spill) spills.push_back(worker->spill.get());
    std::atomic<size_t> next = 0;
    std::atomic<size_t> all_groups = 0;
    std::atomic<bool> enough = false;
    // A partition is a bucket. None waits beside the one that goes on: they are what did not fit into memory.
    TaskOrder order(sink, 0);
    const auto work = [&](size_t number) {
        const std::unique_ptr<KeyTable> table = makeKeyTable(layout_);
        for (size_t p = next.fetch_add(1); p < GroupStore::kPartitions; p = next.fetch_add(1)) {
            const size_t shares = sharesOf(spills, p, threads);
            for (size_t share = 0; share < shares && !enough.load(); ++share) {
                SpilledGroups spilled(*spill_format_, spills, p, share, shares);
                const GroupsPtr groups = readSpilled(*table, spilled);
                PodVector<char*> rows;
                collectRows(groups->parts[0]->store.first(), format_.row_bytes, rows);
                checkThrowLimit(all_groups.fetch_add(rows.size()) + rows.size());
                const Flow flow = plan_.by_buckets ? emitPartOfBucket(number, p, rows, order, groups)
                                                   : emit(number, rows.data(), rows.size(), sink, groups);
                if (flow == Flow::Enough) enough.store(true);
            }
            if (plan_.by_buckets) order.end(number, p, {});
        }
    };
    parallel(context_, threads, [&](size_t number) {
        try {
            work(number);
        } catch (...) {
            order.stop();
            throw;
        }
    });
}

/// In how many steps a partition comes back, so that those of all threads fit into the memory that made them
/// go.
size_t Aggregator::sharesOf(std::span<const GroupSpill* const> spills,
                            size_t partition,
                            size_t threads) const {
    uint64_t bytes = 0;
    for (const GroupSpill* spill : spills)
        bytes += spill->rows(partition) * (format_.row_bytes + 32) + spill->dataBytes(partition);
    const uint64_t most = std::max(spill_bytes_ / (2 * threads), kLeastPartitionBytes);
    size_t shares = 1;
    while (shares < kMostShares && bytes / shares > most) shares *= 2;
    return shares;
}

Aggregator::GroupsPtr Aggregator::readSpilled(KeyTable& table, SpilledGroups& spilled) const {
    GroupsPtr groups = makeGroups();
    groups->parts.push_back(std::make_unique<Part>());
    Part& part = *groups->parts[0];
    table.reset(2048);
    PodVector<char*> places;
    PodVector<char*> fresh;
    while (spilled.next()) {
        context_.check();
        KeyBatch& keys = spilled.keys();
        if (!table.fits(keys.rows)) table.growFor(2 * (table.size() + keys.rows));
        places.resize(keys.rows);
        fresh.clear();
        table.lookUp(keys, part.store, format_, *part.arena, KeyTable::Mode::Insert, places.data(), &fresh);
        if (needs_create_ || needs_destroy_)
            for (char* row : fresh) createStates(row);
        spilled.mergeInto(places.span(), fresh.span(), *part.arena);
    }
    return groups;
}

}  // namespace shardd::exec
