#include <algorithm>
#include <cmath>
#include <mutex>

#include "server/exec/operators.h"
#include "server/exec/pipeline.h"
#include "server/exec/sort_order.h"

namespace shardd::exec {

namespace {

/// LIMIT n OFFSET m with plain numbers: passes rows on as they come.
class LimitSink final : public ForwardingSink {
public:
    LimitSink(const plan::LimitStep& step, const StepPlace& place, Sink& next)
        : ForwardingSink(next),
          step_(step),
          place_(place),
          begin_(step.offset.rows),
          end_(step.limit ? saturatedSum(step.offset.rows, step.limit->rows) : UINT64_MAX) {}

    Flow consume(size_t worker, Block block) override {
        uint64_t from = 0;
        {
            std::lock_guard lock(mutex_);
            from = seen_;
            seen_ += block.rows;
            if (ended_) return answer(Flow::Enough);
        }
        const uint64_t to = from + block.rows;
        uint64_t first = std::max(begin_, from);
        uint64_t last = std::min(end_, to);
        if (step_.with_ties && step_.limit) last = lastWithTies(block, from, first, last);
        Flow flow = Flow::More;
        if (first < last) {
            if (first != from || last != to) block = block.slice(first - from, last - first);
            flow = next_.consume(worker, std::move(block));
        }
        const bool complete = to >= end_ && (!step_.with_ties || last < to);
        if (flow == Flow::Enough || complete || end_ == begin_) {
            std::lock_guard lock(mutex_);
            ended_ = true;
            return answer(Flow::Enough);
        }
        return Flow::More;
    }

    void finish() override {
        if (place_.counts_rows_before_limit) place_.context.addRowsBeforeLimit(seen_);
        next_.finish();
    }

private:
    static uint64_t saturatedSum(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

    Flow answer(Flow flow) const { return step_.exhaust_input ? Flow::More : flow; }

    /// Where the rows equal to the last one end. Rows have an order, so one worker calls.
    uint64_t lastWithTies(const Block& block, uint64_t from, uint64_t first, uint64_t last) {
        const uint64_t to = from + block.rows;
        if (end_ == begin_) return last;
        if (end_ > from && end_ <= to) last_row_ = block.slice(end_ - 1 - from, 1);
        if (to < end_ || last_row_.rows == 0) return last;
        uint64_t row = std::max(end_, from);
        while (row < to && equalBy(step_.ties, block, row - from, last_row_, 0)) ++row;
        return std::max(row, first);
    }

    const plan::LimitStep& step_;
    const StepPlace place_;
    const uint64_t begin_;
    const uint64_t end_;
    std::mutex mutex_;  // guards seen_ and ended_
    uint64_t seen_ = 0;
    bool ended_ = false;
    Block last_row_;
};

/// Counts from the end and shares of all rows: needs them all first.
class CollectedLimitSink final : public ForwardingSink {
public:
    CollectedLimitSink(const plan::LimitStep& step, const StepPlace& place, Sink& next)
        : ForwardingSink(next), step_(step), place_(place) {}

    Flow consume(size_t /*worker*/, Block block) override {
        std::lock_guard lock(mutex_);
        rows_ += block.rows;
        blocks_.push_back(std::move(block));
        return Flow::More;
    }

    void finish() override {
        if (place_.counts_rows_before_limit) place_.context.addRowsBeforeLimit(rows_);
        uint64_t begin = 0;
        uint64_t end = rows_;
        const uint64_t offset = std::min(rows_, rowsOf(step_.offset));
        if (step_.offset.from_end)
            end -= offset;
        else
            begin = offset;
        if (step_.limit) {
            const uint64_t limit = rowsOf(*step_.limit);
            if (step_.limit->from_end)
                begin = std::max(begin, end - std::min(end, limit));
            else
                end = std::min(end, begin + std::min(limit, rows_));
        }
        push(begin, end);
        next_.finish();
    }

private:
    uint64_t rowsOf(const plan::RowCount& count) const {
        if (count.fraction > 0)
            return static_cast<uint64_t>(std::ceil(static_cast<double>(rows_) * count.fraction));
        return count.rows;
    }

    void push(uint64_t begin, uint64_t end) {
        if (begin >= end) return;
        if (step_.with_ties && step_.limit) extendByTies(begin, end);
        uint64_t from = 0;
        for (const Block& block : blocks_) {
            const uint64_t to = from + block.rows;
            const uint64_t first = std::max(begin, from);
            const uint64_t last = std::min(end, to);
            if (first < last && next_.consume(0, block.slice(first - from, last - first)) == Flow::Enough)
                return;
            from = to;
        }
    }

    void extendByTies(uint64_t& begin, uint64_t& end) const {
        if (step_.limit->from_end) {
            const auto [first, first_row] = at(begin);
            while (begin > 0 && equalAt(begin - 1, *first, first_row)) --begin;
            return;
        }
        const auto [last, last_row] = at(end - 1);
        while (end < rows_ && equalAt(end, *last, last_row)) ++end;
    }

    std::pair<const Block*, size_t> at(uint64_t row) const {
        for (const Block& block : blocks_) {
            if (row < block.rows) return {&block, row};
            row -= block.rows;
        }
        return {nullptr, 0};
    }

    bool equalAt(uint64_t row, const Block& other, size_t other_row) const {
        const auto [block, local] = at(row);
        return equalBy(step_.ties, *block, local, other, other_row);
    }

    const plan::LimitStep& step_;
    const StepPlace place_;
    std::mutex mutex_;  // guards blocks_ and rows_ while workers push
    std::vector<Block> blocks_;
    uint64_t rows_ = 0;
};

}  // namespace

void run(const plan::LimitStep& step, const StepPlace& place, Sink& sink) {
    if (step.offset.plain() && (!step.limit || step.limit->plain())) {
        LimitSink limit(step, place, sink);
        runStep(*step.input, place.context, limit);
        return;
    }
    CollectedLimitSink limit(step, place, sink);
    runStep(*step.input, place.context, limit);
}

}  // namespace shardd::exec
