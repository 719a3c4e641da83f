#include <gtest/gtest.h>

#include "common/columns/dictionary_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/nullable_column.h"
#include "common/types/type_parser.h"
#include "server/functions/set.h"
#include "server/functions/supertype.h"
#include "tests/unit/server/functions/evaluate.h"

namespace shardd::functions {
namespace {

NamedColumn columnOf(const std::string& type_name, const std::vector<const char*>& texts) {
    const TypePtr type = parseType(type_name);
    MutableColumnPtr column = createColumn(*type);
    for (const char* text : texts)
        column->insert(formats::parseValue(type, text, formats::TextStyle::Quoted));
    return {"", type, ColumnPtr(std::move(column))};
}

/// "[0,2,NULL] UInt16".
std::string rowsOf(const std::string& function, const std::vector<NamedColumn>& arguments, size_t rows) {
    const ResolvedFunctionPtr resolved = resolveFunction(function, arguments, testContext());
    const ColumnPtr result = resolved->execute(arguments, rows);
    std::string text = resolved->resultType()->name() + " [";
    for (size_t i = 0; i < rows; ++i)
        text += (i > 0 ? "," : "") +
                formats::textOf(*result, i, resolved->resultType(), formats::TextStyle::Quoted);
    return text + "]";
}

TEST(Frame, NullsAreNotLookedAtByWhatThrows) {
    // Under the NULL lies 0, and a division by it would throw.
    EXPECT_EQ(
        rowsOf("intDiv",
               {columnOf("UInt8", {"8", "8", "9"}), columnOf("Nullable(UInt8)", {"2", "NULL", "3"})}, 3),
        "Nullable(UInt8) [4,NULL,3]");
}

TEST(Frame, ADictionaryIsComputedOnceAKey) {
    const NamedColumn words = columnOf("LowCardinality(String)", {"'a'", "'b'", "'a'"});
    const NamedColumn a = constantOf(types::string(), Value(std::string("a")));
    const std::vector<NamedColumn> arguments = {
        words, {"", a.type, createConstColumn(*a.type, Value(std::string("a")), 3)}};
    EXPECT_EQ(rowsOf("equals", arguments, 3), "LowCardinality(UInt8) [1,0,1]");
}

TEST(Frame, ChunksMeetAtTheirEdges) {
    constexpr size_t kRows = 5000;
    PodVector<uint8_t> small(kRows);
    PodVector<int32_t> wide(kRows);
    for (size_t i = 0; i < kRows; ++i) {
        small[i] = static_cast<uint8_t>(i);
        wide[i] = static_cast<int32_t>(i) - 2500;
    }
    const std::vector<NamedColumn> arguments = {
        {"", types::uint8(), std::make_shared<FixedColumn<uint8_t>>(small)},
        {"", types::simple(TypeKind::Int32), std::make_shared<FixedColumn<int32_t>>(wide)}};
    const ResolvedFunctionPtr plus = resolveFunction("plus", arguments, testContext());
    ASSERT_EQ(plus->resultType()->name(), "Int64");
    const ColumnPtr sum = plus->execute(arguments, kRows);
    for (size_t i = 0; i < kRows; ++i)
        ASSERT_EQ(as<FixedColumn<int64_t>>(*sum).values()[i], int64_t{small[i]} + wide[i]) << i;
}

TEST(Conditional, RowsComeFromTheirBranch) {
    EXPECT_EQ(
        rowsOf("if",
               {columnOf("Nullable(UInt8)", {"1", "NULL", "0"}), columnOf("String", {"'a'", "'b'", "'c'"}),
                columnOf("Nullable(String)", {"NULL", "'y'", "'z'"})},
               3),
        "Nullable(String) ['a','y','z']");
    EXPECT_EQ(
        rowsOf("coalesce", {columnOf("Nullable(Int8)", {"1", "NULL"}), columnOf("Int16", {"300", "301"})}, 2),
        "Int16 [1,301]");
}

struct SuperCase {
    std::vector<const char*> types;
    const char* super;  // empty: none
};

TEST(Supertype, AsClickHouse) {
    const SuperCase cases[] = {
        {{"UInt8", "Int8"}, "Int16"},
        {{"UInt64", "Int64"}, ""},
        {{"UInt64", "Int128"}, "Int128"},
        {{"UInt32", "Float32"}, "Float64"},
        {{"Int64", "Float64"}, ""},
        {{"Bool", "UInt8"}, "Bool"},
        {{"Decimal(9, 2)", "UInt64"}, "Decimal(38, 2)"},
        {{"Decimal(9, 2)", "Decimal(18, 4)"}, "Decimal(18, 4)"},
        {{"Date", "DateTime('UTC')"}, "DateTime('UTC')"},
        {{"Date32", "DateTime('UTC')"}, "DateTime64(0)"},
        {{"DateTime64(3)", "DateTime64(6, 'UTC')"}, "DateTime64(6, 'UTC')"},
        {{"FixedString(2)", "FixedString(3)"}, "String"},
        {{"Array(Nothing)", "Array(UInt8)"}, "Array(UInt8)"},
        {{"Nullable(Nothing)", "UInt8"}, "Nullable(UInt8)"},
        {{"LowCardinality(String)", "String"}, "String"},
        {{"Tuple(a UInt8, b String)", "Tuple(UInt16, String)"}, "Tuple(UInt16, String)"},
        {{"Map(String, UInt8)", "Map(String, Int64)"}, "Map(String, Int64)"},
        {{"IntervalDay", "IntervalHour"}, "IntervalHour"},
        {{"UUID", "String"}, ""},
    };
    for (const SuperCase& each : cases) {
        std::vector<TypePtr> types;
        for (const char* name : each.types) types.push_back(parseType(name));
        const TypePtr super = tryLeastSupertype(types);
        EXPECT_EQ(super ? super->name() : "", each.super) << each.types[0] << " and " << each.types[1];
    }
}

TEST(Set, HoldsWhatFits) {
    SetBuilder builder({types::uint8()});
    Block block;
    block.add(columnOf("Int32", {"1", "300", "-1", "2", "1"}));
    builder.add(block);
    const SetPtr set = builder.finish();
    EXPECT_EQ(set->rows(), 2u);
    Mask mask;
    const ColumnPtr looked_up[] = {columnOf("UInt8", {"1", "44", "255", "2"}).column};
    set->contains(looked_up, 4, mask);
    EXPECT_EQ(mask, (Mask{1, 0, 0, 1}));
}

TEST(Set, ManyRowsOfSeveralColumns) {
    SetBuilder builder({types::uint64(), types::string()});
    for (uint64_t round = 0; round < 2; ++round) {
        Block block;
        PodVector<uint64_t> numbers(3000);
        MutableColumnPtr texts = createColumn(*types::string());
        for (size_t i = 0; i < numbers.size(); ++i) {
            numbers[i] = i % 1500;
            texts->insert(Value(std::to_string(i % 1500)));
        }
        block.add({"", types::uint64(), std::make_shared<FixedColumn<uint64_t>>(numbers)});
        block.add({"", types::string(), ColumnPtr(std::move(texts))});
        builder.add(block);
    }
    const SetPtr set = builder.finish();
    EXPECT_EQ(set->rows(), 1500u);
    Mask mask;
    const ColumnPtr looked_up[] = {columnOf("UInt64", {"7", "7", "1499", "1500"}).column,
                                   columnOf("String", {"'7'", "'8'", "'1499'", "'1500'"}).column};
    set->contains(looked_up, 4, mask);
    EXPECT_EQ(mask, (Mask{1, 0, 1, 0}));
}

}  // namespace
}  // namespace shardd::functions
