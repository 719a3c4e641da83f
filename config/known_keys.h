#pragma once

#include <string_view>
#include <vector>

namespace shardd {

/// One row of system.server_settings or system.merge_tree_settings.
struct KnownSetting {
    std::string_view name;
    std::string_view type;
    std::string_view default_text;
    std::string_view tier;  ///< empty for server settings
    bool is_obsolete = false;
};

const std::vector<KnownSetting>& serverSettingList();
const std::vector<KnownSetting>& mergeTreeSettingList();

/// Top-level keys that a ClickHouse server understands, ascending, settings with dots by their first part.
const std::vector<std::string_view>& knownServerKeys();
bool isKnownServerKey(std::string_view key);

}  // namespace shardd
