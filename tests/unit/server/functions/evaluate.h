#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "common/columns/const_column.h"
#include "common/columns/create_column.h"
#include "server/formats/value_text.h"
#include "server/functions/convert.h"
#include "server/functions/function.h"
#include "server/sql/ast.h"
#include "server/sql/parser.h"

/// Expressions of constants, as a SELECT without FROM answers them: for tests that have no planner.
namespace shardd::functions {

inline std::shared_ptr<const FunctionContext> testContext() {
    static const auto context = [] {
        auto made = std::make_shared<FunctionContext>();
        made->setting = [](std::string_view) { return std::optional<std::string>(); };
        return made;
    }();
    return context;
}

inline NamedColumn constantOf(const TypePtr& type, const Value& value) {
    return {"", type, createConstColumn(*type, value, 1)};
}

inline NamedColumn call(const std::string& name, const std::vector<NamedColumn>& arguments) {
    const ResolvedFunctionPtr function = resolveFunction(name, arguments, testContext());
    return {"", function->resultType(), function->execute(arguments, 1)};
}

inline NamedColumn literalOf(const sql::Literal& literal) {
    using L = sql::Literal;
    const auto number = [](bool is_signed, uint64_t magnitude) {
        const TypeKind kinds[2][4] = {{TypeKind::UInt8, TypeKind::UInt16, TypeKind::UInt32, TypeKind::UInt64},
                                      {TypeKind::Int8, TypeKind::Int16, TypeKind::Int32, TypeKind::Int64}};
        const size_t bits[] = {8, 16, 32};
        size_t width = 3;
        for (size_t i = 3; i-- > 0;)
            if (magnitude < uint64_t{1} << (bits[i] - is_signed)) width = i;
        return types::simple(kinds[is_signed][width]);
    };
    if (literal.is<L::Null>()) return constantOf(types::nullable(types::simple(TypeKind::Nothing)), Value());
    if (const auto* value = literal.as<bool>())
        return constantOf(types::simple(TypeKind::Bool), Value(uint64_t{*value}));
    if (const auto* value = literal.as<uint64_t>())
        return constantOf(number(false, *value), Value(uint64_t{*value}));
    if (const auto* value = literal.as<int64_t>())
        return constantOf(number(true, static_cast<uint64_t>(-(*value + 1))), Value(int64_t{*value}));
    if (const auto* value = literal.as<double>()) return constantOf(types::float64(), Value(double{*value}));
    if (const auto* value = literal.as<std::string>())
        return constantOf(types::string(), Value(std::string(*value)));
    std::vector<NamedColumn> items;
    const auto* array = literal.as<L::Array>();
    for (const sql::Literal& item : array ? array->items : literal.as<L::Tuple>()->items)
        items.push_back(literalOf(item));
    return call(array ? "array" : "tuple", items);
}

inline NamedColumn evaluate(const sql::ExpressionPtr& expression) {
    if (const auto* literal = sql::as<sql::LiteralExpression>(expression)) return literalOf(literal->value);
    if (const auto* identifier = sql::as<sql::Identifier>(expression)) {
        if (identifier->parts[0] == "nan") return constantOf(types::float64(), Value(std::nan("")));
        if (identifier->parts[0] == "inf") return constantOf(types::float64(), Value(double{INFINITY}));
    }
    const auto* function = sql::as<sql::Function>(expression);
    if (!function) throw Error(ErrorCode::NOT_IMPLEMENTED, "Only calls of constants can be evaluated here");
    std::vector<NamedColumn> arguments;
    for (const sql::ExpressionPtr& argument : function->arguments) {
        arguments.push_back(evaluate(argument));
        arguments.back().name = argument->alias;
    }
    return call(function->name, arguments);
}

/// "UInt16 3", or "error 43".
inline std::string answer(const std::string& text) {
    try {
        const NamedColumn result = evaluate(sql::parseExpression(text));
        return result.type->name() + " " + formats::textOf(*result.column, 0, result.type);
    } catch (const Error& error) {
        return "error " + std::to_string(error.code());
    }
}

/// An expression and what it answers.
struct Case {
    const char* expression;
    const char* answer;
};

}  // namespace shardd::functions
