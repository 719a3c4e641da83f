#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <boost/asio/awaitable.hpp>

#include "server/net/connection.h"
#include "server/net/interrupt.h"

namespace shardd::cluster {

/// Counts who holds a place; who would be one too many waits for another to leave, in the order of coming.
/// Threads: any; a waiting coroutine is resumed on its own executor.
class PlaceGate : public std::enable_shared_from_this<PlaceGate> {
public:
    /// Given back when it is destroyed.
    class Place {
    public:
        Place() = default;

        explicit Place(std::shared_ptr<PlaceGate> gate) : gate_(std::move(gate)) {}

        Place(Place&&) noexcept = default;

        Place& operator=(Place&& other) noexcept {
            std::swap(gate_, other.gate_);
            return *this;
        }

        ~Place() {
            if (gate_) gate_->leave();
        }

        explicit operator bool() const { return gate_ != nullptr; }

    private:
        std::shared_ptr<PlaceGate> gate_;
    };

    /// How somebody waits. The interrupts outlive the wait.
    struct Wish {
        /// The most that may hold a place, this one included; 0: any number.
        size_t limit = 0;
        /// Ends the wait: QUERY_WAS_CANCELLED (394).
        net::Interrupt& interrupt;
        /// Ends the wait with a place, however many there are; may be missing.
        net::Interrupt* insist = nullptr;
        net::Clock::time_point deadline = net::Clock::time_point::max();
    };

    /// Nothing when there was none until the deadline.
    boost::asio::awaitable<std::optional<Place>> enter(Wish wish);

    /// A place when there is one and nobody waits for it; `limit` as of a Wish.
    std::optional<Place> tryEnter(size_t limit);

    /// At once, however many there are.
    Place take();

    size_t taken() const;
    size_t waiting() const;

private:
    struct Waiter;

    void leave();

    mutable std::mutex mutex_;  // guards what follows
    size_t taken_ = 0;
    std::deque<std::shared_ptr<Waiter>> waiters_;
};

}  // namespace shardd::cluster
