#include "server/exec/grouping_sets.h"

#include <atomic>
#include <bit>
#include <memory>

#include "common/columns/create_column.h"
#include "server/exec/aggregator.h"
#include "server/exec/finish_states.h"
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

Block GroupingSetOutput::complete(const Block& block) const {
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
    return result;
}

Flow GroupingSetOutput::consume(size_t worker, Block block) { return next_.consume(worker, complete(block)); }

namespace {

/// WITH ROLLUP and WITH CUBE. A level's groups are finished and passed on, and their states are merged into
/// the levels below it, which leave out one more key each: no level is made twice, each from the smallest one
/// above it, and only those that are being filled or emptied take memory.
class RollupLevel final : public ForwardingSink {
public:
    /// What all levels share.
    struct Common {
        const plan::RollupStep& step;
        const StepPlace place;
        size_t levels;
    };

    /// ROLLUP leaves out the last `number` keys; CUBE those whose bit of `number` is set, the last key being
    /// bit 0.
    RollupLevel(const Common& common, size_t number, Sink& next)
        : ForwardingSink(next),
          common_(common),
          output_(common.place.header, number, next),
          is_grand_total_(number + 1 == common.levels) {
        for (const size_t level : levelsBelow(number)) below_.push_back({level, makeAggregator(level)});
    }

    Flow consume(size_t worker, Block block) override {
        is_empty_.store(false);
        for (const Below& below : below_) below.aggregator->add(worker, block);
        if (block.is_overflows || enough_.load()) return Flow::More;
        if (is_grand_total_ && common_.step.states_to) {
            common_.step.states_to->setTotalStates(std::move(block));
            return Flow::More;
        }
        Block finished = finishStates(block, common_.step.calls, common_.place.header);
        if (is_grand_total_ && common_.step.totals) next_.totals(output_.complete(finished));
        if (output_.consume(worker, std::move(finished)) == Flow::Enough) enough_.store(true);
        return Flow::More;
    }

    /// Only of the first level: the others are finished by it.
    void finish() override {
        finishBelow();
        next_.finish();
    }

private:
    struct Below {
        size_t level;
        std::unique_ptr<Aggregator> aggregator;
    };

    bool isKept(size_t key, size_t level) const {
        const size_t from_end = common_.step.keys.size() - 1 - key;
        return common_.step.cube ? ((level >> from_end) & 1) == 0 : from_end >= level;
    }

    std::vector<size_t> levelsBelow(size_t number) const {
        if (!common_.step.cube)
            return number + 1 < common_.levels ? std::vector{number + 1} : std::vector<size_t>{};
        std::vector<size_t> below;
        for (size_t bit = std::bit_ceil(number + 1); (number | bit) < common_.levels; bit *= 2)
            below.push_back(number | bit);
        return below;
    }

    std::unique_ptr<Aggregator> makeAggregator(size_t level) const {
        const plan::RollupStep& step = common_.step;
        AggregationPlan plan;
        plan.calls = step.calls;
        plan.merges_states = true;
        plan.finish = false;
        Block header;
        for (size_t key = 0; key < step.keys.size(); ++key) {
            if (!isKept(key, level)) continue;
            plan.keys.push_back(step.keys[key]);
            header.columns.push_back(step.input->header.get(step.keys[key]));
        }
        for (const plan::AggregateCall& call : step.calls)
            header.columns.push_back(step.input->header.get(call.arguments[0]));
        return std::make_unique<Aggregator>(std::move(plan), std::move(header), common_.place.context);
    }

    void finishBelow() {
        if (is_empty_.load()) return;
        for (Below& below : below_) {
            RollupLevel level(common_, below.level, next_);
            below.aggregator->finish(level);
            below.aggregator.reset();
            level.finishBelow();
        }
    }

    const Common& common_;
    GroupingSetOutput output_;
    const bool is_grand_total_;  // said once more as the totals, or sent as states instead
    std::vector<Below> below_;
    std::atomic<bool> is_empty_ = true;
    std::atomic<bool> enough_ = false;
};

}  // namespace

void run(const plan::RollupStep& step, const StepPlace& place, Sink& sink) {
    const size_t keys = step.keys.size();
    const RollupLevel::Common common{step, place, step.cube ? size_t{1} << keys : keys + 1};
    RollupLevel groups(common, 0, sink);
    runStep(*step.input, place.context, groups);
}

}  // namespace shardd::exec
