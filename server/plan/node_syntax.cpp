#include "server/plan/node_syntax.h"

#include <algorithm>
#include <array>

#include "common/columns/create_column.h"
#include "server/formats/value_text.h"
#include "server/plan/node_name.h"
#include "server/sql/parser.h"

namespace shardd::plan {

namespace {

using sql::Literal;

/// Functions that are written as operators.
bool isOperator(const std::string& name, size_t arguments) {
    static constexpr std::array<std::string_view, 27> kBinary = {"and",
                                                                 "or",
                                                                 "plus",
                                                                 "minus",
                                                                 "multiply",
                                                                 "divide",
                                                                 "modulo",
                                                                 "equals",
                                                                 "notEquals",
                                                                 "less",
                                                                 "greater",
                                                                 "lessOrEquals",
                                                                 "greaterOrEquals",
                                                                 "like",
                                                                 "ilike",
                                                                 "notLike",
                                                                 "notILike",
                                                                 "in",
                                                                 "notIn",
                                                                 "globalIn",
                                                                 "globalNotIn",
                                                                 "arrayElement",
                                                                 "tupleElement",
                                                                 "isDistinctFrom",
                                                                 "isNotDistinctFrom",
                                                                 "tuple",
                                                                 "array"};
    static constexpr std::array<std::string_view, 4> kUnary = {"not", "negate", "isNull", "isNotNull"};
    if (name == "array") return true;
    if (arguments == 1) return std::find(kUnary.begin(), kUnary.end(), name) != kUnary.end();
    return arguments > 1 && std::find(kBinary.begin(), kBinary.end(), name) != kBinary.end();
}

sql::ExpressionPtr makeLiteral(Literal literal) {
    return std::make_shared<sql::LiteralExpression>(std::move(literal));
}

sql::ExpressionPtr makeCall(std::string name, sql::Expressions arguments) {
    const size_t count = arguments.size();
    auto call = std::make_shared<sql::Function>(std::move(name), std::move(arguments));
    call->is_operator = isOperator(call->name, count);
    return call;
}

/// A value as the literal that a cast to its type reads: numbers as they are, dates, enums and the like as
/// text.
Literal literalOf(
    const Type& type, const TypePtr& shared_type, const Column& column, size_t row, const Value& value) {
    if (value.isNull()) return {Literal::Null{}};
    const auto asText = [&] { return Literal{formats::textOf(column, row, shared_type)}; };
    switch (type.kind()) {
        case TypeKind::Bool:
            return {value.to<bool>()};
        case TypeKind::String:
        case TypeKind::FixedString:
            return {value.get<std::string>()};
        case TypeKind::BFloat16:
        case TypeKind::Float32:
        case TypeKind::Float64:
            return {value.to<double>()};
        case TypeKind::Interval:
            break;
        default:
            if (!type.isInteger()) return asText();
    }
    switch (value.kind()) {
        case Value::Kind::UInt64:
            return {value.get<uint64_t>()};
        case Value::Kind::Int64:
            if (value.get<int64_t>() >= 0) return {static_cast<uint64_t>(value.get<int64_t>())};
            return {value.get<int64_t>()};
        default:
            return asText();  // wider than any literal
    }
}

/// Of composite types, element by element.
Literal compositeLiteral(const TypePtr& type, const Value& value) {
    if (value.isNull()) return {Literal::Null{}};
    switch (type->kind()) {
        case TypeKind::Nullable:
        case TypeKind::LowCardinality:
            return compositeLiteral(type->child(), value);
        case TypeKind::Array: {
            Literal::Array array;
            for (const Value& each : value.elements())
                array.items.push_back(compositeLiteral(type->child(), each));
            return {std::move(array)};
        }
        case TypeKind::Tuple: {
            Literal::Tuple tuple;
            for (size_t i = 0; i < value.elements().size(); ++i)
                tuple.items.push_back(compositeLiteral(type->child(i), value.elements()[i]));
            return {std::move(tuple)};
        }
        case TypeKind::Map: {  // [('a', 1)]: what a cast to Map reads
            Literal::Array array;
            for (const Value& pair : value.elements()) {
                Literal::Tuple tuple;
                for (size_t i = 0; i < 2; ++i)
                    tuple.items.push_back(compositeLiteral(type->child(i), pair.elements()[i]));
                array.items.push_back({std::move(tuple)});
            }
            return {std::move(array)};
        }
        default: {
            MutableColumnPtr one = createColumn(*type);
            one->insert(value);
            return literalOf(*type, type, *one, 0, value);
        }
    }
}

/// A tuple of one element has no literal of its own: the cast of one goes through tuple(x).
bool holdsTupleOfOne(const Literal& literal) {
    if (const auto* tuple = literal.as<Literal::Tuple>()) {
        if (tuple->items.size() < 2) return true;
        return std::any_of(tuple->items.begin(), tuple->items.end(), holdsTupleOfOne);
    }
    if (const auto* array = literal.as<Literal::Array>())
        return std::any_of(array->items.begin(), array->items.end(), holdsTupleOfOne);
    return false;
}

sql::ExpressionPtr literalSyntax(Literal literal) {
    if (!holdsTupleOfOne(literal)) return makeLiteral(std::move(literal));
    const bool tuple = literal.is<Literal::Tuple>();
    auto& items =
        tuple ? std::get<Literal::Tuple>(literal.value).items : std::get<Literal::Array>(literal.value).items;
    sql::Expressions arguments;
    for (Literal& item : items) arguments.push_back(literalSyntax(std::move(item)));
    return makeCall(tuple ? "tuple" : "array", std::move(arguments));
}

bool isLegacy(const SyntaxOptions& options) { return options.dialect == SyntaxOptions::Dialect::Legacy; }

sql::ExpressionPtr castTo(sql::ExpressionPtr value, const std::string& type, const SyntaxOptions& options) {
    return makeCall(isLegacy(options) ? "CAST" : "_CAST", {std::move(value), makeLiteral({type})});
}

class SyntaxMaker {
public:
    explicit SyntaxMaker(const SyntaxOptions& options) : options_(options) {}

    sql::ExpressionPtr expression(const Node& node) const;
    std::shared_ptr<sql::Select> select(const QueryNode& query) const;
    sql::QueryPtr query(const QueryTree& tree) const;

private:
    bool old() const { return options_.dialect == SyntaxOptions::Dialect::Old; }

    sql::ExpressionPtr column(const Node& node) const;
    sql::ExpressionPtr call(const Node& node) const;
    sql::ExpressionPtr inCall(const Node& node) const;
    sql::ExpressionPtr set(const Node& node) const;

    sql::ExpressionPtr optional(const NodePtr& node) const { return node ? expression(*node) : nullptr; }

    sql::Expressions list(const std::vector<NodePtr>& nodes) const;
    std::shared_ptr<sql::WindowDefinition> window(const Node::WindowInfo& info) const;
    sql::FrameBound bound(const WindowStep::Bound& bound) const;
    sql::OrderElement orderElement(const OrderItem& item) const;
    sql::ExpressionPtr rowCount(const NodePtr& node) const;
    void from(const QueryNode& query, sql::Select& select) const;
    sql::TableExpression table(const TableSource& source) const;
    sql::Join join(const JoinNode& node) const;
    void groupBy(const QueryNode& query, sql::Select& select) const;
    void projection(const QueryNode& query, sql::Select& select) const;

    const SyntaxOptions& options_;
};

sql::Expressions SyntaxMaker::list(const std::vector<NodePtr>& nodes) const {
    sql::Expressions expressions;
    for (const NodePtr& node : nodes) expressions.push_back(expression(*node));
    return expressions;
}

sql::ExpressionPtr SyntaxMaker::column(const Node& node) const {
    std::vector<std::string> parts;
    if (node.kind == Node::Kind::Column && node.source && !node.source->id.empty() && !old())
        parts.push_back(node.source->id);
    parts.push_back(node.column);
    return std::make_shared<sql::Identifier>(std::move(parts));
}

sql::ExpressionPtr SyntaxMaker::expression(const Node& node) const {
    switch (node.kind) {
        case Node::Kind::ArrayJoinColumn:
            if (!node.arguments.empty()) return makeCall("arrayJoin", {expression(*node.arguments[0])});
            return column(node);
        case Node::Kind::Column:
        case Node::Kind::Parameter:
            return column(node);
        case Node::Kind::Constant:
            return constantSyntax(node, options_);
        case Node::Kind::Set:
            return set(node);
        case Node::Kind::Lambda: {
            auto lambda = std::make_shared<sql::Lambda>();
            lambda->arguments = node.lambda_parameters;
            lambda->body = expression(*node.arguments[0]);
            return lambda;
        }
        case Node::Kind::Function:
        case Node::Kind::Aggregate:
        case Node::Kind::Window:
        case Node::Kind::Grouping:
            return call(node);
    }
    throw Error(ErrorCode::LOGICAL_ERROR, "A node has no syntax");
}

sql::ExpressionPtr SyntaxMaker::call(const Node& node) const {
    if (node.arguments.size() == 2 && node.arguments[1]->kind == Node::Kind::Set) return inCall(node);
    std::string name = node.function_name;
    if (node.kind == Node::Kind::Grouping) name = "grouping";
    if (node.kind == Node::Kind::Aggregate && options_.states) name += "State";
    auto expression_of = std::static_pointer_cast<sql::Function>(makeCall(name, list(node.arguments)));
    for (const NodePtr& parameter : node.parameter_nodes)
        expression_of->parameters.push_back(
            isLegacy(options_) ? literalSyntax(compositeLiteral(parameter->type, parameter->constant->value(0)))
                               : expression(*parameter));
    expression_of->has_parameters = !expression_of->parameters.empty();
    if (expression_of->has_parameters || node.kind != Node::Kind::Function)
        expression_of->is_operator = false;
    // The second argument of tupleElement(t, 'a') is a name, which is no operator.
    if (name == "tupleElement" && node.arguments[1]->type->isString()) expression_of->is_operator = false;
    if (node.window) {
        expression_of->is_window = true;
        expression_of->window = window(*node.window);
    }
    return expression_of;
}

sql::ExpressionPtr SyntaxMaker::inCall(const Node& node) const {
    std::string name = node.function_name;
    // A set that was sent is global, however the query was written.
    if (options_.sent_sets.contains(node.arguments[1]->name) && !name.starts_with("global"))
        name = name.starts_with("not") ? "globalNot" + name.substr(3) : "globalIn";
    return makeCall(name, {expression(*node.arguments[0]), expression(*node.arguments[1])});
}

sql::ExpressionPtr SyntaxMaker::set(const Node& node) const {
    const auto sent = options_.sent_sets.find(node.name);
    if (sent != options_.sent_sets.end())
        return std::make_shared<sql::Identifier>(std::vector<std::string>{sent->second});
    if (node.subquery) {
        auto subquery = std::make_shared<sql::Subquery>();
        subquery->query = query(*node.subquery);
        return subquery;
    }
    sql::Expressions elements;
    Literal::Tuple literals;
    bool plain = true;
    const auto shorter = options_.lists.find(&node);
    for (const NodePtr& element : shorter == options_.lists.end() ? node.set_elements : shorter->second) {
        elements.push_back(expression(*element));
        const auto* literal = sql::as<sql::LiteralExpression>(elements.back().get());
        // Elements of a list are compared as values, so a tuple may lose its cast.
        if (!literal && element->kind == Node::Kind::Constant && element->type->kind() == TypeKind::Tuple) {
            Literal composite = compositeLiteral(element->type, element->constant->value(0));
            if (!holdsTupleOfOne(composite)) {
                elements.back() = makeLiteral(std::move(composite));
                literal = static_cast<const sql::LiteralExpression*>(elements.back().get());
            }
        }
        plain = plain && literal;
        if (plain) literals.items.push_back(literal->value);
    }
    if (elements.size() == 1) {
        // ((1, 'a')) is a list of one tuple.
        if (plain && !literals.items[0].is<Literal::Tuple>() && !literals.items[0].is<Literal::Array>())
            return elements[0];
        return makeCall("tuple", std::move(elements));
    }
    return plain && !elements.empty() ? makeLiteral({std::move(literals)})
                                      : makeCall("tuple", std::move(elements));
}

// ------------------------------------------------------------------------------------- windows

sql::FrameBound SyntaxMaker::bound(const WindowStep::Bound& bound) const {
    sql::FrameBound syntax;
    syntax.preceding = bound.preceding;
    switch (bound.kind) {
        case WindowStep::Bound::Kind::Unbounded:
            syntax.kind = sql::FrameBound::Kind::Unbounded;
            break;
        case WindowStep::Bound::Kind::Current:
            syntax.kind = sql::FrameBound::Kind::CurrentRow;
            syntax.preceding = false;
            break;
        case WindowStep::Bound::Kind::Offset: {
            syntax.kind = sql::FrameBound::Kind::Offset;
            const TypePtr type = literalType(bound.offset);
            syntax.offset = literalSyntax(compositeLiteral(type, bound.offset));
            break;
        }
    }
    return syntax;
}

std::shared_ptr<sql::WindowDefinition> SyntaxMaker::window(const Node::WindowInfo& info) const {
    auto syntax = std::make_shared<sql::WindowDefinition>();
    syntax->partition_by = list(info.partition_by);
    for (const auto& each : info.order_by) {
        sql::OrderElement element;
        element.expression = expression(*each.node);
        element.descending = each.descending;
        if (each.nulls_written) element.nulls_first = (each.nulls_direction < 0) != each.descending;
        syntax->order_by.push_back(std::move(element));
    }
    if (!info.frame_written) return syntax;
    using Frame = sql::WindowDefinition::Frame;
    syntax->frame = info.frame == WindowStep::Frame::Rows
                        ? Frame::Rows
                        : (info.frame == WindowStep::Frame::Range ? Frame::Range : Frame::Groups);
    syntax->begin = bound(info.begin);
    syntax->end = bound(info.end);
    return syntax;
}

// -------------------------------------------------------------------------------------- SELECT

sql::OrderElement SyntaxMaker::orderElement(const OrderItem& item) const {
    sql::OrderElement element;
    element.expression = expression(*item.node);
    element.descending = item.descending;
    if (item.nulls_written) element.nulls_first = item.nulls_first;
    element.collation = item.collation;
    element.with_fill = item.with_fill;
    element.fill_from = optional(item.fill_from);
    element.fill_to = optional(item.fill_to);
    element.fill_step = optional(item.fill_step);
    element.fill_staleness = optional(item.fill_staleness);
    return element;
}

/// Whole numbers go as UInt64 or Int64, whatever their literal was.
sql::ExpressionPtr SyntaxMaker::rowCount(const NodePtr& node) const {
    if (!node) return nullptr;
    const Value value = node->constant->value(0);
    Literal literal = compositeLiteral(literalType(value), value);
    if (old() || isLegacy(options_)) return makeLiteral(std::move(literal));
    if (literal.is<uint64_t>()) return castTo(makeLiteral(std::move(literal)), "UInt64", options_);
    if (literal.is<int64_t>()) return castTo(makeLiteral(std::move(literal)), "Int64", options_);
    return expression(*node);
}

sql::TableExpression SyntaxMaker::table(const TableSource& source) const {
    sql::TableExpression syntax;
    const bool renamed = &source == options_.read || (options_.all_local && source.kind == TableSource::Kind::Table);
    const auto* distributed = renamed && source.storage ? source.storage->distributed() : nullptr;
    const std::string& function = distributed ? distributed->remoteTableFunction() : source.function_text;
    const auto sent = options_.sent_sets.find(source.id);
    if (sent != options_.sent_sets.end()) {
        syntax.table.table = sent->second;
    } else if (source.kind == TableSource::Kind::Subquery) {
        syntax.subquery = query(*source.subquery);
    } else if (!function.empty()) {
        // Parsed as in FROM, so that view(SELECT …) is understood.
        const auto parsed = sql::parseQuery("SELECT 1 FROM " + function, {.max_query_size = 0});
        syntax = parsed->select->from[0].table;
    } else {
        syntax.table.database = distributed ? distributed->remoteDatabase() : source.database;
        syntax.table.table = distributed ? distributed->remoteTable() : source.table;
    }
    if (!old()) syntax.alias = source.id;
    syntax.final = source.final;
    if (!source.sample_text.empty()) {
        const auto parsed =
            sql::parseQuery("SELECT 1 FROM t SAMPLE " + source.sample_text, {.max_query_size = 0});
        syntax.sample_size = parsed->select->from[0].table.sample_size;
        syntax.sample_offset = parsed->select->from[0].table.sample_offset;
    }
    return syntax;
}

sql::Join SyntaxMaker::join(const JoinNode& node) const {
    sql::Join syntax;
    using Kind = sql::Join::Kind;
    using Strictness = sql::Join::Strictness;
    if (node.global) syntax.locality = sql::Join::Locality::Global;
    if (node.cross) {
        syntax.kind = Kind::Cross;
        return syntax;
    }
    static constexpr Kind kKinds[] = {Kind::Inner, Kind::Left, Kind::Right, Kind::Full};
    static constexpr Strictness kStrictness[] = {Strictness::All, Strictness::Any, Strictness::Semi, Strictness::Anti, Strictness::Asof};
    syntax.kind = kKinds[static_cast<size_t>(node.kind)];
    syntax.strictness = kStrictness[static_cast<size_t>(node.strictness)];
    syntax.on = expression(*node.on);
    return syntax;
}

void SyntaxMaker::from(const QueryNode& query, sql::Select& select) const {
    for (const TableSourcePtr& source : query.sources) {
        if (source->kind == TableSource::Kind::None) continue;
        sql::TableElement element;
        element.table = table(*source);
        const size_t position = select.from.size();
        if (position > 0 && position <= query.joins.size()) element.join = join(query.joins[position - 1]);
        select.from.push_back(std::move(element));
    }
    for (const ArrayJoinElement& each : query.array_join) {
        const bool begins = &each == &query.array_join.front() || (&each - 1)->clause != each.clause;
        if (begins) {
            sql::TableElement element;
            element.is_array_join = true;
            element.is_left_array_join = each.left;
            select.from.push_back(std::move(element));
        }
        sql::ExpressionPtr array = expression(*each.array);
        array->alias = old() ? each.alias : each.column->column;
        select.from.back().array_join.push_back(std::move(array));
    }
}

void SyntaxMaker::groupBy(const QueryNode& query, sql::Select& select) const {
    select.has_group_by = query.has_group_by;
    select.rollup = query.rollup;
    select.cube = query.cube;
    select.totals = query.totals;
    if (query.grouping_sets.empty()) {
        select.group_by = list(query.group_by.empty() ? query.constant_keys : query.group_by);
        return;
    }
    select.group_by_grouping_sets = true;
    for (const auto& set : query.grouping_sets) {
        sql::Expressions keys;
        for (size_t position : set) keys.push_back(expression(*query.group_by[position]));
        select.grouping_sets.push_back(std::move(keys));
    }
}

void SyntaxMaker::projection(const QueryNode& query, sql::Select& select) const {
    for (const Projection& each : query.projection) {
        sql::ExpressionPtr column_of = expression(*each.node);
        const bool implied = old() && each.node->old_name == each.alias;
        if (!implied) column_of->alias = each.alias;
        select.select.push_back(std::move(column_of));
    }
}

std::shared_ptr<sql::Select> SyntaxMaker::select(const QueryNode& query) const {
    auto syntax = std::make_shared<sql::Select>();
    syntax->distinct = query.distinct;
    projection(query, *syntax);
    from(query, *syntax);
    syntax->prewhere = optional(query.prewhere);
    syntax->where = optional(query.where);
    groupBy(query, *syntax);
    syntax->having = optional(query.having);
    syntax->qualify = optional(query.qualify);
    for (const OrderItem& item : query.order_by) syntax->order_by.push_back(orderElement(item));
    syntax->has_interpolate = query.has_interpolate;
    for (const auto& [column_name, node] : query.interpolate)
        syntax->interpolate.push_back({column_name, expression(*node)});
    syntax->limit_by_length = rowCount(query.limit_by_limit);
    syntax->limit_by_offset = rowCount(query.limit_by_offset);
    syntax->limit_by = list(query.limit_by);
    syntax->limit = rowCount(query.limit);
    syntax->offset = rowCount(query.offset);
    syntax->limit_with_ties = query.limit_with_ties;
    return syntax;
}

sql::QueryPtr SyntaxMaker::query(const QueryTree& tree) const {
    auto syntax = std::make_shared<sql::Query>();
    if (tree.operation == SetOperation::Select) {
        syntax->select = select(*tree.select);
        return syntax;
    }
    using sql::SetOperator;
    static constexpr SetOperator kOperators[] = {SetOperator::UnionAll,          SetOperator::UnionAll,
                                                 SetOperator::UnionDistinct,     SetOperator::IntersectAll,
                                                 SetOperator::IntersectDistinct, SetOperator::ExceptAll,
                                                 SetOperator::ExceptDistinct};
    for (const QueryTreePtr& operand : tree.operands) {
        if (!syntax->operands.empty())
            syntax->operators.push_back(kOperators[static_cast<size_t>(tree.operation)]);
        syntax->operands.push_back(query(*operand));
    }
    return syntax;
}

}  // namespace

sql::ExpressionPtr constantSyntax(const Node& node, const SyntaxOptions& options) {
    // A value that belongs to one server is computed again on the other.
    if (node.unfolded && node.unfolded->function && node.unfolded->function->traits().server_constant)
        return expressionSyntax(*node.unfolded, options);
    const bool old = options.dialect == SyntaxOptions::Dialect::Old;
    if (old && node.unfolded) return expressionSyntax(*node.unfolded, options);
    const TypePtr plain = removeNullable(removeLowCardinality(node.type));
    // Such a server knows no Bool: a number is true or false.
    if (isLegacy(options) && plain->kind() == TypeKind::Bool && !node.constant->value(0).isNull())
        return makeLiteral({static_cast<uint64_t>(node.constant->value(0).to<bool>())});
    sql::ExpressionPtr literal = literalSyntax(compositeLiteral(node.type, node.constant->value(0)));
    if (old) return literal;
    const bool composite = plain->kind() == TypeKind::Array || plain->kind() == TypeKind::Tuple ||
                           plain->kind() == TypeKind::Map;
    // Also where names leave the cast away: the type of [1, 2] is said, as ClickHouse says it.
    if (!composite && !needsCast(node)) return literal;
    return castTo(std::move(literal), node.type->name(), options);
}

sql::ExpressionPtr expressionSyntax(const Node& node, const SyntaxOptions& options) {
    return SyntaxMaker(options).expression(node);
}

std::shared_ptr<sql::Select> selectSyntax(const QueryNode& query, const SyntaxOptions& options) {
    return SyntaxMaker(options).select(query);
}

sql::QueryPtr querySyntax(const QueryTree& tree, const SyntaxOptions& options) {
    return SyntaxMaker(options).query(tree);
}

}  // namespace shardd::plan
