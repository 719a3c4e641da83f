#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace shardd::daemon {

/// Calls something at a moment, unless it was taken back before: max_execution_time, kept by a clock and not
/// by counting blocks. One thread for all.
class DeadlineTimer {
public:
    using Clock = std::chrono::steady_clock;

    /// Takes its call back when it goes; waits for a call that runs now.
    class Handle {
    public:
        Handle() = default;

        Handle(DeadlineTimer* timer, uint64_t id) : timer_(timer), id_(id) {}

        Handle(Handle&& other) noexcept : timer_(std::exchange(other.timer_, nullptr)), id_(other.id_) {}

        Handle& operator=(Handle&& other) noexcept;
        ~Handle();

    private:
        DeadlineTimer* timer_ = nullptr;
        uint64_t id_ = 0;
    };

    DeadlineTimer();
    ~DeadlineTimer();

    /// `call` must be quick and must not throw.
    [[nodiscard]] Handle at(Clock::time_point moment, std::function<void()> call);

private:
    struct Entry {
        uint64_t id;
        std::function<void()> call;
    };

    void take(uint64_t id);
    void run(std::stop_token stop);

    std::mutex mutex_;  // guards what follows
    std::condition_variable_any changed_;
    std::multimap<Clock::time_point, Entry> entries_;
    uint64_t next_id_ = 1;
    uint64_t running_ = 0;  ///< id of the call that runs now
    std::jthread thread_;
};

}  // namespace shardd::daemon
