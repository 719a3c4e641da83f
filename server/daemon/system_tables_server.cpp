#include <fstream>
#include <set>
#include <sstream>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/statvfs.h>

#include "common/types/type_list.h"
#include "config/known_keys.h"
#include "config/users.h"
#include "server/aggregates/aggregate_list.h"
#include "server/cluster/replica_choice.h"
#include "server/daemon/system_tables.h"
#include "server/exec/group_spill.h"
#include "server/functions/function_list.h"

/// The system tables that show the server itself.
namespace shardd::daemon {

namespace {

// The settings of the query that asks, with what its user's profile allows.
SystemRows settings(const SystemSources& sources) {
    const RunningQueryPtr query = sources.processes->current();
    const Settings current = query ? query->currentSettings() : Settings();
    const SettingConstraints constraints =
        query && query->account ? query->account->constraints : SettingConstraints();
    SystemRows rows;
    for (const SettingInfo& info : settingList()) {
        SystemRow row;
        row.set("name", info.name);
        row.set("value", current.get(info.name));
        row.setNumber("changed", current.isChanged(info.name));
        if (const SettingConstraint* constraint = constraints.find(info.name)) {
            if (constraint->min) row.set("min", *constraint->min);
            if (constraint->max) row.set("max", *constraint->max);
        }
        row.setNumber("readonly", constraints.isReadonly(current, info.name));
        row.set("type", info.type);
        row.set("default", info.defaultText());
        row.set("alias_for", info.alias_for);
        row.setNumber("is_obsolete", info.isObsolete());
        row.setSigned("tier", static_cast<int64_t>(info.tier));
        rows.push_back(std::move(row));
    }
    return rows;
}

SystemRows serverSettings(const SystemSources&) {
    SystemRows rows;
    for (const KnownSetting& info : serverSettingList()) {
        SystemRow row;
        row.set("name", info.name);
        row.set("value", info.default_text);
        row.set("default", info.default_text);
        row.set("type", info.type);
        rows.push_back(std::move(row));
    }
    return rows;
}

SystemRows mergeTreeSettings(const SystemSources&) {
    SystemRows rows;
    for (const KnownSetting& info : mergeTreeSettingList()) {
        constexpr std::pair<std::string_view, int64_t> kTiers[] = {
            {"Obsolete", 4}, {"Experimental", 8}, {"Beta", 12}};
        SystemRow row;
        row.set("name", info.name);
        row.set("value", info.default_text);
        row.set("default", info.default_text);
        row.set("type", info.type);
        row.setNumber("is_obsolete", info.is_obsolete);
        for (const auto& [name, number] : kTiers)
            if (info.tier == name) row.setSigned("tier", number);
        rows.push_back(std::move(row));
    }
    return rows;
}

SystemRow functionRow(std::string_view name,
                      bool is_aggregate,
                      bool case_insensitive,
                      std::string_view alias_to) {
    SystemRow row;
    row.set("name", name);
    row.setNumber("is_aggregate", is_aggregate);
    row.setNumber("case_insensitive", case_insensitive);
    row.set("alias_to", alias_to);
    row.setSigned("origin", 0);
    return row;
}

template <typename Infos>
void addFunctions(SystemRows& rows, const Infos& infos, bool is_aggregate) {
    for (const auto& info : infos) {
        SystemRow row = functionRow(info.name, is_aggregate, info.case_insensitive, "");
        row.set("syntax", info.syntax);
        row.set("description", info.description);
        if (!info.example.empty())
            row.set("examples",
                    "SELECT " + std::string(info.example) + " -- " + std::string(info.example_result));
        rows.push_back(std::move(row));
    }
}

SystemRows functionRows(const SystemSources&) {
    SystemRows rows;
    addFunctions(rows, functions::allFunctions(), false);
    for (const auto& alias : functions::allFunctionAliases())
        rows.push_back(functionRow(alias.alias, false, alias.case_insensitive, alias.name));
    addFunctions(rows, aggregates::allAggregates(), true);
    for (const auto& alias : aggregates::allAggregateAliases())
        rows.push_back(functionRow(alias.alias, true, alias.case_insensitive, alias.name));
    return rows;
}

SystemRows combinators(const SystemSources&) {
    SystemRows rows;
    for (const std::string_view name : aggregates::allCombinators()) {
        SystemRow row;
        row.set("name", name);
        rows.push_back(std::move(row));
    }
    return rows;
}

SystemRows dataTypeFamilies(const SystemSources&) {
    SystemRows rows;
    for (const TypeFamily& family : shardd::typeFamilies()) {
        SystemRow row;
        row.set("name", family.name);
        row.setNumber("case_insensitive", family.case_insensitive);
        row.set("alias_to", family.alias_of);
        rows.push_back(std::move(row));
    }
    return rows;
}

SystemRows keywords(const SystemSources&) {
    constexpr std::string_view kKeywords[] = {
#define KEYWORD(text) text,
#include "server/daemon/keywords_list.inc"
#undef KEYWORD
    };
    SystemRows rows;
    for (const std::string_view keyword : kKeywords) {
        SystemRow row;
        row.set("keyword", keyword);
        rows.push_back(std::move(row));
    }
    return rows;
}

SystemRows macros(const SystemSources& sources) {
    SystemRows rows;
    for (const auto& [name, value] : sources.config()->macros) {
        SystemRow row;
        row.set("macro", name);
        row.set("substitution", value);
        rows.push_back(std::move(row));
    }
    return rows;
}

// The address of a host; empty when nobody knows it. Names are looked up, as ClickHouse does for this table.
std::string addressOf(const std::string& host) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return "";
    char text[INET6_ADDRSTRLEN] = "";
    const void* raw =
        found->ai_family == AF_INET6
            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(found->ai_addr)->sin6_addr)
            : static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr);
    inet_ntop(found->ai_family, raw, text, sizeof(text));
    freeaddrinfo(found);
    return text;
}

SystemRow clusterRow(const cluster::Cluster& cluster,
                     const cluster::Shard& shard,
                     const cluster::Replica& replica,
                     std::chrono::seconds half_life) {
    const ReplicaConfig& config = replica.config();
    const std::string address = addressOf(config.host);
    const cluster::ReplicaHealth::Counts counts = replica.health().counts(half_life);
    SystemRow row;
    row.set("cluster", cluster.name);
    row.setNumber("shard_num", shard.number);
    row.set("shard_name", shard.name);
    row.setNumber("shard_weight", shard.weight);
    row.setNumber("internal_replication", shard.internal_replication);
    row.set("host_name", config.host);
    row.set("host_address", address);
    row.setNumber("port", config.port);
    row.setNumber("is_local", replica.isLocal());
    row.set("user", config.user);
    row.set("default_database", config.default_database);
    row.setNumber("errors_count", counts.errors);
    row.setNumber("slowdowns_count", counts.slowdowns);
    row.setNumber("estimated_recovery_time", counts.recovery.count());
    if (const auto active = replica.isActive()) row.setNumber("is_active", *active);
    return row;
}

SystemRows clusters(const SystemSources& sources) {
    SystemRows rows;
    const RunningQueryPtr query = sources.processes->current();
    const std::chrono::seconds half_life =
        cluster::errorHalfLife(query ? query->currentSettings() : Settings());
    for (const cluster::ClusterPtr& cluster : sources.clusters()) {
        for (const cluster::Shard& shard : cluster->shards) {
            uint64_t replica_number = 0;
            for (const auto& replica : shard.replicas) {
                rows.push_back(clusterRow(*cluster, shard, *replica, half_life));
                rows.back().setNumber("replica_num", ++replica_number);
            }
        }
    }
    return rows;
}

// "192.0.2.1:40000" or "[::1]:40000" as the 16 bytes of an IPv6 and a port.
void setAddress(SystemRow& row, const std::string& prefix, std::string_view address) {
    const size_t colon = address.rfind(':');
    if (colon == std::string_view::npos) return;
    uint64_t port = 0;
    for (const char digit : address.substr(colon + 1)) port = port * 10 + static_cast<uint64_t>(digit - '0');
    std::string host(address.substr(0, colon));
    if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
    std::string bytes(16, '\0');
    if (inet_pton(AF_INET, host.c_str(), bytes.data() + 12) == 1) {
        bytes[10] = bytes[11] = '\xff';
    } else if (inet_pton(AF_INET6, host.c_str(), bytes.data()) != 1) {
        return;
    }
    row.set(prefix + "address", Value(std::move(bytes)));
    row.setNumber(prefix + "port", port);
}

SystemRow processRow(const RunningQuery& query) {
    const protocol::ClientInfo& client = query.client_info;
    SystemRow row;
    row.setNumber("is_initial_query", client.kind != protocol::QueryKind::Secondary);
    row.set("user", query.user);
    row.set("query_id", query.query_id);
    row.set("query", query.text);
    row.set("current_database", query.database);
    setAddress(row, "", query.peer_address);
    setAddress(row, "initial_", client.initial_address);
    row.set("initial_user", client.initial_user);
    row.set("initial_query_id", client.initial_query_id);
    row.setNumber("interface", client.client_interface);
    row.set("os_user", client.os_user);
    row.set("client_hostname", client.host_name);
    row.set("client_name", client.client_name);
    row.setNumber("client_revision", client.revision);
    row.setNumber("client_version_major", client.version_major);
    row.setNumber("client_version_minor", client.version_minor);
    row.setNumber("client_version_patch", client.version_patch);
    row.set("quota_key", client.quota_key);
    row.setNumber("distributed_depth", client.distributed_depth);
    row.setFloat("elapsed",
                 std::chrono::duration<double>(std::chrono::steady_clock::now() - query.started).count());
    row.setNumber("is_cancelled", query.is_cancelled.load());
    row.setNumber("memory_usage", query.memory ? query.memory->usedBytes() : 0);
    row.setSigned("peak_memory_usage", query.memory ? static_cast<int64_t>(query.memory->peakBytes()) : 0);
    if (query.channel) {
        row.setNumber("read_rows", query.channel->progress.rows);
        row.setNumber("read_bytes", query.channel->progress.bytes);
        row.setNumber("total_rows_approx", query.channel->progress.total_rows);
        row.setNumber("written_rows", query.channel->progress.written_rows);
        row.setNumber("written_bytes", query.channel->progress.written_bytes);
    }
    return row;
}

SystemRows processes(const SystemSources& sources) {
    SystemRows rows;
    for (const RunningQueryPtr& query : sources.processes->all()) rows.push_back(processRow(*query));
    return rows;
}

SystemRows buildOptions(const SystemSources& sources) {
    const std::pair<const char*, std::string> options[] = {
        {"VERSION_STRING", sources.version}, {"SYSTEM", "Linux"},
        {"BUILD_TYPE", "Release"},           {"CXX_COMPILER_VERSION", __VERSION__},
        {"VERSION_DESCRIBE", "shardd"},
    };
    SystemRows rows;
    for (const auto& [name, value] : options) {
        SystemRow row;
        row.set("name", name);
        row.set("value", value);
        rows.push_back(std::move(row));
    }
    return rows;
}

SystemRows warnings(const SystemSources& sources) {
    SystemRows rows;
    for (const auto& warning : sources.config()->warnings) {
        SystemRow row;
        row.set("message", warning);
        row.set("message_format_string", "");
        rows.push_back(std::move(row));
    }
    return rows;
}

SystemRows errors(const SystemSources&) { return {}; }

SystemRows users(const SystemSources& sources) {
    SystemRows rows;
    for (const auto& [name, user] : sources.config()->users) {
        constexpr int64_t kAuthentication[] = {
            0, 2, 3};  // of the Enum8: no_password, sha256_password, double_sha1_password
        SystemRow row;
        row.set("name", name);
        row.set("storage", "users_xml");
        ArrayValue kinds;
        kinds.elements.emplace_back(kAuthentication[static_cast<size_t>(user.credential.kind)]);
        row.set("auth_type", Value(std::move(kinds)));
        row.set("auth_params", std::vector<std::string>{"{}"});
        row.set("host_ip", user.any_network ? std::vector<std::string>{"::/0"} : user.networks);
        row.set("host_names", user.hosts);
        row.setNumber("grantees_any", 1);
        row.setNumber("default_roles_all", 1);
        row.set("default_database", user.default_database);
        rows.push_back(std::move(row));
    }
    return rows;
}

SystemRows profiles(const SystemSources& sources) {
    SystemRows rows;
    for (const auto& [name, profile] : sources.config()->profiles) {
        SystemRow row;
        row.set("name", name);
        row.set("storage", "users_xml");
        row.setNumber("num_elements", profile.settings.changed().size());
        rows.push_back(std::move(row));
    }
    return rows;
}

SystemRows disks(const SystemSources& sources) {
    struct statvfs space {};

    ::statvfs(sources.path.c_str(), &space);
    SystemRow row;
    row.set("name", "default");
    row.set("path", sources.path + "/");
    row.setNumber("free_space", space.f_bavail * space.f_frsize);
    row.setNumber("total_space", space.f_blocks * space.f_frsize);
    row.setNumber("unreserved_space", space.f_bavail * space.f_frsize);
    row.set("type", "Local");
    row.set("object_storage_type", "None");
    row.set("metadata_type", "None");
    return {row};
}

SystemRows storagePolicies(const SystemSources&) {
    SystemRow row;
    row.set("policy_name", "default");
    row.set("volume_name", "default");
    row.setNumber("volume_priority", 1);
    row.set("disks", std::vector<std::string>{"default"});
    row.setNumber("perform_ttl_move_on_insert", 1);
    return {row};
}

SystemRows timeZones(const SystemSources&) {
    // "Z Europe/Berlin …" defines a zone, "L target alias" gives another name.
    std::ifstream file("/usr/share/zoneinfo/tzdata.zi");
    std::set<std::string> names{"UTC"};
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string kind, first, second;
        words >> kind >> first >> second;
        if (kind == "Z") names.insert(first);
        if (kind == "L") names.insert(second);
    }
    SystemRows rows;
    for (const auto& name : names) {
        SystemRow row;
        row.set("time_zone", name);
        rows.push_back(std::move(row));
    }
    return rows;
}

SystemRows metrics(const SystemSources& sources) {
    SystemRows rows;
    const auto add = [&](std::string_view metric, uint64_t value, std::string_view description) {
        SystemRow row;
        row.set("metric", metric);
        row.setSigned("value", static_cast<int64_t>(value));
        row.set("description", description);
        rows.push_back(std::move(row));
    };
    add("Query", sources.processes->size(), "Number of executing queries");
    add("TemporaryFilesForAggregation", exec::TemporaryFile::count(),
        "Files on the disk that hold groups of GROUP BY");
    add("MemoryTracking", sources.memory->usedBytes(), "Bytes of memory taken by queries and caches");
    return rows;
}

SystemRows events(const SystemSources&) {
    SystemRows rows;
    const auto add = [&](std::string_view event, uint64_t value, std::string_view description) {
        if (value == 0) return;
        SystemRow row;
        row.set("event", event);
        row.setNumber("value", value);
        row.set("description", description);
        rows.push_back(std::move(row));
    };
    const exec::ExternalAggregationCounters& external = exec::externalAggregationCounters();
    add("ExternalAggregationWritePart", external.written_parts.load(),
        "How often a worker put its groups on the disk");
    add("ExternalAggregationMerge", external.merges.load(), "GROUP BYs that read groups back from the disk");
    add("ExternalAggregationCompressedBytes", external.file_bytes.load(),
        "Bytes written to the disk for GROUP BY");
    add("ExternalAggregationUncompressedBytes", external.data_bytes.load(), "The same before compression");
    return rows;
}

SystemRows asynchronousMetrics(const SystemSources& sources) {
    SystemRow uptime;
    uptime.set("metric", "Uptime");
    uptime.setFloat(
        "value", std::chrono::duration<double>(std::chrono::steady_clock::now() - sources.started).count());
    uptime.set("description", "Seconds since the start");
    return {uptime};
}

SystemRows userDirectories(const SystemSources& sources) {
    SystemRow row;
    row.set("name", "users_xml");
    row.set("type", "users_xml");
    row.set("params", "{\"path\":\"" + sources.config()->file + "\"}");
    row.setNumber("precedence", 1);
    return {row};
}

}  // namespace

std::vector<SystemTableFiller> serverFillers() {
    return {
        {"settings", settings},
        {"server_settings", serverSettings},
        {"merge_tree_settings", mergeTreeSettings},
        {"functions", functionRows},
        {"aggregate_function_combinators", combinators},
        {"data_type_families", dataTypeFamilies},
        {"keywords", keywords},
        {"macros", macros},
        {"clusters", clusters},
        {"processes", processes},
        {"build_options", buildOptions},
        {"warnings", warnings},
        {"errors", errors},
        {"users", users},
        {"settings_profiles", profiles},
        {"disks", disks},
        {"storage_policies", storagePolicies},
        {"time_zones", timeZones},
        {"metrics", metrics},
        {"events", events},
        {"asynchronous_metrics", asynchronousMetrics},
        {"user_directories", userDirectories},
    };
}

}  // namespace shardd::daemon
