#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "common/columns/block.h"
#include "server/cluster/client_pool.h"
#include "server/cluster/place_gate.h"
#include "server/cluster/send_scheduler.h"
#include "server/cluster/topology.h"
#include "server/storage/distributed.h"
#include "server/storage/key.h"
#include "server/storage/table.h"

namespace boost::asio {
class io_context;
}

namespace shardd::cluster {

/// An INSERT into a table of this server, which is a replica of the shard that the rows are for.
struct LocalInsert {
    std::string database;
    std::string table;
    /// The columns that blocks will have.
    std::vector<std::string> columns;
    std::vector<std::pair<std::string, std::string>> settings;
    storage::QueryOrigin origin;
    std::stop_token stop;
};

/// A shard's part of a query for this server itself.
struct LocalPart {
    size_t shard = 0;           // position in the cluster
    uint32_t shard_number = 1;  // from 1
    uint32_t shard_count = 1;
    /// The shard has other replicas, which can be asked when the table is not here.
    bool has_others = false;
    /// What is read; missing for a table function.
    std::optional<protocol::TableName> table;
};

/// What the layers above lend to this one.
struct ClusterHooks {
    /// A column of type `from` as one of type `to` (CAST); missing: types must be the same.
    std::function<ColumnPtr(const ColumnPtr& column, const TypePtr& from, const TypePtr& to)> convert;
    /// The sharding key's text as a function of a block with the table's columns.
    std::function<storage::KeyElement(const std::string& text,
                                      const std::vector<std::pair<std::string, TypePtr>>& columns)>
        compile_key;
    /// Missing: rows for this server take the way through a socket, as those for others do.
    std::function<BlockSinkPtr(const LocalInsert&)> insert_here;
    /// The settings of the server's default profile, for what happens behind the scenes; missing: the
    /// defaults.
    std::function<std::shared_ptr<const Settings>()> profile;
    /// Answers a shard's part in this process, as part of the query that asks. Nothing: it cannot be done
    /// here. Missing: this server is asked through a socket, as others are.
    std::function<storage::RemoteStreamPtr(const storage::RemoteQuery& query, const LocalPart& part)>
        select_here;
    /// When the time of the query on this thread is up; nothing: never. May be missing.
    std::function<std::optional<std::chrono::steady_clock::time_point>()> deadline;
};

/// What all distributed tables of a server share. Lives as long as the network does.
/// Threads: any.
struct ClusterService {
    ClusterService(boost::asio::io_context& network,
                   std::shared_ptr<Topology> clusters,
                   std::shared_ptr<MemoryBudget> memory = nullptr)
        : context(network), topology(std::move(clusters)), senders(kSendThreads, std::move(memory)) {}

    /// As background_distributed_schedule_pool_size was, when it could be set.
    static constexpr size_t kSendThreads = 16;
    static constexpr size_t kMostConnecting = 128;

    boost::asio::io_context& context;
    std::shared_ptr<Topology> topology;
    ClientPool pool;
    /// Places of connections that are being made: keeps a query to hundreds of shards from opening all its
    /// connections in one instant.
    const std::shared_ptr<PlaceGate> connecting = std::make_shared<PlaceGate>();
    ClusterHooks hooks;
    /// Towards shards; cluster and secret are filled in per cluster.
    ShardLogin login;
    /// Sends what Distributed tables have queued. Stopped before the network is.
    SendScheduler senders;

    std::shared_ptr<const Settings> profile() const {
        return hooks.profile ? hooks.profile() : std::make_shared<const Settings>();
    }

    ShardLogin loginFor(const Cluster& cluster) const {
        ShardLogin own = login;
        if (!cluster.secret.empty()) {
            own.cluster = cluster.name;
            own.secret = cluster.secret;
        }
        return own;
    }
};

using ClusterServicePtr = std::shared_ptr<ClusterService>;

}  // namespace shardd::cluster
