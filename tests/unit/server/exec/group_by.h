#pragma once

#include "tests/unit/server/exec/exec_fixture.h"

/// Plans of a GROUP BY in few words.
namespace shardd::exec {

inline plan::AggregateCall call(const std::string& function,
                                const Block& input,
                                std::vector<std::string> arguments) {
    std::vector<TypePtr> types;
    for (const std::string& argument : arguments)
        types.push_back(removeLowCardinality(input.get(argument).type));
    std::string name = function + "(" + (arguments.empty() ? "" : arguments[0]) + ")";
    return {aggregates::resolveAggregateFunction(function, {}, types), std::move(arguments), std::move(name)};
}

inline plan::StepPtr groupBy(const plan::StepPtr& input,
                             std::vector<std::string> keys,
                             std::vector<plan::AggregateCall> calls,
                             bool finish = true) {
    plan::AggregateStep step;
    step.input = input;
    step.keys = keys;
    step.calls = calls;
    step.finish = finish;
    Block header;
    for (const std::string& key : keys)
        header.columns.push_back(emptyColumn(key, input->header.get(key).type));
    for (const auto& c : calls)
        header.columns.push_back(
            emptyColumn(c.name, finish ? c.function->resultType() : c.function->stateType()));
    return plan::makeStep(std::move(step), std::move(header));
}

inline Rows sorted(Rows rows) {
    std::sort(rows.begin(), rows.end(), [](const std::vector<Value>& a, const std::vector<Value>& b) {
        for (size_t i = 0; i < a.size(); ++i) {
            if (a[i].isNull() || b[i].isNull()) {
                if (a[i].isNull() != b[i].isNull()) return b[i].isNull();
                continue;
            }
            if (a[i].kind() == Value::Kind::String) {
                if (a[i] != b[i]) return a[i].get<std::string>() < b[i].get<std::string>();
            } else if (a[i].to<int64_t>() != b[i].to<int64_t>()) {
                return a[i].to<int64_t>() < b[i].to<int64_t>();
            }
        }
        return false;
    });
    return rows;
}

/// The states of `step` (keys in order, then calls over states) merged to results.
inline plan::StepPtr mergeStates(const plan::StepPtr& states,
                                 std::vector<std::string> keys,
                                 std::vector<plan::AggregateCall> calls) {
    plan::MergeStatesStep merge;
    merge.input = states;
    merge.keys = keys;
    Block header;
    for (const std::string& key : keys)
        header.columns.push_back(emptyColumn(key, states->header.get(key).type));
    for (plan::AggregateCall& c : calls) {
        header.columns.push_back(emptyColumn(c.name, c.function->resultType()));
        c.arguments = {c.name};
    }
    merge.calls = std::move(calls);
    return plan::makeStep(std::move(merge), std::move(header));
}

}  // namespace shardd::exec
