#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/cluster/cluster_service.h"
#include "server/storage/distributed.h"
#include "server/storage/table.h"

namespace shardd::cluster {

/// Where a distributed table's rows are.
struct RemoteTarget {
    /// The cluster by name, looked up for each query so that a reload counts; or one of its own (remote()).
    std::string cluster_name;
    ClusterPtr cluster;
    std::string database;
    std::string table;
    /// Instead of database and table: a table function as SQL text.
    std::string table_function;
    /// SQL text; may be empty.
    std::string sharding_key;
};

/// A Table whose rows are on other machines: engine Distributed, remote(), cluster().
class DistributedTable final : public storage::Table, public storage::DistributedSource {
public:
    DistributedTable(ClusterServicePtr service, RemoteTarget target, storage::TableSchema schema);

    std::shared_ptr<const storage::TableSchema> schema() const override;
    std::vector<BlockSourcePtr> scan(const storage::ScanRequest& request) const override;
    BlockSinkPtr write(const storage::WriteRequest& request) override;
    void rename(const std::string& database, const std::string& name) override;

    const storage::DistributedSource* distributed() const override { return this; }

    const std::string& clusterName() const override { return target_.cluster_name; }

    size_t shardCount() const override { return cluster()->shards.size(); }

    std::vector<uint32_t> shardWeights() const override;

    std::string shardAddress(size_t shard) const override;

    const std::string& remoteDatabase() const override { return target_.database; }

    const std::string& remoteTable() const override { return target_.table; }

    const std::string& remoteTableFunction() const override { return target_.table_function; }

    const std::string& shardingKey() const override { return target_.sharding_key; }

    std::vector<storage::RemoteStreamPtr> query(const storage::RemoteQuery& query) const override;

private:
    ClusterPtr cluster() const;

    const ClusterServicePtr service_;
    const RemoteTarget target_;
    mutable std::mutex mutex_;  // guards schema_
    std::shared_ptr<const storage::TableSchema> schema_;
};

/// "`db`.`t`", or the table function.
std::string remoteName(const RemoteTarget& target);

/// Positions in `slots` become shard positions: which shard each row of `keys` belongs to.
/// Errors: TYPE_MISMATCH (53) for a key that is no integer.
std::vector<size_t> shardOfRows(const NamedColumn& keys, const std::vector<size_t>& slots);

}  // namespace shardd::cluster
