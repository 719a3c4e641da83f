#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/columns/create_column.h"
#include "common/types/type_parser.h"
#include "server/storage/checksums.h"
#include "server/storage/codecs.h"
#include "server/storage/file_names.h"
#include "server/storage/part.h"
#include "server/storage/part_info.h"
#include "server/storage/stream_path.h"

namespace shardd::storage {
namespace {

TEST(FileHasherTest, ChainsPiecesOf2048Bytes) {
    const struct {
        size_t bytes;
        Hash128 hash;
    } cases[] = {{0, {0, 0}},
                 {1, {0xda02b56554c51f0a, 0x1af5dc88268b5b80}},
                 {2047, {0xed27b1d55c01964b, 0x969c18d244a1b1bf}},
                 {2048, {0x318ef1acaf93e1aa, 0x821eeb2ddeabf502}},
                 {2049, {0x64af01578da75257, 0x420042d8520fb39c}},
                 {5000, {0x1ebe35390256353f, 0x6b8ea363f2cf7078}}};

    for (const auto& [bytes, hash] : cases) {
        std::string content;
        for (size_t i = 0; i < bytes; ++i) content += static_cast<char>((7 * i + 3) % 256);
        FileHasher whole;
        whole.update(content);
        EXPECT_EQ(whole.hash(), hash) << bytes;
        FileHasher pieces;
        for (size_t i = 0; i < bytes; i += 700) pieces.update(std::string_view(content).substr(i, 700));
        EXPECT_EQ(pieces.hash(), hash) << bytes;
    }
}

TEST(FileNamesTest, EscapesAllButWordCharacters) {
    EXPECT_EQ(escapeFileName("a b-д"), "a%20b%2D%D0%B4");
    EXPECT_EQ(unescapeFileName("a%20b%2D%D0%B4"), "a b-д");
    EXPECT_EQ(unescapeFileName("100%"), "100%");
    EXPECT_EQ(streamFileName(std::string(150, 'x')), "6a1154e987675d60b4bcd27d7fc62547");
    EXPECT_EQ(streamFileName(std::string(127, 'x')), std::string(127, 'x'));
}

TEST(PartInfoTest, NamesAndCovering) {
    EXPECT_EQ(PartInfo::parse("all_1_4_1_3")->name(), "all_1_4_1_3");
    EXPECT_EQ(PartInfo::parse("20240506-3_7_7_0")->partition_id, "20240506-3");
    for (const char* bad : {"", "all", "all_1_1", "all_2_1_0", "all_x_1_0", "detached",
                            "tmp_insert_all_1_1_0", "al l_1_1_0", "all_1_1_0_1_1"})
        EXPECT_FALSE(PartInfo::parse(bad)) << bad;
    const auto covers = [](const char* a, const char* b) {
        return PartInfo::parse(a)->covers(*PartInfo::parse(b));
    };
    EXPECT_TRUE(covers("all_1_4_1", "all_2_2_0"));
    EXPECT_TRUE(covers("all_1_1_0_2", "all_1_1_0"));
    EXPECT_FALSE(covers("all_1_1_0", "all_1_1_0"));
    EXPECT_FALSE(covers("all_1_4_1", "all_4_5_0"));
    EXPECT_FALSE(covers("all_1_4_0", "all_2_2_0"));
    EXPECT_FALSE(covers("a_1_4_1", "b_2_2_0"));
}

std::string idOf(const std::vector<std::pair<std::string, Value>>& values) {
    KeyDescription key;
    std::vector<ColumnPtr> columns;
    for (const auto& [type_text, value] : values) {
        const TypePtr type = parseType(type_text);
        key.elements.push_back({.text = "k", .type = type, .column = "k", .columns = {"k"}, .evaluate = {}});
        MutableColumnPtr column = createColumn(*type);
        column->insert(value);
        columns.push_back(std::move(column));
    }
    return partitionId(key, columns, 0);
}

TEST(PartitionIdTest, IntegersInWordsOthersHashed) {
    EXPECT_EQ(idOf({}), "all");
    EXPECT_EQ(idOf({{"UInt32", Value(uint64_t{202401})}}), "202401");
    EXPECT_EQ(idOf({{"Int32", Value(int64_t{-3})}, {"UInt8", Value(uint64_t{7})}}), "-3-7");
    EXPECT_EQ(idOf({{"Date", Value(uint64_t{19849})}, {"UInt8", Value(uint64_t{3})}}), "20240506-3");
    EXPECT_EQ(idOf({{"Date", Value(uint64_t{19849})},
                    {"String", Value(std::string("p"))},
                    {"UInt8", Value(uint64_t{0})}}),
              "bd0857a8726d0a2a85d80a2543b0e99a");
    EXPECT_EQ(idOf({{"UInt32", Value(uint64_t{7})},
                    {"DateTime64(3)", Value(int64_t{1704067200123})},
                    {"Float64", Value(1.5)}}),
              "80d1098f82a62ba78801e1c49f9dd307");
    EXPECT_EQ(idOf({{"Nullable(UInt32)", Value()},
                    {"DateTime64(3)", Value(int64_t{1704067200123})},
                    {"Float64", Value(1.5)}}),
              "a9cf0cb8a5bef4af8fa85f3bd9715bb9");
}

TEST(ColumnsTextTest, NamesWithQuotesComeBack) {
    const std::vector<PartColumn> columns{{"a`b\\c", types::uint64()}, {"n.x", parseType("Array(String)")}};
    const std::vector<PartColumn> parsed = parseColumnsText(writeColumnsText(columns));
    ASSERT_EQ(parsed.size(), 2U);
    EXPECT_EQ(parsed[0].name, "a`b\\c");
    EXPECT_EQ(parsed[1].type->name(), "Array(String)");
    const std::string text = writeColumnsText(columns);
    for (size_t cut = 0; cut < text.size(); ++cut)
        EXPECT_THROW(parseColumnsText(text.substr(0, cut)), Error) << cut;
}

TEST(ChecksumsTest, EveryPrefixIsRefused) {
    Checksums checksums;
    checksums.files["a.bin"] = {
        .bytes = 10, .hash = {1, 2}, .compressed = true, .data_bytes = 20, .data_hash = {3, 4}};
    checksums.files["count.txt"] = {.bytes = 1, .hash = {5, 6}};
    const std::string text = checksums.write();
    const Checksums parsed = Checksums::parse(text);
    EXPECT_EQ(parsed.files.at("a.bin").data_hash, (Hash128{3, 4}));
    EXPECT_EQ(parsed.totalBytes(), 11U);
    for (size_t cut = 0; cut < text.size(); ++cut)
        EXPECT_THROW(Checksums::parse(text.substr(0, cut)), Error) << cut;
}

TEST(CodecTest, TheLastGenericCodecIsUsed) {
    EXPECT_EQ(parseCodec("").method, FrameMethod::Lz4);
    EXPECT_EQ(parseCodec("CODEC(NONE)").method, FrameMethod::None);
    EXPECT_EQ(parseCodec("CODEC(Delta(8), ZSTD(3))").method, FrameMethod::Zstd);
    EXPECT_EQ(parseCodec("CODEC(Delta(8), ZSTD(3))").zstd_level, 3);
    EXPECT_EQ(parseCodec("CODEC(T64)").method, FrameMethod::Lz4);
}

}  // namespace
}  // namespace shardd::storage
