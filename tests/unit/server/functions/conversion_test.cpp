#include <gtest/gtest.h>

#include "tests/unit/server/functions/evaluate.h"

namespace shardd::functions {
namespace {

// Every answer was asked of ClickHouse 26.7.
constexpr Case kNumbers[] = {
    {"toUInt8(256)", "UInt8 0"},
    {"toUInt8(-1)", "UInt8 255"},
    {"toUInt8(1.9)", "UInt8 1"},
    {"toInt8(nan)", "error 70"},
    {"toUInt64(1e20)", "UInt64 9223372036854775808"},
    {"toUInt8('42')", "UInt8 42"},
    {"toInt8('128')", "Int8 -128"},
    {"toUInt8('256x')", "error 6"},
    {"toUInt8('')", "error 32"},
    {"toUInt8('-1')", "error 72"},
    {"toUInt8([1])", "error 43"},
    {"toUInt8OrNull('256')", "Nullable(UInt8) NULL"},
    {"toInt8OrZero('-42')", "Int8 -42"},
    {"toInt32OrZero(5)", "error 43"},
    {"toInt32OrDefault('abc', toInt32(-7))", "Int32 -7"},
    {"toInt32OrDefault('x', 'y')", "error 36"},
    {"toInt64(toNullable('x'))", "Nullable(Int64) NULL"},
    {"toFloat64('1e400')", "Float64 inf"},
    {"toFloat64('.5')", "Float64 0.5"},
    {"toFloat64('abc')", "error 72"},
    {"toFloat64('1e')", "error 6"},
    {"toFloat32(16777217)", "Float32 16777216"},
    {"toBool('yes')", "Bool true"},
    {"toBool('maybe')", "error 467"},
    {"toDecimal32('1.23456', 2)", "Decimal(9, 2) 1.23"},
    {"toDecimal32('12345678.9', 2)", "error 69"},
    {"toDecimal32(100000000, 2)", "error 407"},
    {"toDecimal32(1.999, 2)", "Decimal(9, 2) 1.99"},
    {"toUInt8(toDecimal32(-1.5, 2))", "error 407"},
    {"accurateCast(300, 'UInt8')", "error 70"},
    {"accurateCastOrNull(0.1, 'Float32')", "Nullable(Float32) NULL"},
    {"accurateCastOrNull('300', 'UInt8')", "Nullable(UInt8) NULL"},
    {"accurateCastOrDefault(300, 'UInt8', toUInt8(9))", "UInt8 9"},
};

constexpr Case kMoments[] = {
    {"toDate('2024-02-29')", "Date 2024-02-29"},
    {"toDate('2024-02-29 12:34:56')", "Date 2024-02-29"},
    {"toDate('2024-13-10')", "Date 1970-01-01"},
    {"toDate('bad')", "error 38"},
    {"toDate(65536)", "Date 1970-01-01"},
    {"toDate(toDate32('1925-01-01'))", "Date 2104-06-07"},
    {"toDate32('1800-01-01')", "Date32 1900-01-01"},
    {"toDate32OrZero('bad')", "Date32 1900-01-01"},
    {"toDateTime('2024-03-10 02:30:00', 'America/New_York')",
     "DateTime('America/New_York') 2024-03-10 01:30:00"},
    {"toDateTime('2024-02-29 12:34:56', 'No/Zone')", "error 36"},
    {"toDateTime(-1, 'UTC')", "DateTime('UTC') 1970-01-01 00:00:00"},
    {"toDateTime(toDateTime64('1950-06-15 12:30:45.678', 3, 'UTC'), 'UTC')",
     "DateTime('UTC') 2086-07-21 18:59:01"},
    {"toDateTimeOrNull('20240229', 'UTC')", "Nullable(DateTime('UTC')) 1970-08-23 06:17:09"},
    {"toDateTime64('2024-02-29 12:34:56.7899', 3, 'UTC')", "DateTime64(3, 'UTC') 2024-02-29 12:34:56.789"},
    {"toDateTime64('2024-02-29', 12, 'UTC')", "error 69"},
    {"parseDateTimeBestEffort('Sat, 18 Aug 2018 07:22:16 +0300', 'UTC')",
     "DateTime('UTC') 2018-08-18 04:22:16"},
    {"parseDateTimeBestEffort('18.08.18', 'UTC')", "DateTime('UTC') 2018-08-18 00:00:00"},
    {"parseDateTimeBestEffortUS('08/18/2018 07:22', 'UTC')", "DateTime('UTC') 2018-08-18 07:22:00"},
    {"parseDateTimeBestEffort('2024-02-30', 'UTC')", "error 41"},
    {"parseDateTimeBestEffortOrNull('x', 'UTC')", "Nullable(DateTime('UTC')) NULL"},
    {"toTime('999:59:59')", "Time 999:59:59"},
};

constexpr Case kCasts[] = {
    {"CAST(NULL, 'Int32')", "error 70"},
    {"CAST('abc', 'Nullable(Int32)')", "Nullable(Int32) NULL"},
    {"CAST('[1, 2 ,3 ]', 'Array(Int32)')", "Array(Int32) [1,2,3]"},
    {"CAST('[1,2', 'Array(Int32)')", "error 27"},
    {"CAST('[a]', 'Array(Int32)')", "error 130"},
    {"CAST('[]x', 'Array(Int32)')", "error 632"},
    {"CAST([1, 2], 'Array(String)')", "Array(String) ['1','2']"},
    {"CAST(([1, 2], ['a', 'b']), 'Map(UInt8, String)')", "Map(UInt8, String) {1:'a',2:'b'}"},
    {"CAST('{}', 'Map(String, UInt8)')", "error 53"},
    {"CAST((1, 2, 3), 'Tuple(UInt8, UInt8)')", "error 53"},
    {"CAST(5, 'Enum8(\\'a\\' = 1)')", "error 691"},
    {"CAST(1, 'Array(UInt8)')", "error 53"},
    {"CAST('abcdef', 'FixedString(3)')", "error 131"},
    {"CAST('300.1.2.3', 'IPv4')", "error 675"},
    {"CAST(toIPv4('1.2.3.4'), 'IPv6')", "IPv6 ::ffff:1.2.3.4"},
    {"toUInt128(toUUID('00112233-4455-6677-8899-aabbccddeeff'))",
     "UInt128 88962710306127702866241727433142015"},
    {"toString(toFixedString('ab', 4))", "String ab"},
    {"toString(['a', 'b\\'c'])", "String ['a','b\\'c']"},
    {"toString(toDateTime('2024-02-29 12:34:56', 'UTC'), 'Asia/Tokyo')", "String 2024-02-29 21:34:56"},
    {"toTypeName(toLowCardinality(toNullable('a')))", "String LowCardinality(Nullable(String))"},
    {"reinterpretAsUInt16('ab')", "UInt16 25185"},
    {"reinterpretAsUUID('0123456789abcdef')", "UUID 37363534-3332-3130-6665-646362613938"},
    {"toDecimalString(toDecimal32('1.234', 3), 2)", "String 1.23"},
    {"parseReadableSize('2.5 MB')", "UInt64 2500000"},
    {"parseTimeDelta('11s+22min')", "Float64 1331"},
};

class Conversion : public testing::TestWithParam<Case> {};

TEST_P(Conversion, AnswersAsClickHouse) {
    EXPECT_EQ(answer(GetParam().expression), GetParam().answer) << GetParam().expression;
}

INSTANTIATE_TEST_SUITE_P(Numbers, Conversion, testing::ValuesIn(kNumbers));
INSTANTIATE_TEST_SUITE_P(Moments, Conversion, testing::ValuesIn(kMoments));
INSTANTIATE_TEST_SUITE_P(Casts, Conversion, testing::ValuesIn(kCasts));

}  // namespace
}  // namespace shardd::functions
