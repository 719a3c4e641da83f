#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "common/base/memory_budget.h"

namespace shardd::storage {

class MergeTree;

/// The thread that merges small parts of all tables, one merge at a time, behind everything else.
/// A merge that fails leaves the parts as they are; the next INSERT into the table tries again.
class MergeScheduler {
public:
    /// Merges are charged to a budget below the server's.
    explicit MergeScheduler(std::shared_ptr<MemoryBudget> server = nullptr);
    MergeScheduler(const MergeScheduler&) = delete;
    MergeScheduler& operator=(const MergeScheduler&) = delete;
    /// As stop().
    ~MergeScheduler();

    /// The table got a part: looks at it soon.
    void wake(std::weak_ptr<MergeTree> table);

    /// Waits for the merge that is running; nothing is merged afterwards.
    void stop();

private:
    void run();

    std::shared_ptr<MemoryBudget> budget_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::weak_ptr<MergeTree>> waiting_;  // guarded by mutex_
    bool stopped_ = false;                          // guarded by mutex_
    std::thread thread_;
};

}  // namespace shardd::storage
