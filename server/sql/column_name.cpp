#include "server/sql/column_name.h"

namespace shardd::sql {

namespace {

std::string listName(const Expressions& list, const ColumnNaming& naming) {
    std::string names;
    for (const auto& each : list) {
        if (!names.empty()) names += ", ";
        names += columnName(*each, naming);
    }
    return names;
}

std::string boundName(const FrameBound& bound, const ColumnNaming& naming) {
    if (bound.kind == FrameBound::Kind::CurrentRow) return "CURRENT ROW";
    std::string name =
        bound.kind == FrameBound::Kind::Unbounded ? "UNBOUNDED" : columnName(*bound.offset, naming);
    return name + (bound.preceding ? " PRECEDING" : " FOLLOWING");
}

std::string functionName(const Function& node, const ColumnNaming& naming) {
    if (naming.brackets && !node.is_window && node.parameters.empty()) {
        if (node.name == "array") return "[" + listName(node.arguments, naming) + "]";
        if (node.name == "tuple" && !node.arguments.empty())
            return "(" + listName(node.arguments, naming) + ")";
    }
    std::string name = node.name;
    if (!node.parameters.empty()) name += "(" + listName(node.parameters, naming) + ")";
    // count(*) counts rows, whatever their columns.
    const bool star = node.arguments.size() == 1 && node.arguments[0]->kind == Expression::Kind::Asterisk;
    name += star ? "()" : "(" + listName(node.arguments, naming) + ")";
    if (node.nulls == Function::Nulls::Respect) name += " RESPECT NULLS";
    if (node.nulls == Function::Nulls::Ignore) name += " IGNORE NULLS";
    if (!node.is_window) return name;
    if (!node.window) return name + " OVER " + node.window_name;
    return name + " OVER (" + windowName(*node.window, naming) + ")";
}

}  // namespace

std::string ColumnNaming::identifier(const Identifier& identifier) const {
    std::string name;
    for (const auto& part : identifier.parts) {
        if (!name.empty()) name += ".";
        name += part;
    }
    return name;
}

std::string ColumnNaming::subquery(const Subquery&) const { return "_subquery"; }

std::string windowName(const WindowDefinition& window, const ColumnNaming& naming) {
    std::string name = window.parent;
    const auto next = [&](std::string_view words) {
        if (!name.empty()) name += " ";
        name += words;
    };
    if (!window.partition_by.empty()) {
        next("PARTITION BY ");
        name += listName(window.partition_by, naming);
    }
    if (!window.order_by.empty()) {
        next("ORDER BY ");
        for (size_t i = 0; i < window.order_by.size(); ++i) {
            const auto& each = window.order_by[i];
            if (i) name += ", ";
            name += columnName(*each.expression, naming) + (each.descending ? " DESC" : " ASC");
            if (each.nulls_first) name += *each.nulls_first ? " NULLS FIRST" : " NULLS LAST";
        }
    }
    if (window.frame == WindowDefinition::Frame::Default) return name;
    static constexpr std::string_view kFrames[] = {"", "ROWS", "RANGE", "GROUPS"};
    next(kFrames[static_cast<size_t>(window.frame)]);
    return name + " BETWEEN " + boundName(window.begin, naming) + " AND " + boundName(window.end, naming);
}

std::string columnName(const Expression& expression, const ColumnNaming& naming) {
    return expression.alias.empty() ? columnNameWithoutAlias(expression, naming) : expression.alias;
}

std::string columnNameWithoutAlias(const Expression& expression, const ColumnNaming& naming) {
    switch (expression.kind) {
        case Expression::Kind::Literal:
            return toText(static_cast<const LiteralExpression&>(expression).value);
        case Expression::Kind::Identifier:
            return naming.identifier(static_cast<const Identifier&>(expression));
        case Expression::Kind::Function:
            return functionName(static_cast<const Function&>(expression), naming);
        case Expression::Kind::Lambda: {
            const auto& lambda = static_cast<const Lambda&>(expression);
            std::string name = "lambda(tuple(";
            for (size_t i = 0; i < lambda.arguments.size(); ++i)
                name += (i ? ", " : "") + lambda.arguments[i];
            return name + "), " + columnName(*lambda.body, naming) + ")";
        }
        case Expression::Kind::Subquery:
            return naming.subquery(static_cast<const Subquery&>(expression));
        case Expression::Kind::Asterisk:
            return "*";
        case Expression::Kind::Columns:
            return "COLUMNS";
        case Expression::Kind::Parameter:
            return static_cast<const Parameter&>(expression).name;
    }
    return {};
}

}  // namespace shardd::sql
