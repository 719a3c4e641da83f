#include <algorithm>
#include <map>

#include "common/columns/create_column.h"
#include "server/functions/set.h"
#include "server/plan/binder_impl.h"
#include "server/plan/node_name.h"
#include "server/plan/set_name.h"
#include "server/sql/printer.h"

namespace shardd::plan {

Bound Binder::bindIn(const sql::Function& call, Scope& scope) {
    if (call.arguments.size() != 2)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "Function '{}' needs two arguments, {} given", call.name, call.arguments.size());
    const Bound left = bind(call.arguments[0], scope);
    std::string right_name;
    const NodePtr right = bindSet(call.arguments[1], left.node, scope, right_name);
    const std::string name = call.name + "(" + left.name + ", " + right_name + ")";
    if (right->kind != Node::Kind::Set) {
        // Not a set but an array or values of each row: membership is has(), or equality with any of them.
        const bool negative = call.name.find("not") == 0 || call.name.find("Not") != std::string::npos;
        NodePtr node = makeFunction("has", {right, left.node});
        return {negative ? makeFunction("not", {node}) : node, name};
    }
    if (call.name.starts_with("global") && !right->subquery) {
        // A list of literals is the same on every server.
        sql::Function local(call.name == "globalIn" ? "in" : call.name == "globalNotIn" ? "notIn" : call.name == "globalNullIn" ? "nullIn" : "notNullIn");
        return {makeFunction(local.name, {left.node, right}), name};
    }
    std::string function = call.name;
    if (context_.settings->transform_null_in) {
        for (const auto& [plain, with_nulls] : {std::pair{"in", "nullIn"}, {"notIn", "notNullIn"}, {"globalIn", "globalNullIn"}, {"globalNotIn", "globalNotNullIn"}})
            if (function == plain) {
                function = with_nulls;
                break;
            }
    }
    return {makeFunction(function, {left.node, right}), name};
}

NodePtr Binder::bindSet(const sql::ExpressionPtr& right, const NodePtr& left, Scope& scope, std::string& name) {
    if (const auto* subquery = sql::as<sql::Subquery>(right.get())) {
        name = fmt::format("_subquery_{}", next_subquery_++);
        return subquerySet(bindQuery(*subquery->query, &scope, scope.query->settings), "");
    }
    if (const auto* identifier = sql::as<sql::Identifier>(right.get()); identifier && identifier->parts.size() <= 2) {
        // A name on the right is a table, unless it is a column or an alias here.
        const std::string& first = identifier->parts[0];
        const bool table_first = !scope.aliases.contains(first) && !findColumn(identifier->parts, scope) && !scope.array_join_names.contains(first) &&
                                 std::none_of(scope.parameters.begin(), scope.parameters.end(), [&](const auto& p) { return p.first == first; });
        if (table_first) {
            sql::TableExpression table;
            if (identifier->parts.size() == 2) table.table.database = first;
            table.table.table = identifier->parts.back();
            // The analyzer writes the name of a table that came with the query, and its alias: `_data_1` AS `__table2`.
            table.alias = right->alias;
            TableSourcePtr source;
            try {
                source = bindNamedTable(table, scope);
            } catch (const Error& error) {
                if (!error.is(ErrorCode::UNKNOWN_TABLE) && !error.is(ErrorCode::UNKNOWN_DATABASE)) throw;
                failUnknownIdentifier(*identifier, scope);
            }
            name = sql::toText(*identifier);
            return subquerySet(selectAll(source), source->table);
        }
    }
    const auto* call = sql::as<sql::Function>(right.get());
    const auto* literal = sql::as<sql::LiteralExpression>(right.get());
    const size_t left_columns = left->type->kind() == TypeKind::Tuple ? left->type->children().size() : 1;
    std::vector<NodePtr> elements;
    // For a left tuple, `(1, 'a')` is one row of it and `((1, 'a'), (2, 'b'))` are rows.
    const auto isList = [&](bool holds_tuples) { return left_columns == 1 || holds_tuples; };
    if (call && call->name == "tuple") {
        bool constant = true;
        bool holds_tuples = false;
        for (const sql::ExpressionPtr& argument : call->arguments) {
            elements.push_back(bind(argument, scope).node);
            constant = constant && elements.back()->kind == Node::Kind::Constant;
            holds_tuples = holds_tuples || elements.back()->type->kind() == TypeKind::Tuple;
        }
        name = sql::toText(*right);
        if (!constant) return makeFunction("array", std::move(elements));
        const NodePtr whole = makeFunction("tuple", elements);
        if (!isList(holds_tuples)) elements = {whole};
        return literalSet(std::move(elements), left, whole, name);
    }
    if (literal && literal->value.is<sql::Literal::Tuple>()) {
        const auto& items = literal->value.as<sql::Literal::Tuple>()->items;
        const bool holds_tuples = !items.empty() && items[0].is<sql::Literal::Tuple>();
        name = sql::toText(literal->value);
        const NodePtr whole = bindLiteral(literal->value).node;
        if (isList(holds_tuples)) {
            for (const sql::Literal& item : items) elements.push_back(bindLiteral(item).node);
        } else {
            elements.push_back(whole);
        }
        return literalSet(std::move(elements), left, whole, name);
    }
    if (literal && literal->value.is<sql::Literal::Array>() && left->type->kind() != TypeKind::Array) {
        for (const sql::Literal& item : literal->value.as<sql::Literal::Array>()->items) elements.push_back(bindLiteral(item).node);
        name = sql::toText(literal->value);
        return literalSet(std::move(elements), left, bindLiteral(literal->value).node, name);
    }
    Bound bound = bind(right, scope);
    name = bound.name;
    if (bound.node->kind != Node::Kind::Constant) return bound.node;
    // A constant that was computed: a tuple or an array is its elements, anything else one row.
    const NodePtr& constant = bound.node;
    if ((constant->type->kind() == TypeKind::Tuple && left_columns == 1) || (constant->type->kind() == TypeKind::Array && left->type->kind() != TypeKind::Array)) {
        const Value value = constant->constant->value(0);
        for (size_t i = 0; i < value.elements().size(); ++i) {
            auto element = std::make_shared<Node>();
            element->kind = Node::Kind::Constant;
            element->type = constant->type->child(constant->type->kind() == TypeKind::Tuple ? i : 0);
            MutableColumnPtr one = createColumn(*element->type);
            one->insert(value.elements()[i]);
            element->constant = std::move(one);
            elements.push_back(finishNode(std::move(element)));
        }
        return literalSet(std::move(elements), left, constant, name);
    }
    return literalSet({constant}, left, constant, name);
}

NodePtr Binder::literalSet(std::vector<NodePtr> elements, const NodePtr& left, const NodePtr& right, const std::string& text) {
    const uint64_t most = context_.settings->max_rows_in_set;
    if (most && elements.size() > most && context_.settings.get("set_overflow_mode") == "throw")
        throw Error(ErrorCode::SET_SIZE_LIMIT_EXCEEDED, "IN-set size limit exceeded, max rows: {}, current rows: {}", most, elements.size());
    const TypePtr left_type = removeLowCardinality(left->type);
    std::vector<TypePtr> set_types = left_type->kind() == TypeKind::Tuple ? left_type->children() : std::vector<TypePtr>{left_type};
    const bool rows = left_type->kind() == TypeKind::Tuple;
    functions::SetBuilder builder(set_types, context_.settings->transform_null_in);
    // Elements of one type go in together: a long list is a few columns, not a block a value.
    std::map<std::string, std::pair<TypePtr, MutableColumnPtr>> by_type;
    for (const NodePtr& element : elements) {
        if (rows && (element->type->kind() != TypeKind::Tuple || element->type->children().size() != set_types.size()))
            throw Error(ErrorCode::INCORRECT_ELEMENT_OF_SET,
                        "Number of columns in section IN doesn't match: {} at left, {} at right",
                        set_types.size(),
                        element->type->kind() == TypeKind::Tuple ? element->type->children().size() : 1);
        auto& [type, column] = by_type[element->type->name()];
        if (!column) {
            type = element->type;
            column = createColumn(*type);
        }
        column->insertFrom(*element->constant, 0);
    }
    for (auto& [name, typed] : by_type) {
        auto& [type, column] = typed;
        Block block;
        if (rows) {
            const ColumnPtr shared = std::move(column);
            for (size_t i = 0; i < set_types.size(); ++i) {
                const ColumnPtr tuple = full(shared);
                NamedColumn argument{"", type, tuple};
                std::vector<NamedColumn> arguments = {argument, {"", types::uint64(), createConstColumn(*types::uint64(), Value(uint64_t{i + 1}), tuple->size())}};
                const auto element = functions::resolveFunction("tupleElement", arguments, context_.functions);
                block.add({"", element->resultType(), element->execute(arguments, tuple->size())});
            }
        } else {
            block.add({"", type, ColumnPtr(std::move(column))});
        }
        builder.add(block);
    }
    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::Set;
    node->type = types::simple(TypeKind::Set);
    node->constant = functions::makeSetColumn(builder.finish(), 1);
    node->set_elements = std::move(elements);
    const std::optional<std::string> name =
        right ? literalSetName(*left->type, *right->type, *right->constant) : std::nullopt;
    node->name = name.value_or("__set_" + text);
    node->old_name = text;
    return node;
}

NodePtr Binder::subquerySet(QueryTreePtr tree, const std::string& table) {
    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::Set;
    node->type = types::simple(TypeKind::Set);
    node->subquery = std::move(tree);
    node->set_table = table;
    node->name = fmt::format("__set_subquery_{}", next_set_++);
    node->old_name = table.empty() ? node->name : table;
    return node;
}

QueryTreePtr Binder::selectAll(const TableSourcePtr& source) {
    auto query = std::make_shared<QueryNode>();
    query->settings = context_.settings;
    query->sources.push_back(source);
    auto tree = std::make_shared<QueryTree>();
    for (const auto& [name, type] : source->columns) {
        if (std::find(source->visible_columns.begin(), source->visible_columns.end(), name) == source->visible_columns.end()) continue;
        auto column = std::make_shared<Node>();
        column->kind = Node::Kind::Column;
        column->type = type;
        column->source = source;
        column->column = name;
        query->projection.push_back({finishNode(std::move(column)), name});
        tree->columns.emplace_back(name, type);
    }
    tree->select = std::move(query);
    return tree;
}

}  // namespace shardd::plan
