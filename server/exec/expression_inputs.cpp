#include "server/exec/expression_inputs.h"

#include <algorithm>
#include <unordered_set>

namespace shardd::exec {

using plan::Expression;
using plan::ExpressionPtr;

namespace {

void collectInputs(const Expression& expression,
                   const std::unordered_set<std::string>& hidden,
                   std::vector<std::string>& inputs) {
    if (expression.kind == Expression::Kind::Input) {
        if (!hidden.contains(expression.name) &&
            std::find(inputs.begin(), inputs.end(), expression.name) == inputs.end())
            inputs.push_back(expression.name);
        return;
    }
    if (expression.kind != Expression::Kind::Lambda) {
        for (const ExpressionPtr& argument : expression.arguments) collectInputs(*argument, hidden, inputs);
        return;
    }
    std::unordered_set<std::string> inner = hidden;
    inner.insert(expression.parameters.begin(), expression.parameters.end());
    for (const ExpressionPtr& argument : expression.arguments) collectInputs(*argument, inner, inputs);
}

}  // namespace

std::vector<std::string> inputsOf(const Expression& expression) {
    std::vector<std::string> inputs;
    collectInputs(expression, {}, inputs);
    return inputs;
}

std::vector<std::string> inputsOf(const std::vector<plan::NamedExpression>& expressions) {
    std::vector<std::string> inputs;
    for (const plan::NamedExpression& named : expressions) collectInputs(*named.expression, {}, inputs);
    return inputs;
}

Block onlyColumns(const Block& block, const std::vector<std::string>& names) {
    Block result;
    result.rows = block.rows;
    result.bucket = block.bucket;
    result.is_overflows = block.is_overflows;
    for (const std::string& name : names)
        if (const auto position = block.find(name)) result.columns.push_back(block.columns[*position]);
    return result;
}

}  // namespace shardd::exec
