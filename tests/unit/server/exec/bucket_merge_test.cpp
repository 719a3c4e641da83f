#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "server/exec/bucket_streams.h"
#include "server/exec/task_order.h"
#include "server/storage/group_buckets.h"
#include "tests/support/forgetful_file_system.h"
#include "tests/unit/server/exec/group_by.h"

/// States of groups bucket by bucket: how a shard sends them, and how an initiator merges them with those of
/// shards that do not.
namespace shardd::exec {
namespace {

using storage::kGroupBuckets;

using Shards = std::vector<std::vector<Block>>;

/// What streams handed out, in the order in which they did.
struct HandedOut {
    void add(size_t shard, const Block& block) {
        const std::lock_guard lock(mutex);
        if (block.bucket >= 0) furthest[shard] = std::max(furthest[shard], block.bucket);
        int32_t first = block.bucket;
        for (const auto& [other, bucket] : furthest) first = std::min(first, bucket);
        if (block.bucket >= 0 && furthest.size() == streams)
            greatest_lead = std::max(greatest_lead, block.bucket - first);
        blocks += 1;
    }

    std::mutex mutex;
    size_t streams = 0;  // that have buckets
    std::map<size_t, int32_t> furthest;
    int32_t greatest_lead = 0;
    size_t blocks = 0;
};

class FakeStream final : public storage::RemoteStream {
public:
    FakeStream(size_t shard, Block header, std::vector<Block> blocks, HandedOut& handed_out)
        : shard_(shard), header_(std::move(header)), blocks_(std::move(blocks)), handed_out_(handed_out) {}

    const Block& header() const override { return header_; }

    std::optional<Block> next() override {
        if (at_ == blocks_.size()) return std::nullopt;
        handed_out_.add(shard_, blocks_[at_]);
        return std::move(blocks_[at_++]);
    }

    Polled poll() override {
        std::optional<Block> block = next();
        const bool ended = !block;
        return {.block = std::move(block), .ended = ended};
    }

    void onReadable(std::function<void()> callback) override {
        if (callback) callback();
    }

    const std::optional<Block>& totals() const override { return none_; }

    const std::optional<Block>& extremes() const override { return none_; }

    std::optional<uint64_t> rowsBeforeLimit() const override { return std::nullopt; }

    size_t shard() const override { return shard_; }

private:
    const size_t shard_;
    const Block header_;
    std::vector<Block> blocks_;
    HandedOut& handed_out_;
    size_t at_ = 0;
    std::optional<Block> none_;
};

class FakeCluster final : public storage::Table, public storage::DistributedSource {
public:
    FakeCluster(Block header, Shards shards) : header_(std::move(header)), shards_(std::move(shards)) {
        for (const std::vector<Block>& shard : shards_)
            handed_out.streams += !shard.empty() && shard[0].bucket >= 0;
    }

    std::shared_ptr<const storage::TableSchema> schema() const override { return nullptr; }

    std::vector<BlockSourcePtr> scan(const storage::ScanRequest&) const override { return {}; }

    const storage::DistributedSource* distributed() const override { return this; }

    const std::string& clusterName() const override { return name_; }

    size_t shardCount() const override { return shards_.size(); }

    std::vector<uint32_t> shardWeights() const override { return {}; }

    const std::string& remoteDatabase() const override { return name_; }

    const std::string& remoteTable() const override { return name_; }

    const std::string& remoteTableFunction() const override { return name_; }

    const std::string& shardingKey() const override { return name_; }

    std::vector<storage::RemoteStreamPtr> query(const storage::RemoteQuery&) const override {
        std::vector<storage::RemoteStreamPtr> streams;
        for (size_t i = 0; i < shards_.size(); ++i)
            streams.push_back(std::make_unique<FakeStream>(i, header_, shards_[i], handed_out));
        return streams;
    }

    mutable HandedOut handed_out;

private:
    const std::string name_;
    const Block header_;
    const Shards shards_;
};

class BucketMergeTest : public ExecTest {
protected:
    using Columns = std::vector<std::pair<std::string, std::string>>;

    BucketMergeTest() { disk_.createDirectories("tmp"); }

    TemporarySpace temporary() {
        return {.files = &disk_,
                .path = "tmp",
                .quota = std::make_shared<DiskQuota>(0, std::make_shared<DiskQuota>(0))};
    }

    static ExecSettings settings(size_t threads, uint64_t two_level_threshold = 0) {
        ExecSettings result;
        result.max_threads = threads;
        result.group_by_two_level_threshold = two_level_threshold;
        return result;
    }

    Answer runWith(const plan::StepPtr& step, const ExecSettings& settings) {
        Answer answer;
        execute(step, context(settings), answer);
        return answer;
    }

    /// count(), sum(n) and groupArray(n) by all columns but n, as states.
    static plan::StepPtr states(const plan::StepPtr& input) {
        const auto step = groupBy(input, keysOf(input->header), callsOf(input->header), false);
        auto by_buckets = std::get<plan::AggregateStep>(step->node);
        by_buckets.by_buckets = true;
        return plan::makeStep(by_buckets, step->header);
    }

    static std::vector<std::string> keysOf(const Block& header) {
        std::vector<std::string> keys;
        for (const NamedColumn& column : header.columns)
            if (column.name[0] == 'k') keys.push_back(column.name);
        return keys;
    }

    static std::vector<plan::AggregateCall> callsOf(const Block& header) {
        return {call("count", header, {}), call("sum", header, {"n"}), call("uniqExact", header, {"n"})};
    }

    /// Rows of shard `shard`: groups `first` … `first + groups - 1`, each twice.
    static plan::StepPtr rowsOfShard(const std::string& key_type, size_t shard, size_t first, size_t groups) {
        std::vector<Block> blocks;
        for (size_t begin = 0; begin < 2 * groups; begin += 1000) {
            Rows rows;
            for (size_t i = begin; i < std::min(begin + 1000, 2 * groups); ++i)
                rows.push_back(
                    {keyValue(key_type, first + i % groups), Value(uint64_t{shard * 10 + i / groups})});
            blocks.push_back(makeBlock({{"k", key_type}, {"n", "UInt64"}}, rows));
        }
        return scanOf(blocks);
    }

    static Value keyValue(const std::string& type, uint64_t number) {
        if (type.find("Nullable") != std::string::npos && number % 1000 == 7) return Value();
        if (type.find("String") == std::string::npos) return Value(number);
        return Value(std::string(number % 40, 'x') + std::to_string(number));
    }

    static plan::StepPtr mergeOf(std::shared_ptr<FakeCluster> cluster,
                                 const plan::StepPtr& states,
                                 bool finish = true) {
        plan::RemoteScanStep remote;
        remote.table = std::move(cluster);
        remote.by_buckets = true;
        plan::MergeStatesStep merge;
        merge.input = plan::makeStep(std::move(remote), states->header);
        merge.keys = keysOf(states->header);
        merge.finish = finish;
        merge.by_buckets = !finish;
        Block header;
        for (const std::string& key : merge.keys) header.columns.push_back(states->header.get(key));
        for (plan::AggregateCall c : std::get<plan::AggregateStep>(states->node).calls) {
            header.columns.push_back(
                emptyColumn(c.name, finish ? c.function->resultType() : c.function->stateType()));
            c.arguments = {c.name};
            merge.calls.push_back(std::move(c));
        }
        return plan::makeStep(std::move(merge), std::move(header));
    }

    /// The rows of all shards aggregated at once.
    Rows truth(const std::vector<plan::StepPtr>& inputs) {
        const Block& header = inputs[0]->header;
        const auto all = plan::makeStep(plan::UnionStep{inputs}, header);
        return sorted(run(groupBy(all, keysOf(header), callsOf(header)), 2).rows());
    }

    static std::vector<int32_t> bucketsOf(const std::vector<Block>& blocks) {
        std::vector<int32_t> buckets;
        for (const Block& block : blocks) buckets.push_back(block.bucket);
        return buckets;
    }

    int errorOf(const plan::StepPtr& step, size_t threads, std::string* message = nullptr) {
        try {
            runWith(step, settings(threads));
        } catch (const Error& error) {
            if (message) *message = error.message();
            return error.code();
        }
        return 0;
    }

    tests::ForgetfulFileSystem disk_;
};

/// Shards of overlapping groups; which of them send buckets.
TEST_F(BucketMergeTest, StreamsWithAndWithoutBuckets) {
    for (const char* type : {"UInt64", "String", "Nullable(UInt32)", "LowCardinality(Nullable(String))"}) {
        const std::vector<plan::StepPtr> inputs = {
            rowsOfShard(type, 0, 0, 1200), rowsOfShard(type, 1, 600, 1200), rowsOfShard(type, 2, 1500, 700),
            rowsOfShard(type, 3, 10, 3)};
        const Rows expected = truth(inputs);
        for (const unsigned with_buckets : {0u, 1u, 6u, 15u}) {
            for (const size_t threads : {1, 3}) {
                Shards shards;
                for (size_t i = 0; i < inputs.size(); ++i) {
                    const uint64_t threshold = with_buckets >> i & 1 ? 1 : 0;
                    shards.push_back(runWith(states(inputs[i]), settings(threads, threshold)).blocks);
                    EXPECT_EQ(shards[i][0].bucket >= 0, threshold == 1);
                }
                const auto cluster = std::make_shared<FakeCluster>(states(inputs[0])->header, shards);
                const Answer merged = runWith(mergeOf(cluster, states(inputs[0])), settings(threads));
                ASSERT_EQ(sorted(merged.rows()), expected) << type << " " << with_buckets << " " << threads;
                // A node between passes states on, bucket by bucket too.
                const auto again = std::make_shared<FakeCluster>(states(inputs[0])->header, shards);
                std::vector<Block> between =
                    runWith(mergeOf(again, states(inputs[0]), false), settings(threads, 1)).blocks;
                const std::vector<int32_t> buckets = bucketsOf(between);
                EXPECT_TRUE(std::is_sorted(buckets.begin(), buckets.end()) && buckets[0] >= 0);
                const auto outer =
                    std::make_shared<FakeCluster>(states(inputs[0])->header, Shards{std::move(between)});
                EXPECT_EQ(sorted(runWith(mergeOf(outer, states(inputs[0])), settings(threads)).rows()),
                          expected);
            }
        }
    }
}

TEST_F(BucketMergeTest, BucketsComeInOrderFromAnyNumberOfWorkers) {
    const auto input = rowsOfShard("UInt64", 0, 0, 30000);
    for (const size_t threads : {1, 2, 8}) {
        const std::vector<Block> blocks = runWith(states(input), settings(threads, 1000)).blocks;
        const std::vector<int32_t> buckets = bucketsOf(blocks);
        ASSERT_EQ(buckets.size(), kGroupBuckets);
        for (size_t i = 0; i < buckets.size(); ++i) EXPECT_EQ(buckets[i], static_cast<int32_t>(i));
        EXPECT_EQ(rowsOf(blocks).size(), 30000U);
        // Few groups, and an initiator that did not ask: no buckets.
        for (const Block& block : runWith(states(input), settings(threads, 1000000)).blocks)
            EXPECT_EQ(block.bucket, Block::kNoBucket);
        const auto plain = groupBy(input, {"k"}, callsOf(input->header), false);
        for (const Block& block : runWith(plain, settings(threads, 1000)).blocks)
            EXPECT_EQ(block.bucket, Block::kNoBucket);
    }
}

/// What went to the disk comes back in the order of the buckets, too.
TEST_F(BucketMergeTest, SpilledGroupsComeInOrder) {
    const auto input = rowsOfShard("String", 0, 0, 20000);
    const Rows expected = truth({input});
    for (const size_t threads : {1, 4}) {
        ExecSettings spilling = settings(threads, 1);
        spilling.max_bytes_before_external_group_by = 1;
        context(spilling).temporary = temporary();
        Answer answer;
        execute(states(input), *context_, answer);
        const std::vector<int32_t> buckets = bucketsOf(answer.blocks);
        ASSERT_EQ(buckets.size(), kGroupBuckets);
        EXPECT_TRUE(std::is_sorted(buckets.begin(), buckets.end()));
        const auto cluster = std::make_shared<FakeCluster>(states(input)->header, Shards{answer.blocks});
        EXPECT_EQ(sorted(runWith(mergeOf(cluster, states(input)), settings(threads)).rows()), expected);
        // An initiator whose other groups went to the disk takes buckets there.
        Shards shards{runWith(states(input), settings(threads, 0)).blocks, answer.blocks};
        const auto mixed = std::make_shared<FakeCluster>(states(input)->header, shards);
        context(spilling).temporary = temporary();
        Answer merged;
        execute(mergeOf(mixed, states(input)), *context_, merged);
        EXPECT_EQ(rowsOf(merged.blocks).size(), 20000U);
        for (const auto& row : rowsOf(merged.blocks)) EXPECT_EQ(row[1].to<uint64_t>(), 4U);
    }
}

/// The buckets of all keys, as a shard numbers them.
TEST_F(BucketMergeTest, EqualKeysHaveEqualBuckets) {
    const auto bucketsOfKeys = [&](const std::string& type, size_t block_rows) {
        std::map<std::string, int32_t> result;
        std::vector<Block> blocks;
        for (size_t begin = 0; begin < 300; begin += block_rows) {
            Rows rows;
            for (size_t i = begin; i < std::min<size_t>(300, begin + block_rows); ++i)
                rows.push_back({keyValue(type, i), Value(uint64_t{i % 3}), 1_v});
            blocks.push_back(makeBlock({{"k", type}, {"k2", "UInt8"}, {"n", "UInt64"}}, rows));
        }
        const auto step = states(scanOf(blocks));
        for (const Block& block : runWith(step, settings(1, 1)).blocks)
            for (const auto& row : rowsOf(block)) {
                EXPECT_GE(block.bucket, 0);
                result[printed(Rows{{row[0], row[1]}})] = block.bucket;
            }
        return result;
    };
    const auto keepsBuckets = [](const std::string& from, const std::string& to) {
        return storage::keepsBuckets(makeBlock({{"k", from}}, {}), makeBlock({{"k", to}}, {}));
    };
    for (const auto& [one, other] : std::vector<std::pair<std::string, std::string>>{
             {"String", "LowCardinality(String)"},
             {"Nullable(String)", "LowCardinality(Nullable(String))"}}) {
        const auto expected = bucketsOfKeys(one, 300);
        EXPECT_EQ(expected.size(), 300U);
        EXPECT_EQ(bucketsOfKeys(other, 300), expected);
        EXPECT_EQ(bucketsOfKeys(other, 7), expected);
        EXPECT_EQ(bucketsOfKeys(one, 7), expected);
        EXPECT_TRUE(keepsBuckets(one, other));
    }
    EXPECT_FALSE(keepsBuckets("UInt32", "UInt64"));
    EXPECT_FALSE(keepsBuckets("String", "Nullable(String)"));
}

/// The numbers stand on the wire under the name kGroupBucketHash: who changes them changes the name.
TEST_F(BucketMergeTest, TheHashThatHasTheName) {
    ASSERT_EQ(storage::kGroupBucketHash, "packed_keys_1");

    struct Case {
        Columns columns;
        std::vector<Value> key;
        int32_t bucket;
    };

    const Value array(ArrayValue{{text("a"), text("bc")}});
    for (const Case& each : std::vector<Case>{
             {{{"k", "UInt64"}}, {1_v}, 188},
             {{{"k", "UInt8"}}, {1_v}, 188},
             {{{"k", "Float64"}}, {Value(-0.0)}, 8},
             {{{"k", "UUID"}}, {Value(UInt128(5))}, 29},
             {{{"k", "Nullable(UInt32)"}}, {Value()}, 158},
             {{{"k", "String"}}, {text("")}, 119},
             {{{"k", "String"}}, {text("key")}, 248},
             {{{"k", "LowCardinality(String)"}}, {text("a longer key than sixteen")}, 23},
             {{{"k1", "String"}, {"k2", "UInt16"}}, {text("key"), 7_v}, 93},
             {{{"k1", "UInt8"}, {"k2", "UInt64"}}, {7_v, 9_v}, 238},
             {{{"k1", "String"}, {"k2", "String"}}, {text("a"), text("b")}, 47},
             {{{"k", "Array(String)"}}, {array}, 57},
         }) {
        Columns columns = each.columns;
        columns.emplace_back("n", "UInt64");
        std::vector<Value> row = each.key;
        row.push_back(1_v);
        const auto step = states(scanOf({makeBlock(columns, {row})}));
        const std::vector<Block> blocks = runWith(step, settings(1, 1)).blocks;
        ASSERT_EQ(blocks.size(), 1U);
        EXPECT_EQ(blocks[0].bucket, each.bucket) << each.columns[0].second;
    }
}

/// A shard that is far ahead waits: nobody's bucket is taken before all are past the one before it.
TEST_F(BucketMergeTest, NoStreamRunsAhead) {
    std::vector<plan::StepPtr> inputs;
    Shards shards;
    for (size_t i = 0; i < 4; ++i) {
        inputs.push_back(rowsOfShard("UInt64", i, i * 100, 3000));
        shards.push_back(runWith(states(inputs[i]), settings(2, 1)).blocks);
    }
    std::erase_if(shards[1], [](const Block& block) { return block.bucket % 50 != 3; });
    const auto cluster = std::make_shared<FakeCluster>(states(inputs[0])->header, shards);
    runWith(mergeOf(cluster, states(inputs[0])), settings(3));
    EXPECT_EQ(cluster->handed_out.blocks, 3 * kGroupBuckets + 6);
    // The sparse stream says with each block that it has nothing up to there.
    EXPECT_LE(cluster->handed_out.greatest_lead, 50);
    const auto dense =
        std::make_shared<FakeCluster>(states(inputs[0])->header, Shards{shards[0], shards[2], shards[3]});
    runWith(mergeOf(dense, states(inputs[0])), settings(3));
    EXPECT_EQ(dense->handed_out.greatest_lead, 1);
}

TEST_F(BucketMergeTest, WhoeverWantsNoMoreRowsEndsTheStreams) {
    const auto input = rowsOfShard("UInt64", 0, 0, 60000);
    const std::vector<Block> blocks = runWith(states(input), settings(2, 1)).blocks;
    const auto cluster = std::make_shared<FakeCluster>(states(input)->header, Shards{blocks, blocks});
    const auto merge = mergeOf(cluster, states(input));
    plan::LimitStep limit;
    limit.input = merge;
    limit.limit = plan::RowCount{.rows = 10};
    for (const size_t threads : {1, 3}) {
        EXPECT_EQ(runWith(plan::makeStep(limit, merge->header), settings(threads)).rows().size(), 10U);
    }
    EXPECT_LT(cluster->handed_out.blocks, kGroupBuckets);
}

TEST_F(BucketMergeTest, OverflowRowsComeBesideTheBuckets) {
    const auto input = rowsOfShard("UInt64", 0, 0, 500);
    std::vector<Block> blocks = runWith(states(input), settings(1, 1)).blocks;
    Block overflow = runWith(states(rowsOfShard("UInt64", 1, 7, 1)), settings(1)).blocks.at(0);
    overflow.is_overflows = true;
    blocks.insert(blocks.begin() + 100, overflow);
    blocks.push_back(overflow);
    const auto cluster = std::make_shared<FakeCluster>(states(input)->header, Shards{blocks, {overflow}, {}});
    const auto merge = mergeOf(cluster, states(input));
    auto with_row = std::get<plan::MergeStatesStep>(merge->node);
    with_row.overflow_row = true;
    for (const size_t threads : {1, 3}) {
        uint64_t groups = 0;
        uint64_t beyond = 0;
        for (const Block& block : runWith(plan::makeStep(with_row, merge->header), settings(threads)).blocks)
            for (const auto& row : rowsOf(block)) {
                groups += !block.is_overflows;
                beyond += block.is_overflows ? row[1].to<uint64_t>() : 0;
            }
        EXPECT_EQ(groups, 500U);
        EXPECT_EQ(beyond, 6U);
    }
}

/// Shards that number buckets wrongly: an error that names them, or the right answer.
TEST_F(BucketMergeTest, BucketsThatCannotBe) {
    constexpr int kIncorrectData = 117;
    const auto input = rowsOfShard("UInt64", 0, 0, 5000);
    const auto other = rowsOfShard("UInt64", 1, 2500, 5000);
    const std::vector<Block> good = runWith(states(input), settings(2, 1)).blocks;
    const std::vector<Block> fine = runWith(states(other), settings(2, 1)).blocks;
    const auto merged = [&](const std::function<void(std::vector<Block>&)>& spoil) {
        std::vector<Block> bad = good;
        spoil(bad);
        const auto cluster = std::make_shared<FakeCluster>(states(input)->header, Shards{fine, bad});
        return mergeOf(cluster, states(input));
    };
    for (const size_t threads : {1, 4}) {
        std::string message;
        EXPECT_EQ(errorOf(merged([](auto& blocks) { blocks[0].bucket = 256; }), threads, &message),
                  kIncorrectData);
        EXPECT_NE(message.find("Shard 2 sent a block of bucket 256"), std::string::npos) << message;
        EXPECT_EQ(errorOf(merged([](auto& blocks) { blocks[9].bucket = 256; }), threads), kIncorrectData);
        EXPECT_EQ(errorOf(merged([](auto& blocks) { blocks[9].bucket = -7; }), threads), kIncorrectData);
        EXPECT_EQ(errorOf(merged([](auto& blocks) { blocks[9].bucket = Block::kNoBucket; }), threads),
                  kIncorrectData);
        EXPECT_EQ(errorOf(merged([](auto& blocks) { std::swap(blocks[20], blocks[21]); }), threads, &message),
                  kIncorrectData);
        EXPECT_NE(message.find("ascending order"), std::string::npos) << message;
        EXPECT_EQ(
            errorOf(merged([](auto& blocks) { std::swap(blocks[20].bucket, blocks[21].bucket); }), threads),
            kIncorrectData);
        // Keys of another bucket behind right ones.
        EXPECT_EQ(errorOf(merged([](auto& blocks) {
                              blocks[5].columns = blocks[6].columns;
                              blocks[5].rows = blocks[6].rows;
                          }),
                          threads, &message),
                  kIncorrectData);
        EXPECT_NE(message.find("Shard 2 sent keys of other buckets in a block of bucket 5"),
                  std::string::npos)
            << message;
        // A hash that is not ours from the beginning: as if there were no buckets.
        const auto shifted = merged([](auto& blocks) {
            for (Block& block : blocks) block.bucket = 255 - block.bucket;
        });
        EXPECT_EQ(sorted(runWith(shifted, settings(threads)).rows()), truth({input, other}));
    }
}

/// Tasks end in any order, their blocks go on in order.
TEST(TaskOrderTest, BlocksGoOnInTheOrderOfTheTasks) {
    struct Taken final : Sink {
        Flow consume(size_t, Block block) override {
            EXPECT_EQ(inside.fetch_add(1), 0);
            order.push_back(block.bucket);
            inside.fetch_sub(1);
            return order.size() == enough ? Flow::Enough : Flow::More;
        }

        void totals(Block) override {}

        void extremes(Block) override {}

        void finish() override {}

        std::atomic<int> inside = 0;
        size_t enough = 0;
        std::vector<int32_t> order;
    };

    for (const size_t enough : {size_t{0}, size_t{40}}) {
        Taken taken;
        taken.enough = enough;
        TaskOrder order(taken, 3);
        std::atomic<size_t> next = 0;
        std::vector<std::thread> threads;
        for (size_t worker = 0; worker < 6; ++worker)
            threads.emplace_back([&, worker] {
                for (size_t task = next++; task < 300; task = next++) {
                    if ((task * 7 + worker) % 5 == 0) std::this_thread::yield();
                    Block block;
                    block.bucket = static_cast<int32_t>(task);
                    if (task % 10 == 4) {
                        if (order.push(worker, task, block) == Flow::Enough) return;
                        if (order.end(worker, task, {}) == Flow::Enough) return;
                    } else if (order.end(worker, task, {block}) == Flow::Enough) {
                        return;
                    }
                }
            });
        for (std::thread& thread : threads) thread.join();
        ASSERT_EQ(taken.order.size(), enough == 0 ? 300 : enough);
        for (size_t i = 0; i < taken.order.size(); ++i) EXPECT_EQ(taken.order[i], static_cast<int32_t>(i));
    }
}

}  // namespace
}  // namespace shardd::exec
