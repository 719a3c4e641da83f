#include "server/plan/set_name.h"

#include <gtest/gtest.h>

#include "common/columns/create_column.h"
#include "common/types/type_parser.h"

namespace shardd::plan {
namespace {

std::string nameOf(const char* left, const char* right, const Value& value) {
    const TypePtr type = parseType(right);
    MutableColumnPtr one = createColumn(*type);
    one->insert(value);
    return literalSetName(*parseType(left), *type, *one).value_or("");
}

// As ClickHouse 26.7 asked shards for them.
TEST(SetName, IsTheOneThatClickHouseComputes) {
    const Value numbers(TupleValue{{Value(uint64_t{1}), Value(uint64_t{2}), Value(uint64_t{3}), Value(uint64_t{5}), Value(uint64_t{8})}});
    const Value words(TupleValue{{Value(std::string("a")), Value(std::string("ab")), Value(std::string("日本"))}});
    constexpr const char* kNumbers = "Tuple(UInt8, UInt8, UInt8, UInt8, UInt8)";
    EXPECT_EQ(nameOf("UInt16", kNumbers, numbers), "__set_UInt16_12022530864395429312_16794398126354257643");
    EXPECT_EQ(nameOf("Nullable(UInt32)", kNumbers, numbers), "__set_Nullable(UInt32)_12022530864395429312_16794398126354257643");
    EXPECT_EQ(nameOf("String", "Tuple(String, String, String)", words), "__set_String_11825721094314295588_1305099139877885612");
    EXPECT_EQ(nameOf("LowCardinality(String)", "Tuple(String, String, String)", words),
              "__set_LowCardinality(String)_11825721094314295588_1305099139877885612");
}

TEST(SetName, IsMissingWhereTheHashIsNotKnown) {
    EXPECT_EQ(nameOf("UInt8", "Tuple(Nullable(UInt8))", Value(TupleValue{{Value()}})), "");
}

}  // namespace
}  // namespace shardd::plan
