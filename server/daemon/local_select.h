#pragma once

#include "server/cluster/cluster_service.h"
#include "server/daemon/query_host.h"

namespace shardd::daemon {

/// Lends to the cluster what it needs of this server's own queries: a shard that this server is a replica of
/// is answered in this process, as part of the query that asks, and shards are sent the time that this query
/// has left.
void lendOwnQueries(cluster::ClusterService& service, const QueryServices& services);

}  // namespace shardd::daemon
