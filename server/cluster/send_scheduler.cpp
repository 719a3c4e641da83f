#include "server/cluster/send_scheduler.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace shardd::cluster {

struct SendScheduler::State {
    size_t most_threads = 0;
    std::shared_ptr<MemoryBudget> budget;
    std::mutex mutex;  // guards all below
    std::condition_variable changed;
    std::multimap<SendTask::Time, std::weak_ptr<SendTask>> waiting;
    std::vector<std::thread> threads;
    size_t idle = 0;
    bool stopped = false;
};

SendScheduler::SendScheduler(size_t threads, std::shared_ptr<MemoryBudget> server)
    : state_(std::make_shared<State>()) {
    state_->most_threads = threads;
    state_->budget = MemoryBudget::create("distributed sends", 0, std::move(server));
}

SendScheduler::~SendScheduler() { stop(); }

void SendScheduler::schedule(std::weak_ptr<SendTask> task, SendTask::Time at) {
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    if (state.stopped) return;
    state.waiting.emplace(at, std::move(task));
    if (state.idle < state.waiting.size() && state.threads.size() < state.most_threads)
        state.threads.emplace_back([kept = state_] { work(kept); });
    state.changed.notify_one();
}

void SendScheduler::stop() {
    State& state = *state_;
    std::vector<std::thread> threads;
    {
        const std::lock_guard lock(state.mutex);
        state.stopped = true;
        state.waiting.clear();
        threads.swap(state.threads);
    }
    state.changed.notify_all();
    for (std::thread& thread : threads) {
        if (thread.get_id() == std::this_thread::get_id())
            thread.detach();
        else
            thread.join();
    }
}

void SendScheduler::work(const std::shared_ptr<State>& kept) {
    State& state = *kept;
    std::unique_lock lock(state.mutex);
    while (!state.stopped) {
        if (state.waiting.empty() || state.waiting.begin()->first > std::chrono::steady_clock::now()) {
            ++state.idle;
            if (state.waiting.empty()) {
                state.changed.wait(lock);
            } else {
                // A copy: another thread may take the task meanwhile.
                const SendTask::Time soonest = state.waiting.begin()->first;
                state.changed.wait_until(lock, soonest);
            }
            --state.idle;
            continue;
        }
        const std::weak_ptr<SendTask> task = std::move(state.waiting.begin()->second);
        state.waiting.erase(state.waiting.begin());
        // Another thread watches the clock of the next one meanwhile.
        if (!state.waiting.empty()) state.changed.notify_one();
        lock.unlock();
        if (const std::shared_ptr<SendTask> alive = task.lock()) {
            const MemoryScope scope(state.budget.get());
            alive->run();
        }
        lock.lock();
    }
}

}  // namespace shardd::cluster
