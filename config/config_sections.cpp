#include "config/config_sections.h"

#include <algorithm>
#include <functional>
#include <set>

#include "common/base/error.h"
#include "config/known_keys.h"
#include "config/password.h"
#include "config/users.h"

namespace shardd {

namespace {

const std::vector<std::string_view>& levelWords() {
    static const std::vector<std::string_view> words{"none",   "fatal",       "critical", "error", "warning",
                                                     "notice", "information", "debug",    "trace", "test"};
    return words;
}

bool readLevel(ConfigReader& reader, std::string_view key, LogLevel& level) {
    size_t index = 0;
    if (!reader.readWord(key, levelWords(), index)) return false;
    level = static_cast<LogLevel>(std::min(index, static_cast<size_t>(LogLevel::Trace)));
    return true;
}

std::string pathJoin(std::string_view path, std::string_view key) { return fmt::format("{}.{}", path, key); }

// `node` as a map of named things, e.g. clusters; anything else is a mistake.
const std::vector<std::pair<std::string, ConfigNode>>& namedEntries(const ConfigNode* node,
                                                                    std::string_view path,
                                                                    ConfigMistakes& mistakes) {
    static const std::vector<std::pair<std::string, ConfigNode>> kNone;
    if (!node || node->isNull()) return kNone;
    if (node->isMap()) return node->entries;
    mistakes.error(node->place, path, "wanted a map from names to their contents");
    return kNone;
}

// ---- remote_servers

std::optional<ReplicaConfig> readReplica(ConfigReader reader, std::vector<std::string_view> also_known = {}) {
    ReplicaConfig replica;
    const bool has_host = reader.read("host", replica.host) && !replica.host.empty();
    if (!has_host && reader.node()) reader.error("wanted a host");
    if (reader.readPort("port", replica.port) && replica.port == 0)
        reader.error(*reader.take("port"), "port", "wanted a port from 1 to 65535, found 0");
    reader.read("secure", replica.secure);
    reader.read("user", replica.user);
    reader.read("password", replica.password);
    reader.read("default_database", replica.default_database);
    reader.readInteger("priority", replica.priority, 1, 1000000);
    reader.read("compression", replica.compression);
    reader.read("bind_host", replica.bind_host);
    reader.ignore("proto_send_chunked");
    reader.ignore("proto_recv_chunked");
    reader.finish(also_known);
    if (!has_host) return std::nullopt;
    return replica;
}

std::optional<ShardConfig> readShard(ConfigReader reader) {
    if (!reader.node()) return std::nullopt;
    ShardConfig shard;
    reader.readInteger("weight", shard.weight, 0, 1000000);
    reader.read("internal_replication", shard.internal_replication);
    reader.read("name", shard.name);
    reader.ignore("insert_distributed_one_random_shard");
    for (auto& replica_reader : reader.readMaps("replica"))
        if (auto replica = readReplica(std::move(replica_reader)))
            shard.replicas.push_back(std::move(*replica));
    if (!reader.has("replica")) reader.error("wanted at least one replica");
    reader.finish();
    return shard;
}

void warnSameReplica(const ConfigReader& reader, const ClusterConfig& cluster) {
    std::set<std::string> seen;
    for (const auto& shard : cluster.shards) {
        std::set<std::string> here;
        for (const auto& replica : shard.replicas)
            here.insert(fmt::format("{}:{}/{}", replica.host, replica.port, replica.default_database));
        for (const auto& name : here)
            if (!seen.insert(name).second)
                reader.mistakes().warn(
                    reader.place(), reader.pathOf("shard"),
                    fmt::format("{} stands in two shards: its rows will be counted twice", name));
    }
}

// ---- profiles

class ProfileReader {
public:
    ProfileReader(const ConfigNode* node, Config& config, ConfigMistakes& mistakes)
        : config_(config), mistakes_(mistakes), entries_(namedEntries(node, "profiles", mistakes)) {}

    void readAll() {
        for (const auto& [name, node] : entries_) read(name, node);
        if (!config_.profiles.contains("default")) config_.profiles["default"].name = "default";
    }

private:
    const ProfileConfig* read(const std::string& name, const ConfigNode& node) {
        if (const auto found = config_.profiles.find(name); found != config_.profiles.end())
            return &found->second;
        const std::string path = pathJoin("profiles", name);
        if (!open_.insert(name).second) {
            mistakes_.error(node.place, path, "the profile inherits from itself");
            return nullptr;
        }
        ProfileConfig profile;
        profile.name = name;
        ConfigReader reader(&node, path, mistakes_);
        for (const auto& parent : reader.readStrings("profile")) inherit(reader, parent, profile);
        readConstraints(reader.section("constraints"), profile.constraints);
        for (const auto& [key, value] : reader.unread()) readSetting(reader, key, *value, profile.settings);
        open_.erase(name);
        return &(config_.profiles[name] = std::move(profile));
    }

    void inherit(ConfigReader& reader, const std::string& parent, ProfileConfig& profile) {
        const auto found = std::find_if(entries_.begin(), entries_.end(),
                                        [&](const auto& entry) { return entry.first == parent; });
        if (found == entries_.end()) {
            std::vector<std::string_view> names;
            for (const auto& entry : entries_) names.push_back(entry.first);
            return reader.error(*reader.take("profile"), "profile",
                                fmt::format("there is no profile {}{}", parent, nearestHint(parent, names)));
        }
        if (const ProfileConfig* from = read(parent, found->second)) {
            profile.settings.merge(from->settings);
            profile.constraints.merge(from->constraints);
        }
    }

    bool isCustom(std::string_view name) const {
        return std::any_of(
            config_.custom_settings_prefixes.begin(), config_.custom_settings_prefixes.end(),
            [name](const auto& prefix) { return !prefix.empty() && name.starts_with(prefix); });
    }

    void readSetting(ConfigReader& reader,
                     const std::string& name,
                     const ConfigNode& node,
                     Settings& settings) {
        if (!node.isScalar() && !node.isNull())
            return reader.error(node, name, "wanted the value of a setting, found more than one");
        if (isOctalTrap(node))
            return reader.error(
                node, name,
                fmt::format("{} is octal in YAML and decimal elsewhere: write it without the leading zero",
                            node.text));
        if (!Settings::knows(name) && isCustom(name)) return settings.setCustom(name, node.text);
        try {
            settings.set(name, node.text);
        } catch (const Error& error) {
            reader.error(node, name, error.message());
        }
    }

    void readConstraints(ConfigReader reader, SettingConstraints& constraints) {
        for (const auto& [name, node] : reader.unread()) {
            if (!Settings::knows(name) && !isCustom(name)) {
                std::vector<std::string_view> names;
                for (const auto& info : settingList()) names.push_back(info.name);
                reader.error(*node, name, "unknown setting" + nearestHint(name, names));
                continue;
            }
            if (Settings::knows(name))
                constraints.add(name,
                                readConstraint(ConfigReader(node, reader.pathOf(name), mistakes_), name));
        }
    }

    SettingConstraint readConstraint(ConfigReader reader, std::string_view setting) {
        SettingConstraint constraint;
        const auto bound = [&](std::string_view key, std::optional<std::string>& target) {
            std::string text;
            if (!reader.read(key, text)) return;
            try {
                Settings scratch;
                scratch.set(setting, text);
                target = scratch.get(setting);
            } catch (const Error& error) {
                reader.error(*reader.take(key), key, error.message());
            }
        };
        bound("min", constraint.min);
        bound("max", constraint.max);
        for (const std::string_view key : {"readonly", "const"}) constraint.is_const |= flag(reader, key);
        constraint.changeable_in_readonly = flag(reader, "changeable_in_readonly");
        flag(reader, "writable");
        if (constraint.is_const && constraint.changeable_in_readonly)
            reader.error("const and changeable_in_readonly exclude each other");
        reader.finish();
        return constraint;
    }

    // `readonly:` without a value says yes, as an empty element does in XML.
    static bool flag(ConfigReader& reader, std::string_view key) {
        const ConfigNode* node = reader.take(key);
        if (!node) return false;
        if (node->isNull()) return true;
        bool value = false;
        reader.read(key, value);
        return value;
    }

    Config& config_;
    ConfigMistakes& mistakes_;
    const std::vector<std::pair<std::string, ConfigNode>>& entries_;
    std::set<std::string> open_;
};

// ---- users

void readHash(
    ConfigReader& reader, std::string_view key, Credential::Kind kind, size_t bytes, Credential& credential) {
    std::string text;
    if (!reader.read(key, text)) return;
    credential = {kind, fromHex(text, bytes)};
    if (credential.hash.empty())
        reader.error(*reader.take(key), key, fmt::format("wanted {} hexadecimal digits", bytes * 2));
}

void readCredential(ConfigReader& reader, Credential& credential) {
    size_t ways = 0;
    for (const std::string_view key :
         {"password", "password_sha256_hex", "password_double_sha1_hex", "no_password"})
        ways += reader.has(key) ? 1 : 0;
    for (const std::string_view key : {"ssh_keys", "ssl_certificates", "ldap", "kerberos",
                                       "http_authentication", "password_scram_sha256_hex", "jwt"}) {
        if (const ConfigNode* node = reader.take(key)) {
            reader.error(*node, key, "this way to log in is not offered: give password_sha256_hex");
            ++ways;
        }
    }
    std::string password;
    if (reader.read("password", password)) credential = {Credential::Kind::Sha256, sha256(password)};
    readHash(reader, "password_sha256_hex", Credential::Kind::Sha256, 32, credential);
    readHash(reader, "password_double_sha1_hex", Credential::Kind::DoubleSha1, 20, credential);
    if (reader.take("no_password")) credential = {};
    if (!reader.node() || ways == 1) return;
    reader.error(
        ways == 0
            ? "wanted one of password, password_sha256_hex, password_double_sha1_hex, no_password"
            : "wanted only one of password, password_sha256_hex, password_double_sha1_hex, no_password");
}

void readNetworks(ConfigReader& reader, UserConfig& user) {
    if (!reader.has("networks")) return;
    ConfigReader networks = reader.section("networks");
    user.any_network = false;
    for (const auto& ip : networks.readStrings("ip")) {
        if (isNetwork(ip))
            user.networks.push_back(ip);
        else
            networks.error(*networks.take("ip"), "ip",
                           fmt::format("wanted an address or a CIDR such as 10.0.0.0/8, found '{}'", ip));
    }
    user.hosts = networks.readStrings("host");
    if (const ConfigNode* node = networks.take("host_regexp"))
        networks.error(*node, "host_regexp", "not offered: list the names under host, or networks under ip");
    networks.finish();
}

void readUser(ConfigReader reader, UserConfig& user, const Config& config) {
    readCredential(reader, user.credential);
    readNetworks(reader, user);
    if (reader.read("profile", user.profile) && !config.profiles.contains(user.profile)) {
        std::vector<std::string_view> names;
        for (const auto& entry : config.profiles) names.push_back(entry.first);
        reader.error(*reader.take("profile"), "profile",
                     fmt::format("there is no profile {}{}", user.profile, nearestHint(user.profile, names)));
    }
    reader.read("quota", user.quota);
    reader.read("default_database", user.default_database);
    reader.read("access_management", user.access_management);
    if (reader.has("allow_databases"))
        user.allow_databases = reader.section("allow_databases").readStrings("database");
    // Dropping one of these in silence would give more rights than were written down.
    for (const std::string_view key : {"databases", "grants", "allow_dictionaries", "roles"})
        if (const ConfigNode* node = reader.take(key))
            reader.error(*node, key, "rights of single tables and rows are not kept here: remove it");
    for (const std::string_view key :
         {"named_collection_control", "show_named_collections", "show_named_collections_secrets",
          "named_collection_admin", "access_management_with_grant_option",
          "display_secrets_in_show_and_select"})
        reader.ignore(key);
    reader.finish();
}

}  // namespace

std::string_view logLevelName(LogLevel level) { return levelWords()[static_cast<size_t>(level)]; }

void readLogger(ConfigReader reader, LoggerConfig& logger) {
    readLevel(reader, "level", logger.level);
    reader.read("log", logger.log);
    reader.read("errorlog", logger.errorlog);
    reader.readSize("size", logger.size_bytes);
    reader.readInteger("count", logger.count, 0, 10000);
    reader.read("console", logger.console);
    ConfigReader levels = reader.section("levels");
    for (auto& entry : levels.readMaps("logger")) {
        std::string name;
        LogLevel level = LogLevel::Information;
        if (entry.read("name", name) && readLevel(entry, "level", level)) logger.levels[name] = level;
        entry.finish();
    }
    for (const auto& [name, node] : levels.unread()) {
        LogLevel level = LogLevel::Information;
        if (readLevel(levels, name, level)) logger.levels[name] = level;
    }
    for (const std::string_view key :
         {"formatting", "use_syslog", "syslog", "syslog_level", "stream_compress", "async",
          "async_queye_max_size", "async_queue_max_size", "rotation", "console_log_level", "startup_level",
          "shutdown_level", "errorlog_level", "log_level", "compress", "startup_console_level"})
        reader.ignore(key);
    reader.finish();
}

void readMacros(const ConfigNode* node, Config& config, ConfigMistakes& mistakes) {
    for (const auto& [name, value] : namedEntries(node, "macros", mistakes)) {
        if (value.isScalar() || value.isNull())
            config.macros[name] = value.text;
        else
            mistakes.error(value.place, pathJoin("macros", name), "wanted a text");
    }
}

void readClusters(const ConfigNode* node, Config& config, ConfigMistakes& mistakes) {
    for (const auto& [name, content] : namedEntries(node, "remote_servers", mistakes)) {
        ConfigReader reader(&content, pathJoin("remote_servers", name), mistakes);
        ClusterConfig cluster;
        cluster.name = name;
        reader.read("secret", cluster.secret);
        reader.ignore("allow_distributed_ddl_queries");
        for (auto& shard_reader : reader.readMaps("shard"))
            if (auto shard = readShard(std::move(shard_reader))) cluster.shards.push_back(std::move(*shard));
        for (auto& node_reader : reader.readMaps("node"))
            if (auto replica = readReplica(std::move(node_reader))) {
                ShardConfig shard;
                shard.replicas.push_back(std::move(*replica));
                cluster.shards.push_back(std::move(shard));
            }
        if (const ConfigNode* discovery = reader.take("discovery"))
            reader.error(*discovery, "discovery",
                         "needs ZooKeeper, which is not used here: list the shards, or see shardd.bootstrap");
        else if (reader.node() && !reader.has("shard") && !reader.has("node"))
            reader.error("wanted at least one shard or node");
        reader.finish();
        warnSameReplica(reader, cluster);
        config.clusters[name] = std::move(cluster);
    }
}

void readProfiles(const ConfigNode* node, Config& config, ConfigMistakes& mistakes) {
    ProfileReader(node, config, mistakes).readAll();
}

void readUsers(const ConfigNode* node, Config& config, ConfigMistakes& mistakes) {
    for (const auto& [name, content] : namedEntries(node, "users", mistakes)) {
        UserConfig user;
        user.name = name;
        readUser(ConfigReader(&content, pathJoin("users", name), mistakes), user, config);
        config.users[name] = std::move(user);
    }
    if (!config.users.empty()) return;
    // Nobody is configured: as ClickHouse's own files, but for this machine only.
    UserConfig user;
    user.name = "default";
    user.any_network = false;
    user.networks = {"::1", "127.0.0.0/8"};
    user.credential = {Credential::Kind::Sha256, sha256("")};
    config.users["default"] = std::move(user);
}

void readQuotas(const ConfigNode* node, ConfigMistakes& mistakes) {
    bool limits = false;
    for (const auto& [name, content] : namedEntries(node, "quotas", mistakes)) {
        ConfigReader reader(&content, pathJoin("quotas", name), mistakes);
        for (auto& interval : reader.readMaps("interval")) {
            uint64_t number = 0;
            for (const std::string_view key :
                 {"duration", "queries", "query_selects", "query_inserts", "errors", "result_rows",
                  "result_bytes", "read_rows", "read_bytes", "execution_time", "written_bytes",
                  "failed_sequential_authentications", "queries_per_normalized_hash"})
                limits |= interval.readInteger(key, number) && number > 0 && key != "duration";
            bool randomize = false;
            interval.read("randomize", randomize);
            interval.finish();
        }
        for (const std::string_view key :
             {"keyed", "keyed_by_ip", "keyed_by_forwarded_ip", "ipv4_prefix_bits", "ipv6_prefix_bits"})
            reader.take(key);
        reader.finish();
    }
    if (limits) mistakes.warn(node->place, "quotas", "read, but no limit of a quota is kept yet");
}

void readShardd(ConfigReader reader, ShardDaemonConfig& shardd) {
    reader.readSize("decoded_cache_size", shardd.decoded_cache_size_bytes);
    reader.read("decoded_cache_size_to_ram_ratio", shardd.decoded_cache_size_to_ram_ratio, 0, 1);
    reader.readInteger("worker_threads", shardd.worker_threads, 0, 4096);
    reader.readInteger("network_threads", shardd.network_threads, 1, 64);
    reader.read("fsync_after_insert", shardd.fsync_after_insert);
    readBootstrap(reader.section("bootstrap"), shardd.bootstrap);
    reader.finish();
}

}  // namespace shardd
