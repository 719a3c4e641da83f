#pragma once

#include <vector>

#include "server/cluster/cluster_service.h"
#include "server/storage/engine.h"

namespace shardd::cluster {

/// The engine Distributed(cluster, database, table[, sharding_key[, policy]]).
std::vector<storage::EngineInfo> clusterEngines(const ClusterServicePtr& service);

/// remote, remoteSecure, cluster, clusterAllReplicas.
std::vector<storage::TableFunctionInfo> clusterTableFunctions(const ClusterServicePtr& service);

}  // namespace shardd::cluster
