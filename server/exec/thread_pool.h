#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace shardd::exec {

/// Worker threads of the whole daemon. Threads are made when a job finds none idle, up to `max_threads`:
/// queries may wait for each other (a node that asks itself as a shard), so a fixed small number could stand
/// still. How many threads work for one query at a time is the query's choice, see parallel().
class ThreadPool {
public:
    explicit ThreadPool(size_t max_threads = 1024) : max_threads_(max_threads) {}

    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;
    /// Waits for all jobs.
    ~ThreadPool();

    /// Runs `job` some time on some thread. The job must not throw.
    void submit(std::function<void()> job);

    /// Calls task(0) … task(n - 1), each once, on the calling thread and up to n - 1 others, and waits for
    /// all of them. The calling thread takes tasks too, so this ends even when no other thread is free. After
    /// an exception the tasks not yet begun are left out, and the first exception is thrown here.
    void parallel(size_t n, const std::function<void(size_t)>& task);

private:
    void work();

    const size_t max_threads_;
    std::mutex mutex_;  // guards everything below
    std::condition_variable wake_;
    std::deque<std::function<void()>> jobs_;
    std::vector<std::thread> threads_;
    size_t idle_ = 0;
    bool stopping_ = false;
};

}  // namespace shardd::exec
