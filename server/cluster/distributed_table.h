#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/cluster/cluster_service.h"
#include "server/cluster/distributed_settings.h"
#include "server/cluster/insert_queues.h"
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

/// Where an engine's table keeps the rows that are not sent yet.
struct QueueStorage {
    FileSystem& files;
    std::string path;
    bool durable = true;
};

/// A Table whose rows are on other machines: engine Distributed, remote(), cluster().
class DistributedTable final : public storage::Table, public storage::DistributedSource {
public:
    /// Of a table function: INSERT waits for the shards.
    DistributedTable(ClusterServicePtr service, RemoteTarget target, storage::TableSchema schema);

    /// Of the engine; without `storage` (a temporary table) every INSERT must wait for the shards.
    /// What lies in the storage's directory begins to be sent.
    DistributedTable(ClusterServicePtr service,
                     RemoteTarget target,
                     storage::TableSchema schema,
                     DistributedSettings settings,
                     const std::optional<QueueStorage>& storage);

    std::shared_ptr<const storage::TableSchema> schema() const override;
    std::vector<BlockSourcePtr> scan(const storage::ScanRequest& request) const override;
    BlockSinkPtr write(const storage::WriteRequest& request) override;
    void rename(const std::string& database, const std::string& name) override;
    void alter(const storage::TableSchema& schema) override;
    void truncate() override;
    void flush(std::chrono::steady_clock::time_point deadline) override;
    void drop() override;
    void shutdown() override;

    /// Bytes that wait to be sent.
    std::optional<uint64_t> totalBytes() const override;

    /// Both have the same servers as shards, in the same order.
    bool hasShardsOf(const DistributedTable& other) const;

    /// Whether an INSERT … SELECT of the shards themselves reaches every replica of this table.
    bool shardsPassRowsOn() const;

    /// Sends an INSERT … SELECT to one replica of every shard and waits for all. Errors: the first; the
    /// others are cancelled then.
    void insertOnShards(const std::string& text, const storage::WriteRequest& request) const;

    /// nullptr when it has none.
    InsertQueues* queues() const { return queues_.get(); }

    const storage::DistributedSource* distributed() const override { return this; }

    const std::string& clusterName() const override { return target_.cluster_name; }

    bool knowsUser() const override { return !cluster()->secret.empty(); }

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
    std::optional<protocol::TableName> checkedTable() const;
    std::vector<storage::RemoteStreamPtr> takeLocal(const Cluster& cluster,
                                                    storage::RemoteQuery& query) const;

    const ClusterServicePtr service_;
    const RemoteTarget target_;
    const bool is_engine_;
    const DistributedSettings settings_;
    std::shared_ptr<InsertQueues> queues_;
    mutable std::mutex mutex_;  // guards schema_
    std::shared_ptr<const storage::TableSchema> schema_;
};

/// "`db`.`t`", or the table function.
std::string remoteName(const RemoteTarget& target);

/// The key as a function of blocks with these columns. Errors: TYPE_MISMATCH (53) for one that is no integer,
/// and what the text has wrong.
storage::KeyElement compileShardingKey(const ClusterService& service,
                                       const std::string& text,
                                       const storage::TableSchema& schema);

}  // namespace shardd::cluster
