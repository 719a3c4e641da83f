#include <algorithm>
#include <bit>

#include "common/columns/create_column.h"
#include "common/columns/state_column.h"
#include "server/exec/aggregator_impl.h"
#include "server/exec/operators.h"
#include "server/exec/task_order.h"

namespace shardd::exec {

namespace {

constexpr size_t kMergeBatch = 1024;
/// Up to so many rows one thread merges quicker than several can be woken.
constexpr size_t kFewRows = 2048;

}  // namespace

void Aggregator::mergeRow(char* into, char* from, Arena& arena) const {
    for (size_t c = 0; c < plan_.calls.size(); ++c)
        plan_.calls[c].function->merge(into + offsets_[c], from + offsets_[c], arena);
    destroyStates(from);
}

Block Aggregator::makeBlock(char* const* rows, size_t count, const GroupsPtr& holder) const {
    Block block;
    block.rows = count;
    std::vector<MutableColumnPtr> keys = layout_.unpack(rows, count);
    for (size_t i = 0; i < keys.size(); ++i) {
        const NamedColumn& column = header_.columns[i];
        if (column.type->isLowCardinality()) {
            MutableColumnPtr dictionary = createColumn(*column.type);
            dictionary->insertRange(*keys[i], 0, count);
            keys[i] = std::move(dictionary);
        }
        block.columns.push_back({column.name, column.type, ColumnPtr(std::move(keys[i]))});
    }
    Arena arena;
    for (size_t c = 0; c < plan_.calls.size(); ++c) {
        const NamedColumn& column = header_.columns[plan_.keys.size() + c];
        const auto& function = plan_.calls[c].function;
        if (plan_.finish) {
            MutableColumnPtr result = createColumn(*column.type);
            result->reserve(count);
            function->insertResultBatch(rows, offsets_[c], count, *result, arena);
            block.columns.push_back({column.name, column.type, ColumnPtr(std::move(result))});
        } else {
            PodVector<char*> states(count);
            for (size_t i = 0; i < count; ++i) states[i] = rows[i] + offsets_[c];
            block.columns.push_back({column.name, column.type,
                                     std::make_shared<StateColumn>(function, std::move(states), holder)});
        }
    }
    return block;
}

Flow Aggregator::emit(
    size_t worker, char* const* rows, size_t count, Sink& sink, const GroupsPtr& holder) const {
    const size_t most = context_.settings.max_block_rows;
    context_.progress.groups.fetch_add(count, std::memory_order_relaxed);
    PodVector<char*> wanted;
    for (size_t from = 0; from < count; from += most) {
        context_.check();
        const size_t part = std::min(most, count - from);
        wanted.clear();
        wanted.append(rows + from, part);
        if (top_filter_ && top_filter_->active()) dropHopeless(wanted);
        Flow flow = Flow::More;
        if (!wanted.empty()) flow = sink.consume(worker, makeBlock(wanted.data(), wanted.size(), holder));
        if (plan_.finish)
            for (size_t i = 0; i < part; ++i) destroyStates(rows[from + i]);
        if (flow == Flow::Enough) return Flow::Enough;
    }
    return Flow::More;
}

/// ORDER BY an aggregate LIMIT n: groups that cannot be among the first n are not written out.
void Aggregator::findRankedCall(Sink& sink) {
    const TopHint hint = sink.topHint();
    if (!hint.filter || !plan_.finish) return;
    for (size_t c = 0; c < plan_.calls.size(); ++c) {
        if (plan_.calls[c].name != hint.column) continue;
        top_filter_ = hint.filter;
        ranked_call_ = c;
    }
}

void Aggregator::dropHopeless(PodVector<char*>& rows) const {
    const NamedColumn& column = header_.columns[plan_.keys.size() + ranked_call_];
    MutableColumnPtr result = createColumn(*column.type);
    Arena arena;
    plan_.calls[ranked_call_].function->insertResultBatch(rows.data(), offsets_[ranked_call_], rows.size(),
                                                          *result, arena);
    Block block;
    plan::SortKey key = top_filter_->key();
    key.column = column.name;
    block.add({column.name, column.type, ColumnPtr(std::move(result))});
    const std::vector<plan::SortKey> keys{key};
    const SortPrefixes prefixes = sortPrefixes(SortColumns(keys, block), rows.size());
    const uint64_t bound = top_filter_->bound();
    size_t kept = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
        rows[kept] = rows[i];
        kept += prefixes.values[i] <= bound;
    }
    top_filter_->countDropped(rows.size() - kept);
    rows.resize(kept);
}

void Aggregator::finish(Sink& sink) {
    context_.memory->setPhase("ConvertingAggregatedToChunksTransform");
    findRankedCall(sink);
    if (plan_.keys.empty()) {
        finishKeyless(sink);
        return;
    }
    size_t total_rows = 0;
    std::vector<Worker*> filled;
    for (auto& worker : workers_) {
        if (worker->part->store.rows() != 0) filled.push_back(worker.get());
        total_rows += worker->part->store.rows();
    }
    if (frozen_ && frozen_->part->store.rows() != 0) {
        filled.push_back(frozen_.get());
        total_rows += frozen_->part->store.rows();
    }
    if (spilled_.load()) {
        finishSpilled(sink);
    } else if (goesByBucket(total_rows)) {
        TaskOrder order(sink, 2 * workers_.size());
        finishPartitions(sink, GroupStore::kPartitions, &order);
    } else if (filled.size() == 1 && !filled[0]->part->store.partitioned()) {
        finishUnmerged(*filled[0], sink);
    } else if (!filled.empty()) {
        size_t partitions = 1;
        if (total_rows > kFewRows || needs_destroy_)
            partitions = std::clamp<size_t>(std::bit_floor(total_rows / 4096), 16, GroupStore::kPartitions);
        finishPartitions(sink, partitions, nullptr);
    }
    finishOverflow(sink);
}

void Aggregator::finishKeyless(Sink& sink) {
    char* all = nullptr;
    Worker& first = *workers_[0];
    for (auto& worker : workers_) {
        if (!worker->single_row) continue;
        if (!all)
            all = worker->single_row;
        else
            mergeRow(all, worker->single_row, *first.keyless_part->arena);
    }
    if (!all && plan_.empty_result_without_input) return;
    if (!all) all = newSingleRow(first);
    emit(0, &all, 1, sink, groups_);
}

void Aggregator::finishOverflow(Sink& sink) {
    char* all = nullptr;
    for (auto& worker : workers_) {
        if (!worker->overflow_row) continue;
        if (!all)
            all = worker->overflow_row;
        else
            mergeRow(all, worker->overflow_row, *workers_[0]->keyless_part->arena);
    }
    if (!all || !plan_.overflow_row) return;
    Block block;
    block.rows = 1;
    block.is_overflows = true;
    const Block values = makeBlock(&all, 1, groups_);
    for (size_t i = 0; i < values.columns.size(); ++i) {
        NamedColumn column = values.columns[i];
        if (i < plan_.keys.size()) {
            MutableColumnPtr empty = createColumn(*column.type);
            insertDefaults(*column.type, *empty, 1);
            column.column = std::move(empty);
        }
        block.columns.push_back(std::move(column));
    }
    sink.consume(0, std::move(block));
}

/// One worker met all keys, each is there once.
void Aggregator::finishUnmerged(Worker& worker, Sink& sink) {
    PodVector<char*> rows;
    collectRows(worker.part->store.first(), format_.row_bytes, rows);
    const size_t most = context_.settings.max_block_rows;
    const size_t blocks = (rows.size() + most - 1) / most;
    std::atomic<size_t> next = 0;
    std::atomic<bool> enough = false;
    parallel(context_, std::min(blocks, workers_.size()), [&](size_t number) {
        for (size_t block = next.fetch_add(1); block < blocks && !enough.load(); block = next.fetch_add(1)) {
            const size_t from = block * most;
            if (emit(number, rows.data() + from, std::min(most, rows.size() - from), sink, groups_) ==
                Flow::Enough)
                enough.store(true);
        }
    });
}

/// `groups` are the rows left after rows of equal keys were merged.
void Aggregator::mergeRows(KeyTable& table,
                           const PodVector<char*>& rows,
                           Arena& arena,
                           PodVector<char*>& groups) const {
    PodVector<char*> owners(kMergeBatch);
    PodVector<char*> into;
    PodVector<const char*> from;
    table.reset(std::min(rows.size(), small_keys_));
    for (size_t begin = 0; begin < rows.size(); begin += kMergeBatch) {
        const size_t count = std::min(kMergeBatch, rows.size() - begin);
        if (!table.fits(count)) table.growFor(2 * (table.size() + count));
        table.adopt(rows.data() + begin, count, owners.data());
        into.clear();
        from.clear();
        for (size_t i = 0; i < count; ++i) {
            if (owners[i] == rows[begin + i]) {
                groups.push_back(owners[i]);
            } else {
                into.push_back(owners[i]);
                from.push_back(rows[begin + i]);
            }
        }
        for (size_t c = 0; c < plan_.calls.size() && !into.empty(); ++c)
            plan_.calls[c].function->mergeBatch(into.data(), from.data(), offsets_[c], into.size(), arena);
        if (needs_destroy_)
            for (size_t i = 0; i < from.size(); ++i) destroyStates(const_cast<char*>(from[i]));
    }
}

/// With `order`, a task is a bucket, and they go on in their order.
void Aggregator::finishPartitions(Sink& sink, size_t partitions, TaskOrder* order) {
    const size_t per_task = GroupStore::kPartitions / partitions;
    // Rows made before there were partitions, by partition.
    std::vector<PodVector<char*>> early(partitions);
    for (const auto& part : groups_->parts) partitionRows(part->store.first(), per_task, early);

    const auto hold_rows = [](const auto& part) { return part->store.rows() != 0; };
    const auto first = std::find_if(groups_->parts.begin(), groups_->parts.end(), hold_rows);
    const bool are_distinct = std::count_if(groups_->parts.begin(), groups_->parts.end(), hold_rows) == 1 &&
                              !(*first)->store.partitioned();
    const size_t threads = std::min(workers_.size(), partitions);
    std::vector<Arena*> arenas;
    for (size_t i = 0; i < threads; ++i) {
        groups_->parts.push_back(std::make_unique<Part>());
        arenas.push_back(&*groups_->parts.back()->arena);
    }
    for (auto& worker : workers_) worker->table.reset();
    std::atomic<size_t> next = 0;
    std::atomic<size_t> all_groups = 0;
    std::atomic<bool> enough = false;
    const auto work = [&](size_t number) {
        const std::unique_ptr<KeyTable> table = makeKeyTable(layout_);
        for (size_t task = next.fetch_add(1); task < partitions && !enough.load(); task = next.fetch_add(1)) {
            context_.check();
            PodVector<char*> rows = std::move(early[task]);
            for (const auto& part : groups_->parts)
                for (size_t p = task * per_task; part->store.partitioned() && p < (task + 1) * per_task; ++p)
                    collectRows(part->store.at(p), format_.row_bytes, rows);
            if (rows.empty() && !order) continue;
            PodVector<char*> groups;
            if (are_distinct)
                groups = std::move(rows);
            else
                mergeRows(*table, rows, *arenas[number], groups);
            checkThrowLimit(all_groups.fetch_add(groups.size()) + groups.size());
            const Flow flow = order ? emitBucket(number, task, groups, *order, groups_)
                                    : emit(number, groups.data(), groups.size(), sink, groups_);
            if (flow == Flow::Enough) enough.store(true);
            if (!plan_.finish) continue;
            for (const auto& part : groups_->parts)
                for (size_t p = task * per_task; part->store.partitioned() && p < (task + 1) * per_task; ++p)
                    part->store.at(p).clear();
        }
    };
    parallel(context_, threads, [&](size_t number) {
        try {
            work(number);
        } catch (...) {
            if (order) order->stop();
            throw;
        }
    });
}

}  // namespace shardd::exec
