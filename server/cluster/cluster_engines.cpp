#include "server/cluster/cluster_engines.h"

#include "server/cluster/distributed_table.h"
#include "server/cluster/initiator.h"

namespace shardd::cluster {

namespace {

using storage::Argument;
using storage::TableFunctionRequest;
using storage::TablePtr;

bool isTableFunction(const Argument& argument) {
    return argument.identifier.empty() && !argument.value && argument.text.find('(') != std::string::npos;
}

/// Takes `table`, `db.table`, `db, table` or a table function from the arguments, and moves `next` behind it.
void parseTarget(const TableFunctionRequest& request, size_t& next, RemoteTarget& target) {
    if (next >= request.arguments.size()) {
        target.database = "system";
        target.table = "one";
        return;
    }
    const Argument& first = request.arguments[next++];
    if (isTableFunction(first)) {
        target.table_function = first.text;
        return;
    }
    if (first.identifier.size() == 2) {
        target.database = first.identifier[0];
        target.table = first.identifier[1];
        return;
    }
    const std::string name = first.word("'database'");
    const bool has_second = next < request.arguments.size() && !isTableFunction(request.arguments[next]);
    if (has_second) {
        target.database = name;
        target.table = request.arguments[next++].word("'table'");
        return;
    }
    const size_t dot = name.find('.');
    target.database = dot == std::string::npos ? request.current_database : name.substr(0, dot);
    target.table = dot == std::string::npos ? name : name.substr(dot + 1);
}

TablePtr makeFunctionTable(const ClusterServicePtr& service,
                           const TableFunctionRequest& request,
                           RemoteTarget target) {
    const ClusterPtr cluster = target.cluster ? target.cluster : service->topology->get(target.cluster_name);
    storage::TableSchema schema;
    schema.database = "_table_function";
    schema.name = request.name;
    schema.engine = "Distributed";
    schema.columns = describeRemote(service, cluster, remoteName(target),
                                    request.current_user.empty() ? "default" : request.current_user);
    return std::make_shared<DistributedTable>(service, std::move(target), std::move(schema));
}

void checkCount(const TableFunctionRequest& request, size_t least, size_t most) {
    const size_t count = request.arguments.size();
    if (count < least || count > most)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Table function '{}' requires from {} to {} parameters: <addresses or cluster name>, "
                    "<name of remote "
                    "database>, <name of remote table>, ...",
                    request.name, least, most);
}

/// remote('addresses'[, db, table | db.table | function()][, 'user'[, 'password']][, sharding_key])
TablePtr createRemote(const ClusterServicePtr& service, const TableFunctionRequest& request, bool secure) {
    checkCount(request, 1, 6);
    RemoteTarget target;
    size_t next = 1;
    parseTarget(request, next, target);
    AddressDefaults defaults;
    defaults.secure = secure;
    defaults.own_ports = service->topology->ownPorts();
    const auto isString = [&] {
        return next < request.arguments.size() && request.arguments[next].value &&
               request.arguments[next].value->kind() == Value::Kind::String;
    };
    if (isString()) {
        defaults.user = request.arguments[next++].word("'user'");
        if (isString()) defaults.password = request.arguments[next++].word("'password'");
    }
    if (next < request.arguments.size()) target.sharding_key = request.arguments[next++].text;
    target.cluster = clusterFromAddresses(request.arguments[0].word("'addresses'"), defaults);
    return makeFunctionTable(service, request, std::move(target));
}

TablePtr createCluster(const ClusterServicePtr& service,
                       const TableFunctionRequest& request,
                       bool all_replicas) {
    checkCount(request, 1, 4);
    RemoteTarget target;
    target.cluster_name = request.arguments[0].word("'cluster_name'");
    size_t next = 1;
    parseTarget(request, next, target);
    if (next < request.arguments.size()) target.sharding_key = request.arguments[next++].text;
    if (all_replicas) target.cluster = withEachReplicaAsShard(*service->topology->get(target.cluster_name));
    return makeFunctionTable(service, request, std::move(target));
}

/// The last argument may name a storage policy: there is one disk here, and one policy.
void checkPolicy(const Argument& argument) {
    const std::string policy = argument.word("'storage_policy'");
    if (policy != "default") throw Error(ErrorCode::UNKNOWN_POLICY, "Unknown storage policy `{}`", policy);
}

TablePtr createDistributed(const ClusterServicePtr& service,
                           const storage::TableDefinition& definition,
                           const storage::EngineContext& context) {
    const std::vector<Argument>& arguments = definition.arguments;
    if (arguments.size() < 3 || arguments.size() > 5)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Storage Distributed requires from 3 to 5 parameters - name of configuration section "
                    "with list of remote "
                    "servers, name of remote database, name of remote table, sharding key expression "
                    "(optional), policy to "
                    "store data in (optional).");
    RemoteTarget target;
    target.cluster_name = arguments[0].word("'cluster_name'");
    // currentDatabase() came as its value.
    target.database = arguments[1].word("'database'");
    target.table = arguments[2].word("'table'");
    if (arguments.size() > 3) target.sharding_key = arguments[3].text;
    if (arguments.size() > 4) checkPolicy(arguments[4]);
    DistributedSettings settings = parseDistributedSettings(definition.settings);
    storage::TableSchema schema = definition.schema;
    // A stored table whose cluster has left the configuration must not keep the server from starting.
    if (!definition.attach) {
        const ClusterPtr cluster = service->topology->get(target.cluster_name);
        if (schema.columns.empty()) schema.columns = describeRemote(service, cluster, remoteName(target));
        if (!target.sharding_key.empty()) compileShardingKey(*service, target.sharding_key, schema);
    }
    std::optional<QueueStorage> storage;
    if (context.files && !context.data_path.empty() && context.keeps_data)
        storage.emplace(QueueStorage{*context.files, context.data_path, context.durable_inserts});
    return std::make_shared<DistributedTable>(service, std::move(target), std::move(schema),
                                              std::move(settings), storage);
}

}  // namespace

std::vector<storage::EngineInfo> clusterEngines(const ClusterServicePtr& service) {
    storage::EngineInfo distributed;
    distributed.name = "Distributed";
    distributed.create = [service](const storage::TableDefinition& definition,
                                   const storage::EngineContext& context) {
        return createDistributed(service, definition, context);
    };
    distributed.takes_arguments = true;
    distributed.takes_settings = true;
    return {distributed};
}

std::vector<storage::TableFunctionInfo> clusterTableFunctions(const ClusterServicePtr& service) {
    const auto remote = [&](bool secure) {
        return [service, secure](const TableFunctionRequest& request) {
            return createRemote(service, request, secure);
        };
    };
    const auto cluster = [&](bool all_replicas) {
        return [service, all_replicas](const TableFunctionRequest& request) {
            return createCluster(service, request, all_replicas);
        };
    };
    return {{.name = "remote", .create = remote(false), .case_insensitive = false},
            {.name = "remoteSecure", .create = remote(true), .case_insensitive = false},
            {.name = "cluster", .create = cluster(false), .case_insensitive = false},
            {.name = "clusterAllReplicas", .create = cluster(true), .case_insensitive = false}};
}

}  // namespace shardd::cluster
