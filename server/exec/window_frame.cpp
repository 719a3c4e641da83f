#include "server/exec/window_frame.h"

#include <algorithm>

#include "common/base/error.h"

namespace shardd::exec {

using Bound = plan::WindowStep::Bound;

WindowFrame::WindowFrame(const plan::WindowStep& step, const Block& sorted)
    : step_(step), rows_(sorted.rows), order_(step.order_by, sorted) {
    for (const std::string& name : step.partition_by)
        partition_columns_.push_back(fullPlain(sorted.get(name).column));
}

bool WindowFrame::samePartition(size_t a, size_t b) const {
    return std::all_of(partition_columns_.begin(), partition_columns_.end(),
                       [&](const ColumnPtr& column) { return column->compareAt(a, *column, b, 1) == 0; });
}

size_t WindowFrame::endOfPeers(size_t row, size_t limit) const {
    if (order_.keyCount() == 0) return limit;
    size_t end = row + 1;
    while (end < limit && order_.compare(row, order_, end) == 0) ++end;
    return end;
}

void WindowFrame::beginPartition() {
    partition_begin_ = row_;
    partition_end_ = row_ + 1;
    while (partition_end_ < rows_ && samePartition(row_, partition_end_)) ++partition_end_;
    peers_begin_ = row_;
    peers_end_ = endOfPeers(row_, partition_end_);
    peer_group_ = 0;
    frame_begin_ = frame_end_ = row_;
    groups_.clear();
    if (step_.frame == plan::WindowStep::Frame::Groups)
        for (size_t at = row_; at < partition_end_; at = endOfPeers(at, partition_end_))
            groups_.push_back(at);
}

bool WindowFrame::next() {
    if (started_) ++row_;
    if (row_ >= rows_) return false;
    if (!started_ || row_ == partition_end_) {
        beginPartition();
    } else if (row_ == peers_end_) {
        peers_begin_ = row_;
        peers_end_ = endOfPeers(row_, partition_end_);
        ++peer_group_;
    }
    started_ = true;
    frame_begin_ = boundOf(step_.begin, false, frame_begin_);
    frame_end_ = std::max(frame_begin_, boundOf(step_.end, true, frame_end_));
    return true;
}

size_t WindowFrame::boundOf(const Bound& bound, bool is_end, size_t previous) const {
    const bool rows = step_.frame == plan::WindowStep::Frame::Rows;
    switch (bound.kind) {
        case Bound::Kind::Unbounded:
            return bound.preceding ? partition_begin_ : partition_end_;
        case Bound::Kind::Current:
            if (rows) return is_end ? row_ + 1 : row_;
            return is_end ? peers_end_ : peers_begin_;
        case Bound::Kind::Offset:
            break;
    }
    if (step_.frame == plan::WindowStep::Frame::Range) return rangeBound(bound, is_end, previous);
    if (step_.frame == plan::WindowStep::Frame::Groups) return groupsBound(bound, is_end);
    const auto offset = bound.offset.to<uint64_t>();
    const size_t end = is_end ? 1 : 0;
    if (bound.preceding) {
        const size_t before = row_ - partition_begin_ + end;
        return offset > before ? partition_begin_ : row_ + end - offset;
    }
    return offset > partition_end_ - row_ ? partition_end_ : std::min(partition_end_, row_ + offset + end);
}

size_t WindowFrame::groupsBound(const Bound& bound, bool is_end) const {
    const auto offset = static_cast<ptrdiff_t>(bound.offset.to<uint64_t>());
    const ptrdiff_t group =
        static_cast<ptrdiff_t>(peer_group_) + (bound.preceding ? -offset : offset) + (is_end ? 1 : 0);
    if (group <= 0) return partition_begin_;
    if (group >= static_cast<ptrdiff_t>(groups_.size())) return partition_end_;
    return groups_[static_cast<size_t>(group)];
}

/// The first row whose distance to the current one is (begin) at least, (end) beyond the offset; NULLs are
/// only near each other.
size_t WindowFrame::rangeBound(const Bound& bound, bool is_end, size_t previous) const {
    const Column& column = *order_.column(0);
    const bool descending = order_.key(0).descending;
    if (column.isNullAt(row_)) return is_end ? peers_end_ : peers_begin_;
    const Value here = column.value(row_);
    const auto isBefore = [&](size_t at) {
        if (column.isNullAt(at)) return at < row_;
        const Value there = column.value(at);
        const auto decide = [&](auto distance, auto offset) {
            if (descending) distance = -distance;
            if (bound.preceding) offset = -offset;
            return is_end ? distance <= offset : distance < offset;
        };
        if (here.kind() == Value::Kind::Float64)
            return decide(there.to<double>() - here.to<double>(), bound.offset.to<double>());
        return decide(there.to<Int128>() - here.to<Int128>(), bound.offset.to<Int128>());
    };
    size_t at = std::max(previous, partition_begin_);
    while (at < partition_end_ && isBefore(at)) ++at;
    return at;
}

}  // namespace shardd::exec
