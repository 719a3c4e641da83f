#include "server/exec/grouping_sets.h"

#include <memory>

#include "common/columns/create_column.h"
#include "server/exec/aggregator.h"
#include "server/exec/operators.h"
#include "server/exec/pipeline.h"

namespace shardd::exec {

namespace {

ColumnPtr asType(const NamedColumn& column, const TypePtr& type) {
    if (sameType(column.type, type)) return column.column;
    MutableColumnPtr result = createColumn(*type);
    result->insertRange(*fullPlain(column.column), 0, column.column->size());
    return result;
}

}  // namespace

Flow GroupingSetOutput::consume(size_t worker, Block block) {
    Block result;
    result.rows = block.rows;
    result.is_overflows = block.is_overflows;
    for (size_t i = 0; i < header_.columns.size(); ++i) {
        const auto& [name, type, empty] = header_.columns[i];
        const auto position = block.find(name);
        ColumnPtr column;
        if (i == 0)
            column = createConstColumn(*type, Value(set_), block.rows);
        else if (position)
            column = asType(block.columns[*position], type);
        else
            column = createConstColumn(*type, defaultValue(*type), block.rows);
        result.columns.push_back({name, type, std::move(column)});
    }
    return next_.consume(worker, std::move(result));
}

namespace {

/// Passes a row on, and says it once more as the totals.
class GrandTotal final : public ForwardingSink {
public:
    using ForwardingSink::ForwardingSink;

    Flow consume(size_t worker, Block block) override {
        next_.totals(block);
        return next_.consume(worker, std::move(block));
    }
};

/// WITH ROLLUP and WITH CUBE: keeps the groups by all keys with their states, and merges them once more for
/// each level.
class RollupSink final : public ForwardingSink {
public:
    RollupSink(const plan::RollupStep& step, const StepPlace& place, Sink& next)
        : ForwardingSink(next), step_(step), place_(place) {}

    Flow consume(size_t /*worker*/, Block block) override {
        std::lock_guard lock(mutex_);
        blocks_.push_back(std::move(block));
        return Flow::More;
    }

    void finish() override {
        const size_t levels = step_.cube ? size_t{1} << step_.keys.size() : step_.keys.size() + 1;
        if (!blocks_.empty())
            for (size_t level = 0; level < levels; ++level) finishLevel(level);
        next_.finish();
    }

private:
    /// ROLLUP leaves out the last `level` keys; CUBE those whose bit of `level` is set, the last key being
    /// bit 0.
    bool isKept(size_t key, size_t level) const {
        const size_t from_end = step_.keys.size() - 1 - key;
        return step_.cube ? ((level >> from_end) & 1) == 0 : from_end >= level;
    }

    void finishLevel(size_t level) {
        AggregationPlan plan;
        plan.calls = step_.calls;
        plan.merges_states = true;
        Block header;
        for (size_t key = 0; key < step_.keys.size(); ++key) {
            if (!isKept(key, level)) continue;
            plan.keys.push_back(step_.keys[key]);
            header.columns.push_back(step_.input->header.get(step_.keys[key]));
        }
        for (const plan::AggregateCall& call : step_.calls)
            header.columns.push_back(place_.header.get(call.name));
        const size_t aggregator_keys = plan.keys.size();
        Aggregator aggregator(std::move(plan), std::move(header), place_.context);
        for (const Block& block : blocks_) aggregator.add(0, block);
        const bool is_grand_total = aggregator_keys == 0;
        GrandTotal grand_total(next_);
        Sink& next = is_grand_total && step_.totals ? static_cast<Sink&>(grand_total) : next_;
        GroupingSetOutput output(place_.header, level, next);
        aggregator.finish(output);
    }

    const plan::RollupStep& step_;
    const StepPlace place_;
    std::mutex mutex_;  // guards blocks_ while workers push
    std::vector<Block> blocks_;
};

}  // namespace

void run(const plan::RollupStep& step, const StepPlace& place, Sink& sink) {
    RollupSink rollup(step, place, sink);
    runStep(*step.input, place.context, rollup);
}

}  // namespace shardd::exec
