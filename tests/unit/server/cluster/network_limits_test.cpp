#include "server/cluster/network_limits.h"

#include <gtest/gtest.h>

#include "common/base/error.h"

namespace shardd::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const net::Clock::time_point kStart{seconds(1000)};

TEST(NetworkLimitsTest, noLimits) {
    NetworkLimits limits(0, 0);
    EXPECT_LT(limits.count(UINT64_MAX, kStart), kStart);
    EXPECT_LT(limits.count(UINT64_MAX, kStart), kStart);
}

TEST(NetworkLimitsTest, bytesInAll) {
    NetworkLimits limits(100, 0);
    limits.count(60, kStart);
    limits.count(40, kStart);
    try {
        limits.count(1, kStart);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), 290);
        EXPECT_EQ(error.message(),
                  "Limit for bytes to send or receive over network exceeded. Maximum: 100");
    }
}

TEST(NetworkLimitsTest, bytesASecond) {
    NetworkLimits limits(0, 1000);
    EXPECT_LT(limits.count(1000, kStart), kStart);  // a second's worth at once
    EXPECT_EQ(limits.count(500, kStart), kStart + milliseconds(500));
    EXPECT_EQ(limits.count(500, kStart), kStart + milliseconds(1000));
    EXPECT_LT(limits.count(0, kStart + milliseconds(1000)), kStart);
    EXPECT_EQ(limits.count(500, kStart + milliseconds(1250)), kStart + milliseconds(1500));
    // However long nothing moved, no more than a second's worth may come at once.
    EXPECT_EQ(limits.count(1250, kStart + seconds(100)), kStart + seconds(100) + milliseconds(250));
    EXPECT_GT(limits.count(UINT64_MAX, kStart + seconds(100)), kStart + seconds(10000000));
}

}  // namespace
}  // namespace shardd::cluster
