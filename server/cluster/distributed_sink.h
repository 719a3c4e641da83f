#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/cluster/cluster_service.h"
#include "server/cluster/insert_queues.h"
#include "server/storage/shard_slots.h"
#include "server/storage/table.h"

namespace shardd::cluster {

/// An INSERT into a distributed table, ready to be cut into shards.
struct DistributedInsert {
    ClusterServicePtr service;
    ClusterPtr cluster;
    /// "INSERT INTO db.t (a, b) VALUES", and its columns.
    std::string text;
    std::vector<std::string> columns;
    /// The remote table, for a shard that is this server; no table when it is a table function.
    std::string database;
    std::string table;
    /// Computed from blocks with all columns of the table; nothing: no sharding key.
    std::optional<storage::KeyElement> key;
    Settings settings;
    storage::WriteRequest request;
    /// Where rows for other servers go first; nullptr: they are sent while the INSERT waits.
    std::shared_ptr<InsertQueues> queues;
};

/// Errors: those of the settings that choose shards: STORAGE_REQUIRES_PARAMETER (55), INVALID_SHARD_ID (577),
/// TOO_LARGE_DISTRIBUTED_DEPTH (581).
BlockSinkPtr makeDistributedSink(DistributedInsert insert);

/// The position of the shard that each row of `keys` belongs to.
/// Errors: TYPE_MISMATCH (53) for a key that is no integer.
std::vector<size_t> shardOfRows(const NamedColumn& keys, const storage::ShardSlots& slots);

}  // namespace shardd::cluster
