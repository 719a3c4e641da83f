#include "server/cluster/distributed_table.h"

#include <random>

#include "common/columns/dictionary_column.h"
#include "common/columns/fixed_column.h"
#include "server/cluster/initiator.h"
#include "server/cluster/remote_sink.h"
#include "server/cluster/replica_choice.h"
#include "server/cluster/shard_query.h"

namespace shardd::cluster {

namespace {

/// Cuts blocks by the sharding key and sends each shard its rows; finish() waits for all of them.
class DistributedSink final : public BlockSink {
public:
    DistributedSink(ClusterServicePtr service,
                    ClusterPtr cluster,
                    std::string text,
                    Settings settings,
                    std::optional<storage::KeyElement> key)
        : service_(std::move(service)),
          cluster_(std::move(cluster)),
          text_(std::move(text)),
          settings_(std::move(settings)),
          key_(std::move(key)),
          slots_(cluster_->slots()),
          sinks_(cluster_->shards.size()) {}

    ~DistributedSink() override {
        for (const auto& shard : sinks_)
            for (const std::shared_ptr<RemoteSink>& sink : shard) sink->cancel();
    }

    void write(Block block) override {
        block.makeFull();
        if (cluster_->shards.size() == 1) return send(0, std::move(block));
        if (!key_) return send(anyShard(), std::move(block));
        const std::vector<size_t> shard_of =
            shardOfRows({key_->text, key_->type, key_->compute(block)}, slots_);
        std::vector<PodVector<RowIndex>> rows(cluster_->shards.size());
        for (size_t row = 0; row < shard_of.size(); ++row)
            rows[shard_of[row]].push_back(static_cast<RowIndex>(row));
        for (size_t shard = 0; shard < rows.size(); ++shard)
            if (!rows[shard].empty()) send(shard, block.gather({rows[shard].data(), rows[shard].size()}));
    }

    void finish() override {
        for (const auto& shard : sinks_)
            for (const std::shared_ptr<RemoteSink>& sink : shard) sink->finish();
    }

private:
    size_t anyShard() {
        static thread_local std::mt19937_64 random{std::random_device()()};
        if (!random_shard_) random_shard_ = slots_[random() % slots_.size()];
        return *random_shard_;
    }

    void send(size_t shard, Block block) {
        if (sinks_[shard].empty()) open(shard);
        for (const std::shared_ptr<RemoteSink>& sink : sinks_[shard]) sink->write(block);
    }

    void open(size_t position) {
        const Shard& shard = cluster_->shards[position];
        const std::vector<std::shared_ptr<Replica>> ordered = orderReplicas(shard, settings_);
        const auto openOne = [&](std::vector<std::shared_ptr<Replica>> replicas) {
            RemoteSink::Request request;
            request.service = service_;
            request.login = service_->loginFor(*cluster_);
            request.replicas = std::move(replicas);
            request.text = text_;
            request.settings = settings_;
            const auto sink = std::make_shared<RemoteSink>(std::move(request));
            sink->start();
            sinks_[position].push_back(sink);
        };
        if (shard.internal_replication) return openOne(ordered);
        for (const std::shared_ptr<Replica>& replica : ordered) openOne({replica});
    }

    const ClusterServicePtr service_;
    const ClusterPtr cluster_;
    const std::string text_;
    const Settings settings_;
    const std::optional<storage::KeyElement> key_;
    const std::vector<size_t> slots_;
    std::vector<std::vector<std::shared_ptr<RemoteSink>>> sinks_;
    std::optional<size_t> random_shard_;
};

std::string insertText(const RemoteTarget& target, const std::vector<std::string>& columns) {
    std::string text = "INSERT INTO " + (target.table_function.empty() ? "" : std::string("FUNCTION ")) +
                       remoteName(target) + " (";
    for (size_t i = 0; i < columns.size(); ++i)
        text += (i == 0 ? "" : ", ") + quoteIdentifierIfNeeded(columns[i]);
    return text + ") VALUES";
}

/// What an engine's caller has set of the settings that matter between servers.
Settings insertSettings(const storage::WriteRequest& request) {
    const Settings defaults;
    Settings settings;
    if (!request.setting) return settings;
    for (const char* name :
         {"connect_timeout_with_failover_ms", "send_timeout", "receive_timeout", "load_balancing",
          "network_compression_method", "max_execution_time", "fsync_after_insert"}) {
        if (!Settings::knows(name)) continue;
        const std::optional<std::string> value = request.setting(name);
        if (value && *value != defaults.get(name)) settings.set(name, *value);
    }
    return settings;
}

}  // namespace

std::string remoteName(const RemoteTarget& target) {
    if (!target.table_function.empty()) return target.table_function;
    if (target.database.empty()) return quoteIdentifierIfNeeded(target.table);
    return quoteIdentifierIfNeeded(target.database) + "." + quoteIdentifierIfNeeded(target.table);
}

std::vector<size_t> shardOfRows(const NamedColumn& keys, const std::vector<size_t>& slots) {
    const TypePtr type = removeLowCardinality(keys.type);
    const ColumnPtr column = fullPlain(keys.column);
    std::vector<size_t> result(column->size());
    const bool is_number = type->isInteger() || type->isDate() || type->kind() == TypeKind::DateTime ||
                           type->kind() == TypeKind::Bool || type->isEnum();
    if (!is_number || type->width() > sizeof(uint64_t))
        throw Error(ErrorCode::TYPE_MISMATCH,
                    "Sharding key expression does not evaluate to an integer type, but to {}",
                    keys.type->name());
    dispatchPhysical(type->physical(), [&](auto tag) {
        using T = typename decltype(tag)::Type;
        if constexpr (std::is_integral_v<T>) {
            const T* values = as<FixedColumn<T>>(*column).data();
            // Negative keys count as the unsigned number of their own width, as in ClickHouse.
            for (size_t row = 0; row < result.size(); ++row)
                result[row] = slots[static_cast<std::make_unsigned_t<T>>(values[row]) % slots.size()];
        }
    });
    return result;
}

DistributedTable::DistributedTable(ClusterServicePtr service,
                                   RemoteTarget target,
                                   storage::TableSchema schema)
    : service_(std::move(service)),
      target_(std::move(target)),
      schema_(std::make_shared<const storage::TableSchema>(std::move(schema))) {}

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

std::vector<uint32_t> DistributedTable::shardWeights() const {
    std::vector<uint32_t> weights;
    for (const Shard& shard : cluster()->shards) weights.push_back(static_cast<uint32_t>(shard.weight));
    return weights;
}

std::string DistributedTable::shardAddress(size_t shard) const {
    const ClusterPtr asked = cluster();
    std::string text;
    if (shard >= asked->shards.size()) return text;
    for (const std::shared_ptr<Replica>& replica : asked->shards[shard].replicas)
        text += (text.empty() ? "" : "|") + replica->address();
    return text;
}

std::vector<storage::RemoteStreamPtr> DistributedTable::query(const storage::RemoteQuery& query) const {
    return startQuery(service_, cluster(), query);
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

BlockSinkPtr DistributedTable::write(const storage::WriteRequest& request) {
    const ClusterPtr asked = cluster();
    const std::shared_ptr<const storage::TableSchema> columns = schema();
    std::optional<storage::KeyElement> key;
    if (asked->shards.size() > 1 && target_.sharding_key.empty())
        throw Error(ErrorCode::STORAGE_REQUIRES_PARAMETER,
                    "Method write is not supported by storage Distributed with more than one shard and no "
                    "sharding key provided");
    if (asked->shards.size() > 1) {
        if (!service_->hooks.compile_key)
            throw Error(ErrorCode::NOT_IMPLEMENTED, "Sharding keys cannot be evaluated here");
        std::vector<std::pair<std::string, TypePtr>> inputs;
        for (const storage::ColumnDefinition& column : columns->columns)
            inputs.emplace_back(column.name, column.type);
        key = service_->hooks.compile_key(target_.sharding_key, inputs);
    }
    std::vector<std::string> names = request.columns;
    if (names.empty())
        for (const storage::ColumnDefinition& column : columns->columns) names.push_back(column.name);
    return std::make_unique<DistributedSink>(service_, asked, insertText(target_, names),
                                             insertSettings(request), std::move(key));
}

}  // namespace shardd::cluster
