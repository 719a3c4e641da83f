#include "server/cluster/distributed_table.h"

#include <algorithm>

#include "common/base/log.h"
#include "common/columns/dictionary_column.h"
#include "server/cluster/distributed_sink.h"
#include "server/cluster/initiator.h"
#include "server/cluster/remote_sink.h"
#include "server/cluster/replica_choice.h"
#include "server/cluster/shard_query.h"

namespace shardd::cluster {

namespace {

std::string insertText(const RemoteTarget& target, const std::vector<std::string>& columns) {
    std::string text = "INSERT INTO " + (target.table_function.empty() ? "" : std::string("FUNCTION ")) +
                       remoteName(target) + " (";
    for (size_t i = 0; i < columns.size(); ++i)
        text += (i == 0 ? "" : ", ") + quoteIdentifierIfNeeded(columns[i]);
    return text + ") VALUES";
}

constexpr Log kLog("cluster");

}  // namespace

std::string remoteName(const RemoteTarget& target) {
    if (!target.table_function.empty()) return target.table_function;
    if (target.database.empty()) return quoteIdentifierIfNeeded(target.table);
    return quoteIdentifierIfNeeded(target.database) + "." + quoteIdentifierIfNeeded(target.table);
}

storage::KeyElement compileShardingKey(const ClusterService& service,
                                       const std::string& text,
                                       const storage::TableSchema& schema) {
    if (!service.hooks.compile_key)
        throw Error(ErrorCode::NOT_IMPLEMENTED, "Sharding keys cannot be evaluated here");
    std::vector<std::pair<std::string, TypePtr>> inputs;
    for (const storage::ColumnDefinition& column : schema.columns)
        inputs.emplace_back(column.name, column.type);
    storage::KeyElement key = service.hooks.compile_key(text, inputs);
    if (!storage::isShardingType(*removeLowCardinality(key.type)))
        throw Error(ErrorCode::TYPE_MISMATCH,
                    "Sharding expression has type {}, but should be one of integer type", key.type->name());
    return key;
}

DistributedTable::DistributedTable(ClusterServicePtr service,
                                   RemoteTarget target,
                                   storage::TableSchema schema)
    : service_(std::move(service)),
      target_(std::move(target)),
      is_engine_(false),
      schema_(std::make_shared<const storage::TableSchema>(std::move(schema))) {}

DistributedTable::DistributedTable(ClusterServicePtr service,
                                   RemoteTarget target,
                                   storage::TableSchema schema,
                                   DistributedSettings settings,
                                   const std::optional<QueueStorage>& storage)
    : service_(std::move(service)),
      target_(std::move(target)),
      is_engine_(true),
      settings_(std::move(settings)),
      schema_(std::make_shared<const storage::TableSchema>(std::move(schema))) {
    if (!storage) return;
    auto context = std::make_shared<QueueContext>(storage->files);
    context->path = storage->path;
    context->service = service_;
    context->cluster = [topology = service_->topology, name = target_.cluster_name] {
        return topology->get(name);
    };
    context->settings = settings_;
    context->durable_files = settings_.fsync_after_insert.value_or(storage->durable);
    context->durable_names = settings_.fsync_directories.value_or(context->durable_files);
    queues_ = std::make_shared<InsertQueues>(std::move(context));
    queues_->load();
}

ClusterPtr DistributedTable::cluster() const {
    return target_.cluster ? target_.cluster : service_->topology->get(target_.cluster_name);
}

std::shared_ptr<const storage::TableSchema> DistributedTable::schema() const {
    const std::lock_guard lock(mutex_);
    return schema_;
}

void DistributedTable::rename(const std::string& database, const std::string& name) {
    const std::lock_guard lock(mutex_);
    auto renamed = std::make_shared<storage::TableSchema>(*schema_);
    renamed->database = database;
    renamed->name = name;
    schema_ = std::move(renamed);
}

void DistributedTable::alter(const storage::TableSchema& schema) {
    const std::lock_guard lock(mutex_);
    schema_ = std::make_shared<const storage::TableSchema>(schema);
}

void DistributedTable::truncate() {
    if (queues_) queues_->clear();
}

void DistributedTable::flush(std::chrono::steady_clock::time_point deadline) {
    if (!queues_ || !queues_->flushesOnDetach()) return;
    try {
        queues_->flush(deadline);
    } catch (const Error& error) {
        kLog.error("{}: what waits to be sent stays behind: {}", schema()->name, error.message());
    }
}

void DistributedTable::drop() {
    if (queues_) queues_->drop();
}

void DistributedTable::shutdown() {
    if (queues_) queues_->close();
}

std::optional<uint64_t> DistributedTable::totalBytes() const {
    return queues_ ? std::optional(queues_->pendingBytes()) : std::nullopt;
}

std::vector<uint32_t> DistributedTable::shardWeights() const { return cluster()->weights(); }

std::string DistributedTable::shardAddress(size_t shard) const {
    const ClusterPtr asked = cluster();
    std::string text;
    if (shard >= asked->shards.size()) return text;
    for (const std::shared_ptr<Replica>& replica : asked->shards[shard].replicas)
        text += (text.empty() ? "" : "|") + replica->address();
    return text;
}

std::optional<protocol::TableName> DistributedTable::checkedTable() const {
    if (!target_.table_function.empty()) return std::nullopt;
    return protocol::TableName{target_.database, target_.table};
}

/// Takes the shards out of `query` that this server is a replica of, and answers for them.
std::vector<storage::RemoteStreamPtr> DistributedTable::takeLocal(const Cluster& cluster,
                                                                  storage::RemoteQuery& query) const {
    std::vector<storage::RemoteStreamPtr> streams;
    if (!service_->hooks.select_here) return streams;
    // What is said beside the rows, of places of groups and states behind totals, is said in packets.
    if (!query.own_settings.empty() || !settingsOf(query.settings)->prefer_localhost_replica) return streams;
    const std::optional<protocol::TableName> table = checkedTable();
    std::vector<size_t> others;
    for (const size_t shard : query.shards) {
        const Shard& place = cluster.shards.at(shard);
        const bool is_local =
            std::ranges::any_of(place.replicas, [](const auto& each) { return each->isLocal(); });
        storage::RemoteStreamPtr stream;
        if (is_local)
            stream = service_->hooks.select_here(query,
                                                 {.shard = shard,
                                                  .shard_number = place.number,
                                                  .shard_count = static_cast<uint32_t>(cluster.shards.size()),
                                                  .has_others = place.replicas.size() > 1,
                                                  .table = table});
        if (stream)
            streams.push_back(std::move(stream));
        else
            others.push_back(shard);
    }
    query.shards = std::move(others);
    return streams;
}

std::vector<storage::RemoteStreamPtr> DistributedTable::query(const storage::RemoteQuery& query) const {
    storage::RemoteQuery asked = query;
    if (settings_.skip_unavailable_shards) {
        asked.settings.emplace_back("skip_unavailable_shards", "1");
        if (!settings_.skip_unavailable_shards_mode.empty())
            asked.settings.emplace_back("skip_unavailable_shards_mode",
                                        settings_.skip_unavailable_shards_mode);
    }
    const ClusterPtr asked_cluster = cluster();
    std::vector<storage::RemoteStreamPtr> streams = takeLocal(*asked_cluster, asked);
    for (storage::RemoteStreamPtr& stream :
         startQuery(service_, asked_cluster, std::move(asked), checkedTable()))
        streams.push_back(std::move(stream));
    std::ranges::sort(streams, {}, [](const storage::RemoteStreamPtr& stream) { return stream->shard(); });
    return streams;
}

/// For whoever reads a distributed table as any other: its columns, from every shard.
std::vector<BlockSourcePtr> DistributedTable::scan(const storage::ScanRequest& request) const {
    const std::shared_ptr<const storage::TableSchema> columns = schema();
    storage::RemoteQuery query;
    std::vector<std::pair<std::string, TypePtr>> header;
    std::string list;
    for (const std::string& name : request.columns) {
        const storage::ColumnDefinition* column = columns->find(name);
        if (!column)
            throw Error(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK, "There is no column {} in table {}", name,
                        columns->name);
        header.emplace_back(name, column->type);
        list += (list.empty() ? "" : ", ") + quoteIdentifierIfNeeded(name);
    }
    // Without columns only the number of rows is wanted: one byte a row stands for it.
    query.text = "SELECT " + (list.empty() ? "1" : list) + " FROM " + remoteName(target_);
    query.header = makeHeader(header);
    query.stop = request.stop;
    query.progress = request.progress;
    query.initial_user = "default";
    for (size_t shard = 0; shard < shardCount(); ++shard) query.shards.push_back(shard);
    std::vector<BlockSourcePtr> sources;
    for (storage::RemoteStreamPtr& stream : startQuery(service_, cluster(), std::move(query)))
        sources.push_back(std::move(stream));
    return sources;
}

bool DistributedTable::hasShardsOf(const DistributedTable& other) const {
    const ClusterPtr one = cluster();
    const ClusterPtr two = other.cluster();
    return std::ranges::equal(one->shards, two->shards, [](const Shard& a, const Shard& b) {
        return std::ranges::equal(a.replicas, b.replicas,
                                  [](const auto& x, const auto& y) { return x->config() == y->config(); });
    });
}

bool DistributedTable::shardsPassRowsOn() const {
    const ClusterPtr asked = cluster();
    return std::ranges::all_of(asked->shards, [](const Shard& shard) {
        return shard.replicas.size() == 1 || shard.internal_replication;
    });
}

void DistributedTable::insertOnShards(const std::string& text, const storage::WriteRequest& request) const {
    const ClusterPtr asked = cluster();
    const Settings settings = settingsOf(request.changed_settings);
    std::vector<std::shared_ptr<RemoteSink>> sinks;
    for (const Shard& shard : asked->shards) {
        RemoteSink::Request each;
        each.service = service_;
        each.login = service_->loginFor(*asked);
        each.replicas = orderReplicas(shard, settings);
        each.text = text;
        each.has_rows = false;
        each.settings = request.changed_settings;
        each.origin = request.origin;
        sinks.push_back(std::make_shared<RemoteSink>(std::move(each)));
        sinks.back()->start();
    }
    const auto cancelAll = [&sinks] {
        for (const std::shared_ptr<RemoteSink>& sink : sinks) sink->cancel();
    };
    const std::stop_callback on_stop(request.stop, cancelAll);
    try {
        for (const std::shared_ptr<RemoteSink>& sink : sinks) sink->finish();
    } catch (const Error&) {
        cancelAll();
        throw;
    }
}

BlockSinkPtr DistributedTable::write(const storage::WriteRequest& request) {
    const std::shared_ptr<const storage::TableSchema> columns = schema();
    DistributedInsert insert;
    insert.service = service_;
    insert.cluster = cluster();
    insert.settings = settingsOf(request.changed_settings);
    insert.request = request;
    insert.database = target_.database;
    insert.table = target_.table_function.empty() ? target_.table : "";
    const bool many_shards = insert.cluster->shards.size() > 1 && insert.settings->insert_shard_id == 0;
    if (many_shards && !target_.sharding_key.empty())
        insert.key = compileShardingKey(*service_, target_.sharding_key, *columns);
    std::vector<std::string> names = request.columns;
    if (names.empty())
        for (const storage::ColumnDefinition& column : columns->columns) names.push_back(column.name);
    for (const std::string& name : names) {
        const storage::ColumnDefinition* column = columns->find(name);
        const bool is_materialized = column && column->default_kind == storage::DefaultKind::Materialized;
        // The shard computes its own.
        if (!is_materialized || insert.settings->insert_allow_materialized_columns)
            insert.columns.push_back(name);
    }
    insert.text = insertText(target_, insert.columns);
    const bool waits =
        insert.settings->distributed_foreground_insert || insert.settings->insert_shard_id != 0;
    if (is_engine_ && !waits) {
        if (!queues_)
            throw Error(
                ErrorCode::BAD_ARGUMENTS,
                "Storage Distributed must have own data directory to enable asynchronous inserts: set "
                "distributed_foreground_insert = 1");
        insert.queues = queues_;
    }
    return makeDistributedSink(std::move(insert));
}

}  // namespace shardd::cluster
