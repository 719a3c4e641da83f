#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>

namespace shardd::net {

/// The way to end what a coroutine waits for from elsewhere, once. Whoever waits says for that time how its
/// wait is ended. Threads: any.
class Interrupt {
public:
    /// Ends the present wait and every later one.
    void raise() {
        std::function<void()> end;
        {
            const std::lock_guard lock(mutex_);
            raised_ = true;
            end = end_;
        }
        if (end) end();
    }

    bool raised() const {
        const std::lock_guard lock(mutex_);
        return raised_;
    }

    /// A wait that `end` ends, as long as this object lives. `end` runs on `executor`, where the object must
    /// live and die too.
    class Wait {
    public:
        Wait(Interrupt* interrupt, boost::asio::any_io_executor executor, std::function<void()> end)
            : interrupt_(interrupt) {
            if (!interrupt_) return;
            end_ = std::make_shared<std::function<void()>>(std::move(end));
            interrupt_->arm([executor = std::move(executor), weak = std::weak_ptr(end_)] {
                boost::asio::post(executor, [weak] {
                    if (const auto alive = weak.lock()) (*alive)();
                });
            });
        }

        Wait(const Wait&) = delete;
        Wait& operator=(const Wait&) = delete;

        ~Wait() {
            if (interrupt_) interrupt_->arm(nullptr);
        }

    private:
        Interrupt* interrupt_;
        std::shared_ptr<std::function<void()>> end_;
    };

private:
    void arm(std::function<void()> end) {
        bool raised = false;
        {
            const std::lock_guard lock(mutex_);
            end_ = end;
            raised = raised_;
        }
        if (raised && end) end();
    }

    mutable std::mutex mutex_;  // guards the two below
    bool raised_ = false;
    std::function<void()> end_;
};

}  // namespace shardd::net
