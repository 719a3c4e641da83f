#include <algorithm>
#include <span>

#include "common/columns/create_column.h"
#include "server/functions/function_list.h"
#include "server/functions/simple_function.h"

/// Functions that look at an argument as it is: its type, whether it is a constant.
namespace shardd::functions {

namespace {

Traits asItIs() {
    return {.default_nulls = false,
            .default_constants = false,
            .default_low_cardinality = false,
            .sees_constants = true};
}

bool hasNamedTuple(const Type& type) {
    if (type.kind() == TypeKind::Tuple && !type.elementNames().empty()) return true;
    return std::any_of(type.children().begin(), type.children().end(),
                       [](const TypePtr& child) { return hasNamedTuple(*child); });
}

/// The name with every named element of a Tuple on a line of its own, as toTypeName() shows it.
std::string prettyName(const Type& type, size_t indent = 0) {
    if (!hasNamedTuple(type)) return type.name();
    const bool named = type.kind() == TypeKind::Tuple && !type.elementNames().empty();
    std::string text = type.name().substr(0, type.name().find('(')) + "(";
    for (size_t i = 0; i < type.children().size(); ++i) {
        if (i > 0) text += named ? "," : ", ";
        if (named)
            text +=
                "\n" + std::string(indent + 4, ' ') + quoteIdentifierIfNeeded(type.elementNames()[i]) + " ";
        text += prettyName(*type.child(i), named ? indent + 4 : indent);
    }
    return text + ")";
}

class ToTypeName final : public SimpleFunction {
public:
    ToTypeName() : SimpleFunction("toTypeName", asItIs()) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 1, 1);
        return types::string();
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        return createConstColumn(*result_type, Value(prettyName(*arguments[0].type)), rows);
    }
};

/// Its argument, as a full column.
class Materialize final : public SimpleFunction {
public:
    Materialize() : SimpleFunction("materialize", asItIs()) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 1, 1);
        return arguments[0].type;
    }

    ColumnPtr execute(Arguments arguments, const TypePtr&, size_t) const override {
        return full(arguments[0].column);
    }
};

/// Its argument. `identity` and the markers that stop the planner from changing an expression.
class Identity final : public SimpleFunction {
public:
    explicit Identity(std::string name) : SimpleFunction(std::move(name), asItIs()) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 1, 1);
        return arguments[0].type;
    }

    ColumnPtr execute(Arguments arguments, const TypePtr&, size_t) const override {
        return arguments[0].column;
    }
};

class IsConstant final : public SimpleFunction {
public:
    IsConstant() : SimpleFunction("isConstant", asItIs()) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 1, 1);
        return types::uint8();
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        const bool constant = arguments[0].column->kind() == ColumnKind::Const;
        return createConstColumn(*result_type, Value(uint64_t{constant}), rows);
    }
};

using Context = const std::shared_ptr<const FunctionContext>&;

constexpr FunctionInfo kFunctions[] = {
    {.name = "toTypeName",
     .create = [](Context) -> FunctionPtr { return std::make_shared<ToTypeName>(); },
     .syntax = "toTypeName(value)",
     .description = "The name of the type of its argument.",
     .example = "toTypeName(1)",
     .example_result = "UInt8"},
    {.name = "materialize",
     .create = [](Context) -> FunctionPtr { return std::make_shared<Materialize>(); },
     .syntax = "materialize(constant)",
     .description = "A constant as a column that holds it in every row.",
     .example = "materialize(1)",
     .example_result = "1"},
    {.name = "identity",
     .create = [](Context) -> FunctionPtr { return std::make_shared<Identity>("identity"); },
     .syntax = "identity(value)",
     .description = "Its argument, unchanged.",
     .example = "identity(7)",
     .example_result = "7"},
    {.name = "indexHint",
     .create = [](Context) -> FunctionPtr { return std::make_shared<Identity>("indexHint"); },
     .syntax = "indexHint(condition)",
     .description = "Its argument, unchanged."},
    {.name = "isConstant",
     .create = [](Context) -> FunctionPtr { return std::make_shared<IsConstant>(); },
     .syntax = "isConstant(value)",
     .description = "1 when its argument is a constant.",
     .example = "isConstant(1)",
     .example_result = "1"},
};

}  // namespace

std::span<const FunctionInfo> literalFunctions() { return kFunctions; }

}  // namespace shardd::functions
