#pragma once

#include <functional>
#include <memory>

#include "config/config.h"
#include "server/cluster/cluster_service.h"
#include "server/storage/catalog.h"

namespace shardd::daemon {

/// What distributed tables share in this daemon: the clusters of the configuration, connections to their
/// shards, and what the layers above them lend (conversions of columns, sharding keys). `catalog`, `context`
/// and what `config` looks at outlive everything that is done with it.
cluster::ClusterServicePtr makeClusterService(boost::asio::io_context& context,
                                              const std::function<std::shared_ptr<const Config>()>& config,
                                              const storage::Catalog& catalog,
                                              std::shared_ptr<MemoryBudget> memory);

/// Puts the engine Distributed and the table functions of clusters into the catalog.
void addClusterEngines(const cluster::ClusterServicePtr& service, storage::Catalog& catalog);

}  // namespace shardd::daemon
