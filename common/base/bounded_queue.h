#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace shardd {

/// The one bridge between coroutines and worker threads: values with a bounded total weight, in order, from any
/// number of writers to any number of readers. It ends by close() (readers drain what is left), fail() (readers get
/// the exception at once) or cancel() (nobody waits any longer; writers are told to stop).
/// Workers call push()/pop() and may block. A coroutine calls tryPush()/tryPop() and is woken by the callbacks, which
/// run on the thread that made the change and must only post to an executor.
template <typename T>
class BoundedQueue {
public:
    explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

    /// Waits for room; an item heavier than the whole capacity passes when the queue is empty.
    /// Returns false when the queue was closed, failed or cancelled: stop producing.
    bool push(T value, size_t weight = 1) {
        std::unique_lock lock(mutex_);
        writable_.wait(lock, [&] { return state_ != State::Open || fits(weight); });
        return put(lock, std::move(value), weight);
    }

    enum class PushResult { Done, Full, Ended };

    /// Moves from `value` only when Done.
    PushResult tryPush(T& value, size_t weight = 1) {
        std::unique_lock lock(mutex_);
        if (state_ != State::Open) return PushResult::Ended;
        if (!fits(weight)) return PushResult::Full;
        put(lock, std::move(value), weight);
        return PushResult::Done;
    }

    /// Waits for a value; nothing at the end. Throws what fail() was given.
    std::optional<T> pop() {
        std::unique_lock lock(mutex_);
        readable_.wait(lock, [&] { return state_ != State::Open || !items_.empty(); });
        return take(lock);
    }

    struct PopResult {
        std::optional<T> value;
        bool ended = false;
    };

    PopResult tryPop() {
        std::unique_lock lock(mutex_);
        if (items_.empty() && state_ == State::Open) return {};
        PopResult result;
        result.value = take(lock);
        result.ended = !result.value;
        return result;
    }

    void close() { end(State::Closed, nullptr); }

    void fail(std::exception_ptr error) { end(State::Failed, std::move(error)); }

    /// Drops what is queued; readers see the end.
    void cancel() { end(State::Cancelled, nullptr); }

    bool cancelled() const {
        std::lock_guard lock(mutex_);
        return state_ == State::Cancelled;
    }

    /// Called after a value or the end arrived / after room was made. Set before the first use.
    void onReadable(std::function<void()> callback) { on_readable_ = std::move(callback); }

    void onWritable(std::function<void()> callback) { on_writable_ = std::move(callback); }

private:
    enum class State { Open, Closed, Failed, Cancelled };

    bool fits(size_t weight) const { return items_.empty() || weight_ + weight <= capacity_; }

    bool put(std::unique_lock<std::mutex>& lock, T&& value, size_t weight) {
        if (state_ != State::Open) return false;
        items_.emplace_back(std::move(value), weight);
        weight_ += weight;
        lock.unlock();
        readable_.notify_one();
        if (on_readable_) on_readable_();
        return true;
    }

    std::optional<T> take(std::unique_lock<std::mutex>& lock) {
        if (state_ == State::Failed) std::rethrow_exception(error_);
        if (items_.empty()) return std::nullopt;
        std::optional<T> value(std::move(items_.front().first));
        weight_ -= items_.front().second;
        items_.pop_front();
        lock.unlock();
        writable_.notify_one();
        if (on_writable_) on_writable_();
        return value;
    }

    void end(State state, std::exception_ptr error) {
        std::deque<std::pair<T, size_t>> dropped;
        {
            std::lock_guard lock(mutex_);
            if (state_ == State::Cancelled || state_ == State::Failed) return;
            if (state_ == State::Closed && state == State::Closed) return;
            state_ = state;
            error_ = std::move(error);
            if (state != State::Closed) {
                items_.swap(dropped);
                weight_ = 0;
            }
        }
        readable_.notify_all();
        writable_.notify_all();
        if (on_readable_) on_readable_();
        if (on_writable_) on_writable_();
    }

    const size_t capacity_;
    mutable std::mutex mutex_;  // guards everything below but the callbacks
    std::condition_variable readable_;
    std::condition_variable writable_;
    std::deque<std::pair<T, size_t>> items_;
    size_t weight_ = 0;
    State state_ = State::Open;
    std::exception_ptr error_;
    std::function<void()> on_readable_;
    std::function<void()> on_writable_;
};

}  // namespace shardd
