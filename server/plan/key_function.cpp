#include "server/plan/key_function.h"

#include <algorithm>
#include <array>

#include "server/plan/binder.h"
#include "server/plan/evaluate.h"
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

}  // namespace

storage::KeyElement makeKeyElement(const sql::ExpressionPtr& expression,
                                   const std::vector<std::pair<std::string, TypePtr>>& columns,
                                   const PlannerContext& context,
                                   bool allow_nondeterministic) {
    const NodePtr node = bindExpression(expression, columns, context);
    if (!allow_nondeterministic && !isDeterministic(*node))
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

storage::KeyElement makeKeyElement(const std::string& text,
                                   const std::vector<std::pair<std::string, TypePtr>>& columns,
                                   const PlannerContext& context,
                                   bool allow_nondeterministic) {
    return makeKeyElement(sql::parseExpression(text), columns, context, allow_nondeterministic);
}

}  // namespace shardd::plan
