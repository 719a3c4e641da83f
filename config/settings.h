#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/setting_types.h"

namespace shardd {

/// Every query setting as a plain member under its own name: `settings->max_threads`.
struct SettingValues {
#define SETTING(type, name, default_text, tier) setting_types::type name{};
#define SETTING_ALIAS(name, target)
#include "config/own_settings_list.inc"
#include "config/settings_list.inc"
#undef SETTING_ALIAS
#undef SETTING
};

#define SETTING(type, name, default_text, tier) +1
#define SETTING_ALIAS(name, target)
constexpr size_t kSettingCount = 0
#include "config/own_settings_list.inc"
#include "config/settings_list.inc"
    ;
#undef SETTING_ALIAS
#undef SETTING

/// Numbers of the Enum8 in system.settings: never renumber.
enum class SettingTier : uint8_t { Production = 0, Obsolete = 4, Experimental = 8, Beta = 12 };

/// One row of system.settings, aliases included.
struct SettingInfo {
    std::string_view name;
    std::string_view type;
    std::string_view default_text;  ///< as written in the list; defaultText() prints "auto(8)"
    SettingTier tier;
    std::string_view alias_for;  ///< empty, or the name that has the value

    bool isObsolete() const { return tier == SettingTier::Obsolete; }

    std::string defaultText() const;
};

/// Every name, ascending.
const std::vector<SettingInfo>& settingList();

/// A value as SQL wrote it: numbers and strings are read differently (error 70 here, 27 there).
using SettingLiteral = std::variant<std::monostate, bool, uint64_t, int64_t, double, std::string>;

struct SettingChange {
    std::string name;
    std::string value;  ///< as text

    bool operator==(const SettingChange&) const = default;
};

/// The settings of one query, session or profile. A value type: copying costs about a microsecond.
/// Threads: as a plain struct; distinct objects are independent.
/// Source:  values, texts and errors are ClickHouse's (system.settings, SET, the SETTINGS clause).
class Settings {
public:
    // Not in line: a thousand members, some of them strings, took seconds of compiling wherever settings are copied.
    Settings();
    Settings(const Settings& other);
    Settings(Settings&& other) noexcept;
    Settings& operator=(const Settings& other);
    Settings& operator=(Settings&& other) noexcept;
    ~Settings();

    const SettingValues* operator->() const { return &values_; }

    const SettingValues& values() const { return values_; }

    /// Errors: UNKNOWN_SETTING with the nearest names; the code ClickHouse gives for a bad value.
    void set(std::string_view name, std::string_view text);
    void setLiteral(std::string_view name, const SettingLiteral& literal);

    /// Back to the default; an unknown name is no error, as in `SET nosuch = DEFAULT`.
    void reset(std::string_view name);

    /// The text that system.settings shows. Errors: UNKNOWN_SETTING.
    std::string get(std::string_view name) const;
    /// The same, custom ones too; nothing when unknown.
    std::optional<std::string> find(std::string_view name) const;
    bool isChanged(std::string_view name) const;

    /// What was set, in the order of the list, by its real name; also when it was set to the default.
    std::vector<SettingChange> changed() const;

    /// Takes over every value that `other` has set.
    void merge(const Settings& other);

    /// A setting that ClickHouse knows nothing of, allowed by `custom_settings_prefixes`. The value is the
    /// text of a literal, kept as it is.
    void setCustom(std::string name, std::string literal);

    const std::map<std::string, std::string>& custom() const { return custom_; }

    static bool knows(std::string_view name);

    /// "max_threads" for itself, the target for an alias, empty when unknown.
    static std::string_view realName(std::string_view name);

private:
    SettingValues values_;
    std::bitset<kSettingCount> changed_;
    std::map<std::string, std::string> custom_;
};

/// The text `literal` would have once set, e.g. "1" for true. Errors: as Settings::set.
std::string settingText(std::string_view name, const SettingLiteral& literal);

/// -1, 0 or 1 as the values of setting `name` compare: numbers by size, all else by text.
int compareSettingTexts(std::string_view name, std::string_view left, std::string_view right);

}  // namespace shardd
