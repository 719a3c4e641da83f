#include "config/known_keys.h"

#include <algorithm>

namespace shardd {

namespace {

// Sections and keys of a server that system.server_settings does not list.
constexpr std::string_view kSections[] = {
    "access_control_improvements",
    "access_control_path",
    "aggregated_zookeeper_log",
    "allow_experimental_cluster_discovery",
    "allow_no_password",
    "allow_plaintext_password",
    "asynchronous_insert_log",
    "asynchronous_metric_log",
    "auxiliary_zookeepers",
    "azure",
    "background_schedule_pool_log",
    "backup_log",
    "backups",
    "bcrypt_workfactor",
    "blob_storage_log",
    "builtin_dictionaries_reload_interval",
    "cloud",
    "compression",
    "core_dump",
    "core_path",
    "crash_log",
    "custom_cached_disks_base_directory",
    "database_catalog",
    "dashboards",
    "dead_letter_queue",
    "default_password_type",
    "default_replica_name",
    "default_replica_path",
    "dictionaries_config",
    "distributed_ddl",
    "encryption_codecs",
    "error_log",
    "executable_user_defined_functions_config",
    "filesystem_cache_log",
    "filesystem_caches",
    "filesystem_read_prefetches_log",
    "format_schema_path",
    "graphite_rollup",
    "graphite_rollup_example",
    "grpc",
    "grpc_port",
    "hdfs",
    "hsts_max_age",
    "http_handlers",
    "http_options_response",
    "http_server_default_response",
    "https_port",
    "include_from",
    "instrumentation_trace_log",
    "interserver_http_credentials",
    "interserver_http_host",
    "interserver_http_port",
    "interserver_https_port",
    "interserver_listen_host",
    "jemalloc_enable_global_profiler",
    "kafka",
    "keeper_server",
    "kerberos",
    "latency_log",
    "ldap_servers",
    "mark_cache_policy",
    "merge_tree",
    "metric_log",
    "mlock_executable",
    "mysql_port",
    "named_collections",
    "named_collections_storage",
    "nats",
    "openSSL",
    "opentelemetry_span_log",
    "part_log",
    "password_complexity",
    "postgresql_port",
    "processors_profile_log",
    "prometheus",
    "protocols",
    "proxy",
    "query_cache",
    "query_log",
    "query_masking_rules",
    "query_metric_log",
    "query_thread_log",
    "query_views_log",
    "rabbitmq",
    "remote_url_allow_hosts",
    "replicated_merge_tree",
    "resources",
    "resources_and_workloads_from_sql",
    "rocksdb",
    "role_mapping",
    "roles",
    "s3",
    "s3queue_log",
    "azure_queue_log",
    "send_crash_reports",
    "session_log",
    "settings_profiles",
    "ssh_server",
    "startup_scripts",
    "storage_configuration",
    "tcp_port_secure",
    "tcp_ssh_port",
    "tcp_with_proxy_port",
    "text_log",
    "tmp_policy",
    "top_level_domains_lists",
    "total_memory_tracker",
    "trace_log",
    "transaction_log",
    "transactions_info_log",
    "umask",
    "url_scheme_mappers",
    "user_defined_executable_functions_config",
    "user_defined_path",
    "user_defined_zookeeper_path",
    "workload_path",
    "workload_zookeeper_path",
    "zookeeper",
    "zookeeper_connection_log",
    "zookeeper_log",
};

}  // namespace

const std::vector<KnownSetting>& serverSettingList() {
#define SERVER_SETTING(type, name, default_text) KnownSetting{#name, #type, default_text, {}, false},
    static const std::vector<KnownSetting> list{
#include "config/server_settings_list.inc"
    };
#undef SERVER_SETTING
    return list;
}

const std::vector<KnownSetting>& mergeTreeSettingList() {
#define MERGE_TREE_SETTING(type, name, default_text, tier, is_obsolete) \
    KnownSetting{#name, #type, default_text, #tier, is_obsolete},
    static const std::vector<KnownSetting> list{
#include "config/merge_tree_settings_list.inc"
    };
#undef MERGE_TREE_SETTING
    return list;
}

const std::vector<std::string_view>& knownServerKeys() {
    static const std::vector<std::string_view> keys = [] {
        std::vector<std::string_view> all(std::begin(kSections), std::end(kSections));
        for (const auto& setting : serverSettingList())
            all.push_back(setting.name.substr(0, setting.name.find('.')));
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        return all;
    }();
    return keys;
}

bool isKnownServerKey(std::string_view key) {
    return std::binary_search(knownServerKeys().begin(), knownServerKeys().end(), key);
}

}  // namespace shardd
