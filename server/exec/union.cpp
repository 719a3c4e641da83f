#include <mutex>
#include <optional>

#include "server/exec/operators.h"
#include "server/exec/pipeline.h"
#include "server/exec/row_set.h"

namespace shardd::exec {

namespace {

/// The end of one input is not the end of all; columns get the union's names.
class UnionSink final : public ForwardingSink {
public:
    UnionSink(const Block& header, Sink& next) : ForwardingSink(next), header_(header) {}

    Flow consume(size_t worker, Block block) override {
        for (size_t i = 0; i < block.columns.size(); ++i) block.columns[i].name = header_.columns[i].name;
        const Flow flow = next_.consume(worker, std::move(block));
        if (flow == Flow::Enough) enough_.store(true);
        return flow;
    }

    void totals(Block block) override {
        if (!has_totals_) next_.totals(std::move(block));
        has_totals_ = true;
    }

    void finish() override {}

    bool enough() const { return enough_.load(); }

private:
    const Block& header_;
    std::atomic<bool> enough_ = false;
    bool has_totals_ = false;
};

/// How often each row of the right side came.
class CountingSink final : public Sink {
public:
    Flow consume(size_t /*worker*/, Block block) override {
        std::vector<ColumnPtr> columns;
        for (const NamedColumn& column : block.columns) columns.push_back(fullPlain(column.column));
        std::lock_guard lock(mutex_);
        PodVector<uint64_t> numbers;
        rows.insert(columns, block.rows, numbers);
        counts.resizeZeroed(rows.size());
        for (const uint64_t number : numbers) ++counts[number];
        return Flow::More;
    }

    void totals(Block /*block*/) override {}

    void extremes(Block /*block*/) override {}

    void finish() override {}

    RowSet rows;
    PodVector<uint64_t> counts;

private:
    std::mutex mutex_;  // guards rows and counts while workers push
};

class IntersectExceptSink final : public ForwardingSink {
public:
    using Kind = plan::IntersectExceptStep::Kind;

    IntersectExceptSink(Kind kind, CountingSink& right, Sink& next)
        : ForwardingSink(next), kind_(kind), right_(right) {}

    Flow consume(size_t worker, Block block) override {
        std::vector<ColumnPtr> columns;
        for (const NamedColumn& column : block.columns) columns.push_back(fullPlain(column.column));
        Mask mask(block.rows);
        size_t kept = 0;
        {
            std::lock_guard lock(mutex_);
            PodVector<uint64_t> numbers;
            right_.rows.find(columns, block.rows, numbers);
            PodVector<uint64_t> left_numbers;
            const bool distinct = kind_ == Kind::IntersectDistinct || kind_ == Kind::ExceptDistinct;
            if (distinct) left_.insert(columns, block.rows, left_numbers);
            for (size_t i = 0; i < block.rows; ++i) {
                mask[i] =
                    distinct ? isFirst(left_numbers[i]) && isWanted(numbers[i]) : isWantedOfMany(numbers[i]);
                kept += mask[i];
            }
        }
        if (kept == 0) return Flow::More;
        return next_.consume(worker, block.filter(mask.span(), kept));
    }

private:
    bool isFirst(uint64_t number) {
        if (number < left_seen_) return false;
        left_seen_ = number + 1;
        return true;
    }

    bool isWanted(uint64_t number) const {
        return (number != RowSet::kMissing) == (kind_ == Kind::IntersectDistinct || kind_ == Kind::Intersect);
    }

    /// ALL: each row of the right side meets one of the left.
    bool isWantedOfMany(uint64_t number) {
        const bool met = number != RowSet::kMissing && right_.counts[number] > 0;
        if (met) --right_.counts[number];
        return met == (kind_ == Kind::Intersect);
    }

    const Kind kind_;
    std::mutex mutex_;  // guards right_, left_ and left_seen_ while workers push
    CountingSink& right_;
    RowSet left_;
    uint64_t left_seen_ = 0;
};

}  // namespace

void run(const plan::UnionStep& step, const StepPlace& place, Sink& sink) {
    UnionSink all(place.header, sink);
    for (const plan::StepPtr& input : step.inputs)
        if (!all.enough()) runStep(*input, place.context, all);
    sink.finish();
}

void run(const plan::IntersectExceptStep& step, const StepPlace& place, Sink& sink) {
    CountingSink right;
    runStep(*step.right, place.context, right);
    IntersectExceptSink left(step.kind, right, sink);
    runStep(*step.left, place.context, left);
}

}  // namespace shardd::exec
