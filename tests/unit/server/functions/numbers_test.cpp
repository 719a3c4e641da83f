#include <gtest/gtest.h>

#include "tests/unit/server/functions/evaluate.h"

namespace shardd::functions {
namespace {

// Every answer was asked of ClickHouse 26.7.
constexpr Case kArithmetic[] = {
    {"1 + 2", "UInt16 3"},
    {"toUInt8(255) + toUInt8(1)", "UInt16 256"},
    {"toInt8(-128) - toUInt8(2)", "Int16 -130"},
    {"toUInt64(1) - toUInt64(2)", "Int64 -1"},
    {"toUInt64(18446744073709551615) + 1", "UInt64 0"},
    {"toUInt8(200) + toFloat32(0.5)", "Float64 200.5"},
    {"toBFloat16(1) + 1", "Float32 2"},
    {"toInt128(1) + 1.5", "error 43"},
    {"toInt128('170141183460469231731687303715884105727') * 2", "Int128 -2"},
    {"7 / 0", "Float64 inf"},
    {"0 / 0", "Float64 nan"},
    {"0 / -2", "Float64 -0"},
    {"intDiv(-7, 2)", "Int8 -3"},
    {"intDiv(toUInt8(200), -2)", "Int8 28"},
    {"intDiv(toInt8(8), toUInt8(250))", "Int8 -1"},
    {"intDiv(toInt32(8), toUInt8(250))", "Int32 0"},
    {"intDiv(toUInt32(4000000000), toInt8(-2))", "Int32 147483648"},
    {"intDiv(7, 0)", "error 153"},
    {"intDiv(toInt8(-128), toInt8(-1))", "error 153"},
    {"intDiv(7, 2.5)", "Int8 2"},
    {"intDivOrZero(toInt32(-2147483648), toInt32(-1))", "Int32 0"},
    {"intDivOrNull(7, 0)", "Nullable(UInt8) NULL"},
    {"7 % -3", "UInt8 1"},
    {"toUInt64(7) % toInt8(-3)", "UInt8 7"},
    {"toInt64(7) % toUInt16(3)", "Int32 1"},
    {"7.5 % 2.5", "Float64 0"},
    {"positiveModulo(-7, -3)", "UInt8 2"},
    {"positiveModulo(-7.5, 3)", "Float64 1.5"},
    {"gcd(-12, 18)", "Int16 6"},
    {"gcd(12, 0)", "error 153"},
    {"lcm(4, 6)", "UInt16 12"},
    {"-toUInt8(200)", "Int16 -200"},
    {"-toInt8(-128)", "Int8 -128"},
    {"abs(toInt8(-128))", "UInt8 128"},
    {"1 + NULL", "Nullable(Nothing) NULL"},
    {"'a' + 1", "error 43"},
    {"plus(1)", "error 42"},
};

constexpr Case kDecimals[] = {
    {"toDecimal32('1.25', 2) + toDecimal64('3.1234', 4)", "Decimal(18, 4) 4.3734"},
    {"toDecimal32('1.50', 2) * toDecimal64('2.5', 1)", "Decimal(18, 3) 3.75"},
    {"toDecimal32('10.00', 2) / 3", "Decimal(9, 2) 3.33"},
    {"1 / toDecimal32(1.5, 4)", "Decimal(9, 4) 0.6666"},
    {"toDecimal32(1.5, 2) / toDecimal32(1.5, 4)", "error 69"},
    {"toDecimal32(99999999, 1) * 10", "error 407"},
    {"toDecimal32(1.5, 4) / 0", "error 153"},
    {"toDecimal32(1.5, 2) + 1.5", "Float64 3"},
    {"toDecimal32(1.5, 4) % toDecimal32(1.4, 2)", "Decimal(9, 4) 0.002"},
    {"intDiv(toDecimal32(7.5, 2), toDecimal32(2, 1))", "Int32 3"},
    {"multiplyDecimal(toDecimal64('1.2345', 4), toDecimal64('2.5', 1))", "Decimal(76, 4) 3.0862"},
    {"isDecimalOverflow(toDecimal32('99999.99', 2), 3)", "UInt8 1"},
};

constexpr Case kRounding[] = {
    {"round(2.5)", "Float64 2"},
    {"round(2.675, 2)", "Float64 2.68"},
    {"round(25, -1)", "UInt8 30"},
    {"round(-25, -1)", "Int8 -30"},
    {"round(toUInt8(255), -1)", "UInt8 4"},
    {"roundBankers(25, -1)", "UInt8 20"},
    {"floor(toInt8(-128), -1)", "Int8 110"},
    {"floor(toDecimal64('-7.89', 2))", "Decimal(18, 2) -8"},
    {"ceil(1234.5678, -2)", "Float64 1300"},
    {"trunc(-0.5)", "Float64 -0"},
    {"roundDown(-3, [1, 4, 10])", "Int16 1"},
    {"roundToExp2(1000.5)", "Float64 512"},
};

constexpr Case kBits[] = {
    {"bitAnd(-1, toInt16(-256))", "Int16 -256"},
    {"bitNot(1.5)", "Int64 -2"},
    {"bitShiftLeft(1, 8)", "UInt8 0"},
    {"bitShiftLeft(1, -1)", "error 69"},
    {"bitRotateRight(toUInt8(3), 1)", "UInt8 129"},
    {"bitTest(5, -1)", "error 12"},
    {"bitCount('abc')", "UInt64 10"},
    {"bitSlice('Hello', 3, 8)", "String !"},
    {"bitShiftRight('abc', 8)", "String ab"},
};

constexpr Case kMathematics[] = {
    {"sqrt(toDecimal32('2.25', 2))", "Float64 1.5"},
    {"lgamma(-1)", "Float64 nan"},
    {"sign(nan)", "Int8 1"},
    {"intExp10(20)", "UInt64 18446744073709551615"},
    {"factorial(21)", "error 36"},
    {"isPrime(toUInt64(18446744073709551557))", "UInt8 1"},
    {"widthBucket(100, 0, 10, 4)", "UInt16 5"},
    {"ifNotFinite(1 / 0, 42)", "Float64 42"},
};

class Numbers : public testing::TestWithParam<Case> {};

TEST_P(Numbers, AnswerAsClickHouse) {
    EXPECT_EQ(answer(GetParam().expression), GetParam().answer) << GetParam().expression;
}

INSTANTIATE_TEST_SUITE_P(Arithmetic, Numbers, testing::ValuesIn(kArithmetic));
INSTANTIATE_TEST_SUITE_P(Decimals, Numbers, testing::ValuesIn(kDecimals));
INSTANTIATE_TEST_SUITE_P(Rounding, Numbers, testing::ValuesIn(kRounding));
INSTANTIATE_TEST_SUITE_P(Bits, Numbers, testing::ValuesIn(kBits));
INSTANTIATE_TEST_SUITE_P(Mathematics, Numbers, testing::ValuesIn(kMathematics));

}  // namespace
}  // namespace shardd::functions
