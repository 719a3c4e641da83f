#include "server/daemon/deadline_timer.h"

#include <algorithm>
#include <utility>

namespace shardd::daemon {

DeadlineTimer::Handle& DeadlineTimer::Handle::operator=(Handle&& other) noexcept {
    std::swap(timer_, other.timer_);
    std::swap(id_, other.id_);
    return *this;
}

DeadlineTimer::Handle::~Handle() {
    if (timer_) timer_->take(id_);
}

DeadlineTimer::DeadlineTimer() : thread_([this](std::stop_token stop) { run(std::move(stop)); }) {}

DeadlineTimer::~DeadlineTimer() {
    thread_.request_stop();
    changed_.notify_all();
}

DeadlineTimer::Handle DeadlineTimer::at(Clock::time_point moment, std::function<void()> call) {
    const std::lock_guard lock(mutex_);
    const uint64_t id = next_id_++;
    entries_.emplace(moment, Entry{id, std::move(call)});
    changed_.notify_all();
    return Handle(this, id);
}

void DeadlineTimer::take(uint64_t id) {
    std::unique_lock lock(mutex_);
    std::erase_if(entries_, [id](const auto& entry) { return entry.second.id == id; });
    changed_.wait(lock, [this, id] { return running_ != id; });
}

void DeadlineTimer::run(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        if (entries_.empty()) {
            changed_.wait(lock, stop, [this] { return !entries_.empty(); });
            continue;
        }
        const auto first = entries_.begin();
        if (first->first > Clock::now()) {
            const auto moment = first->first;
            changed_.wait_until(lock, stop, moment, [this, moment] {
                return entries_.empty() || entries_.begin()->first < moment;
            });
            continue;
        }
        Entry entry = std::move(first->second);
        entries_.erase(first);
        running_ = entry.id;
        lock.unlock();
        entry.call();
        lock.lock();
        running_ = 0;
        changed_.notify_all();
    }
}

}  // namespace shardd::daemon
