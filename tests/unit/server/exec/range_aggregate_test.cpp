#include "server/exec/range_aggregate.h"

#include "tests/support/forgetful_file_system.h"
#include "tests/unit/server/exec/group_by.h"
#include "tests/unit/server/exec/ordered_table.h"

namespace shardd::exec {
namespace {

class RangeAggregateTest : public ExecTest {
protected:
    /// Keys 0 … `keys` - 1, each `repeat` times, in `parts` parts that overlap; v is the key times two.
    void fill(uint64_t keys, size_t repeat, size_t parts) {
        for (size_t part = 0; part < parts; ++part) {
            Rows rows;
            for (uint64_t key = 0; key < keys; ++key)
                for (size_t i = part; i < repeat; i += parts) rows.push_back({Value(key), Value(2 * key)});
            table_.insert(makeBlock({{"k", "UInt64"}, {"v", "UInt64"}}, rows));
        }
    }

    plan::StepPtr countsAndSums() const {
        const plan::StepPtr input = table_.scan();
        return inKeyOrder(
            groupBy(input, {"k"}, {call("count", input->header, {}), call("sum", input->header, {"v"})}),
            {"k"});
    }

    QueryContext& ranges(size_t threads, uint64_t rows) {
        ExecSettings settings;
        settings.max_threads = threads;
        settings.key_range_rows = rows;
        return context(settings);
    }

    static plan::StepPtr limited(const plan::StepPtr& groups, uint64_t rows) {
        auto aggregate = std::get<plan::AggregateStep>(groups->node);
        aggregate.limit_groups = rows;
        plan::LimitStep limit;
        limit.input = plan::makeStep(std::move(aggregate), groups->header);
        limit.limit = plan::RowCount{.rows = rows};
        return plan::makeStep(std::move(limit), groups->header);
    }

    tests::ForgetfulFileSystem disk_;
    OrderedTable table_{disk_, {{"k", "UInt64"}, {"v", "UInt64"}}, {"k"}, 10};
};

TEST_F(RangeAggregateTest, EveryGroupComesOnceAndWhole) {
    fill(700, 6, 3);
    for (const size_t threads : {1, 2, 3, 8, 16}) {
        for (const uint64_t rows : {1, 37, 500, 100000}) {
            Answer answer;
            execute(countsAndSums(), ranges(threads, rows), answer);
            const Rows found = sorted(answer.rows());
            ASSERT_EQ(found.size(), 700U) << threads << " threads, ranges of " << rows;
            for (uint64_t key = 0; key < 700; ++key)
                ASSERT_EQ(found[key], (std::vector{Value(key), Value(uint64_t{6}), Value(12 * key)}));
            EXPECT_EQ(context_->progress.read_rows.load(), 4200U);
        }
    }
}

TEST_F(RangeAggregateTest, AKeyWithMostOfTheRowsIsReadByAllWorkers) {
    fill(20, 3, 1);
    Rows rows;
    for (size_t i = 0; i < 3000; ++i) rows.push_back({Value(uint64_t{7}), Value(uint64_t{1})});
    table_.insert(makeBlock({{"k", "UInt64"}, {"v", "UInt64"}}, rows));
    table_.insert(makeBlock({{"k", "UInt64"}, {"v", "UInt64"}}, rows));
    Answer answer;
    execute(countsAndSums(), ranges(4, 10), answer);
    const Rows found = sorted(answer.rows());
    ASSERT_EQ(found.size(), 20U);
    EXPECT_EQ(found[7], (std::vector{7_v, 6003_v, 6042_v}));
    EXPECT_EQ(found[8], (std::vector{8_v, 3_v, 48_v}));
}

TEST_F(RangeAggregateTest, ALimitEndsTheReading) {
    fill(5000, 2, 1);
    Answer answer;
    execute(limited(countsAndSums(), 20), ranges(1, 100), answer);
    const Rows found = sorted(answer.rows());
    ASSERT_EQ(found.size(), 20U);
    for (uint64_t key = 0; key < 20; ++key)
        EXPECT_EQ(found[key], (std::vector{Value(key), 2_v, Value(4 * key)}));
    EXPECT_EQ(context_->progress.read_rows.load(), 100U);
}

TEST_F(RangeAggregateTest, OrderByTheKeyWithALimitReadsTheRangesThatCount) {
    fill(5000, 2, 2);
    const plan::StepPtr groups = countsAndSums();
    for (const bool descending : {false, true}) {
        for (const size_t threads : {1, 4}) {
            plan::SortStep sort;
            sort.input = groups;
            sort.keys = {{"k", descending, descending ? -1 : 1}};
            sort.limit = 20;
            Answer answer;
            execute(plan::makeStep(std::move(sort), groups->header), ranges(threads, 200), answer);
            const Rows found = answer.rows();
            ASSERT_EQ(found.size(), 20U);
            for (uint64_t i = 0; i < 20; ++i) {
                const uint64_t key = descending ? 4999 - i : i;
                EXPECT_EQ(found[i], (std::vector{Value(key), 2_v, Value(4 * key)}));
            }
            // A range each that was begun before the first one was done, and the next of that worker.
            EXPECT_LE(context_->progress.read_rows.load(), 2 * threads * 220) << threads << descending;
        }
    }
}

TEST_F(RangeAggregateTest, GroupsComeWhileTheTableIsRead) {
    fill(20000, 1, 1);

    struct Watching final : ResultSink {
        explicit Watching(QueryContext& query) : context(query) {}

        void header(const Block& /*block*/) override {}

        bool data(Block block) override {
            rows += block.rows;
            if (first_read == 0) first_read = context.progress.read_rows.load();
            return true;
        }

        void totals(Block /*block*/) override {}

        void extremes(Block /*block*/) override {}

        QueryContext& context;
        uint64_t first_read = 0;
        uint64_t rows = 0;
    };

    Watching watching(ranges(1, 2000));
    execute(countsAndSums(), *context_, watching);
    EXPECT_EQ(watching.first_read, 2000U);
    EXPECT_EQ(watching.rows, 20000U);
    const uint64_t peak = context_->memory->peakBytes();
    Answer all;
    const plan::StepPtr ordinary = inKeyOrder(countsAndSums(), {});
    execute(ordinary, context(), all);
    EXPECT_LT(peak, context_->memory->peakBytes() / 2);
}

TEST_F(RangeAggregateTest, ATableThatEndsEarlyGivesTheGroupsOfWhatWasRead) {
    fill(5000, 2, 2);

    struct Ending final : ResultSink {
        explicit Ending(QueryContext& query) : context(query) {}

        void header(const Block& /*block*/) override {}

        bool data(Block block) override {
            context.stopReading();
            blocks.push_back(std::move(block));
            return true;
        }

        void totals(Block /*block*/) override {}

        void extremes(Block /*block*/) override {}

        QueryContext& context;
        std::vector<Block> blocks;
    };

    for (const size_t threads : {1, 4}) {
        Ending ending(ranges(threads, 3000));
        execute(countsAndSums(), *context_, ending);
        uint64_t counted = 0;
        std::vector<uint64_t> keys;
        for (const auto& row : rowsOf(ending.blocks)) {
            keys.push_back(row[0].get<uint64_t>());
            counted += row[1].get<uint64_t>();
        }
        std::sort(keys.begin(), keys.end());
        EXPECT_TRUE(std::adjacent_find(keys.begin(), keys.end()) == keys.end());
        EXPECT_EQ(counted, context_->progress.read_rows.load());
        EXPECT_LT(counted, 10000U + (threads == 1 ? 0 : 1));
    }
}

TEST_F(RangeAggregateTest, ACancelledQueryEndsWithItsReason) {
    fill(5000, 1, 1);

    struct Cancelling final : ResultSink {
        explicit Cancelling(QueryContext& query) : context(query) {}

        void header(const Block& /*block*/) override {}

        bool data(Block /*block*/) override {
            context.cancel(Error(ErrorCode::QUERY_WAS_CANCELLED, "killed"));
            return true;
        }

        void totals(Block /*block*/) override {}

        void extremes(Block /*block*/) override {}

        QueryContext& context;
    };

    for (const size_t threads : {1, 4}) {
        Cancelling cancelling(ranges(threads, 2000));
        try {
            execute(countsAndSums(), *context_, cancelling);
            FAIL();
        } catch (const Error& error) {
            EXPECT_TRUE(error.is(ErrorCode::QUERY_WAS_CANCELLED));
        }
    }
}

TEST_F(RangeAggregateTest, AnErrorOfOneWorkerEndsAll) {
    fill(5000, 1, 1);
    ExecSettings settings;
    settings.max_threads = 4;
    settings.key_range_rows = 100;
    settings.max_rows_to_read = 1000;
    Answer answer;
    try {
        execute(countsAndSums(), context(settings), answer);
        FAIL();
    } catch (const Error& error) {
        EXPECT_TRUE(error.is(ErrorCode::TOO_MANY_ROWS));
    }
}

}  // namespace
}  // namespace shardd::exec
