#pragma once

#include <chrono>
#include <memory>

#include "common/base/memory_budget.h"

namespace shardd::cluster {

/// Work that comes back: sends what waits, and schedules itself again.
class SendTask {
public:
    using Time = std::chrono::steady_clock::time_point;

    virtual ~SendTask() = default;

    /// Called on one of the scheduler's threads; must not throw.
    virtual void run() = 0;
};

/// The threads that send what Distributed tables have queued, for all tables of a server.
/// Threads: any.
class SendScheduler {
public:
    /// Threads start when they are needed. What they take is charged to a budget below the server's.
    explicit SendScheduler(size_t threads = 16, std::shared_ptr<MemoryBudget> server = nullptr);
    SendScheduler(const SendScheduler&) = delete;
    SendScheduler& operator=(const SendScheduler&) = delete;
    /// As stop().
    ~SendScheduler();

    /// Runs the task at that time or soon after, once; a task that is gone by then is left out.
    void schedule(std::weak_ptr<SendTask> task, SendTask::Time at);

    /// Waits for the tasks that run; none is run afterwards.
    void stop();

private:
    struct State;

    static void work(const std::shared_ptr<State>& state);

    /// The threads own it too: the last owner of a scheduler may be a task on one of them.
    const std::shared_ptr<State> state_;
};

}  // namespace shardd::cluster
