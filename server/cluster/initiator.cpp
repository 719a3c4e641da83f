#include "server/cluster/initiator.h"

#include "common/columns/string_column.h"
#include "common/types/type_parser.h"
#include "server/cluster/remote_source.h"
#include "server/storage/table.h"

namespace shardd::cluster {

namespace {

std::vector<storage::ColumnDefinition> readDescription(storage::RemoteStream& stream) {
    std::vector<storage::ColumnDefinition> columns;
    while (std::optional<Block> block = stream.next()) {
        const auto& names = as<StringColumn>(*block->get("name").column);
        const auto& type_names = as<StringColumn>(*block->get("type").column);
        const auto& default_kinds = as<StringColumn>(*block->get("default_type").column);
        const auto& defaults = as<StringColumn>(*block->get("default_expression").column);
        for (size_t row = 0; row < block->rows; ++row) {
            storage::ColumnDefinition& column = columns.emplace_back();
            column.name = names.bytesAt(row);
            column.type = parseType(type_names.bytesAt(row));
            column.default_expression = defaults.bytesAt(row);
            const std::string_view kind = default_kinds.bytesAt(row);
            if (kind == "DEFAULT") column.default_kind = storage::DefaultKind::Default;
            if (kind == "MATERIALIZED") column.default_kind = storage::DefaultKind::Materialized;
            if (kind == "ALIAS") column.default_kind = storage::DefaultKind::Alias;
            if (kind == "EPHEMERAL") column.default_kind = storage::DefaultKind::Ephemeral;
        }
    }
    return columns;
}

std::vector<storage::RemoteStreamPtr> startTasks(const ClusterServicePtr& service,
                                                 const ClusterPtr& cluster,
                                                 storage::RemoteQuery query,
                                                 std::optional<protocol::TableName> checked_table) {
    const std::vector<size_t> shards = query.shards;
    const auto group =
        std::make_shared<QueryGroup>(service, cluster, std::move(query), std::move(checked_table));
    std::vector<std::shared_ptr<ShardTask>> tasks;
    for (const size_t shard : shards) tasks.push_back(std::make_shared<ShardTask>(group, shard));
    group->setTasks(tasks);
    std::vector<storage::RemoteStreamPtr> streams;
    for (const std::shared_ptr<ShardTask>& task : tasks) {
        task->start();
        streams.push_back(std::make_unique<RemoteSource>(task));
    }
    return streams;
}

/// Asks every shard who it is before any of them is sent the query; the connections are warm then.
void checkPeers(const ClusterServicePtr& service,
                const ClusterPtr& cluster,
                const storage::RemoteQuery& query) {
    storage::RemoteQuery hello = query;
    hello.text = "SELECT 1";
    hello.stage = storage::Stage::Complete;
    hello.own_settings.clear();
    hello.group_buckets = {};
    hello.block_revision = 0;
    hello.header = makeHeader({{"1", types::uint8()}});
    hello.external_tables.clear();
    hello.report = nullptr;
    hello.progress = nullptr;
    for (const storage::RemoteStreamPtr& stream :
         startTasks(service, cluster, std::move(hello), std::nullopt))
        while (stream->next()) continue;
}

}  // namespace

std::vector<storage::RemoteStreamPtr> startQuery(const ClusterServicePtr& service,
                                                 const ClusterPtr& cluster,
                                                 storage::RemoteQuery query,
                                                 std::optional<protocol::TableName> checked_table) {
    if (!query.needs_own_for.empty()) checkPeers(service, cluster, query);
    return startTasks(service, cluster, std::move(query), std::move(checked_table));
}

std::vector<storage::ColumnDefinition> describeRemote(const ClusterServicePtr& service,
                                                      const ClusterPtr& cluster,
                                                      const std::string& what,
                                                      const std::string& user) {
    storage::RemoteQuery query;
    query.text = "DESC TABLE " + what;
    query.header = makeHeader({{"name", types::string()},
                               {"type", types::string()},
                               {"default_type", types::string()},
                               {"default_expression", types::string()}});
    query.initial_user = user;
    std::string reasons;
    for (size_t shard = 0; shard < cluster->shards.size(); ++shard) {
        query.shards = {shard};
        try {
            const std::vector<storage::RemoteStreamPtr> streams = startQuery(service, cluster, query);
            return readDescription(*streams.front());
        } catch (const Error& error) {
            if (!error.is(ErrorCode::ALL_CONNECTION_TRIES_FAILED)) throw;
            reasons = error.message();
        }
    }
    throw Error(ErrorCode::NO_REMOTE_SHARD_AVAILABLE,
                "All attempts to get table structure failed. Log: \n\n{}", reasons);
}

}  // namespace shardd::cluster
