#include "server/plan/stage.h"

#include <gtest/gtest.h>

#include "server/plan/binder.h"
#include "server/plan/ranges.h"
#include "server/plan/sharding.h"
#include "tests/unit/server/plan/fake_tables.h"

namespace shardd::plan {
namespace {

PlannerContext context() {
    const FakeTable columns("t", "k UInt32, s String, v Int32, f Float64, d Date");
    return fakeContext({{"plain", FakeTable(columns).sharded({1, 1, 1})},
                        {"one", FakeTable(columns).sharded({1})},
                        {"by_k", FakeTable(columns).sharded({1, 1, 1}, "k")},
                        {"by_two", FakeTable(columns).sharded({1, 1, 1}, "k * 3 + v")},
                        {"numbers_k", std::make_shared<FakeTable>("n", "k UInt32")},
                        {"by_random", FakeTable(columns).sharded({1, 1, 1}, "rand()")},
                        {"heavy", FakeTable(columns).sharded({2, 1}, "k")}});
}

std::string choose(const std::string& query, const PlannerContext& planner) {
    const auto tree = bindQuery(*sql::parseQuery(query), planner);
    const QueryNode& node = *tree->select;
    const StageChoice choice =
        chooseStage(node, *node.sources[0]->storage->distributed(), planner.stage, planner);
    std::string text = std::to_string(static_cast<int>(choice.stage)) + ":";
    for (size_t shard : choice.shards) text += " " + std::to_string(shard);
    return text;
}

struct StageCase {
    std::string query, choice;

    friend void PrintTo(const StageCase& row, std::ostream* out) { *out << row.query; }
};

class StageTest : public testing::TestWithParam<StageCase> {};

TEST_P(StageTest, Choice) { EXPECT_EQ(choose(GetParam().query, context()), GetParam().choice); }

INSTANTIATE_TEST_SUITE_P(
    Modes,
    StageTest,
    testing::Values(
        StageCase{"SELECT k FROM plain", "2: 0 1 2"},
        StageCase{"SELECT count() FROM plain", "1: 0 1 2"},
        StageCase{"SELECT k FROM plain ORDER BY k LIMIT 1", "4: 0 1 2"},
        StageCase{"SELECT k FROM plain ORDER BY k SETTINGS distributed_push_down_limit = 0", "3: 0 1 2"},
        StageCase{"SELECT k, count() FROM one GROUP BY k ORDER BY k", "2: 0"},
        StageCase{"SELECT k, count() FROM plain GROUP BY k SETTINGS distributed_group_by_no_merge = 1",
                  "2: 0 1 2"},
        StageCase{"SELECT k, count() FROM plain GROUP BY k SETTINGS distributed_group_by_no_merge = 2",
                  "2: 0 1 2"},
        StageCase{"SELECT k, count() FROM plain GROUP BY k ORDER BY k SETTINGS distributed_group_by_no_merge = 2",
                  "4: 0 1 2"},
        StageCase{"SELECT k, count() FROM plain GROUP BY k SETTINGS distributed_group_by_no_merge = 3",
                  "2: 0 1 2"},
        StageCase{"SELECT DISTINCT k FROM plain", "1: 0 1 2"},
        StageCase{"SELECT k FROM plain LIMIT 1 BY k", "1: 0 1 2"},
        StageCase{"SELECT k FROM plain SETTINGS extremes = 1", "1: 0 1 2"}));

const std::string kSkip = " SETTINGS optimize_skip_unused_shards = 1";

INSTANTIATE_TEST_SUITE_P(
    ShardingKey,
    StageTest,
    testing::Values(StageCase{"SELECT k, count() FROM by_k GROUP BY k" + kSkip, "2: 0 1 2"},
                    StageCase{"SELECT k, v, count() FROM by_k GROUP BY k, v ORDER BY k" + kSkip, "4: 0 1 2"},
                    StageCase{"SELECT v, count() FROM by_k GROUP BY v" + kSkip, "1: 0 1 2"},
                    StageCase{"SELECT k % 2, count() FROM by_k GROUP BY k % 2" + kSkip, "1: 0 1 2"},
                    StageCase{"SELECT count() FROM by_k" + kSkip, "1: 0 1 2"},
                    StageCase{"SELECT k, count() FROM by_k GROUP BY k WITH TOTALS" + kSkip, "1: 0 1 2"},
                    StageCase{"SELECT k, count() FROM by_k GROUP BY k", "1: 0 1 2"},
                    StageCase{"SELECT DISTINCT k FROM by_k" + kSkip, "2: 0 1 2"}));

std::string reasonOf(const std::string& query) {
    const PlannerContext planner = context();
    const auto tree = bindQuery(*sql::parseQuery(query), planner);
    const QueryNode& node = *tree->select;
    return chooseStage(node, *node.sources[0]->storage->distributed(), planner.stage, planner).reason;
}

TEST(StageReasonTest, WhyNoShorterWay) {
    const std::string may = "a group may live on several shards: ";
    EXPECT_EQ(reasonOf("SELECT v, count() FROM by_two GROUP BY v" + kSkip), may + "GROUP BY lacks column k of k * 3 + v");
    EXPECT_EQ(reasonOf("SELECT s, count() FROM by_two GROUP BY s" + kSkip), may + "GROUP BY lacks columns k, v of k * 3 + v");
    EXPECT_EQ(reasonOf("SELECT k % 2, count() FROM by_k GROUP BY k % 2" + kSkip),
              may + "GROUP BY lacks column k (modulo(k, 2) does not tell it) of k");
    EXPECT_EQ(reasonOf("SELECT k, count() FROM by_k GROUP BY k"),
              may + "every group has all of the sharding key k, but optimize_skip_unused_shards = 0");
    EXPECT_EQ(reasonOf("SELECT k, count() FROM plain GROUP BY k" + kSkip), may + "the table has no sharding key");
    EXPECT_EQ(reasonOf("SELECT k, count() FROM by_random GROUP BY k" + kSkip),
              may + "the sharding key rand() is not the same whenever it is computed");
    EXPECT_EQ(reasonOf("SELECT DISTINCT k, v FROM by_k LIMIT 1 BY v" + kSkip), may + "LIMIT BY lacks column k of k");
    EXPECT_EQ(reasonOf("SELECT count() FROM by_k" + kSkip), may + "there is no GROUP BY: all rows are one group");
}

INSTANTIATE_TEST_SUITE_P(
    Joins,
    StageTest,
    testing::Values(
        // The other side's column of the sharding key's name is another column.
        StageCase{"SELECT r.k, count() FROM by_k AS l JOIN numbers_k AS r ON l.v = r.k GROUP BY r.k" + kSkip, "1: 0 1 2"},
        StageCase{"SELECT l.k, count() FROM by_k AS l JOIN numbers_k AS r ON l.v = r.k GROUP BY l.k" + kSkip, "2: 0 1 2"},
        StageCase{"SELECT count() FROM by_k AS l JOIN numbers_k AS r ON l.v = r.k WHERE r.k = 4" + kSkip, "1: 0 1 2"},
        StageCase{"SELECT count() FROM by_k AS l JOIN numbers_k AS r ON l.v = r.k WHERE l.k = 4" + kSkip, "2: 1"},
        // Every shard makes the rows that have no partner.
        StageCase{"SELECT l.k, count() FROM by_k AS l RIGHT JOIN numbers_k AS r ON l.k = r.k GROUP BY l.k" + kSkip, "1: 0 1 2"},
        StageCase{"SELECT l.k, count() FROM by_k AS l LEFT JOIN numbers_k AS r ON l.k = r.k GROUP BY l.k" + kSkip, "2: 0 1 2"}));

INSTANTIATE_TEST_SUITE_P(
    Skipping,
    StageTest,
    testing::Values(
        StageCase{"SELECT count() FROM by_k WHERE k = 4" + kSkip, "2: 1"},
        StageCase{"SELECT count() FROM by_k WHERE k IN (0, 2, 3)" + kSkip, "1: 0 2"},
        StageCase{"SELECT count() FROM by_k WHERE k = 1 AND k = 0" + kSkip, "0:"},
        StageCase{"SELECT count() FROM by_k WHERE (k = 1 OR k = 2) AND v > 3" + kSkip, "1: 1 2"},
        StageCase{"SELECT count() FROM by_k WHERE k = 1 OR v = 2" + kSkip, "1: 0 1 2"},
        StageCase{"SELECT count() FROM by_k WHERE k > 1" + kSkip, "1: 0 1 2"},
        StageCase{"SELECT count() FROM by_k WHERE k = -1" + kSkip, "0:"},
        StageCase{"SELECT count() FROM by_k WHERE k = 4", "1: 0 1 2"},
        StageCase{"SELECT count() FROM heavy WHERE k IN (0, 1)" + kSkip, "2: 0"},
        StageCase{"SELECT count() FROM heavy WHERE k = 2" + kSkip, "2: 1"},
        StageCase{"SELECT count() FROM by_k WHERE k IN (0, 1, 2) SETTINGS optimize_skip_unused_shards = 1, "
                  "optimize_skip_unused_shards_limit = 2",
                  "1: 0 1 2"},
        StageCase{"SELECT k FROM by_k WHERE k = 1 LIMIT 1 SETTINGS optimize_skip_unused_shards = 1, "
                  "distributed_group_by_no_merge = 2",
                  "4: 1"}));

TEST(StageErrorTest, ForcedSkipping) {
    const auto code = [](const std::string& query) {
        try {
            choose(query, context());
        } catch (const Error& error) {
            return error.code();
        }
        return 0;
    };
    const std::string force =
        " SETTINGS optimize_skip_unused_shards = 1, force_optimize_skip_unused_shards = ";
    EXPECT_EQ(code("SELECT k FROM by_k WHERE v = 1" + force + "1"), 507);
    EXPECT_EQ(code("SELECT k FROM by_k WHERE k = 1" + force + "1"), 0);
    EXPECT_EQ(code("SELECT k FROM plain WHERE k = 1" + force + "1"), 0);
    EXPECT_EQ(code("SELECT k FROM plain WHERE k = 1" + force + "2"), 507);
    EXPECT_EQ(code("SELECT row_number() OVER () FROM plain SETTINGS distributed_group_by_no_merge = 2"), 48);
}

TEST(StageTest, AnotherInitiatorWantsStates) {
    PlannerContext planner = context();
    planner.stage = storage::Stage::WithMergeableState;
    EXPECT_EQ(choose("SELECT k, count() FROM one GROUP BY k", planner), "1: 0");
}

std::string rangesText(const std::string& condition) {
    const PlannerContext planner = context();
    const auto tree = bindQuery(*sql::parseQuery("SELECT k FROM plain WHERE " + condition), planner);
    std::string text;
    for (const auto& range : rangesOf(tree->select->where, *tree->select->sources[0], planner)) {
        const auto number = [](const Value& value) {
            return value.kind() == Value::Kind::String ? value.get<std::string>()
                                                       : std::to_string(value.to<int64_t>());
        };
        text += (text.empty() ? "" : "; ") + range.column;
        if (range.lower) text += (range.lower_open ? " > " : " >= ") + number(*range.lower);
        if (range.upper) text += (range.upper_open ? " < " : " <= ") + number(*range.upper);
        for (const Value& value : range.values) text += " " + number(value);
    }
    return text;
}

struct RangeCase {
    std::string condition, ranges;

    friend void PrintTo(const RangeCase& row, std::ostream* out) { *out << row.condition; }
};

class RangesTest : public testing::TestWithParam<RangeCase> {};

TEST_P(RangesTest, Ranges) { EXPECT_EQ(rangesText(GetParam().condition), GetParam().ranges); }

INSTANTIATE_TEST_SUITE_P(Conditions,
                         RangesTest,
                         testing::Values(RangeCase{"k = 5", "k >= 5 <= 5"},
                                         RangeCase{"k > 5 AND v <= -1", "k > 5; v <= -1"},
                                         RangeCase{"5 > k", "k < 5"},
                                         RangeCase{"k BETWEEN 1 AND 3", "k >= 1; k <= 3"},
                                         RangeCase{"k IN (1, 2)", "k 1 2"},
                                         RangeCase{"k = 1 OR k = 2", ""},
                                         RangeCase{"s = 'x'", "s >= x <= x"},
                                         RangeCase{"d >= '1970-01-03'", "d >= 2"},
                                         RangeCase{"k < 5000000000", ""},
                                         RangeCase{"k = 1.5", ""},
                                         RangeCase{"k + 1 = 2", ""},
                                         RangeCase{"NOT k = 1", ""}));

}  // namespace
}  // namespace shardd::plan
