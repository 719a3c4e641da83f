#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/columns/block.h"
#include "server/cluster/client_pool.h"
#include "server/cluster/topology.h"
#include "server/storage/key.h"

namespace boost::asio {
class io_context;
}

namespace shardd::cluster {

/// What the layers above lend to this one.
struct ClusterHooks {
    /// A column of type `from` as one of type `to` (CAST); missing: types must be the same.
    std::function<ColumnPtr(const ColumnPtr& column, const TypePtr& from, const TypePtr& to)> convert;
    /// The sharding key's text as a function of a block with the table's columns.
    std::function<storage::KeyElement(const std::string& text,
                                      const std::vector<std::pair<std::string, TypePtr>>& columns)>
        compile_key;
};

/// What all distributed tables of a server share. Lives as long as the network does.
/// Threads: any.
struct ClusterService {
    ClusterService(boost::asio::io_context& network, std::shared_ptr<Topology> clusters)
        : context(network), topology(std::move(clusters)) {}

    boost::asio::io_context& context;
    std::shared_ptr<Topology> topology;
    ClientPool pool;
    ClusterHooks hooks;
    /// Towards shards; cluster and secret are filled in per cluster.
    ShardLogin login;

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
