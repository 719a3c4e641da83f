#include "common/columns/column.h"

#include <gtest/gtest.h>

#include "common/base/writer.h"
#include "common/columns/block.h"
#include "common/columns/create_column.h"
#include "common/types/type_parser.h"

namespace shardd {
namespace {

Value text(std::string s) { return Value(std::move(s)); }

Value number(uint64_t n) { return Value(n); }

struct Case {
    const char* type;
    std::vector<Value> values;  // distinct, ascending in the column's order (NULL last)
};

std::vector<Case> cases() {
    return {
        {"UInt8", {number(0), number(1), number(255)}},
        {"Int64", {Value(int64_t{-5}), Value(int64_t{0}), Value(int64_t{7})}},
        {"Int256", {Value(Int256(-1)), Value(Int256(0)), Value(Int256(1) << 200)}},
        {"Float64", {Value(-1.5), Value(0.0), Value(3.25)}},
        {"String", {text(""), text("a"), text("abc"), text(std::string("b\0c", 3))}},
        {"FixedString(3)", {text(std::string(3, '\0')), text("abc"), text("xyz")}},
        {"Nullable(Int32)", {Value(int64_t{-1}), Value(int64_t{0}), Value()}},
        {"LowCardinality(String)", {text(""), text("a"), text("b")}},
        {"LowCardinality(Nullable(String))", {text(""), text("a"), Value()}},
        {"Array(UInt16)", {Value(ArrayValue{}), Value(ArrayValue{{number(1)}}), Value(ArrayValue{{number(1), number(2)}})}},
        {"Tuple(UInt8, String)", {Value(TupleValue{{number(1), text("z")}}), Value(TupleValue{{number(2), text("a")}})}},
        {"Map(String, UInt8)", {Value(ArrayValue{}), Value(ArrayValue{{Value(TupleValue{{text("k"), number(3)}})}})}},
    };
}

TEST(Column, KeepsValuesThroughEveryWayOfCopying) {
    for (const Case& c : cases()) {
        const TypePtr type = parseType(c.type);
        MutableColumnPtr made = createColumn(*type);
        for (const Value& value : c.values) made->insert(value);
        const ColumnPtr column = std::move(made);
        const size_t rows = c.values.size();
        for (size_t row = 0; row < rows; ++row) EXPECT_EQ(column->value(row), c.values[row]) << c.type << " " << row;
        for (size_t row = 1; row < rows; ++row) {
            EXPECT_EQ(column->compareAt(row - 1, *column, row, 1), -1) << c.type << " " << row;
            EXPECT_EQ(column->compareAt(row, *column, row - 1, 1), 1) << c.type << " " << row;
            EXPECT_EQ(column->compareAt(row, *column, row, 1), 0) << c.type << " " << row;
        }

        MutableColumnPtr grown = column->cloneEmpty();
        grown->insertRange(*column, 0, rows);
        grown->insertFrom(*column, rows - 1);
        grown->insertDefault(1);
        grown->popBack(1);
        ASSERT_EQ(grown->size(), rows + 1) << c.type;
        EXPECT_EQ(grown->value(rows), c.values[rows - 1]) << c.type;

        const PodVector<RowIndex> backwards = {static_cast<RowIndex>(rows - 1), 0};
        const ColumnPtr gathered = column->gather(backwards.span());
        EXPECT_EQ(gathered->value(0), c.values[rows - 1]) << c.type;
        EXPECT_EQ(gathered->value(1), c.values[0]) << c.type;

        Mask mask;
        mask.assign(rows, 0);
        mask[rows - 1] = 1;
        const ColumnPtr filtered = column->filter(mask.span(), SIZE_MAX);
        ASSERT_EQ(filtered->size(), 1u) << c.type;
        EXPECT_EQ(filtered->value(0), c.values[rows - 1]) << c.type;
        EXPECT_EQ(column->slice(1, rows - 1)->value(0), c.values[1]) << c.type;

        MutableColumnPtr from_keys = column->cloneEmpty();
        PodVector<uint64_t> hashes;
        hashes.assign(rows, 0);
        column->updateHashes({hashes.data(), rows});
        for (size_t row = 0; row < rows; ++row) {
            Writer key;
            column->serializeKey(row, key);
            EXPECT_EQ(from_keys->insertKey(key.data()), key.data() + key.size()) << c.type;
            EXPECT_EQ(from_keys->value(row), c.values[row]) << c.type;
            for (size_t other = 0; other < row; ++other) EXPECT_NE(hashes[row], hashes[other]) << c.type;
        }
        const ColumnPtr constant = createConstColumn(*type, c.values[0], 3);
        EXPECT_EQ(full(constant)->value(2), c.values[0]) << c.type;
    }
}

TEST(Column, DictionariesOfDifferentSourcesMeet) {
    const TypePtr type = parseType("LowCardinality(String)");
    MutableColumnPtr a = createColumn(*type);
    MutableColumnPtr b = createColumn(*type);
    for (const char* word : {"x", "y", "x"}) a->insert(text(word));
    for (const char* word : {"y", "z"}) b->insert(text(word));
    a->insertRange(*b, 0, 2);
    const char* expected[] = {"x", "y", "x", "y", "z"};
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(a->value(i), text(expected[i]));
}

TEST(Column, TheDefaultOfAnEnumIsItsLowestName) {
    EXPECT_EQ(defaultValue(*parseType("Enum8('a' = 3, 'b' = -2)")), Value(int64_t{-2}));
    EXPECT_EQ(defaultValue(*parseType("String")), text(""));
    EXPECT_EQ(defaultValue(*parseType("Nullable(UInt8)")), Value());
}

}  // namespace
}  // namespace shardd
