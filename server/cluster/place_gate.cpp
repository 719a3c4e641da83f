#include "server/cluster/place_gate.h"

#include <algorithm>
#include <vector>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "common/base/error.h"

namespace shardd::cluster {

namespace asio = boost::asio;

struct PlaceGate::Waiter {
    Waiter(const asio::any_io_executor& executor, size_t most, net::Clock::time_point deadline)
        : timer(executor, deadline), limit(most) {}

    asio::steady_timer timer;
    const size_t limit;
    bool has_place = false;  // guarded by the gate's mutex
};

std::optional<PlaceGate::Place> PlaceGate::tryEnter(size_t limit) {
    const std::lock_guard lock(mutex_);
    if (limit != 0 && (taken_ >= limit || !waiters_.empty())) return std::nullopt;
    ++taken_;
    return Place(shared_from_this());
}

asio::awaitable<std::optional<PlaceGate::Place>> PlaceGate::enter(Wish wish) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto waiter = std::make_shared<Waiter>(executor, wish.limit, wish.deadline);
    {
        const std::lock_guard lock(mutex_);
        if (wish.limit == 0 || taken_ < wish.limit) {
            ++taken_;
            co_return Place(shared_from_this());
        }
        waiters_.push_back(waiter);
    }
    {
        const auto end = [waiter] { waiter->timer.cancel(); };
        const net::Interrupt::Wait interrupted(&wish.interrupt, executor, end);
        const net::Interrupt::Wait insisting(wish.insist, executor, end);
        boost::system::error_code ignored;
        co_await waiter->timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    {
        const std::lock_guard lock(mutex_);
        if (waiter->has_place) co_return Place(shared_from_this());
        std::erase(waiters_, waiter);
    }
    if (wish.interrupt.raised()) throw Error(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled");
    if (wish.insist && wish.insist->raised()) co_return take();
    co_return std::nullopt;
}

PlaceGate::Place PlaceGate::take() {
    const std::lock_guard lock(mutex_);
    ++taken_;
    return Place(shared_from_this());
}

void PlaceGate::leave() {
    std::vector<std::shared_ptr<Waiter>> admitted;
    {
        const std::lock_guard lock(mutex_);
        --taken_;
        while (!waiters_.empty() && taken_ < waiters_.front()->limit) {
            ++taken_;
            waiters_.front()->has_place = true;
            admitted.push_back(std::move(waiters_.front()));
            waiters_.pop_front();
        }
    }
    for (std::shared_ptr<Waiter>& next : admitted) {
        // The executor must be taken first: arguments are evaluated in any order.
        const asio::any_io_executor executor = next->timer.get_executor();
        asio::post(executor, [next = std::move(next)] { next->timer.cancel(); });
    }
}

size_t PlaceGate::taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
}

size_t PlaceGate::waiting() const {
    const std::lock_guard lock(mutex_);
    return waiters_.size();
}

}  // namespace shardd::cluster
