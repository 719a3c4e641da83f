#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "common/base/memory_budget.h"
#include "config/settings.h"
#include "server/cluster/cluster_service.h"
#include "server/cluster/network_limits.h"
#include "server/storage/distributed.h"

namespace shardd::cluster {

class ShardTask;

/// What the tasks of one distributed query share: the query, and the rule that the first error ends them all.
/// Threads: any.
class QueryGroup : public std::enable_shared_from_this<QueryGroup> {
public:
    QueryGroup(ClusterServicePtr service,
               ClusterPtr cluster,
               storage::RemoteQuery query,
               std::optional<protocol::TableName> checked_table);
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

    /// What may wait of one shard's answer, so that a slow reader slows the shards down: all of them together
    /// cost a bounded amount of memory, as long as a block of each fits.
    size_t queueBytes() const;

    /// "shard 2 of cluster c", for errors.
    std::string shardText(size_t shard) const;

    const ClusterServicePtr service;
    const ClusterPtr cluster;
    const storage::RemoteQuery query;
    /// A replica must have it to be asked; missing for a table function.
    const std::optional<protocol::TableName> checked_table;
    /// query.settings with their types.
    Settings settings;
    /// Of what comes from shards and goes to them.
    NetworkLimits network;
    /// Of the shards that are asked at once.
    const std::shared_ptr<PlaceGate> places = std::make_shared<PlaceGate>();
    /// When the time of the query is up.
    const std::optional<net::Clock::time_point> deadline;
    /// Pays for the blocks that arrive; kept by reference count.
    MemoryBudget* const budget;

private:
    std::vector<std::shared_ptr<ShardTask>> liveTasks();

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

}  // namespace shardd::cluster
