#include "server/plan/node_name.h"

#include <algorithm>

#include "common/base/error.h"
#include "common/types/literal_type.h"
#include "server/sql/literal.h"

namespace shardd::plan {

namespace {

std::string decimalText(const Type& type, const Value& value) {
    Int256 unscaled = value.to<Int256>();
    const bool minus = unscaled.negative();
    std::string digits = toText(minus ? -unscaled : unscaled);
    if (digits.size() <= type.scale()) digits.insert(0, type.scale() + 1 - digits.size(), '0');
    if (type.scale() > 0) digits.insert(digits.size() - type.scale(), ".");
    return (minus ? "-" : "") + digits;
}

std::string uuidText(const Value& value) {
    const UInt128 bits = value.to<UInt128>();
    const auto high = static_cast<uint64_t>(bits);
    const auto low = static_cast<uint64_t>(bits >> 64);
    return fmt::format("'{:08x}-{:04x}-{:04x}-{:04x}-{:012x}'", high >> 32, (high >> 16) & 0xffff, high & 0xffff, low >> 48, low & 0xffffffffffffULL);
}

std::string joinElements(const Type& type, const std::vector<Value>& elements) {
    std::string result;
    for (size_t i = 0; i < elements.size(); ++i) {
        if (i > 0) result += ", ";
        const bool each = type.kind() == TypeKind::Tuple;
        result += constantText(*type.child(each ? i : 0), elements[i]);
    }
    return result;
}

std::string mapText(const Type& type, const Value& value) {
    std::string result;
    for (const Value& pair : value.elements()) {
        if (!result.empty()) result += ", ";
        result += "(" + constantText(*type.child(0), pair.elements()[0]) + ", " + constantText(*type.child(1), pair.elements()[1]) + ")";
    }
    return "[" + result + "]";
}

std::string joinNames(const std::vector<NodePtr>& nodes, std::string Node::*which) {
    std::string result;
    for (const NodePtr& node : nodes) {
        if (!result.empty()) result += ", ";
        result += (*node).*which;
    }
    return result;
}

std::string constantName(const Node& node) {
    const std::string plain = constantText(*node.type, node.constant->value(0)) + "_" + node.type->name();
    return needsCast(node) ? "_CAST(" + plain + ", " + quoteString(node.type->name()) + "_String)" : plain;
}

std::string callName(const Node& node, std::string Node::*which) {
    std::string result = node.function_name;
    if (!node.parameter_nodes.empty()) result += "(" + joinNames(node.parameter_nodes, which) + ")";
    result += "(" + joinNames(node.arguments, which) + ")";
    if (node.window) result += " OVER (" + node.window->key + ")";
    return result;
}

std::string lambdaName(const Node& node, std::string Node::*which) {
    std::string parameters;
    for (const std::string& parameter : node.lambda_parameters) parameters += (parameters.empty() ? "" : ", ") + parameter;
    return "lambda(tuple(" + parameters + "), " + (*node.arguments[0]).*which + ")";
}

}  // namespace

std::string constantText(const Type& type, const Value& value) {
    if (value.isNull()) return "NULL";
    switch (type.kind()) {
        case TypeKind::Nullable:
        case TypeKind::LowCardinality:
            return constantText(*type.child(), value);
        case TypeKind::Bool:
            return value.to<bool>() ? "true" : "false";
        case TypeKind::Array:
            return "[" + joinElements(type, value.elements()) + "]";
        case TypeKind::Tuple:
            return (value.elements().size() == 1 ? "tuple(" : "(") + joinElements(type, value.elements()) + ")";
        case TypeKind::Map:
            return mapText(type, value);
        case TypeKind::UUID:
            return uuidText(value);
        default:
            break;
    }
    if (type.isDecimal()) return decimalText(type, value);
    switch (value.kind()) {
        case Value::Kind::Bool:
            return value.get<bool>() ? "true" : "false";
        case Value::Kind::UInt64:
            return std::to_string(value.get<uint64_t>());
        case Value::Kind::Int64:
            return std::to_string(value.get<int64_t>());
        case Value::Kind::UInt128:
            return toText(value.get<UInt128>());
        case Value::Kind::Int128:
            return toText(value.get<Int128>());
        case Value::Kind::UInt256:
            return toText(value.get<UInt256>());
        case Value::Kind::Int256:
            return toText(value.get<Int256>());
        case Value::Kind::Float64:
            return sql::floatText(value.get<double>());
        case Value::Kind::String:
            return quoteString(value.get<std::string>());
        default:
            throw Error(ErrorCode::LOGICAL_ERROR, "A constant of type {} has no text", type.name());
    }
}

TypePtr literalType(const Value& value) {
    switch (value.kind()) {
        case Value::Kind::Null:
            return types::nullable(types::simple(TypeKind::Nothing));
        case Value::Kind::Bool:
            return types::simple(TypeKind::Bool);
        case Value::Kind::UInt64: {
            const uint64_t number = value.get<uint64_t>();
            if (number > UINT32_MAX && number <= INT64_MAX) return types::literalUInt64();
            return types::simple(number <= UINT8_MAX    ? TypeKind::UInt8
                                 : number <= UINT16_MAX ? TypeKind::UInt16
                                 : number <= UINT32_MAX ? TypeKind::UInt32
                                                        : TypeKind::UInt64);
        }
        case Value::Kind::Int64: {
            const int64_t number = value.get<int64_t>();
            return types::simple(number >= INT8_MIN && number <= INT8_MAX     ? TypeKind::Int8
                                 : number >= INT16_MIN && number <= INT16_MAX ? TypeKind::Int16
                                 : number >= INT32_MIN && number <= INT32_MAX ? TypeKind::Int32
                                                                              : TypeKind::Int64);
        }
        case Value::Kind::UInt128:
            return types::simple(TypeKind::UInt128);
        case Value::Kind::Int128:
            return types::simple(TypeKind::Int128);
        case Value::Kind::UInt256:
            return types::simple(TypeKind::UInt256);
        case Value::Kind::Int256:
            return types::simple(TypeKind::Int256);
        case Value::Kind::Float64:
            return types::float64();
        default:
            return types::string();
    }
}

bool needsCast(const Node& constant) {
    if (constant.folded) return true;
    // Only plain numbers and texts are read back with the type they had.
    const Value value = constant.constant->value(0);
    switch (value.kind()) {
        case Value::Kind::UInt64:
        case Value::Kind::Int64:
        case Value::Kind::Float64:
        case Value::Kind::String:
            return constant.type->kind() == TypeKind::Bool || literalType(value)->name() != constant.type->name();
        default:
            return true;
    }
}

void nameNode(Node& node) {
    switch (node.kind) {
        case Node::Kind::Column:
            node.name = node.source->id.empty() ? node.column : node.source->id + "." + node.column;
            node.old_name = node.column;
            break;
        case Node::Kind::ArrayJoinColumn:
            node.name = node.column;
            node.old_name = node.arguments.empty() ? node.column : "arrayJoin(" + node.arguments[0]->old_name + ")";
            break;
        case Node::Kind::Parameter:
            node.name = node.column;
            node.old_name = node.column;
            break;
        case Node::Kind::Constant:
            node.name = constantName(node);
            node.old_name = node.unfolded ? node.unfolded->old_name : constantText(*node.type, node.constant->value(0));
            break;
        case Node::Kind::Function:
        case Node::Kind::Aggregate:
        case Node::Kind::Window:
        case Node::Kind::Grouping:
            node.name = callName(node, &Node::name);
            node.old_name = callName(node, &Node::old_name);
            break;
        case Node::Kind::Lambda:
            node.name = lambdaName(node, &Node::name);
            node.old_name = lambdaName(node, &Node::old_name);
            break;
        case Node::Kind::Set:
            break;  // named by the binder, which knows what is in it
    }
}

}  // namespace shardd::plan
