#include <cmath>

#include "common/columns/array_column.h"
#include "common/columns/const_column.h"
#include "server/formats/number_text.h"
#include "server/functions/convert.h"
#include "server/functions/definition.h"
#include "server/functions/numbers.h"
#include "server/functions/simple_function.h"
#include "server/functions/supertype.h"

/// round, floor, ceil, trunc and roundings to given values.
namespace shardd::functions {

namespace {

enum class Rounding : uint8_t { Round, Bankers, Floor, Ceil, Trunc };

template <typename T>
T roundFloat(Rounding rounding, T value) {
    switch (rounding) {
        case Rounding::Round:
        case Rounding::Bankers:
            return std::nearbyint(value);  // halves to even, as the machine rounds
        case Rounding::Floor:
            return std::floor(value);
        case Rounding::Ceil:
            return std::ceil(value);
        case Rounding::Trunc:
            return std::trunc(value);
    }
    return value;
}

template <typename T>
T roundFloatTo(Rounding rounding, T value, int64_t digits) {
    if (digits == 0) return roundFloat(rounding, value);
    if (digits > 308) return value;
    if (digits < -308) return 0;
    const auto factor = static_cast<T>(std::pow(10.0, static_cast<double>(std::abs(digits))));
    if (digits > 0) {
        const T scaled = value * factor;
        return std::isfinite(scaled) ? roundFloat(rounding, scaled) / factor : value;
    }
    return std::isfinite(value) ? roundFloat(rounding, value / factor) * factor : value;
}

/// To a multiple of `unit`. As ClickHouse: what overflows wraps in the machine's width.
template <typename T>
T roundInteger(Rounding rounding, T value, T unit) {
    using Promoted = std::conditional_t<(sizeof(T) < 4), int32_t, T>;
    const auto add = [](auto a, auto b) {
        using P = decltype(a);
        if constexpr (std::is_integral_v<P>) {
            using U = std::make_unsigned_t<P>;
            return static_cast<P>(static_cast<U>(a) + static_cast<U>(b));
        } else {
            return P(a + b);
        }
    };
    const bool negative = value < T(0);
    const auto cut = [&](Promoted x) {
        return static_cast<T>(x / static_cast<Promoted>(unit) * static_cast<Promoted>(unit));
    };
    const auto less_one = static_cast<T>(unit - T(1));
    switch (rounding) {
        case Rounding::Trunc:
            return cut(static_cast<Promoted>(value));
        case Rounding::Floor:
            if (negative) value = add(value, static_cast<T>(T(0) - less_one));
            return cut(static_cast<Promoted>(value));
        case Rounding::Ceil:
            if (!negative) value = add(value, less_one);
            return cut(static_cast<Promoted>(value));
        default:
            break;
    }
    const auto half = static_cast<Promoted>(unit / T(2));
    const auto wide = static_cast<Promoted>(value);
    const Promoted moved = negative ? add(wide, static_cast<Promoted>(Promoted(0) - half)) : add(wide, half);
    auto quotient = static_cast<Promoted>(moved / static_cast<Promoted>(unit));
    const bool tie = static_cast<Promoted>(quotient * static_cast<Promoted>(unit)) == moved && unit > T(1);
    const bool odd = !(static_cast<Promoted>(quotient % Promoted(2)) == Promoted(0));
    if (rounding == Rounding::Bankers && tie && odd)
        quotient = negative ? static_cast<Promoted>(quotient + Promoted(1))
                            : static_cast<Promoted>(quotient - Promoted(1));
    return static_cast<T>(quotient * static_cast<Promoted>(unit));
}

/// 10 to `digits`; 0 where T cannot hold it.
template <typename T>
T unitOf(int64_t digits) {
    T unit(1);
    for (int64_t i = 0; i < digits; ++i) {
        const T next = static_cast<T>(unit * T(10));
        if (static_cast<T>(next / T(10)) != unit || next < unit) return T(0);
        unit = next;
    }
    return unit;
}

template <typename T>
T roundValue(Rounding rounding, T value, int64_t digits, unsigned scale) {
    if constexpr (std::is_floating_point_v<T>) {
        return roundFloatTo(rounding, value, digits);
    } else {
        const int64_t places = static_cast<int64_t>(scale) - digits;  // digits to lose
        if (places <= 0) return value;
        const T unit = places > 76 ? T(0) : unitOf<T>(places);
        return unit == T(0) ? T(0) : roundInteger(rounding, value, unit);
    }
}

TypePtr typeOfRounding(const Signature& call) {
    needCount(call, 1, 2);
    const Type& type = *call.type(0);
    if (!type.isNumber()) illegalArgument(call, 0, "a number");
    if (call.count() == 2) needInteger(call, 1);
    return call.type(0);
}

/// Floats to whole numbers: a loop for each way, so that it is the machine's instruction.
template <typename T>
ColumnPtr roundWhole(Rounding rounding, const T* values, size_t rows) {
    switch (rounding) {
        case Rounding::Floor:
            return eachRow<T>(rows, [&](size_t i) { return std::floor(values[i]); });
        case Rounding::Ceil:
            return eachRow<T>(rows, [&](size_t i) { return std::ceil(values[i]); });
        case Rounding::Trunc:
            return eachRow<T>(rows, [&](size_t i) { return std::trunc(values[i]); });
        default:
            return eachRow<T>(rows, [&](size_t i) { return std::nearbyint(values[i]); });
    }
}

ColumnPtr roundNumbers(const Call& call, Rounding rounding) {
    const Type& type = *call.argumentType(0);
    if (type.physical() == Physical::BFloat16) {
        const TypePtr single = types::simple(TypeKind::Float32);
        std::vector<NamedColumn> arguments(call.arguments.begin(), call.arguments.end());
        arguments[0] = {"", single, castColumn(arguments[0], single)};
        return castColumn(
            {"", single, roundNumbers(Call{call.name, arguments, single, call.rows, call.context}, rounding)},
            call.type);
    }
    const ColumnPtr column = full(call.column(0));
    const bool plain_integer = !type.isFloat() && !type.isDecimal();
    if (plain_integer && call.count() == 1) return column;
    const ColumnPtr zero = std::make_shared<ConstColumn>(fixedColumn<int64_t>({0}), call.rows);
    const IntegerArgument digits(call.count() == 2 ? call.column(1) : zero);
    ColumnPtr result;
    dispatchNumber(type.physical(), [&](auto tag) {
        using T = typename decltype(tag)::Type;
        const T* values = as<FixedColumn<T>>(*column).data();
        const unsigned scale = type.isDecimal() ? type.scale() : 0;
        if constexpr (std::is_floating_point_v<T>) {
            if (digits.constant() && call.rows != 0 && digits[0] == 0) {
                result = roundWhole(rounding, values, call.rows);
                return;
            }
        }
        result = eachRow<T>(call.rows,
                            [&](size_t i) { return roundValue(rounding, values[i], digits[i], scale); });
    });
    return result;
}

template <Rounding kRounding>
ColumnPtr runRounding(const Call& call) {
    return roundNumbers(call, kRounding);
}

// --- to given values -----------------------------------------------------------------------------

class RoundDown final : public SimpleFunction {
public:
    RoundDown() : SimpleFunction("roundDown", Traits{.constant_arguments = {1}, .sees_constants = true}) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 2, 2);
        if (!arguments[0].type->isNumber()) failArgumentType(name_, arguments, 0);
        if (arguments[1].type->kind() != TypeKind::Array || !arguments[1].type->child()->isNumber())
            failArgumentType(name_, arguments, 1);
        return leastSupertype(arguments[0].type, arguments[1].type->child());
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        const auto& array = as<ArrayColumn>(*as<ConstColumn>(*arguments[1].column).one());
        const ColumnPtr bounds =
            full(castColumn({"", arguments[1].type->child(), array.elements()}, result_type));
        if (bounds->empty())
            throw Error(ErrorCode::ILLEGAL_COLUMN, "Empty array is illegal for boundaries in function {}",
                        name_);
        std::vector<RowIndex> order(bounds->size());
        for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<RowIndex>(i);
        std::sort(order.begin(), order.end(),
                  [&](RowIndex a, RowIndex b) { return bounds->compareAt(a, *bounds, b, 1) < 0; });
        const ColumnPtr values = full(castColumn(arguments[0], result_type));
        MutableColumnPtr out = values->cloneEmpty();
        out->reserve(rows);
        for (size_t i = 0; i < rows; ++i) {
            const auto above = std::upper_bound(
                order.begin(), order.end(), i,
                [&](size_t row, RowIndex bound) { return values->compareAt(row, *bounds, bound, 1) < 0; });
            if (isNan(*values, i))
                out->insertFrom(*values, i);
            else
                out->insertFrom(*bounds, above == order.begin() ? order[0] : *(above - 1));
        }
        return out;
    }

private:
    static bool isNan(const Column& column, size_t row) {
        const auto* doubles = dynamic_cast<const FixedColumn<double>*>(&column);
        return doubles && std::isnan(doubles->values()[row]);
    }
};

TypePtr typeOfAge(const Signature& call) {
    needCount(call, 1);
    if (!call.type(0)->isNumber()) illegalArgument(call, 0, "a number");
    return types::uint8();
}

ColumnPtr runAge(const Call& call) {
    const DoubleArgument age(call.column(0), call.argumentType(0));
    return eachRow<uint8_t>(call.rows, [&](size_t i) {
        const double value = age[i];
        return static_cast<uint8_t>(value < 1    ? 0
                                    : value < 18 ? 17
                                    : value < 25 ? 18
                                    : value < 35 ? 25
                                    : value < 45 ? 35
                                    : value < 55 ? 45
                                                 : 55);
    });
}

TypePtr typeOfDuration(const Signature& call) {
    needCount(call, 1);
    if (!call.type(0)->isNumber()) illegalArgument(call, 0, "a number");
    return types::simple(TypeKind::UInt16);
}

ColumnPtr runDuration(const Call& call) {
    constexpr uint16_t kSteps[] = {0,   1,   10,   30,   60,   120,  180,   240,
                                   300, 600, 1200, 1800, 3600, 7200, 18000, 36000};
    const DoubleArgument duration(call.column(0), call.argumentType(0));
    return eachRow<uint16_t>(call.rows, [&](size_t i) {
        uint16_t result = 0;
        for (const uint16_t step : kSteps)
            if (duration[i] >= step) result = step;
        return result;
    });
}

TypePtr typeOfPower(const Signature& call) {
    needCount(call, 1);
    const Type& type = *call.type(0);
    if (!type.isInteger() && !type.isFloat()) illegalArgument(call, 0, "a number");
    return call.type(0);
}

template <typename T>
T powerBelow(T value) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(value)) return std::numeric_limits<T>::infinity();
        if (value == 0 || std::isinf(value)) return value;
        return std::copysign(static_cast<T>(std::ldexp(1.0, std::ilogb(value))), value);
    } else {
        if (value <= T(0)) return T(0);
        T result(1);
        for (T rest = value; rest > T(1); rest = static_cast<T>(rest / T(2)))
            result = static_cast<T>(result * T(2));
        return result;
    }
}

ColumnPtr runPower(const Call& call) {
    const ColumnPtr column = full(call.column(0));
    ColumnPtr result;
    dispatchNumber(call.argumentType(0)->physical(), [&](auto tag) {
        using T = typename decltype(tag)::Type;
        const T* values = as<FixedColumn<T>>(*column).data();
        result = eachRow<T>(call.rows, [&](size_t i) { return powerBelow(values[i]); });
    });
    if (!result)
        throw Error(ErrorCode::NOT_IMPLEMENTED, "Function {} is not implemented for {}", call.name,
                    call.argumentType(0)->name());
    return result;
}

}  // namespace

std::span<const FunctionInfo> roundingFunctions() {
    static const FunctionInfo list[] = {
        define<"round", typeOfRounding, runRounding<Rounding::Round>>(
            "round(number[, digits])",
            "Rounds to the nearest value; halves of floats go to the even one, others away from zero.",
            "round(2.5)", "2"),
        define<"roundBankers", typeOfRounding, runRounding<Rounding::Bankers>>(
            "roundBankers(number[, digits])", "Rounds to the nearest value, halves to the even one.",
            "roundBankers(25, -1)", "20"),
        define<"floor", typeOfRounding, runRounding<Rounding::Floor>>("floor(number[, digits])",
                                                                      "Rounds down.", "floor(-2.5)", "-3"),
        define<"ceil", typeOfRounding, runRounding<Rounding::Ceil>>("ceil(number[, digits])", "Rounds up.",
                                                                    "ceil(2.1)", "3"),
        define<"trunc", typeOfRounding, runRounding<Rounding::Trunc>>(
            "trunc(number[, digits])", "Rounds towards zero.", "trunc(-2.5)", "-2"),
        {.name = "roundDown",
         .create = [](const std::shared_ptr<const FunctionContext>&) -> FunctionPtr {
             return std::make_shared<RoundDown>();
         },
         .syntax = "roundDown(number, values)",
         .description = "The greatest of the given values that is not above the number; the least of them "
                        "for a number below all.",
         .example = "roundDown(5, [1, 4, 10])",
         .example_result = "4"},
        define<"roundAge", typeOfAge, runAge>("roundAge(age)", "Ages as groups: 0, 17, 18, 25, 35, 45, 55.",
                                              "roundAge(30)", "25"),
        define<"roundDuration", typeOfDuration, runDuration>("roundDuration(seconds)",
                                                             "Durations as groups: 1, 10, 30, 60, … 36000.",
                                                             "roundDuration(100)", "60"),
        define<"roundToExp2", typeOfPower, runPower>(
            "roundToExp2(number)", "The greatest power of two that is not above the number.",
            "roundToExp2(1000)", "512"),
    };
    return list;
}

}  // namespace shardd::functions
