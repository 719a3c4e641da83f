#include "server/exec/join_table.h"

#include <algorithm>

namespace shardd::exec {

namespace {

/// Key columns written out, and which rows have a NULL where NULL equals nothing.
std::vector<ColumnPtr> keyColumns(const Block& block,
                                  const std::vector<std::string>& names,
                                  const std::vector<bool>& null_safe,
                                  Mask& hopeless) {
    std::vector<ColumnPtr> columns;
    hopeless.resizeZeroed(block.rows);
    for (size_t i = 0; i < names.size(); ++i) {
        columns.push_back(fullPlain(block.get(names[i]).column));
        if (null_safe[i]) continue;
        for (size_t row = 0; row < block.rows; ++row)
            if (columns.back()->isNullAt(row)) hopeless[row] = 1;
    }
    return columns;
}

}  // namespace

JoinTable::JoinTable(const plan::JoinStep& step, Block rows) : step_(step), rows_(std::move(rows)) {
    PodVector<uint64_t> numbers;
    Mask hopeless;
    if (step_.right_keys.empty()) {
        numbers.assign(rows_.rows, 0);
        hopeless.resizeZeroed(rows_.rows);
        first_.assign(2, 0);
    } else {
        const std::vector<ColumnPtr> columns = keyColumns(rows_, step_.right_keys, step_.null_safe, hopeless);
        set_.insert(columns, rows_.rows, numbers);
        first_.assign(set_.size() + 1, 0);
    }
    if (!step_.asof_right.empty()) {
        asof_ = fullPlain(rows_.get(step_.asof_right).column);
        for (size_t row = 0; row < rows_.rows; ++row)
            if (asof_->isNullAt(row)) hopeless[row] = 1;
    }
    for (size_t row = 0; row < rows_.rows; ++row)
        if (!hopeless[row]) ++first_[numbers[row] + 1];
    for (size_t key = 1; key < first_.size(); ++key) first_[key] += first_[key - 1];
    order_.resize(first_.empty() ? 0 : first_.back());
    PodVector<uint64_t> next = first_;
    for (size_t row = 0; row < rows_.rows; ++row)
        if (!hopeless[row]) order_[next[numbers[row]]++] = static_cast<RowIndex>(row);
    if (!asof_) return;
    for (size_t key = 0; key + 1 < first_.size(); ++key)
        std::stable_sort(order_.begin() + first_[key], order_.begin() + first_[key + 1],
                         [&](RowIndex a, RowIndex b) { return asof_->compareAt(a, *asof_, b, 1) < 0; });
}

void JoinTable::keysOf(const Block& block, PodVector<uint64_t>& numbers) const {
    if (step_.left_keys.empty()) {
        numbers.assign(block.rows, order_.empty() ? kNoKey : 0);
        return;
    }
    Mask hopeless;
    const std::vector<ColumnPtr> columns = keyColumns(block, step_.left_keys, step_.null_safe, hopeless);
    set_.find(columns, block.rows, numbers);
    for (size_t row = 0; row < block.rows; ++row)
        if (hopeless[row] || (numbers[row] != kNoKey && rowsOf(numbers[row]).empty())) numbers[row] = kNoKey;
}

std::optional<RowIndex> JoinTable::nearest(uint64_t key, const Column& values, size_t row) const {
    using Nearest = plan::JoinStep::Nearest;
    if (values.isNullAt(row)) return std::nullopt;
    const std::span<const RowIndex> sorted = rowsOf(key);
    const bool strict = step_.nearest == Nearest::Greater || step_.nearest == Nearest::Less;
    const bool from_below = step_.nearest == Nearest::GreaterOrEqual || step_.nearest == Nearest::Greater;
    // The first row that is not before the value: not below it, or (for `<` and `>=`) above it.
    const bool skip_equal = from_below != strict;
    const auto place = std::partition_point(sorted.begin(), sorted.end(), [&](RowIndex candidate) {
        const int order = asof_->compareAt(candidate, values, row, 1);
        return order < 0 || (order == 0 && skip_equal);
    });
    if (from_below) return place == sorted.begin() ? std::nullopt : std::optional(*(place - 1));
    return place == sorted.end() ? std::nullopt : std::optional(*place);
}

}  // namespace shardd::exec
