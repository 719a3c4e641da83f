#include "server/cluster/replica_health.h"

#include <gtest/gtest.h>

namespace shardd::cluster {
namespace {

using Seconds = std::chrono::seconds;

constexpr Seconds kMinute{60};

TEST(ReplicaHealth, CountsAreHalvedOnceAPeriod) {
    struct Row {
        int64_t at;
        uint64_t errors, slowdowns;
        int64_t recovery;
    };

    ReplicaHealth health;
    EXPECT_EQ(health.counts(kMinute, Seconds(1000)).errors, 0U);
    for (int i = 0; i < 9; ++i) health.countError();
    for (int i = 0; i < 3; ++i) health.countSlowdown();
    // 9 errors have four bits: gone after four periods.
    const Row rows[] = {
        {1000, 9, 3, 240}, {1059, 9, 3, 181}, {1060, 4, 1, 180},
        {1119, 4, 1, 121}, {1185, 1, 0, 60},  {1245, 0, 0, 0},
    };
    for (const Row& row : rows) {
        const ReplicaHealth::Counts counts = health.counts(kMinute, Seconds(row.at));
        EXPECT_EQ(counts.errors, row.errors) << row.at;
        EXPECT_EQ(counts.slowdowns, row.slowdowns) << row.at;
        EXPECT_EQ(counts.recovery, Seconds(row.recovery)) << row.at;
    }
}

TEST(ReplicaHealth, LookingOftenDoesNotKeepCountsFromFading) {
    ReplicaHealth health;
    health.counts(kMinute, Seconds(0));
    for (int i = 0; i < 8; ++i) health.countError();
    for (int64_t second = 1; second < 180; ++second) health.counts(kMinute, Seconds(second));
    EXPECT_EQ(health.counts(kMinute, Seconds(180)).errors, 1U);
}

TEST(ReplicaHealth, ErrorsAreCapped) {
    ReplicaHealth health;
    for (int i = 0; i < 10; ++i) health.countError(4);
    EXPECT_EQ(health.counts(kMinute, Seconds(0)).errors, 4U);
}

TEST(ReplicaHealth, ALongTimeAndNoPeriodForgetEverything) {
    ReplicaHealth health;
    health.counts(kMinute, Seconds(0));
    health.countError();
    EXPECT_EQ(health.counts(kMinute, Seconds(1000000)).errors, 0U);
    health.countError();
    EXPECT_EQ(health.counts(Seconds(0), Seconds(1000000)).errors, 0U);
}

}  // namespace
}  // namespace shardd::cluster
