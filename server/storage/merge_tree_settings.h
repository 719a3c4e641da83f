#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardd::storage {

/// One row of system.merge_tree_settings.
struct MergeTreeSettingInfo {
    std::string_view name;
    std::string_view type;
    std::string_view default_value;
};

std::span<const MergeTreeSettingInfo> mergeTreeSettings();

/// The settings that mean something here; all others are known by name and kept in the definition.
struct MergeTreeSettings {
    uint64_t index_granularity = 8192;
    /// 0 makes granules of constant size: parts with .mrk that older servers read.
    uint64_t index_granularity_bytes = 10485760;
    /// Nothing: as the server's configuration says.
    std::optional<bool> fsync_after_insert = std::nullopt;
    /// String columns have a stream of sizes; not with string_serialization_version = 'single_stream'.
    bool string_sizes = true;
    bool allow_nullable_key = false;
    /// Smaller parts are Compact: two files for all columns.
    uint64_t min_bytes_for_wide_part = 10485760;
    uint64_t min_rows_for_wide_part = 0;

    /// Errors: UNKNOWN_SETTING (115), CANNOT_PARSE_NUMBER (72), BAD_ARGUMENTS (36).
    static MergeTreeSettings parse(const std::vector<std::pair<std::string, std::string>>& settings);
};

}  // namespace shardd::storage
