#include "server/plan/key_function.h"

#include <algorithm>
#include <array>

#include "server/plan/binder.h"
#include "server/plan/evaluate.h"
#include "server/plan/sharding.h"
#include "server/sql/parser.h"
#include "server/sql/printer.h"

namespace shardd::plan {

namespace {

/// Functions of one column that never fall while it rises.
bool isMonotonic(const Node& node) {
    static constexpr std::array<std::string_view, 22> kRising = {
        "toDate",
        "toYYYYMM",
        "toYYYYMMDD",
        "toYear",
        "toMonday",
        "toStartOfDay",
        "toStartOfHour",
        "toStartOfMinute",
        "toStartOfSecond",
        "toStartOfMonth",
        "toStartOfQuarter",
        "toStartOfYear",
        "toStartOfWeek",
        "toRelativeDayNum",
        "toRelativeHourNum",
        "toRelativeMonthNum",
        "toRelativeYearNum",
        "toUnixTimestamp",
        "toISOYear",
        "toStartOfISOYear",
        "toStartOfFiveMinutes",
        "toStartOfTenMinutes",
    };
    if (node.kind != Node::Kind::Function || node.arguments.empty()) return false;
    const Node& argument = *node.arguments[0];
    // Only of dates and times: toDate of a number has two meanings, one for small and one for large numbers.
    if (argument.kind != Node::Kind::Column || !argument.type->isDateOrTime()) return false;
    const bool constants =
        std::all_of(node.arguments.begin() + 1, node.arguments.end(),
                    [](const NodePtr& each) { return each->kind == Node::Kind::Constant; });
    return constants && std::find(kRising.begin(), kRising.end(), node.function_name) != kRising.end();
}

storage::KeyElement makeElement(const sql::ExpressionPtr& expression,
                                const ColumnTypes& columns,
                                const PlannerContext& context) {
    const NodePtr node = bindExpression(expression, columns, context);
    if (!isDeterministic(*node))
        throw Error(ErrorCode::BAD_ARGUMENTS, "Key expression contains non-deterministic functions: {}",
                    sql::toText(*expression));
    storage::KeyElement element;
    element.text = sql::toText(*expression);
    element.type = node->type;
    if (node->kind == Node::Kind::Column) element.column = node->column;
    for (const std::string& column : usedColumns(*node)) element.columns.push_back(column);
    element.monotonic = isMonotonic(*node);
    element.evaluate = [node](const Block& block) { return full(evaluateNode(node, block)); };
    return element;
}

/// The elements of `(a, b)`, tuple(a, b) or a.
sql::Expressions elementsOf(const sql::ExpressionPtr& expression) {
    if (!expression) return {};
    const auto* call = sql::as<sql::Function>(expression.get());
    if (call && call->name == "tuple") return call->arguments;
    return {expression};
}

}  // namespace

BlockFunction makeBlockFunction(const sql::ExpressionPtr& expression,
                                const ColumnTypes& columns,
                                const PlannerContext& context) {
    const NodePtr node = bindExpression(expression, columns, context);
    BlockFunction function;
    function.text = sql::toText(*expression);
    function.type = node->type;
    for (const std::string& column : usedColumns(*node)) function.columns.push_back(column);
    function.deterministic = isDeterministic(*node);
    function.evaluate = [node](const Block& block) { return evaluateNode(node, block); };
    return function;
}

BlockFunction makeBlockFunction(const std::string& text,
                                const ColumnTypes& columns,
                                const PlannerContext& context) {
    return makeBlockFunction(sql::parseExpression(text), columns, context);
}

storage::KeyDescription makeKey(const sql::ExpressionPtr& expression,
                                const ColumnTypes& columns,
                                const PlannerContext& context) {
    storage::KeyDescription key;
    for (const sql::ExpressionPtr& each : elementsOf(expression))
        key.elements.push_back(makeElement(each, columns, context));
    return key;
}

storage::KeyDescription makeSortingKey(const std::vector<sql::OrderElement>& elements,
                                       const ColumnTypes& columns,
                                       const PlannerContext& context) {
    storage::KeyDescription key;
    for (const sql::OrderElement& element : elements) {
        for (const sql::ExpressionPtr& each : elementsOf(element.expression)) {
            key.elements.push_back(makeElement(each, columns, context));
            key.elements.back().descending = element.descending;
        }
    }
    return key;
}

std::function<std::vector<size_t>(const Block&)> makeShardSelector(const std::string& sharding_key,
                                                                   std::vector<uint32_t> weights,
                                                                   const ColumnTypes& columns,
                                                                   const PlannerContext& context) {
    const auto key = bindShardingKey(sharding_key, columns, context);
    if (!key) return nullptr;
    return [key = *key, type = removeLowCardinality(key->node->type),
            weights = std::move(weights)](const Block& block) {
        const ColumnPtr values = fullPlain(evaluateNode(key.node, block));
        std::vector<size_t> shards(block.rows);
        for (size_t row = 0; row < block.rows; ++row)
            shards[row] = shardOfKey(*type, values->value(row), weights);
        return shards;
    };
}

}  // namespace shardd::plan
