#include "server/cluster/replica_choice.h"

#include <set>

#include <gtest/gtest.h>

namespace shardd::cluster {
namespace {

using Balancing = setting_types::LoadBalancing;

TEST(ReplicaChoice, PrioritiesOfEachBalancing) {
    struct Row {
        Balancing mode;
        std::string own_host, host;
        size_t position, count, offset, turn;
        int64_t expected;
    };

    const Row rows[] = {
        {Balancing::Random, "a", "b", 2, 3, 0, 0, 0},
        {Balancing::InOrder, "a", "b", 2, 3, 0, 0, 2},
        {Balancing::FirstOrRandom, "a", "b", 0, 3, 0, 0, 0},
        {Balancing::FirstOrRandom, "a", "b", 1, 3, 0, 0, 1},
        {Balancing::FirstOrRandom, "a", "b", 1, 3, 4, 0, 0},  // offsets go round
        // The second replica begins.
        {Balancing::RoundRobin, "a", "b", 0, 3, 0, 0, 2},
        {Balancing::RoundRobin, "a", "b", 1, 3, 0, 0, 0},
        {Balancing::RoundRobin, "a", "b", 2, 3, 0, 0, 1},
        {Balancing::RoundRobin, "a", "b", 2, 3, 0, 1, 0},
        {Balancing::RoundRobin, "a", "b", 0, 3, 0, 2, 0},
        {Balancing::RoundRobin, "a", "b", 1, 3, 0, 3, 0},
        {Balancing::RoundRobin, "a", "b", 0, 1, 0, 7, 0},
        {Balancing::NearestHostname, "example01-01-1", "example01-01-2", 0, 2, 0, 0, 1},
        {Balancing::NearestHostname, "example01-01-1", "example01-02-2", 0, 2, 0, 0, 2},
        {Balancing::NearestHostname, "ab", "abcdef", 0, 2, 0, 0, 0},
        {Balancing::HostnameLevenshteinDistance, "example-clickhouse-0-0", "ample-clickhouse-0-0", 0, 2, 0, 0,
         2},
        {Balancing::HostnameLevenshteinDistance, "example-clickhouse-0-0", "example-clickhouse-1-10", 0, 2, 0,
         0, 2},
        {Balancing::HostnameLevenshteinDistance, "example-clickhouse-0-0", "Example-Clickhouse-12-0", 0, 2, 0,
         0, 2},
        {Balancing::HostnameLongestCommonPrefix, "sfe301", "sde301", 0, 2, 0, 0, -1},
        {Balancing::HostnameLongestCommonPrefix, "sfe301", "sfe10101", 0, 2, 0, 0, -3},
        {Balancing::HostnameLongestCommonSuffix, "et46gtghn.qc.localdomain", "tr676ddgh.td.localdomain", 0, 2,
         0, 0, -12},
        {Balancing::HostnameLongestCommonSuffix, "et46gtghn.qc.localdomain", "ab999.qc.localdomain", 0, 2, 0,
         0, -15},
    };
    for (const Row& row : rows)
        EXPECT_EQ(balancingPriority(row.mode,
                                    {row.own_host, row.host, row.position, row.count, row.offset, row.turn}),
                  row.expected)
            << static_cast<int>(row.mode) << " " << row.host << " " << row.position << " " << row.turn;
}

class OrderTest : public testing::Test {
protected:
    OrderTest() {
        ClusterConfig config;
        ShardConfig& shard = config.shards.emplace_back();
        for (const char* host : {"a", "b", "c"}) shard.replicas.push_back({.host = host});
        cluster_ = makeCluster(config, 0);
        settings_.set("load_balancing", "in_order");
    }

    std::string order(bool use_slowdowns = false) {
        std::string text;
        for (const auto& replica : orderReplicas(cluster_->shards[0], settings_, use_slowdowns))
            text += replica->config().host;
        return text;
    }

    ReplicaHealth& health(size_t place) { return cluster_->shards[0].replicas[place]->health(); }

    ClusterPtr cluster_;
    Settings settings_;
};

TEST_F(OrderTest, ErrorsComeFirst) {
    EXPECT_EQ(order(), "abc");
    health(0).countError();
    EXPECT_EQ(order(), "bca");
    health(1).countError();
    health(1).countError();
    EXPECT_EQ(order(), "cab");
    settings_.set("distributed_replica_max_ignored_errors", "1");
    EXPECT_EQ(order(), "acb");
    settings_.set("distributed_replica_max_ignored_errors", "2");
    EXPECT_EQ(order(), "abc");
}

TEST_F(OrderTest, SlowdownsCountOnlyForHedgedRequests) {
    health(0).countSlowdown();
    EXPECT_EQ(order(false), "abc");
    EXPECT_EQ(order(true), "bca");
    health(1).countError();
    EXPECT_EQ(order(true), "cab");
}

TEST_F(OrderTest, TheConfigurationsPriorityComesBeforeBalancing) {
    ClusterConfig config;
    ShardConfig& shard = config.shards.emplace_back();
    shard.replicas = {
        {.host = "a", .priority = 2}, {.host = "b", .priority = 1}, {.host = "c", .priority = 2}};
    cluster_ = makeCluster(config, 0);
    EXPECT_EQ(order(), "bac");
    health(1).countError();
    EXPECT_EQ(order(), "acb");
}

TEST_F(OrderTest, RoundRobinTurnsWithEveryQuery) {
    settings_.set("load_balancing", "round_robin");
    std::string turns;
    for (int i = 0; i < 4; ++i) turns += order() + " ";
    EXPECT_EQ(turns, "bca cab abc bca ");
}

TEST_F(OrderTest, RandomReachesEveryOrder) {
    settings_.set("load_balancing", "random");
    std::set<std::string> seen;
    for (int i = 0; i < 1000; ++i) seen.insert(order());
    EXPECT_EQ(seen.size(), 6U);
    settings_.set("load_balancing", "first_or_random");
    settings_.set("load_balancing_first_offset", "2");
    seen.clear();
    for (int i = 0; i < 1000; ++i) seen.insert(order());
    EXPECT_EQ(seen, (std::set<std::string>{"cab", "cba"}));
}

}  // namespace
}  // namespace shardd::cluster
