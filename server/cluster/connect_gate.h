#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

#include <boost/asio/awaitable.hpp>

#include "server/net/interrupt.h"

namespace shardd::cluster {

/// So many connections may be on their way at once; who comes later waits for a place. Keeps a query to
/// hundreds of shards from opening all its connections in one instant. Threads: any; a waiting coroutine is
/// resumed on its own executor.
class ConnectGate {
public:
    explicit ConnectGate(size_t width) : free_(width) {}

    /// A place, given back when it is destroyed.
    class Place {
    public:
        explicit Place(ConnectGate* gate) : gate_(gate) {}

        Place(Place&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}

        Place& operator=(Place&&) = delete;

        ~Place() {
            if (gate_) gate_->leave();
        }

    private:
        ConnectGate* gate_;
    };

    /// Errors: QUERY_WAS_CANCELLED (394) when `interrupt` is raised meanwhile. It outlives the wait.
    boost::asio::awaitable<Place> enter(net::Interrupt& interrupt);

    size_t waiting() const;

private:
    struct Waiter;

    void leave();

    mutable std::mutex mutex_;  // guards what follows
    size_t free_;
    std::deque<std::shared_ptr<Waiter>> waiters_;
};

}  // namespace shardd::cluster
