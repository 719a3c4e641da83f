#include <gtest/gtest.h>

#include "tests/unit/server/functions/evaluate.h"

namespace shardd::functions {
namespace {

// Every answer was asked of ClickHouse 26.7.
constexpr Case kComparison[] = {
    {"toInt64(-1) = toUInt64(18446744073709551615)", "UInt8 0"},
    {"9007199254740993 = 9007199254740992.0", "UInt8 0"},
    {"nan = nan", "UInt8 0"},
    {"toDate('2024-02-29') = '2024-02-29'", "UInt8 1"},
    {"toDate('2024-02-29') = toDateTime('2024-02-29 00:00:00', 'UTC')", "UInt8 1"},
    {"toDate('2020-01-01') = 18262", "error 43"},
    {"toDate('2020-01-01') = 'bad'", "error 38"},
    {"1 = 'abc'", "error 53"},
    {"toUInt8(1) = '257'", "UInt8 0"},
    {"toFixedString('abc', 5) = 'abc'", "UInt8 1"},
    {"toIPv4('1.2.3.4') = toIPv6('::ffff:1.2.3.4')", "UInt8 1"},
    {"CAST('a', 'Enum8(\\'a\\' = 1)') = 'b'", "UInt8 0"},
    {"(1, NULL) = (2, 1)", "Nullable(UInt8) NULL"},
    {"(1, 'b') < (1, 'c')", "UInt8 1"},
    {"[1, NULL] = [1, NULL]", "UInt8 1"},
    {"(1, 2) = (1, 2, 3)", "error 43"},
    {"toDecimal32('1.1', 1) < 1.2", "UInt8 1"},
    {"less(toUInt64(18446744073709551615), toDecimal32('1.5', 1))", "error 407"},
    {"isDistinctFrom(NULL, 1)", "UInt8 1"},
    {"isNotDistinctFrom(NULL, NULL)", "UInt8 1"},
    {"equals(toLowCardinality('a'), 'a')", "LowCardinality(UInt8) 1"},
    {"in(300, (44, 300))", "UInt8 1"},
    {"in(-1, (18446744073709551615, 2))", "UInt8 0"},
    {"in((1, 'a'), ((1, 'a'), (2, 'b')))", "UInt8 1"},
    {"in(1, (NULL, 2))", "UInt8 0"},
    {"in(toDate('2024-02-29'), '2024-02-29')", "UInt8 1"},
};

constexpr Case kLogic[] = {
    {"NULL AND 0", "Nullable(UInt8) 0"}, {"1 AND NULL", "Nullable(UInt8) NULL"},
    {"NULL OR 1", "Nullable(UInt8) 1"},  {"xor(1, NULL)", "Nullable(Nothing) NULL"},
    {"not(true)", "Bool false"},         {"true AND 2", "Bool true"},
    {"'a' AND 1", "error 43"},           {"and(1)", "error 35"},
};

constexpr Case kConditional[] = {
    {"if(NULL, 'yes', 'no')", "String no"},
    {"if(1, toUInt8(1), toInt16(-300))", "Int16 1"},
    {"if('a', 1, 2)", "error 43"},
    {"if(1, 2)", "error 42"},
    {"if(1, toDate('2024-02-29'), toDateTime('2024-02-29 01:00:00', 'UTC'))",
     "DateTime('UTC') 2024-02-29 00:00:00"},
    {"multiIf(0, 'a', NULL, 'b', 'c')", "String c"},
    {"caseWithExpression('b', 'a', 1, 'b', 2, 0)", "UInt8 2"},
    {"coalesce(NULL, 1, 'a')", "UInt8 1"},
    {"ifNull(NULL, -1)", "Int8 -1"},
    {"nullIf(1, 1)", "Nullable(UInt8) NULL"},
    {"assumeNotNull(toNullable(5))", "UInt8 5"},
    {"isNull(NULL)", "UInt8 1"},
    {"greatest(1, NULL)", "Nullable(UInt8) 1"},
    {"greatest(toUInt64(1), toInt64(-5))", "UInt64 1"},
    {"least(1, toInt64(-5))", "Int64 -5"},
    {"least(2.5, toInt64(-5))", "error 43"},
    {"clamp(5, 10, 0)", "error 36"},
    {"transform(9, [1, 2], ['one', 'two'], 'other')", "String other"},
    {"transform(toUInt8(1), [256, 1], [10, 20], 0)", "UInt8 20"},
    {"transform(1, [1, 2], ['a'], 'b')", "error 36"},
};

constexpr Case kFrame[] = {
    {"toTypeName(toLowCardinality(toUInt8(1)) + 1)", "String LowCardinality(UInt16)"},
    {"toTypeName(toNullable(1) + 1)", "String Nullable(UInt16)"},
    {"toTypeName(splitByChar(',', toNullable('a,b')))", "String Array(String)"},
    {"PLUS(1, 2)", "error 46"},
    {"nosuchfunction(1)", "error 46"},
    {"truncate(1.5)", "Float64 1"},
    {"POWER(2, 3)", "Float64 8"},
};

class Conditions : public testing::TestWithParam<Case> {};

TEST_P(Conditions, AnswerAsClickHouse) {
    EXPECT_EQ(answer(GetParam().expression), GetParam().answer) << GetParam().expression;
}

INSTANTIATE_TEST_SUITE_P(Comparison, Conditions, testing::ValuesIn(kComparison));
INSTANTIATE_TEST_SUITE_P(Logic, Conditions, testing::ValuesIn(kLogic));
INSTANTIATE_TEST_SUITE_P(Conditional, Conditions, testing::ValuesIn(kConditional));
INSTANTIATE_TEST_SUITE_P(Frame, Conditions, testing::ValuesIn(kFrame));

}  // namespace
}  // namespace shardd::functions
