#pragma once

#include <vector>

#include "server/cluster/cluster_service.h"
#include "server/storage/distributed.h"
#include "server/storage/table.h"

namespace shardd::cluster {

/// Asks the shards of `query` (positions in `cluster`) at once: one stream a shard, in that order. Replicas
/// without `checked_table` are passed over.
std::vector<storage::RemoteStreamPtr> startQuery(
    const ClusterServicePtr& service,
    const ClusterPtr& cluster,
    storage::RemoteQuery query,
    std::optional<protocol::TableName> checked_table = std::nullopt);

/// The columns of `what` ("`db`.`t`", or a table function) as the first shard that answers describes them.
/// Waits. Errors: NO_REMOTE_SHARD_AVAILABLE (519) when none answers; what a shard says of the table.
std::vector<storage::ColumnDefinition> describeRemote(const ClusterServicePtr& service,
                                                      const ClusterPtr& cluster,
                                                      const std::string& what,
                                                      const std::string& user = "default");

}  // namespace shardd::cluster
