#include "common/wire/native.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/columns/create_column.h"
#include "common/columns/dictionary_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/string_column.h"
#include "common/types/type_parser.h"
#include "common/wire/frame.h"

namespace shardd {
namespace {

std::string fromHex(std::string_view hex) {
    std::string bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
    return bytes;
}

std::string toHex(std::string_view bytes) {
    std::string hex;
    for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<uint8_t>(byte));
    return hex;
}

constexpr NativeOptions kNewest = {.block_info = true, .out_of_order_buckets = true, .column_kinds = true};

/// Blocks of one column and two rows as a 26.7 initiator sent them: type, bytes.
struct CapturedType {
    std::string type;
    std::string hex;
};

std::vector<CapturedType> capturedTypes() {
    std::vector<CapturedType> types;
    std::ifstream file(SHARDD_TESTS_WIRE_DIR "/types.tsv");
    std::string line;
    while (std::getline(file, line)) {
        const size_t tab = line.find('\t');
        types.push_back({line.substr(0, tab), line.substr(tab + 1)});
    }
    return types;
}

bool hasStates(const CapturedType& captured) { return captured.type.starts_with("AggregateFunction"); }

TEST(Native, EveryCapturedTypeReadsAndWritesToItsBytes) {
    const std::vector<CapturedType> types = capturedTypes();
    ASSERT_GE(types.size(), 40U);
    for (const CapturedType& captured : types) {
        if (hasStates(captured)) continue;  // no aggregate functions in this layer
        const std::string bytes = fromHex(captured.hex);
        Reader reader(bytes);
        BlockReader blocks(kNewest);
        const Block block = blocks.read(reader);
        EXPECT_TRUE(reader.atEnd()) << captured.type;
        ASSERT_EQ(block.columns.size(), 1U);
        EXPECT_EQ(block.rows, 2U);
        EXPECT_EQ(block.columns[0].type->name(), captured.type);
        EXPECT_EQ(block.columns[0].column->size(), 2U);
        Writer out;
        writeBlock(block, kNewest, out);
        EXPECT_EQ(toHex(out.view()), captured.hex) << captured.type;
    }
}

TEST(Native, EveryPrefixAsksForMoreAndTheRestCompletesIt) {
    for (const CapturedType& captured : capturedTypes()) {
        if (hasStates(captured)) continue;
        const std::string bytes = fromHex(captured.hex);
        for (size_t cut = 0; cut < bytes.size(); ++cut) {
            ByteWindow window;
            BlockReader blocks(kNewest);
            window.append(std::string_view(bytes).substr(0, cut));
            size_t wanted = 0;
            EXPECT_FALSE(blocks.tryRead(window, wanted)) << captured.type << " at " << cut;
            EXPECT_GE(wanted, 1U);
            EXPECT_LE(wanted, bytes.size() - cut) << captured.type << " at " << cut;
            window.append(std::string_view(bytes).substr(cut));
            const std::optional<Block> block = blocks.tryRead(window, wanted);
            ASSERT_TRUE(block) << captured.type << " at " << cut;
            EXPECT_TRUE(window.empty());
            Writer out;
            writeBlock(*block, kNewest, out);
            EXPECT_EQ(toHex(out.view()), captured.hex);
        }
    }
}

TEST(Native, NoFlippedByteCrashes) {
    for (const CapturedType& captured : capturedTypes()) {
        if (hasStates(captured)) continue;
        const std::string bytes = fromHex(captured.hex);
        for (size_t i = 0; i < bytes.size(); ++i) {
            for (const int flip : {0x01, 0x80, 0xFF}) {
                std::string broken = bytes;
                broken[i] = static_cast<char>(broken[i] ^ flip);
                Reader in(broken);
                BlockReader blocks(kNewest);
                try {
                    blocks.read(in);
                } catch (const Error&) {
                }
            }
        }
    }
}

Block oneColumn(const std::string& type, const std::vector<Value>& values) {
    const TypePtr parsed = parseType(type);
    MutableColumnPtr column = createColumn(*parsed);
    for (const Value& value : values) column->insert(value);
    Block block;
    block.add({"c", parsed, std::move(column)});
    return block;
}

std::vector<Value> valuesOf(const Block& block) {
    std::vector<Value> values;
    const ColumnPtr column = full(block.columns.at(0).column);
    for (size_t row = 0; row < block.rows; ++row) values.push_back(column->value(row));
    return values;
}

Value text(const char* bytes) { return Value(std::string(bytes)); }

Value number(uint64_t value) { return Value(value); }

TEST(Native, OldPeersGetTheTypesTheyKnow) {
    const NativeOptions old = {
        .block_info = true, .low_cardinality = false, .time_zones = false, .aggregate_versions = false};

    struct Row {
        const char* type;
        const char* name;
    };

    const Row rows[] = {
        {"LowCardinality(String)", "String"},
        {"Array(LowCardinality(Nullable(String)))", "Array(Nullable(String))"},
        {"Map(LowCardinality(String), DateTime('UTC'))", "Map(String, DateTime)"},
        {"Tuple(a DateTime('UTC'), b UInt8)", "Tuple(a DateTime, b UInt8)"},
        {"Nullable(DateTime('UTC'))", "Nullable(DateTime)"},
        {"Point", "Point"},
        {"DateTime64(3, 'UTC')", "DateTime64(3, 'UTC')"},
    };
    for (const Row& row : rows) EXPECT_EQ(wireTypeName(*parseType(row.type), old), row.name);

    const Block block = oneColumn("LowCardinality(String)", {text("a"), text("b"), text("a")});
    Writer out;
    writeBlock(block, old, out);
    Reader in(out.view());
    BlockReader blocks(old);
    const Block back = blocks.read(in);
    EXPECT_EQ(back.columns[0].type->name(), "String");
    EXPECT_EQ(valuesOf(back), valuesOf(block));
}

/// A block with one column `c` of the given kind bytes and data.
std::string kindBlock(const std::string& type,
                      uint64_t rows,
                      const std::string& kinds_hex,
                      const std::string& data) {
    Writer out;
    out.writeBytes(fromHex("010002ffffffff030000"));
    out.writeVarUInt(1);
    out.writeVarUInt(rows);
    out.writeString("c");
    out.writeString(type);
    out.writeByte(1);
    out.writeBytes(fromHex(kinds_hex));
    out.writeBytes(data);
    return std::string(out.view());
}

Block readOne(const std::string& bytes) {
    Reader in(bytes);
    BlockReader blocks(kNewest);
    Block block = blocks.read(in);
    EXPECT_TRUE(in.atEnd());
    return block;
}

std::string frames(const std::string& data) {
    Writer out;
    encodeFrames(data, {}, out);
    Writer sized;
    sized.writeVarUInt(out.size());
    sized.writeBytes(out.view());
    return std::string(sized.view());
}

/// VarUInt with bit 62 set: the end of a sparse stream.
std::string sparseEnd(uint64_t trailing) {
    Writer out;
    out.writeVarUInt(trailing | (uint64_t{1} << 62));
    return std::string(out.view());
}

TEST(Native, ColumnsOfEveryKind) {
    const std::string sparse = std::string("\x02\x00", 2) + sparseEnd(1) + "\x07\x09";
    const std::vector<Value> sparse_values = {number(0), number(0), number(7), number(9), number(0)};

    struct Row {
        const char* what;
        std::string type;
        uint64_t rows;
        const char* kinds;
        std::string data;
        std::vector<Value> values;
    };

    const Row rows[] = {
        {"sparse", "UInt8", 5, "01", sparse, sparse_values},
        {"sparse without values", "UInt8", 2, "01", sparseEnd(2), {number(0), number(0)}},
        {"sparse String",
         "String",
         3,
         "01",
         std::string("\x01", 1) + sparseEnd(1) + "\x02hi",
         {text(""), text("hi"), text("")}},
        {"sparse Nullable",
         "Nullable(UInt8)",
         3,
         "01",
         std::string("\x01", 1) + sparseEnd(1) + "\x05",
         {Value(), number(5), Value()}},
        {"detached", "UInt8", 2, "02", frames("\x05\x06"), {number(5), number(6)}},
        {"detached over sparse", "UInt8", 5, "03", frames(sparse), sparse_values},
        {"replicated",
         "String",
         3,
         "04",
         std::string("\x03\x01\x01\x00\x01\x02\x01x\x01y", 10),
         {text("y"), text("x"), text("y")}},
        {"combination", "UInt8", 5, "05020001", sparse, sparse_values},
        {"detached dictionary",
         "LowCardinality(String)",
         1,
         "02",
         frames(fromHex("0100000000000000"
                        "0006000000000000"
                        "0200000000000000"
                        "00"
                        "0161"
                        "0100000000000000"
                        "01")),
         {text("a")}},
    };
    for (const Row& row : rows)
        EXPECT_EQ(valuesOf(readOne(kindBlock(row.type, row.rows, row.kinds, row.data))), row.values)
            << row.what;
}

TEST(Native, ATupleWithOneSparseElement) {
    const std::string data = std::string("\x01", 1) + sparseEnd(0) + "\x05" + "\x01x\x01y";
    const Block block = readOne(kindBlock("Tuple(UInt8, String)", 2, "000100", data));
    EXPECT_EQ(block.columns[0].column->value(1).elements()[0], number(5));
    EXPECT_EQ(block.columns[0].column->value(0).elements()[1], text("x"));
}

TEST(Native, HostileColumnsAreErrors) {
    struct Row {
        const char* what;
        std::string bytes;
    };

    const Row rows[] = {
        {"too many defaults", kindBlock("UInt8", 2, "01", sparseEnd(3))},
        {"too many values", kindBlock("UInt8", 1, "01", std::string("\0\0", 2) + sparseEnd(0))},
        {"sparse stream too short", kindBlock("UInt8", 9, "01", sparseEnd(3))},
        {"huge sparse column", kindBlock("UInt64", uint64_t{1} << 27, "01", sparseEnd(uint64_t{1} << 27))},
        {"replicated index", kindBlock("UInt8", 1, "04", std::string("\x01\x01\x05\x01\x07", 5))},
        {"kind 9", kindBlock("UInt8", 1, "09", "x")},
        {"dictionary index", kindBlock("LowCardinality(String)", 1, "00",
                                       fromHex("01000000000000000006000000000000010000000000000000"
                                               "0100000000000000"
                                               "07"))},
        {"rows", fromHex("010002ffffffff03000001") + std::string("\xff\xff\xff\xff\xff\xff\xff\xff\x7f")},
        {"unknown info field", fromHex("0700")},
        {"ends that descend",
         kindBlock("Array(UInt8)", 2, "00", fromHex("02000000000000000100000000000000"))},
        {"a long string", kindBlock("String", 1, "00", "\xff\xff\xff\xff\x7f")},
    };
    for (const Row& row : rows) {
        Reader in(row.bytes);
        BlockReader blocks(kNewest);
        EXPECT_THROW(blocks.read(in), Error) << row.what;
    }
}

TEST(Native, DictionariesWithoutADefaultOrWithRepeatsAreMended) {
    // keys "b", "a", "b"; rows 0, 1, 2
    const std::string data = fromHex(
        "0100000000000000"
        "0006000000000000"
        "0300000000000000"
        "016201610162"
        "0300000000000000"
        "000102");
    const Block block = readOne(kindBlock("LowCardinality(String)", 3, "00", data));
    EXPECT_EQ(valuesOf(block), (std::vector<Value>{text("b"), text("a"), text("b")}));
    const auto& column = as<DictionaryColumn>(*block.columns[0].column);
    EXPECT_EQ(column.keys()->size(), 3U);
    EXPECT_EQ(column.keys()->value(0), text(""));
    EXPECT_EQ(column.codes()[0], column.codes()[2]);
}

TEST(Native, ABlockThatArrivesInPiecesIsReadOnceEach) {
    Block block;
    auto strings = std::make_unique<StringColumn>();
    auto numbers = std::make_unique<FixedColumn<uint64_t>>();
    for (uint64_t i = 0; i < 20000; ++i) {
        strings->insertText(std::string(i % 90, 'x'));
        numbers->values().push_back(i);
    }
    block.add({"s", types::string(), std::move(strings)});
    block.add({"n", types::uint64(), std::move(numbers)});
    block.bucket = 7;
    Writer out;
    writeBlock(block, kNewest, out);
    ByteWindow window;
    BlockReader blocks(kNewest);
    std::optional<Block> back;
    size_t offset = 0;
    size_t wanted = 0;
    while (!back) {
        const size_t step = std::max<size_t>(wanted, 1000);
        ASSERT_LT(offset, out.size());
        window.append(out.view().substr(offset, step));
        offset += step;
        back = blocks.tryRead(window, wanted);
        // Whole strings do not wait in the window.
        if (!back && offset < 800000) {
            EXPECT_LT(window.size(), 100U);
        }
    }
    EXPECT_EQ(back->bucket, 7);
    EXPECT_EQ(back->rows, 20000U);
    Writer again;
    writeBlock(*back, kNewest, again);
    EXPECT_EQ(again.view() == out.view(), true);
}

}  // namespace
}  // namespace shardd
