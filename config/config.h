#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/bootstrap_config.h"
#include "config/constraints.h"
#include "config/settings.h"

namespace shardd {

enum class LogLevel : uint8_t { None, Fatal, Critical, Error, Warning, Notice, Information, Debug, Trace };

struct LoggerConfig {
    LogLevel level = LogLevel::Information;
    std::string log;       ///< path, empty for none
    std::string errorlog;  ///< path for warnings and worse, empty for none
    uint64_t size_bytes = 1000ULL * 1000 * 1000;
    uint64_t count = 10;  ///< rotated files kept beside the current one
    bool console = false;
    std::map<std::string, LogLevel> levels;  ///< of single layers, by their logger's name
};

/// One server that holds a shard's data.
struct ReplicaConfig {
    std::string host;
    uint16_t port = 9000;
    bool secure = false;
    std::string user = "default";
    std::string password;
    std::string default_database;
    uint64_t priority = 1;  ///< the lowest is tried first
    bool compression = true;
    std::string bind_host;

    bool operator==(const ReplicaConfig&) const = default;
};

struct ShardConfig {
    std::string name;
    uint64_t weight = 1;
    bool internal_replication = false;
    std::vector<ReplicaConfig> replicas;

    bool operator==(const ShardConfig&) const = default;
};

struct ClusterConfig {
    std::string name;
    std::string secret;  ///< empty: users of the replicas are used
    std::vector<ShardConfig> shards;

    bool operator==(const ClusterConfig&) const = default;
};

/// One side of `openSSL:`: `server` for those who come, `client` for replicas with `secure: 1`.
struct TlsConfig {
    enum class Verification : uint8_t { None, Relaxed, Strict, Once };

    std::string certificate_file;
    std::string private_key_file;
    std::string private_key_password;
    std::string ca_config;  ///< a file or a folder of certificates that are believed
    bool load_default_ca_file = true;
    Verification verification_mode = Verification::Relaxed;
    uint64_t verification_depth = 9;
    bool extended_verification = false;          ///< the certificate must be for the host asked
    bool accepts_invalid_certificate = false;    ///< invalidCertificateHandler: AcceptCertificateHandler
    std::string cipher_list;
    bool prefer_server_ciphers = false;
    std::string dh_params_file;
    std::vector<std::string> disable_protocols;  ///< sslv2, sslv3, tlsv1, tlsv1_1, tlsv1_2, tlsv1_3
};

/// How a user proves who they are. Passwords are kept as hashes only.
struct Credential {
    enum class Kind : uint8_t { NoPassword, Sha256, DoubleSha1 };

    Kind kind = Kind::NoPassword;
    std::string hash;  ///< raw bytes: 32 or 20
};

struct UserConfig {
    std::string name;
    Credential credential;
    bool any_network = true;            ///< no `networks` section
    std::vector<std::string> networks;  ///< addresses and CIDR
    std::vector<std::string> hosts;     ///< names, resolved when they are needed
    std::string profile = "default";
    std::string quota = "default";
    std::string default_database;
    std::vector<std::string> allow_databases;  ///< empty: all
    bool access_management = false;
};

/// A profile with everything that it inherits.
struct ProfileConfig {
    std::string name;
    Settings settings;
    SettingConstraints constraints;
};

/// Our own section, `shardd:`.
struct ShardDaemonConfig {
    uint64_t decoded_cache_size_bytes = 0;  ///< 0: a share of the memory
    double decoded_cache_size_to_ram_ratio = 0.25;
    uint64_t worker_threads = 0;  ///< 0: one a core
    uint64_t network_threads = 2;
    bool fsync_after_insert = true;
    BootstrapConfig bootstrap;
    BootstrapPlan bootstrap_plan;  ///< of this process, from the section and the environment
};

struct Config {
    std::string file;  ///< the main file, empty for built-in defaults
    LoggerConfig logger;
    std::string display_name;
    std::vector<std::string> listen_host{"::1", "127.0.0.1"};
    bool listen_try = false;
    bool listen_reuse_port = false;
    uint64_t listen_backlog = 4096;
    std::optional<uint16_t> tcp_port = 9000;
    std::optional<uint16_t> tcp_port_secure;
    TlsConfig tls_server;
    TlsConfig tls_client;
    std::optional<uint16_t> http_port;
    std::string path = "./";
    std::string tmp_path;  ///< empty: `tmp/` inside `path`
    std::string pid_file;
    std::string timezone;  ///< empty: the system's
    std::string default_profile = "default";
    std::string default_database = "default";
    std::vector<std::string> custom_settings_prefixes;
    uint64_t max_connections = 4096;
    uint64_t max_concurrent_queries = 0;  ///< 0: no limit
    uint64_t max_concurrent_select_queries = 0;
    uint64_t max_server_memory_usage = 0;  ///< 0: by the ratio
    double max_server_memory_usage_to_ram_ratio = 0.9;
    uint64_t max_thread_pool_size = 10000;
    uint64_t mark_cache_size = 5ULL << 30;
    uint64_t uncompressed_cache_size = 0;
    uint64_t max_table_size_to_drop = 50'000'000'000;
    int64_t shutdown_wait_unfinished_us = 5'000'000;
    bool shutdown_wait_unfinished_queries = false;
    int64_t keep_alive_timeout_us = 30'000'000;
    ShardDaemonConfig shardd;

    std::map<std::string, std::string> macros;
    std::map<std::string, ClusterConfig> clusters;
    std::map<std::string, ProfileConfig> profiles;  ///< always has "default"
    std::map<std::string, UserConfig> users;        ///< always has at least one

    std::vector<std::string> warnings;

    /// Bytes the server may take, from the two settings and the machine's memory.
    uint64_t serverMemoryLimit() const;
};

struct ConfigOverride {
    std::string path;  ///< "logger.level"
    std::string value;
};

/// Reads the main file, what is merged into it, and the users.
/// Errors: INVALID_CONFIG_PARAMETER; the message holds every mistake, one a line, each with file:line:column.
Config loadConfig(const std::string& file, const std::vector<ConfigOverride>& overrides = {});

/// The same from text, without other files: `file` is only the name told in mistakes.
Config parseConfig(const std::string& text,
                   const std::string& file,
                   const std::vector<ConfigOverride>& overrides = {});

/// Everything found, for `check-config`: mistakes and warnings, each a line.
struct ConfigReport {
    std::vector<std::string> errors;
    std::vector<std::string> warnings;
};

ConfigReport checkConfig(const std::string& file, const std::vector<ConfigOverride>& overrides = {});

/// "--key.sub=value" to its parts; nothing when it has another form.
std::optional<ConfigOverride> parseOverride(std::string_view argument);

std::string_view logLevelName(LogLevel level);

}  // namespace shardd
