#include <algorithm>

#include "server/functions/supertype.h"
#include "server/plan/binder_impl.h"
#include "server/plan/query_tree_walk.h"
#include "server/sql/printer.h"

namespace shardd::plan {

namespace {

enum Side : unsigned { kNeither = 0, kLeft = 1, kRight = 2, kBoth = 3 };

/// On whose columns the node depends.
Side sideOf(const NodePtr& node, const TableSource& right) {
    unsigned sides = kNeither;
    walk(node, [&](const NodePtr& part) {
        if (part->kind == Node::Kind::Column) sides |= part->source->id == right.id ? kRight : kLeft;
        return true;
    });
    return static_cast<Side>(sides);
}

void flatten(const NodePtr& node, std::vector<NodePtr>& conditions) {
    if (node->kind == Node::Kind::Function && node->function_name == "and") {
        for (const NodePtr& argument : node->arguments) flatten(argument, conditions);
        return;
    }
    conditions.push_back(node);
}

std::optional<JoinStep::Nearest> nearestOf(const std::string& name, bool mirrored) {
    using Nearest = JoinStep::Nearest;
    if (name == "greaterOrEquals") return mirrored ? Nearest::LessOrEqual : Nearest::GreaterOrEqual;
    if (name == "greater") return mirrored ? Nearest::Less : Nearest::Greater;
    if (name == "lessOrEquals") return mirrored ? Nearest::GreaterOrEqual : Nearest::LessOrEqual;
    if (name == "less") return mirrored ? Nearest::Greater : Nearest::Less;
    return std::nullopt;
}

bool isAlwaysTrue(const NodePtr& node) {
    if (node->kind != Node::Kind::Constant || !removeNullable(node->type)->isNumber()) return false;
    const Value value = node->constant->value(0);
    return !value.isNull() && value.to<double>() != 0;
}

JoinNode describe(const sql::Join& join) {
    JoinNode node;
    using Kind = sql::Join::Kind;
    switch (join.kind) {
        case Kind::Comma:
        case Kind::Cross:
            node.cross = true;
            break;
        case Kind::Inner:
            break;
        case Kind::Left:
            node.kind = JoinNode::Kind::Left;
            break;
        case Kind::Right:
            node.kind = JoinNode::Kind::Right;
            break;
        case Kind::Full:
            node.kind = JoinNode::Kind::Full;
            break;
        case Kind::Paste:
            throw Error(ErrorCode::NOT_IMPLEMENTED, "PASTE JOIN is not supported");
    }
    static constexpr JoinStep::Strictness kStrictness[] = {
        JoinStep::Strictness::All,  JoinStep::Strictness::Any,  JoinStep::Strictness::All,
        JoinStep::Strictness::Semi, JoinStep::Strictness::Anti, JoinStep::Strictness::Asof};
    node.strictness = kStrictness[static_cast<size_t>(join.strictness)];
    node.global = join.locality == sql::Join::Locality::Global;
    if (node.strictness == JoinStep::Strictness::Asof && node.kind != JoinNode::Kind::Inner &&
        node.kind != JoinNode::Kind::Left)
        throw Error(ErrorCode::NOT_IMPLEMENTED, "ASOF JOIN may only be INNER or LEFT");
    return node;
}

}  // namespace

void Binder::bindJoin(const sql::Join& written, TableSourcePtr source, Scope& scope) {
    QueryNode& query = *scope.query;
    JoinNode join = describe(written);
    join.right = source;
    query.sources.push_back(source);
    std::vector<std::string> using_names;
    if (written.natural) {
        for (const std::string& name : source->visible_columns)
            for (size_t i = 0; i + 1 < query.sources.size(); ++i)
                if (std::ranges::find(query.sources[i]->visible_columns, name) !=
                        query.sources[i]->visible_columns.end() &&
                    std::ranges::find(using_names, name) == using_names.end())
                    using_names.push_back(name);
        join.cross = using_names.empty();
    }
    for (const sql::ExpressionPtr& expression : written.using_columns) {
        const auto* identifier = sql::as<sql::Identifier>(expression.get());
        if (!identifier)
            throw Error(ErrorCode::UNSUPPORTED_METHOD, "JOIN USING takes columns, not {}",
                        sql::toText(*expression));
        using_names.push_back(identifier->parts.back());
    }
    if (written.on) bindJoinCondition(written.on, join, scope);
    if (!using_names.empty()) bindUsing(using_names, join, scope);
    if (join.strictness == JoinStep::Strictness::Asof && !join.asof)
        throw Error(ErrorCode::INVALID_JOIN_ON_EXPRESSION,
                    "ASOF JOIN requires exactly one inequality between its sides");
    query.joins.push_back(std::move(join));
    makeSidesNullable(scope);
    if (!using_names.empty()) showUsingColumns(using_names, scope);
}

void Binder::bindJoinCondition(const sql::ExpressionPtr& expression, JoinNode& join, Scope& scope) {
    join.on = bindClause(expression, scope, "JOIN ON").node;
    std::vector<NodePtr> conditions, rest;
    flatten(join.on, conditions);
    for (const NodePtr& condition : conditions) {
        const bool comparison = condition->kind == Node::Kind::Function && condition->arguments.size() == 2;
        NodePtr left = comparison ? condition->arguments[0] : nullptr;
        NodePtr right = comparison ? condition->arguments[1] : nullptr;
        bool across = false, mirrored = false;
        if (comparison) {
            const Side left_side = sideOf(left, *join.right), right_side = sideOf(right, *join.right);
            mirrored = left_side == kRight && right_side == kLeft;
            across = mirrored || (left_side == kLeft && right_side == kRight);
            if (mirrored) std::swap(left, right);
        }
        const bool equal = across && condition->function_name == "equals";
        const bool same = across && condition->function_name == "isNotDistinctFrom";
        const auto nearest = across ? nearestOf(condition->function_name, mirrored) : std::nullopt;
        if (equal || same) {
            join.keys.push_back({left, right, same});
        } else if (nearest && join.strictness == JoinStep::Strictness::Asof) {
            if (join.asof)
                throw Error(ErrorCode::INVALID_JOIN_ON_EXPRESSION,
                            "ASOF JOIN expects exactly one inequality in ON section");
            join.asof = JoinNode::Asof{left, right, *nearest};
        } else if (!isAlwaysTrue(condition)) {
            rest.push_back(condition);
        }
    }
    if (rest.size() == 1) join.condition = rest[0];
    if (rest.size() > 1) join.condition = makeFunction("and", rest);
}

/// The column of one source, as it is there.
NodePtr Binder::columnOf(const TableSourcePtr& source, const std::string& name, Scope& scope) {
    const auto found = findInSource(source, {name}, 0, scope);
    return found ? found->node : nullptr;
}

NodePtr Binder::castNode(NodePtr node, const TypePtr& type) {
    if (sameType(node->type, type)) return node;
    return makeFunction("_CAST", {std::move(node), bindLiteral(sql::Literal{type->name()}).node});
}

void Binder::bindUsing(const std::vector<std::string>& names, JoinNode& join, Scope& scope) {
    QueryNode& query = *scope.query;
    std::vector<NodePtr> equalities;
    for (const std::string& name : names) {
        NodePtr left;
        if (const auto known = scope.using_columns.find(name); known != scope.using_columns.end())
            left = known->second;
        for (size_t i = 0; i + 1 < query.sources.size() && !left; ++i)
            left = columnOf(query.sources[i], name, scope);
        const NodePtr right = columnOf(join.right, name, scope);
        if (!left || !right)
            throw Error(ErrorCode::UNKNOWN_IDENTIFIER,
                        "Identifier '{}' in JOIN USING clause is not found in the {} table", name,
                        left ? "right" : "left");
        if (join.strictness == JoinStep::Strictness::Asof && name == names.back())
            join.asof = JoinNode::Asof{left, right, JoinStep::Nearest::GreaterOrEqual};
        else
            join.keys.push_back({left, right, false});
        equalities.push_back(makeFunction(join.asof ? "greaterOrEquals" : "equals", {left, right}));
    }
    join.on = equalities.size() == 1 ? equalities[0] : makeFunction("and", equalities);
}

/// join_use_nulls: columns of a side that may have no row are Nullable from here on.
void Binder::makeSidesNullable(Scope& scope) {
    QueryNode& query = *scope.query;
    if (!query.settings->join_use_nulls) return;
    const JoinNode& join = query.joins.back();
    const bool semi = join.strictness == JoinStep::Strictness::Semi;
    const bool right = !semi && (join.kind == JoinNode::Kind::Left || join.kind == JoinNode::Kind::Full);
    const bool left = !semi && (join.kind == JoinNode::Kind::Right || join.kind == JoinNode::Kind::Full);
    for (size_t i = 0; i < query.sources.size(); ++i) {
        const bool last = i + 1 == query.sources.size();
        if (!(last ? right : left)) continue;
        auto nullable = std::make_shared<TableSource>(*query.sources[i]);
        for (auto& [name, type] : nullable->columns)
            if (removeLowCardinality(type)->canBeInsideNullable()) type = makeNullable(type);
        query.sources[i] = nullable;
    }
}

/// From here on the name alone is the column of both sides, of their common type.
void Binder::showUsingColumns(const std::vector<std::string>& names, Scope& scope) {
    QueryNode& query = *scope.query;
    const JoinNode& join = query.joins.back();
    for (const std::string& name : names) {
        NodePtr left;
        if (const auto known = scope.using_columns.find(name); known != scope.using_columns.end())
            left = known->second;
        TableSourcePtr left_source;
        for (size_t i = 0; i + 1 < query.sources.size() && !left; ++i) {
            left = columnOf(query.sources[i], name, scope);
            left_source = query.sources[i];
        }
        const NodePtr right = columnOf(query.sources.back(), name, scope);
        const TypePtr type = functions::leastSupertype(left->type, right->type);
        const NodePtr left_cast = castNode(left, type), right_cast = castNode(right, type);
        if (left_source) scope.shown_columns[{left_source->id, name}] = left_cast;
        scope.shown_columns[{query.sources.back()->id, name}] = right_cast;
        NodePtr both = join.kind == JoinNode::Kind::Right ? right_cast : left_cast;
        if (join.kind == JoinNode::Kind::Full) {
            // Whichever side has the row: a side without one holds NULL or the type's default.
            if (isNullableOrLowCardinalityNullable(type)) {
                both = makeFunction("ifNull", {left_cast, right_cast});
            } else {
                const NodePtr nothing =
                    makeFunction("defaultValueOfTypeName", {bindLiteral(sql::Literal{type->name()}).node});
                both =
                    makeFunction("if", {makeFunction("equals", {left_cast, nothing}), right_cast, left_cast});
            }
        }
        scope.using_columns[name] = both;
        scope.using_order.push_back(name);
    }
}

std::optional<Bound> Binder::findUnqualified(const std::vector<std::string>& parts,
                                             Scope& scope,
                                             bool throw_ambiguous) {
    if (const auto shared = scope.using_columns.find(parts[0]); shared != scope.using_columns.end())
        return subcolumn({shared->second, parts[0]}, parts, 1, scope);
    std::optional<Bound> found;
    for (const TableSourcePtr& source : scope.query->sources) {
        std::optional<Bound> here = findInSource(source, parts, 0, scope);
        if (here && found) {
            // Of two tables the left one is meant; among more a name must be one table's alone.
            if (scope.query->sources.size() == 2 && scope.query->settings->single_join_prefer_left_table)
                return found;
            if (!throw_ambiguous) return std::nullopt;
            throw Error(ErrorCode::AMBIGUOUS_IDENTIFIER, "JOIN ambiguous identifier '{}'", parts[0]);
        }
        if (here) found = std::move(here);
    }
    return found;
}

/// The name of a source's column: alone where that finds the same column, else under the table's name.
std::string Binder::nameInJoin(const TableSource& source,
                               const NodePtr& node,
                               const std::vector<std::string>& parts,
                               Scope& scope) {
    std::string name;
    for (const std::string& part : parts) name += (name.empty() ? "" : ".") + part;
    if (scope.query->sources.size() == 1) return name;
    const auto alone = findUnqualified(parts, scope, false);
    if (alone && alone->node->name == node->name) return name;
    const std::string& table = !source.alias.empty() ? source.alias : source.table;
    return table.empty() ? name : table + "." + name;
}

}  // namespace shardd::plan
