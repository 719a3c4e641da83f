#include <algorithm>

#include "server/sql/ast.h"
#include "server/sql/printer.h"

namespace shardd::sql {

namespace {

bool same(const OrderElement& left, const OrderElement& right);
bool same(const std::shared_ptr<WindowDefinition>& left, const std::shared_ptr<WindowDefinition>& right);
bool same(const ColumnTransformer& left, const ColumnTransformer& right);
bool same(const TableElement& left, const TableElement& right);
bool same(const WithElement& left, const WithElement& right);
bool same(const InterpolateElement& left, const InterpolateElement& right);
bool same(const Expressions& left, const Expressions& right);

bool sameList(const Expressions& left, const Expressions& right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](const auto& a, const auto& b) { return equals(a, b); });
}

bool same(const FrameBound& left, const FrameBound& right) {
    return left.kind == right.kind && left.preceding == right.preceding && equals(left.offset, right.offset);
}

bool same(const OrderElement& left, const OrderElement& right) {
    return equals(left.expression, right.expression) && left.descending == right.descending &&
           left.nulls_first == right.nulls_first && left.collation == right.collation &&
           left.with_fill == right.with_fill && equals(left.fill_from, right.fill_from) &&
           equals(left.fill_to, right.fill_to) && equals(left.fill_step, right.fill_step) &&
           equals(left.fill_staleness, right.fill_staleness);
}

template <typename Element>
bool sameAll(const std::vector<Element>& left, const std::vector<Element>& right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](const auto& a, const auto& b) { return same(a, b); });
}

bool same(const WindowDefinition& left, const WindowDefinition& right) {
    return left.name == right.name && left.parent == right.parent && left.frame == right.frame &&
           sameList(left.partition_by, right.partition_by) && sameAll(left.order_by, right.order_by) &&
           same(left.begin, right.begin) && same(left.end, right.end);
}

bool same(const std::shared_ptr<WindowDefinition>& left, const std::shared_ptr<WindowDefinition>& right) {
    return left && right ? same(*left, *right) : left == right;
}

bool same(const ColumnTransformer& left, const ColumnTransformer& right) {
    return left.kind == right.kind && left.strict == right.strict && left.names == right.names &&
           left.pattern == right.pattern && left.function == right.function &&
           sameList(left.replacements, right.replacements) && sameList(left.parameters, right.parameters) &&
           equals(left.lambda.get(), right.lambda.get());
}

bool sameQuery(const QueryPtr& left, const QueryPtr& right) {
    return left && right ? equals(*left, *right) : left == right;
}

bool same(const TableExpression& left, const TableExpression& right) {
    return left.table == right.table && equals(left.function.get(), right.function.get()) &&
           sameQuery(left.subquery, right.subquery) && equals(left.parameter.get(), right.parameter.get()) &&
           left.alias == right.alias && left.column_aliases == right.column_aliases &&
           left.final == right.final && equals(left.sample_size, right.sample_size) &&
           equals(left.sample_offset, right.sample_offset);
}

bool same(const TableElement& left, const TableElement& right) {
    if (left.join.has_value() != right.join.has_value() || left.is_array_join != right.is_array_join ||
        left.is_left_array_join != right.is_left_array_join || !sameList(left.array_join, right.array_join) ||
        !same(left.table, right.table))
        return false;
    if (!left.join) return true;
    return left.join->kind == right.join->kind && left.join->strictness == right.join->strictness &&
           left.join->natural == right.join->natural && left.join->locality == right.join->locality &&
           equals(left.join->on, right.join->on) &&
           sameList(left.join->using_columns, right.join->using_columns);
}

bool same(const WithElement& left, const WithElement& right) {
    return left.name == right.name && left.column_aliases == right.column_aliases &&
           left.materialized == right.materialized && sameQuery(left.query, right.query) &&
           equals(left.expression, right.expression);
}

bool same(const InterpolateElement& left, const InterpolateElement& right) {
    return left.column == right.column && equals(left.expression, right.expression);
}

bool same(const Expressions& left, const Expressions& right) { return sameList(left, right); }

bool sameFunction(const Function& left, const Function& right) {
    return left.name == right.name && left.nulls == right.nulls && left.is_window == right.is_window &&
           left.window_name == right.window_name && same(left.window, right.window) &&
           sameList(left.parameters, right.parameters) && sameList(left.arguments, right.arguments);
}

}  // namespace

bool equals(const Expression* left, const Expression* right) {
    if (left == right) return true;
    if (!left || !right || left->kind != right->kind || left->alias != right->alias) return false;
    switch (left->kind) {
        case Expression::Kind::Literal:
            return as<LiteralExpression>(left)->value == as<LiteralExpression>(right)->value;
        case Expression::Kind::Identifier:
            return as<Identifier>(left)->parts == as<Identifier>(right)->parts;
        case Expression::Kind::Function:
            return sameFunction(*as<Function>(left), *as<Function>(right));
        case Expression::Kind::Lambda:
            return as<Lambda>(left)->arguments == as<Lambda>(right)->arguments &&
                   equals(as<Lambda>(left)->body, as<Lambda>(right)->body);
        case Expression::Kind::Asterisk:
            return as<Asterisk>(left)->qualifier == as<Asterisk>(right)->qualifier &&
                   sameAll(as<Asterisk>(left)->transformers, as<Asterisk>(right)->transformers);
        case Expression::Kind::Columns:
            return as<Columns>(left)->qualifier == as<Columns>(right)->qualifier &&
                   as<Columns>(left)->pattern == as<Columns>(right)->pattern &&
                   sameList(as<Columns>(left)->list, as<Columns>(right)->list) &&
                   sameAll(as<Columns>(left)->transformers, as<Columns>(right)->transformers);
        case Expression::Kind::Subquery:
            return equals(*as<Subquery>(left)->query, *as<Subquery>(right)->query);
        case Expression::Kind::Parameter:
            return as<Parameter>(left)->name == as<Parameter>(right)->name &&
                   as<Parameter>(left)->type == as<Parameter>(right)->type;
    }
    return false;
}

bool equals(const Query& left, const Query& right) {
    if (static_cast<bool>(left.select) != static_cast<bool>(right.select)) return false;
    if (left.select) return equals(*left.select, *right.select);
    return left.operators == right.operators &&
           std::equal(left.operands.begin(), left.operands.end(), right.operands.begin(),
                      right.operands.end(), [](const auto& a, const auto& b) { return equals(*a, *b); });
}

bool equals(const Select& left, const Select& right) {
    const bool flags =
        left.with_recursive == right.with_recursive && left.distinct == right.distinct &&
        left.has_group_by == right.has_group_by && left.group_by_all == right.group_by_all &&
        left.group_by_grouping_sets == right.group_by_grouping_sets && left.rollup == right.rollup &&
        left.cube == right.cube && left.totals == right.totals && left.order_by_all == right.order_by_all &&
        left.has_interpolate == right.has_interpolate && left.limit_by_all == right.limit_by_all &&
        left.limit_with_ties == right.limit_with_ties;
    return flags && sameAll(left.with, right.with) && sameList(left.distinct_on, right.distinct_on) &&
           sameList(left.select, right.select) && sameAll(left.from, right.from) &&
           equals(left.prewhere, right.prewhere) && equals(left.where, right.where) &&
           sameList(left.group_by, right.group_by) && sameAll(left.grouping_sets, right.grouping_sets) &&
           equals(left.having, right.having) && sameAll(left.windows, right.windows) &&
           equals(left.qualify, right.qualify) && sameAll(left.order_by, right.order_by) &&
           sameAll(left.interpolate, right.interpolate) &&
           equals(left.limit_by_length, right.limit_by_length) &&
           equals(left.limit_by_offset, right.limit_by_offset) && sameList(left.limit_by, right.limit_by) &&
           equals(left.limit, right.limit) && equals(left.offset, right.offset) &&
           left.settings == right.settings;
}

bool equals(const Statement& left, const Statement& right) {
    if (left.kind != right.kind) return false;
    const auto* left_query = as<QueryStatement>(&left);
    const auto* right_query = as<QueryStatement>(&right);
    if (left_query && !equals(*left_query->query, *right_query->query)) return false;
    // The text names everything a statement holds, so it decides for the others.
    const PrintOptions options{.multi_line = false, .quoting = PrintOptions::Quoting::Always};
    return toText(left, options) == toText(right, options);
}

}  // namespace shardd::sql
