#include "server/plan/compile.h"

#include <algorithm>

#include "common/columns/array_column.h"
#include "common/base/stack_guard.h"
#include "common/columns/const_column.h"
#include "common/columns/create_column.h"
#include "common/columns/fixed_column.h"
#include "server/functions/set.h"
#include "server/plan/planner.h"

namespace shardd::plan {

namespace {

ExpressionPtr constantExpression(const TypePtr& type, ColumnPtr one) {
    auto expression = std::make_shared<Expression>();
    expression->kind = Expression::Kind::Constant;
    expression->type = type;
    expression->constant = std::move(one);
    return expression;
}

ExpressionPtr callExpression(const std::string& name, std::vector<ExpressionPtr> arguments, const PlannerContext& context) {
    std::vector<NamedColumn> described;
    for (const ExpressionPtr& argument : arguments)
        described.push_back({"", argument->type, argument->kind == Expression::Kind::Constant ? std::make_shared<ConstColumn>(argument->constant, 1) : nullptr});
    auto expression = std::make_shared<Expression>();
    expression->kind = Expression::Kind::Function;
    expression->name = name;
    expression->function = functions::resolveFunction(name, described, context.functions);
    expression->type = expression->function->resultType();
    expression->arguments = std::move(arguments);
    return expression;
}

}  // namespace

ExpressionPtr inputExpression(const std::string& name, const TypePtr& type) {
    auto expression = std::make_shared<Expression>();
    expression->kind = Expression::Kind::Input;
    expression->name = name;
    expression->type = type;
    return expression;
}

ExpressionPtr castExpression(const ExpressionPtr& expression, const TypePtr& type, const PlannerContext& context) {
    if (sameType(expression->type, type)) return expression;
    MutableColumnPtr name = createColumn(*types::string());
    name->insert(Value(type->name()));
    return callExpression("_CAST", {expression, constantExpression(types::string(), ColumnPtr(std::move(name)))}, context);
}

ExpressionPtr Compiler::input(const std::string& name, const TypePtr& type) {
    ExpressionPtr& made = made_[name];
    if (!made) made = inputExpression(name, type);
    return made;
}

ExpressionPtr Compiler::compile(const NodePtr& node) {
    checkStack();
    if (node->kind == Node::Kind::Parameter) return input(node->column, node->type);
    if (node->kind == Node::Kind::Column && raw_columns_) return input(node->column, node->type);
    if (node->kind == Node::Kind::Set) return compileSet(*node);
    if (auto found = made_.find(node->name); found != made_.end()) return found->second;
    if (const auto position = header_.find(node->name)) return input(node->name, header_.columns[*position].type);

    ExpressionPtr made;
    switch (node->kind) {
        case Node::Kind::Constant:
            made = constantExpression(node->type, node->constant);
            break;
        case Node::Kind::Function:
            made = compileFunction(*node);
            break;
        case Node::Kind::Lambda:
            made = compileLambda(*node);
            break;
        case Node::Kind::Grouping:
            made = compileGrouping(*node);
            break;
        default: {
            std::string names;
            for (const NamedColumn& column : header_.columns) names += (names.empty() ? "" : ", ") + column.name;
            throw Error(ErrorCode::LOGICAL_ERROR, "Column {} is not computed where it is needed; there are: {}", node->name, names);
        }
    }
    made_[node->name] = made;
    return made;
}

ExpressionPtr Compiler::compileFunction(const Node& node) {
    auto expression = std::make_shared<Expression>();
    expression->kind = Expression::Kind::Function;
    expression->name = node.name;
    expression->type = node.type;
    expression->function = node.function;
    bool changed = false;
    for (const NodePtr& argument : node.arguments) {
        expression->arguments.push_back(compile(argument));
        changed = changed || !sameType(expression->arguments.back()->type, argument->type);
    }
    // A key that GROUP BY made Nullable, or a shard's column of another type: resolve for what is really there.
    if (changed) return callExpression(node.function_name, std::move(expression->arguments), context_);
    return expression;
}

ExpressionPtr Compiler::compileLambda(const Node& node) {
    auto expression = std::make_shared<Expression>();
    expression->kind = Expression::Kind::Lambda;
    expression->name = node.name;
    expression->type = node.type;
    expression->parameters = node.lambda_parameters;
    expression->parameter_types = node.lambda_types;
    // What the body computes from its parameters means nothing outside.
    const std::unordered_map<std::string, ExpressionPtr> outside = made_;
    for (const std::string& parameter : node.lambda_parameters) made_.erase(parameter);
    expression->arguments = {compile(node.arguments[0])};
    made_ = outside;
    return expression;
}

ExpressionPtr Compiler::compileSet(const Node& node) {
    if (auto found = made_.find(node.name); found != made_.end()) return found->second;
    ColumnPtr column = node.constant;
    if (!column) {
        std::vector<TypePtr> set_types;
        for (const auto& [name, type] : node.subquery->columns) set_types.push_back(type);
        functions::SetBuilder builder(set_types, context_.settings->transform_null_in);
        if (context_.run) {
            PlannerContext inner = context_;
            inner.stage = storage::Stage::Complete;
            Block rows = context_.run(planQuery(node.subquery, inner).root);
            const uint64_t most = context_.settings->max_rows_in_set;
            if (most && rows.rows > most && context_.settings.get("set_overflow_mode") == "throw")
                throw Error(ErrorCode::SET_SIZE_LIMIT_EXCEEDED, "IN-set size limit exceeded, max rows: {}, current rows: {}", most, rows.rows);
            if (rows.rows > 0) builder.add(rows);
        }
        column = functions::makeSetColumn(builder.finish(), 1);
    }
    ExpressionPtr made = constantExpression(node.type, std::move(column));
    made_[node.name] = made;
    return made;
}

ExpressionPtr Compiler::compileGrouping(const Node& node) {
    // Bit i (from the right, the last argument lowest) is 1 where the argument is not in the row's set.
    const auto mask = [&](const std::vector<size_t>* set) {
        uint64_t bits = 0;
        for (const NodePtr& argument : node.arguments) {
            const auto key = std::find(grouping_keys_.begin(), grouping_keys_.end(), argument->name);
            if (key == grouping_keys_.end())
                throw Error(ErrorCode::BAD_ARGUMENTS, "Argument of GROUPING function {} is not a part of GROUP BY clause", argument->old_name);
            const auto index = static_cast<size_t>(key - grouping_keys_.begin());
            const bool present = !set || std::find(set->begin(), set->end(), index) != set->end();
            bits = bits * 2 + (present ? 0 : 1);
        }
        return bits;
    };
    if (grouping_sets_.empty()) {
        MutableColumnPtr one = createColumn(*types::uint64());
        one->insert(Value(mask(nullptr)));
        return constantExpression(types::uint64(), ColumnPtr(std::move(one)));
    }
    ArrayValue masks;
    for (const auto& set : grouping_sets_) masks.elements.emplace_back(mask(&set));
    const TypePtr array = types::array(types::uint64());
    MutableColumnPtr one = createColumn(*array);
    one->insert(Value(std::move(masks)));
    MutableColumnPtr increment = createColumn(*types::uint8());
    increment->insert(Value(uint64_t{1}));
    const ExpressionPtr index = callExpression("plus", {input("__grouping_set", types::uint64()), constantExpression(types::uint8(), ColumnPtr(std::move(increment)))}, context_);
    return callExpression("arrayElement", {constantExpression(array, ColumnPtr(std::move(one))), index}, context_);
}

}  // namespace shardd::plan
