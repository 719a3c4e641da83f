#include "server/daemon/query_settings.h"

#include <cstdio>

#include "common/base/error.h"
#include "common/base/log.h"

namespace shardd::daemon {

namespace {

constexpr Log kLog("session");

char unescaped(char letter) {
    switch (letter) {
        case 'n':
            return '\n';
        case 't':
            return '\t';
        case 'r':
            return '\r';
        case 'b':
            return '\b';
        case 'f':
            return '\f';
        case '0':
            return '\0';
        case 'a':
            return '\a';
        case 'v':
            return '\v';
        default:
            return letter;
    }
}

bool hasAllowedPrefix(const Config& config, std::string_view name) {
    for (const auto& prefix : config.custom_settings_prefixes)
        if (name.starts_with(prefix)) return true;
    return false;
}

void applyKnown(const protocol::SettingChange& change,
                bool is_secondary,
                const SettingConstraints& constraints,
                Settings& settings) {
    const bool is_custom = change.flags & protocol::setting_flag::kCustom;
    const std::string text = is_custom ? textOfDump(change.value) : change.value;
    try {
        constraints.check(settings, change.name, text);
    } catch (const Error& error) {
        const bool is_limit =
            error.is(ErrorCode::READONLY) || error.is(ErrorCode::SETTING_CONSTRAINT_VIOLATION);
        if (!is_secondary || !is_limit) throw;
        return;
    }
    settings.set(change.name, text);
}

}  // namespace

std::string textOfDump(std::string_view dump) {
    if (dump.size() < 2 || dump.front() != '\'' || dump.back() != '\'') {
        const size_t underscore = dump.find('_');
        const bool is_typed = underscore != std::string_view::npos &&
                              (dump.starts_with("UInt64_") || dump.starts_with("Int64_") ||
                               dump.starts_with("Float64_") || dump.starts_with("Bool_"));
        return std::string(is_typed ? dump.substr(underscore + 1) : dump);
    }
    dump = dump.substr(1, dump.size() - 2);
    std::string text;
    for (size_t i = 0; i < dump.size(); ++i) {
        const bool is_escape = dump[i] == '\\' && i + 1 < dump.size();
        text.push_back(is_escape ? unescaped(dump[++i]) : dump[i]);
    }
    return text;
}

void applyQuerySettings(const session::QueryRequest& request,
                        const SettingConstraints& constraints,
                        const Config& config,
                        Settings& settings) {
    const bool is_secondary = request.client_info.kind == protocol::QueryKind::Secondary;
    for (const protocol::SettingChange& change : request.settings) {
        if (Settings::knows(change.name)) {
            applyKnown(change, is_secondary, constraints, settings);
        } else if (hasAllowedPrefix(config, change.name)) {
            settings.setCustom(change.name, change.value);
        } else if (change.flags & (protocol::setting_flag::kImportant | protocol::setting_flag::kCustom)) {
            settings.set(change.name, change.value);  // says UNKNOWN_SETTING with the nearest names
        } else {
            kLog.warning("Unknown setting '{}' of a client is left out", change.name);
        }
    }
    // A GET only reads, whatever it asks for; settings it may change.
    constexpr uint8_t kGet = 1;
    if (!is_secondary && request.client_info.http_method == kGet && settings->readonly == 0) settings.set("readonly", "2");
}

std::map<std::string, std::string> queryParameters(const session::QueryRequest& request) {
    std::map<std::string, std::string> parameters;
    for (const auto& parameter : request.parameters) parameters[parameter.name] = textOfDump(parameter.value);
    return parameters;
}

exec::ExecSettings execSettings(const Settings& settings) {
    using setting_types::OverflowMode;
    exec::ExecSettings result;
    result.max_threads = settings->max_threads;
    result.max_block_rows = settings->max_block_size;
    result.max_rows_to_read = settings->max_rows_to_read;
    result.max_bytes_to_read = settings->max_bytes_to_read;
    result.read_overflow_throws = settings->read_overflow_mode == OverflowMode::Throw;
    result.max_rows_to_read_leaf = settings->max_rows_to_read_leaf;
    result.max_bytes_to_read_leaf = settings->max_bytes_to_read_leaf;
    result.read_overflow_leaf_throws = settings->read_overflow_mode_leaf == OverflowMode::Throw;
    result.max_rows_to_sort = settings->max_rows_to_sort;
    result.max_bytes_to_sort = settings->max_bytes_to_sort;
    result.sort_overflow_throws = settings->sort_overflow_mode == OverflowMode::Throw;
    result.max_rows_in_distinct = settings->max_rows_in_distinct;
    result.distinct_overflow_throws = settings->distinct_overflow_mode == OverflowMode::Throw;
    result.max_bytes_before_external_group_by = settings->max_bytes_before_external_group_by;
    result.max_bytes_ratio_before_external_group_by =
        static_cast<double>(settings->max_bytes_ratio_before_external_group_by);
    result.group_by_two_level_threshold = settings->group_by_two_level_threshold;
    result.group_by_two_level_threshold_bytes = settings->group_by_two_level_threshold_bytes;
    return result;
}

FrameOptions temporaryCodec(const Settings& settings) {
    const std::string name = settings.get("temporary_files_codec");
    if (name == "LZ4") return {.method = FrameMethod::Lz4};
    if (name == "NONE") return {.method = FrameMethod::None};
    if (name == "ZSTD") return {.method = FrameMethod::Zstd};
    int level = 0;
    if (std::sscanf(name.c_str(), "ZSTD(%d)", &level) == 1 && level >= 1 && level <= 22)
        return {.method = FrameMethod::Zstd, .zstd_level = level};
    throw Error(ErrorCode::UNKNOWN_CODEC,
                "Unknown codec family: {} (temporary_files_codec is LZ4, ZSTD, ZSTD(level) or NONE)", name);
}

}  // namespace shardd::daemon
