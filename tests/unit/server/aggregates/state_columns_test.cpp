#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "common/base/writer.h"
#include "common/columns/state_column.h"
#include "common/types/type_parser.h"
#include "common/wire/native.h"
#include "server/aggregates/aggregate.h"
#include "server/aggregates/aggregate_list.h"

namespace shardd::aggregates {

namespace {

constexpr NativeOptions kOptions{.block_info = true, .column_kinds = true};

/// `rows` states of a type, the bytes of each made by `write`.
ColumnPtr statesOf(const std::string& type,
                   size_t rows,
                   const std::function<void(size_t row, Writer&)>& write) {
    registerStates();
    Writer bytes;
    for (size_t row = 0; row < rows; ++row) write(row, bytes);
    auto column = std::make_shared<StateColumn>(parseType(type)->aggregate());
    Reader in(bytes.view());
    column->readStates(rows, in);
    EXPECT_TRUE(in.atEnd());
    return column;
}

/// Small and large numbers, those of one byte as those of ten.
uint64_t numberOf(size_t row) { return row % 7 == 0 ? ~uint64_t{row} : row << (row % 40); }

struct Column {
    const char* type;
    void (*write)(size_t row, Writer&);
};

const Column kColumns[] = {
    {"AggregateFunction(count)", [](size_t row, Writer& out) { out.writeVarUInt(numberOf(row)); }},
    {"AggregateFunction(sum, Int32)", [](size_t row, Writer& out) { out.writeFixed(numberOf(row)); }},
    {"AggregateFunction(sum, Float64)",
     [](size_t row, Writer& out) { out.writeFixed(static_cast<double>(row)); }},
    {"AggregateFunction(sumIf, UInt64, UInt8)",
     [](size_t row, Writer& out) { out.writeFixed(numberOf(row)); }},
    {"AggregateFunction(avg, UInt16)",
     [](size_t row, Writer& out) {
         out.writeFixed(uint64_t{row});
         out.writeVarUInt(numberOf(row));
     }},
    {"AggregateFunction(min, UInt8)",
     [](size_t row, Writer& out) {
         out.writeByte(row % 3 != 0);
         if (row % 3 != 0) out.writeFixed(static_cast<uint8_t>(row));
     }},
    {"AggregateFunction(max, DateTime)",
     [](size_t row, Writer& out) {
         out.writeByte(row % 3 != 0);
         if (row % 3 != 0) out.writeFixed(static_cast<uint32_t>(row));
     }},
    {"AggregateFunction(any, UUID)",
     [](size_t row, Writer& out) {
         out.writeByte(row % 3 != 0);
         if (row % 3 != 0) out.writeFixed(UInt128{numberOf(row)});
     }},
    {"AggregateFunction(min, Int256)",
     [](size_t row, Writer& out) {
         out.writeByte(row % 3 != 0);
         for (size_t i = 0; row % 3 != 0 && i < 4; ++i) out.writeFixed(numberOf(row + i));
     }},
    {"AggregateFunction(max, String)",
     [](size_t row, Writer& out) {
         const std::string text(row % 50, 'x');
         out.writeFixed(static_cast<int32_t>(text.size() + 1));
         out.writeBytes(text);
         out.writeByte(0);
     }},
    {"AggregateFunction(uniqExact, UInt64)",
     [](size_t row, Writer& out) {
         // One element more or less, and zero among them: the order of more is the table's.
         out.writeVarUInt(row % 3);
         for (size_t i = 0; i < row % 3; ++i) out.writeFixed(uint64_t{i * row});
     }},
};

}  // namespace

TEST(StateColumns, ArriveInPiecesAndGoAsTheyCame) {
    registerStates();
    constexpr size_t kRows = 5000;
    Block block;
    for (const Column& column : kColumns)
        block.add({column.type, parseType(column.type), statesOf(column.type, kRows, column.write)});
    Writer out;
    writeBlock(block, kOptions, out);
    for (const size_t step : {999, 65536, 1 << 20}) {
        ByteWindow window;
        BlockReader blocks(kOptions);
        std::optional<Block> back;
        size_t offset = 0;
        size_t wanted = 0;
        while (!back) {
            ASSERT_LT(offset, out.size());
            const size_t bytes = std::max<size_t>(wanted, step);
            window.append(out.view().substr(offset, bytes));
            offset += bytes;
            back = blocks.tryRead(window, wanted);
            // Whole states do not wait in the window.
            if (!back) {
                EXPECT_LT(window.size(), 200U);
            }
        }
        EXPECT_EQ(back->rows, kRows);
        Writer again;
        writeBlock(*back, kOptions, again);
        EXPECT_TRUE(again.view() == out.view()) << step;
    }
}

TEST(StateColumns, HaveTheBytesThatEachStateHas) {
    registerStates();
    for (const Column& column : kColumns) {
        const ColumnPtr states = statesOf(column.type, 3000, column.write);
        const AggregateOpsPtr ops = parseType(column.type)->aggregate();
        Writer together;
        writeColumn(*parseType(column.type), *states, together);
        Writer one_by_one;
        for (const char* state : static_cast<const StateColumn&>(*states).states())
            ops->serialize(state, one_by_one);
        EXPECT_TRUE(together.view() == one_by_one.view()) << column.type;
    }
}

TEST(StateColumns, CountsOfMoreThanTenBytesAreRefused) {
    registerStates();
    const AggregateOpsPtr ops = parseType("AggregateFunction(count)")->aggregate();
    const std::string bytes = std::string("\x05") + std::string(20, '\xFF') + std::string(100, '\x01');
    StateColumn column(ops);
    Reader in(bytes);
    EXPECT_THROW(column.readStates(50, in), Error);
    ASSERT_EQ(column.size(), 1U);
}

}  // namespace shardd::aggregates
