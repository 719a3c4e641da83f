#include "common/types/type_parser.h"

#include <gtest/gtest.h>

#include "common/base/error.h"

namespace shardd {
namespace {

TEST(TypeParser, GivesTheCanonicalName) {
    const std::pair<const char*, const char*> cases[] = {
        {"UInt8", "UInt8"},
        {" Map( String , UInt64 ) ", "Map(String, UInt64)"},
        {"INT UNSIGNED", "UInt32"},
        {"double precision", "Float64"},
        {"VARCHAR(255)", "String"},
        {"bool", "Bool"},
        {"Decimal(10)", "Decimal(10, 0)"},
        {"Decimal64(3)", "Decimal(18, 3)"},
        {"Enum('b', 'a' = 7, 'c')", "Enum8('b' = 1, 'a' = 7, 'c' = 8)"},
        {"Enum8('x' = 5, 'y' = -3)", "Enum8('y' = -3, 'x' = 5)"},
        {"Enum('a' = 1000)", "Enum16('a' = 1000)"},
        {"DateTime('Europe/Berlin')", "DateTime('Europe/Berlin')"},
        {"DateTime64(3, \\'UTC\\')", ""},
        {"DateTime64(3, 'UTC')", "DateTime64(3, 'UTC')"},
        {"DateTime64", "DateTime64(3)"},
        {"Tuple(a UInt8, `b c` String)", "Tuple(a UInt8, `b c` String)"},
        {"Tuple(UInt8, INT UNSIGNED)", "Tuple(UInt8, UInt32)"},
        {"Tuple()", "Tuple()"},
        {"Nested(a UInt8, b String)", "Nested(a UInt8, b String)"},
        {"LowCardinality(Nullable(String))", "LowCardinality(Nullable(String))"},
        {"Array(Array(Nullable(Int32)))", "Array(Array(Nullable(Int32)))"},
        {"SimpleAggregateFunction(sum, UInt64)", "SimpleAggregateFunction(sum, UInt64)"},
        {"Point", "Point"},
        {"IntervalDay", "IntervalDay"},
    };
    for (const auto& [text, name] : cases) {
        if (*name == 0) {
            EXPECT_THROW(parseType(text), Error) << text;
            continue;
        }
        EXPECT_EQ(parseType(text)->name(), name) << text;
        EXPECT_EQ(parseType(parseType(text)->name())->name(), name) << text;
    }
}

TEST(TypeParser, RefusesWithTheCodesOfClickHouse) {
    const std::pair<std::string, ErrorCode> cases[] = {
        {"Foo", ErrorCode::UNKNOWN_TYPE},
        {"Nullable(Array(UInt8))", ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT},
        {"Nullable(Tuple(UInt8))", ErrorCode::ILLEGAL_COLUMN},
        {"FixedString(0)", ErrorCode::UNEXPECTED_AST_STRUCTURE},
        {"Decimal(80, 2)", ErrorCode::ARGUMENT_OUT_OF_BOUND},
        {"LowCardinality(Array(UInt8))", ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT},
        {"Enum8('a' = 1, 'a' = 2)", ErrorCode::SYNTAX_ERROR},
        {"DateTime('Nowhere/X')", ErrorCode::BAD_ARGUMENTS},
        {"Array()", ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH},
        {"Map(Nullable(UInt8), UInt8)", ErrorCode::BAD_ARGUMENTS},
        {"Array(UInt8", ErrorCode::SYNTAX_ERROR},
        {"UInt8 x", ErrorCode::SYNTAX_ERROR},
        {"", ErrorCode::SYNTAX_ERROR},
        {"Variant(UInt8, String)", ErrorCode::NOT_IMPLEMENTED},
    };
    for (const auto& [text, code] : cases) {
        try {
            parseType(text);
            ADD_FAILURE() << text << " was taken";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), static_cast<int>(code)) << text << ": " << error.message();
        }
    }
    std::string deep;
    for (int i = 0; i < 10000; ++i) deep += "Array(";
    EXPECT_THROW(parseType(deep), Error);
}

}  // namespace
}  // namespace shardd
