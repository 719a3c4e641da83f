#include "server/storage/shard_slots.h"

#include <gtest/gtest.h>

#include "common/columns/create_column.h"

namespace shardd::storage {
namespace {

uint64_t slotOf(const Type& type, const Value& value, const std::vector<uint32_t>& weights) {
    const MutableColumnPtr column = createColumn(type);
    column->insert(value);
    PodVector<uint64_t> slots;
    ShardSlots(weights).slotsOf(type, *column, slots);
    return slots[0];
}

TEST(ShardSlotsTest, negativeKeysCountAsUnsignedOfTheirWidth) {
    const std::vector<uint32_t> weights = {1, 1, 1};
    EXPECT_EQ(slotOf(*types::simple(TypeKind::Int8), Value(int64_t{-1}), weights), 255u % 3);
    EXPECT_EQ(slotOf(*types::int64(), Value(int64_t{-1}), weights), UINT64_MAX % 3);
    EXPECT_EQ(slotOf(*types::uint64(), Value(uint64_t{7}), weights), 1u);
    // A power of two takes another way.
    EXPECT_EQ(slotOf(*types::int64(), Value(int64_t{-3}), {3, 5}), (UINT64_MAX - 2) % 8);
}

TEST(ShardSlotsTest, aShardHasAsManySlotsAsItWeighs) {
    const ShardSlots slots(std::vector<uint32_t>{2, 0, 1});
    EXPECT_EQ(slots.total(), 3u);
    EXPECT_EQ(slots.shards(), 3u);
    EXPECT_EQ(slots.shardOf(0), 0u);
    EXPECT_EQ(slots.shardOf(1), 0u);
    EXPECT_EQ(slots.shardOf(2), 2u);
    EXPECT_EQ(slots.begin(1), 2u);
    EXPECT_EQ(slots.end(1), 2u);
    EXPECT_EQ(slots.end(2), 3u);
    EXPECT_EQ(ShardSlots({}).total(), 0u);
}

TEST(ShardSlotsTest, typesThatChooseAShard) {
    EXPECT_TRUE(isShardingType(*types::uint64()));
    EXPECT_TRUE(isShardingType(*types::simple(TypeKind::DateTime)));
    EXPECT_FALSE(isShardingType(*types::string()));
    EXPECT_FALSE(isShardingType(*types::float64()));
}

}  // namespace
}  // namespace shardd::storage
