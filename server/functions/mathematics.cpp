#include <cmath>

#include "server/functions/convert.h"
#include "server/functions/definition.h"

/// Functions of analysis, over doubles.
namespace shardd::functions {

namespace {

void needPlainNumber(const Signature& call, size_t i) {
    if (!call.type(i)->isNumber()) illegalArgument(call, i, "a number");
}

template <size_t kCount>
TypePtr numbersToDouble(const Signature& call) {
    needCount(call, kCount);
    for (size_t i = 0; i < kCount; ++i) needPlainNumber(call, i);
    return types::float64();
}

using Unary = double (*)(double);
using Binary = double (*)(double, double);

template <Unary kFunction>
ColumnPtr runUnary(const Call& call) {
    const DoubleArgument values(call.column(0), call.argumentType(0));
    return eachRow<double>(call.rows, [&](size_t i) { return kFunction(values[i]); });
}

template <Binary kFunction>
ColumnPtr runBinaryMath(const Call& call) {
    const DoubleArgument first(call.column(0), call.argumentType(0));
    const DoubleArgument second(call.column(1), call.argumentType(1));
    return eachRow<double>(call.rows, [&](size_t i) { return kFunction(first[i], second[i]); });
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double exp10(double x) { return std::pow(10.0, x); }

double degrees(double x) { return x * (180.0 / M_PI); }

double radians(double x) { return x * (M_PI / 180.0); }

/// Not the C library's, which says infinity for negative integers and writes a global.
double logGamma(double x) {
    if (x < 0 && x == std::floor(x)) return std::nan("");
    int sign = 0;
    return ::lgamma_r(x, &sign);
}

double lesser(double a, double b) { return std::fmin(a, b); }

double greater(double a, double b) { return std::fmax(a, b); }

TypePtr typeOfTwoSmall(const Signature& call) {
    needCount(call, 2);
    for (size_t i = 0; i < 2; ++i)
        if (!call.type(i)->isNumber() || call.type(i)->width() > 8) illegalArgument(call, i, "a number");
    return types::float64();
}

template <Unary kConstant>
ColumnPtr runConstant(const Call& call) {
    return std::make_shared<ConstColumn>(fixedColumn<double>({kConstant(0)}), call.rows);
}

double eulersNumber(double) { return M_E; }

double piNumber(double) { return M_PI; }

// --- signs and kinds of numbers --------------------------------------------------------------------

TypePtr typeOfSign(const Signature& call) {
    needCount(call, 1);
    needPlainNumber(call, 0);
    return types::simple(TypeKind::Int8);
}

ColumnPtr runSign(const Call& call) {
    const DoubleArgument values(call.column(0), call.argumentType(0));
    return eachRow<int8_t>(call.rows, [&](size_t i) {
        return static_cast<int8_t>(values[i] < 0 ? -1 : values[i] == 0 ? 0 : 1);
    });
}

TypePtr typeOfKind(const Signature& call) {
    needCount(call, 1);
    if (!call.type(0)->isInteger() && !call.type(0)->isFloat() && call.type(0)->kind() != TypeKind::Bool)
        illegalArgument(call, 0, "a number");
    return types::uint8();
}

enum class NumberKind : uint8_t { Finite, Infinite, Nan };

template <NumberKind kKind>
ColumnPtr runKind(const Call& call) {
    const DoubleArgument values(call.column(0), call.argumentType(0));
    return eachRow<uint8_t>(call.rows, [&](size_t i) {
        const double value = values[i];
        return static_cast<uint8_t>(kKind == NumberKind::Finite ? std::isfinite(value)
                                    : kKind == NumberKind::Nan  ? std::isnan(value)
                                                                : std::isinf(value));
    });
}

TypePtr typeOfIfNotFinite(const Signature& call) {
    needCount(call, 2);
    needPlainNumber(call, 0);
    return commonType({call.type(0), call.type(1)});
}

ColumnPtr runIfNotFinite(const Call& call) {
    const auto context = std::make_shared<FunctionContext>(call.context);
    const NamedColumn value[] = {call.arguments[0]};
    const auto finite = resolveFunction("isFinite", value, context);
    const NamedColumn chosen[] = {
        {"", finite->resultType(), finite->execute(value, call.rows)}, call.arguments[0], call.arguments[1]};
    const auto choose = resolveFunction("if", chosen, context);
    return castColumn({"", choose->resultType(), choose->execute(chosen, call.rows)}, call.type);
}

// --- integers --------------------------------------------------------------------------------------

TypePtr typeOfPower(const Signature& call) {
    needCount(call, 1);
    needPlainNumber(call, 0);
    return types::uint64();
}

template <uint64_t kBase, int kMost>
ColumnPtr runPower(const Call& call) {
    const DoubleArgument exponents(call.column(0), call.argumentType(0));
    return eachRow<uint64_t>(call.rows, [&](size_t i) -> uint64_t {
        const double exponent = exponents[i];
        if (!(exponent >= 0)) return 0;
        if (exponent > kMost) return UINT64_MAX;
        uint64_t result = 1;
        for (int step = static_cast<int>(exponent); step > 0; --step) result *= kBase;
        return result;
    });
}

TypePtr typeOfFactorial(const Signature& call) {
    needCount(call, 1);
    needInteger(call, 0);
    return types::uint64();
}

ColumnPtr runFactorial(const Call& call) {
    const IntegerArgument values(call.column(0));
    const bool is_unsigned = call.argumentType(0)->isUnsigned();
    return eachRow<uint64_t>(call.rows, [&](size_t i) {
        const int64_t value = values[i];
        if (value > 20 || (is_unsigned && value < 0))
            throw Error(ErrorCode::BAD_ARGUMENTS,
                        "The maximum value for the input of function factorial is 20");
        uint64_t result = 1;
        for (int64_t factor = 2; factor <= value; ++factor) result *= static_cast<uint64_t>(factor);
        return result;
    });
}

TypePtr typeOfPrime(const Signature& call) {
    needCount(call, 1);
    if (!call.type(0)->isInteger() || !call.type(0)->isUnsigned() || call.type(0)->width() > 8)
        illegalArgument(call, 0, "an unsigned integer");
    return types::uint8();
}

uint64_t powerModulo(uint64_t base, uint64_t exponent, uint64_t modulus) {
    UInt128 result = 1;
    for (UInt128 power = base % modulus; exponent != 0; exponent >>= 1, power = power * power % modulus)
        if (exponent & 1) result = result * power % modulus;
    return static_cast<uint64_t>(result);
}

/// Miller-Rabin with the witnesses that decide all 64-bit numbers.
bool isPrime(uint64_t n) {
    constexpr uint64_t kWitnesses[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
    for (const uint64_t prime : kWitnesses) {
        if (n == prime) return true;
        if (n % prime == 0) return false;
    }
    if (n < 2) return false;
    uint64_t odd = n - 1;
    unsigned twos = 0;
    for (; odd % 2 == 0; odd /= 2) ++twos;
    for (const uint64_t witness : kWitnesses) {
        UInt128 x = powerModulo(witness, odd, n);
        if (x == 1 || x == n - 1) continue;
        bool composite = true;
        for (unsigned i = 1; i < twos && composite; ++i) {
            x = x * x % n;
            composite = x != n - 1;
        }
        if (composite) return false;
    }
    return true;
}

ColumnPtr runPrime(const Call& call) {
    const IntegerArgument values(call.column(0));
    return eachRow<uint8_t>(
        call.rows, [&](size_t i) { return static_cast<uint8_t>(isPrime(static_cast<uint64_t>(values[i]))); });
}

TypePtr typeOfBucket(const Signature& call) {
    needCount(call, 4);
    for (size_t i = 0; i < 3; ++i) needPlainNumber(call, i);
    needInteger(call, 3);
    switch (call.type(3)->width()) {
        case 1:
            return types::simple(TypeKind::UInt16);
        case 2:
            return types::simple(TypeKind::UInt32);
        default:
            return types::uint64();
    }
}

ColumnPtr runBucket(const Call& call) {
    const DoubleArgument values(call.column(0), call.argumentType(0));
    const DoubleArgument lows(call.column(1), call.argumentType(1));
    const DoubleArgument highs(call.column(2), call.argumentType(2));
    const IntegerArgument counts(call.column(3));
    const ColumnPtr wide = eachRow<uint64_t>(call.rows, [&](size_t i) -> uint64_t {
        const double value = values[i];
        const double low = lows[i];
        const double high = highs[i];
        const int64_t count = counts[i];
        if (count <= 0)
            throw Error(ErrorCode::BAD_ARGUMENTS, "In function widthBucket count must be greater than 0");
        if (std::isnan(value) || std::isnan(low) || std::isnan(high))
            throw Error(
                ErrorCode::BAD_ARGUMENTS,
                "The first three arguments (operand, low, high) cannot be NaN in function widthBucket");
        if (std::isinf(low) || std::isinf(high))
            throw Error(ErrorCode::BAD_ARGUMENTS,
                        "The second and third arguments (low, high) cannot be Inf function widthBucket");
        if (value < low || low >= high) return 0;
        if (value >= high) return static_cast<uint64_t>(count) + 1;
        return static_cast<uint64_t>((value - low) * static_cast<double>(count) / (high - low)) + 1;
    });
    return castColumn({"", types::uint64(), wide}, call.type);
}

}  // namespace

#define UNARY(name, function, words) \
    define<name, numbersToDouble<1>, runUnary<static_cast<Unary>(function)>>(name "(number)", words)
#define BINARY(name, function, words) \
    define<name, numbersToDouble<2>, runBinaryMath<static_cast<Binary>(function)>>(name "(a, b)", words)

std::span<const FunctionInfo> mathematicsFunctions() {
    static const FunctionInfo list[] = {
        UNARY("exp", std::exp, "The exponential."),
        UNARY("exp2", std::exp2, "Two to that power."),
        UNARY("exp10", exp10, "Ten to that power."),
        UNARY("log", std::log, "The natural logarithm."),
        UNARY("log2", std::log2, "The binary logarithm."),
        UNARY("log10", std::log10, "The decimal logarithm."),
        UNARY("log1p", std::log1p, "The natural logarithm of one more."),
        UNARY("sqrt", std::sqrt, "The square root."),
        UNARY("cbrt", std::cbrt, "The cube root."),
        UNARY("sin", std::sin, "The sine."),
        UNARY("cos", std::cos, "The cosine."),
        UNARY("tan", std::tan, "The tangent."),
        UNARY("asin", std::asin, "The arc sine."),
        UNARY("acos", std::acos, "The arc cosine."),
        UNARY("atan", std::atan, "The arc tangent."),
        UNARY("sinh", std::sinh, "The hyperbolic sine."),
        UNARY("cosh", std::cosh, "The hyperbolic cosine."),
        UNARY("tanh", std::tanh, "The hyperbolic tangent."),
        UNARY("asinh", std::asinh, "The inverse hyperbolic sine."),
        UNARY("acosh", std::acosh, "The inverse hyperbolic cosine."),
        UNARY("atanh", std::atanh, "The inverse hyperbolic tangent."),
        UNARY("erf", std::erf, "The error function."),
        UNARY("erfc", std::erfc, "One less the error function."),
        UNARY("lgamma", logGamma, "The logarithm of the gamma function."),
        UNARY("tgamma", std::tgamma, "The gamma function."),
        UNARY("sigmoid", sigmoid, "The logistic function."),
        UNARY("degrees", degrees, "Radians as degrees."),
        UNARY("radians", radians, "Degrees as radians."),
        BINARY("pow", std::pow, "a to the power of b."),
        BINARY("atan2", std::atan2, "The angle of the point (b, a)."),
        BINARY("hypot", std::hypot, "The length of the hypotenuse."),
        define<"min2", typeOfTwoSmall, runBinaryMath<lesser>>("min2(a, b)", "The lesser, as a float.",
                                                              "min2(1, 2)", "1"),
        define<"max2", typeOfTwoSmall, runBinaryMath<greater>>("max2(a, b)", "The greater, as a float.",
                                                               "max2(1, 2)", "2"),
        define<"e", nothingTo<TypeKind::Float64>, runConstant<eulersNumber>>("e()", "Euler's number."),
        define<"pi", nothingTo<TypeKind::Float64>, runConstant<piNumber>>("pi()", "The number pi."),
        define<"sign", typeOfSign, runSign>("sign(number)", "-1, 0 or 1.", "sign(-5)", "-1"),
        define<"isFinite", typeOfKind, runKind<NumberKind::Finite>>(
            "isFinite(number)", "1 unless it is infinite or NaN.", "isFinite(1)", "1"),
        define<"isInfinite", typeOfKind, runKind<NumberKind::Infinite>>(
            "isInfinite(number)", "1 for an infinity.", "isInfinite(inf)", "1"),
        define<"isNaN", typeOfKind, runKind<NumberKind::Nan>>("isNaN(number)", "1 for NaN.", "isNaN(nan)",
                                                              "1"),
        define<"ifNotFinite", typeOfIfNotFinite, runIfNotFinite>("ifNotFinite(number, alternative)",
                                                                 "The alternative for infinities and NaN.",
                                                                 "ifNotFinite(inf, 5)", "5"),
        define<"intExp2", typeOfPower, runPower<2, 63>>(
            "intExp2(number)", "Two to that power, as an integer.", "intExp2(10)", "1024"),
        define<"intExp10", typeOfPower, runPower<10, 19>>(
            "intExp10(number)", "Ten to that power, as an integer.", "intExp10(3)", "1000"),
        define<"factorial", typeOfFactorial, runFactorial, kMayThrow>(
            "factorial(number)", "The product of all positive integers up to it.", "factorial(5)", "120"),
        define<"isPrime", typeOfPrime, runPrime>("isPrime(number)", "1 for a prime.", "isPrime(toUInt8(97))",
                                                 "1"),
        define<"widthBucket", typeOfBucket, runBucket, kMayThrow>(
            "widthBucket(number, low, high, count)",
            "Which of `count` equal parts of [low, high) holds the number; 0 below, count + 1 above.",
            "widthBucket(5, 0, 10, 4)", "3"),
    };
    return list;
}

}  // namespace shardd::functions
