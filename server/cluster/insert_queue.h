#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/base/file_system.h"
#include "server/cluster/cluster_service.h"
#include "server/cluster/distributed_settings.h"
#include "server/cluster/queue_file.h"
#include "server/cluster/remote_sink.h"
#include "server/cluster/send_scheduler.h"

namespace shardd::cluster {

/// What the queues of one table share.
struct QueueContext {
    explicit QueueContext(FileSystem& disk) : files(disk) {}

    FileSystem& files;
    /// The table's directory.
    std::string path;
    ClusterServicePtr service;
    std::function<ClusterPtr()> cluster;
    DistributedSettings settings;
    /// Files, and their names, are on the disk before they count.
    bool durable_files = true;
    bool durable_names = true;
    /// SYSTEM STOP DISTRIBUTED SENDS.
    std::atomic<bool> blocked = false;
};

/// One row of system.distribution_queue, but for the table's name.
struct QueueStatus {
    std::string path;
    bool blocked = false;
    uint64_t error_count = 0;
    uint64_t files = 0;
    uint64_t bytes = 0;
    uint64_t broken_files = 0;
    uint64_t broken_bytes = 0;
    std::string last_exception;
    std::chrono::system_clock::time_point last_exception_time{};
};

/// Where a queue leads to: one replica of a shard, or any of them. Positions are 0-based.
struct QueueTarget {
    size_t shard = 0;
    std::optional<size_t> replica;

    /// "shard1_replica2", "shard1_all_replicas"
    std::string name() const;
    /// Nothing when the name is none.
    static std::optional<QueueTarget> parse(std::string_view name);
};

/// Files for one target, sent in the order of their numbers; one that cannot be sent waits, and the next
/// behind it. Threads: any; one sends at a time.
class InsertQueue final : public SendTask, public std::enable_shared_from_this<InsertQueue> {
public:
    using Deadline = RemoteSink::Deadline;

    InsertQueue(std::shared_ptr<QueueContext> context, QueueTarget target);

    const std::string& path() const { return path_; }

    /// Takes over what lies in the directory. Answers the highest number there.
    uint64_t load();

    bool empty() const;

    /// A file that lies in the directory now; it is sent after `pause`.
    void added(uint64_t number, uint64_t bytes, std::chrono::milliseconds pause);

    /// Sends all that waits, also when sends are stopped. Errors: the first one.
    void flush(Deadline deadline);

    /// Ends the attempt that is under way; it counts as failed.
    void cancelAttempt();

    /// Soon, when there is something.
    void wake();

    /// Nothing is sent afterwards; waits for the attempt under way, which is cancelled.
    void stop();

    QueueStatus status() const;

    uint64_t pendingBytes() const;

    void run() override;

private:
    using Numbers = std::vector<uint64_t>;

    std::string filePath(uint64_t number) const;

    std::string batchPath() const { return path_ + "/current_batch.txt"; }

    void schedule(std::chrono::milliseconds pause);
    std::chrono::milliseconds firstPause() const;
    std::chrono::milliseconds pauseAfterErrors() const;
    bool batches() const;
    bool splitsBatches() const;

    std::optional<uint64_t> nextFile(uint64_t after) const;
    void sendAll(bool even_if_blocked, Deadline deadline);
    void sendInBatches(bool even_if_blocked, Deadline deadline);
    Numbers unfinishedBatch() const;
    Numbers gatherBatch();
    void sendBatch(const Numbers& numbers, Deadline deadline);
    /// As one INSERT; broken files are moved away.
    void send(const Numbers& numbers, Deadline deadline);
    std::optional<QueueFile> read(uint64_t number);
    /// Of files that are not in the directory any more; its bytes.
    uint64_t forget(uint64_t number);
    void forgetIfGone(uint64_t number, const Error& error);
    std::shared_ptr<RemoteSink> openSink(const QueueFileHeader& header);
    void closeSink();
    void remove(const Numbers& numbers);
    void moveToBroken(uint64_t number, const std::string& reason);
    void failed(const Error& error);
    void succeeded();
    bool mayGoOn(bool even_if_blocked) const;

    const std::shared_ptr<QueueContext> context_;
    const QueueTarget target_;
    const std::string path_;
    std::mutex sending_;                    // held by who sends; taken before mutex_
    mutable std::mutex mutex_;              // guards all below
    std::map<uint64_t, uint64_t> pending_;  // number to bytes
    uint64_t pending_bytes_ = 0;
    QueueStatus status_;  // but for what the members above say
    std::chrono::steady_clock::time_point errors_halved_at_ = std::chrono::steady_clock::now();
    std::optional<Time> due_;
    std::shared_ptr<RemoteSink> active_;
    bool stopped_ = false;
};

}  // namespace shardd::cluster
