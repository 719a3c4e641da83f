#include <cmath>

#include "common/columns/tuple_column.h"
#include "server/formats/number_text.h"
#include "server/functions/arithmetic.h"
#include "server/functions/convert.h"
#include "server/functions/definition.h"
#include "server/functions/numbers.h"
#include "server/functions/supertype.h"

/// negate, abs and smaller helpers of arithmetic.
namespace shardd::functions {

namespace {

std::shared_ptr<const FunctionContext> contextOf(const Call& call) {
    return std::make_shared<FunctionContext>(call.context);
}

// --- signs -----------------------------------------------------------------------------------------

TypePtr typeOfNegate(const Signature& call) {
    needCount(call, 1);
    const TypePtr& type = call.type(0);
    if (type->kind() == TypeKind::Tuple) {
        std::vector<TypePtr> elements;
        for (const TypePtr& child : type->children()) {
            const NamedColumn one[] = {{"", child, nullptr}};
            elements.push_back(resolveFunction("negate", one, nullptr)->resultType());
        }
        return types::tuple(std::move(elements));
    }
    if (type->isDecimal() || type->isFloat() || type->kind() == TypeKind::Interval) return type;
    const NumberShape shape = shapeOf(*type);
    if (!shape.valid() || type->kind() == TypeKind::IPv4) illegalArgument(call, 0, "a number");
    return shape.is_signed ? type : typeOfShape(false, true, nextSize(shape.bytes));
}

/// The number with its sign changed; integers wrap, so that they are negated as unsigned ones.
template <typename T>
T negated(const T& value) {
    if constexpr (std::is_floating_point_v<T>)
        return -value;
    else
        return static_cast<T>(T(0) - value);
}

/// Calls action(tag, values): the numbers in place, of a float as such, of any integer as unsigned ones of
/// its width.
template <typename Action>
void onNumbers(Physical physical, char* data, Action&& action) {
    if (physical == Physical::Float32)
        action(Tag<float>{}, reinterpret_cast<float*>(data));
    else if (physical == Physical::Float64)
        action(Tag<double>{}, reinterpret_cast<double*>(data));
    else
        dispatchUnsigned(
            physical, [&](auto tag) { action(tag, reinterpret_cast<typename decltype(tag)::Type*>(data)); });
}

ColumnPtr runNegate(const Call& call) {
    const ColumnPtr column = full(call.column(0));
    if (call.type->kind() == TypeKind::Tuple) {
        std::vector<ColumnPtr> elements;
        for (size_t i = 0; i < call.type->children().size(); ++i) {
            const NamedColumn one[] = {
                {"", call.argumentType(0)->child(i), as<TupleColumn>(*column).element(i)}};
            elements.push_back(
                full(resolveFunction("negate", one, contextOf(call))->execute(one, call.rows)));
        }
        return std::make_shared<TupleColumn>(std::move(elements), call.rows);
    }
    if (call.type->physical() == Physical::BFloat16) {
        const auto& values = as<FixedColumn<BFloat16>>(*column).values();
        return eachRow<BFloat16>(call.rows,
                                 [&](size_t i) { return BFloat16::fromFloat(-values[i].toFloat()); });
    }
    const Physical to = call.type->physical();
    char* data = nullptr;
    size_t width = 0;
    ColumnPtr result = numberColumn(to, call.rows, data, width);
    if (call.rows != 0)
        convertKernel(call.argumentType(0)->physical(), to)(column->bytesAt(0).data(), data, call.rows);
    onNumbers(to, data, [&](auto tag, typename decltype(tag)::Type* values) {
        for (size_t i = 0; i < call.rows; ++i) values[i] = negated(values[i]);
    });
    return result;
}

TypePtr typeOfAbs(const Signature& call) {
    needCount(call, 1);
    const TypePtr& type = call.type(0);
    if (type->isDecimal() || type->isFloat()) return type;
    const NumberShape shape = shapeOf(*type);
    if (!shape.valid() || type->kind() == TypeKind::IPv4) illegalArgument(call, 0, "a number");
    return typeOfShape(false, false, shape.bytes);
}

ColumnPtr runAbs(const Call& call) {
    const ColumnPtr column = full(call.column(0));
    const Physical from = call.argumentType(0)->physical();
    if (from == Physical::BFloat16) {
        const auto& values = as<FixedColumn<BFloat16>>(*column).values();
        return eachRow<BFloat16>(
            call.rows, [&](size_t i) { return BFloat16::fromFloat(std::abs(values[i].toFloat())); });
    }
    // Of an integer the same bits as an unsigned number.
    char* data = nullptr;
    size_t width = 0;
    ColumnPtr result = numberColumn(call.type->physical(), call.rows, data, width);
    if (call.rows != 0) std::memcpy(data, column->bytesAt(0).data(), call.rows * width);
    const bool is_signed = call.argumentType(0)->isDecimal() || shapeOf(*call.argumentType(0)).is_signed;
    onNumbers(from, data, [&](auto tag, typename decltype(tag)::Type* values) {
        using T = typename decltype(tag)::Type;
        if constexpr (std::is_floating_point_v<T>) {
            for (size_t i = 0; i < call.rows; ++i) values[i] = std::abs(values[i]);
        } else if (is_signed) {
            const T top = static_cast<T>(T(1) << (sizeof(T) * 8 - 1));
            for (size_t i = 0; i < call.rows; ++i)
                if ((values[i] & top) != T(0)) values[i] = negated(values[i]);
        }
    });
    return result;
}

TypePtr typeOfSquare(const Signature& call) {
    needCount(call, 1);
    const NamedColumn twice[] = {{"", call.type(0), nullptr}, {"", call.type(0), nullptr}};
    return resolveFunction("multiply", twice, nullptr)->resultType();
}

ColumnPtr runSquare(const Call& call) {
    const NamedColumn twice[] = {call.arguments[0], call.arguments[0]};
    return resolveFunction("multiply", twice, contextOf(call))->execute(twice, call.rows);
}

// --- averages --------------------------------------------------------------------------------------

TypePtr typeOfMidpoint(const Signature& call) {
    needCount(call, 1, SIZE_MAX);
    std::vector<TypePtr> types;
    for (size_t i = 0; i < call.count(); ++i) {
        const Type& type = *call.type(i);
        if (!type.isNumber() && !type.isDateOrTime()) illegalArgument(call, i, "a number or a date");
        types.push_back(call.type(i));
    }
    return leastSupertype(types);
}

ColumnPtr runMidpoint(const Call& call) {
    std::vector<ColumnPtr> columns;
    for (size_t i = 0; i < call.count(); ++i)
        columns.push_back(full(castColumn(call.arguments[i], call.type, call.context)));
    const auto count = static_cast<int64_t>(columns.size());
    if (call.type->isFloat()) {
        std::vector<DoubleArgument> values;
        for (const ColumnPtr& column : columns) values.emplace_back(column, call.type);
        const ColumnPtr means = eachRow<double>(call.rows, [&](size_t i) {
            double sum = 0;
            for (const DoubleArgument& value : values) sum += value[i];
            return sum / static_cast<double>(count);
        });
        return castColumn({"", types::float64(), means}, call.type);
    }
    const ConvertKernel narrow = convertKernel(Physical::Int256, call.type->physical());
    char* data = nullptr;
    size_t width = 0;
    ColumnPtr result = numberColumn(call.type->physical(), call.rows, data, width);
    for (size_t i = 0; i < call.rows; ++i) {
        Int256 sum;
        for (const ColumnPtr& column : columns) sum += column->value(i).to<Int256>();
        const Int256 mean = sum / Int256(count);
        narrow(&mean, data + i * width, 1);
    }
    return result;
}

// --- digits and bytes ------------------------------------------------------------------------------

TypePtr typeOfDigits(const Signature& call) {
    needCount(call, 1);
    if (!call.type(0)->isInteger() && !call.type(0)->isDecimal() && call.type(0)->kind() != TypeKind::Bool)
        illegalArgument(call, 0, "an integer or a Decimal");
    return types::uint8();
}

unsigned digitsOf(Int256 value) {
    unsigned digits = 1;
    while (digits < 77 && (value.negative() ? -value : value) >= formats::powerOfTen(std::min(digits, 76U)))
        ++digits;
    return digits;
}

ColumnPtr runDigits(const Call& call) {
    const ColumnPtr column = full(call.column(0));
    return eachRow<uint8_t>(
        call.rows, [&](size_t i) { return static_cast<uint8_t>(digitsOf(column->value(i).to<Int256>())); });
}

TypePtr typeOfDecimalOverflow(const Signature& call) {
    needCount(call, 1, 2);
    if (!call.type(0)->isDecimal()) illegalArgument(call, 0, "a Decimal");
    if (call.count() == 2) needInteger(call, 1);
    return types::uint8();
}

ColumnPtr runDecimalOverflow(const Call& call) {
    const auto given = call.count() == 2 ? constantValue(call.arguments[1]) : std::nullopt;
    const auto precision = given ? given->to<uint64_t>() : uint64_t{call.argumentType(0)->precision()};
    if (precision < 1 || precision > 76)
        throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Wrong precision for function isDecimalOverflow: {}",
                    precision);
    const ColumnPtr column = full(call.column(0));
    return eachRow<uint8_t>(call.rows, [&](size_t i) {
        const Int256 value = column->value(i).to<Int256>();
        return static_cast<uint8_t>((value.negative() ? -value : value) >=
                                    formats::powerOfTen(static_cast<unsigned>(precision)));
    });
}

TypePtr typeOfByteSwap(const Signature& call) {
    needCount(call, 1);
    const Type& type = *call.type(0);
    if (type.isFloat() || type.isDecimal())
        throw Error(ErrorCode::NOT_IMPLEMENTED, "byteSwap is not implemented for {}", type.name());
    if (!type.isInteger()) illegalArgument(call, 0, "an integer");
    return call.type(0);
}

ColumnPtr runByteSwap(const Call& call) {
    const ColumnPtr column = full(call.column(0));
    char* data = nullptr;
    size_t width = 0;
    ColumnPtr result = numberColumn(call.type->physical(), call.rows, data, width);
    for (size_t i = 0; i < call.rows; ++i) {
        const std::string_view bytes = column->bytesAt(i);
        std::reverse_copy(bytes.begin(), bytes.end(), data + i * width);
    }
    return result;
}

// --- Decimals of a wished scale --------------------------------------------------------------------

TypePtr typeOfDecimalPair(const Signature& call) {
    needCount(call, 2, 3);
    for (size_t i = 0; i < 2; ++i)
        if (!call.type(i)->isDecimal()) illegalArgument(call, i, "a Decimal");
    unsigned scale = std::max(call.type(0)->scale(), call.type(1)->scale());
    if (call.count() == 3) {
        const auto given = constantValue(call.arguments[2]);
        if (!given)
            throw Error(ErrorCode::ILLEGAL_COLUMN, "The scale in function {} must be a constant", call.name);
        if (given->to<uint64_t>() > 76)
            throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Scale {} is out of bounds", given->to<uint64_t>());
        scale = static_cast<unsigned>(given->to<uint64_t>());
    }
    return types::decimal(76, scale);
}

/// 10 to an exponent that may be negative, applied to a value; DECIMAL_OVERFLOW when it does not fit.
Int256 shifted(const Int256& value, int places) {
    if (places < 0)
        return places < -76 ? Int256(0) : value / formats::powerOfTen(static_cast<unsigned>(-places));
    if (!value) return value;
    if (places > 76)
        throw Error(ErrorCode::DECIMAL_OVERFLOW, "Numeric overflow: result bigger than Decimal256");
    const Int256 result = value * formats::powerOfTen(static_cast<unsigned>(places));
    if (result / formats::powerOfTen(static_cast<unsigned>(places)) != value)
        throw Error(ErrorCode::DECIMAL_OVERFLOW, "Numeric overflow: result bigger than Decimal256");
    return result;
}

template <bool kDivide>
ColumnPtr runDecimalPair(const Call& call) {
    const ColumnPtr left = full(call.column(0));
    const ColumnPtr right = full(call.column(1));
    const auto a_scale = static_cast<int>(call.argumentType(0)->scale());
    const auto b_scale = static_cast<int>(call.argumentType(1)->scale());
    const auto scale = static_cast<int>(call.type->scale());
    return eachRow<Int256>(call.rows, [&](size_t i) {
        const Int256 a = left->value(i).to<Int256>();
        const Int256 b = right->value(i).to<Int256>();
        if constexpr (kDivide) {
            if (!b) throw Error(ErrorCode::ILLEGAL_DIVISION, "Division by zero in function divideDecimal");
            return shifted(a, scale + b_scale - a_scale) / b;
        } else {
            const Int256 product = a * b;
            if (a && product / a != b)
                throw Error(ErrorCode::DECIMAL_OVERFLOW, "Numeric overflow: result bigger than Decimal256");
            return shifted(product, scale - a_scale - b_scale);
        }
    });
}

}  // namespace

std::span<const FunctionInfo> arithmeticExtraFunctions() {
    static const FunctionInfo list[] = {
        define<"negate", typeOfNegate, runNegate, kInjective>(
            "negate(a)", "The number with its sign changed.", "negate(5)", "-5"),
        define<"abs", typeOfAbs, runAbs>("abs(a)", "The number without its sign.", "abs(-5)", "5"),
        define<"sqr", typeOfSquare, runSquare>("sqr(a)", "The square.", "sqr(3)", "9"),
        define<"midpoint", typeOfMidpoint, runMidpoint>(
            "midpoint(a, …)", "The mean of its arguments, in their common type.", "midpoint(1, 5)", "3"),
        define<"avg2", typeOfMidpoint, runMidpoint>("avg2(a, b)", "The mean of two numbers.", "avg2(1, 5)",
                                                    "3"),
        define<"countDigits", typeOfDigits, runDigits>("countDigits(a)", "How many digits an integer has.",
                                                       "countDigits(-12345)", "5"),
        define<"isDecimalOverflow", typeOfDecimalOverflow, runDecimalOverflow>(
            "isDecimalOverflow(decimal[, precision])", "1 when the value has more digits than the precision.",
            "isDecimalOverflow(toDecimal32(100, 0), 2)", "1"),
        define<"byteSwap", typeOfByteSwap, runByteSwap, kInjective>(
            "byteSwap(a)", "The bytes of an integer in reverse order.", "byteSwap(toUInt16(258))", "513"),
        define<"multiplyDecimal", typeOfDecimalPair, runDecimalPair<false>, kMayThrow, 4>(
            "multiplyDecimal(a, b[, scale])", "A product of Decimals with that many digits after the point.",
            "multiplyDecimal(toDecimal32(2, 1), toDecimal32(3, 1), 1)", "6"),
        define<"divideDecimal", typeOfDecimalPair, runDecimalPair<true>, kMayThrow, 4>(
            "divideDecimal(a, b[, scale])", "A quotient of Decimals with that many digits after the point.",
            "divideDecimal(toDecimal32(6, 1), toDecimal32(3, 1), 1)", "2"),
    };
    return list;
}

}  // namespace shardd::functions
