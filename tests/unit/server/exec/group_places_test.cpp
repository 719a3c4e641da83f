#include "server/exec/group_places.h"

#include <gtest/gtest.h>

#include "tests/unit/server/exec/exec_fixture.h"

namespace shardd::exec {
namespace {

plan::GroupSlots slotsBy(const std::string& column, const std::string& type, std::vector<uint32_t> weights) {
    plan::GroupSlots slots;
    slots.key.text = column;
    slots.key.column = column;
    slots.key.type = parseType(type);
    slots.columns = {{"__table1." + column, column}};
    slots.weights = std::move(weights);
    return slots;
}

std::vector<size_t> shardsOf(const plan::GroupSlots& slots, const Block& block) {
    const GroupPlaces places(slots);
    std::vector<size_t> shards;
    for (size_t row = 0; row < block.rows; ++row) shards.push_back(places.shardOf(block, row));
    return shards;
}

TEST(GroupPlacesTest, slotsAreSharedOutByWeight) {
    const Block block = makeBlock({{"__table1.k", "UInt32"}}, {{0_v}, {1_v}, {2_v}, {3_v}, {4_v}, {5_v}});
    EXPECT_EQ(shardsOf(slotsBy("k", "UInt32", {1, 1}), block), (std::vector<size_t>{0, 1, 0, 1, 0, 1}));
    EXPECT_EQ(shardsOf(slotsBy("k", "UInt32", {2, 1}), block), (std::vector<size_t>{0, 0, 1, 0, 0, 1}));
    EXPECT_EQ(shardsOf(slotsBy("k", "UInt32", {1, 0, 2}), block), (std::vector<size_t>{0, 2, 2, 0, 2, 2}));
}

TEST(GroupPlacesTest, negativeKeysCountAsUnsigned) {
    const Block block = makeBlock({{"__table1.k", "Int8"}}, {{Value(int64_t{-1})}, {Value(int64_t{-2})}});
    EXPECT_EQ(shardsOf(slotsBy("k", "Int8", {1, 1, 1}), block), (std::vector<size_t>{255 % 3, 254 % 3}));
}

TEST(GroupPlacesTest, misplacedRows) {
    const plan::GroupSlots slots = slotsBy("k", "UInt32", {1, 1, 1});
    const GroupPlaces places(slots);
    const Block block = makeBlock({{"__table1.k", "UInt32"}}, {{0_v}, {4_v}, {3_v}, {8_v}});
    const auto rows = [&](size_t own) {
        PodVector<RowIndex> found;
        places.findMisplaced(block, own, found);
        return std::vector<RowIndex>(found.begin(), found.end());
    };
    EXPECT_EQ(rows(0), (std::vector<RowIndex>{1, 3}));
    EXPECT_EQ(rows(1), (std::vector<RowIndex>{0, 2, 3}));
    EXPECT_EQ(rows(2), (std::vector<RowIndex>{0, 1, 2}));
}

TEST(GroupPlacesTest, findingsHoldFiveSamples) {
    const plan::GroupSlots slots = slotsBy("k", "UInt32", {1, 1});
    const GroupPlaces places(slots);
    Rows keys;
    for (unsigned i = 0; i < 20; ++i) keys.push_back({Value(uint64_t{i})});
    const Block block = makeBlock({{"__table1.k", "UInt32"}}, keys);
    storage::GroupFindings findings;
    checkPlaces(places, "k", block, {{"__table1.k", "k"}}, 0, false, findings);
    checkPlaces(places, "k", block, {{"__table1.k", "k"}}, 0, false, findings);
    EXPECT_EQ(findings.checked(), 40u);
    EXPECT_EQ(findings.misplaced(), 20u);
    EXPECT_EQ(findings.samples(),
              (std::vector<std::string>{
                  "(k = 1) is on shard 1 and belongs to shard 2", "(k = 3) is on shard 1 and belongs to shard 2",
                  "(k = 5) is on shard 1 and belongs to shard 2", "(k = 7) is on shard 1 and belongs to shard 2",
                  "(k = 9) is on shard 1 and belongs to shard 2"}));
    try {
        checkPlaces(places, "k", block, {{"__table1.k", "k"}}, 1, true, findings);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), 469);
    }
}

TEST(GroupTextTest, keysAsTheQueryCallsThem) {
    const Block block = makeBlock({{"a", "UInt8"}, {"b", "String"}}, {{1_v, text("it's")}, {2_v, Value(std::string(300, 'x'))}});
    const GroupLabels labels = {{"a", "a + 1"}, {"b", "b"}};
    EXPECT_EQ(groupText(block, labels, 0), "(a + 1 = 1, b = 'it\\'s')");
    EXPECT_LT(groupText(block, labels, 1).size(), 250u);
    EXPECT_EQ(groupText(block, {}, 0), "the one group of all rows");
}

}  // namespace
}  // namespace shardd::exec
