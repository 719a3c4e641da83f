#include "server/exec/dependent_keys.h"

#include <algorithm>
#include <map>
#include <string>

#include "common/columns/create_column.h"
#include "server/exec/expression.h"

namespace shardd::exec {

namespace {

using plan::Expression;
using plan::ExpressionPtr;

/// Input columns that are keys, by name, with the name of the key.
using KeyInputs = std::map<std::string, std::string>;

bool followsFrom(const Expression& expression, const KeyInputs& inputs) {
    switch (expression.kind) {
        case Expression::Kind::Input:
            return inputs.contains(expression.name);
        case Expression::Kind::Constant:
            return true;
        case Expression::Kind::Lambda:
            return false;
        case Expression::Kind::Function:
            break;
    }
    return expression.function->traits().deterministic_in_query &&
           std::all_of(expression.arguments.begin(), expression.arguments.end(),
                       [&](const ExpressionPtr& argument) { return followsFrom(*argument, inputs); });
}

/// Puts the keys that were left out into their places.
class DependentKeysSink final : public ForwardingSink {
public:
    DependentKeysSink(const Block& header,
                      KeyInputs inputs,
                      std::vector<plan::NamedExpression> dependent,
                      Sink& next)
        : ForwardingSink(next), header_(header), inputs_(std::move(inputs)), dependent_(std::move(dependent)) {}

    Flow consume(size_t worker, Block block) override {
        Block inputs;
        inputs.rows = block.rows;
        for (const auto& [input, key] : inputs_) {
            const NamedColumn& column = block.get(key);
            inputs.columns.push_back({input, column.type, column.column});
        }
        const Block made = evaluate(dependent_, inputs);
        Block result;
        result.rows = block.rows;
        result.bucket = block.bucket;
        for (const NamedColumn& column : header_.columns) {
            const auto at = made.find(column.name);
            result.columns.push_back(at ? made.columns[*at] : block.get(column.name));
        }
        return next_.consume(worker, std::move(result));
    }

    TopHint topHint() override {
        TopHint hint = next_.topHint();
        const bool is_made = std::any_of(dependent_.begin(), dependent_.end(),
                                         [&](const auto& key) { return key.name == hint.column; });
        return is_made ? TopHint{} : hint;
    }

private:
    const Block& header_;
    const KeyInputs inputs_;
    const std::vector<plan::NamedExpression> dependent_;
};

}  // namespace

bool runDependentKeys(const plan::AggregateStep& step, const StepPlace& place, Sink& sink) {
    const auto* project = std::get_if<plan::ProjectStep>(&step.input->node);
    if (!project || step.keys.size() < 2 || !step.grouping_sets.empty() || step.overflow_row) return false;
    std::map<std::string, ExpressionPtr> expressions;
    for (const auto& [name, expression] : project->columns) expressions[name] = expression;
    KeyInputs inputs;
    for (const std::string& key : step.keys)
        if (expressions[key]->kind == Expression::Kind::Input) inputs.emplace(expressions[key]->name, key);

    plan::AggregateStep simpler = step;
    simpler.keys.clear();
    simpler.by_buckets = false;  // they are numbered by all keys
    std::vector<plan::NamedExpression> dependent;
    for (const std::string& key : step.keys) {
        const ExpressionPtr& expression = expressions[key];
        const auto own = expression->kind == Expression::Kind::Input ? inputs.find(expression->name) : inputs.end();
        if (followsFrom(*expression, inputs) && (own == inputs.end() || own->second != key))
            dependent.push_back({key, expression});
        else
            simpler.keys.push_back(key);
    }
    // Without any key there would be a group even where there are no rows.
    if (dependent.empty() || simpler.keys.empty()) return false;

    Block header;
    for (const std::string& key : simpler.keys) header.columns.push_back(place.header.get(key));
    for (const plan::AggregateCall& call : step.calls) header.columns.push_back(place.header.get(call.name));
    plan::ProjectStep columns;
    columns.input = project->input;
    Block column_header;
    const auto keep = [&](const std::string& name) {
        if (column_header.find(name)) return;
        columns.columns.push_back({name, expressions[name]});
        column_header.columns.push_back({name, expressions[name]->type, createColumn(*expressions[name]->type)});
    };
    for (const std::string& key : simpler.keys) keep(key);
    for (const plan::AggregateCall& call : step.calls)
        for (const std::string& argument : call.arguments) keep(argument);
    simpler.input = plan::makeStep(std::move(columns), std::move(column_header));

    DependentKeysSink all_keys(place.header, std::move(inputs), std::move(dependent), sink);
    run(simpler, StepPlace{header, place.context}, all_keys);
    return true;
}

}  // namespace shardd::exec
