#include <map>

#include "tests/unit/server/exec/group_by.h"

namespace shardd::exec {
namespace {

class HashAggregateTest : public ExecTest {};

TEST_F(HashAggregateTest, NoKeys) {
    const auto input =
        scanOf({makeBlock({{"n", "UInt64"}}, {{1_v}, {2_v}, {3_v}}), makeBlock({{"n", "UInt64"}}, {{4_v}})});
    for (const size_t threads : {1, 2}) {
        const Answer answer =
            run(groupBy(input, {}, {call("count", input->header, {}), call("sum", input->header, {"n"})}),
                threads);
        EXPECT_EQ(answer.rows(), (Rows{{4_v, 10_v}}));
    }
}

TEST_F(HashAggregateTest, NoKeysNoRows) {
    const auto input = scanOf({makeBlock({{"n", "UInt64"}}, {})});
    EXPECT_EQ(run(groupBy(input, {}, {call("count", input->header, {})})).rows(), (Rows{{0_v}}));
    EXPECT_TRUE(run(groupBy(input, {"n"}, {call("count", input->header, {})})).rows().empty());
}

struct KeyCase {
    std::vector<std::string> types;
    Rows keys;  // three different ones
};

void PrintTo(const KeyCase& c, std::ostream* out) {
    for (const std::string& type : c.types) *out << type << ' ';
}

class KeyLayouts : public HashAggregateTest, public testing::WithParamInterface<KeyCase> {};

TEST_P(KeyLayouts, GroupsByEveryKindOfKey) {
    const KeyCase& c = GetParam();
    std::vector<std::pair<std::string, std::string>> columns;
    for (size_t i = 0; i < c.types.size(); ++i) columns.emplace_back("k" + std::to_string(i), c.types[i]);
    columns.emplace_back("v", "UInt64");
    std::vector<Block> blocks;
    Rows expected;
    for (size_t b = 0; b < 3; ++b) {
        Rows rows;
        for (size_t k = 0; k < c.keys.size(); ++k)
            for (size_t times = 0; times <= k; ++times) {
                rows.push_back(c.keys[k]);
                rows.back().push_back(Value(static_cast<uint64_t>(10 * b + k)));
            }
        blocks.push_back(makeBlock(columns, rows));
    }
    std::vector<std::string> keys;
    for (size_t i = 0; i < c.types.size(); ++i) keys.push_back(columns[i].first);
    for (size_t k = 0; k < c.keys.size(); ++k) {
        expected.push_back(c.keys[k]);
        expected.back().push_back(Value(static_cast<uint64_t>(3 * (k + 1))));
        expected.back().push_back(Value(static_cast<uint64_t>((k + 1) * (30 + 3 * k))));
    }
    const auto input = scanOf(blocks);
    for (const size_t threads : {1, 3}) {
        const auto step =
            groupBy(input, keys, {call("count", input->header, {}), call("sum", input->header, {"v"})});
        EXPECT_EQ(printed(sorted(run(step, threads).rows())), printed(sorted(expected)));
    }
}

const Value kMinusOne = Value(int64_t{-1});

INSTANTIATE_TEST_SUITE_P(
    Types,
    KeyLayouts,
    testing::Values(
        KeyCase{{"UInt8"}, {{1_v}, {2_v}, {255_v}}},
        KeyCase{{"Int16"}, {{kMinusOne}, {0_v}, {7_v}}},
        KeyCase{{"UInt8", "UInt8"}, {{1_v, 2_v}, {2_v, 1_v}, {0_v, 0_v}}},
        KeyCase{{"Int32"}, {{kMinusOne}, {0_v}, {7_v}}},
        KeyCase{{"UInt64"}, {{0_v}, {1_v}, {Value(UINT64_MAX)}}},
        KeyCase{{"Nullable(UInt8)"}, {{Value()}, {0_v}, {7_v}}},
        KeyCase{{"Nullable(Int64)"}, {{Value()}, {0_v}, {7_v}}},
        KeyCase{{"UInt8", "UInt64", "UInt16"}, {{1_v, 2_v, 3_v}, {1_v, 2_v, 4_v}, {2_v, 2_v, 3_v}}},
        KeyCase{{"UInt64", "UInt64", "Nullable(UInt32)"},
                {{1_v, 2_v, Value()}, {1_v, 2_v, 0_v}, {2_v, 2_v, 3_v}}},
        KeyCase{{"String"}, {{text("")}, {text("a long string, longer than others")}, {text("b")}}},
        KeyCase{{"Nullable(String)"}, {{Value()}, {text("")}, {text("b")}}},
        KeyCase{{"String", "UInt32"}, {{text(""), 1_v}, {text("a"), 1_v}, {text(""), 2_v}}},
        KeyCase{{"UInt64", "String", "UInt64"},
                {{1_v, text("x"), 1_v}, {1_v, text("x"), 2_v}, {1_v, text("y"), 1_v}}},
        KeyCase{{"String", "String"},
                {{text("a"), text("bc")}, {text("ab"), text("c")}, {text(""), text("")}}},
        KeyCase{{"FixedString(3)"}, {{text("abc")}, {text("abd")}, {text("xyz")}}},
        KeyCase{{"FixedString(40)", "UInt8"},
                {{text("abcdefghijabcdefghijabcdefghijabcdefghij"), 1_v},
                 {text("abcdefghijabcdefghijabcdefghijabcdefghij"), 2_v},
                 {text("abcdefghijabcdefghijabcdefghijabcdefghix"), 1_v}}},
        KeyCase{{"LowCardinality(String)"}, {{text("")}, {text("a")}, {text("b")}}},
        KeyCase{{"LowCardinality(Nullable(String))"}, {{Value()}, {text("")}, {text("b")}}},
        KeyCase{{"LowCardinality(String)", "UInt8"}, {{text(""), 0_v}, {text("a"), 0_v}, {text("a"), 1_v}}}));

/// More groups than a worker's table holds: tables are forgotten, rows go to partitions, and all must come
/// together again.
TEST_F(HashAggregateTest, ManyGroups) {
    constexpr uint64_t kGroups = 300000;
    constexpr size_t kBlocks = 40;
    std::vector<Block> blocks;
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> expected;
    uint64_t random = 42;
    for (size_t b = 0; b < kBlocks; ++b) {
        Rows rows;
        for (size_t i = 0; i < 30000; ++i) {
            random = random * 6364136223846793005ULL + 1442695040888963407ULL;
            const uint64_t key = (random >> 33) % kGroups;
            rows.push_back({Value(key), Value(uint64_t{i})});
            ++expected[key].first;
            expected[key].second += i;
        }
        blocks.push_back(makeBlock({{"k", "UInt64"}, {"v", "UInt64"}}, rows));
    }
    Rows wanted;
    for (const auto& [key, values] : expected)
        wanted.push_back({Value(key), Value(values.first), Value(values.second)});
    const auto input = scanOf(blocks);
    for (const size_t threads : {1, 2, 5}) {
        const auto step =
            groupBy(input, {"k"}, {call("count", input->header, {}), call("sum", input->header, {"v"})});
        EXPECT_TRUE(sorted(run(step, threads, threads == 5 ? 1000 : 65409).rows()) == wanted) << threads;
    }
}

/// The same with keys that hardly repeat and states on the heap.
TEST_F(HashAggregateTest, NearlyUniqueKeysWithHeapStates) {
    std::vector<Block> blocks;
    Rows wanted;
    constexpr size_t kRows = 200000;
    for (size_t b = 0; b < 10; ++b) {
        Rows rows;
        for (size_t i = 0; i < kRows / 10; ++i) {
            const uint64_t n = b * (kRows / 10) + i;
            rows.push_back({text(("key " + std::to_string(n % (kRows - 10))).c_str()), Value(n)});
        }
        blocks.push_back(makeBlock({{"k", "String"}, {"v", "UInt64"}}, rows));
    }
    const auto input = scanOf(blocks);
    const auto step = groupBy(input, {"k"}, {call("uniqExact", input->header, {"v"})});
    for (const size_t threads : {1, 2}) {
        const Rows rows = run(step, threads).rows();
        ASSERT_EQ(rows.size(), kRows - 10);
        size_t twice = 0;
        for (const auto& row : rows) twice += row[1].to<uint64_t>() == 2;
        EXPECT_EQ(twice, 10U);
    }
}

/// count(DISTINCT) goes through a table of pairs; beside other calls, without keys, and without rows.
TEST_F(HashAggregateTest, DistinctCounts) {
    std::vector<Block> blocks;
    for (uint64_t b = 0; b < 4; ++b) {
        Rows rows;
        for (uint64_t i = 0; i < 100; ++i)
            rows.push_back({Value(i % 3), Value(i % 7), text(i % 2 ? "odd" : "even")});
        blocks.push_back(makeBlock({{"k", "UInt64"}, {"n", "UInt64"}, {"s", "String"}}, rows));
    }
    const auto input = scanOf(blocks);
    const auto numbers = call("uniqExact", input->header, {"n"});
    const auto texts = call("uniqExact", input->header, {"s"});
    const auto count = call("count", input->header, {});
    for (const size_t threads : {1, 3}) {
        EXPECT_EQ(sorted(run(groupBy(input, {"k"}, {numbers, count, texts}), threads).rows()),
                  (Rows{{0_v, 7_v, 136_v, 2_v}, {1_v, 7_v, 132_v, 2_v}, {2_v, 7_v, 132_v, 2_v}}));
        EXPECT_EQ(run(groupBy(input, {}, {numbers}), threads).rows(), (Rows{{7_v}}));
        EXPECT_EQ(run(groupBy(input, {"n"}, {numbers}), threads).rows().size(), 7U);
    }
    const auto nothing = scanOf({makeBlock({{"n", "UInt64"}}, {})});
    EXPECT_EQ(run(groupBy(nothing, {}, {call("uniqExact", nothing->header, {"n"})})).rows(), (Rows{{0_v}}));
}

/// sum(n + 1), sum(n - 2): one sum and a count.
TEST_F(HashAggregateTest, SumsOfShiftedColumns) {
    const auto input =
        scanOf({makeBlock({{"k", "UInt8"}, {"n", "UInt8"}}, {{1_v, 5_v}, {2_v, 250_v}, {1_v, 255_v}})});
    const auto context = std::make_shared<functions::FunctionContext>();
    plan::ProjectStep project{input, {{"k", inputOf(input->header, "k")}}};
    Block header;
    header.columns.push_back(input->header.get("k"));
    for (const auto& [function, shift] :
         std::vector<std::pair<std::string, uint64_t>>{{"plus", 1}, {"minus", 2}}) {
        auto constant = std::make_shared<plan::Expression>();
        constant->kind = plan::Expression::Kind::Constant;
        constant->type = parseType("UInt8");
        constant->constant = createConstColumn(*constant->type, Value(shift), 1);
        auto shifted = std::make_shared<plan::Expression>();
        shifted->kind = plan::Expression::Kind::Function;
        shifted->arguments = {inputOf(input->header, "n"), constant};
        const std::vector<NamedColumn> arguments{input->header.get("n"),
                                                 {"", constant->type, constant->constant}};
        shifted->function = functions::resolveFunction(function, arguments, context);
        shifted->type = shifted->function->resultType();
        header.columns.push_back(emptyColumn(function, shifted->type));
        project.columns.push_back({function, shifted});
    }
    const auto projected = plan::makeStep(std::move(project), header);
    const auto step =
        groupBy(projected, {"k"},
                {call("sum", header, {"plus"}), call("count", header, {}), call("sum", header, {"minus"})});
    EXPECT_EQ(printed(sorted(run(step, 2).rows())), "1 262 2 256 \n2 251 1 248 \n");
}

/// ORDER BY count() DESC LIMIT 3 over many groups: those left unmade still count as rows before the limit.
TEST_F(HashAggregateTest, TopGroups) {
    std::vector<Block> blocks;
    for (uint64_t b = 0; b < 10; ++b) {
        Rows rows;
        for (uint64_t i = 0; i < 20000; ++i) rows.push_back({Value(i % 10 == 0 ? i % 50 : b * 20000 + i)});
        blocks.push_back(makeBlock({{"k", "UInt64"}}, rows));
    }
    const auto input = scanOf(blocks);
    const auto groups = groupBy(input, {"k"}, {call("count", input->header, {})});
    plan::SortStep sort{groups, {{"count()", true, -1}, {"k", false, 1}}, 3, false};
    for (const size_t threads : {1, 2}) {
        EXPECT_EQ(run(plan::makeStep(sort, groups->header), threads).rows(),
                  (Rows{{0_v, 4000_v}, {10_v, 4000_v}, {20_v, 4000_v}}));
        EXPECT_EQ(context_->rowsBeforeLimit(), 180005U);
    }
}

TEST_F(HashAggregateTest, StatesAreMergedByTheSameOperator) {
    const auto input =
        scanOf({makeBlock({{"k", "UInt8"}, {"n", "UInt64"}}, {{1_v, 5_v}, {2_v, 6_v}, {1_v, 7_v}}),
                makeBlock({{"k", "UInt8"}, {"n", "UInt64"}}, {{2_v, 1_v}})});
    const auto states = groupBy(input, {"k"}, {call("sum", input->header, {"n"})}, false);
    plan::MergeStatesStep merge;
    merge.input = plan::makeStep(plan::UnionStep{{states, states}}, states->header);
    merge.keys = {"k"};
    merge.calls = {call("sum", input->header, {"n"})};
    merge.calls[0].arguments = {"sum(n)"};
    const Block header = groupBy(input, {"k"}, {call("sum", input->header, {"n"})})->header;
    EXPECT_EQ(sorted(run(plan::makeStep(merge, header), 2).rows()), (Rows{{1_v, 24_v}, {2_v, 14_v}}));
}

TEST_F(HashAggregateTest, LimitOfGroups) {
    const auto input = scanOf({makeBlock({{"k", "UInt64"}}, {{1_v}, {2_v}, {3_v}, {1_v}})});
    auto step = groupBy(input, {"k"}, {call("count", input->header, {})});
    auto limited = std::get<plan::AggregateStep>(step->node);
    limited.max_groups = 2;
    try {
        run(plan::makeStep(limited, step->header));
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), 158);
    }
    limited.max_groups = 3;
    EXPECT_EQ(run(plan::makeStep(limited, step->header)).rows().size(), 3U);
}

/// max_rows_to_group_by over all workers: what came in before the maximum stays, and is counted to the end by
/// every worker, whoever met it first.
TEST_F(HashAggregateTest, AnyGroupsBeyondTheMaximumAreLeftOut) {
    std::vector<Block> blocks;
    for (size_t b = 0; b < 60; ++b) {
        Rows rows;
        for (uint64_t i = 0; i < 100; ++i)
            rows.push_back({text(std::to_string((i * 7 + 10 * b) % 600).c_str())});
        blocks.push_back(makeBlock({{"k", "String"}}, rows));
    }
    std::map<std::string, uint64_t> counts;
    for (const Block& block : blocks)
        for (size_t i = 0; i < block.rows; ++i)
            ++counts[block.columns[0].column->value(i).get<std::string>()];
    const auto input = scanOf(blocks);
    const auto step = groupBy(input, {"k"}, {call("count", input->header, {})});
    auto limited = std::get<plan::AggregateStep>(step->node);
    limited.max_groups = 150;
    limited.overflow = plan::OverflowMode::Any;
    limited.overflow_row = true;
    for (const size_t threads : {1, 2, 5}) {
        const Answer answer = run(plan::makeStep(limited, step->header), threads);
        uint64_t groups = 0;
        uint64_t inside = 0;
        uint64_t outside = 0;
        for (const Block& block : answer.blocks) {
            for (const auto& row : rowsOf(block)) {
                if (block.is_overflows) {
                    outside += row[1].to<uint64_t>();
                    continue;
                }
                ++groups;
                inside += row[1].to<uint64_t>();
                EXPECT_EQ(row[1].to<uint64_t>(), counts[row[0].get<std::string>()]);
            }
        }
        EXPECT_GT(groups, 150U);
        EXPECT_LE(groups, 150 + 100 * threads);
        EXPECT_EQ(inside + outside, 6000U) << threads;
    }
    limited.overflow = plan::OverflowMode::Break;
    limited.overflow_row = false;
    for (const size_t threads : {1, 2, 5}) {
        const Rows rows = run(plan::makeStep(limited, step->header), threads).rows();
        EXPECT_GT(rows.size(), 150U);
        EXPECT_LE(rows.size(), 150 + 100 * threads);
    }
}

TEST_F(HashAggregateTest, AnyGroupsWillDo) {
    std::vector<Block> blocks;
    for (size_t b = 0; b < 20; ++b) {
        Rows rows;
        for (uint64_t i = 0; i < 1000; ++i) rows.push_back({Value((i + 50 * b) % 1000)});
        blocks.push_back(makeBlock({{"k", "UInt64"}}, rows));
    }
    const auto input = scanOf(blocks);
    auto step = groupBy(input, {"k"}, {call("count", input->header, {})});
    auto limited = std::get<plan::AggregateStep>(step->node);
    limited.limit_groups = 10;
    for (const size_t threads : {1, 3}) {
        const Rows rows = run(plan::makeStep(limited, step->header), threads).rows();
        EXPECT_EQ(rows.size(), 10U);
        for (const auto& row : rows) EXPECT_EQ(row[1], 20_v);
    }
}

TEST_F(HashAggregateTest, Totals) {
    const auto input =
        scanOf({makeBlock({{"k", "UInt8"}, {"n", "UInt64"}}, {{1_v, 5_v}, {2_v, 6_v}, {1_v, 7_v}})});
    const auto states = groupBy(input, {"k"}, {call("sum", input->header, {"n"})}, false);
    plan::TotalsStep totals;
    totals.input = states;
    totals.keys = {"k"};
    totals.calls = {call("sum", input->header, {"n"})};
    totals.calls[0].arguments = {"sum(n)"};
    const Block header = groupBy(input, {"k"}, {call("sum", input->header, {"n"})})->header;
    const Answer answer = run(plan::makeStep(totals, header));
    EXPECT_EQ(sorted(answer.rows()), (Rows{{1_v, 12_v}, {2_v, 6_v}}));
    EXPECT_EQ(rowsOf(answer.totals_block), (Rows{{0_v, 18_v}}));
}

TEST_F(HashAggregateTest, RollupAndCube) {
    const auto input = scanOf({makeBlock({{"a", "UInt8"}, {"b", "UInt8"}, {"n", "UInt64"}},
                                         {{1_v, 1_v, 5_v}, {1_v, 2_v, 6_v}, {2_v, 2_v, 7_v}})});
    const auto sum = call("sum", input->header, {"n"});
    const auto states = groupBy(input, {"a", "b"}, {sum}, false);
    plan::RollupStep rollup;
    rollup.input = states;
    rollup.keys = {"a", "b"};
    rollup.calls = {sum};
    rollup.calls[0].arguments = {"sum(n)"};
    Block header = groupBy(input, {"a", "b"}, {sum})->header;
    header.columns.insert(header.columns.begin(), emptyColumn("__grouping_set", types::uint64()));
    EXPECT_EQ(sorted(run(plan::makeStep(rollup, header), 2).rows()), (Rows{{0_v, 1_v, 1_v, 5_v},
                                                                           {0_v, 1_v, 2_v, 6_v},
                                                                           {0_v, 2_v, 2_v, 7_v},
                                                                           {1_v, 1_v, 0_v, 11_v},
                                                                           {1_v, 2_v, 0_v, 7_v},
                                                                           {2_v, 0_v, 0_v, 18_v}}));
    rollup.cube = true;
    EXPECT_EQ(sorted(run(plan::makeStep(rollup, header)).rows()), (Rows{{0_v, 1_v, 1_v, 5_v},
                                                                        {0_v, 1_v, 2_v, 6_v},
                                                                        {0_v, 2_v, 2_v, 7_v},
                                                                        {1_v, 1_v, 0_v, 11_v},
                                                                        {1_v, 2_v, 0_v, 7_v},
                                                                        {2_v, 0_v, 1_v, 5_v},
                                                                        {2_v, 0_v, 2_v, 13_v},
                                                                        {3_v, 0_v, 0_v, 18_v}}));
}

TEST_F(HashAggregateTest, GroupingSets) {
    const auto input = scanOf({makeBlock({{"a", "UInt8"}, {"b", "String"}, {"n", "UInt64"}},
                                         {{1_v, text("x"), 5_v}, {1_v, text("y"), 6_v}})});
    const auto sum = call("sum", input->header, {"n"});
    auto step = groupBy(input, {"a", "b"}, {sum});
    auto sets = std::get<plan::AggregateStep>(step->node);
    sets.grouping_sets = {{0}, {1}, {}};
    Block header = step->header;
    header.columns.insert(header.columns.begin(), emptyColumn("__grouping_set", types::uint64()));
    EXPECT_EQ(sorted(run(plan::makeStep(sets, header)).rows()), (Rows{{0_v, 1_v, text(""), 11_v},
                                                                      {1_v, 0_v, text("x"), 5_v},
                                                                      {1_v, 0_v, text("y"), 6_v},
                                                                      {2_v, 0_v, text(""), 11_v}}));
}

}  // namespace
}  // namespace shardd::exec
