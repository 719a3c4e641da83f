#include "server/storage/key_ranges.h"

#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/columns/create_column.h"
#include "server/storage/merge_tree_scan.h"
#include "tests/support/forgetful_file_system.h"
#include "tests/unit/server/storage/merge_tree_fixture.h"

namespace shardd::storage {
namespace {

using tests::ForgetfulFileSystem;
using Keys = std::vector<uint64_t>;

TableDefinition numbered(const char* granularity, bool descending = false) {
    TableDefinition made = definition({{"k", "UInt64"}}, {"k"});
    made.settings.emplace_back("index_granularity", granularity);
    made.sorting_key.elements[0].descending = descending;
    return made;
}

Block keys(const Keys& values) {
    MutableColumnPtr column = createColumn(*types::uint64());
    for (const uint64_t value : values) column->insert(Value(value));
    Block block;
    block.add({"k", types::uint64(), ColumnPtr(std::move(column))});
    return block;
}

Keys repeated(uint64_t key, size_t times) { return Keys(times, key); }

Block rowsOf(const KeyRangeScan& scan, size_t range, size_t streams) {
    std::vector<Block> blocks;
    for (const BlockSourcePtr& source : scan.open(range, streams))
        while (std::optional<Block> block = source->next()) blocks.push_back(std::move(*block));
    return concatenate(std::move(blocks));
}

/// The keys of each range, sorted.
std::vector<Keys> rangesOf(const MergeTree& table, uint64_t target_rows, ScanRequest request = {}) {
    request.columns = {"k"};
    const auto scan = table.scanKeyRanges(request, 1, target_rows);
    std::vector<Keys> ranges;
    for (size_t range = 0; range < scan->count(); ++range) {
        const Block block = rowsOf(*scan, range, 1);
        Keys found;
        for (size_t row = 0; row < block.rows; ++row)
            found.push_back(block.columns[0].column->value(row).get<uint64_t>());
        std::sort(found.begin(), found.end());
        ranges.push_back(std::move(found));
    }
    return ranges;
}

TEST(KeyRangesTest, BoundariesAreFirstKeysOfGranulesAndRowsAreCutExactly) {
    ForgetfulFileSystem disk;
    const auto table = makeTable(numbered("4"), disk);
    insert(*table, keys({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
    // Granules begin with 2, 2 and 9.
    insert(*table, keys({2, 2, 2, 2, 2, 2, 9, 9, 9, 9, 30, 31}));
    uint64_t read = 0;
    ScanRequest request;
    request.progress = [&](uint64_t rows, uint64_t) { read += rows; };
    EXPECT_THAT(
        rangesOf(*table, 8, request),
        testing::ElementsAre(Keys{0, 1}, Keys{2, 2, 2, 2, 2, 2, 2, 3}, Keys{4, 5, 6, 7, 8},
                             Keys{9, 9, 9, 9, 9, 10, 11, 12, 13, 14, 15}, Keys{16, 17, 18, 19, 30, 31}));
    EXPECT_EQ(read, 32U);  // no row twice, however often a granule is looked into
    EXPECT_EQ(rangesOf(*table, 1000).size(), 1U);
}

TEST(KeyRangesTest, ADescendingKeyIsCutFromTheGreatest) {
    ForgetfulFileSystem disk;
    const auto table = makeTable(numbered("2", true), disk);
    insert(*table, keys({1, 2, 3, 4, 5, 6}));
    insert(*table, keys({3, 4}));
    for (const uint64_t target_rows : {1, 4})
        EXPECT_THAT(rangesOf(*table, target_rows),
                    testing::ElementsAre(Keys{5, 6}, Keys{3, 3, 4, 4}, Keys{1, 2}));
    EXPECT_THAT(rangesOf(*table, 5), testing::ElementsAre(Keys{3, 3, 4, 4, 5, 6}, Keys{1, 2}));
}

TEST(KeyRangesTest, AKeyIsNeverCutHoweverManyRowsItHas) {
    ForgetfulFileSystem disk;
    const auto table = makeTable(numbered("4"), disk);
    Keys first{1, 2};
    for (const uint64_t key : repeated(5, 50)) first.push_back(key);
    first.push_back(9);
    insert(*table, keys(first));
    insert(*table, keys(repeated(5, 33)));
    const std::vector<Keys> ranges = rangesOf(*table, 4);
    size_t fives = 0;
    for (const Keys& range : ranges) fives += std::count(range.begin(), range.end(), 5U) == 83;
    EXPECT_EQ(fives, 1U);
    ForgetfulFileSystem empty_disk;
    EXPECT_THAT(rangesOf(*makeTable(numbered("4"), empty_disk), 4), testing::ElementsAre(Keys{}));
}

TEST(KeyRangesTest, GranulesThatTheScanLeavesOutAreNotLookedInto) {
    ForgetfulFileSystem disk;
    const auto table = makeTable(numbered("2"), disk);
    insert(*table, keys({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
    insert(*table, keys({4, 5, 6, 7}));
    ScanRequest request{.ranges = {{.column = "k", .lower = Value(uint64_t{6}), .upper = {}, .values = {}}}};
    EXPECT_THAT(rangesOf(*table, 4, request),
                testing::ElementsAre(Keys{4, 4, 5, 5}, Keys{6, 6, 7, 7}, Keys{8, 9}));
    request.ranges[0].lower = Value(uint64_t{100});
    EXPECT_THAT(rangesOf(*table, 4, request), testing::ElementsAre(Keys{}));
}

TEST(KeyRangesTest, AConditionSeesOnlyRowsOfTheRange) {
    ForgetfulFileSystem disk;
    const auto table = makeTable(numbered("4"), disk);
    insert(*table, keys({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
    insert(*table, keys({3, 5, 7, 9, 11, 13}));
    ScanRequest request;
    uint64_t read = 0;
    request.progress = [&](uint64_t rows, uint64_t) { read += rows; };
    request.prewhere = Prewhere{.columns = {"k"}, .condition = [](const Block& block) {
                                    Mask mask(block.rows);
                                    for (size_t row = 0; row < block.rows; ++row)
                                        mask[row] = block.columns[0].column->value(row).get<uint64_t>() % 2;
                                    return mask;
                                }};
    EXPECT_THAT(rangesOf(*table, 4, request),
                testing::ElementsAre(Keys{1}, Keys{3, 3}, Keys{5, 5, 7, 7}, Keys{9, 9}, Keys{11, 11, 13}));
    EXPECT_EQ(read, 18U);
}

TEST(KeyRangesTest, WithoutAPrimaryKeyNothingIsCut) {
    ForgetfulFileSystem disk;
    const auto table = makeTable(definition({{"k", "UInt64"}}, {}), disk);
    insert(*table, keys({3, 1}));
    EXPECT_EQ(table->scanKeyRanges({.columns = {"k"}}, 1, 4), nullptr);
}

struct KeyType {
    const char* type;
    Value (*make)(uint64_t number);
};

const std::vector<KeyType> kKeyTypes = {
    {"UInt8", [](uint64_t n) { return Value(n % 7); }},
    {"Int64", [](uint64_t n) { return Value(static_cast<int64_t>(n % 90) - 40); }},
    {"Float64",
     [](uint64_t n) {
         if (n % 11 == 0) return Value(n % 2 == 0 ? -0.0 : 0.0);
         return Value(n % 13 == 0 ? std::numeric_limits<double>::quiet_NaN()
                                  : static_cast<double>(n % 30) - 9);
     }},
    {"String", [](uint64_t n) { return Value(std::string(n % 3, 'x') + std::to_string(n % 40)); }},
    {"FixedString(2)", [](uint64_t n) { return Value(std::to_string(10 + n % 60)); }},
    {"Nullable(UInt32)", [](uint64_t n) { return n % 7 == 0 ? Value() : Value(n % 50); }},
    {"LowCardinality(String)", [](uint64_t n) { return Value("v" + std::to_string(n % 30)); }},
    {"LowCardinality(Nullable(String))",
     [](uint64_t n) { return n % 5 == 0 ? Value() : Value("v" + std::to_string(n % 30)); }},
    {"Date", [](uint64_t n) { return Value(n % 20); }},
    {"UUID", [](uint64_t n) { return Value(std::string(16, static_cast<char>(n % 17))); }},
};

class RandomKeyRanges : public testing::TestWithParam<uint64_t> {
protected:
    uint64_t below(uint64_t bound) { return random_() % bound; }

    std::mt19937_64 random_{GetParam()};
};

TEST_P(RandomKeyRanges, HoldEveryRowOnceInOrderOfTheKey) {
    for (size_t round = 0; round < 8; ++round) {
        std::vector<const KeyType*> types;
        std::vector<std::pair<std::string, std::string>> columns;
        std::vector<std::string> order;
        for (size_t i = 0; i < 1 + below(3); ++i) {
            types.push_back(&kKeyTypes[below(kKeyTypes.size() - 1)]);
            order.push_back("k" + std::to_string(i));
            columns.emplace_back(order.back(), types.back()->type);
        }
        columns.emplace_back("number", "UInt64");
        TableDefinition made = definition(columns, order);
        made.settings.emplace_back("index_granularity", std::to_string(1 + below(40)));
        made.settings.emplace_back("allow_nullable_key", "1");
        if (below(2) == 0) made.settings[0].second = "10000000";  // Compact parts
        for (KeyElement& element : made.sorting_key.elements) element.descending = below(3) == 0;
        ForgetfulFileSystem disk;
        const auto table = makeTable(made, disk);
        uint64_t rows = 0;
        for (size_t part = 0; part < 1 + below(5); ++part) {
            Block block;
            for (size_t i = 0; i < columns.size(); ++i) {
                MutableColumnPtr column = createColumn(*parseType(columns[i].second));
                block.columns.push_back(
                    {columns[i].first, parseType(columns[i].second), ColumnPtr(std::move(column))});
            }
            std::vector<MutableColumnPtr> filled;
            for (const NamedColumn& column : block.columns) filled.push_back(createColumn(*column.type));
            const size_t count = 1 + below(400);
            for (size_t row = 0; row < count; ++row) {
                for (size_t i = 0; i < types.size(); ++i) filled[i]->insert(types[i]->make(random_()));
                filled.back()->insert(Value(rows++));
            }
            for (size_t i = 0; i < filled.size(); ++i) block.columns[i].column = std::move(filled[i]);
            block.rows = count;
            insert(*table, block);
        }
        ScanRequest request;
        for (const auto& [name, type] : columns) request.columns.push_back(name);
        request.max_block_rows = 1 + below(100);
        const size_t elements = 1 + below(types.size());
        const auto scan = table->scanKeyRanges(request, elements, 1 + below(200));
        const auto compare = [&](const Block& a, size_t row, const Block& b, size_t other) {
            for (size_t i = 0; i < elements; ++i)
                if (const int found = fullPlain(a.columns[i].column)
                                          ->compareAt(row, *fullPlain(b.columns[i].column), other, 1))
                    return made.sorting_key.elements[i].descending ? -found : found;
            return 0;
        };
        std::vector<uint64_t> numbers;
        Block before;  // the greatest key so far
        for (size_t range = 0; range < scan->count(); ++range) {
            const Block block = rowsOf(*scan, range, 1 + below(4));
            ASSERT_GT(block.rows, 0U);
            size_t greatest = 0;
            for (size_t row = 0; row < block.rows; ++row) {
                numbers.push_back(block.columns.back().column->value(row).get<uint64_t>());
                if (before.rows != 0) {
                    ASSERT_GT(compare(block, row, before, 0), 0) << columns[0].second << " range " << range;
                }
                if (compare(block, row, block, greatest) > 0) greatest = row;
            }
            before = block.slice(greatest, 1);
        }
        std::sort(numbers.begin(), numbers.end());
        ASSERT_EQ(numbers.size(), rows);
        for (uint64_t row = 0; row < rows; ++row) ASSERT_EQ(numbers[row], row);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomKeyRanges, testing::Range<uint64_t>(1, 13));

}  // namespace
}  // namespace shardd::storage
