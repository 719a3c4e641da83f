#include <algorithm>
#include <mutex>
#include <shared_mutex>

#include "server/exec/aggregator_impl.h"

namespace shardd::exec {

void Aggregator::checkThrowLimit(size_t groups) const {
    if (plan_.max_groups != 0 && plan_.overflow == plan::OverflowMode::Throw && groups > plan_.max_groups)
        throw Error(ErrorCode::TOO_MANY_ROWS, "Limit for rows to GROUP BY exceeded: has {} rows, maximum: {}",
                    groups, plan_.max_groups);
}

void Aggregator::prepareMaximum() {
    maximum_ = std::make_unique<Maximum>();
    maximum_->known = makeKeyTable(layout_);
    maximum_->known->reset(256);
}

/// Workers take keys in side by side until together they have more than the maximum. As several of them may
/// have the same key, the different ones are counted then, while nobody adds.
Flow Aggregator::addWithinMaximum(Worker& worker, const Input& input) {
    bool is_over = false;
    {
        const std::shared_lock lock(maximum_->mutex);
        if (maximum_->reached) {
            if (plan_.overflow == plan::OverflowMode::Break) return Flow::Enough;
            takeKnownKeys(worker);
            addBlock(worker, input, KeyTable::Mode::FindOnly);
            return Flow::More;
        }
        const size_t before = worker.part->store.allocatedRows();
        addBlock(worker, input, KeyTable::Mode::Insert);
        const size_t made = worker.part->store.allocatedRows() - before;
        const size_t uncounted = maximum_->uncounted.fetch_add(made) + made;
        is_over = maximum_->counts && maximum_->known_rows.size() + uncounted > plan_.max_groups;
    }
    if (is_over) countGroups();
    if (wantsToSpill(worker)) {
        {
            // The keys that were counted go to the disk: the groups that come back from there are counted.
            const std::unique_lock lock(maximum_->mutex);
            maximum_->counts = false;
            maximum_->known.reset();
        }
        spill(worker);
    }
    return Flow::More;
}

void Aggregator::countGroups() {
    const std::unique_lock lock(maximum_->mutex);
    if (maximum_->reached || !maximum_->counts) return;
    PodVector<char*> owners;
    for (const auto& worker : workers_) {
        PodVector<char*> rows;
        collectRows(worker->part->store.first(), format_.row_bytes, rows);
        const std::span<char* const> fresh = rows.span().subspan(worker->counted_rows);
        if (!maximum_->known->fits(fresh.size()))
            maximum_->known->growFor(maximum_->known->size() + fresh.size());
        owners.resize(fresh.size());
        maximum_->known->adopt(fresh.data(), fresh.size(), owners.data());
        for (size_t i = 0; i < fresh.size(); ++i)
            if (owners[i] == fresh[i]) maximum_->known_rows.push_back(fresh[i]);
        worker->counted_rows = rows.size();
    }
    maximum_->uncounted.store(0);
    checkThrowLimit(maximum_->known_rows.size());
    maximum_->reached = maximum_->known_rows.size() > plan_.max_groups;
}

/// Every worker adds to all keys that got in, whoever met them first.
void Aggregator::takeKnownKeys(Worker& worker) {
    if (worker.no_new_keys) return;
    insertKeysOf(worker, maximum_->known_rows);
    worker.no_new_keys = true;
}

Flow Aggregator::addUpToLimit(size_t worker_number, const Input& input) {
    if (!is_frozen_.load()) {
        std::lock_guard lock(frozen_mutex_);
        if (!is_frozen_.load()) {
            addBlock(*frozen_, input, KeyTable::Mode::Insert);
            if (frozen_->table->size() >= plan_.limit_groups) is_frozen_.store(true);
            return Flow::More;
        }
    }
    Worker& worker = *workers_[worker_number];
    if (!worker.no_new_keys) {
        PodVector<char*> rows;
        collectRows(frozen_->part->store.first(), format_.row_bytes, rows);
        insertKeysOf(worker, rows);
        worker.no_new_keys = true;
    }
    addBlock(worker, input, KeyTable::Mode::FindOnly);
    return Flow::More;
}

/// Groups with the keys of `rows` and empty states, where the worker has none yet.
void Aggregator::insertKeysOf(Worker& worker, const PodVector<char*>& rows) {
    std::vector<ColumnPtr> keys;
    for (MutableColumnPtr& column : layout_.unpack(rows.data(), rows.size()))
        keys.push_back(std::move(column));
    worker.batch.strings_stay = false;
    for (size_t from = 0; from < rows.size(); from += kBatchRows)
        placeByColumns(worker, keys, from, std::min(kBatchRows, rows.size() - from), KeyTable::Mode::Insert);
}

}  // namespace shardd::exec
