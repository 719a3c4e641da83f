#include "server/formats/value_text.h"

#include <gtest/gtest.h>

#include "common/columns/create_column.h"
#include "common/types/type_parser.h"
#include "server/formats/address_text.h"
#include "server/formats/number_text.h"
#include "server/formats/time_text.h"

namespace shardd::formats {
namespace {

std::string floatText(double value) {
    Writer out;
    writeFloat(value, out);
    return std::string(out.view());
}

TEST(Floats, ShortestInClickHousesLayout) {
    EXPECT_EQ(floatText(0.1), "0.1");
    EXPECT_EQ(floatText(-0.0), "-0");
    EXPECT_EQ(floatText(1e20), "100000000000000000000");
    EXPECT_EQ(floatText(1e21), "1e21");
    EXPECT_EQ(floatText(1.5e300), "1.5e300");
    EXPECT_EQ(floatText(0.000001), "0.000001");
    EXPECT_EQ(floatText(1e-7), "1e-7");
    EXPECT_EQ(floatText(18446744073709551615.0), "18446744073709552000");
    EXPECT_EQ(floatText(1234.5678), "1234.5678");
    EXPECT_EQ(floatText(std::numeric_limits<double>::infinity()), "inf");
    EXPECT_EQ(floatText(std::numeric_limits<double>::quiet_NaN()), "nan");
    Writer out;
    writeFloat(2147483648.0F, out);
    EXPECT_EQ(out.view(), "2147483600");
}

struct TextCase {
    const char* type;
    const char* quoted;  // as in SQL
    const char* plain;
    const char* escaped;
    const char* csv;
    const char* json;
};

TEST(ValueText, EveryMannerAndBack) {
    const TextCase cases[] = {
        {"UInt8", "255", "255", "255", "255", "255"},
        {"Int256", "-57896044618658097711785492504343953926634992332820282019728792003956564819968",
         "-57896044618658097711785492504343953926634992332820282019728792003956564819968",
         "-57896044618658097711785492504343953926634992332820282019728792003956564819968",
         "-57896044618658097711785492504343953926634992332820282019728792003956564819968",
         "-57896044618658097711785492504343953926634992332820282019728792003956564819968"},
        {"Float64", "-inf", "-inf", "-inf", "-inf", "null"},
        {"Bool", "true", "true", "true", "true", "true"},
        {"Decimal(18, 4)", "-0.0001", "-0.0001", "-0.0001", "-0.0001", "-0.0001"},
        {"Decimal(9, 2)", "1.5", "1.5", "1.5", "1.5", "1.5"},
        {"Date", "'2024-02-29'", "2024-02-29", "2024-02-29", "\"2024-02-29\"", "\"2024-02-29\""},
        {"DateTime64(3, 'America/New_York')", "'1950-06-15 12:30:45.678'", "1950-06-15 12:30:45.678",
         "1950-06-15 12:30:45.678", "\"1950-06-15 12:30:45.678\"", "\"1950-06-15 12:30:45.678\""},
        {"String", "'a\\'b\\n'", "a'b\n", "a\\'b\\n", "\"a'b\n\"", "\"a'b\\n\""},
        {"Nullable(UInt8)", "NULL", "NULL", "\\N", "\\N", "null"},
        {"Enum8('a' = 1, 'b' = 2)", "'b'", "b", "b", "\"b\"", "\"b\""},
        {"UUID", "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'", "61f0c404-5cb3-11e7-907b-a6006ad3dba0",
         "61f0c404-5cb3-11e7-907b-a6006ad3dba0", "\"61f0c404-5cb3-11e7-907b-a6006ad3dba0\"",
         "\"61f0c404-5cb3-11e7-907b-a6006ad3dba0\""},
        {"IPv6", "'2001:db8::1:0:0:1'", "2001:db8::1:0:0:1", "2001:db8::1:0:0:1", "\"2001:db8::1:0:0:1\"",
         "\"2001:db8::1:0:0:1\""},
        {"Array(Nullable(String))", "['a',NULL]", "['a',NULL]", "['a',NULL]", "\"['a',NULL]\"",
         "[\"a\",null]"},
        {"Tuple(a UInt8, b String)", "(1,'x')", "(1,'x')", "(1,'x')", "\"(1,'x')\"", "{\"a\":1,\"b\":\"x\"}"},
        {"Map(UInt8, Date)", "{1:'2024-02-29'}", "{1:'2024-02-29'}", "{1:'2024-02-29'}",
         "\"{1:'2024-02-29'}\"", "{\"1\":\"2024-02-29\"}"},
    };
    for (const TextCase& each : cases) {
        const TypePtr type = parseType(each.type);
        MutableColumnPtr column = createColumn(*type);
        column->insert(parseValue(type, each.quoted, TextStyle::Quoted));
        EXPECT_EQ(textOf(*column, 0, type, TextStyle::Quoted), each.quoted) << each.type;
        EXPECT_EQ(textOf(*column, 0, type, TextStyle::Plain), each.plain) << each.type;
        EXPECT_EQ(textOf(*column, 0, type, TextStyle::Escaped), each.escaped) << each.type;
        EXPECT_EQ(textOf(*column, 0, type, TextStyle::Csv), each.csv) << each.type;
        EXPECT_EQ(textOf(*column, 0, type, TextStyle::Json), each.json) << each.type;
        EXPECT_EQ(parseValue(type, each.escaped, TextStyle::Escaped), column->value(0)) << each.type;
        EXPECT_EQ(parseValue(type, each.csv, TextStyle::Csv), column->value(0)) << each.type;
    }
}

struct BadCase {
    const char* type;
    const char* text;
    ErrorCode code;
};

TEST(ValueText, SaysWhatIsWrong) {
    const BadCase cases[] = {
        {"UInt8", "x", ErrorCode::CANNOT_PARSE_TEXT},
        {"UInt8", "", ErrorCode::ATTEMPT_TO_READ_AFTER_EOF},
        {"UInt8", "-1", ErrorCode::CANNOT_PARSE_NUMBER},
        {"Float64", "-", ErrorCode::CANNOT_PARSE_NUMBER},
        {"Date", "2024", ErrorCode::CANNOT_PARSE_DATE},
        {"DateTime", "yesterday", ErrorCode::CANNOT_PARSE_DATETIME},
        {"UUID", "61f0c404", ErrorCode::CANNOT_PARSE_UUID},
        {"IPv4", "1.2.3", ErrorCode::CANNOT_PARSE_IPV4},
        {"IPv6", "1::2::3", ErrorCode::CANNOT_PARSE_IPV6},
        {"Bool", "maybe", ErrorCode::CANNOT_PARSE_BOOL},
        {"FixedString(2)", "abc", ErrorCode::TOO_LARGE_STRING_SIZE},
        {"Decimal(9, 2)", "1e8", ErrorCode::ARGUMENT_OUT_OF_BOUND},
        {"Array(UInt8)", "[1", ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED},
        {"Array(UInt8)", "1", ErrorCode::CANNOT_READ_ARRAY_FROM_TEXT},
        {"Array(String)", "['a]", ErrorCode::CANNOT_PARSE_QUOTED_STRING},
    };
    for (const BadCase& each : cases) {
        try {
            parseValue(parseType(each.type), each.text);
            ADD_FAILURE() << each.type << " accepts " << each.text;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), static_cast<int>(each.code))
                << each.type << ": " << each.text << ": " << error.what();
        }
    }
}

TEST(BestEffort, ManyWays) {
    const std::pair<const char*, int64_t> cases[] = {
        {"2024-02-29T12:34:56+03:00", 1709199296},
        {"29 Feb 2024 10:11", 1709201460},
        {"1709210096", 1709210096},
        {"1709210096123", 1709210096},
        {"20240229T123456Z", 1709210096},
        {"Thu, 29 Feb 2024 12:34:56 GMT", 1709210096},
        {"2024-02-29 12:34 PM", 1709210040},
        {"29/02/2024", 1709164800},
    };
    for (const auto& [text, seconds] : cases) {
        TextInput in(text);
        ParsedMoment moment;
        EXPECT_EQ(readMomentBestEffort(in, TimeZone::utc(), moment), ErrorCode::OK) << text;
        EXPECT_TRUE(in.atEnd()) << text;
        EXPECT_EQ(moment.seconds, seconds) << text;
    }
}

TEST(TimeZone, GapsAndRepetitions) {
    const TimeZone& new_york = TimeZone::get("America/New_York");
    EXPECT_EQ(new_york.moment(2024, 3, 10, 2, 30, 0), 1710052200);  // does not exist: 01:30
    EXPECT_EQ(new_york.moment(2024, 11, 3, 1, 30, 0), 1730611800);  // the first of two
    EXPECT_EQ(new_york.offsetAt(1710053999), -18000);
    EXPECT_EQ(new_york.offsetAt(1710054000), -14400);
    const LocalTime local = new_york.localTime(-616850955);
    EXPECT_EQ(local.hour(), 8u);
    EXPECT_EQ(civilFromDays(local.days).year, 1950);
    EXPECT_THROW(TimeZone::get("No/Zone"), Error);
}

}  // namespace
}  // namespace shardd::formats
