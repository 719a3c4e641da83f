#include "server/exec/remote_totals.h"

#include "common/columns/create_column.h"
#include "server/exec/aggregator.h"
#include "server/exec/expression.h"
#include "server/exec/one_row.h"

namespace shardd::exec {

namespace {

/// One row of the merged states, or of their results; nothing when no shard sent any.
std::optional<Block> mergeStates(const plan::ExactTotals& exact,
                                 const std::vector<storage::RemoteStreamPtr>& streams,
                                 QueryContext& context) {
    AggregationPlan plan;
    plan.calls = exact.calls;
    plan.merges_states = true;
    plan.finish = exact.states_to == nullptr;
    Block header;
    for (plan::AggregateCall& call : plan.calls) {
        const TypePtr type = plan.finish ? exact.inputs.get(call.name).type : call.function->stateType();
        header.columns.push_back({call.name, type, ColumnPtr(createColumn(*type))});
    }
    Aggregator aggregator(std::move(plan), std::move(header), context);
    bool any = false;
    for (const storage::RemoteStreamPtr& stream : streams) {
        if (!stream->totals() || stream->totals()->rows == 0) continue;
        any = true;
        aggregator.add(0, *stream->totals());
    }
    if (!any) return std::nullopt;
    OneRow row;
    aggregator.finish(row);
    return std::move(row.row);
}

}  // namespace

MergedTotals mergeTotals(const plan::ExactTotals& exact,
                         const std::vector<storage::RemoteStreamPtr>& streams,
                         QueryContext& context) {
    MergedTotals result;
    const std::optional<Block> merged = mergeStates(exact, streams, context);
    if (!merged) return result;
    if (exact.states_to) {
        exact.states_to->setTotalStates(*merged);
        return result;
    }
    Block inputs;
    inputs.rows = 1;
    for (const auto& [name, type, empty] : exact.inputs.columns) {
        if (const auto position = merged->find(name)) {
            inputs.columns.push_back({name, type, merged->columns[*position].column});
            continue;
        }
        const Value value = name == "__grouping_set" ? Value(exact.grouping_set) : defaultValue(*type);
        inputs.columns.push_back({name, type, full(createConstColumn(*type, value, 1))});
    }
    Block row = evaluate(exact.output, inputs);
    row.makeFull();
    if (exact.is_totals) result.totals = row;
    if (exact.is_row && (!exact.having || conditionOf(exact.having, inputs).kept == 1)) result.row = std::move(row);
    return result;
}

}  // namespace shardd::exec
