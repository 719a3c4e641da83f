#include "server/storage/merge_scheduler.h"

#include "common/base/error.h"
#include "server/storage/merge_tree.h"

namespace shardd::storage {

MergeScheduler::MergeScheduler(std::shared_ptr<MemoryBudget> server)
    : budget_(MemoryBudget::create("merges", 0, std::move(server))), thread_([this] { run(); }) {}

MergeScheduler::~MergeScheduler() { stop(); }

void MergeScheduler::wake(std::weak_ptr<MergeTree> table) {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    for (const auto& known : waiting_)
        if (!known.owner_before(table) && !table.owner_before(known)) return;
    waiting_.push_back(std::move(table));
    changed_.notify_one();
}

void MergeScheduler::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        waiting_.clear();
    }
    changed_.notify_one();
    if (!thread_.joinable()) return;
    // The last table may let go of us on our own thread.
    if (thread_.get_id() == std::this_thread::get_id())
        thread_.detach();
    else
        thread_.join();
}

void MergeScheduler::run() {
    for (;;) {
        std::weak_ptr<MergeTree> next;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
            if (stopped_) return;
            next = std::move(waiting_.front());
            waiting_.pop_front();
        }
        const std::shared_ptr<MergeTree> table = next.lock();
        if (!table) continue;
        const MemoryScope scope(budget_.get());
        bool merged = false;
        try {
            merged = table->mergeSomeParts();
        } catch (const Error&) {
            // A full disk, a broken part, no memory: the parts are as they were.
        }
        if (merged) wake(next);
    }
}

}  // namespace shardd::storage
