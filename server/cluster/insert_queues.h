#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "server/cluster/insert_queue.h"

namespace shardd::cluster {

/// The rows that a Distributed table has taken and not yet sent: files below its directory, one queue for
/// each shard or replica. What add() has returned for is sent, whatever is killed and whenever. Threads: any.
class InsertQueues {
public:
    explicit InsertQueues(std::shared_ptr<QueueContext> context);
    /// As close().
    ~InsertQueues();
    InsertQueues(const InsertQueues&) = delete;
    InsertQueues& operator=(const InsertQueues&) = delete;

    /// Takes over what lies in the directory, and begins to send it.
    void load();

    /// One block for each of the targets, as one file under several names.
    /// Errors: those of the disk (nothing is queued then); TABLE_IS_DROPPED (218) after close().
    void add(const std::vector<QueueTarget>& targets,
             const QueueFileHeader& header,
             const Block& block,
             FrameOptions frames,
             std::chrono::milliseconds pause);

    /// Where more waits than the table's limits allow: waits for less.
    /// Errors: DISTRIBUTED_TOO_MANY_PENDING_BYTES (574).
    void delayOrThrow(const std::stop_token& stop) const;

    uint64_t pendingBytes() const;

    /// Sends all that waits; the first error, after all queues were tried. `stop` ends it.
    void flush(InsertQueue::Deadline deadline, const std::stop_token& stop = {});

    /// SYSTEM STOP and START DISTRIBUTED SENDS.
    void setBlocked(bool blocked);

    std::vector<QueueStatus> statuses() const;

    bool flushesOnDetach() const { return context_->settings.flush_on_detach; }

    /// Forgets and deletes what waits (TRUNCATE).
    void clear();

    /// Nothing is sent any more; what waits lies on the disk for the next load().
    void close();

    /// As close(), and the directory goes (DROP).
    void drop();

private:
    using Queues = std::vector<std::shared_ptr<InsertQueue>>;

    std::shared_ptr<InsertQueue> queue(const QueueTarget& target);
    Queues all() const;
    Queues takeAll();
    void makeDirectory(const std::string& path);
    void syncParents(const std::string& path);

    const std::shared_ptr<QueueContext> context_;
    std::shared_mutex directory_;  // shared by who adds files, alone who removes directories
    bool closed_ = false;          // guarded by directory_
    mutable std::mutex mutex_;     // guards the two below
    std::map<std::string, std::shared_ptr<InsertQueue>> queues_;
    uint64_t last_number_ = 0;
};

}  // namespace shardd::cluster
