#include <algorithm>

#include "common/columns/create_column.h"
#include "common/base/stack_guard.h"
#include "common/columns/tuple_column.h"
#include "common/types/type_parser.h"
#include "server/plan/binder_impl.h"
#include "server/plan/node_name.h"
#include "server/plan/planner.h"
#include "server/sql/parser.h"
#include "server/sql/printer.h"

namespace shardd::plan {

namespace {

std::string joinParts(const std::vector<std::string>& parts, size_t from, size_t to) {
    std::string result;
    for (size_t i = from; i < to; ++i) result += (i == from ? "" : ".") + parts[i];
    return result;
}

Value literalValue(const sql::Literal& literal) {
    return std::visit(
        [](const auto& value) -> Value {
            using T = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, uint64_t> || std::is_same_v<T, int64_t> || std::is_same_v<T, double> || std::is_same_v<T, std::string>)
                return Value(T(value));
            else
                return Value();
        },
        literal.value);
}

NodePtr constantNode(const TypePtr& type, const Value& value) {
    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::Constant;
    node->type = type;
    MutableColumnPtr one = createColumn(*type);
    one->insert(value);
    node->constant = std::move(one);
    return finishNode(std::move(node));
}

}  // namespace

Bound Binder::bind(const sql::ExpressionPtr& expression, Scope& scope) {
    if (!expression->alias.empty()) {
        if (auto found = scope.aliases.find(expression->alias); found != scope.aliases.end() && sql::equals(found->second, expression))
            return bindAlias(expression->alias, found->second, scope);
    }
    return bindWithoutAlias(*expression, scope);
}

Bound Binder::bindAlias(const std::string& name, const sql::ExpressionPtr& expression, Scope& scope) {
    // Inside a lambda an alias may use its parameters, so it is bound anew there.
    if (scope.parameters.empty()) {
        if (auto found = scope.resolved_aliases.find(name); found != scope.resolved_aliases.end()) return found->second;
    }
    scope.resolving.insert(name);
    Bound bound;
    try {
        bound = bindWithoutAlias(*expression, scope);
    } catch (...) {
        scope.resolving.erase(name);
        throw;
    }
    scope.resolving.erase(name);
    bound.name = name;
    if (scope.parameters.empty()) scope.resolved_aliases[name] = bound;
    return bound;
}

Bound Binder::bindWithoutAlias(const sql::Expression& expression, Scope& scope) {
    checkStack();
    switch (expression.kind) {
        case sql::Expression::Kind::Literal:
            return bindLiteral(static_cast<const sql::LiteralExpression&>(expression).value);
        case sql::Expression::Kind::Identifier:
            return bindIdentifier(static_cast<const sql::Identifier&>(expression), scope);
        case sql::Expression::Kind::Function:
            return bindFunction(static_cast<const sql::Function&>(expression), scope);
        case sql::Expression::Kind::Subquery:
            return bindScalarSubquery(static_cast<const sql::Subquery&>(expression), scope);
        case sql::Expression::Kind::Parameter:
            return bindParameter(static_cast<const sql::Parameter&>(expression), scope);
        case sql::Expression::Kind::Lambda:
            throw Error(ErrorCode::UNSUPPORTED_METHOD, "Lambda {} may only be an argument of a function that takes one", sql::toText(expression));
        case sql::Expression::Kind::Asterisk:
        case sql::Expression::Kind::Columns:
            break;
    }
    throw Error(ErrorCode::UNSUPPORTED_METHOD, "Matcher {} is not allowed here", sql::toText(expression));
}

Bound Binder::bindLiteral(const sql::Literal& literal) {
    if (const auto* array = literal.as<sql::Literal::Array>()) {
        std::vector<NodePtr> elements;
        for (const sql::Literal& item : array->items) elements.push_back(bindLiteral(item).node);
        auto node = std::make_shared<Node>(*makeFunction("array", std::move(elements)));
        node->folded = false;
        return {finishNode(std::move(node)), sql::toText(literal)};
    }
    if (const auto* tuple = literal.as<sql::Literal::Tuple>()) {
        std::vector<NodePtr> elements;
        for (const sql::Literal& item : tuple->items) elements.push_back(bindLiteral(item).node);
        auto node = std::make_shared<Node>(*makeFunction("tuple", std::move(elements)));
        node->folded = false;
        return {finishNode(std::move(node)), sql::toText(literal)};
    }
    const Value value = literalValue(literal);
    return {constantNode(literalType(value), value), sql::toText(literal)};
}

Bound Binder::bindParameter(const sql::Parameter& parameter, Scope& scope) {
    const auto found = context_.parameters.find(parameter.name);
    if (found == context_.parameters.end())
        throw Error(ErrorCode::UNKNOWN_QUERY_PARAMETER, "Substitution {{{}:{}}} is not set", parameter.name, parameter.type);
    if (parameter.type == "Identifier") return bindIdentifier(sql::Identifier({found->second}), scope);
    const TypePtr type = parseType(parameter.type);
    NodePtr text = constantNode(types::string(), Value(found->second));
    if (found->second == "\\N" && type->isNullable()) return {constantNode(type, Value()), "NULL"};
    NodePtr node = makeFunction("_CAST", {std::move(text), constantNode(types::string(), Value(type->name()))});
    const std::string name = node->old_name;
    return {std::move(node), name};
}

Bound Binder::bindIdentifier(const sql::Identifier& identifier, Scope& scope) {
    const std::vector<std::string>& parts = identifier.parts;
    for (auto at = scope.parameters.rbegin(); at != scope.parameters.rend(); ++at)
        if (at->first == parts[0]) {
            const auto shown = scope.parameter_names.find(parts[0]);
            return subcolumn({at->second, shown == scope.parameter_names.end() ? parts[0] : shown->second}, parts, 1, scope);
        }

    if (auto joined = scope.array_join_names.find(joinParts(parts, 0, parts.size())); joined != scope.array_join_names.end())
        return {joined->second, joined->first};
    if (auto joined = scope.array_join_names.find(parts[0]); joined != scope.array_join_names.end())
        return subcolumn({joined->second, parts[0]}, parts, 1, scope);

    const bool prefer_columns = scope.query->settings->prefer_column_name_to_alias;
    if (prefer_columns)
        if (auto found = findColumn(parts, scope)) return *found;
    if (auto alias = scope.aliases.find(parts[0]); alias != scope.aliases.end() && !scope.resolving.contains(parts[0]))
        return subcolumn(bindAlias(parts[0], alias->second, scope), parts, 1, scope);
    if (auto found = findColumn(parts, scope)) return *found;

    // WITH expressions of enclosing queries are seen here too; other names of theirs are not.
    for (const Scope* at = scope.parent; at; at = at->parent) {
        if (!at->select) {
            // Around a common table: the WITH expressions of the query that holds it.
            if (const auto alias = at->aliases.find(parts[0]); alias != at->aliases.end()) {
                Bound bound = subcolumn(bindWithoutAlias(*alias->second, scope), parts, 1, scope);
                bound.name = joinParts(parts, 0, parts.size());
                return bound;
            }
            continue;
        }
        for (const sql::WithElement& element : at->select->with) {
            if (element.query || element.expression->alias != parts[0]) continue;
            Bound bound = subcolumn(bindWithoutAlias(*element.expression, scope), parts, 1, scope);
            bound.name = joinParts(parts, 0, parts.size());
            return bound;
        }
    }
    failUnknownIdentifier(identifier, scope);
}

std::optional<Bound> Binder::findColumn(const std::vector<std::string>& parts, Scope& scope) {
    if (auto alone = findUnqualified(parts, scope, true)) return alone;
    for (const TableSourcePtr& source : scope.query->sources) {
        size_t from = 0;
        if (parts.size() > 1 && (parts[0] == source->alias || parts[0] == source->id || (parts[0] == source->table && !source->table.empty())))
            from = 1;
        else if (parts.size() > 2 && parts[0] == source->database && parts[1] == source->table)
            from = 2;
        if (from == 0) continue;
        auto here = findInSource(source, parts, from, scope);
        if (!here) continue;
        here->name = nameInJoin(*source, here->node, {parts.begin() + static_cast<std::ptrdiff_t>(from), parts.end()}, scope);
        return here;
    }
    return std::nullopt;
}

std::optional<Bound> Binder::findInSource(const TableSourcePtr& source, const std::vector<std::string>& parts, size_t from, Scope& scope) {
    // The longest run of parts that is a column; what is left are parts of its value. A quoted name may hold dots.
    std::vector<std::string> pieces(parts.begin() + static_cast<std::ptrdiff_t>(from), parts.end());
    for (size_t take = pieces.size(); take > 0; --take) {
        const std::string name = joinParts(pieces, 0, take);
        const auto column = std::find_if(source->columns.begin(), source->columns.end(), [&](const auto& c) { return c.first == name; });
        if (column != source->columns.end()) {
            if (const auto shown = scope.shown_columns.find({source->id, name}); shown != scope.shown_columns.end())
                return subcolumn({shown->second, name}, pieces, take, scope);
            if (source->storage) {
                const storage::ColumnDefinition* definition = source->storage->schema()->find(name);
                if (definition && definition->default_kind == storage::DefaultKind::Alias) {
                    Bound bound = bindWithoutAlias(*sql::parseExpression(definition->default_expression), scope);
                    if (!sameType(bound.node->type, definition->type))
                        bound.node = makeFunction("_CAST", {bound.node, constantNode(types::string(), Value(definition->type->name()))});
                    bound.name = name;
                    return subcolumn(std::move(bound), pieces, take, scope);
                }
            }
            auto node = std::make_shared<Node>();
            node->kind = Node::Kind::Column;
            node->type = column->second;
            node->source = source;
            node->column = name;
            return subcolumn({finishNode(std::move(node)), name}, pieces, take, scope);
        }
        if (take == pieces.size() && pieces.size() == 1)
            if (auto found = findVirtualColumn(*source, name, scope)) return found;
    }
    // `tu.a` in one quoted piece, as initiators write parts of a tuple.
    if (pieces.size() == 1) {
        for (size_t dot = pieces[0].rfind('.'); dot != std::string::npos && dot > 0; dot = dot == 0 ? std::string::npos : pieces[0].rfind('.', dot - 1)) {
            const std::string head = pieces[0].substr(0, dot);
            const bool is_column = std::any_of(source->columns.begin(), source->columns.end(), [&](const auto& c) { return c.first == head; });
            if (is_column) return findInSource(source, {head, pieces[0].substr(dot + 1)}, 0, scope);
        }
    }
    return std::nullopt;
}

std::optional<Bound> Binder::findVirtualColumn(const TableSource& source, const std::string& name, Scope& /*scope*/) {
    if (!source.storage) return std::nullopt;
    if (name == "_shard_num") {
        if (!source.storage->distributed() && !(context_.secondary)) return std::nullopt;
        return Bound{makeFunction("shardNum", {}), name};
    }
    if (name == "_table") return Bound{constantNode(types::string(), Value(source.storage->schema()->name)), name};
    if (name == "_database") return Bound{constantNode(types::string(), Value(source.storage->schema()->database)), name};
    return std::nullopt;
}

Bound Binder::subcolumn(Bound base, const std::vector<std::string>& parts, size_t from, Scope& scope) {
    if (from == parts.size()) return base;
    const std::string& part = parts[from];
    const TypePtr& type = base.node->type;
    NodePtr node;
    const TypePtr bare = type->isNullable() ? type->child() : type;
    if (bare->kind() == TypeKind::Tuple) {
        const auto& names = bare->elementNames();
        const bool named = std::find(names.begin(), names.end(), part) != names.end();
        const bool number = !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
        if (named)
            node = makeFunction("tupleElement", {base.node, constantNode(types::string(), Value(part))});
        else if (number)
            node = makeFunction("tupleElement", {base.node, bindLiteral(sql::Literal{uint64_t{std::stoul(part)}}).node});
    } else if (part == "null" && type->isNullable()) {
        node = makeFunction("isNull", {base.node});
    } else if (part == "size0" && (bare->kind() == TypeKind::Array || bare->kind() == TypeKind::Map)) {
        node = makeFunction("length", {base.node});
    } else if (part == "keys" && bare->kind() == TypeKind::Map) {
        node = makeFunction("mapKeys", {base.node});
    } else if (part == "values" && bare->kind() == TypeKind::Map) {
        node = makeFunction("mapValues", {base.node});
    }
    if (!node) throw Error(ErrorCode::UNKNOWN_IDENTIFIER, "Unknown expression identifier `{}.{}`", base.name, part);
    if (base.node->kind == Node::Kind::Column) {
        auto renamed = std::make_shared<Node>(*node);
        renamed->name = base.node->name + "." + part;
        renamed->old_name = base.node->old_name + "." + part;
        node = std::move(renamed);
    }
    return subcolumn({std::move(node), base.name + "." + part}, parts, from + 1, scope);
}

void Binder::failUnknownIdentifier(const sql::Identifier& identifier, const Scope& scope) {
    const std::string name = joinParts(identifier.parts, 0, identifier.parts.size());
    std::string near;
    for (const TableSourcePtr& source : scope.query->sources)
        for (const auto& [column, type] : source->columns)
            if (near.empty() && (column.find(identifier.parts.back()) != std::string::npos || identifier.parts.back().find(column) != std::string::npos))
                near = ". Maybe you meant: ['" + column + "']";
    throw Error(ErrorCode::UNKNOWN_IDENTIFIER, "Unknown expression identifier `{}`{}", name, near);
}

Bound Binder::bindScalarSubquery(const sql::Subquery& subquery, Scope& scope) {
    const std::string name = fmt::format("_subquery_{}", next_subquery_++);
    const QueryTreePtr tree = bindQuery(*subquery.query, &scope, scope.query->settings);
    return {scalarValue(tree), name};
}

NodePtr Binder::scalarValue(const QueryTreePtr& tree) {
    Block rows;
    if (context_.run) {
        const QueryPlan plan = planQuery(tree, context_);
        rows = context_.run(plan.root);
    }
    if (rows.rows > 1) throw Error(ErrorCode::INCORRECT_RESULT_OF_SCALAR_SUBQUERY, "Scalar subquery returned more than one row");
    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::Constant;
    node->folded = true;
    if (tree->columns.size() == 1) {
        const TypePtr& type = tree->columns[0].second;
        node->type = type->isLowCardinality() || type->canBeInsideNullable() ? makeNullable(type) : type;
        MutableColumnPtr one = createColumn(*node->type);
        if (rows.rows == 0)
            insertDefaults(*node->type, *one, 1);
        else
            one->insert(rows.columns[0].column->value(0));
        node->constant = std::move(one);
        return finishNode(std::move(node));
    }
    std::vector<TypePtr> types;
    std::vector<std::string> names;
    std::vector<ColumnPtr> columns;
    for (size_t i = 0; i < tree->columns.size(); ++i) {
        const TypePtr& type = tree->columns[i].second;
        types.push_back(rows.rows == 0 && type->canBeInsideNullable() ? makeNullable(type) : type);
        names.push_back(tree->columns[i].first);
        MutableColumnPtr one = createColumn(*types.back());
        if (rows.rows == 0)
            insertDefaults(*types.back(), *one, 1);
        else
            one->insert(rows.columns[i].column->value(0));
        columns.push_back(std::move(one));
    }
    for (size_t i = 0; i < names.size(); ++i)
        if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) != names.begin() + static_cast<std::ptrdiff_t>(i)) names.clear();
    node->type = shardd::types::tuple(std::move(types), std::move(names));
    node->constant = std::make_shared<TupleColumn>(std::move(columns), 1);
    return finishNode(std::move(node));
}

}  // namespace shardd::plan
