#pragma once

#include "server/exec/aggregator.h"

/// The inner parts of Aggregator, shared by aggregator.cpp (taking rows in) and aggregator_finish.cpp (giving
/// groups out).
namespace shardd::exec {

struct Aggregator::Part {
    Arena arena;
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
    std::vector<aggregates::AggregateFunctionPtr> functions;
    std::vector<size_t> offsets;
    size_t alive_offset = 0;
    size_t row_bytes = 0;
    bool needs_destroy = false;
};

struct Aggregator::Worker {
    Part* part = nullptr;
    std::unique_ptr<KeyTable> table;
    KeyBatch batch;
    KeyBatch code_batch;
    PodVector<char*> places;
    PodVector<char*> fresh;
    /// Rows of groups by dictionary code or by tiny key.
    PodVector<char*> rows_of_codes;
    ColumnPtr dictionary;       // whose codes these are
    ColumnPtr dictionary_keys;  // as values of the key's type
    char* single_row = nullptr;
    char* overflow_row = nullptr;
    size_t looked_up = 0;    // rows since the table was last forgotten
    size_t append_rows = 0;  // to be taken in without looking
    bool no_new_keys = false;
    bool mostly_new_keys = false;  // in the block before
};

struct Aggregator::Input {
    size_t rows = 0;
    std::vector<ColumnPtr> keys;
    const DictionaryColumn* dictionary = nullptr;       // the only key, if it is one
    std::vector<size_t> calls;                          // that take something from it
    std::vector<std::vector<const Column*>> arguments;  // of every call
    std::vector<ColumnPtr> held;
};

}  // namespace shardd::exec
