#include "tests/support/forgetful_file_system.h"
#include "tests/unit/server/exec/group_by.h"

/// GROUP BY by way of the disk: that it goes there, that memory stays bounded, and what happens when the disk
/// gives nothing.
namespace shardd::exec {
namespace {

class SpillTest : public ExecTest {
protected:
    SpillTest() { disk_.createDirectories("tmp"); }

    /// 200000 different strings, 400000 rows.
    static std::vector<Block> manyStrings() {
        std::vector<Block> blocks;
        for (uint64_t b = 0; b < 40; ++b) {
            Rows rows;
            for (uint64_t i = 0; i < 10000; ++i) {
                const uint64_t n = (b * 10000 + i) % 200000;
                rows.push_back({Value("a key that is not so short " + std::to_string(n)), Value(n)});
            }
            blocks.push_back(makeBlock({{"k", "String"}, {"n", "UInt64"}}, rows));
        }
        return blocks;
    }

    static ExecSettings settings(uint64_t bytes, size_t threads = 2) {
        ExecSettings result;
        result.max_threads = threads;
        result.max_block_rows = 1000;
        result.max_bytes_before_external_group_by = bytes;
        result.group_by_two_level_threshold = 1000;
        return result;
    }

    /// Counts, and keeps nothing.
    struct Counted final : ResultSink {
        void header(const Block& /*block*/) override {}

        bool data(Block block) override {
            rows += block.rows;
            for (size_t i = 0; i < block.rows; ++i) sum += block.columns[1].column->value(i).to<uint64_t>();
            return max_rows == 0 || rows < max_rows;
        }

        void totals(Block /*block*/) override {}

        void extremes(Block /*block*/) override {}

        uint64_t rows = 0;
        uint64_t sum = 0;
        uint64_t max_rows = 0;
    };

    Counted run(const plan::StepPtr& step, const ExecSettings& settings, uint64_t max_rows = 0) {
        Counted counted;
        counted.max_rows = max_rows;
        context(settings).temporary = {.files = &disk_, .path = "tmp", .quota = quota_};
        execute(step, *context_, counted);
        return counted;
    }

    int codeOf(const plan::StepPtr& step, const ExecSettings& settings) {
        try {
            run(step, settings);
        } catch (const Error& error) {
            message_ = error.message();
            return error.code();
        }
        return 0;
    }

    tests::ForgetfulFileSystem disk_;
    std::shared_ptr<DiskQuota> quota_ = std::make_shared<DiskQuota>(0, std::make_shared<DiskQuota>(0));
    std::string message_;
};

TEST_F(SpillTest, TakesLessMemory) {
    const auto input = scanOf(manyStrings());
    const auto step = groupBy(input, {"k"}, {call("sum", input->header, {"n"})});
    const Counted in_memory = run(step, settings(0));
    const uint64_t peak = context_->memory->peakBytes();
    const size_t changes = disk_.changes();
    const Counted by_disk = run(step, settings(4 << 20));
    EXPECT_GT(disk_.changes(), changes);
    EXPECT_EQ(in_memory.rows, 200000U);
    EXPECT_EQ(by_disk.rows, 200000U);
    EXPECT_EQ(by_disk.sum, in_memory.sum);
    EXPECT_LT(context_->memory->peakBytes(), peak);
    EXPECT_EQ(context_->memory->usedBytes(), 0U);
    EXPECT_EQ(quota_->usedBytes(), 0U);
    EXPECT_TRUE(disk_.list("tmp").empty());
}

/// States that are handed on unfinished hold a partition of groups, not all of them.
TEST_F(SpillTest, StatesAreHandedOnPartitionByPartition) {
    const auto input = scanOf(manyStrings());
    std::vector<plan::AggregateCall> calls{call("sum", input->header, {"n"}),
                                           call("uniqExact", input->header, {"n"})};
    plan::TotalsStep totals;
    totals.input = groupBy(input, {"k"}, calls, false);
    totals.keys = {"k"};
    const Block header = groupBy(input, {"k"}, calls)->header;
    for (auto& c : calls) c.arguments = {c.name};
    totals.calls = calls;
    const auto step = plan::makeStep(std::move(totals), header);
    const Counted in_memory = run(step, settings(0));
    const uint64_t peak = context_->memory->peakBytes();
    const Counted by_disk = run(step, settings(4 << 20));
    EXPECT_EQ(by_disk.rows, 200000U);
    EXPECT_EQ(by_disk.sum, in_memory.sum);
    EXPECT_LT(context_->memory->peakBytes(), peak / 2);
}

TEST_F(SpillTest, FewGroupsStay) {
    const auto input = scanOf(manyStrings());
    const auto step = groupBy(input, {"k"}, {call("sum", input->header, {"n"})});
    ExecSettings few = settings(1);
    few.group_by_two_level_threshold = 1000000;
    const size_t changes = disk_.changes();
    EXPECT_EQ(run(step, few).rows, 200000U);
    EXPECT_EQ(disk_.changes(), changes);
}

TEST_F(SpillTest, TheShareOfWhatIsLeftCountsToo) {
    const auto input = scanOf(manyStrings());
    const auto step = groupBy(input, {"k"}, {call("sum", input->header, {"n"})});
    ExecSettings by_ratio = settings(0);
    by_ratio.max_bytes_ratio_before_external_group_by = 0.5;
    size_t changes = disk_.changes();
    EXPECT_EQ(run(step, by_ratio).rows, 200000U);  // no limit above: nothing to take a share of
    EXPECT_EQ(disk_.changes(), changes);
    by_ratio.bytes_left_to_user = 8 << 20;
    EXPECT_EQ(run(step, by_ratio).rows, 200000U);
    EXPECT_GT(disk_.changes(), changes);
    for (const double wrong : {1.0, 1.5, -0.5}) {
        by_ratio.max_bytes_ratio_before_external_group_by = wrong;
        EXPECT_EQ(codeOf(step, by_ratio), 36) << wrong;
    }
}

TEST_F(SpillTest, TheDiskIsFull) {
    const auto input = scanOf(manyStrings());
    const auto step = groupBy(input, {"k"}, {call("uniqExact", input->header, {"n"})});
    disk_.setCapacity(100000);
    EXPECT_EQ(codeOf(step, settings(1 << 20)), 243);
    EXPECT_NE(message_.find("temporary data in tmp (tmp_path)"), std::string::npos) << message_;
    EXPECT_TRUE(disk_.list("tmp").empty());
    EXPECT_EQ(context_->memory->usedBytes(), 0U);
    EXPECT_EQ(quota_->usedBytes(), 0U);
}

TEST_F(SpillTest, TheQuotaIsKept) {
    const auto input = scanOf(manyStrings());
    const auto step = groupBy(input, {"k"}, {call("uniqExact", input->header, {"n"})});
    quota_->setLimit(100000);
    EXPECT_EQ(codeOf(step, settings(1 << 20)), 396);
    EXPECT_NE(message_.find("/ 100000 bytes"), std::string::npos) << message_;
    quota_ = std::make_shared<DiskQuota>(0, std::make_shared<DiskQuota>(100000));
    EXPECT_EQ(codeOf(step, settings(1 << 20)), 396);
    EXPECT_EQ(quota_->usedBytes(), 0U);
    EXPECT_TRUE(disk_.list("tmp").empty());
}

/// Whoever wants no more rows ends the reading, and everything is given back.
TEST_F(SpillTest, EndsEarly) {
    const auto input = scanOf(manyStrings());
    const auto step = groupBy(input, {"k"}, {call("uniqExact", input->header, {"n"})});
    EXPECT_LT(run(step, settings(1 << 20), 10).rows, 200000U);
    EXPECT_EQ(context_->memory->usedBytes(), 0U);
    EXPECT_EQ(quota_->usedBytes(), 0U);
}

TEST_F(SpillTest, TheMaximumOfGroupsIsExact) {
    const auto input = scanOf(manyStrings());
    const auto step = groupBy(input, {"k"}, {call("sum", input->header, {"n"})});
    auto limited = std::get<plan::AggregateStep>(step->node);
    limited.max_groups = 199999;
    EXPECT_EQ(codeOf(plan::makeStep(limited, step->header), settings(1 << 20)), 158);
    limited.max_groups = 200000;
    EXPECT_EQ(run(plan::makeStep(limited, step->header), settings(1 << 20)).rows, 200000U);
}

/// States in arenas and on the heap.
TEST_F(SpillTest, StatesWithMemoryOfTheirOwn) {
    const auto input = scanOf(manyStrings());
    ExecSettings tight = settings(1 << 20);
    tight.max_threads = 1;
    for (const char* function : {"groupArray", "uniqExact", "max"}) {
        const auto step = groupBy(input, {"k"}, {call(function, input->header, {"k"})});
        context(tight).temporary = {.files = &disk_, .path = "tmp"};
        Answer answer;
        execute(step, *context_, answer);
        uint64_t rows = 0;
        for (const Block& block : answer.blocks) rows += block.rows;
        EXPECT_EQ(rows, 200000U) << function;
    }
}

}  // namespace
}  // namespace shardd::exec
