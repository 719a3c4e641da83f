#include "server/cluster/place_gate.h"

#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "common/base/error.h"

namespace shardd::cluster {
namespace {

namespace asio = boost::asio;

/// Somebody who wants a place and keeps it.
struct Visitor {
    net::Interrupt interrupt;
    net::Interrupt insist;
    std::optional<PlaceGate::Place> place;
    bool turned_away = false;
    bool interrupted = false;
};

class PlaceGateTest : public testing::Test {
protected:
    void enter(Visitor& visitor,
               size_t limit,
               net::Clock::time_point deadline = net::Clock::time_point::max()) {
        asio::co_spawn(context_, come(visitor, limit, deadline), asio::detached);
        run();
    }

    void run() {
        context_.restart();
        context_.poll();
    }

    asio::awaitable<void> come(Visitor& visitor, size_t limit, net::Clock::time_point deadline) {
        PlaceGate::Wish wish{
            .limit = limit, .interrupt = visitor.interrupt, .insist = &visitor.insist, .deadline = deadline};
        try {
            visitor.place = co_await gate_->enter(wish);
            visitor.turned_away = !visitor.place;
        } catch (const Error&) {
            visitor.interrupted = true;
        }
    }

    asio::io_context context_{1};
    const std::shared_ptr<PlaceGate> gate_ = std::make_shared<PlaceGate>();
};

TEST_F(PlaceGateTest, PlacesAreGivenInTheOrderOfComing) {
    std::vector<Visitor> visitors(4);
    for (Visitor& visitor : visitors) enter(visitor, 2);
    EXPECT_TRUE(visitors[0].place && visitors[1].place);
    EXPECT_FALSE(visitors[2].place || visitors[3].place);
    EXPECT_EQ(gate_->waiting(), 2U);
    EXPECT_FALSE(gate_->tryEnter(2));
    EXPECT_FALSE(gate_->tryEnter(3)) << "others were there before";
    visitors[0].place.reset();
    run();
    EXPECT_TRUE(visitors[2].place);
    EXPECT_FALSE(visitors[3].place);
    visitors[1].place.reset();
    run();
    EXPECT_TRUE(visitors[3].place);
    EXPECT_EQ(gate_->taken(), 2U);
}

TEST_F(PlaceGateTest, WhoInsistsGetsIn) {
    Visitor first, second, third;
    enter(first, 1);
    enter(second, 1);
    enter(third, 1);
    third.insist.raise();
    run();
    EXPECT_TRUE(third.place);
    EXPECT_FALSE(second.place);
    EXPECT_EQ(gate_->taken(), 2U);
    first.place.reset();
    run();
    EXPECT_FALSE(second.place) << "there is still one";
    third.place.reset();
    run();
    EXPECT_TRUE(second.place);
    Visitor determined;
    determined.insist.raise();
    enter(determined, 1);
    EXPECT_TRUE(determined.place);
}

TEST_F(PlaceGateTest, WaitingEnds) {
    const PlaceGate::Place held = gate_->take();
    Visitor late, cancelled;
    enter(late, 1, net::Clock::now());
    enter(cancelled, 1);
    cancelled.interrupt.raise();
    run();
    EXPECT_TRUE(late.turned_away);
    EXPECT_TRUE(cancelled.interrupted);
    EXPECT_EQ(gate_->waiting(), 0U);
    Visitor unlimited;
    enter(unlimited, 0);
    EXPECT_TRUE(unlimited.place);
}

}  // namespace
}  // namespace shardd::cluster
