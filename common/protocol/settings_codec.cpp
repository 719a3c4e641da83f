#include "common/protocol/settings_codec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace shardd::protocol {

namespace {

enum class Form : uint8_t {
    Unsigned,  ///< VarUInt: integers, booleans, seconds, milliseconds
    Signed,    ///< zig-zag, then VarUInt
    Text,      ///< String: text, enums, single characters and floats
};

struct BinarySetting {
    std::string_view name;
    Form form;
};

/// The settings of ClickHouse 18.16, and those that a 26.7 initiator adds at such a revision; sorted by name.
constexpr BinarySetting kBinarySettings[] = {
    {"add_http_cors_header", Form::Unsigned},
    {"aggregation_memory_efficient_merge_threads", Form::Unsigned},
    {"allow_ddl", Form::Unsigned},
    {"allow_distributed_ddl", Form::Unsigned},
    {"allow_experimental_analyzer", Form::Unsigned},
    {"allow_experimental_low_cardinality_type", Form::Unsigned},
    {"allow_introspection_functions", Form::Unsigned},
    {"asterisk_left_columns_only", Form::Unsigned},
    {"background_pool_size", Form::Unsigned},
    {"background_schedule_pool_size", Form::Unsigned},
    {"calculate_text_stack_trace", Form::Unsigned},
    {"compile", Form::Unsigned},
    {"compile_expressions", Form::Unsigned},
    {"connect_timeout", Form::Unsigned},
    {"connect_timeout_with_failover_ms", Form::Unsigned},
    {"connections_with_failover_max_tries", Form::Unsigned},
    {"count_distinct_implementation", Form::Text},
    {"date_time_input_format", Form::Text},
    {"decimal_check_overflow", Form::Unsigned},
    {"describe_compact_output", Form::Unsigned},
    {"distinct_overflow_mode", Form::Text},
    {"distributed_aggregation_memory_efficient", Form::Unsigned},
    {"distributed_connections_pool_size", Form::Unsigned},
    {"distributed_ddl_task_timeout", Form::Signed},
    {"distributed_directory_monitor_batch_inserts", Form::Unsigned},
    {"distributed_directory_monitor_sleep_time_ms", Form::Unsigned},
    {"distributed_group_by_no_merge", Form::Unsigned},
    {"distributed_product_mode", Form::Text},
    {"empty_result_for_aggregation_by_empty_set", Form::Unsigned},
    {"enable_debug_queries", Form::Unsigned},
    {"enable_http_compression", Form::Unsigned},
    {"enable_optimize_predicate_expression", Form::Unsigned},
    {"extremes", Form::Unsigned},
    {"fallback_to_stale_replicas_for_distributed_queries", Form::Unsigned},
    {"force_index_by_date", Form::Unsigned},
    {"force_primary_key", Form::Unsigned},
    {"format_csv_allow_double_quotes", Form::Unsigned},
    {"format_csv_allow_single_quotes", Form::Unsigned},
    {"format_csv_delimiter", Form::Text},
    {"format_schema", Form::Text},
    {"fsync_metadata", Form::Unsigned},
    {"group_by_overflow_mode", Form::Text},
    {"group_by_two_level_threshold", Form::Unsigned},
    {"group_by_two_level_threshold_bytes", Form::Unsigned},
    {"http_connection_timeout", Form::Unsigned},
    {"http_headers_progress_interval_ms", Form::Unsigned},
    {"http_max_multipart_form_data_size", Form::Unsigned},
    {"http_native_compression_disable_checksumming_on_decompress", Form::Unsigned},
    {"http_receive_timeout", Form::Unsigned},
    {"http_send_timeout", Form::Unsigned},
    {"http_zlib_compression_level", Form::Unsigned},
    {"implicit_select", Form::Unsigned},
    {"input_format_allow_errors_num", Form::Unsigned},
    {"input_format_allow_errors_ratio", Form::Text},
    {"input_format_import_nested_json", Form::Unsigned},
    {"input_format_skip_unknown_fields", Form::Unsigned},
    {"input_format_values_interpret_expressions", Form::Unsigned},
    {"insert_allow_materialized_columns", Form::Unsigned},
    {"insert_deduplicate", Form::Unsigned},
    {"insert_distributed_sync", Form::Unsigned},
    {"insert_distributed_timeout", Form::Unsigned},
    {"insert_quorum", Form::Unsigned},
    {"insert_quorum_timeout", Form::Unsigned},
    {"insert_sample_with_metadata", Form::Unsigned},
    {"interactive_delay", Form::Unsigned},
    {"join_default_strictness", Form::Text},
    {"join_overflow_mode", Form::Text},
    {"join_use_nulls", Form::Unsigned},
    {"load_balancing", Form::Text},
    {"log_comment", Form::Text},
    {"log_profile_events", Form::Unsigned},
    {"log_queries", Form::Unsigned},
    {"log_queries_cut_to_length", Form::Unsigned},
    {"log_query_settings", Form::Unsigned},
    {"log_query_threads", Form::Unsigned},
    {"low_cardinality_allow_in_native_format", Form::Unsigned},
    {"low_cardinality_max_dictionary_size", Form::Unsigned},
    {"low_cardinality_use_single_dictionary_for_part", Form::Unsigned},
    {"mark_cache_min_lifetime", Form::Unsigned},
    {"max_ast_depth", Form::Unsigned},
    {"max_ast_elements", Form::Unsigned},
    {"max_block_size", Form::Unsigned},
    {"max_bytes_before_external_group_by", Form::Unsigned},
    {"max_bytes_before_external_sort", Form::Unsigned},
    {"max_bytes_before_remerge_sort", Form::Unsigned},
    {"max_bytes_in_distinct", Form::Unsigned},
    {"max_bytes_in_join", Form::Unsigned},
    {"max_bytes_in_set", Form::Unsigned},
    {"max_bytes_to_read", Form::Unsigned},
    {"max_bytes_to_sort", Form::Unsigned},
    {"max_bytes_to_transfer", Form::Unsigned},
    {"max_columns_to_read", Form::Unsigned},
    {"max_compress_block_size", Form::Unsigned},
    {"max_concurrent_queries_for_user", Form::Unsigned},
    {"max_distributed_connections", Form::Unsigned},
    {"max_execution_time", Form::Unsigned},
    {"max_expanded_ast_elements", Form::Unsigned},
    {"max_fetch_partition_retries_count", Form::Unsigned},
    {"max_insert_block_size", Form::Unsigned},
    {"max_memory_usage", Form::Unsigned},
    {"max_memory_usage_for_all_queries", Form::Unsigned},
    {"max_memory_usage_for_user", Form::Unsigned},
    {"max_network_bandwidth", Form::Unsigned},
    {"max_network_bandwidth_for_all_users", Form::Unsigned},
    {"max_network_bandwidth_for_user", Form::Unsigned},
    {"max_network_bytes", Form::Unsigned},
    {"max_parallel_replicas", Form::Unsigned},
    {"max_pipeline_depth", Form::Unsigned},
    {"max_query_size", Form::Unsigned},
    {"max_read_buffer_size", Form::Unsigned},
    {"max_replica_delay_for_distributed_queries", Form::Unsigned},
    {"max_result_bytes", Form::Unsigned},
    {"max_result_rows", Form::Unsigned},
    {"max_rows_in_distinct", Form::Unsigned},
    {"max_rows_in_join", Form::Unsigned},
    {"max_rows_in_set", Form::Unsigned},
    {"max_rows_to_group_by", Form::Unsigned},
    {"max_rows_to_read", Form::Unsigned},
    {"max_rows_to_sort", Form::Unsigned},
    {"max_rows_to_transfer", Form::Unsigned},
    {"max_streams_to_max_threads_ratio", Form::Text},
    {"max_subquery_depth", Form::Unsigned},
    {"max_temporary_columns", Form::Unsigned},
    {"max_temporary_non_const_columns", Form::Unsigned},
    {"max_threads", Form::Unsigned},
    {"memory_tracker_fault_probability", Form::Text},
    {"merge_tree_coarse_index_granularity", Form::Unsigned},
    {"merge_tree_max_rows_to_use_cache", Form::Unsigned},
    {"merge_tree_min_rows_for_concurrent_read", Form::Unsigned},
    {"merge_tree_min_rows_for_seek", Form::Unsigned},
    {"merge_tree_uniform_read_distribution", Form::Unsigned},
    {"min_bytes_to_use_direct_io", Form::Unsigned},
    {"min_compress_block_size", Form::Unsigned},
    {"min_count_to_compile", Form::Unsigned},
    {"min_execution_speed", Form::Unsigned},
    {"min_insert_block_size_bytes", Form::Unsigned},
    {"min_insert_block_size_rows", Form::Unsigned},
    {"mysql_max_rows_to_insert", Form::Unsigned},
    {"network_compression_method", Form::Text},
    {"network_zstd_compression_level", Form::Signed},
    {"odbc_max_field_size", Form::Unsigned},
    {"optimize_min_equality_disjunction_chain_length", Form::Unsigned},
    {"optimize_move_to_prewhere", Form::Unsigned},
    {"optimize_throw_if_noop", Form::Unsigned},
    {"output_format_arrow_use_native_writer", Form::Unsigned},
    {"output_format_json_escape_forward_slashes", Form::Unsigned},
    {"output_format_json_quote_64bit_integers", Form::Unsigned},
    {"output_format_json_quote_denormals", Form::Unsigned},
    {"output_format_pretty_color", Form::Unsigned},
    {"output_format_pretty_max_column_pad_width", Form::Unsigned},
    {"output_format_pretty_max_rows", Form::Unsigned},
    {"output_format_write_statistics", Form::Unsigned},
    {"parallel_replica_offset", Form::Unsigned},
    {"parallel_replicas_count", Form::Unsigned},
    {"parallel_view_processing", Form::Unsigned},
    {"poll_interval", Form::Unsigned},
    {"prefer_localhost_replica", Form::Unsigned},
    {"preferred_block_size_bytes", Form::Unsigned},
    {"preferred_max_column_in_block_size_bytes", Form::Unsigned},
    {"priority", Form::Unsigned},
    {"queue_max_wait_ms", Form::Unsigned},
    {"read_backoff_max_throughput", Form::Unsigned},
    {"read_backoff_min_events", Form::Unsigned},
    {"read_backoff_min_interval_between_events_ms", Form::Unsigned},
    {"read_backoff_min_latency_ms", Form::Unsigned},
    {"read_overflow_mode", Form::Text},
    {"readonly", Form::Unsigned},
    {"receive_timeout", Form::Unsigned},
    {"replace_running_query", Form::Unsigned},
    {"replication_alter_columns_timeout", Form::Unsigned},
    {"replication_alter_partitions_sync", Form::Unsigned},
    {"result_overflow_mode", Form::Text},
    {"select_sequential_consistency", Form::Unsigned},
    {"send_logs_level", Form::Text},
    {"send_progress_in_http_headers", Form::Unsigned},
    {"send_timeout", Form::Unsigned},
    {"serialize_query_plan", Form::Unsigned},
    {"set_overflow_mode", Form::Text},
    {"skip_unavailable_shards", Form::Unsigned},
    {"skip_unavailable_shards_mode", Form::Text},
    {"sort_overflow_mode", Form::Text},
    {"storage_file_read_method", Form::Text},
    {"stream_flush_interval_ms", Form::Unsigned},
    {"table_function_remote_max_addresses", Form::Unsigned},
    {"tcp_keep_alive_timeout", Form::Unsigned},
    {"timeout_before_checking_execution_speed", Form::Unsigned},
    {"timeout_overflow_mode", Form::Text},
    {"totals_auto_threshold", Form::Text},
    {"totals_mode", Form::Text},
    {"transfer_overflow_mode", Form::Text},
    {"use_client_time_zone", Form::Unsigned},
    {"use_index_for_in_with_subqueries", Form::Unsigned},
    {"use_uncompressed_cache", Form::Unsigned},
};

static_assert(std::ranges::is_sorted(kBinarySettings, {}, &BinarySetting::name));

const BinarySetting* findBinarySetting(std::string_view name) {
    const auto* found = std::ranges::lower_bound(kBinarySettings, name, {}, &BinarySetting::name);
    return found != std::end(kBinarySettings) && found->name == name ? found : nullptr;
}

/// "true" and "false" may stand for 1 and 0; text that is no number becomes 0.
int64_t parseNumber(std::string_view text) {
    if (text == "true") return 1;
    int64_t value = 0;
    uint64_t large = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc::result_out_of_range &&
        std::from_chars(text.data(), text.data() + text.size(), large).ec == std::errc())
        return static_cast<int64_t>(large);
    return value;
}

uint64_t zigZag(int64_t value) {
    return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

int64_t unZigZag(uint64_t value) {
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

void checkCount(size_t count, const DecodeLimits& limits) {
    if (count >= limits.settings)
        throw Error(ErrorCode::TOO_LARGE_ARRAY_SIZE, "Too many settings in a packet: at most {} are taken",
                    limits.settings);
}

}  // namespace

void encodeTextSettings(const std::vector<SettingChange>& settings, Writer& out) {
    for (const SettingChange& setting : settings) {
        out.writeString(setting.name);
        out.writeVarUInt(setting.flags);
        out.writeString(setting.value);
    }
    out.writeString("");
}

std::vector<SettingChange> decodeTextSettings(Reader& in, const DecodeLimits& limits) {
    std::vector<SettingChange> settings;
    while (true) {
        std::string name = in.readString(limits.hello_string_bytes);
        if (name.empty()) return settings;
        checkCount(settings.size(), limits);
        SettingChange& setting = settings.emplace_back();
        setting.name = std::move(name);
        setting.flags = in.readVarUInt();
        setting.value = in.readString(limits.string_bytes);
    }
}

void encodeBinarySettings(const std::vector<SettingChange>& settings, Writer& out) {
    for (const SettingChange& setting : settings) {
        const BinarySetting* known = findBinarySetting(setting.name);
        if (!known) continue;
        out.writeString(setting.name);
        switch (known->form) {
            case Form::Unsigned:
                out.writeVarUInt(static_cast<uint64_t>(parseNumber(setting.value)));
                break;
            case Form::Signed:
                out.writeVarUInt(zigZag(parseNumber(setting.value)));
                break;
            case Form::Text:
                out.writeString(setting.value);
                break;
        }
    }
    out.writeString("");
}

std::vector<SettingChange> decodeBinarySettings(Reader& in, const DecodeLimits& limits) {
    std::vector<SettingChange> settings;
    while (true) {
        std::string name = in.readString(limits.hello_string_bytes);
        if (name.empty()) return settings;
        checkCount(settings.size(), limits);
        const BinarySetting* known = findBinarySetting(name);
        if (!known)
            throw Error(ErrorCode::UNKNOWN_SETTING,
                        "Unknown setting {}: below protocol revision {} its value cannot be skipped", name,
                        gate::kSettingsAsText);
        SettingChange& setting = settings.emplace_back();
        setting.name = std::move(name);
        switch (known->form) {
            case Form::Unsigned:
                setting.value = fmt::format("{}", in.readVarUInt());
                break;
            case Form::Signed:
                setting.value = fmt::format("{}", unZigZag(in.readVarUInt()));
                break;
            case Form::Text:
                setting.value = in.readString(limits.string_bytes);
                break;
        }
    }
}

}  // namespace shardd::protocol
