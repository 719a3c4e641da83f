#include <algorithm>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "common/base/arena.h"
#include "common/columns/create_column.h"
#include "common/columns/fixed_column.h"
#include "server/exec/operators.h"
#include "server/exec/pipeline.h"
#include "server/exec/window_frame.h"

namespace shardd::exec {

namespace {

/// One call of a window function: gives a value for each row, in order.
class WindowCall {
public:
    WindowCall(const plan::WindowStep::Call& call, const Block& sorted)
        : call_(call), result_(createColumn(*call.type)) {
        result_->reserve(sorted.rows);
        for (const std::string& name : call.arguments) {
            columns_.push_back(fullPlain(sorted.get(name).column));
            raw_.push_back(columns_.back().get());
        }
    }

    virtual ~WindowCall() = default;

    virtual void add(const WindowFrame& frame) = 0;

    MutableColumnPtr take() { return std::move(result_); }

protected:
    const plan::WindowStep::Call& call_;  // NOLINT(readability-identifier-naming): as private members
    MutableColumnPtr result_;             // NOLINT(readability-identifier-naming)
    std::vector<ColumnPtr> columns_;      // NOLINT(readability-identifier-naming)
    std::vector<const Column*> raw_;      // NOLINT(readability-identifier-naming)
};

/// An aggregate function over the frame: rows are added while the frame only grows, else it starts anew.
class AggregateOverFrame final : public WindowCall {
public:
    AggregateOverFrame(const plan::WindowStep::Call& call, const Block& sorted)
        : WindowCall(call, sorted), state_(call.aggregate->stateSize() + call.aggregate->stateAlignment()) {
        const auto address = reinterpret_cast<uintptr_t>(state_.data());
        const size_t alignment = call.aggregate->stateAlignment();
        place_ = state_.data() + (alignment - address % alignment) % alignment;
        call.aggregate->create(place_);
    }

    ~AggregateOverFrame() override { call_.aggregate->destroy(place_); }

    void add(const WindowFrame& frame) override {
        const bool moved = frame.frameBegin() != begin_ || frame.frameEnd() < end_;
        if (moved) {
            call_.aggregate->destroy(place_);
            call_.aggregate->create(place_);
            begin_ = end_ = frame.frameBegin();
        }
        if (frame.frameEnd() > end_)
            call_.aggregate->addBatchSingle(raw_.data(), place_, end_, frame.frameEnd() - end_, arena_);
        end_ = frame.frameEnd();
        call_.aggregate->insertResult(place_, *result_, arena_);
    }

private:
    Arena arena_;
    PodVector<char> state_;
    char* place_ = nullptr;
    size_t begin_ = 0;
    size_t end_ = 0;
};

/// Numbers that follow from where the row stands.
template <typename T>
class PositionCall final : public WindowCall {
public:
    using Compute = T (*)(const WindowFrame&, const std::vector<const Column*>&);

    PositionCall(const plan::WindowStep::Call& call, const Block& sorted, Compute compute)
        : WindowCall(call, sorted), compute_(compute) {}

    void add(const WindowFrame& frame) override {
        static_cast<FixedColumn<T>&>(*result_).values().push_back(compute_(frame, raw_));
    }

private:
    Compute compute_;
};

uint64_t ntile(const WindowFrame& frame, const std::vector<const Column*>& arguments) {
    const auto buckets = arguments[0]->value(frame.row()).to<int64_t>();
    if (buckets <= 0)
        throw Error(ErrorCode::BAD_ARGUMENTS,
                    "Argument of 'ntile' function must be greater than zero, got {}", buckets);
    const size_t rows = frame.partitionEnd() - frame.partitionBegin();
    const size_t place = frame.row() - frame.partitionBegin();
    const size_t small = rows / static_cast<size_t>(buckets);
    const size_t large_count = rows % static_cast<size_t>(buckets);
    const size_t in_large = large_count * (small + 1);
    if (place < in_large) return place / (small + 1) + 1;
    return large_count + (place - in_large) / small + 1;
}

/// A value of another row, or a default.
class OtherRowCall final : public WindowCall {
public:
    enum class Where { Before, After, Nth, First, Last };

    OtherRowCall(const plan::WindowStep::Call& call, const Block& sorted, Where where, bool in_frame)
        : WindowCall(call, sorted), where_(where), in_frame_(in_frame) {}

    void add(const WindowFrame& frame) override {
        const size_t begin = in_frame_ ? frame.frameBegin() : frame.partitionBegin();
        const size_t end = in_frame_ ? frame.frameEnd() : frame.partitionEnd();
        const size_t row = frame.row();
        size_t wanted = end;
        switch (where_) {
            case Where::First:
                wanted = begin;
                break;
            case Where::Last:
                wanted = end == begin ? end : end - 1;
                break;
            case Where::Nth:
                wanted = begin + nth(row);
                break;
            case Where::Before: {
                const size_t offset = offsetAt(row);
                wanted = offset > row - std::min(begin, row) ? end : row - offset;
                break;
            }
            case Where::After: {
                const size_t offset = offsetAt(row);
                wanted = offset >= end - std::min(end, row) ? end : row + offset;
                break;
            }
        }
        if (wanted >= begin && wanted < end)
            result_->insertFrom(*columns_[0], wanted);
        else if (columns_.size() > 2)
            result_->insert(columns_[2]->value(row));
        else
            result_->insertDefault(1);
    }

private:
    size_t offsetAt(size_t row) const {
        if (columns_.size() < 2) return 1;
        const auto offset = columns_[1]->value(row).to<int64_t>();
        if (offset < 0)
            throw Error(ErrorCode::BAD_ARGUMENTS, "The offset for function {} must be non-negative, {} given",
                        call_.function, offset);
        return static_cast<size_t>(offset);
    }

    size_t nth(size_t row) const {
        const auto number = columns_[1]->value(row).to<int64_t>();
        if (number <= 0)
            throw Error(ErrorCode::BAD_ARGUMENTS,
                        "The offset for function {} must be greater than zero, {} given", call_.function,
                        number);
        return static_cast<size_t>(number) - 1;
    }

    const Where where_;
    const bool in_frame_;
};

/// Change of a value by time, as nonNegativeDerivative(metric, timestamp) has it: 0 for the first row and for
/// falling values.
class DerivativeCall final : public WindowCall {
public:
    using WindowCall::WindowCall;

    void add(const WindowFrame& frame) override {
        const size_t row = frame.row();
        double result = 0;
        if (row != frame.partitionBegin()) {
            const double rise =
                columns_[0]->value(row).to<double>() - columns_[0]->value(row - 1).to<double>();
            const double time =
                columns_[1]->value(row).to<double>() - columns_[1]->value(row - 1).to<double>();
            if (rise >= 0 && time > 0) result = rise / time;
        }
        static_cast<FixedColumn<double>&>(*result_).values().push_back(result);
    }
};

std::unique_ptr<WindowCall> makeNumberCall(const plan::WindowStep::Call& call, const Block& sorted) {
    using Arguments = const std::vector<const Column*>&;
    using Integer = PositionCall<uint64_t>;
    using Real = PositionCall<double>;
    const std::string& name = call.function;
    if (name == "row_number")
        return std::make_unique<Integer>(call, sorted, [](const WindowFrame& f, Arguments) -> uint64_t {
            return f.row() - f.partitionBegin() + 1;
        });
    if (name == "rank")
        return std::make_unique<Integer>(call, sorted, [](const WindowFrame& f, Arguments) -> uint64_t {
            return f.peersBegin() - f.partitionBegin() + 1;
        });
    if (name == "dense_rank" || name == "denseRank")
        return std::make_unique<Integer>(
            call, sorted, [](const WindowFrame& f, Arguments) -> uint64_t { return f.peerGroup() + 1; });
    if (name == "ntile") return std::make_unique<Integer>(call, sorted, ntile);
    if (name == "percent_rank" || name == "percentRank")
        return std::make_unique<Real>(call, sorted, [](const WindowFrame& f, Arguments) {
            const size_t rows = f.partitionEnd() - f.partitionBegin();
            return rows <= 1 ? 0.0
                             : static_cast<double>(f.peersBegin() - f.partitionBegin()) /
                                   static_cast<double>(rows - 1);
        });
    if (name == "cume_dist")
        return std::make_unique<Real>(call, sorted, [](const WindowFrame& f, Arguments) {
            return static_cast<double>(f.peersEnd() - f.partitionBegin()) /
                   static_cast<double>(f.partitionEnd() - f.partitionBegin());
        });
    return nullptr;
}

std::unique_ptr<WindowCall> makeCall(const plan::WindowStep::Call& call, const Block& sorted) {
    using Where = OtherRowCall::Where;
    const auto other = [&](Where where, bool in_frame) {
        return std::make_unique<OtherRowCall>(call, sorted, where, in_frame);
    };
    if (call.aggregate) return std::make_unique<AggregateOverFrame>(call, sorted);
    if (auto number = makeNumberCall(call, sorted)) return number;
    const std::string& name = call.function;
    if (name == "lag") return other(Where::Before, false);
    if (name == "lead") return other(Where::After, false);
    if (name == "lagInFrame") return other(Where::Before, true);
    if (name == "leadInFrame") return other(Where::After, true);
    if (name == "nth_value") return other(Where::Nth, true);
    if (name == "first_value") return other(Where::First, true);
    if (name == "last_value") return other(Where::Last, true);
    if (name == "nonNegativeDerivative" || name == "non_negative_derivative")
        return std::make_unique<DerivativeCall>(call, sorted);
    throw Error(ErrorCode::NOT_IMPLEMENTED, "Window function {} is not implemented", name);
}

class WindowSink final : public ForwardingSink {
public:
    WindowSink(const plan::WindowStep& step, const StepPlace& place, Sink& next)
        : ForwardingSink(next), step_(step), place_(place) {}

    Flow consume(size_t /*worker*/, Block block) override {
        block.makeFull();
        std::lock_guard lock(mutex_);
        blocks_.push_back(std::move(block));
        return Flow::More;
    }

    void finish() override {
        place_.context.memory->setPhase("WindowTransform");
        Block all = concatenate(std::move(blocks_));
        if (all.rows != 0) {
            sortRows(all);
            addCalls(all);
            pushInBlocks(all, place_.context.settings.max_block_rows, next_);
        }
        next_.finish();
    }

private:
    void sortRows(Block& all) const {
        std::vector<plan::SortKey> keys;
        for (const std::string& name : step_.partition_by) keys.push_back({name, false, 1});
        keys.insert(keys.end(), step_.order_by.begin(), step_.order_by.end());
        if (!keys.empty()) all = all.gather(sortedRows(keys, all).span());
    }

    void addCalls(Block& all) const {
        std::vector<std::unique_ptr<WindowCall>> calls;
        for (const plan::WindowStep::Call& call : step_.calls) calls.push_back(makeCall(call, all));
        WindowFrame frame(step_, all);
        while (frame.next()) {
            if (frame.row() % 65536 == 0) place_.context.check();
            for (const auto& call : calls) call->add(frame);
        }
        for (size_t i = 0; i < calls.size(); ++i)
            all.add({step_.calls[i].name, step_.calls[i].type, ColumnPtr(calls[i]->take())});
    }

    const plan::WindowStep& step_;
    const StepPlace place_;
    std::mutex mutex_;  // guards blocks_ while workers push
    std::vector<Block> blocks_;
};

/// What ClickHouse refuses to run.
void checkFrame(const plan::WindowStep& step) {
    using Kind = plan::WindowStep::Bound::Kind;
    if (step.frame == plan::WindowStep::Frame::Groups)
        throw Error(ErrorCode::NOT_IMPLEMENTED, "Window frame 'GROUPS' is not implemented");
    // Bounds as places around the current row, offsets unknown: -2 and 2 are the ends of the partition.
    const auto place = [](const plan::WindowStep::Bound& bound) {
        if (bound.kind == Kind::Current) return 0;
        const int distance = bound.kind == Kind::Unbounded ? 2 : 1;
        return bound.preceding ? -distance : distance;
    };
    if (place(step.begin) > place(step.end))
        throw Error(ErrorCode::BAD_ARGUMENTS, "Window frame is invalid: it begins behind its end");
}

}  // namespace

void run(const plan::WindowStep& step, const StepPlace& place, Sink& sink) {
    checkFrame(step);
    WindowSink window(step, place, sink);
    runStep(*step.input, place.context, window);
}

}  // namespace shardd::exec
