#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "common/base/bounded_queue.h"
#include "common/base/memory_budget.h"
#include "config/settings.h"
#include "server/cluster/cluster_service.h"
#include "server/storage/distributed.h"

namespace shardd::cluster {

class ShardTask;

/// What the tasks of one distributed query share: the query, and the rule that the first error ends them all.
/// Threads: any.
class QueryGroup : public std::enable_shared_from_this<QueryGroup> {
public:
    QueryGroup(ClusterServicePtr service, ClusterPtr cluster, storage::RemoteQuery query);
    ~QueryGroup();

    /// All tasks, before the first one starts; from here on the query's stop token stops them.
    void setTasks(const std::vector<std::shared_ptr<ShardTask>>& tasks);

    /// The first error wins; every stream ends with it.
    void fail(const Error& error);

    /// Nobody reads any longer, or the query was cancelled: shards are told to stop.
    void stop();

    bool stopped() const { return stopped_; }

    /// A shard is left out; error 904 when they are too many.
    void skipShard();

    /// Rows and bytes read by a shard. What the receiver throws fails the group.
    void progress(uint64_t rows, uint64_t bytes);

    /// One of the streams has gone; with the last one, what `progress` referred to may go.
    void streamGone();

    const ClusterServicePtr service;
    const ClusterPtr cluster;
    const storage::RemoteQuery query;
    /// query.settings with their types.
    Settings settings;
    /// Pays for the blocks that arrive; kept by reference count.
    MemoryBudget* const budget;

private:
    std::atomic<bool> stopped_ = false;
    std::atomic<bool> failed_ = false;
    std::atomic<size_t> skipped_ = 0;
    std::atomic<size_t> streams_ = 0;
    std::mutex mutex_;  // guards tasks_
    std::vector<std::weak_ptr<ShardTask>> tasks_;
    std::mutex progress_mutex_;  // guards progress_
    std::function<void(uint64_t, uint64_t)> progress_;
    std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

/// One shard's part of a query: finds a replica that answers, sends the query, and fills a bounded queue with
/// the blocks. A coroutine on the strand of the connection that it uses.
class ShardTask : public std::enable_shared_from_this<ShardTask> {
public:
    /// What waits in the queue, so that a slow initiator slows the shard down.
    static constexpr size_t kQueueBytes = size_t{8} << 20;

    ShardTask(std::shared_ptr<QueryGroup> group, size_t shard);

    void start();

    /// Nobody reads this answer any longer: the shard is told to stop.
    void stop();

    /// Something changed that the coroutine must look at (stop, room in the queue).
    void wake();

    const std::shared_ptr<QueryGroup>& group() const { return group_; }

    size_t shard() const { return shard_; }

    BoundedQueue<Block> queue{kQueueBytes};

    // Written before the queue is closed, read behind its end.
    std::optional<Block> totals;
    std::optional<Block> extremes;
    std::optional<uint64_t> rows_before_limit;
    /// `totals` is written: some shards know it before their first row.
    std::atomic<bool> has_totals = false;
    /// Said before the first block, see storage::RemoteStream.
    std::atomic<bool> checks_groups = false;

private:
    enum class Outcome { Done, Unavailable, TableMissing };

    template <typename T>
    using Awaitable = boost::asio::awaitable<T>;

    using Replicas = std::vector<std::shared_ptr<Replica>>;

    Awaitable<void> run(std::shared_ptr<ShardTask> self, Replicas ordered, std::shared_ptr<ShardClient> warm);
    Awaitable<void> converse(Replicas ordered, std::shared_ptr<ShardClient> warm);
    Awaitable<Outcome> tryReplica(std::shared_ptr<Replica> replica, std::shared_ptr<ShardClient> warm);
    Awaitable<std::optional<ShardEvent>> nextEvent();
    Awaitable<std::optional<ShardEvent>> sendAndReadFirst(std::shared_ptr<Replica> replica);
    Awaitable<void> receive(ShardEvent event);
    Awaitable<void> push(Block block);
    Awaitable<void> cancelAndDrain();
    void handle(ShardEvent& event);

    bool stopped() const { return stopped_ || group_->stopped(); }

    bool isPassedOver(const ShardEvent& first) const;
    void checkPeer() const;

    /// Writes into the query's report, if somebody wants one.
    template <typename Change>
    void note(Change&& change) {
        if (group_->query.report) group_->query.report->update(shard_, change);
    }

    void noteEnd(const std::optional<Error>& failure);
    void putQuery();
    void useClient(std::shared_ptr<ShardClient> client, std::string pool_key);
    void releaseClient();
    void giveUp();
    Error unavailableError() const;

    std::shared_ptr<QueryGroup> group_;
    const size_t shard_;
    std::atomic<bool> stopped_ = false;
    bool left_out_ = false;
    uint64_t received_before_ = 0;  // on this connection, by earlier queries
    std::string log_;               // why replicas were passed over
    std::optional<Error> missing_;  // what a replica without the table said
    bool compresses_ = true;
    std::mutex client_mutex_;  // guards client_ against wake()
    std::shared_ptr<ShardClient> client_;
    std::string pool_key_;
};

/// The reading end of a ShardTask: blocks with the columns and types that the query expects.
class RemoteSource final : public storage::RemoteStream {
public:
    explicit RemoteSource(std::shared_ptr<ShardTask> task) : task_(std::move(task)) {}

    /// Nobody reads any longer: the shard is told to stop.
    ~RemoteSource() override;

    const Block& header() const override { return task_->group()->query.header; }

    std::optional<Block> next() override;

    const std::optional<Block>& totals() const override { return totals_; }

    const std::optional<Block>& extremes() const override { return extremes_; }

    std::optional<uint64_t> rowsBeforeLimit() const override { return task_->rows_before_limit; }

    size_t shard() const override { return task_->shard(); }

    bool checksGroups() const override { return task_->checks_groups; }

private:
    Block convert(Block block, const Block& wanted) const;
    void takeTotals();
    bool isAsWanted(const Block& header) const;

    std::shared_ptr<ShardTask> task_;
    std::optional<Block> totals_;
    std::optional<Block> extremes_;
    /// The shard's blocks have the wanted columns in their order: they may be passed on unread.
    bool same_columns_ = false;
};

}  // namespace shardd::cluster
