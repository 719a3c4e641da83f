#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config/settings.h"

namespace shardd {

/// What a profile allows for one setting; the texts are values of that setting.
struct SettingConstraint {
    std::optional<std::string> min;
    std::optional<std::string> max;
    bool is_const = false;
    bool changeable_in_readonly = false;

    bool operator==(const SettingConstraint&) const = default;
};

/// The constraints of a user's profile.
class SettingConstraints {
public:
    void add(std::string_view setting, SettingConstraint constraint);

    /// The constraints of `other` win.
    void merge(const SettingConstraints& other);

    /// Whether `name` may become `text` while `current` is in force.
    /// Errors: READONLY (164) in readonly mode; SETTING_CONSTRAINT_VIOLATION (452) for const, min, max;
    ///         UNKNOWN_SETTING and the errors of bad values as Settings::set.
    void check(const Settings& current, std::string_view name, std::string_view text) const;

    /// check(), then set.
    void apply(Settings& current, std::string_view name, const SettingLiteral& literal) const;

    /// Null when the setting is free.
    const SettingConstraint* find(std::string_view name) const;

    /// Whether system.settings shows `readonly` = 1 for it.
    bool isReadonly(const Settings& current, std::string_view name) const;

private:
    std::map<std::string, SettingConstraint, std::less<>> constraints_;
};

}  // namespace shardd
