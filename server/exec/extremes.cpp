#include <mutex>
#include <optional>

#include "server/exec/operators.h"
#include "server/exec/pipeline.h"
#include "server/exec/scan.h"

namespace shardd::exec {

Block extremesOf(const Block& block) {
    Block result;
    result.rows = 2;
    for (const NamedColumn& column : block.columns) {
        const ColumnPtr values = full(column.column);
        MutableColumnPtr two = values->cloneEmpty();
        const bool has_order = values->kind() != ColumnKind::Array && values->kind() != ColumnKind::Tuple &&
                               values->kind() != ColumnKind::State;
        if (!has_order) {
            two->insertDefault(2);
        } else {
            // NULL and NaN are extremes only where there is nothing else.
            std::optional<size_t> least;
            std::optional<size_t> greatest;
            for (size_t i = 0; i < block.rows; ++i) {
                if (values->isNullAt(i)) continue;
                if (!least || values->compareAt(i, *values, *least, 1) < 0) least = i;
                if (!greatest || values->compareAt(i, *values, *greatest, -1) > 0) greatest = i;
            }
            two->insertFrom(*values, least.value_or(0));
            two->insertFrom(*values, greatest.value_or(0));
        }
        result.columns.push_back({column.name, column.type, ColumnPtr(std::move(two))});
    }
    return result;
}

namespace {

class ExtremesSink final : public ForwardingSink {
public:
    explicit ExtremesSink(Sink& next) : ForwardingSink(next) {}

    Flow consume(size_t worker, Block block) override {
        {
            std::lock_guard lock(mutex_);
            std::vector<Block> both;
            if (so_far_) both.push_back(std::move(*so_far_));
            both.push_back(extremesOf(block));
            so_far_ = both.size() == 1 ? std::move(both[0]) : extremesOf(concatenate(std::move(both)));
        }
        return next_.consume(worker, std::move(block));
    }

    void extremes(Block /*block*/) override {}

    void finish() override {
        if (so_far_) next_.extremes(std::move(*so_far_));
        next_.finish();
    }

private:
    std::mutex mutex_;  // guards so_far_ while workers push
    std::optional<Block> so_far_;
};

class LimitsSink final : public ForwardingSink {
public:
    LimitsSink(const plan::LimitsStep& step, Sink& next) : ForwardingSink(next), step_(step) {}

    Flow consume(size_t worker, Block block) override {
        const uint64_t rows = rows_.fetch_add(block.rows) + block.rows;
        const uint64_t bytes = bytes_.fetch_add(block.dataBytes()) + block.dataBytes();
        const bool too_many_rows = step_.max_rows != 0 && rows > step_.max_rows;
        const bool too_many_bytes = step_.max_bytes != 0 && bytes > step_.max_bytes;
        if (step_.throws && too_many_rows)
            throw Error(step_.code, "Limit for {} exceeded, max rows: {}, current rows: {}", step_.what,
                        step_.max_rows, rows);
        if (step_.throws && too_many_bytes)
            throw Error(step_.code, "Limit for {} exceeded, max bytes: {}, current bytes: {}", step_.what,
                        step_.max_bytes, bytes);
        const Flow flow = next_.consume(worker, std::move(block));
        return too_many_rows || too_many_bytes ? Flow::Enough : flow;
    }

private:
    const plan::LimitsStep& step_;
    std::atomic<uint64_t> rows_ = 0;
    std::atomic<uint64_t> bytes_ = 0;
};

}  // namespace

void run(const plan::ExtremesStep& step, const StepPlace& place, Sink& sink) {
    ExtremesSink extremes(sink);
    runStep(*step.input, place.context, extremes);
}

void run(const plan::LimitsStep& step, const StepPlace& place, Sink& sink) {
    LimitsSink limits(step, sink);
    runStep(*step.input, place.context, limits);
}

}  // namespace shardd::exec
