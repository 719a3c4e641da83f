#include <algorithm>
#include <cmath>

#include "common/columns/const_column.h"
#include "common/columns/create_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/nullable_column.h"
#include "server/functions/column_tools.h"
#include "server/functions/conditional.h"
#include "server/functions/convert.h"
#include "server/functions/function_list.h"
#include "server/functions/selection.h"
#include "server/functions/supertype.h"

/// greatest, least and clamp.
namespace shardd::functions {

namespace {

using Context = const std::shared_ptr<const FunctionContext>&;

/// greatest and least, over what is not NULL; clamp is made of both.
class Extreme final : public SimpleFunction {
public:
    Extreme(std::string name, bool greatest, Context context)
        : SimpleFunction(std::move(name), choosingByKey()),
          greatest_(greatest),
          context_(context ? context : std::make_shared<const FunctionContext>()) {}

    TypePtr resultType(Arguments arguments) const override {
        if (arguments.empty())
            throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                        "Function {} needs at least one argument", name_);
        std::vector<TypePtr> types;
        for (const NamedColumn& argument : arguments) types.push_back(argument.type);
        if (TypePtr type = typeOfMixedPair(types)) return type;
        if (TypePtr type = tryLeastSupertype(types)) return type;
        return typeWithoutSupertype(types);
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        const std::string_view compare = greatest_ ? "greater" : "less";
        // UInt64 and Int64 have no common type: a negative number is the least, and never the greatest.
        NamedColumn best;
        for (const NamedColumn& argument : arguments) {
            if (isNullOnly(argument.type)) continue;
            NamedColumn next{"", result_type,
                             castColumn(bounded(argument, result_type, rows), result_type, *context_)};
            if (!best.column) {
                best = std::move(next);
                continue;
            }
            PodVector<uint8_t> takes(rows);
            conditionOf(call(compare, {next, best}, rows, context_), takes);
            replaceNulls(best, next, takes);
            replaceNans(best, takes);
            const ColumnPtr both[] = {best.column, next.column};
            best.column = selectRows(both, takes.span());
        }
        return best.column ? best.column : createConstColumn(*result_type, Value(), rows);
    }

private:
    /// In greatest() as UInt64 a negative number loses as 0 does; in least() as Int64 what is beyond Int64
    /// loses as its greatest does.
    NamedColumn bounded(const NamedColumn& argument, const TypePtr& result_type, size_t rows) const {
        const TypePtr from = removeNullable(argument.type);
        const TypePtr to = removeNullable(result_type);
        const bool negative_lost = to->kind() == TypeKind::UInt64 && from->isInteger() && !from->isUnsigned();
        const bool high_lost = to->kind() == TypeKind::Int64 && from->kind() == TypeKind::UInt64;
        if (!negative_lost && !high_lost) return argument;
        const TypePtr wide = types::simple(TypeKind::Int128);
        const Value bound = negative_lost ? Value(int64_t{0}) : Value(INT64_MAX);
        const NamedColumn limit{"", types::int64(), createConstColumn(*types::int64(), bound, rows)};
        const NamedColumn value{"", argument.type->isNullable() ? types::nullable(wide) : wide, nullptr};
        const NamedColumn widened{"", value.type, castColumn(argument, value.type)};
        const NamedColumn limit_wide{"", wide, castColumn(limit, wide)};
        return call("if",
                    {call(negative_lost ? "less" : "greater", {widened, limit_wide}, rows, context_),
                     limit_wide, widened},
                    rows, context_);
    }

    /// A NULL so far is replaced by any value; a NULL next never wins.
    static void replaceNulls(const NamedColumn& best, const NamedColumn& next, PodVector<uint8_t>& takes) {
        if (!best.type->isNullable()) return;
        for (size_t i = 0; i < takes.size(); ++i)
            if (best.column->isNullAt(i)) takes[i] = !next.column->isNullAt(i);
    }

    /// NaN gives way to anything.
    static void replaceNans(const NamedColumn& best, PodVector<uint8_t>& takes) {
        if (!removeNullable(best.type)->isFloat()) return;
        const ColumnPtr plain = full(best.column);
        const ColumnPtr values = plain->kind() == ColumnKind::Nullable ? valuesOfNullable(plain) : plain;
        for (size_t i = 0; i < takes.size(); ++i)
            if (!plain->isNullAt(i) && std::isnan(values->value(i).to<double>())) takes[i] = 1;
    }

    /// Of UInt64 and one signed number, literals included; nullptr for anything else.
    TypePtr typeOfMixedPair(const std::vector<TypePtr>& types) const {
        if (types.size() != 2) return nullptr;
        const bool first = types[0]->kind() == TypeKind::UInt64;
        const Type& other = *types[first ? 1 : 0];
        if ((!first && types[1]->kind() != TypeKind::UInt64) || !other.isInteger() || other.isUnsigned() || other.width() > 8)
            return nullptr;
        if (other.kind() != TypeKind::Int64) return types::simple(TypeKind::Int128);
        return greatest_ ? types::uint64() : types::int64();
    }

    /// Two numbers are compared as floats where one is, or refused; anything else has a common type or none.
    TypePtr typeWithoutSupertype(const std::vector<TypePtr>& types) const {
        if (types.size() != 2 || !types[0]->isNumber() || !types[1]->isNumber()) return leastSupertype(types);
        if ((types[0]->isDecimal() && types[1]->isFloat()) || (types[0]->isFloat() && types[1]->isDecimal()))
            return types::float64();
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal types {} and {} of arguments of function {}", types[0]->name(), types[1]->name(),
                    name_);
    }

    bool greatest_;
    std::shared_ptr<const FunctionContext> context_;
};

class Clamp final : public SimpleFunction {
public:
    explicit Clamp(Context context) : SimpleFunction("clamp", choosingByKey()), context_(context) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 3, 3);
        return leastSupertype(std::vector<TypePtr>{arguments[0].type, arguments[1].type, arguments[2].type});
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        std::vector<NamedColumn> cast;
        for (const NamedColumn& argument : arguments)
            cast.push_back({"", result_type, castColumn(argument, result_type)});
        PodVector<uint8_t> wrong(rows);
        conditionOf(call("greater", {cast[1], cast[2]}, rows, context_), wrong);
        if (std::find(wrong.begin(), wrong.end(), 1) != wrong.end())
            throw Error(ErrorCode::BAD_ARGUMENTS,
                        "The minimum value cannot be greater than the maximum value");
        // NaN is above every bound.
        const NamedColumn above =
            call("not", {call("lessOrEquals", {cast[0], cast[2]}, rows, context_)}, rows, context_);
        const NamedColumn bounded = call("if", {above, cast[2], cast[0]}, rows, context_);
        return castColumn(call("greatest", {bounded, cast[1]}, rows, context_), result_type);
    }

private:
    std::shared_ptr<const FunctionContext> context_;
};

constexpr FunctionInfo kFunctions[] = {
    {.name = "greatest",
     .create = [](Context c) -> FunctionPtr { return std::make_shared<Extreme>("greatest", true, c); },
     .syntax = "greatest(value, …)",
     .description = "The greatest value that is not NULL.",
     .example = "greatest(1, 3, 2)",
     .example_result = "3"},
    {.name = "least",
     .create = [](Context c) -> FunctionPtr { return std::make_shared<Extreme>("least", false, c); },
     .syntax = "least(value, …)",
     .description = "The least value that is not NULL.",
     .example = "least(1, 3, 2)",
     .example_result = "1"},
    {.name = "clamp",
     .create = [](Context c) -> FunctionPtr { return std::make_shared<Clamp>(c); },
     .syntax = "clamp(value, min, max)",
     .description = "The value, or the bound that it passes.",
     .example = "clamp(50, 0, 10)",
     .example_result = "10"},
};

}  // namespace

std::span<const FunctionInfo> extremeFunctions() { return kFunctions; }

}  // namespace shardd::functions
