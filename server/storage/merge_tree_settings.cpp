#include "server/storage/merge_tree_settings.h"

#include <algorithm>
#include <charconv>

#include "common/base/error.h"

namespace shardd::storage {

namespace {

constexpr MergeTreeSettingInfo kSettings[] = {
#define X(name, type, default_value) {#name, type, default_value},
#include "server/storage/merge_tree_settings.inc"
#undef X
};

uint64_t parseNumber(const std::string& name, const std::string& text) {
    if (text == "true") return 1;
    if (text == "false") return 0;
    uint64_t number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || end != text.data() + text.size())
        throw Error(ErrorCode::CANNOT_PARSE_NUMBER, "Setting {} must be a number, not '{}'", name, text);
    return number;
}

}  // namespace

std::span<const MergeTreeSettingInfo> mergeTreeSettings() { return kSettings; }

MergeTreeSettings MergeTreeSettings::parse(const std::vector<std::pair<std::string, std::string>>& settings) {
    MergeTreeSettings parsed;
    for (const auto& [name, value] : settings) {
        const bool known = std::any_of(std::begin(kSettings), std::end(kSettings),
                                       [&](const auto& info) { return info.name == name; });
        if (!known)
            throw Error(ErrorCode::UNKNOWN_SETTING, "Unknown setting '{}': for storage MergeTree", name);
        if (name == "index_granularity") parsed.index_granularity = parseNumber(name, value);
        if (name == "index_granularity_bytes") parsed.index_granularity_bytes = parseNumber(name, value);
        if (name == "fsync_after_insert") parsed.fsync_after_insert = parseNumber(name, value) != 0;
        if (name == "allow_nullable_key") parsed.allow_nullable_key = parseNumber(name, value) != 0;
        if (name == "min_bytes_for_wide_part") parsed.min_bytes_for_wide_part = parseNumber(name, value);
        if (name == "min_rows_for_wide_part") parsed.min_rows_for_wide_part = parseNumber(name, value);
        if (name == "string_serialization_version") parsed.string_sizes = value != "single_stream";
    }
    if (parsed.index_granularity == 0)
        throw Error(ErrorCode::BAD_ARGUMENTS, "index_granularity: value 0 makes no sense");
    return parsed;
}

}  // namespace shardd::storage
