#include "server/plan/evaluate.h"

#include <unordered_map>

#include "common/columns/const_column.h"

namespace shardd::plan {

namespace {

class Evaluator {
public:
    explicit Evaluator(const Block& block) : block_(block) {}

    ColumnPtr evaluate(const NodePtr& node);

private:
    ColumnPtr call(const Node& node);
    ColumnPtr lambda(const Node& node);

    const Block& block_;
    std::unordered_map<const Node*, ColumnPtr> made_;
};

ColumnPtr Evaluator::evaluate(const NodePtr& node) {
    switch (node->kind) {
        case Node::Kind::Column:
        case Node::Kind::Parameter:
            return block_.get(node->column).column;
        case Node::Kind::Constant:
            return std::make_shared<ConstColumn>(node->constant, block_.rows);
        case Node::Kind::Set:
            SHARDD_CHECK(node->constant != nullptr);
            return std::make_shared<ConstColumn>(node->constant, block_.rows);
        case Node::Kind::Lambda:
            return lambda(*node);
        case Node::Kind::Function:
            break;
        default:
            throw Error(ErrorCode::LOGICAL_ERROR, "{} cannot be computed from one row", node->name);
    }
    const auto found = made_.find(node.get());
    if (found != made_.end()) return found->second;
    ColumnPtr column = call(*node);
    made_.emplace(node.get(), column);
    return column;
}

ColumnPtr Evaluator::call(const Node& node) {
    std::vector<NamedColumn> arguments;
    for (const NodePtr& argument : node.arguments)
        arguments.push_back({argument->old_name, argument->type, evaluate(argument)});
    return node.function->execute(arguments, block_.rows);
}

ColumnPtr Evaluator::lambda(const Node& node) {
    const NodePtr body = node.arguments[0];
    Block captured;
    for (const std::string& name : usedColumns(*body))
        if (const auto position = block_.find(name)) captured.add(block_.columns[*position]);
    const auto prepare =
        [node_body = body, captured, parameters = node.lambda_parameters,
         types = node.lambda_types](std::span<const uint64_t> ends) -> functions::LambdaColumn::Body {
        Block replicated;
        for (const NamedColumn& column : captured.columns)
            replicated.add(
                {column.name, column.type, ends.empty() ? column.column : column.column->replicate(ends)});
        return [=](std::span<const ColumnPtr> values, size_t rows) {
            Block block;
            block.rows = rows;
            for (size_t i = 0; i < parameters.size(); ++i)
                block.columns.push_back({parameters[i], types[i], values[i]});
            for (const NamedColumn& column : replicated.columns)
                if (!block.find(column.name)) block.columns.push_back(column);
            return Evaluator(block).evaluate(node_body);
        };
    };
    return std::make_shared<functions::LambdaColumn>(block_.rows, node.lambda_types, body->type, prepare);
}

void collectColumns(const Node& node, std::set<std::string>& columns) {
    if (node.kind == Node::Kind::Column) columns.insert(node.column);
    // Of a lambda around this one; where there is none, no column has its name.
    if (node.kind == Node::Kind::Parameter) columns.insert(node.column);
    for (const NodePtr& argument : node.arguments) collectColumns(*argument, columns);
    if (node.kind != Node::Kind::Lambda) return;
    for (const std::string& parameter : node.lambda_parameters) columns.erase(parameter);
}

}  // namespace

ColumnPtr evaluateNode(const NodePtr& node, const Block& block) { return Evaluator(block).evaluate(node); }

std::set<std::string> usedColumns(const Node& node) {
    std::set<std::string> columns;
    collectColumns(node, columns);
    return columns;
}

bool isDeterministic(const Node& node) {
    if (node.kind == Node::Kind::Constant && node.unfolded && !isDeterministic(*node.unfolded)) return false;
    if (node.function && (!node.function->traits().deterministic || node.function->traits().server_constant))
        return false;
    for (const NodePtr& argument : node.arguments)
        if (!isDeterministic(*argument)) return false;
    return true;
}

}  // namespace shardd::plan
