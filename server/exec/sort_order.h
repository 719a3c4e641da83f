#pragma once

#include <vector>

#include "common/columns/block.h"
#include "server/plan/plan.h"

namespace shardd::exec {

/// The columns that order rows, looked up once a block and written out, so that rows of two blocks compare.
class SortColumns {
public:
    SortColumns(const std::vector<plan::SortKey>& keys, const Block& block);

    /// Negative, 0 or positive: row `row` here before, beside or after `other_row` of `other` (same keys).
    /// Keys before `first_key` are known to be equal.
    int compare(size_t row, const SortColumns& other, size_t other_row, size_t first_key = 0) const;

    const ColumnPtr& column(size_t key) const { return columns_[key]; }

    size_t keyCount() const { return columns_.size(); }

    const plan::SortKey& key(size_t i) const { return (*keys_)[i]; }

private:
    const std::vector<plan::SortKey>* keys_;
    std::vector<ColumnPtr> columns_;
};

/// The first key of each row as a number whose order is the rows' order, as far as 64 bits tell: rows with
/// equal numbers need SortColumns::compare(), from the second key on when `exact`.
struct SortPrefixes {
    PodVector<uint64_t> values;
    bool exact = false;
};

SortPrefixes sortPrefixes(const SortColumns& columns, size_t rows);

/// Whether two rows are equal in the keys' columns.
bool equalBy(
    const std::vector<plan::SortKey>& keys, const Block& a, size_t row_a, const Block& b, size_t row_b);

/// The rows of `block` in order (equal rows keep theirs), the first `limit` of them when it is not 0 and,
/// with ties, those equal to the last.
PodVector<RowIndex> sortedRows(const std::vector<plan::SortKey>& keys,
                               const Block& block,
                               uint64_t limit = 0,
                               bool with_ties = false);

}  // namespace shardd::exec
