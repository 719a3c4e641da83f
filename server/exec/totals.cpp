#include <algorithm>
#include <atomic>
#include <mutex>

#include "common/columns/create_column.h"
#include "server/exec/aggregator.h"
#include "server/exec/expression.h"
#include "server/exec/finish_states.h"
#include "server/exec/one_row.h"
#include "server/exec/operators.h"
#include "server/exec/pipeline.h"

namespace shardd::exec {

namespace {

AggregationPlan totalsPlan(const plan::TotalsStep& step) {
    AggregationPlan plan;
    plan.calls = step.calls;
    plan.merges_states = true;
    plan.finish = step.states_to == nullptr;
    return plan;
}

Block callsHeader(const plan::TotalsStep& step, const Block& header) {
    Block result;
    for (const plan::AggregateCall& call : step.calls)
        result.columns.push_back(step.states_to ? step.input->header.get(call.arguments[0]) : header.get(call.name));
    return result;
}

class TotalsSink final : public ForwardingSink {
public:
    TotalsSink(const plan::TotalsStep& step, const StepPlace& place, Sink& next)
        : ForwardingSink(next),
          step_(step),
          place_(place),
          totals_(totalsPlan(step), callsHeader(step, place.header), place.context) {}

    Flow consume(size_t worker, Block block) override {
        if (block.is_overflows) {
            // Keys beyond max_rows_to_group_by: of no group, perhaps of the totals.
            std::lock_guard lock(mutex_);
            block.is_overflows = false;
            overflows_.push_back(std::move(block));
            return Flow::More;
        }
        if (step_.mode == plan::TotalsMode::BeforeHaving) totals_.add(worker, block);
        Block finished = finishStates(block, step_.calls, place_.header);
        all_rows_.fetch_add(block.rows);
        if (step_.having) {
            const Condition condition = conditionOf(step_.having, finished);
            if (condition.kept != block.rows) {
                block = block.filter(condition.mask.span(), condition.kept);
                finished = finished.filter(condition.mask.span(), condition.kept);
            }
        }
        passed_rows_.fetch_add(block.rows);
        if (block.rows == 0) return Flow::More;
        if (step_.mode != plan::TotalsMode::BeforeHaving) totals_.add(worker, block);
        if (!enough_.load() && next_.consume(worker, std::move(finished)) == Flow::Enough)
            enough_.store(true);
        return Flow::More;  // the totals need the other groups too
    }

    void finish() override {
        if (overflowsCount())
            for (const Block& block : overflows_) totals_.add(0, block);
        OneRow totals;
        totals_.finish(totals);
        if (step_.states_to) {
            step_.states_to->setTotalStates(std::move(totals.row));
            return next_.finish();
        }
        Block row;
        row.rows = 1;
        for (const NamedColumn& column : place_.header.columns) {
            if (const auto position = totals.row.find(column.name); position && !isKey(column.name)) {
                row.columns.push_back(totals.row.columns[*position]);
                continue;
            }
            MutableColumnPtr key = createColumn(*column.type);
            insertDefaults(*column.type, *key, 1);
            row.columns.push_back({column.name, column.type, ColumnPtr(std::move(key))});
        }
        next_.totals(std::move(row));
        next_.finish();
    }

private:
    bool isKey(const std::string& name) const {
        return std::find(step_.keys.begin(), step_.keys.end(), name) != step_.keys.end();
    }

    bool overflowsCount() const {
        switch (step_.mode) {
            case plan::TotalsMode::BeforeHaving:
            case plan::TotalsMode::AfterHavingInclusive:
                return true;
            case plan::TotalsMode::AfterHavingExclusive:
                return false;
            case plan::TotalsMode::AfterHavingAuto:
                return static_cast<double>(passed_rows_.load()) >=
                       step_.auto_threshold * static_cast<double>(all_rows_.load());
        }
        return false;
    }

    const plan::TotalsStep& step_;
    const StepPlace place_;
    Aggregator totals_;
    std::mutex mutex_;  // guards overflows_ while workers push
    std::vector<Block> overflows_;
    std::atomic<uint64_t> all_rows_ = 0;
    std::atomic<uint64_t> passed_rows_ = 0;
    std::atomic<bool> enough_ = false;
};

}  // namespace

void run(const plan::TotalsStep& step, const StepPlace& place, Sink& sink) {
    TotalsSink totals(step, place, sink);
    runStep(*step.input, place.context, totals);
}

}  // namespace shardd::exec
