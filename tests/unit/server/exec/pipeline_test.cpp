#include "server/exec/pipeline.h"

#include "tests/unit/server/exec/exec_fixture.h"

namespace shardd::exec {
namespace {

class PipelineTest : public ExecTest {
protected:
    /// number 0 … rows - 1 in blocks of ten.
    static plan::StepPtr numbers(uint64_t rows) {
        std::vector<Block> blocks;
        for (uint64_t from = 0; from < rows || blocks.empty(); from += 10) {
            Rows part;
            for (uint64_t i = from; i < std::min(rows, from + 10); ++i) part.push_back({Value(i)});
            blocks.push_back(makeBlock({{"n", "UInt64"}}, part));
        }
        return scanOf(std::move(blocks));
    }

    static Rows column(const std::vector<uint64_t>& values) {
        Rows rows;
        for (const uint64_t value : values) rows.push_back({Value(value)});
        return rows;
    }

    static plan::StepPtr sortBy(const plan::StepPtr& input,
                                bool descending,
                                uint64_t limit = 0,
                                bool with_ties = false) {
        return plan::makeStep(plan::SortStep{input, {{"n", descending, 1}}, limit, with_ties}, input->header);
    }

    static plan::StepPtr limit(const plan::StepPtr& input,
                               std::optional<plan::RowCount> count,
                               plan::RowCount offset = {},
                               bool ties = false) {
        plan::LimitStep step;
        step.input = input;
        step.limit = count;
        step.offset = offset;
        step.with_ties = ties;
        step.ties = {{"n", false, 1}};
        return plan::makeStep(std::move(step), input->header);
    }
};

TEST_F(PipelineTest, ScanCountsWhatItReads) {
    EXPECT_EQ(run(numbers(25)).rows().size(), 25U);
    EXPECT_EQ(context_->progress.read_rows.load(), 25U);
    EXPECT_EQ(context_->progress.result_rows.load(), 25U);
}

TEST_F(PipelineTest, FilterByNullableCondition) {
    const auto input = scanOf({makeBlock({{"n", "UInt64"}, {"c", "Nullable(UInt8)"}},
                                         {{1_v, 0_v}, {2_v, 1_v}, {3_v, Value()}, {4_v, 7_v}})});
    const auto filter = plan::makeStep(plan::FilterStep{input, inputOf(input->header, "c")}, input->header);
    EXPECT_EQ(run(filter).rows(), (Rows{{2_v, 1_v}, {4_v, 7_v}}));
}

TEST_F(PipelineTest, SortWithAndWithoutLimit) {
    const auto input = numbers(25);
    for (const size_t threads : {1, 3}) {
        EXPECT_EQ(run(sortBy(input, true, 3), threads).rows(), column({24, 23, 22}));
        EXPECT_EQ(run(sortBy(input, false), threads, 4).rows().back(), (std::vector<Value>{24_v}));
        EXPECT_EQ(
            *[&] {
                run(sortBy(input, true, 3), threads);
                return context_->rowsBeforeLimit();
            }(),
            25U);
    }
}

TEST_F(PipelineTest, SortOfNullsNansAndStrings) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto input = scanOf({makeBlock({{"n", "Nullable(Float64)"}, {"s", "String"}},
                                         {{Value(2.5), text("b")},
                                          {Value(), text("longer than eight b")},
                                          {Value(nan), text("")},
                                          {Value(-1.0), text("longer than eight a")}})});
    const auto order = [&](plan::SortKey key) {
        const auto answer =
            run(plan::makeStep(plan::SortStep{input, {std::move(key)}, 0, false}, input->header));
        std::string text;
        for (const auto& row : answer.rows()) text += row[1].get<std::string>() + "|";
        return text;
    };
    EXPECT_EQ(order({"s", false, 1}), "|b|longer than eight a|longer than eight b|");
    EXPECT_EQ(order({"s", true, -1}), "longer than eight b|longer than eight a|b||");
    EXPECT_EQ(order({"n", false, 1}).substr(0, 22), "longer than eight a|b|");
    EXPECT_EQ(order({"n", true, -1}).substr(0, 22), "b|longer than eight a|");
    EXPECT_EQ(order({"n", false, -1}).substr(order({"n", false, -1}).size() - 22), "longer than eight a|b|");
}

TEST_F(PipelineTest, Limits) {
    const auto input = numbers(25);
    const auto rows = [](uint64_t n) { return plan::RowCount{n, false, 0}; };
    const auto last = [](uint64_t n) { return plan::RowCount{n, true, 0}; };
    const auto share = [](double f) { return plan::RowCount{0, false, f}; };
    EXPECT_EQ(run(limit(input, rows(3), rows(9))).rows(), column({9, 10, 11}));
    EXPECT_TRUE(run(limit(input, rows(0))).rows().empty());
    EXPECT_EQ(run(limit(input, std::nullopt, rows(23))).rows(), column({23, 24}));
    EXPECT_EQ(run(limit(input, last(2))).rows(), column({23, 24}));
    EXPECT_EQ(run(limit(input, last(2), last(1))).rows(), column({22, 23}));
    EXPECT_EQ(run(limit(input, rows(2), last(1))).rows(), column({0, 1}));
    EXPECT_EQ(run(limit(input, share(0.1))).rows(), column({0, 1, 2}));
    EXPECT_EQ(run(limit(input, share(0.1), share(0.9))).rows(), column({23, 24}));
}

TEST_F(PipelineTest, LimitEndsTheScan) {
    run(limit(numbers(1000), plan::RowCount{5, false, 0}));
    EXPECT_EQ(context_->progress.read_rows.load(), 10U);
    EXPECT_EQ(*context_->rowsBeforeLimit(), 10U);
}

TEST_F(PipelineTest, Ties) {
    const auto input = scanOf({makeBlock({{"n", "UInt64"}}, column({1, 2, 2})),
                               makeBlock({{"n", "UInt64"}}, column({2, 3, 3, 4}))});
    EXPECT_EQ(run(limit(input, plan::RowCount{2, false, 0}, {}, true)).rows(), column({1, 2, 2, 2}));
    EXPECT_EQ(run(limit(input, plan::RowCount{2, true, 0}, {}, true)).rows(), column({3, 3, 4}));
    EXPECT_EQ(run(limit(input, plan::RowCount{1, false, 0}, plan::RowCount{4, false, 0}, true)).rows(),
              column({3, 3}));
    EXPECT_EQ(run(sortBy(input, false, 2, true), 2).rows(), column({1, 2, 2, 2}));
}

TEST_F(PipelineTest, DistinctLimitByUnionIntersectExcept) {
    const auto input = scanOf({makeBlock({{"n", "UInt64"}}, column({1, 2, 2})),
                               makeBlock({{"n", "UInt64"}}, column({2, 3, 3, 4}))});
    EXPECT_EQ(run(plan::makeStep(plan::DistinctStep{input, {"n"}, 0}, input->header)).rows(),
              column({1, 2, 3, 4}));
    EXPECT_EQ(run(plan::makeStep(plan::LimitByStep{input, {"n"}, 1, 1}, input->header)).rows(),
              column({2, 3}));
    const auto other = scanOf({makeBlock({{"n", "UInt64"}}, column({2, 3, 9}))});
    EXPECT_EQ(run(plan::makeStep(plan::UnionStep{{input, other}}, input->header)).rows().size(), 10U);
    using Kind = plan::IntersectExceptStep::Kind;
    const auto combined = [&](Kind kind) {
        return run(plan::makeStep(plan::IntersectExceptStep{kind, input, other}, input->header)).rows();
    };
    EXPECT_EQ(combined(Kind::Intersect), column({2, 3}));
    EXPECT_EQ(combined(Kind::IntersectDistinct), column({2, 3}));
    EXPECT_EQ(combined(Kind::Except), column({1, 2, 2, 3, 4}));
    EXPECT_EQ(combined(Kind::ExceptDistinct), column({1, 4}));
}

TEST_F(PipelineTest, ArrayJoin) {
    const auto list = [](std::initializer_list<uint64_t> values) {
        ArrayValue array;
        for (const uint64_t value : values) array.elements.emplace_back(value);
        return Value(array);
    };
    const auto input = scanOf({makeBlock({{"n", "UInt64"}, {"a", "Array(UInt64)"}},
                                         {{1_v, list({5, 6})}, {2_v, list({})}, {3_v, list({7})}})});
    Block header = input->header;
    header.columns[1] = emptyColumn("a", types::uint64());
    EXPECT_EQ(run(plan::makeStep(plan::ArrayJoinStep{input, {"a"}, false}, header)).rows(),
              (Rows{{1_v, 5_v}, {1_v, 6_v}, {3_v, 7_v}}));
    EXPECT_EQ(run(plan::makeStep(plan::ArrayJoinStep{input, {"a"}, true}, header), 1, 1).rows(),
              (Rows{{1_v, 5_v}, {1_v, 6_v}, {2_v, 0_v}, {3_v, 7_v}}));
}

TEST_F(PipelineTest, Extremes) {
    const auto input = numbers(25);
    const Answer answer = run(plan::makeStep(plan::ExtremesStep{input}, input->header), 2);
    EXPECT_EQ(answer.rows().size(), 25U);
    EXPECT_EQ(rowsOf(answer.extremes_block), column({0, 24}));
}

TEST_F(PipelineTest, LimitsOfTheResultAndOfReading) {
    plan::LimitsStep limits;
    limits.input = numbers(25);
    limits.max_rows = 15;
    limits.what = "result";
    const auto step = plan::makeStep(limits, limits.input->header);
    EXPECT_THROW(run(step), Error);
    limits.throws = false;
    EXPECT_EQ(run(plan::makeStep(limits, limits.input->header)).rows().size(), 20U);

    Answer refused;
    QueryContext& query = context();
    query.settings.max_rows_to_read = 15;
    EXPECT_THROW(execute(numbers(100), query, refused), Error);
    Answer answer;
    QueryContext& gentle = context();
    gentle.settings.max_rows_to_read = 15;
    gentle.settings.read_overflow_throws = false;
    execute(numbers(100), gentle, answer);
    EXPECT_EQ(answer.rows().size(), 20U);
}

TEST_F(PipelineTest, CancelGivesItsReason) {
    QueryContext& query = context();
    query.cancel(Error(ErrorCode::TIMEOUT_EXCEEDED, "too late"));
    Answer answer;
    try {
        execute(numbers(10), query, answer);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), 159);
    }
}

TEST_F(PipelineTest, WindowFunctions) {
    const auto input = numbers(6);
    plan::WindowStep window;
    window.input = input;
    window.order_by = {{"n", false, 1}};
    window.frame = plan::WindowStep::Frame::Rows;
    window.begin = {plan::WindowStep::Bound::Kind::Offset, true, 1_v};
    window.end = {plan::WindowStep::Bound::Kind::Offset, false, 1_v};
    const auto sum = aggregates::resolveAggregateFunction("sum", {}, {types::uint64()});
    window.calls = {{sum, "sum", {"n"}, types::uint64(), "s"},
                    {nullptr, "row_number", {}, types::uint64(), "r"},
                    {nullptr, "lag", {"n"}, types::uint64(), "l"},
                    {nullptr, "leadInFrame", {"n"}, types::uint64(), "f"}};
    Block header = input->header;
    for (const auto& call : window.calls) header.columns.push_back(emptyColumn(call.name, call.type));
    EXPECT_EQ(run(plan::makeStep(window, header)).rows(), (Rows{{0_v, 1_v, 1_v, 0_v, 1_v},
                                                                {1_v, 3_v, 2_v, 0_v, 2_v},
                                                                {2_v, 6_v, 3_v, 1_v, 3_v},
                                                                {3_v, 9_v, 4_v, 2_v, 4_v},
                                                                {4_v, 12_v, 5_v, 3_v, 5_v},
                                                                {5_v, 9_v, 6_v, 4_v, 0_v}}));
}

TEST_F(PipelineTest, FillEndsWhereItIsStaleAndKeepsToItsGrid) {
    const auto input = scanOf({makeBlock({{"n", "Int64"}}, {{0_v}, {5_v}, {10_v}})});
    plan::FillStep fill;
    fill.input = input;
    fill.columns = {{{"n", false, 1}, std::nullopt, std::nullopt, 2_v, std::nullopt, 4_v}};
    fill.all_keys = {{"n", false, 1}};
    EXPECT_EQ(printed(run(plan::makeStep(fill, input->header)).rows()),
              printed(column({0, 2, 5, 6, 8, 10, 12})));
}

TEST_F(PipelineTest, FillOfTwoColumns) {
    const auto input = scanOf({makeBlock({{"a", "Int64"}, {"b", "UInt64"}}, {{0_v, 0_v}, {1_v, 2_v}})});
    plan::FillStep fill;
    fill.input = input;
    fill.columns = {{{"a", false, 1}, Value(int64_t{-1}), 2_v, 1_v, std::nullopt, std::nullopt},
                    {{"b", false, 1}, 1_v, 3_v, 1_v, std::nullopt, std::nullopt}};
    fill.all_keys = {{"a", false, 1}, {"b", false, 1}};
    EXPECT_EQ(printed(run(plan::makeStep(fill, input->header)).rows()),
              "-1 1 \n-1 2 \n0 0 \n0 1 \n0 2 \n1 1 \n1 2 \n");
}

TEST_F(PipelineTest, Fill) {
    const auto input = scanOf({makeBlock({{"n", "Int64"}}, {{0_v}, {3_v}, {6_v}, {9_v}})});
    plan::FillStep fill;
    fill.input = input;
    fill.columns = {{{"n", false, 1}, Value(int64_t{-2}), 12_v, 2_v, std::nullopt, std::nullopt}};
    fill.all_keys = {{"n", false, 1}};
    std::vector<int64_t> values;
    for (const auto& row : run(plan::makeStep(fill, input->header)).rows())
        values.push_back(row[0].to<int64_t>());
    EXPECT_EQ(values, (std::vector<int64_t>{-2, 0, 2, 3, 4, 6, 8, 9, 10}));
}

}  // namespace
}  // namespace shardd::exec
