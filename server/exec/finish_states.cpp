#include "server/exec/finish_states.h"

#include "common/columns/create_column.h"
#include "common/columns/state_column.h"

namespace shardd::exec {

namespace {

NamedColumn finished(const NamedColumn& column, const plan::AggregateCall& call, const TypePtr& type) {
    const auto& states = as<StateColumn>(*column.column).states();
    MutableColumnPtr values = createColumn(*type);
    Arena arena;
    call.function->insertResultBatch(states.data(), 0, states.size(), *values, arena);
    return {call.name, type, ColumnPtr(std::move(values))};
}

}  // namespace

Block finishStates(const Block& block, std::span<const plan::AggregateCall> calls, const Block& header) {
    Block result;
    result.rows = block.rows;
    result.is_overflows = block.is_overflows;
    for (const NamedColumn& column : block.columns) {
        bool is_states = false;
        for (const plan::AggregateCall& call : calls) {
            if (call.arguments[0] != column.name) continue;
            result.columns.push_back(finished(column, call, header.get(call.name).type));
            is_states = true;
        }
        if (!is_states) result.columns.push_back(column);
    }
    return result;
}

}  // namespace shardd::exec
