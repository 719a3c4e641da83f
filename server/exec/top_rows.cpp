#include "server/exec/top_rows.h"

#include <algorithm>

namespace shardd::exec {

namespace {

/// So many rows more than the limit are worth sorting.
constexpr uint64_t kMoreRows = 128;

}  // namespace

void TopRows::add(Block block) {
    if (limit_ != 0 && threshold_) block = beforeThreshold(std::move(block));
    if (block.rows == 0) return;
    block.makeFull();
    rows_ += block.rows;
    blocks_.push_back(std::move(block));
    if (limit_ != 0 && rows_ >= std::max(limit_, compact_at_) && rows_ > limit_) compact();
}

Block TopRows::beforeThreshold(Block block) const {
    const SortColumns columns(*keys_, block);
    const SortColumns last(*keys_, *threshold_);
    const SortPrefixes prefixes = sortPrefixes(columns, block.rows);
    const uint64_t bound = sortPrefixes(last, 1).values[0];
    const bool decided = prefixes.exact && keys_->size() == 1;
    Mask mask(block.rows);
    size_t kept = 0;
    for (size_t i = 0; i < block.rows; ++i) {
        bool keep = prefixes.values[i] < bound;
        if (prefixes.values[i] == bound)
            keep = decided ? with_ties_ : columns.compare(i, last, 0) < (with_ties_ ? 1 : 0);
        mask[i] = keep;
        kept += keep;
    }
    if (kept == block.rows) return block;
    return block.filter(mask.span(), kept);
}

void TopRows::compact() {
    const Block all = concatenate(std::move(blocks_));
    const PodVector<RowIndex> rows = sortedRows(*keys_, all, limit_, with_ties_);
    blocks_.clear();
    blocks_.push_back(all.gather(rows.span()));
    rows_ = rows.size();
    if (rows_ >= limit_) {
        threshold_ = blocks_[0].slice(limit_ - 1, 1);
        if (filter_) filter_->tighten(sortPrefixes(SortColumns(*keys_, *threshold_), 1).values[0]);
    }
    // Often at first: a tight bound keeps rows from being made.
    compact_at_ = rows_ * 2 + kMoreRows;
}

}  // namespace shardd::exec
