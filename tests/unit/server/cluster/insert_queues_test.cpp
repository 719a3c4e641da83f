#include "server/cluster/insert_queues.h"

#include <gtest/gtest.h>

#include "server/net/network.h"
#include "tests/support/fake_shard.h"
#include "tests/support/forgetful_file_system.h"

namespace shardd::cluster {
namespace {

using session::numbers;
using test::FakeShard;
using Crash = tests::ForgetfulFileSystem::Crash;

constexpr std::chrono::milliseconds kSoon{1};
const QueueTarget kFirst{.shard = 0, .replica = 0};
const QueueTarget kSecond{.shard = 1, .replica = 0};

class InsertQueuesTest : public testing::Test {
protected:
    InsertQueuesTest() {
        network_.start();
        makeStore();
        service_->hooks.profile = [] {
            Settings settings;
            settings.set("distributed_background_insert_sleep_time_ms", "1");
            settings.set("distributed_background_insert_max_sleep_time_ms", "20");
            settings.set("connections_with_failover_max_tries", "1");
            return std::make_shared<const Settings>(std::move(settings));
        };
    }

    ~InsertQueuesTest() override {
        service_->senders.stop();
        service_->pool.clear();
        first_.stop();
        second_.stop();
        network_.stop();
    }

    /// As a start leaves it.
    void makeStore() {
        disk_.removeRecursively("store");
        disk_.createDirectories("store");
        disk_.syncDirectory("");
    }

    /// Of the two shards; or of two ports where nobody listens.
    void useCluster(bool alive) {
        const std::lock_guard lock(mutex_);
        cluster_ = clusterFromAddresses(
            alive ? fmt::format("127.0.0.1:{},127.0.0.1:{}", first_.port(), second_.port())
                  : "127.0.0.1:1,127.0.0.1:1",
            {});
    }

    std::shared_ptr<QueueContext> context(DistributedSettings settings = {}) {
        auto made = std::make_shared<QueueContext>(disk_);
        made->path = "store/abc/table";
        made->service = service_;
        made->cluster = [this] {
            const std::lock_guard lock(mutex_);
            return cluster_;
        };
        made->settings = std::move(settings);
        return made;
    }

    static void add(InsertQueues& queues,
                    std::vector<uint8_t> values,
                    std::vector<QueueTarget> targets = {kFirst}) {
        QueueFileHeader header;
        header.text = "INSERT INTO db.t (v) VALUES";
        header.settings = {{"connections_with_failover_max_tries", "1"}};
        header.origin.initial_user = "alice";
        queues.add(targets, header, numbers("v", std::move(values)), {}, kSoon);
    }

    static uint64_t waitingFiles(const InsertQueues& queues) {
        uint64_t files = 0;
        for (const QueueStatus& status : queues.statuses()) files += status.files;
        return files;
    }

    template <typename Condition>
    static bool becomes(const Condition& condition) {
        for (int i = 0; i < 1000 && !condition(); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return condition();
    }

    static int codeOf(const std::function<void()>& call) {
        try {
            call();
        } catch (const Error& error) {
            return error.code();
        }
        return 0;
    }

    net::Network network_{2};
    FakeShard first_{network_, 10};
    FakeShard second_{network_, 20};
    ClusterServicePtr service_ = std::make_shared<ClusterService>(
        network_.context(), std::make_shared<Topology>(std::map<std::string, ClusterConfig>(), uint16_t{9}));
    tests::ForgetfulFileSystem disk_;
    std::mutex mutex_;
    ClusterPtr cluster_;
};

TEST_F(InsertQueuesTest, WhatIsAddedIsSentInOrderAndThenGone) {
    useCluster(true);
    InsertQueues queues(context());
    for (uint8_t i = 0; i < 5; ++i)
        add(queues, {i}, i % 2 ? std::vector{kSecond} : std::vector{kFirst, kSecond});
    ASSERT_TRUE(becomes([&] { return waitingFiles(queues) == 0; }));
    EXPECT_EQ(first_.inserted(), (std::vector<uint64_t>{0, 2, 4}));
    EXPECT_EQ(second_.inserted(), (std::vector<uint64_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(first_.requests().at(0).text, "INSERT INTO db.t (v) VALUES");
    EXPECT_EQ(first_.requests().at(0).client_info.initial_user, "alice");
    EXPECT_EQ(first_.requests().at(0).client_info.kind, protocol::QueryKind::Secondary);
    EXPECT_TRUE(disk_.list("store/abc/table/shard1_replica1").empty());
    EXPECT_TRUE(disk_.list("store/abc/table/tmp").empty());
}

TEST_F(InsertQueuesTest, WhatCannotBeSentWaitsForBetterTimes) {
    useCluster(false);
    InsertQueues queues(context());
    add(queues, {1, 2});
    add(queues, {3});
    ASSERT_TRUE(becomes([&] { return queues.statuses().at(0).error_count >= 2; }));
    const QueueStatus status = queues.statuses().at(0);
    EXPECT_EQ(status.path, "store/abc/table/shard1_replica1/");
    EXPECT_EQ(status.files, 2U);
    EXPECT_EQ(status.bytes, queues.pendingBytes());
    EXPECT_TRUE(status.last_exception.starts_with("Code: 279. All connection tries failed"))
        << status.last_exception;
    useCluster(true);
    ASSERT_TRUE(becomes([&] { return waitingFiles(queues) == 0; }));
    EXPECT_EQ(first_.inserted(), (std::vector<uint64_t>{1, 2, 3}));
    EXPECT_EQ(queues.statuses().at(0).last_exception, "");
}

TEST_F(InsertQueuesTest, TheNextStartSendsWhatTheLastOneLeft) {
    useCluster(false);
    {
        InsertQueues queues(context());
        add(queues, {1});
        add(queues, {2});
    }
    disk_.crash(Crash::LosePower);
    disk_.createDirectories("store/abc/table/shardX");  // no queue's
    useCluster(true);
    InsertQueues queues(context());
    queues.load();
    ASSERT_TRUE(becomes([&] { return waitingFiles(queues) == 0; }));
    add(queues, {3});
    ASSERT_TRUE(becomes([&] { return waitingFiles(queues) == 0; }));
    EXPECT_EQ(first_.inserted(), (std::vector<uint64_t>{1, 2, 3}));
}

/// Stopped after each change of the disk: an add() that has returned is found again, whole; one that has not
/// is found whole or not at all.
TEST_F(InsertQueuesTest, AStopAtAnyMomentLosesNothingThatWasAcknowledged) {
    useCluster(false);
    service_->senders.stop();  // only the disk is looked at
    for (const Crash crash : {Crash::Kill, Crash::LosePower, Crash::LoseBytes}) {
        bool returned = false;
        for (size_t change = 1; !returned; ++change) {
            ASSERT_LT(change, 100U);
            makeStore();
            {
                InsertQueues queues(context());
                add(queues, {1}, {kFirst, kSecond});
                disk_.stopAt(change);
                try {
                    add(queues, {2}, {kFirst, kSecond});
                    returned = true;
                } catch (const tests::ForgetfulFileSystem::Stopped&) {
                }
            }
            disk_.crash(crash);
            InsertQueues queues(context());
            queues.load();
            for (const QueueStatus& status : queues.statuses()) {
                EXPECT_GE(status.files, returned ? 2U : 1U) << change;
                for (const auto& entry : disk_.list(status.path.substr(0, status.path.size() - 1)))
                    EXPECT_EQ(readQueueFile(disk_, status.path + entry.name).block.rows, 1U) << change;
            }
            EXPECT_EQ(queues.statuses().size(), 2U);
            EXPECT_TRUE(disk_.list("store/abc/table/tmp").empty());
        }
    }
}

TEST_F(InsertQueuesTest, AFullDiskIsToldAndLeavesNothing) {
    useCluster(true);
    InsertQueues queues(context());
    disk_.setCapacity(50);
    EXPECT_EQ(codeOf([&] { add(queues, {1}, {kFirst, kSecond}); }), 243);
    EXPECT_TRUE(disk_.list("store/abc/table/tmp").empty());
    EXPECT_EQ(waitingFiles(queues), 0U);
    disk_.setCapacity(0);
    add(queues, {2});
    ASSERT_TRUE(becomes([&] { return waitingFiles(queues) == 0; }));
    EXPECT_EQ(first_.inserted(), std::vector<uint64_t>{2});
}

TEST_F(InsertQueuesTest, ABrokenFileIsPutAsideAndTheOthersPass) {
    for (const bool batch : {false, true}) {
        makeStore();
        const size_t before = first_.inserted().size();
        DistributedSettings settings;
        settings.background_insert_batch = batch;
        useCluster(false);
        {
            InsertQueues queues(context(settings));
            for (uint8_t i = 1; i <= 3; ++i) add(queues, {i});
        }
        disk_.corrupt("store/abc/table/shard1_replica1/2.bin", 20);
        useCluster(true);
        InsertQueues queues(context(settings));
        queues.load();
        ASSERT_TRUE(becomes([&] { return waitingFiles(queues) == 0; }));
        EXPECT_EQ(first_.inserted().size() - before, 2U);
        EXPECT_EQ(queues.statuses().at(0).broken_files, 1U);
        EXPECT_GT(queues.statuses().at(0).broken_bytes, 0U);
        EXPECT_TRUE(disk_.exists("store/abc/table/shard1_replica1/broken/2.bin"));
        // It is still told after the next start, and its number is not given again.
        queues.close();
        InsertQueues next(context(settings));
        next.load();
        EXPECT_EQ(next.statuses().at(0).broken_files, 1U);
    }
}

TEST_F(InsertQueuesTest, FilesOfOneKindGoTogetherInABatch) {
    DistributedSettings settings;
    settings.background_insert_batch = true;
    useCluster(true);
    const auto shared = context(settings);
    InsertQueues queues(shared);
    queues.setBlocked(true);
    for (uint8_t i = 1; i <= 4; ++i) add(queues, {i});
    QueueFileHeader other;
    other.text = "INSERT INTO db.t (v) VALUES";
    other.settings = {{"max_threads", "2"}};
    queues.add({kFirst}, other, numbers("v", {5}), {}, kSoon);
    queues.setBlocked(false);
    ASSERT_TRUE(becomes([&] { return waitingFiles(queues) == 0; }));
    EXPECT_EQ(first_.inserted(), (std::vector<uint64_t>{1, 2, 3, 4, 5}));
    EXPECT_EQ(first_.requests().size(), 2U);
    EXPECT_TRUE(becomes([&] { return disk_.list("store/abc/table/shard1_replica1").empty(); }));
}

TEST_F(InsertQueuesTest, StoppedSendsWaitForTheirStartOrAFlush) {
    useCluster(true);
    InsertQueues queues(context());
    queues.setBlocked(true);
    add(queues, {1});
    EXPECT_TRUE(queues.statuses().at(0).blocked);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(waitingFiles(queues), 1U);
    queues.flush(InsertQueue::Deadline::max());
    EXPECT_EQ(first_.inserted(), std::vector<uint64_t>{1});
    add(queues, {2});
    queues.setBlocked(false);
    ASSERT_TRUE(becomes([&] { return waitingFiles(queues) == 0; }));
    EXPECT_EQ(first_.inserted(), (std::vector<uint64_t>{1, 2}));
}

TEST_F(InsertQueuesTest, AFlushTellsWhatFailed) {
    useCluster(false);
    InsertQueues queues(context());
    queues.setBlocked(true);
    add(queues, {1});
    EXPECT_EQ(codeOf([&] { queues.flush(InsertQueue::Deadline::max()); }), 279);
    useCluster(true);
    add(queues, {99});  // the shard refuses it
    EXPECT_EQ(codeOf([&] { queues.flush(InsertQueue::Deadline::max()); }), 117);
    EXPECT_EQ(first_.inserted(), std::vector<uint64_t>{1});
    EXPECT_EQ(waitingFiles(queues), 1U);
}

TEST_F(InsertQueuesTest, TooMuchThatWaitsIsRefused) {
    useCluster(true);
    DistributedSettings settings;
    settings.bytes_to_throw_insert = 1;
    InsertQueues queues(context(settings));
    queues.setBlocked(true);
    queues.delayOrThrow({});
    add(queues, {1});
    EXPECT_EQ(codeOf([&] { queues.delayOrThrow({}); }), 574);
    settings.bytes_to_throw_insert = 0;
    settings.bytes_to_delay_insert = 1;
    settings.max_delay_to_insert = std::chrono::seconds(60);
    makeStore();
    InsertQueues delaying(context(settings));
    add(delaying, {1});
    delaying.delayOrThrow({});  // until it is sent
    EXPECT_EQ(waitingFiles(delaying), 0U);
}

TEST_F(InsertQueuesTest, AQueueToNowhereSaysSo) {
    useCluster(true);
    InsertQueues queues(context());
    queues.setBlocked(true);
    add(queues, {1}, {QueueTarget{.shard = 6, .replica = std::nullopt}});
    EXPECT_EQ(codeOf([&] { queues.flush(InsertQueue::Deadline::max()); }), 79);
    EXPECT_EQ(waitingFiles(queues), 1U);
}

TEST_F(InsertQueuesTest, ClearForgetsDropRemovesCloseKeeps) {
    useCluster(false);
    InsertQueues queues(context());
    add(queues, {1}, {kFirst, kSecond});
    queues.clear();
    EXPECT_EQ(waitingFiles(queues), 0U);
    EXPECT_TRUE(disk_.list("store/abc/table/shard1_replica1").empty());
    add(queues, {2});
    queues.close();
    EXPECT_EQ(disk_.list("store/abc/table/shard1_replica1").size(), 1U);
    EXPECT_EQ(codeOf([&] { add(queues, {3}); }), 218);
    InsertQueues next(context());
    next.load();
    EXPECT_EQ(waitingFiles(next), 1U);
    next.drop();
    EXPECT_FALSE(disk_.exists("store/abc/table"));
    EXPECT_EQ(codeOf([&] { add(next, {3}); }), 218);
}

TEST(QueueTarget, NamesOfDirectories) {
    EXPECT_EQ((QueueTarget{.shard = 2, .replica = 0}.name()), "shard3_replica1");
    EXPECT_EQ((QueueTarget{.shard = 0, .replica = std::nullopt}.name()), "shard1_all_replicas");
    for (const char* name : {"shard3_replica1", "shard1_all_replicas", "shard12_replica10"})
        EXPECT_EQ(QueueTarget::parse(name)->name(), name);
    for (const char* name : {"", "shard", "shard0_replica1", "shard1_replica0", "shard1_replica", "shard1",
                             "tmp", "shard1_all", "shard-1_replica1", "shard99999999999999999999_replica1"})
        EXPECT_FALSE(QueueTarget::parse(name)) << name;
}

}  // namespace
}  // namespace shardd::cluster
