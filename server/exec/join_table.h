#pragma once

#include <optional>
#include <span>
#include <vector>

#include "server/exec/row_set.h"
#include "server/plan/plan.h"

namespace shardd::exec {

/// The right side of a join: all its rows, and for every key the rows that have it.
/// Threads: built by one, then read by any.
class JoinTable {
public:
    static constexpr uint64_t kNoKey = RowSet::kMissing;

    /// `rows` has full columns.
    JoinTable(const plan::JoinStep& step, Block rows);

    const Block& rows() const { return rows_; }

    size_t keys() const { return first_.empty() ? 0 : first_.size() - 1; }

    /// numbers[i] is the key of row i of `block` (a block of the left side), kNoKey where no right row has
    /// it.
    void keysOf(const Block& block, PodVector<uint64_t>& numbers) const;

    /// Rows with the key, in their order, or in that of the ASOF column.
    std::span<const RowIndex> rowsOf(uint64_t key) const {
        return {order_.data() + first_[key], first_[key + 1] - first_[key]};
    }

    /// The nearest row for row `row` of the left side's ASOF column.
    std::optional<RowIndex> nearest(uint64_t key, const Column& values, size_t row) const;

private:
    const plan::JoinStep& step_;
    Block rows_;
    RowSet set_;
    PodVector<uint64_t> first_;  // by key: where its rows begin in order_
    PodVector<RowIndex> order_;
    ColumnPtr asof_;
};

}  // namespace shardd::exec
