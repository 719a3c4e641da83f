// Calls with their answers, taken from ClickHouse; and every example of the list.

#include <set>

#include <gtest/gtest.h>

#include "server/functions/function_list.h"
#include "tests/support/function_call.h"

namespace shardd::tests {
namespace {

struct Case {
    const char* name;
    std::vector<Argument> arguments;
    const char* expected;
};

std::ostream& operator<<(std::ostream& out, const Case& test) {
    out << test.name << "(";
    for (const Argument& argument : test.arguments) out << argument.type << " " << argument.text << ", ";
    return out << ")";
}

const Case kCases[] = {
    {"length", {{"String", "abc"}}, "UInt64 3"},
    {"length", {{"FixedString(5)", "a"}}, "UInt64 5"},
    {"length", {{"UInt8", "5"}}, "error 43"},
    {"lengthUTF8", {{"String", "Привет"}}, "UInt64 6"},
    {"substring", {{"String", "Hello, World"}, {"Int8", "-5"}, {"Int8", "3"}}, "String Wor"},
    {"substring", {{"String", "Hello, World"}, {"Int8", "8"}, {"Int8", "-2"}}, "String Wor"},
    {"substring", {{"String", "abcdef"}, {"Int8", "-10"}, {"Int8", "6"}}, "String ab"},
    {"substring", {{"String", "abc"}, {"UInt8", "0"}}, "String "},
    {"left", {{"String", "Hello"}, {"Int8", "-2"}}, "String Hel"},
    {"right", {{"String", "Hello"}, {"Int8", "-2"}}, "String llo"},
    {"leftPad", {{"String", "7"}, {"UInt8", "3"}, {"String", "ab"}}, "String ab7"},
    {"like", {{"String", "Hello"}, {"String", "%l_o"}}, "UInt8 1"},
    {"like", {{"String", "a_b"}, {"String", "a\\_b"}}, "UInt8 1"},
    {"ilike", {{"String", "HeLLo"}, {"String", "hell%"}}, "UInt8 1"},
    {"match", {{"String", "a"}, {"String", "["}}, "error 427"},
    {"position", {{"String", "Hello, World"}, {"String", "o"}, {"UInt8", "6"}}, "UInt64 9"},
    {"replaceRegexpAll", {{"String", "a1b2"}, {"String", "[0-9]"}, {"String", "<\\0>"}}, "String a<1>b<2>"},
    {"splitByChar", {{"String", ","}, {"String", "a,b,c"}}, "Array(String) ['a','b','c']"},
    {"toYear", {{"Date", "2024-02-29"}}, "UInt16 2024"},
    {"toYear", {{"Nullable(Date)", "2024-02-29"}}, "Nullable(UInt16) 2024"},
    {"toHour", {{"DateTime('America/New_York')", "2024-11-03 01:59:59"}}, "UInt8 1"},
    {"toMonday", {{"Date", "2024-02-29"}}, "Date 2024-02-26"},
    {"toLastDayOfMonth", {{"Date", "2149-06-06"}}, "Date 1970-01-24"},
    {"toISOWeek", {{"Date", "2023-01-01"}}, "UInt8 52"},
    {"toWeek", {{"Date", "2024-12-30"}}, "UInt8 52"},
    {"addMonths", {{"Date", "2024-01-31"}, {"UInt8", "1"}}, "Date 2024-02-29"},
    {"addHours",
     {{"DateTime('America/New_York')", "2024-03-10 01:59:59"}, {"UInt8", "1"}},
     "DateTime('America/New_York') 2024-03-10 03:59:59"},
    {"addDays", {{"Date32", "1999-12-31"}, {"Int8", "-13"}}, "Date32 1999-12-18"},
    {"dateDiff", {{"String", "month"}, {"Date", "2024-01-31"}, {"Date", "2024-02-01"}}, "Int64 1"},
    {"age", {{"String", "month"}, {"Date", "2024-01-31"}, {"Date", "2024-02-29"}}, "Int64 0"},
    {"formatDateTime",
     {{"DateTime('UTC')", "2024-02-29 15:04:05"}, {"String", "%d %b %Y %I:%i %p"}},
     "String 29 Feb 2024 03:04 PM"},
    {"cityHash64", {{"String", "abc"}}, "UInt64 4220206313085259313"},
    {"cityHash64", {{"Int8", "-1"}}, "UInt64 8055013221972926055"},
    {"cityHash64", {{"Array(UInt8)", "[]"}}, "UInt64 4761183170873013810"},
    {"sipHash64", {{"UInt8", "1"}}, "UInt64 7385293435322750976"},
    {"intHash32", {{"UInt8", "42"}}, "UInt32 1228623923"},
    {"xxHash64", {{"String", "a"}}, "UInt64 15154266338359012955"},
    {"murmurHash3_64", {{"String", "abc"}}, "UInt64 10318955651176813877"},
    {"jumpConsistentHash", {{"UInt64", "256"}, {"UInt8", "5"}}, "Int32 3"},
    {"hex", {{"UInt16", "256"}}, "String 0100"},
    {"hex", {{"Float64", "1.5"}}, "String 000000000000F83F"},
    {"hex", {{"UUID", "00112233-4455-6677-8899-aabbccddeeff"}}, "String 00112233445566778899AABBCCDDEEFF"},
    {"array", {{"UInt8", "1"}, {"Int8", "-1"}}, "Array(Int16) [1,-1]"},
    {"has", {{"Array(Nullable(UInt8))", "[1,NULL]"}, {"UInt8", "1"}}, "UInt8 1"},
    {"indexOf", {{"Array(String)", "['a','b']"}, {"String", "b"}}, "UInt64 2"},
    {"arraySort", {{"Array(Nullable(UInt8))", "[3,NULL,1]"}}, "Array(Nullable(UInt8)) [1,3,NULL]"},
    {"arrayDistinct", {{"Array(Nullable(UInt8))", "[NULL,1,NULL]"}}, "Array(UInt8) [1]"},
    {"arrayElement", {{"Array(UInt8)", "[10,20,30]"}, {"Int8", "-1"}}, "UInt8 30"},
    {"arraySlice", {{"Array(UInt8)", "[1,2,3]"}, {"Int8", "-5"}, {"UInt8", "4"}}, "Array(UInt8) [1,2]"},
    {"range", {{"Int8", "-2"}, {"UInt8", "3"}}, "Array(Int16) [-2,-1,0,1,2]"},
    {"arraySum", {{"Array(UInt8)", "[1,2,3]"}}, "UInt64 6"},
    {"arrayCumSum", {{"Array(Int8)", "[1,2,3]"}}, "Array(Int64) [1,3,6]"},
    {"mapKeys", {{"Map(String, UInt8)", "{'a':1,'b':2}"}}, "Array(String) ['a','b']"},
    {"tupleElement", {{"Tuple(UInt8, String)", "(1,'a')"}, {"UInt8", "2"}}, "String a"},
    {"domain", {{"String", "https://www.example.com:8080/x"}}, "String www.example.com"},
    {"JSONExtractInt", {{"String", "{\"a\":-5}"}, {"String", "a"}}, "Int64 -5"},
    {"JSONExtract",
     {{"String", "{\"a\":[1,2]}"}, {"String", "a"}, {"String", "Array(UInt8)"}},
     "Array(UInt8) [1,2]"},
    {"base64Decode", {{"String", "a"}}, "error 117"},
    {"isIPAddressInRange", {{"String", "10.0.0.1"}, {"String", "10.0.0.0/33"}}, "error 6"},
};

class Functions : public testing::TestWithParam<Case> {};

TEST_P(Functions, answer) { EXPECT_EQ(call(GetParam().name, GetParam().arguments), GetParam().expected); }

INSTANTIATE_TEST_SUITE_P(All, Functions, testing::ValuesIn(kCases));

TEST(FunctionList, everyNameIsThereOnce) {
    std::set<std::string_view> names;
    for (const functions::FunctionInfo& info : functions::allFunctions())
        EXPECT_TRUE(names.insert(info.name).second) << info.name;
}

TEST(FunctionList, everyFunctionSaysItsName) {
    for (const functions::FunctionInfo& info : functions::allFunctions())
        EXPECT_EQ(info.create(nullptr)->name(), info.name);
}

}  // namespace
}  // namespace shardd::tests
