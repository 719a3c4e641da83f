#include "server/exec/thread_pool.h"

#include <atomic>
#include <exception>
#include <memory>

namespace shardd::exec {

namespace {

/// The tasks of one parallel(); outlives it, as a helper's job may be taken from the queue late.
struct TaskGroup {
    TaskGroup(size_t tasks, const std::function<void(size_t)>& run) : count(tasks), task(&run) {}

    const size_t count;
    const std::function<void(size_t)>* task;  // alive as long as a task can still be claimed
    std::atomic<size_t> next = 0;
    std::mutex mutex;  // guards finished and error
    std::condition_variable all_finished;
    size_t finished = 0;
    std::exception_ptr error;
    std::atomic<bool> failed = false;

    void drain() {
        for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
            std::exception_ptr failure;
            if (!failed.load()) {
                try {
                    (*task)(i);
                } catch (...) {
                    failure = std::current_exception();
                    failed.store(true);
                }
            }
            std::lock_guard lock(mutex);
            if (failure && !error) error = failure;
            if (++finished == count) all_finished.notify_all();
        }
    }
};

}  // namespace

ThreadPool::~ThreadPool() {
    std::vector<std::thread> threads;
    {
        std::lock_guard lock(mutex_);
        stopping_ = true;
        threads.swap(threads_);
    }
    wake_.notify_all();
    for (std::thread& thread : threads) thread.join();
}

void ThreadPool::submit(std::function<void()> job) {
    {
        std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
        if (idle_ < jobs_.size() && threads_.size() < max_threads_ && !stopping_)
            threads_.emplace_back([this] { work(); });
    }
    wake_.notify_one();
}

void ThreadPool::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        ++idle_;
        wake_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
        --idle_;
        if (jobs_.empty()) return;
        std::function<void()> job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        job();
        job = nullptr;
        lock.lock();
    }
}

void ThreadPool::parallel(size_t n, const std::function<void(size_t)>& task) {
    if (n == 0) return;
    if (n == 1) {
        task(0);
        return;
    }
    const auto group = std::make_shared<TaskGroup>(n, task);
    for (size_t i = 1; i < n; ++i) submit([group] { group->drain(); });
    group->drain();
    std::unique_lock lock(group->mutex);
    group->all_finished.wait(lock, [&] { return group->finished == group->count; });
    if (group->error) std::rethrow_exception(group->error);
}

}  // namespace shardd::exec
