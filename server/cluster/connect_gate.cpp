#include "server/cluster/connect_gate.h"

#include <algorithm>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "common/base/error.h"

namespace shardd::cluster {

namespace asio = boost::asio;

struct ConnectGate::Waiter {
    explicit Waiter(const asio::any_io_executor& executor)
        : timer(executor, asio::steady_timer::time_point::max()) {}

    asio::steady_timer timer;  // never ends by itself
    bool has_place = false;    // guarded by the gate's mutex
};

asio::awaitable<ConnectGate::Place> ConnectGate::enter(net::Interrupt& interrupt) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto waiter = std::make_shared<Waiter>(executor);
    {
        const std::lock_guard lock(mutex_);
        if (free_ > 0) {
            --free_;
            co_return Place(this);
        }
        waiters_.push_back(waiter);
    }
    {
        const net::Interrupt::Wait wait(&interrupt, executor, [waiter] { waiter->timer.cancel(); });
        boost::system::error_code ignored;
        co_await waiter->timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    {
        const std::lock_guard lock(mutex_);
        if (waiter->has_place) co_return Place(this);
        std::erase(waiters_, waiter);
    }
    throw Error(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled");
}

void ConnectGate::leave() {
    std::shared_ptr<Waiter> next;
    {
        const std::lock_guard lock(mutex_);
        if (waiters_.empty()) {
            ++free_;
            return;
        }
        next = std::move(waiters_.front());
        waiters_.pop_front();
        next->has_place = true;
    }
    // The executor must be taken first: arguments are evaluated in any order.
    const asio::any_io_executor executor = next->timer.get_executor();
    asio::post(executor, [next = std::move(next)] { next->timer.cancel(); });
}

size_t ConnectGate::waiting() const {
    const std::lock_guard lock(mutex_);
    return waiters_.size();
}

}  // namespace shardd::cluster
