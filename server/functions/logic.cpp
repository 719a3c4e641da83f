#include <algorithm>

#include "common/columns/const_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/nullable_column.h"
#include "server/functions/function_list.h"
#include "server/functions/simple_function.h"

/// and, or, xor, not: with NULL as "unknown".
namespace shardd::functions {

namespace {

bool isNullOnly(const TypePtr& type) {
    return type->isNullable() && type->child()->kind() == TypeKind::Nothing;
}

bool isTruthType(const TypePtr& type) {
    return type->kind() == TypeKind::Bool || type->isInteger() || type->isFloat();
}

/// out[i] = 1 where the value is not zero.
void truthOf(const Column& column, uint8_t* out) {
    const size_t rows = column.size();
    if (const auto* bytes = dynamic_cast<const FixedColumn<uint8_t>*>(&column)) {
        const uint8_t* values = bytes->data();
        for (size_t i = 0; i < rows; ++i) out[i] = values[i] != 0;
        return;
    }
    for (size_t i = 0; i < rows; ++i) out[i] = 0;
#define TRY(name, type)                                                        \
    if (const auto* typed = dynamic_cast<const FixedColumn<type>*>(&column)) { \
        const auto* values = typed->data();                                    \
        for (size_t i = 0; i < rows; ++i) out[i] = !(values[i] == type{});     \
        return;                                                                \
    }
    SHARDD_FIXED_TYPES(TRY)
#undef TRY
}

enum class Logic : uint8_t { And, Or, Xor };

/// What is known of a row: the least of all is AND, the greatest OR.
enum Ternary : uint8_t { kFalse = 0, kUnknown = 1, kTrue = 2 };

class LogicFunction final : public SimpleFunction {
public:
    LogicFunction(std::string name, Logic logic)
        : SimpleFunction(std::move(name),
                         Traits{.default_nulls = logic == Logic::Xor, .sees_constants = true}),
          logic_(logic) {}

    TypePtr resultType(Arguments arguments) const override {
        if (arguments.size() < 2)
            throw Error(ErrorCode::TOO_FEW_ARGUMENTS_FOR_FUNCTION,
                        "Number of arguments for function {} should be at least 2: passed {}", name_,
                        arguments.size());
        bool nullable = false;
        bool is_bool = false;
        for (size_t i = 0; i < arguments.size(); ++i) {
            const TypePtr& type = arguments[i].type;
            nullable |= type->isNullable();
            if (isNullOnly(type) || type->kind() == TypeKind::Nothing) continue;
            const TypePtr bare = removeNullable(type);
            if (!isTruthType(bare)) failArgumentType(name_, arguments, i);
            is_bool |= bare->kind() == TypeKind::Bool;
        }
        const TypePtr& type = is_bool ? types::simple(TypeKind::Bool) : types::uint8();
        return nullable ? types::nullable(type) : type;
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        return result_type->isNullable() ? ternary(arguments, rows) : plain(arguments, rows);
    }

private:
    ColumnPtr plain(Arguments arguments, size_t rows) const {
        PodVector<uint8_t> out(rows);
        PodVector<uint8_t> next(rows);
        for (size_t a = 0; a < arguments.size(); ++a) {
            PodVector<uint8_t>& into = a == 0 ? out : next;
            fill(*arguments[a].column, into);
            if (a == 0) continue;
            switch (logic_) {
                case Logic::And:
                    for (size_t i = 0; i < rows; ++i) out[i] &= next[i];
                    break;
                case Logic::Or:
                    for (size_t i = 0; i < rows; ++i) out[i] |= next[i];
                    break;
                case Logic::Xor:
                    for (size_t i = 0; i < rows; ++i) out[i] ^= next[i];
                    break;
            }
        }
        return std::make_shared<FixedColumn<uint8_t>>(std::move(out));
    }

    static void fill(const Column& column, PodVector<uint8_t>& out) {
        if (column.kind() == ColumnKind::Const)
            std::fill(out.begin(), out.end(), static_cast<uint8_t>(!column.isDefaultAt(0)));
        else
            truthOf(column, out.data());
    }

    ColumnPtr ternary(Arguments arguments, size_t rows) const {
        PodVector<uint8_t> known(rows, logic_ == Logic::And ? kTrue : kFalse);
        PodVector<uint8_t> next(rows);
        for (const NamedColumn& argument : arguments) {
            fillTernary(argument, next);
            if (logic_ == Logic::And)
                for (size_t i = 0; i < rows; ++i) known[i] = std::min(known[i], next[i]);
            else
                for (size_t i = 0; i < rows; ++i) known[i] = std::max(known[i], next[i]);
        }
        PodVector<uint8_t> values(rows);
        Mask nulls(rows);
        for (size_t i = 0; i < rows; ++i) {
            values[i] = known[i] == kTrue;
            nulls[i] = known[i] == kUnknown;
        }
        return std::make_shared<NullableColumn>(std::make_shared<FixedColumn<uint8_t>>(std::move(values)),
                                                std::move(nulls));
    }

    static void fillTernary(const NamedColumn& argument, PodVector<uint8_t>& out) {
        const Column* column = argument.column.get();
        if (isNullOnly(argument.type)) return std::fill(out.begin(), out.end(), kUnknown);
        if (column->kind() == ColumnKind::Const) {
            const Column& one = *as<ConstColumn>(*column).one();
            const bool null = one.isNullAt(0);
            const bool zero = one.kind() == ColumnKind::Nullable
                                  ? as<NullableColumn>(one).values()->isDefaultAt(0)
                                  : one.isDefaultAt(0);
            return std::fill(out.begin(), out.end(), null ? kUnknown : zero ? kFalse : kTrue);
        }
        const Mask* nulls = nullptr;
        if (column->kind() == ColumnKind::Nullable) {
            nulls = &as<NullableColumn>(*column).nulls();
            column = as<NullableColumn>(*column).values().get();
        }
        truthOf(*column, out.data());
        for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(out[i] * 2);
        if (nulls)
            for (size_t i = 0; i < out.size(); ++i) out[i] = (*nulls)[i] ? uint8_t{kUnknown} : out[i];
    }

    Logic logic_;
};

class Not final : public SimpleFunction {
public:
    Not() : SimpleFunction("not") {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 1, 1);
        if (!isTruthType(arguments[0].type)) failArgumentType(name_, arguments, 0);
        return arguments[0].type->kind() == TypeKind::Bool ? arguments[0].type : types::uint8();
    }

    ColumnPtr execute(Arguments arguments, const TypePtr&, size_t rows) const override {
        PodVector<uint8_t> out(rows);
        truthOf(*arguments[0].column, out.data());
        for (size_t i = 0; i < rows; ++i) out[i] ^= 1;
        return std::make_shared<FixedColumn<uint8_t>>(std::move(out));
    }
};

using Context = const std::shared_ptr<const FunctionContext>&;

constexpr FunctionInfo kFunctions[] = {
    {.name = "and",
     .create = [](Context) -> FunctionPtr { return std::make_shared<LogicFunction>("and", Logic::And); },
     .syntax = "and(a, b, …)",
     .description = "1 when no argument is zero; NULL when it depends on a NULL.",
     .example = "and(1, NULL, 0)",
     .example_result = "0"},
    {.name = "or",
     .create = [](Context) -> FunctionPtr { return std::make_shared<LogicFunction>("or", Logic::Or); },
     .syntax = "or(a, b, …)",
     .description = "1 when an argument is not zero; NULL when it depends on a NULL.",
     .example = "or(0, NULL, 1)",
     .example_result = "1"},
    {.name = "xor",
     .create = [](Context) -> FunctionPtr { return std::make_shared<LogicFunction>("xor", Logic::Xor); },
     .syntax = "xor(a, b, …)",
     .description = "1 when an odd number of arguments is not zero.",
     .example = "xor(1, 1)",
     .example_result = "0"},
    {.name = "not",
     .create = [](Context) -> FunctionPtr { return std::make_shared<Not>(); },
     .syntax = "not(a)",
     .description = "1 for zero, 0 for all else.",
     .example = "not(5)",
     .example_result = "0"},
};

}  // namespace

std::span<const FunctionInfo> logicFunctions() { return kFunctions; }

}  // namespace shardd::functions
