#include <algorithm>

#include "common/columns/create_column.h"
#include "common/base/stack_guard.h"
#include "server/plan/binder_impl.h"
#include "server/plan/node_name.h"
#include "server/plan/query_tree_walk.h"
#include "server/sql/printer.h"

namespace shardd::plan {

namespace {

/// What a literal's number is when it may be a position.
std::optional<int64_t> wholeNumber(const sql::Expression& expression) {
    const auto* literal = sql::as<sql::LiteralExpression>(&expression);
    if (!literal) return std::nullopt;
    if (const auto* number = literal->value.as<uint64_t>()) return static_cast<int64_t>(std::min<uint64_t>(*number, INT64_MAX));
    if (const auto* number = literal->value.as<int64_t>()) return *number;
    return std::nullopt;
}

}  // namespace

void Binder::collectAliases(const sql::ExpressionPtr& expression, Scope& scope) {
    if (!expression) return;
    checkStack();
    if (!expression->alias.empty()) {
        const auto [entry, added] = scope.aliases.try_emplace(expression->alias, expression);
        if (!added && !sql::equals(entry->second, expression))
            throw Error(ErrorCode::MULTIPLE_EXPRESSIONS_FOR_ALIAS,
                        "Multiple expressions {} and {} for alias {}",
                        sql::toText(*expression),
                        sql::toText(*entry->second),
                        expression->alias);
    }
    if (const auto* call = sql::as<sql::Function>(expression.get()))
        for (const sql::ExpressionPtr& argument : call->arguments) collectAliases(argument, scope);
    if (const auto* lambda = sql::as<sql::Lambda>(expression.get())) collectAliases(lambda->body, scope);
}

void Binder::collectAliases(const sql::Select& select, Scope& scope) {
    for (const sql::ExpressionPtr& expression : select.select) collectAliases(expression, scope);
    for (const sql::ExpressionPtr& expression : select.distinct_on) collectAliases(expression, scope);
    for (const sql::TableElement& element : select.from)
        for (const sql::ExpressionPtr& expression : element.array_join)
            if (const auto* call = sql::as<sql::Function>(expression.get()))
                for (const sql::ExpressionPtr& argument : call->arguments) collectAliases(argument, scope);
    for (const sql::ExpressionPtr& expression : {select.prewhere, select.where, select.having, select.qualify}) collectAliases(expression, scope);
    for (const sql::ExpressionPtr& expression : select.group_by) collectAliases(expression, scope);
    for (const sql::Expressions& set : select.grouping_sets)
        for (const sql::ExpressionPtr& expression : set) collectAliases(expression, scope);
    for (const sql::OrderElement& element : select.order_by) collectAliases(element.expression, scope);
    for (const sql::ExpressionPtr& expression : select.limit_by) collectAliases(expression, scope);
}

Bound Binder::bindClause(const sql::ExpressionPtr& expression, Scope& scope, const char* no_aggregates_in) {
    const char* outer = std::exchange(scope.no_aggregates_in, no_aggregates_in);
    Bound bound = bind(expression, scope);
    scope.no_aggregates_in = outer;
    if (no_aggregates_in) {
        walk(bound.node, [&](const NodePtr& node) {
            if (node->kind == Node::Kind::Aggregate)
                throw Error(ErrorCode::ILLEGAL_AGGREGATION, "Aggregate function {} is found in {} in query", node->old_name, no_aggregates_in);
            if (node->kind == Node::Kind::Window)
                throw Error(ErrorCode::ILLEGAL_AGGREGATION, "Window function {} is found in {} in query", node->old_name, no_aggregates_in);
            return node->has_aggregate || node->has_window;
        });
    }
    return bound;
}

void Binder::bindProjection(const sql::Select& select, Scope& scope) {
    QueryNode& query = *scope.query;
    query.distinct = select.distinct && select.distinct_on.empty();
    for (const sql::ExpressionPtr& expression : select.select) {
        std::vector<Projection> columns;
        const auto* call = sql::as<sql::Function>(expression.get());
        if (expression->kind == sql::Expression::Kind::Asterisk || expression->kind == sql::Expression::Kind::Columns) {
            columns = expandMatcher(*expression, scope);
        } else if (call && call->name == "untuple") {
            columns = expandUntuple(*call, scope);
        } else {
            Bound bound = bind(expression, scope);
            columns.push_back({std::move(bound.node), expression->alias.empty() ? std::move(bound.name) : expression->alias});
        }
        std::move(columns.begin(), columns.end(), std::back_inserter(query.projection));
    }
}

std::optional<NodePtr> Binder::positional(const sql::ExpressionPtr& expression, Scope& scope, const char* /*clause*/) {
    if (context_.secondary || !scope.query->settings->enable_positional_arguments) return std::nullopt;
    const std::optional<int64_t> position = wholeNumber(*expression);
    if (!position) return std::nullopt;
    const auto count = static_cast<int64_t>(scope.query->projection.size());
    const int64_t index = *position < 0 ? count + *position : *position - 1;
    if (*position == 0 || index < 0 || index >= count)
        throw Error(ErrorCode::BAD_ARGUMENTS, "Positional argument number {} is out of bounds. Expected in range [1, {}]", *position, count);
    return scope.query->projection[static_cast<size_t>(index)].node;
}

void Binder::addGroupKeyNode(const NodePtr& node, QueryNode& query, std::vector<size_t>* set) {
    if (node->has_aggregate)
        walk(node, [&](const NodePtr& inner) {
            if (inner->kind == Node::Kind::Aggregate)
                throw Error(ErrorCode::ILLEGAL_AGGREGATION, "Aggregate function {} is found in GROUP BY in query", inner->old_name);
            return true;
        });
    // A tuple as a key is its elements: (k, s) groups by k and s.
    if (node->kind == Node::Kind::Function && node->function_name == "tuple" && !node->arguments.empty()) {
        for (const NodePtr& element : node->arguments) addGroupKeyNode(element, query, set);
        return;
    }
    if (node->type->kind() == TypeKind::AggregateFunction)
        throw Error(ErrorCode::DATA_TYPE_CANNOT_BE_USED_IN_KEY, "Type {} cannot be used in GROUP BY", node->type->name());
    if (node->kind == Node::Kind::Constant && !set) {
        query.constant_keys.push_back(node);
        return;
    }
    auto found = std::find_if(query.group_by.begin(), query.group_by.end(), [&](const NodePtr& key) { return key->name == node->name; });
    const auto index = static_cast<size_t>(found - query.group_by.begin());
    if (found == query.group_by.end()) query.group_by.push_back(node);
    if (set && std::find(set->begin(), set->end(), index) == set->end()) set->push_back(index);
}

void Binder::addGroupKey(const sql::ExpressionPtr& expression, Scope& scope, std::vector<size_t>* set) {
    if (const auto position = positional(expression, scope, "GROUP BY")) {
        addGroupKeyNode(*position, *scope.query, set);
        return;
    }
    addGroupKeyNode(bindClause(expression, scope, "GROUP BY").node, *scope.query, set);
}

void Binder::collectKeysOfAll(const NodePtr& node, QueryNode& query) {
    if (node->kind == Node::Kind::Constant || node->kind == Node::Kind::Aggregate) return;
    if (!node->has_aggregate) {
        addGroupKeyNode(node, query, nullptr);
        return;
    }
    for (const NodePtr& argument : node->arguments) collectKeysOfAll(argument, query);
}

void Binder::bindGroupBy(const sql::Select& select, Scope& scope) {
    QueryNode& query = *scope.query;
    query.rollup = select.rollup;
    query.cube = select.cube;
    query.totals = select.totals;
    query.has_group_by = select.has_group_by;
    if (select.group_by_all) {
        for (const Projection& projection : query.projection) collectKeysOfAll(projection.node, query);
        query.has_group_by = !query.group_by.empty();
        return;
    }
    if (select.group_by_grouping_sets) {
        for (const sql::Expressions& set : select.grouping_sets) {
            query.grouping_sets.emplace_back();
            for (const sql::ExpressionPtr& key : set) addGroupKey(key, scope, &query.grouping_sets.back());
        }
        return;
    }
    for (const sql::ExpressionPtr& key : select.group_by) addGroupKey(key, scope, nullptr);
}

OrderItem Binder::bindOrderElement(const sql::OrderElement& element, Scope& scope) {
    if (element.expression && element.expression->kind == sql::Expression::Kind::Asterisk)
        throw Error(ErrorCode::NOT_IMPLEMENTED, "Matcher * is not supported in ORDER BY");
    OrderItem item;
    const auto position = positional(element.expression, scope, "ORDER BY");
    item.node = position ? *position : bindClause(element.expression, scope, nullptr).node;
    item.descending = element.descending;
    item.nulls_written = element.nulls_first.has_value();
    item.nulls_first = element.nulls_first.value_or(false);
    item.collation = element.collation;
    item.with_fill = element.with_fill;
    if (!item.collation.empty()) throw Error(ErrorCode::NOT_IMPLEMENTED, "COLLATE is not supported");
    if (element.fill_from) item.fill_from = bindClause(element.fill_from, scope, "WITH FILL").node;
    if (element.fill_to) item.fill_to = bindClause(element.fill_to, scope, "WITH FILL").node;
    if (element.fill_step) item.fill_step = bindClause(element.fill_step, scope, "WITH FILL").node;
    if (element.fill_staleness) item.fill_staleness = bindClause(element.fill_staleness, scope, "WITH FILL").node;
    return item;
}

NodePtr Binder::withNullableKeys(const NodePtr& node, const QueryNode& query) {
    if (!node) return node;
    if (containsName(query.group_by, node->name)) {
        auto key = std::make_shared<Node>(*node);
        key->type = makeNullable(node->type);
        return key;
    }
    if (node->kind != Node::Kind::Function) return node;
    std::vector<NodePtr> arguments;
    bool changed = false;
    for (const NodePtr& argument : node->arguments) {
        arguments.push_back(withNullableKeys(argument, query));
        changed = changed || arguments.back() != argument;
    }
    return changed ? makeFunction(node->function_name, std::move(arguments)) : node;
}

/// group_by_use_nulls: behind ROLLUP, CUBE and GROUPING SETS keys may be NULL, so everything over them is Nullable.
void Binder::makeKeysNullable(QueryNode& query) {
    for (Projection& projection : query.projection) projection.node = withNullableKeys(projection.node, query);
    query.having = withNullableKeys(query.having, query);
    query.qualify = withNullableKeys(query.qualify, query);
    for (OrderItem& item : query.order_by) item.node = withNullableKeys(item.node, query);
    for (NodePtr& node : query.limit_by) node = withNullableKeys(node, query);
}

/// `SETTINGS limit = x, offset = y` are a LIMIT over the outermost query, and travel in its text.
void Binder::foldLimitSettings(QueryNode& query) {
    const uint64_t limit = query.settings->limit;
    const uint64_t offset = query.settings->offset;
    if (limit == 0 && offset == 0) return;
    const auto number = [&](const NodePtr& node) { return node ? node->constant->value(0).to<uint64_t>() : 0; };
    const auto constant = [&](uint64_t value) {
        auto node = std::make_shared<Node>();
        node->type = types::uint64();
        node->constant = full(createConstColumn(*node->type, Value(value), 1));
        return finishNode(std::move(node));
    };
    if (query.limit) {
        const uint64_t written = number(query.limit);
        const uint64_t left = written > offset ? written - offset : 0;
        query.limit = constant(limit == 0 ? left : std::min(left, limit));
    } else if (limit > 0) {
        query.limit = constant(limit);
    }
    if (offset > 0 || query.offset) query.offset = constant(number(query.offset) + offset);
    query.settings.reset("limit");
    query.settings.reset("offset");
}

void Binder::bindOrderBy(const sql::Select& select, Scope& scope) {
    QueryNode& query = *scope.query;
    if (select.order_by_all) {
        for (const Projection& projection : query.projection) {
            OrderItem item;
            item.node = projection.node;
            item.descending = select.order_by[0].descending;
            item.nulls_written = select.order_by[0].nulls_first.has_value();
            item.nulls_first = select.order_by[0].nulls_first.value_or(false);
            query.order_by.push_back(std::move(item));
        }
    } else {
        for (const sql::OrderElement& element : select.order_by) query.order_by.push_back(bindOrderElement(element, scope));
    }
    query.has_interpolate = select.has_interpolate;
    for (const sql::InterpolateElement& element : select.interpolate)
        query.interpolate.emplace_back(element.column, element.expression ? bindClause(element.expression, scope, "INTERPOLATE").node : nullptr);
}

NodePtr Binder::bindLimit(const sql::ExpressionPtr& expression, Scope& scope, const char* clause) {
    NodePtr node;
    try {
        node = bindClause(expression, scope, clause).node;
    } catch (const Error& error) {
        if (!error.is(ErrorCode::UNKNOWN_IDENTIFIER)) throw;
    }
    if (!node || node->kind != Node::Kind::Constant || !removeNullable(node->type)->isNumber())
        throw Error(ErrorCode::INVALID_LIMIT_EXPRESSION,
                    "{} expression must be constant with numeric type. Actual: {}",
                    clause,
                    sql::toText(*expression));
    return node;
}

void Binder::bindLimits(const sql::Select& select, Scope& scope) {
    QueryNode& query = *scope.query;
    if (!select.distinct_on.empty()) {
        for (const sql::ExpressionPtr& expression : select.distinct_on)
            query.limit_by.push_back(bindClause(expression, scope, nullptr).node);
        auto one = std::make_shared<Node>();
        one->type = types::uint64();
        one->constant = full(createConstColumn(*one->type, Value(uint64_t{1}), 1));
        query.limit_by_limit = finishNode(std::move(one));
    }
    if (select.limit_by_length) {
        query.limit_by_limit = bindLimit(select.limit_by_length, scope, "LIMIT");
        if (select.limit_by_offset) query.limit_by_offset = bindLimit(select.limit_by_offset, scope, "OFFSET");
        if (select.limit_by_all)
            for (const Projection& projection : query.projection)
                if (!projection.node->has_aggregate) query.limit_by.push_back(projection.node);
        for (const sql::ExpressionPtr& expression : select.limit_by) {
            const auto position = positional(expression, scope, "LIMIT BY");
            query.limit_by.push_back(position ? *position : bindClause(expression, scope, nullptr).node);
        }
    }
    if (select.limit) query.limit = bindLimit(select.limit, scope, "LIMIT");
    if (select.offset) query.offset = bindLimit(select.offset, scope, "OFFSET");
    query.limit_with_ties = select.limit_with_ties;
}

void Binder::checkAggregation(const QueryNode& query) {
    if (!query.aggregated()) return;
    const auto check = [&](const NodePtr& root) {
        walk(root, [&](const NodePtr& node) {
            if (containsName(query.group_by, node->name)) return false;
            if (node->kind == Node::Kind::Aggregate) return false;
            if (node->kind == Node::Kind::Grouping) {
                for (const NodePtr& argument : node->arguments)
                    if (!containsName(query.group_by, argument->name))
                        throw Error(ErrorCode::BAD_ARGUMENTS, "Argument of GROUPING function {} is not a part of GROUP BY clause", argument->old_name);
                return false;
            }
            if (node->kind == Node::Kind::Column || (node->kind == Node::Kind::ArrayJoinColumn && !node->has_array_join)) {
                const TableSource* source = node->source.get();
                const std::string qualified = source && !source->table.empty()   ? source->database + "." + source->table + "." + node->column
                                              : source && !source->alias.empty() ? source->alias + "." + node->column
                                                                                 : node->old_name;
                throw Error(ErrorCode::NOT_AN_AGGREGATE, "Column '{}' is not under aggregate function and not in GROUP BY keys", qualified);
            }
            return true;
        });
    };
    for (const Projection& projection : query.projection) check(projection.node);
    check(query.having);
    check(query.qualify);
    for (const OrderItem& item : query.order_by) check(item.node);
    for (const NodePtr& node : query.limit_by) check(node);
}

}  // namespace shardd::plan
