#include "server/daemon/deadline_timer.h"

#include <atomic>
#include <vector>

#include <gtest/gtest.h>

namespace shardd::daemon {
namespace {

using std::chrono::milliseconds;
using Clock = DeadlineTimer::Clock;

void waitFor(const std::atomic<int>& value, int wanted) {
    const auto limit = Clock::now() + std::chrono::seconds(20);
    while (value < wanted && Clock::now() < limit) std::this_thread::sleep_for(milliseconds(1));
}

TEST(DeadlineTimerTest, callsInTheOrderOfTheMoments) {
    DeadlineTimer timer;
    std::atomic<int> calls = 0;
    std::vector<int> order;
    const auto now = Clock::now();
    const auto late = timer.at(now + milliseconds(60), [&] { order.push_back(2), ++calls; });
    const auto early = timer.at(now + milliseconds(20), [&] { order.push_back(1), ++calls; });
    waitFor(calls, 2);
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(DeadlineTimerTest, aHandleThatGoesTakesItsCallBack) {
    DeadlineTimer timer;
    std::atomic<int> wanted = 0, taken_back = 0;
    {
        const auto handle = timer.at(Clock::now() + milliseconds(30), [&] { ++taken_back; });
    }
    const auto handle = timer.at(Clock::now() + milliseconds(60), [&] { ++wanted; });
    waitFor(wanted, 1);
    EXPECT_EQ(wanted, 1);
    EXPECT_EQ(taken_back, 0);
}

TEST(DeadlineTimerTest, aHandleWaitsForItsCallThatRuns) {
    DeadlineTimer timer;
    std::atomic<int> begun = 0, ended = 0;
    {
        const auto handle = timer.at(Clock::now(), [&] {
            ++begun;
            std::this_thread::sleep_for(milliseconds(50));
            ++ended;
        });
        waitFor(begun, 1);
    }
    EXPECT_EQ(ended, 1);
}

TEST(DeadlineTimerTest, endsWithCallsWaiting) {
    DeadlineTimer timer;
    auto handle = timer.at(Clock::now() + std::chrono::hours(1), [] {});
    handle = {};
}

}  // namespace
}  // namespace shardd::daemon
