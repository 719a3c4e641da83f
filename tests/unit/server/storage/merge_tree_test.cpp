#include "server/storage/merge_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/columns/create_column.h"
#include "common/columns/fixed_column.h"
#include "common/types/type_parser.h"
#include "server/aggregates/aggregate_list.h"
#include "tests/support/forgetful_file_system.h"
#include "tests/unit/server/storage/merge_tree_fixture.h"

namespace shardd::storage {
namespace {

using tests::ForgetfulFileSystem;

/// A block of (k UInt64, s String) rows.
Block rows(const std::vector<std::pair<uint64_t, std::string>>& values) {
    MutableColumnPtr keys = createColumn(*types::uint64());
    MutableColumnPtr texts = createColumn(*types::string());
    for (const auto& [key, text] : values) {
        keys->insert(Value(uint64_t{key}));
        texts->insert(Value(text));
    }
    Block block;
    block.add({"k", types::uint64(), ColumnPtr(std::move(keys))});
    block.add({"s", types::string(), ColumnPtr(std::move(texts))});
    return block;
}

std::vector<std::vector<Value>> readAll(const Table& table, ScanRequest request) {
    std::vector<std::vector<Value>> found;
    for (const BlockSourcePtr& source : table.scan(request))
        while (const std::optional<Block> block = source->next())
            for (size_t row = 0; row < block->rows; ++row) {
                found.emplace_back();
                for (const NamedColumn& column : block->columns)
                    found.back().push_back(column.column->value(row));
            }
    return found;
}

std::vector<uint64_t> keysOf(const Table& table, ScanRequest request = {}) {
    request.columns = {"k"};
    std::vector<uint64_t> keys;
    for (const auto& row : readAll(table, request)) keys.push_back(row[0].get<uint64_t>());
    std::sort(keys.begin(), keys.end());
    return keys;
}

const std::vector<std::pair<std::string, std::string>> kColumns{{"k", "UInt64"}, {"s", "String"}};

TEST(MergeTreeTest, RowsComeBackSortedAndSurviveARestart) {
    ForgetfulFileSystem disk;
    const auto made = definition(kColumns, {"k"});
    auto table = makeTable(made, disk);
    insert(*table, rows({{3, "c"}, {1, "a"}, {2, "b"}, {1, "z"}}));
    insert(*table, rows({{7, ""}}));
    table.reset();
    disk.crash(ForgetfulFileSystem::Crash::LosePower);
    table = makeTable(made, disk, true);
    const auto found = readAll(*table, {.columns = {"s", "k"}});
    ASSERT_EQ(found.size(), 5U);
    EXPECT_EQ(found[0], (std::vector{Value(std::string("a")), Value(uint64_t{1})}));
    EXPECT_EQ(found[1], (std::vector{Value(std::string("z")), Value(uint64_t{1})}));
    EXPECT_EQ(found[3], (std::vector{Value(std::string("c")), Value(uint64_t{3})}));
    EXPECT_EQ(found[4], (std::vector{Value(std::string()), Value(uint64_t{7})}));
    EXPECT_EQ(table->totalRows(), 5U);
    EXPECT_EQ(table->parts()[1]->name(), "all_2_2_0");
    EXPECT_EQ(table->parts()[0]->partitionValues().size(), 0U);
}

/// Every type, with its values at the edges; sizes make several granules.
TEST(MergeTreeTest, EveryTypeComesBackAsItWas) {
    aggregates::registerStates();
    const std::vector<std::string> types{"Bool",
                                         "UInt8",
                                         "UInt16",
                                         "UInt32",
                                         "UInt64",
                                         "UInt128",
                                         "UInt256",
                                         "Int8",
                                         "Int16",
                                         "Int32",
                                         "Int64",
                                         "Int128",
                                         "Int256",
                                         "BFloat16",
                                         "Float32",
                                         "Float64",
                                         "Decimal(9, 2)",
                                         "Decimal(18, 4)",
                                         "Decimal(38, 6)",
                                         "Decimal(76, 10)",
                                         "Date",
                                         "Date32",
                                         "DateTime('UTC')",
                                         "DateTime64(3, 'UTC')",
                                         "Enum8('a' = -3, 'b' = 1)",
                                         "Enum16('x' = 1000)",
                                         "UUID",
                                         "IPv4",
                                         "IPv6",
                                         "String",
                                         "FixedString(5)",
                                         "Nullable(UInt32)",
                                         "Nullable(String)",
                                         "Array(UInt32)",
                                         "Array(Array(String))",
                                         "Array(Nullable(Int16))",
                                         "Tuple(UInt8, String)",
                                         "Tuple(x Int32, y Nullable(String))",
                                         "Map(String, UInt64)",
                                         "LowCardinality(String)",
                                         "LowCardinality(Nullable(String))",
                                         "Array(LowCardinality(String))",
                                         "Map(LowCardinality(String), Array(UInt8))",
                                         "AggregateFunction(sum, UInt64)",
                                         "SimpleAggregateFunction(max, UInt64)",
                                         "Array(Tuple(a UInt8, b Array(String)))"};
    std::vector<std::pair<std::string, std::string>> columns{{"k", "UInt64"}};
    for (size_t i = 0; i < types.size(); ++i) columns.emplace_back("c " + std::to_string(i), types[i]);
    constexpr size_t kRows = 50;
    Block block;
    for (const auto& [name, type_text] : columns) {
        const TypePtr type = parseType(type_text);
        MutableColumnPtr column = createColumn(*type);
        insertDefaults(*type, *column, 1);
        for (uint64_t row = 1; row < kRows; ++row) {
            // Bytes that depend on row and type, through the key's form where the type has one.
            const TypePtr plain = removeLowCardinality(type);
            const TypePtr bare = removeNullable(plain);
            const std::string text(row % 5, static_cast<char>('a' + row % 26));
            const Value number(uint64_t{row * 0x0101010101010101ULL});
            const Value array(ArrayValue{{Value(text), Value(text + "!")}});
            if (name == "k")
                column->insert(Value(row));
            else if (plain->isNullable() && row % 3 == 0)
                column->insert(Value());
            else if (bare->kind() == TypeKind::String || bare->kind() == TypeKind::FixedString)
                column->insert(Value(text));
            else if (bare->isEnum())
                column->insert(Value(int64_t{bare->enumValues()[row % bare->enumValues().size()].second}));
            else if (bare->kind() == TypeKind::Bool)
                column->insert(Value(uint64_t{row % 2}));
            else if (bare->kind() == TypeKind::IPv6)
                column->insert(Value(std::string(16, static_cast<char>(row))));
            else if (bare->physical() != Physical::None)
                column->insert(number);
            else if (type_text == "Array(UInt32)")
                column->insert(Value(ArrayValue{std::vector<Value>(row % 4, number)}));
            else if (type_text == "Array(Array(String))")
                column->insert(Value(ArrayValue{std::vector<Value>(row % 3, array)}));
            else if (type_text == "Array(Nullable(Int16))")
                column->insert(Value(ArrayValue{{Value(), Value(uint64_t{row})}}));
            else if (type_text == "Array(LowCardinality(String))")
                column->insert(Value(ArrayValue{std::vector<Value>(row > 20 ? 2 : 0, Value(text))}));
            else if (type_text.starts_with("Tuple(UInt8"))
                column->insert(Value(TupleValue{{Value(row), Value(text)}}));
            else if (type_text.starts_with("Tuple(x"))
                column->insert(Value(TupleValue{{Value(row), Value()}}));
            else if (type_text.starts_with("Map(String"))
                column->insert(Value(ArrayValue{{Value(TupleValue{{Value(text), Value(row)}})}}));
            else if (type_text.starts_with("Map(Low"))
                column->insert(
                    Value(ArrayValue{{Value(TupleValue{{Value(text), Value(ArrayValue{{Value(row)}})}})}}));
            else if (type_text.starts_with("AggregateFunction"))
                column->insert(Value(std::string(8, static_cast<char>(row))));
            else
                column->insert(
                    Value(ArrayValue{std::vector<Value>(row % 3, Value(TupleValue{{Value(row), array}}))}));
        }
        block.add({name, type, ColumnPtr(std::move(column))});
    }
    for (const char* granularity_bytes : {"10485760", "0", "compact"}) {
        for (const char* strings : {"with_size_stream", "single_stream"}) {
            ForgetfulFileSystem disk;
            TableDefinition made = definition(columns, {"k"});
            const bool compact = std::string_view(granularity_bytes) == "compact";
            made.settings = {{"index_granularity", "16"},
                             {"index_granularity_bytes", compact ? "10485760" : granularity_bytes},
                             {"min_bytes_for_wide_part", compact ? "10485760" : "0"},
                             {"string_serialization_version", strings}};
            insert(*makeTable(made, disk), block);
            const auto table = makeTable(made, disk, true);
            ASSERT_EQ(table->parts()[0]->index().granules(), 4U);
            ASSERT_EQ(table->parts()[0]->compact(), compact);
            ScanRequest request;
            for (const auto& [name, type] : columns) request.columns.push_back(name);
            request.max_block_rows = 7;
            size_t row = 0;
            for (const BlockSourcePtr& source : table->scan(request))
                while (const std::optional<Block> found = source->next()) {
                    EXPECT_LE(found->rows, 7U);
                    for (size_t i = 0; i < columns.size(); ++i)
                        for (size_t j = 0; j < found->rows; ++j)
                            ASSERT_EQ(found->columns[i].column->value(j),
                                      block.columns[i].column->value(row + j))
                                << columns[i].second << " row " << row + j;
                    row += found->rows;
                }
            EXPECT_EQ(row, kRows);
            EXPECT_THAT(table->check(), testing::ElementsAre(testing::Pair("all_1_1_0", "")));
        }
    }
}

TEST(MergeTreeTest, OnlyGranulesOfTheRangeAreRead) {
    ForgetfulFileSystem disk;
    TableDefinition made = definition(kColumns, {"k"});
    made.settings.emplace_back("index_granularity", "10");
    const auto table = makeTable(made, disk);
    std::vector<std::pair<uint64_t, std::string>> values;
    for (uint64_t i = 0; i < 1000; ++i) values.emplace_back(i, "x");
    insert(*table, rows(values));
    const auto rowsRead = [&](ColumnRange range) {
        uint64_t read = 0;
        ScanRequest request{.ranges = {std::move(range)}};
        request.progress = [&](uint64_t count, uint64_t) { read += count; };
        keysOf(*table, request);
        return read;
    };
    const auto number = [](uint64_t value) { return Value(value); };
    EXPECT_EQ(rowsRead({.column = "k", .lower = number(995), .upper = {}, .values = {}}), 10U);
    EXPECT_EQ(rowsRead({.column = "k", .lower = {}, .upper = number(9), .values = {}}), 10U);
    EXPECT_EQ(rowsRead({.column = "k", .lower = number(505), .upper = number(505), .values = {}}), 10U);
    EXPECT_EQ(rowsRead({.column = "k", .lower = number(509), .upper = number(511), .values = {}}), 20U);
    EXPECT_EQ(rowsRead({.column = "k", .lower = number(990), .upper = {}, .lower_open = true, .values = {}}),
              10U);
    EXPECT_EQ(rowsRead({.column = "k", .lower = number(1000), .upper = {}, .values = {}}), 0U);
    EXPECT_EQ(
        rowsRead({.column = "k", .lower = {}, .upper = {}, .values = {number(5), number(995), number(2000)}}),
        20U);
    EXPECT_EQ(rowsRead({.column = "s", .lower = Value(std::string("y")), .upper = {}, .values = {}}), 1000U);
}

TEST(MergeTreeTest, PartitionsArePartsOfTheirOwnAndAreLeftOut) {
    ForgetfulFileSystem disk;
    const auto made = definition(kColumns, {"k"}, {"s"});
    const auto table = makeTable(made, disk);
    insert(*table, rows({{1, "a"}, {2, "b"}, {3, "a"}}));
    EXPECT_EQ(table->parts().size(), 2U);
    ScanRequest request{
        .ranges = {{.column = "s", .lower = Value(std::string("b")), .upper = {}, .values = {}}}};
    EXPECT_THAT(keysOf(*table, request), testing::ElementsAre(2));
    EXPECT_THAT(keysOf(*makeTable(made, disk, true)), testing::ElementsAre(1, 2, 3));
}

TEST(MergeTreeTest, PrewhereReadsTheOtherColumnsOnlyWhereItHolds) {
    ForgetfulFileSystem disk;
    TableDefinition made = definition(kColumns, {"k"});
    made.settings.emplace_back("index_granularity", "10");
    const auto table = makeTable(made, disk);
    std::vector<std::pair<uint64_t, std::string>> values;
    for (uint64_t i = 0; i < 100; ++i) values.emplace_back(i, "v" + std::to_string(i));
    insert(*table, rows(values));
    ScanRequest request{.columns = {"s", "k"}};
    request.prewhere = Prewhere{.columns = {"k"}, .condition = [](const Block& block) {
                                    Mask mask(block.rows);
                                    for (size_t row = 0; row < block.rows; ++row)
                                        mask[row] =
                                            block.get("k").column->value(row).get<uint64_t>() % 30 == 7;
                                    return mask;
                                }};
    const auto found = readAll(*table, request);
    ASSERT_EQ(found.size(), 4U);
    EXPECT_EQ(found[2], (std::vector{Value(std::string("v67")), Value(uint64_t{67})}));
    request.columns = {};
    size_t counted = 0;
    for (const BlockSourcePtr& source : table->scan(request))
        while (const std::optional<Block> block = source->next()) counted += block->rows;
    EXPECT_EQ(counted, 4U);
}

/// INSERT stopped at every change of the disk: what was acknowledged is there, and nothing of what was not in
/// halves.
TEST(MergeTreeTest, AcknowledgedRowsSurviveEveryStop) {
    const auto made = definition(kColumns, {"k"});
    for (const auto crash : {ForgetfulFileSystem::Crash::Kill, ForgetfulFileSystem::Crash::LosePower,
                             ForgetfulFileSystem::Crash::LoseBytes}) {
        for (size_t stop = 1;; ++stop) {
            ForgetfulFileSystem disk;
            auto table = makeTable(made, disk);
            insert(*table, rows({{1, "first"}, {2, "first"}}));
            bool acknowledged = false;
            disk.stopAt(stop);
            try {
                insert(*table, rows({{10, "second"}, {20, "second"}}));
                acknowledged = true;
            } catch (const ForgetfulFileSystem::Stopped&) {
                // as if the power went
            }
            table.reset();
            disk.crash(crash);
            table = makeTable(made, disk, true);
            const std::vector<uint64_t> keys = keysOf(*table);
            if (acknowledged)
                EXPECT_THAT(keys, testing::ElementsAre(1, 2, 10, 20)) << stop;
            else
                EXPECT_THAT(keys,
                            testing::AnyOf(testing::ElementsAre(1, 2), testing::ElementsAre(1, 2, 10, 20)))
                    << stop;
            insert(*table, rows({{5, "third"}}));
            EXPECT_EQ(keysOf(*table).size(), keys.size() + 1);
            if (acknowledged) break;
        }
    }
}

/// OPTIMIZE stopped at every change: all rows are there, once.
TEST(MergeTreeTest, AMergeStoppedAnywhereLosesAndDoublesNothing) {
    const auto made = definition(kColumns, {"k"});
    for (const auto crash : {ForgetfulFileSystem::Crash::Kill, ForgetfulFileSystem::Crash::LosePower}) {
        size_t changes = 1000;
        for (size_t stop = 1; stop <= changes + 1; ++stop) {
            ForgetfulFileSystem disk;
            auto table = makeTable(made, disk);
            insert(*table, rows({{1, "a"}, {3, "a"}}));
            insert(*table, rows({{2, "b"}}));
            const size_t before = disk.changes();
            disk.stopAt(stop);
            try {
                table->optimize("");
            } catch (const ForgetfulFileSystem::Stopped&) {
                // as if the power went
            }
            table.reset();
            if (disk.changes() - before + 1 < stop) changes = disk.changes() - before;
            disk.crash(crash);
            table = makeTable(made, disk, true);
            EXPECT_THAT(keysOf(*table), testing::ElementsAre(1, 2, 3)) << stop;
            EXPECT_EQ(table->parts().size(), stop > changes ? 1U : table->parts().size());
        }
    }
}

TEST(MergeTreeTest, SmallPartsAreMergedOnceThereAreEight) {
    ForgetfulFileSystem disk;
    const auto made = definition(kColumns, {"k"});
    const auto table = makeTable(made, disk);
    std::vector<uint64_t> all;
    for (uint64_t i = 0; i < 8; ++i) {
        EXPECT_FALSE(table->mergeSomeParts());
        insert(*table, rows({{100 - i, "x"}}));
        all.insert(all.begin(), 100 - i);
    }
    EXPECT_TRUE(table->mergeSomeParts());
    ASSERT_EQ(table->parts().size(), 1U);
    EXPECT_EQ(table->parts()[0]->name(), "all_1_8_1");
    EXPECT_EQ(keysOf(*table), all);
    insert(*table, rows({{1, "y"}}));
    EXPECT_EQ(table->parts()[1]->name(), "all_9_9_0");
}

TEST(MergeTreeTest, AMutationWritesEveryPartAnew) {
    ForgetfulFileSystem disk;
    const auto made = definition(kColumns, {"k"});
    auto table = makeTable(made, disk);
    insert(*table, rows({{1, "a"}, {2, "b"}, {3, "c"}}));
    insert(*table, rows({{2, "d"}}));
    table->mutate([](Block block) {
        Mask mask(block.rows);
        for (size_t row = 0; row < block.rows; ++row)
            mask[row] = block.get("k").column->value(row).get<uint64_t>() != 2;
        return block.filter(mask.span(), SIZE_MAX).rows == 0 ? Block() : block.filter(mask.span(), SIZE_MAX);
    });
    EXPECT_THAT(keysOf(*table), testing::ElementsAre(1, 3));
    ASSERT_EQ(table->parts().size(), 1U);
    EXPECT_EQ(table->parts()[0]->name(), "all_1_1_0_3");
    table = makeTable(made, disk, true);
    EXPECT_THAT(keysOf(*table), testing::ElementsAre(1, 3));
    insert(*table, rows({{9, "z"}}));
    EXPECT_EQ(table->parts()[1]->name(), "all_4_4_0");
}

TEST(MergeTreeTest, FinalKeepsTheLatestRowOfEachKey) {
    ForgetfulFileSystem disk;
    TableDefinition made = definition(kColumns, {"k"});
    made.schema.engine = "ReplacingMergeTree";
    const auto table = makeTable(made, disk);
    insert(*table, rows({{1, "old"}, {2, "only"}}));
    insert(*table, rows({{1, "older"}, {1, "new"}}));
    EXPECT_EQ(readAll(*table, {.columns = {"s"}}).size(), 3U);
    const auto found = readAll(*finalTable(table), {.columns = {"s"}});
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0][0], Value(std::string("new")));
    EXPECT_EQ(found[1][0], Value(std::string("only")));
    EXPECT_TRUE(table->optimize(""));
    EXPECT_EQ(table->totalRows(), 2U);
}

TEST(MergeTreeTest, AFullDiskRefusesTheInsertAndKeepsTheTable) {
    ForgetfulFileSystem disk;
    const auto made = definition(kColumns, {"k"});
    const auto table = makeTable(made, disk);
    insert(*table, rows({{1, "a"}}));
    disk.setCapacity(2000);
    try {
        insert(*table, rows({{2, std::string(5000, 'x')}, {3, "y"}}));
        insert(*table, rows({{2, std::string(5000, 'x')}, {3, "y"}}));
        FAIL() << "the disk should be full";
    } catch (const Error& error) {
        EXPECT_TRUE(error.is(ErrorCode::NOT_ENOUGH_SPACE)) << error.message();
    }
    disk.setCapacity(0);
    for (const auto& entry : disk.list("/data/store/111/t"))
        EXPECT_FALSE(entry.name.starts_with("tmp_")) << entry.name;
    EXPECT_EQ(keysOf(*table)[0], 1U);
}

TEST(MergeTreeTest, ABrokenPartIsSetAsideAtTheStart) {
    ForgetfulFileSystem disk;
    const auto made = definition(kColumns, {"k"});
    auto table = makeTable(made, disk);
    insert(*table, rows({{1, "a"}}));
    insert(*table, rows({{2, "b"}}));
    table.reset();
    disk.writeFile("/data/store/111/t/all_1_1_0/k.bin", "short", true);
    table = makeTable(made, disk, true);
    EXPECT_THAT(keysOf(*table), testing::ElementsAre(2));
    EXPECT_TRUE(disk.exists("/data/store/111/t/detached/broken-on-start_all_1_1_0"));
}

TEST(MergeTreeTest, AFlippedByteIsAnErrorThatNamesTheFile) {
    ForgetfulFileSystem disk;
    const auto made = definition(kColumns, {"k"});
    const auto table = makeTable(made, disk);
    insert(*table, rows({{1, "a"}}));
    disk.corrupt("/data/store/111/t/all_1_1_0/k.bin", 30);
    try {
        keysOf(*table);
        FAIL() << "the checksum should be wrong";
    } catch (const Error& error) {
        EXPECT_TRUE(error.is(ErrorCode::CHECKSUM_DOESNT_MATCH));
        EXPECT_THAT(error.message(), testing::HasSubstr("all_1_1_0/k.bin"));
    }
    EXPECT_THAT(table->check(),
                testing::ElementsAre(testing::Pair("all_1_1_0", testing::HasSubstr("k.bin"))));
}

TEST(MergeTreeTest, PartsAreDetachedAndAttachedUnderNewNumbers) {
    ForgetfulFileSystem disk;
    const auto made = definition(kColumns, {"k"});
    const auto table = makeTable(made, disk);
    insert(*table, rows({{1, "a"}}));
    table->removePart("all_1_1_0", true);
    EXPECT_THAT(keysOf(*table), testing::ElementsAre());
    table->attachPart("all_1_1_0");
    EXPECT_THAT(keysOf(*table), testing::ElementsAre(1));
    EXPECT_EQ(table->parts()[0]->name(), "all_2_2_0");
    table->truncate();
    EXPECT_THAT(keysOf(*table), testing::ElementsAre());
    EXPECT_THAT(keysOf(*makeTable(made, disk, true)), testing::ElementsAre());
}

TEST(MergeTreeTest, AScanSeesTheMomentItWasMade) {
    ForgetfulFileSystem disk;
    const auto made = definition(kColumns, {"k"});
    auto table = makeTable(made, disk);
    insert(*table, rows({{1, "a"}}));
    auto sources = table->scan({.columns = {"k"}});
    insert(*table, rows({{2, "a"}}));
    table->drop();
    table.reset();
    ASSERT_EQ(sources.size(), 1U);
    EXPECT_EQ(sources[0]->next()->rows, 1U);
    EXPECT_FALSE(sources[0]->next());
    EXPECT_TRUE(disk.exists("/data/store/111/t"));
    sources.clear();
    EXPECT_FALSE(disk.exists("/data/store/111/t"));
}

}  // namespace
}  // namespace shardd::storage
