#include "server/exec/aggregator.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/columns/create_column.h"
#include "common/columns/dictionary_column.h"
#include "common/columns/state_column.h"
#include "server/exec/aggregator_impl.h"

namespace shardd::exec {

namespace {

/// Keys below are rows of a table themselves, of 8 bytes a row: it stays in the second-level cache, or nearly
/// so.
constexpr uint64_t kSmallKeys = uint64_t{1} << 18;
/// As long as a worker has taken less than a quarter of these rows, so large keys are not worth that table.
constexpr uint64_t kFirstSmallKeys = 4096;
/// After a batch with large keys.
constexpr size_t kBatchesWithoutLooking = 32;

template <typename Code>
Code largestOf(const Code* codes, size_t rows) {
    Code largest = 0;
    for (size_t i = 0; i < rows; ++i) largest = std::max(largest, codes[i]);
    return largest;
}

/// What a worker's table and rows may take of the third-level cache while keys do repeat.
constexpr size_t kLargeTableBytes = size_t{16} << 20;

/// Rows of one group that follow one another are added as if there were no key, when there are so many of
/// them or more.
constexpr size_t kLongRun = 16;

/// Whether the places change so seldom.
bool comeInLongRuns(char* const* places, size_t rows) {
    size_t changes = 0;
    for (size_t i = 1; i < rows; ++i) changes += places[i] != places[i - 1];
    return (changes + 1) * kLongRun <= rows;
}

/// Calls `run(place, first, count)` for each run of equal places that are not null.
template <typename Run>
void forEachPlace(char* const* places, size_t rows, Run&& run) {
    for (size_t first = 0; first < rows;) {
        size_t end = first + 1;
        while (end < rows && places[end] == places[first]) ++end;
        if (places[first]) run(places[first], first, end - first);
        first = end;
    }
}

std::vector<TypePtr> plainKeyTypes(const Block& header, size_t keys) {
    std::vector<TypePtr> types;
    for (size_t i = 0; i < keys; ++i) types.push_back(removeLowCardinality(header.columns[i].type));
    return types;
}

}  // namespace

Aggregator::Groups::~Groups() {
    if (!needs_destroy) return;
    const auto destroyAll = [&](GroupRows& rows) {
        rows.forEachChunk(row_bytes, [&](char* row, size_t count) {
            for (size_t i = 0; i < count; ++i, row += row_bytes)
                if (row[alive_offset])
                    for (size_t c = 0; c < functions.size(); ++c) functions[c]->destroy(row + offsets[c]);
        });
    };
    for (const auto& part : keyless_parts) destroyAll(part->store.first());
    for (const auto& part : parts) {
        destroyAll(part->store.first());
        for (size_t p = 0; part->store.partitioned() && p < GroupStore::kPartitions; ++p)
            destroyAll(part->store.at(p));
    }
}

Aggregator::Aggregator(AggregationPlan plan, Block header, QueryContext& context)
    : plan_(std::move(plan)),
      header_(std::move(header)),
      context_(context),
      key_types_(plainKeyTypes(header_, plan_.keys.size())),
      layout_(key_types_) {
    size_t at = layout_.rowBytes();
    format_.states_offset = at;
    for (const plan::AggregateCall& call : plan_.calls) {
        const size_t alignment = call.function->stateAlignment();
        SHARDD_CHECK(alignment <= 16);
        at = (at + alignment - 1) / alignment * alignment;
        offsets_.push_back(at);
        at += call.function->stateSize();
        needs_create_ |= !call.function->emptyIsZero();
        needs_destroy_ |= !call.function->trivialDestroy();
        functions_.push_back(call.function);
    }
    alive_offset_ = at;
    at += needs_destroy_;
    const bool wide = std::any_of(plan_.calls.begin(), plan_.calls.end(),
                                  [](const auto& call) { return call.function->stateAlignment() > 8; });
    const size_t alignment = wide ? 16 : 8;
    format_.row_bytes = std::max(alignment, (at + alignment - 1) / alignment * alignment);
    groups_ = makeGroups();
    // Two slots a key.
    small_keys_ =
        std::bit_floor(std::max<size_t>(context.settings.group_table_bytes / (format_.row_bytes + 16), 2048));
    large_keys_ = std::bit_floor(std::max<size_t>(kLargeTableBytes / (format_.row_bytes + 16), 2048));
    workers_.resize(std::max<size_t>(1, plan_.workers != 0 ? plan_.workers : context.settings.max_threads));
    for (auto& worker : workers_) worker = makeWorker();
    if (plan_.limit_groups != 0 && !plan_.keys.empty()) frozen_ = makeWorker();
    if (plan_.max_groups != 0 && !plan_.keys.empty() && !frozen_) prepareMaximum();
    prepareSpilling();
}

Aggregator::GroupsPtr Aggregator::makeGroups() const {
    auto groups = std::make_shared<Groups>();
    groups->functions = functions_;
    groups->offsets = offsets_;
    groups->alive_offset = alive_offset_;
    groups->needs_destroy = needs_destroy_;
    groups->row_bytes = format_.row_bytes;
    return groups;
}

Aggregator::~Aggregator() = default;

std::unique_ptr<Aggregator::Worker> Aggregator::makeWorker() {
    auto worker = std::make_unique<Worker>();
    groups_->parts.push_back(std::make_unique<Part>());
    worker->part = groups_->parts.back().get();
    groups_->keyless_parts.push_back(std::make_unique<Part>());
    worker->keyless_part = groups_->keyless_parts.back().get();
    if (!plan_.keys.empty()) worker->table = makeKeyTable(layout_);
    return worker;
}

void Aggregator::createStates(char* row) const {
    for (size_t c = 0; c < plan_.calls.size(); ++c)
        if (!plan_.calls[c].function->emptyIsZero()) plan_.calls[c].function->create(row + offsets_[c]);
    if (needs_destroy_) row[alive_offset_] = 1;
}

void Aggregator::destroyStates(char* row) const noexcept {
    if (!needs_destroy_) return;
    for (size_t c = 0; c < plan_.calls.size(); ++c) plan_.calls[c].function->destroy(row + offsets_[c]);
    row[alive_offset_] = 0;
}

char* Aggregator::newSingleRow(Worker& worker) {
    char* row = worker.keyless_part->store.first().allocate(format_.row_bytes);
    std::memset(row, 0, format_.row_bytes);
    createStates(row);
    return row;
}

Aggregator::Input Aggregator::prepare(const Block& block, std::optional<size_t> only_call) const {
    Input input;
    input.rows = block.rows;
    for (const std::string& key : plan_.keys) input.keys.push_back(full(block.get(key).column));
    if (input.keys.size() == 1 && input.keys[0]->kind() == ColumnKind::Dictionary)
        input.dictionary = static_cast<const DictionaryColumn*>(input.keys[0].get());
    else
        for (ColumnPtr& key : input.keys) key = fullPlain(key);
    input.arguments.resize(plan_.calls.size());
    for (size_t c = 0; c < plan_.calls.size(); ++c) {
        const auto& deferred = plan_.deferred_calls;
        const bool is_deferred = std::find(deferred.begin(), deferred.end(), c) != deferred.end();
        if (only_call ? *only_call != c : is_deferred) continue;
        input.calls.push_back(c);
        std::vector<const Column*>& arguments = input.arguments[c];
        for (const std::string& argument : plan_.calls[c].arguments) {
            input.held.push_back(fullPlain(block.get(argument).column));
            arguments.push_back(input.held.back().get());
        }
    }
    return input;
}

Flow Aggregator::add(size_t worker_number, const Block& block) {
    context_.check();
    context_.progress.aggregated_rows.fetch_add(block.rows, std::memory_order_relaxed);
    Worker& worker = *workers_[worker_number];
    const Input input = prepare(block);
    if (block.is_overflows) {
        if (!worker.overflow_row) worker.overflow_row = newSingleRow(worker);
        addStatesSingle(worker, input, worker.overflow_row);
        return Flow::More;
    }
    if (plan_.keys.empty()) {
        if (!worker.single_row) worker.single_row = newSingleRow(worker);
        addStatesSingle(worker, input, worker.single_row);
        return Flow::More;
    }
    if (frozen_) return addUpToLimit(worker_number, input);
    if (maximum_) return addWithinMaximum(worker, input);
    addBlock(worker, input, KeyTable::Mode::Insert);
    if (wantsToSpill(worker)) spill(worker);
    return Flow::More;
}

size_t Aggregator::groupsOf(size_t worker) const { return workers_[worker]->part->store.rows(); }

void Aggregator::addDeferred(size_t worker_number, const Block& block, size_t call) {
    Worker& worker = *workers_[worker_number];
    const Input input = prepare(block, call);
    if (!worker.single_row) worker.single_row = newSingleRow(worker);
    addStatesSingle(worker, input, worker.single_row);
}

void Aggregator::addBlock(Worker& worker, const Input& input, KeyTable::Mode mode) {
    // Where most rows make a group, their keys are not copied: the whole column is kept instead.
    const std::optional<size_t> string_key = layout_.stringKey();
    worker.batch.strings_stay = string_key && worker.mostly_new_keys && !input.dictionary;
    if (worker.batch.strings_stay) worker.part->held.push_back(input.keys[*string_key]);
    const size_t groups_before = worker.part->store.allocatedRows();
    for (size_t from = 0; from < input.rows;) {
        size_t rows = std::min(kBatchRows, input.rows - from);
        if (frozen_ && mode == KeyTable::Mode::Insert) {
            if (worker.table->size() >= plan_.limit_groups) mode = KeyTable::Mode::FindOnly;
            rows = std::min<size_t>(rows, plan_.limit_groups);
        }
        worker.places.resize(kBatchRows);
        if (input.dictionary)
            placeByCodes(worker, *input.dictionary, from, rows, mode);
        else if (!placeBySmallKeys(worker, input.keys, from, rows, mode))
            placeByColumns(worker, input.keys, from, rows, mode);
        addStates(worker, input, worker.places.data(), from, rows);
        from += rows;
    }
    worker.mostly_new_keys = 2 * (worker.part->store.allocatedRows() - groups_before) > input.rows;
}

void Aggregator::placeByColumns(
    Worker& worker, std::span<const ColumnPtr> keys, size_t from, size_t rows, KeyTable::Mode mode) {
    worker.places.resize(std::max(rows, worker.places.size()));
    layout_.pack(keys, from, rows, worker.batch);
    lookUp(worker, worker.places.data(), mode);
}

void Aggregator::placeByCodes(
    Worker& worker, const DictionaryColumn& dictionary, size_t from, size_t rows, KeyTable::Mode mode) {
    if (worker.dictionary != dictionary.keys()) {
        worker.dictionary = dictionary.keys();
        worker.dictionary_keys = dictionary.keysWithNull();
        worker.rows_of_codes.clear();
        worker.rows_of_codes.resizeZeroed(dictionary.keys()->size());
    }
    placeByKnownCodes(worker, dictionary.codes().data() + from, rows, {&worker.dictionary_keys, 1}, mode);
}

/// Keys that are small numbers lead to their groups by themselves; false when these are not.
bool Aggregator::placeBySmallKeys(
    Worker& worker, std::span<const ColumnPtr> keys, size_t from, size_t rows, KeyTable::Mode mode) {
    const size_t width = layout_.plainWidth();
    if (width == 0 && !layout_.isTiny()) return false;
    const auto place = [&]<typename Code>(const Code* codes) {
        worker.taken_rows += rows;
        const uint64_t largest = largestOf(codes, rows);
        if (largest >= worker.rows_of_codes.size()) {
            const uint64_t most = std::clamp<uint64_t>(4 * worker.taken_rows, kFirstSmallKeys, kSmallKeys);
            if (sizeof(Code) > 2 && largest >= most) {
                worker.large_keys = kBatchesWithoutLooking;
                return false;
            }
            worker.rows_of_codes.resizeZeroed(std::bit_ceil(largest + 1));
        }
        placeByKnownCodes(worker, codes, rows, {}, mode);
        return true;
    };
    if (width == 0) {
        layout_.packKeys(keys, from, rows, worker.batch);
        return place(worker.batch.words);
    }
    const char* bytes = layout_.plainBytes(*keys[0], from);
    if (width == 1) return place(reinterpret_cast<const uint8_t*>(bytes));
    if (width == 2) return place(reinterpret_cast<const uint16_t*>(bytes));
    // Keys that may not be taken in would be looked up again in every batch.
    if (mode != KeyTable::Mode::Insert) return false;
    if (worker.large_keys > 0) {
        --worker.large_keys;
        return false;
    }
    if (width == 4) return place(reinterpret_cast<const uint32_t*>(bytes));
    return place(reinterpret_cast<const uint64_t*>(bytes));
}

/// Rows of groups straight from small numbers; those met for the first time go through the table, once each.
/// The key of a code is its row of `keys_of_codes`, or the code itself when there are none.
template <typename Code>
void Aggregator::placeByKnownCodes(Worker& worker,
                                   const Code* codes,
                                   size_t rows,
                                   std::span<const ColumnPtr> keys_of_codes,
                                   KeyTable::Mode mode) {
    char** known = worker.rows_of_codes.data();
    char** places = worker.places.data();
    bool missing = false;
    for (size_t i = 0; i < rows; ++i) {
        places[i] = known[codes[i]];
        missing |= places[i] == nullptr;
    }
    if (!missing) return;
    PodVector<RowIndex> unknown;
    for (size_t i = 0; i < rows; ++i)
        if (!places[i] && (unknown.empty() || unknown.back() != codes[i]))  // keys come in runs
            unknown.push_back(static_cast<RowIndex>(codes[i]));
    std::sort(unknown.begin(), unknown.end());
    unknown.resize(static_cast<size_t>(std::unique(unknown.begin(), unknown.end()) - unknown.begin()));
    PodVector<char*> found(unknown.size());
    ColumnPtr keys;  // the batch looks into it
    if (keys_of_codes.empty()) {
        worker.code_batch.words_buffer.resize(unknown.size());
        for (size_t i = 0; i < unknown.size(); ++i) worker.code_batch.words_buffer[i] = unknown[i];
        layout_.packWords(unknown.size(), worker.code_batch);
    } else {
        keys = keys_of_codes[0]->gather(unknown.span());
        layout_.pack({&keys, 1}, 0, unknown.size(), worker.code_batch);
    }
    std::swap(worker.batch, worker.code_batch);
    lookUp(worker, found.data(), mode);
    std::swap(worker.batch, worker.code_batch);
    for (size_t i = 0; i < unknown.size(); ++i) known[unknown[i]] = found[i];
    for (size_t i = 0; i < rows; ++i) places[i] = known[codes[i]];
}

KeyTable::Mode Aggregator::makeRoom(Worker& worker, size_t rows, KeyTable::Mode mode) {
    KeyTable& table = *worker.table;
    if (mode != KeyTable::Mode::Insert) return mode;
    if (worker.append_rows != 0) {
        worker.append_rows -= std::min(worker.append_rows, rows);
        return KeyTable::Mode::Append;
    }
    worker.looked_up += rows;
    if (table.fits(rows)) return mode;
    const bool may_forget = (!maximum_ || !maximum_->counts) && !frozen_ && plan_.groups_in_table == 0;
    const size_t limit = worker.part->store.partitioned() ? small_keys_ : large_keys_;
    const bool repeats = worker.looked_up >= table.size() + table.size() / 20;
    if (!may_forget || table.capacity() < 2 * small_keys_ || (repeats && table.capacity() < 2 * limit)) {
        table.growFor(table.size() + rows);
        return mode;
    }
    // Forget what is there; if keys hardly repeated, do not even look for a while.
    worker.part->store.partition();
    const bool steps_aside = worker.looked_up < table.size() + table.size() / 8;
    worker.looked_up = 0;
    if (steps_aside) worker.append_rows = 16 * small_keys_;
    table.reset(small_keys_);
    return steps_aside ? KeyTable::Mode::Append : mode;
}

/// places[i] for the rows of worker.batch.
void Aggregator::lookUp(Worker& worker, char** places, KeyTable::Mode mode) {
    if (worker.table->capacity() == 0) worker.table->reset(std::max<size_t>(256, plan_.groups_in_table));
    mode = makeRoom(worker, worker.batch.rows, mode);
    const bool wants_fresh = needs_create_ || needs_destroy_;
    worker.fresh.clear();
    worker.table->lookUp(worker.batch, worker.part->store, format_, *worker.part->arena, mode, places,
                         wants_fresh ? &worker.fresh : nullptr);
    for (char* row : worker.fresh) createStates(row);
}

void Aggregator::addStates(
    Worker& worker, const Input& input, char* const* places, size_t from, size_t rows) {
    Arena& arena = *worker.part->arena;
    if (worker.no_new_keys && plan_.overflow_row) {
        // Rows of keys that are left out go to the one row of all of them.
        if (!worker.overflow_row) worker.overflow_row = newSingleRow(worker);
        for (size_t i = 0; i < rows; ++i)
            if (!worker.places[i]) worker.places[i] = worker.overflow_row;
    }
    if (!plan_.merges_states && comeInLongRuns(places, rows)) {
        forEachPlace(places, rows, [&](char* place, size_t first, size_t count) {
            for (const size_t c : input.calls)
                plan_.calls[c].function->addBatchSingle(input.arguments[c].data(), place + offsets_[c],
                                                        from + first, count, arena);
        });
        return;
    }
    for (const size_t c : input.calls) {
        const aggregates::AggregateFunction& function = *plan_.calls[c].function;
        if (!plan_.merges_states) {
            function.addBatch(input.arguments[c].data(), places, offsets_[c], from, rows, arena);
            continue;
        }
        const char* const* states = as<StateColumn>(*input.arguments[c][0]).states().data() + from;
        worker.merged_into.clear();
        worker.merged.clear();
        for (size_t i = 0; i < rows; ++i) {
            if (!places[i]) continue;
            worker.merged_into.push_back(places[i]);
            worker.merged.push_back(states[i] - offsets_[c]);
        }
        function.mergeBatch(worker.merged_into.data(), worker.merged.data(), offsets_[c],
                            worker.merged.size(), arena);
    }
}

void Aggregator::addStatesSingle(Worker& worker, const Input& input, char* row) {
    Arena& arena = *worker.keyless_part->arena;
    for (const size_t c : input.calls) {
        const aggregates::AggregateFunction& function = *plan_.calls[c].function;
        if (!plan_.merges_states) {
            function.addBatchSingle(input.arguments[c].data(), row + offsets_[c], 0, input.rows, arena);
            continue;
        }
        const auto& states = as<StateColumn>(*input.arguments[c][0]).states();
        for (size_t i = 0; i < input.rows; ++i) function.merge(row + offsets_[c], states[i], arena);
    }
}

}  // namespace shardd::exec
