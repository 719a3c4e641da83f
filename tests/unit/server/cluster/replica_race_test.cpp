#include "server/cluster/replica_race.h"

#include <gtest/gtest.h>

namespace shardd::cluster {
namespace {

using State = ReplicaRace::State;

ReplicaRace race(size_t replicas, uint64_t tries = 3) {
    std::vector<std::shared_ptr<Replica>> ordered;
    for (size_t i = 0; i < replicas; ++i)
        ordered.push_back(std::make_shared<Replica>(ReplicaConfig{.host = std::to_string(i)}, false));
    return {ordered, tries};
}

TEST(ReplicaRace, ReplicasTakeTurnsUntilTheirTriesAreSpent) {
    ReplicaRace two = race(2, 2);
    std::string order;
    while (const auto place = two.next()) {
        order += std::to_string(*place);
        two.failed(*place);
    }
    EXPECT_EQ(order, "0101");
    EXPECT_FALSE(two.busy());
    EXPECT_FALSE(two.hasSpare());
}

TEST(ReplicaRace, OneReplicaIsTriedAgain) {
    ReplicaRace one = race(1, 3);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(one.next(), 0U);
        EXPECT_TRUE(one.busy());
        EXPECT_EQ(one.next(), std::nullopt);  // it is busy
        one.failed(0);
    }
    EXPECT_EQ(one.next(), std::nullopt);
    EXPECT_EQ(one.tries(0), 3U);
}

TEST(ReplicaRace, BusyAndSpentOnesAreLeftOut) {
    ReplicaRace three = race(3);
    EXPECT_EQ(three.next(), 0U);
    EXPECT_EQ(three.next(), 1U);
    three.spent(1);
    EXPECT_EQ(three.next(), 2U);
    three.failed(0);
    EXPECT_TRUE(three.hasSpare());
    EXPECT_EQ(three.next(), 0U);
    EXPECT_FALSE(three.hasSpare());
    EXPECT_TRUE(three.othersBusy(0));
    three.asked(0);
    three.failed(2);
    EXPECT_FALSE(three.othersBusy(0));
    EXPECT_EQ(three.state(0), State::Asked);
}

TEST(ReplicaRace, OneIsChosenOnce) {
    ReplicaRace two = race(2);
    two.next();
    two.next();
    EXPECT_TRUE(two.choose(1));
    EXPECT_TRUE(two.choose(1));
    EXPECT_FALSE(two.choose(0));
    EXPECT_EQ(two.chosen(), 1U);
}

TEST(ReplicaRace, TheLeastStaleIsTheLastResort) {
    ReplicaRace three = race(3, 1);
    for (const uint64_t delay : {500, 400, 0}) {
        const size_t place = *three.next();
        if (delay)
            three.stale(place, delay);
        else
            three.failed(place);
    }
    EXPECT_EQ(three.next(), std::nullopt);
    EXPECT_FALSE(three.busy());
    EXPECT_EQ(three.leastStale(), 1U);
    EXPECT_EQ(three.state(1), State::Connecting);
    three.spent(1);
    EXPECT_EQ(three.leastStale(), 0U);
    three.spent(0);
    EXPECT_EQ(three.leastStale(), std::nullopt);
}

}  // namespace
}  // namespace shardd::cluster
