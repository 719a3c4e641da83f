#include <algorithm>
#include <unordered_set>

#include "common/columns/const_column.h"
#include "common/columns/create_column.h"
#include "server/aggregates/aggregate.h"
#include "server/plan/binder_impl.h"
#include "server/plan/node_name.h"
#include "server/plan/planner.h"
#include "server/sql/printer.h"

namespace shardd::plan {

namespace {

/// Constants in, and still computed when the query runs.
bool neverFolded(const std::string& name) {
    static const std::unordered_set<std::string> names = {"materialize", "sleep", "sleepEachRow", "ignore"};
    return names.contains(name);
}

const std::unordered_set<std::string>& pureWindowFunctions() {
    static const std::unordered_set<std::string> names = {"row_number", "rank", "dense_rank", "denseRank", "percent_rank", "percentRank", "cume_dist", "ntile", "lag",
                                                          "lead", "lagInFrame", "leadInFrame", "nth_value"};
    return names;
}

bool isIn(const std::string& name) {
    static const std::unordered_set<std::string> names = {"in", "notIn", "globalIn", "globalNotIn", "nullIn", "notNullIn", "globalNullIn", "globalNotNullIn"};
    return names.contains(name);
}

NamedColumn argumentOf(const NodePtr& node) {
    NamedColumn argument{node->old_name, node->type, nullptr};
    if (node->kind == Node::Kind::Constant)
        argument.column = std::make_shared<ConstColumn>(node->constant, 1);
    else if (node->kind == Node::Kind::Lambda)
        argument.column = std::make_shared<functions::LambdaColumn>(0, node->lambda_types, node->arguments[0]->type, nullptr);
    return argument;
}

std::string joinBoundNames(const std::vector<Bound>& bounds) {
    std::string result;
    for (const Bound& bound : bounds) result += (result.empty() ? "" : ", ") + bound.name;
    return result;
}

/// `[1, v]`, `(1, v)` (also of array(1, v) and tuple(1, v)), or f(a, b): what a call is called.
std::string callName(const sql::Function& call, const std::vector<Bound>& arguments, const std::vector<Bound>& parameters) {
    const std::string list = joinBoundNames(arguments);
    if (call.name == "array") return "[" + list + "]";
    if (call.name == "tuple") return "(" + list + ")";
    std::string result = call.name;
    if (call.has_parameters) result += "(" + joinBoundNames(parameters) + ")";
    return result + "(" + list + ")";
}

}  // namespace

NodePtr Binder::makeFunction(const std::string& name, std::vector<NodePtr> arguments) {
    std::vector<NamedColumn> described;
    bool all_constant = true;
    for (const NodePtr& argument : arguments) {
        described.push_back(argumentOf(argument));
        all_constant = all_constant && argument->kind == Node::Kind::Constant;
    }
    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::Function;
    node->function = functions::resolveFunction(name, described, context_.functions);
    node->function_name = node->function->name();
    node->type = node->function->resultType();
    node->arguments = std::move(arguments);
    const NodePtr call = finishNode(node);

    const functions::Traits& traits = node->function->traits();
    if (!all_constant || neverFolded(node->function_name) || !traits.deterministic_in_query || traits.server_constant) return call;
    const ColumnPtr result = full(node->function->execute(described, 1));
    if (result->kind() == ColumnKind::Other) return call;
    auto constant = std::make_shared<Node>();
    constant->kind = Node::Kind::Constant;
    constant->type = node->type;
    constant->constant = result;
    constant->folded = true;
    constant->unfolded = call;
    return finishNode(std::move(constant));
}

const sql::Lambda* Binder::lambdaAlias(const std::string& name, const Scope& scope) const {
    for (const Scope* at = &scope; at; at = at->parent)
        if (const auto alias = at->aliases.find(name); alias != at->aliases.end()) return sql::as<sql::Lambda>(alias->second.get());
    return nullptr;
}

Bound Binder::callLambda(const sql::Lambda& lambda, const sql::Function& call, Scope& scope) {
    if (call.arguments.size() != lambda.arguments.size())
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "Lambda {} expects {} arguments, {} given", call.name, lambda.arguments.size(), call.arguments.size());
    std::vector<Bound> arguments;
    for (const sql::ExpressionPtr& argument : call.arguments) arguments.push_back(bind(argument, scope));
    const size_t outer = scope.parameters.size();
    for (size_t i = 0; i < arguments.size(); ++i) scope.parameters.emplace_back(lambda.arguments[i], arguments[i].node);
    Bound body = bind(lambda.body, scope);
    scope.parameters.resize(outer);
    return {std::move(body.node), callName(call, arguments, {})};
}

Bound Binder::bindFunction(const sql::Function& call, Scope& scope) {
    if (const sql::Lambda* lambda = lambdaAlias(call.name, scope)) return callLambda(*lambda, call, scope);
    if (isIn(call.name)) return bindIn(call, scope);
    if (call.name == "arrayJoin") return bindArrayJoinFunction(call, scope);
    if (call.name == "grouping") return bindGrouping(call, scope);
    if (call.name == "exists") return bindExists(call, scope);
    if (call.name == "untuple") throw Error(ErrorCode::UNSUPPORTED_METHOD, "Function 'untuple' may only stand alone in the SELECT list");
    if (call.is_window) return bindWindow(call, scope);
    if (call.name == "countDistinct" || aggregates::isAggregateFunction(call.name)) return bindAggregate(call, scope, false);
    if (pureWindowFunctions().contains(call.name))
        throw Error(ErrorCode::BAD_ARGUMENTS, "Window function '{}' can be called only with OVER clause", call.name);
    return bindOrdinary(call, scope);
}

Bound Binder::bindOrdinary(const sql::Function& call, Scope& scope) {
    std::vector<Bound> arguments(call.arguments.size());
    std::vector<NamedColumn> described(call.arguments.size());
    bool lambdas = false;
    const auto lambdaOf = [&](const sql::ExpressionPtr& argument) -> const sql::Lambda* {
        if (const auto* lambda = sql::as<sql::Lambda>(argument.get())) return lambda;
        const auto* name = sql::as<sql::Identifier>(argument.get());
        return name && name->parts.size() == 1 ? lambdaAlias(name->parts[0], scope) : nullptr;
    };
    // What stands beside a lambda says the types of its parameters.
    for (size_t i = 0; i < call.arguments.size(); ++i) {
        if (lambdaOf(call.arguments[i])) {
            lambdas = true;
            described[i].type = types::simple(TypeKind::Lambda);
            continue;
        }
        arguments[i] = bind(call.arguments[i], scope);
        described[i] = argumentOf(arguments[i].node);
    }
    if (lambdas) {
        const functions::FunctionPtr function = functions::findFunction(call.name, context_.functions);
        for (size_t i = 0; i < call.arguments.size(); ++i) {
            const sql::Lambda* lambda = lambdaOf(call.arguments[i]);
            if (!lambda) continue;
            arguments[i] = bindLambda(*lambda, function->lambdaParameterTypes(described, i, lambda->arguments.size()), scope);
            if (const auto* name = sql::as<sql::Identifier>(call.arguments[i].get())) arguments[i].name = name->parts[0];
        }
    }
    std::vector<NodePtr> nodes;
    for (const Bound& argument : arguments) nodes.push_back(argument.node);
    return {makeFunction(call.name, std::move(nodes)), callName(call, arguments, {})};
}

Bound Binder::bindLambda(const sql::Lambda& lambda, const std::vector<TypePtr>& parameter_types, Scope& scope) {
    if (parameter_types.size() != lambda.arguments.size())
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "Lambda has {} parameters, {} are needed here", lambda.arguments.size(), parameter_types.size());
    const size_t outer = scope.parameters.size();
    for (size_t i = 0; i < parameter_types.size(); ++i) {
        auto parameter = std::make_shared<Node>();
        parameter->kind = Node::Kind::Parameter;
        parameter->type = parameter_types[i];
        parameter->column = lambda.arguments[i];
        scope.parameters.emplace_back(lambda.arguments[i], finishNode(std::move(parameter)));
    }
    Bound body = bind(lambda.body, scope);
    scope.parameters.resize(outer);

    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::Lambda;
    node->type = types::simple(TypeKind::Lambda);
    node->lambda_parameters = lambda.arguments;
    node->lambda_types = parameter_types;
    node->arguments = {body.node};
    std::string parameters;
    for (const std::string& name : lambda.arguments) parameters += (parameters.empty() ? "" : ", ") + name;
    return {finishNode(std::move(node)), "lambda(tuple(" + parameters + "), " + body.name + ")"};
}

std::vector<Value> Binder::parameterValues(const std::vector<NodePtr>& nodes, const std::string& function) {
    std::vector<Value> values;
    for (const NodePtr& node : nodes) {
        if (node->kind != Node::Kind::Constant)
            throw Error(ErrorCode::BAD_ARGUMENTS, "Parameter {} of function '{}' is not a constant", node->old_name, function);
        values.push_back(node->constant->value(0));
    }
    return values;
}

Bound Binder::bindAggregate(const sql::Function& call, Scope& scope, bool window) {
    if (scope.no_aggregates_in && !window)
        throw Error(ErrorCode::ILLEGAL_AGGREGATION, "Aggregate function {} is found in {} in query", sql::toText(call), scope.no_aggregates_in);
    if (scope.inside_aggregate)
        throw Error(ErrorCode::ILLEGAL_AGGREGATION, "Aggregate function {} is found inside another aggregate function in query", sql::toText(call));
    std::vector<Bound> parameters;
    for (const sql::ExpressionPtr& parameter : call.parameters) parameters.push_back(bind(parameter, scope));
    std::vector<Bound> arguments;
    scope.inside_aggregate = !window;
    try {
        for (const sql::ExpressionPtr& argument : call.arguments) {
            const bool star = argument->kind == sql::Expression::Kind::Asterisk;
            if (!star) {
                arguments.push_back(bind(argument, scope));
            } else if (!call.name.starts_with("count") && !call.name.starts_with("COUNT")) {
                for (Projection& projection : expandMatcher(*argument, scope)) arguments.push_back({projection.node, projection.alias});
            }
        }
    } catch (...) {
        scope.inside_aggregate = false;
        throw;
    }
    scope.inside_aggregate = false;
    for (const Bound& argument : arguments)
        if (argument.node->has_aggregate && !window)
            throw Error(ErrorCode::ILLEGAL_AGGREGATION, "Aggregate function {} is found inside another aggregate function in query", sql::toText(call));

    auto node = std::make_shared<Node>();
    node->kind = window ? Node::Kind::Window : Node::Kind::Aggregate;
    std::string name = call.name == "countDistinct" ? scope.query->settings.get("count_distinct_implementation") : call.name;
    if (call.nulls == sql::Function::Nulls::Respect) name += "_respect_nulls";
    const auto hasSuffix = [&](const char* suffix) { return name.ends_with(suffix); };
    if (scope.query->settings->aggregate_functions_null_for_empty && !window && !hasSuffix("OrNull") && !hasSuffix("OrDefault") && !hasSuffix("State") &&
        !hasSuffix("Merge") && aggregates::canonicalAggregateName(name) != "count" && !name.starts_with("uniq") && !name.starts_with("group"))
        name += "OrNull";
    node->function_name = aggregates::canonicalAggregateName(name);
    // count(1) is count(): only NULLs matter to it.
    const bool constant_count = node->function_name == "count" && arguments.size() == 1 && arguments[0].node->kind == Node::Kind::Constant &&
                                !arguments[0].node->constant->isNullAt(0);
    std::vector<TypePtr> argument_types;
    for (const Bound& argument : arguments) {
        if (constant_count) break;
        node->arguments.push_back(argument.node);
        argument_types.push_back(argument.node->type);
    }
    for (const Bound& parameter : parameters) node->parameter_nodes.push_back(parameter.node);
    node->parameters = parameterValues(node->parameter_nodes, call.name);
    node->aggregate = aggregates::resolveAggregateFunction(name, node->parameters, argument_types);
    node->type = node->aggregate->resultType();
    std::string text = callName(call, arguments, parameters);
    return {finishNode(std::move(node)), std::move(text)};
}

namespace {

std::string boundText(const WindowStep::Bound& bound) {
    if (bound.kind == WindowStep::Bound::Kind::Current) return "CURRENT ROW";
    const std::string amount =
        bound.kind == WindowStep::Bound::Kind::Unbounded ? "UNBOUNDED" : constantText(*literalType(bound.offset), bound.offset);
    return amount + (bound.preceding ? " PRECEDING" : " FOLLOWING");
}

std::string frameText(const Node::WindowInfo& info) {
    const char* unit = info.frame == WindowStep::Frame::Rows ? "ROWS" : info.frame == WindowStep::Frame::Groups ? "GROUPS" : "RANGE";
    return std::string(unit) + " BETWEEN " + boundText(info.begin) + " AND " + boundText(info.end);
}

/// A frame must start before it ends.
void checkFrame(const Node::WindowInfo& info) {
    using Kind = WindowStep::Bound::Kind;
    const auto fail = [](const std::string& text) { throw Error(ErrorCode::BAD_ARGUMENTS, "{}", text); };
    if (info.frame == WindowStep::Frame::Groups) throw Error(ErrorCode::NOT_IMPLEMENTED, "Window frame 'GROUPS' is not implemented");
    if (info.begin.kind == Kind::Unbounded && !info.begin.preceding) fail("Frame start cannot be UNBOUNDED FOLLOWING");
    if (info.end.kind == Kind::Unbounded && info.end.preceding) fail("Frame end cannot be UNBOUNDED PRECEDING");
    if (info.begin.kind == Kind::Unbounded || info.end.kind == Kind::Unbounded) return;
    const auto side = [](const WindowStep::Bound& bound) { return bound.kind == Kind::Current ? 0 : bound.preceding ? -1 : 1; };
    if (side(info.begin) > side(info.end)) fail("Window frame '" + frameText(info) + "' is invalid");
    if (side(info.begin) != side(info.end) || side(info.begin) == 0) return;
    const double begin = info.begin.offset.to<double>();
    const double end = info.end.offset.to<double>();
    if (info.begin.preceding ? begin < end : begin > end)
        fail("Frame start offset " + boundText(info.begin) + " does not precede the frame end offset " + boundText(info.end));
}

}  // namespace

void Binder::fillWindow(const sql::WindowDefinition& definition, Node::WindowInfo& info, Scope& scope) {
    if (!definition.parent.empty()) {
        const sql::WindowDefinition* parent = nullptr;
        for (const auto& window : scope.select->windows)
            if (window->name == definition.parent) parent = window.get();
        if (!parent) throw Error(ErrorCode::BAD_ARGUMENTS, "Window '{}' does not exist", definition.parent);
        fillWindow(*parent, info, scope);
    }
    for (const sql::ExpressionPtr& expression : definition.partition_by) info.partition_by.push_back(bind(expression, scope).node);
    for (const sql::OrderElement& element : definition.order_by) {
        Node::WindowInfo::Order order;
        order.node = bind(element.expression, scope).node;
        order.descending = element.descending;
        order.nulls_written = element.nulls_first.has_value();
        const bool nulls_first = element.nulls_first.value_or(false);
        order.nulls_direction = nulls_first == order.descending ? 1 : -1;
        info.order_by.push_back(std::move(order));
    }
    if (definition.frame == sql::WindowDefinition::Frame::Default) return;
    info.frame_written = true;
    info.frame = definition.frame == sql::WindowDefinition::Frame::Rows     ? WindowStep::Frame::Rows
                 : definition.frame == sql::WindowDefinition::Frame::Groups ? WindowStep::Frame::Groups
                                                                            : WindowStep::Frame::Range;
    const auto bound = [&](const sql::FrameBound& written) {
        WindowStep::Bound result;
        result.preceding = written.preceding;
        result.kind = written.kind == sql::FrameBound::Kind::Unbounded    ? WindowStep::Bound::Kind::Unbounded
                      : written.kind == sql::FrameBound::Kind::CurrentRow ? WindowStep::Bound::Kind::Current
                                                                          : WindowStep::Bound::Kind::Offset;
        if (written.offset) {
            const NodePtr offset = bind(written.offset, scope).node;
            if (offset->kind != Node::Kind::Constant || !offset->type->isNumber())
                throw Error(ErrorCode::BAD_ARGUMENTS, "Window frame offset must be a constant number, {} given", offset->old_name);
            result.offset = offset->constant->value(0);
        }
        return result;
    };
    info.begin = bound(definition.begin);
    info.end = bound(definition.end);
    checkFrame(info);
}

std::shared_ptr<const Node::WindowInfo> Binder::bindWindowDefinition(const sql::Function& call, Scope& scope) {
    auto info = std::make_shared<Node::WindowInfo>();
    info->begin = {WindowStep::Bound::Kind::Unbounded, true, {}};
    info->end = {WindowStep::Bound::Kind::Current, false, {}};
    if (call.window) {
        fillWindow(*call.window, *info, scope);
    } else {
        sql::WindowDefinition reference;
        reference.parent = call.window_name;
        fillWindow(reference, *info, scope);
    }
    const auto add = [&](const std::string& text) { info->key += (info->key.empty() ? "" : " ") + text; };
    for (size_t i = 0; i < info->partition_by.size(); ++i) add((i == 0 ? "PARTITION BY " : ", ") + info->partition_by[i]->name);
    for (size_t i = 0; i < info->order_by.size(); ++i)
        add((i == 0 ? "ORDER BY " : ", ") + info->order_by[i].node->name + (info->order_by[i].descending ? " DESC" : " ASC") +
            (info->order_by[i].nulls_direction == 1 ? "" : " NULLS FIRST"));
    if (info->frame_written) {
        add(frameText(*info));
    }
    return info;
}

Bound Binder::bindWindow(const sql::Function& call, Scope& scope) {
    if (scope.no_aggregates_in)
        throw Error(ErrorCode::ILLEGAL_AGGREGATION, "Window function {} is found in {} in query", sql::toText(call), scope.no_aggregates_in);
    const std::shared_ptr<const Node::WindowInfo> window = bindWindowDefinition(call, scope);
    const std::string over = sql::toText(call);
    const size_t at = over.rfind(" OVER ");
    const std::string suffix = at == std::string::npos ? "" : over.substr(at);
    if (!pureWindowFunctions().contains(call.name)) {
        Bound bound = bindAggregate(call, scope, true);
        auto node = std::make_shared<Node>(*bound.node);
        node->window = window;
        return {finishNode(std::move(node)), bound.name + suffix};
    }
    std::vector<Bound> arguments;
    for (const sql::ExpressionPtr& argument : call.arguments) arguments.push_back(bind(argument, scope));
    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::Window;
    node->function_name = call.name;
    node->window = window;
    if ((call.name == "rank" || call.name == "dense_rank" || call.name == "denseRank") && !arguments.empty())
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Number of arguments for window function {} doesn't match: passed {}, should be 0",
                    call.name,
                    arguments.size());
    if (call.name == "ntile" && arguments.size() != 1)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "Function ntile takes exactly one argument");
    for (const Bound& argument : arguments) node->arguments.push_back(argument.node);
    if (call.name == "percent_rank" || call.name == "percentRank" || call.name == "cume_dist") {
        node->type = types::float64();
    } else if (call.name == "lag" || call.name == "lead" || call.name == "lagInFrame" || call.name == "leadInFrame" || call.name == "nth_value") {
        if (arguments.empty()) throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "Function {} needs arguments", call.name);
        node->type = arguments[0].node->type;
    } else {
        node->type = types::uint64();
    }
    std::string name = callName(call, arguments, {}) + suffix;
    return {finishNode(std::move(node)), std::move(name)};
}

Bound Binder::bindArrayJoinFunction(const sql::Function& call, Scope& scope) {
    if (call.arguments.size() != 1)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "arrayJoin requires exactly 1 argument, {} given", call.arguments.size());
    const Bound array = bind(call.arguments[0], scope);
    TypePtr type = removeLowCardinality(array.node->type);
    if (type->isNullable()) type = type->child();
    if (type->kind() != TypeKind::Array && type->kind() != TypeKind::Map)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Argument for function arrayJoin must be Array or Map");
    if (type->kind() == TypeKind::Array && type->child()->kind() == TypeKind::Nothing)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Argument for function arrayJoin must not be Array(Nothing)");
    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::ArrayJoinColumn;
    node->type = type->kind() == TypeKind::Array ? type->child() : types::tuple(type->children(), {"keys", "values"});
    node->column = "arrayJoin(" + array.node->name + ")";
    node->function_name = "arrayJoin";
    node->arguments = {array.node};
    return {finishNode(std::move(node)), "arrayJoin(" + array.name + ")"};
}

Bound Binder::bindGrouping(const sql::Function& call, Scope& scope) {
    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::Grouping;
    node->type = types::uint64();
    node->function_name = "grouping";
    std::vector<Bound> arguments;
    for (const sql::ExpressionPtr& argument : call.arguments) {
        arguments.push_back(bind(argument, scope));
        node->arguments.push_back(arguments.back().node);
    }
    if (arguments.empty()) throw Error(ErrorCode::TOO_FEW_ARGUMENTS_FOR_FUNCTION, "Function GROUPING expects at least one argument");
    return {finishNode(std::move(node)), callName(call, arguments, {})};
}

Bound Binder::bindExists(const sql::Function& call, Scope& scope) {
    const auto* subquery = call.arguments.size() == 1 ? sql::as<sql::Subquery>(call.arguments[0].get()) : nullptr;
    if (!subquery) return bindOrdinary(call, scope);
    const QueryTreePtr tree = bindQuery(*subquery->query, &scope, scope.query->settings);
    bool found = false;
    if (context_.run) found = context_.run(planQuery(tree, context_, 1).root).rows > 0;
    Bound bound = bindLiteral(sql::Literal{uint64_t{found ? 1u : 0u}});
    return bound;
}

}  // namespace shardd::plan
