#pragma once

#include <shared_mutex>

#include "server/exec/aggregator.h"
#include "server/exec/group_spill.h"

/// The inner parts of Aggregator, shared by aggregator.cpp (taking rows in), aggregator_finish.cpp
/// (giving groups out) and aggregator_limit.cpp (no more groups than so many)
/// and aggregator_spill.cpp (groups on the disk).
namespace shardd::exec {

struct Aggregator::Part {
    std::optional<Arena> arena{std::in_place};  // made anew when its groups went to the disk
    GroupStore store;
    std::vector<ColumnPtr> held;  // columns that groups' keys point into
};

struct Aggregator::Groups {
    Groups() = default;
    Groups(const Groups&) = delete;
    Groups& operator=(const Groups&) = delete;
    /// Destroys the states that are still alive.
    ~Groups();

    std::vector<std::unique_ptr<Part>> parts;
    /// Rows that no key leads to: the only one of an aggregation without keys, and the overflow rows.
    std::vector<std::unique_ptr<Part>> keyless_parts;
    std::vector<aggregates::AggregateFunctionPtr> functions;
    std::vector<size_t> offsets;
    size_t alive_offset = 0;
    size_t row_bytes = 0;
    bool needs_destroy = false;
};

struct Aggregator::Worker {
    Part* part = nullptr;
    Part* keyless_part = nullptr;
    std::unique_ptr<GroupSpill> spill;  // groups that went to the disk
    std::unique_ptr<KeyTable> table;
    KeyBatch batch;
    KeyBatch code_batch;
    PodVector<char*> places;
    PodVector<char*> fresh;
    PodVector<char*> merged_into;   // places of states …
    PodVector<const char*> merged;  // … and what is merged into them
    /// Rows of groups by dictionary code, or by a key that is a small number.
    PodVector<char*> rows_of_codes;
    size_t taken_rows = 0;      // by small keys
    size_t large_keys = 0;      // batches whose keys are not looked at: those before had large ones
    ColumnPtr dictionary;       // whose codes these are
    ColumnPtr dictionary_keys;  // as values of the key's type
    char* single_row = nullptr;
    char* overflow_row = nullptr;
    size_t looked_up = 0;     // rows since the table was last forgotten
    size_t append_rows = 0;   // to be taken in without looking
    size_t counted_rows = 0;  // of its groups, those that Maximum knows
    bool no_new_keys = false;
    bool mostly_new_keys = false;  // in the block before
};

/// max_rows_to_group_by over the groups of all workers.
struct Aggregator::Maximum {
    std::shared_mutex mutex;  // shared: a worker adds; exclusive: the groups of all are counted
    std::unique_ptr<KeyTable> known;
    PodVector<char*> known_rows;        // one of each key that was counted
    std::atomic<size_t> uncounted = 0;  // rows that workers made since
    bool reached = false;               // no new keys, or (Break) no more rows
    bool counts = true;                 // else: only when everything is merged
};

struct Aggregator::Input {
    size_t rows = 0;
    std::vector<ColumnPtr> keys;
    const DictionaryColumn* dictionary = nullptr;       // the only key, if it is one
    std::vector<size_t> calls;                          // that take something from it
    std::vector<std::vector<const Column*>> arguments;  // of every call
    std::vector<ColumnPtr> held;
};

/// Rows that are looked up and added at a time: their places stay in the first cache.
inline constexpr size_t kBatchRows = 1024;

/// Appends the addresses of all rows.
inline void collectRows(const GroupRows& rows, size_t row_bytes, PodVector<char*>& out) {
    rows.forEachChunk(row_bytes, [&](char* row, size_t count) {
        for (size_t i = 0; i < count; ++i) out.push_back(row + i * row_bytes);
    });
}

}  // namespace shardd::exec
