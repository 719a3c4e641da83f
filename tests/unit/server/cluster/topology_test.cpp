#include "server/cluster/topology.h"

#include <gtest/gtest.h>

#include "common/base/error.h"

namespace shardd::cluster {
namespace {

TEST(Topology, AddressPatterns) {
    struct Row {
        const char* text;
        char separator;
        std::vector<std::string> expected;
    };

    const Row rows[] = {
        {"a", ',', {"a"}},
        {"a,b", ',', {"a", "b"}},
        {"127.0.0.{1,2}:9000", ',', {"127.0.0.1:9000", "127.0.0.2:9000"}},
        {"h{1..3}", ',', {"h1", "h2", "h3"}},
        {"h{08..10}", ',', {"h08", "h09", "h10"}},
        {"h{1..2}{a,b}", ',', {"h1a", "h1b", "h2a", "h2b"}},
        {"a|b,c", ',', {"a|b", "c"}},
        {"h{1|2}", ',', {"h{1|2}"}},
        {"h{1|2}", '|', {"h1", "h2"}},
    };
    for (const Row& row : rows) EXPECT_EQ(expandAddresses(row.text, row.separator), row.expected) << row.text;
}

TEST(Topology, HostilePatternsAreErrors) {
    for (const char* text : {"h{1", "h{3..1}", "h{1..100000}", "{1..100}{1..100}"})
        EXPECT_THROW(expandAddresses(text, ','), Error) << text;
    for (const char* text : {"", "h:0", "h:70000", "h:x", ":9000"})
        EXPECT_THROW(clusterFromAddresses(text, {}), Error) << text;
}

TEST(Topology, ShardsAndReplicasOfRemote) {
    const ClusterPtr cluster = clusterFromAddresses("h1:9100|h2,[::1]:9001", {.own_ports = 9001});
    ASSERT_EQ(cluster->shards.size(), 2U);
    EXPECT_EQ(cluster->shards[0].replicas[0]->address(), "h1:9100");
    EXPECT_EQ(cluster->shards[0].replicas[1]->address(), "h2:9000");
    EXPECT_EQ(cluster->shards[1].replicas[0]->address(), "[::1]:9001");
    EXPECT_EQ(cluster->shards[1].number, 2U);
    EXPECT_TRUE(cluster->shards[1].replicas[0]->isLocal());
}

TEST(Topology, SlotsFollowWeights) {
    ClusterConfig config;
    config.shards = {ShardConfig{.name = "", .weight = 2}, ShardConfig{.name = "", .weight = 0},
                     ShardConfig{.name = "", .weight = 1}};
    EXPECT_EQ(makeCluster(config, 0)->weights(), (std::vector<uint32_t>{2, 0, 1}));
}

TEST(Topology, AReloadKeepsTheSameClusters) {
    std::map<std::string, ClusterConfig> configs;
    configs["a"].name = "a";
    configs["b"].name = "b";
    Topology topology(configs, 9000);
    const ClusterPtr a = topology.get("a");
    const ClusterPtr b = topology.get("b");
    configs["b"].secret = "s";
    topology.reload(configs);
    EXPECT_EQ(topology.get("a"), a);
    EXPECT_NE(topology.get("b"), b);
    configs.erase("a");
    topology.reload(configs);
    EXPECT_THROW(topology.get("a"), Error);
}

TEST(Topology, WhichAddressesAreThisServer) {
    struct Row {
        const char* address;
        bool expected;
    };

    const Row rows[] = {
        {"127.0.0.1:9001", true},  {"localhost:9001", true},
        {"[::1]:9001", true},      {"127.0.0.2:9001", false},
        {"127.0.0.1:9002", false}, {"127.1.1.0:9001", true},
        {"192.0.2.1:9001", false}, {"no-such-host.invalid:9001", false},
    };
    for (const Row& row : rows)
        EXPECT_EQ(clusterFromAddresses(row.address, {.own_ports = 9001})->shards[0].replicas[0]->isLocal(),
                  row.expected)
            << row.address;
    ClusterConfig config;
    config.shards = {
        ShardConfig{.replicas = {{.host = "127.0.0.1", .port = 9001, .default_database = "db"}}}};
    EXPECT_FALSE(makeCluster(config, 9001)->shards[0].replicas[0]->isLocal());
}

TEST(Topology, AFormedClusterIsWithheldUntilItIs) {
    Topology topology({}, 9000);
    const auto codeOf = [&] {
        try {
            topology.get("band");
            return 0;
        } catch (const Error& error) {
            return error.code();
        }
    };
    EXPECT_EQ(codeOf(), 701);
    topology.withhold("band", Error(ErrorCode::NOT_INITIALIZED, "not yet"));
    EXPECT_EQ(codeOf(), 667);
    EXPECT_EQ(topology.find("band"), nullptr);
    ClusterConfig config;
    config.name = "band";
    config.secret = "s";
    for (const uint16_t port : {uint16_t{9000}, uint16_t{9001}}) {
        ShardConfig& shard = config.shards.emplace_back();
        shard.name = "rank_" + std::to_string(port - 9000);
        shard.replicas.push_back({.host = "h", .port = port});
    }
    const ClusterPtr formed = topology.form(config, 1);
    EXPECT_EQ(topology.get("band"), formed);
    EXPECT_EQ(topology.all().size(), 1U);
    EXPECT_EQ(formed->shards[1].name, "rank_1");
    EXPECT_FALSE(formed->shards[0].replicas[0]->isLocal());
    EXPECT_TRUE(formed->shards[1].replicas[0]->isLocal());
    EXPECT_EQ(formed->shards[0].replicas[0]->isActive(), std::nullopt);
    formed->shards[0].replicas[0]->setActive(true);
    EXPECT_EQ(formed->shards[0].replicas[0]->isActive(), true);
    // Another address of the second: the first stays what it was, with what is known of it.
    config.shards[1].replicas[0].port = 9002;
    const ClusterPtr again = topology.form(config, 1);
    EXPECT_EQ(again->shards[0].replicas[0], formed->shards[0].replicas[0]);
    EXPECT_EQ(again->shards[1].replicas[0]->address(), "h:9002");
    topology.reload({});
    EXPECT_EQ(topology.get("band"), again);
    topology.withhold("band", Error(ErrorCode::NOT_INITIALIZED, "taken"));
    EXPECT_EQ(codeOf(), 667);
}

}  // namespace
}  // namespace shardd::cluster
