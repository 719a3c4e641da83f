#pragma once

#include <optional>
#include <vector>

#include "common/columns/block.h"
#include "server/exec/sort_order.h"
#include "server/exec/top_filter.h"

namespace shardd::exec {

/// Rows of which only the first `limit` in order matter (all when it is 0): keeps little more than those.
/// Threads: one at a time.
class TopRows {
public:
    /// `filter`, when given, is told what is known.
    TopRows(const std::vector<plan::SortKey>& keys,
            uint64_t limit,
            bool with_ties,
            TopFilter* filter = nullptr)
        : keys_(&keys), limit_(limit), with_ties_(with_ties), filter_(filter) {}

    void add(Block block);

    /// What is left, in no order, as full columns.
    std::vector<Block> take() { return std::move(blocks_); }

    /// The last row that still counts, when `limit` rows are known.
    const std::optional<Block>& threshold() const { return threshold_; }

private:
    /// Leaves out the rows behind the threshold.
    Block beforeThreshold(Block block) const;
    void compact();

    const std::vector<plan::SortKey>* keys_;
    uint64_t limit_;
    bool with_ties_;
    TopFilter* filter_;
    std::vector<Block> blocks_;
    uint64_t rows_ = 0;
    uint64_t compact_at_ = 0;
    std::optional<Block> threshold_;
};

}  // namespace shardd::exec
