#include "server/cluster/shard_notes.h"

#include <gtest/gtest.h>

#include "common/columns/create_column.h"
#include "common/types/type_parser.h"

namespace shardd::cluster {
namespace {

Block events(const std::string& value_type, const std::vector<std::pair<std::string, int64_t>>& rows) {
    const TypePtr type = parseType(value_type);
    MutableColumnPtr names = createColumn(*types::string());
    MutableColumnPtr values = createColumn(*type);
    for (const auto& [name, value] : rows) {
        names->insert(Value(name));
        values->insert(Value(value));
    }
    Block block;
    block.add({"name", types::string(), ColumnPtr(std::move(names))});
    block.add({"value", type, ColumnPtr(std::move(values))});
    return block;
}

TEST(ShardNotesTest, whatIsKnownIsTaken) {
    for (const char* type : {"Int64", "UInt64"}) {
        storage::ShardAnswer answer;
        noteProfileEvents(events(type, {{"MemoryTrackerPeakUsage", 5}, {"ShardGroups", 2}, {"SelectedRows", 7}}), answer);
        noteProfileEvents(events(type, {{"MemoryTrackerPeakUsage", 3}, {"ShardGroups", 2}, {"ShardMisplacedGroups", 1}}), answer);
        EXPECT_EQ(answer.peak_memory_bytes, 5u);
        EXPECT_EQ(answer.groups, 4u);
        EXPECT_EQ(answer.misplaced_groups, 1u);
    }
    EXPECT_TRUE(saysThatGroupsAreChecked(events("Int64", {{"ShardChecksGroups", 1}})));
    EXPECT_FALSE(saysThatGroupsAreChecked(events("Int64", {{"ShardChecksGroups", 0}})));
    EXPECT_FALSE(saysThatGroupsAreChecked(events("Int64", {{"ShardChecksGroups", -1}})));
}

TEST(ShardNotesTest, strangeBlocksSayNothing) {
    Block lacking = events("Int64", {{"ShardChecksGroups", 1}});
    lacking.columns.pop_back();
    Block short_of_rows = events("Int64", {{"ShardChecksGroups", 1}});
    short_of_rows.rows = 2;
    for (const Block& block : {Block(), lacking, short_of_rows, events("Float64", {{"ShardChecksGroups", 1}}),
                               events("String", {})}) {
        storage::ShardAnswer answer;
        noteProfileEvents(block, answer);
        EXPECT_FALSE(saysThatGroupsAreChecked(block));
        EXPECT_TRUE(truthWarnings(block).empty());
    }
}

}  // namespace
}  // namespace shardd::cluster
