#pragma once

#include "server/exec/sort_order.h"
#include "server/plan/plan.h"

namespace shardd::exec {

/// Rows of one window's partitions in order, and for each row its partition, its peers and its frame. Rows
/// are asked for in ascending order, so that every bound only moves on.
class WindowFrame {
public:
    WindowFrame(const plan::WindowStep& step, const Block& sorted);

    /// Moves to the next row; false behind the last one.
    bool next();

    size_t row() const { return row_; }

    size_t partitionBegin() const { return partition_begin_; }

    size_t partitionEnd() const { return partition_end_; }

    /// Rows equal in ORDER BY; all of the partition where there is none.
    size_t peersBegin() const { return peers_begin_; }

    size_t peersEnd() const { return peers_end_; }

    /// How many groups of peers the partition has before this row's.
    size_t peerGroup() const { return peer_group_; }

    /// [begin, end), perhaps empty.
    size_t frameBegin() const { return frame_begin_; }

    size_t frameEnd() const { return frame_end_; }

private:
    void beginPartition();
    size_t boundOf(const plan::WindowStep::Bound& bound, bool is_end, size_t previous) const;
    size_t rangeBound(const plan::WindowStep::Bound& bound, bool is_end, size_t previous) const;
    size_t groupsBound(const plan::WindowStep::Bound& bound, bool is_end) const;
    bool samePartition(size_t a, size_t b) const;
    size_t endOfPeers(size_t row, size_t limit) const;

    const plan::WindowStep& step_;
    const size_t rows_;
    std::vector<ColumnPtr> partition_columns_;
    SortColumns order_;
    size_t row_ = 0;
    bool started_ = false;
    size_t partition_begin_ = 0;
    size_t partition_end_ = 0;
    size_t peers_begin_ = 0;
    size_t peers_end_ = 0;
    size_t peer_group_ = 0;
    std::vector<size_t> groups_;  // where each group of peers of the partition begins, for GROUPS frames
    size_t frame_begin_ = 0;
    size_t frame_end_ = 0;
};

}  // namespace shardd::exec
