#pragma once

#include <span>
#include <string_view>

#include "common/base/arena.h"
#include "common/base/pod_vector.h"
#include "common/base/writer.h"
#include "common/columns/column.h"

namespace shardd::exec {

/// Distinct rows of any types, numbered in the order of their first appearance; by their serialised values.
/// Threads: one at a time.
class RowSet {
public:
    static constexpr uint64_t kMissing = UINT64_MAX;

    /// numbers[i] is the number of row i, taken in when it is new. Columns are full() and always of the same
    /// types.
    void insert(std::span<const ColumnPtr> columns, size_t rows, PodVector<uint64_t>& numbers);

    /// numbers[i] is the row's number or kMissing.
    void find(std::span<const ColumnPtr> columns, size_t rows, PodVector<uint64_t>& numbers) const;

    size_t size() const { return entries_.size(); }

private:
    struct Entry {
        uint64_t hash;
        std::string_view key;
    };

    /// The slot that holds the key, or the empty one where it would go.
    size_t slotOf(uint64_t hash, std::string_view key) const;
    void grow();

    Arena arena_;
    PodVector<Entry> entries_;
    PodVector<uint32_t> slots_;  // number + 1; 0 is empty
};

}  // namespace shardd::exec
