#include "server/plan/explain.h"

/// EXPLAIN AST, in ClickHouse's notation.
namespace shardd::plan {

namespace {

using sql::Literal;

std::string literalText(const Literal& literal) {
    struct Visitor {
        std::string operator()(Literal::Null) const { return "NULL"; }

        std::string operator()(bool value) const { return value ? "Bool_1" : "Bool_0"; }

        std::string operator()(uint64_t value) const { return "UInt64_" + std::to_string(value); }

        std::string operator()(int64_t value) const { return "Int64_" + std::to_string(value); }

        std::string operator()(double value) const { return "Float64_" + sql::floatText(value); }

        std::string operator()(const std::string& value) const { return sql::quoteString(value); }

        std::string operator()(const Literal::Array& value) const {
            return "Array_[" + list(value.items) + "]";
        }

        std::string operator()(const Literal::Tuple& value) const {
            return "Tuple_(" + list(value.items) + ")";
        }

        static std::string list(const std::vector<Literal>& items) {
            std::string text;
            for (const Literal& item : items) text += (text.empty() ? "" : ", ") + literalText(item);
            return text;
        }
    };

    return std::visit(Visitor{}, literal.value);
}

/// A node before it is known how many children it has.
struct Tree {
    std::string name;
    std::vector<Tree> children;
};

Tree expressionTree(const sql::Expression& node);
Tree queryTree(const sql::Query& query);

Tree listTree(const sql::Expressions& list) {
    Tree tree{"ExpressionList", {}};
    for (const auto& each : list) tree.children.push_back(expressionTree(*each));
    return tree;
}

std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const auto& part : parts) text += (text.empty() ? "" : ".") + part;
    return text;
}

std::string withAlias(std::string name, const std::string& alias) {
    return alias.empty() ? name : name + " (alias " + alias + ")";
}

Tree expressionTree(const sql::Expression& node) {
    Tree tree;
    switch (node.kind) {
        case sql::Expression::Kind::Literal:
            tree.name = "Literal " + literalText(sql::as<sql::LiteralExpression>(&node)->value);
            break;
        case sql::Expression::Kind::Identifier:
            tree.name = "Identifier " + joined(sql::as<sql::Identifier>(&node)->parts);
            break;
        case sql::Expression::Kind::Function: {
            const auto& call = *sql::as<sql::Function>(&node);
            tree.name = "Function " + call.name;
            tree.children.push_back(listTree(call.arguments));
            if (call.has_parameters) tree.children.push_back(listTree(call.parameters));
            if (call.is_window) tree.children.push_back({"WindowDefinition", {}});
            break;
        }
        case sql::Expression::Kind::Lambda: {
            const auto& lambda = *sql::as<sql::Lambda>(&node);
            tree.name = "Function lambda";
            Tree parameters{"ExpressionList", {}};
            for (const auto& each : lambda.arguments)
                parameters.children.push_back({"Identifier " + each, {}});
            Tree tuple{"Function tuple", {parameters}};
            tree.children.push_back({"ExpressionList", {tuple, expressionTree(*lambda.body)}});
            break;
        }
        case sql::Expression::Kind::Asterisk:
            tree.name = sql::as<sql::Asterisk>(&node)->qualifier.empty() ? "Asterisk" : "QualifiedAsterisk";
            break;
        case sql::Expression::Kind::Columns:
            tree.name = "ColumnsMatcher";
            break;
        case sql::Expression::Kind::Subquery:
            tree.name = "Subquery";
            tree.children.push_back(queryTree(*sql::as<sql::Subquery>(&node)->query));
            break;
        case sql::Expression::Kind::Parameter:
            tree.name = "QueryParameter " + sql::as<sql::Parameter>(&node)->name;
            break;
    }
    tree.name = withAlias(std::move(tree.name), node.alias);
    return tree;
}

Tree tableTree(const sql::TableExpression& table) {
    Tree tree{"TableExpression", {}};
    if (table.subquery)
        tree.children.push_back({withAlias("Subquery", table.alias), {queryTree(*table.subquery)}});
    else if (table.function)
        tree.children.push_back({withAlias("Function " + table.function->name, table.alias),
                                 {listTree(table.function->arguments)}});
    else
        tree.children.push_back(
            {withAlias("TableIdentifier " + (table.table.database.empty() ? "" : table.table.database + ".") +
                           table.table.table,
                       table.alias),
             {}});
    return tree;
}

Tree fromTree(const sql::Select& select) {
    Tree tables{"TablesInSelectQuery", {}};
    for (const auto& each : select.from) {
        Tree element{"TablesInSelectQueryElement", {}};
        if (each.is_array_join)
            element.children.push_back({"ArrayJoin", {listTree(each.array_join)}});
        else
            element.children.push_back(tableTree(each.table));
        if (each.join) {
            Tree join{"TableJoin", {}};
            if (each.join->on) join.children.push_back(expressionTree(*each.join->on));
            if (!each.join->using_columns.empty())
                join.children.push_back(listTree(each.join->using_columns));
            element.children.push_back(std::move(join));
        }
        tables.children.push_back(std::move(element));
    }
    return tables;
}

Tree selectTree(const sql::Select& select) {
    Tree tree{"SelectQuery", {}};
    auto& children = tree.children;
    const auto optional = [&](const sql::ExpressionPtr& node) {
        if (node) children.push_back(expressionTree(*node));
    };
    if (!select.with.empty()) {
        Tree with{"ExpressionList", {}};
        for (const auto& each : select.with)
            with.children.push_back(each.expression
                                        ? expressionTree(*each.expression)
                                        : Tree{"WithElement", {{"Subquery", {queryTree(*each.query)}}}});
        children.push_back(std::move(with));
    }
    children.push_back(listTree(select.select));
    if (!select.from.empty()) children.push_back(fromTree(select));
    optional(select.prewhere);
    optional(select.where);
    if (!select.group_by.empty()) children.push_back(listTree(select.group_by));
    if (!select.grouping_sets.empty()) {
        Tree sets{"ExpressionList", {}};
        for (const auto& set : select.grouping_sets) sets.children.push_back(listTree(set));
        children.push_back(std::move(sets));
    }
    optional(select.having);
    optional(select.qualify);
    if (!select.order_by.empty()) {
        Tree order{"ExpressionList", {}};
        for (const auto& each : select.order_by)
            order.children.push_back(
                {"OrderByElement", each.expression ? std::vector<Tree>{expressionTree(*each.expression)}
                                                   : std::vector<Tree>{}});
        children.push_back(std::move(order));
    }
    optional(select.limit_by_offset);
    optional(select.limit_by_length);
    if (!select.limit_by.empty()) children.push_back(listTree(select.limit_by));
    optional(select.offset);
    optional(select.limit);
    if (!select.settings.empty()) children.push_back({"Set", {}});
    return tree;
}

Tree queryTree(const sql::Query& query) {
    Tree list{"ExpressionList", {}};
    if (query.select) {
        list.children.push_back(selectTree(*query.select));
    } else {
        for (const auto& operand : query.operands)
            list.children.push_back(operand->select ? selectTree(*operand->select) : queryTree(*operand));
    }
    const bool other = !query.operators.empty() && query.operators[0] > sql::SetOperator::UnionDistinct;
    return {other ? "SelectIntersectExceptQuery" : "SelectWithUnionQuery", {std::move(list)}};
}

void write(const Tree& tree, size_t depth, std::vector<std::string>& lines) {
    std::string line(depth, ' ');
    line += tree.name;
    if (!tree.children.empty()) line += " (children " + std::to_string(tree.children.size()) + ")";
    lines.push_back(std::move(line));
    for (const Tree& child : tree.children) write(child, depth + 1, lines);
}

std::string statementName(const sql::Statement& statement) {
    static constexpr const char* kNames[] = {"SelectWithUnionQuery",
                                             "InsertQuery",
                                             "CreateQuery",
                                             "DropQuery",
                                             "Rename",
                                             "AlterQuery",
                                             "DeleteQuery",
                                             "UpdateQuery",
                                             "DescribeQuery",
                                             "ExistsTableQuery",
                                             "ShowQuery",
                                             "Set",
                                             "SetRoleQuery",
                                             "UseQuery",
                                             "KillQueryQuery",
                                             "Explain",
                                             "SYSTEM query",
                                             "OptimizeQuery",
                                             "CheckQuery",
                                             "CreateFunctionQuery",
                                             "TransactionControl",
                                             "AccessQuery"};
    return kNames[static_cast<size_t>(statement.kind)];
}

}  // namespace

std::vector<std::string> syntaxTreeLines(const sql::Statement& statement) {
    Tree tree{statementName(statement), {}};
    if (const auto* query = sql::as<sql::QueryStatement>(&statement)) tree = queryTree(*query->query);
    if (const auto* insert = sql::as<sql::Insert>(&statement); insert && insert->query)
        tree.children.push_back(queryTree(*insert->query));
    if (const auto* create = sql::as<sql::Create>(&statement)) {
        tree.name += " " + create->name.database + " " + create->name.table;
        if (create->as_query) tree.children.push_back(queryTree(*create->as_query));
    }
    std::vector<std::string> lines;
    write(tree, 0, lines);
    return lines;
}

}  // namespace shardd::plan
