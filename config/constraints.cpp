#include "config/constraints.h"

#include "common/base/error.h"

namespace shardd {

void SettingConstraints::add(std::string_view setting, SettingConstraint constraint) {
    const std::string_view real = Settings::realName(setting);
    constraints_[std::string(real.empty() ? setting : real)] = std::move(constraint);
}

void SettingConstraints::merge(const SettingConstraints& other) {
    for (const auto& [name, constraint] : other.constraints_) constraints_[name] = constraint;
}

const SettingConstraint* SettingConstraints::find(std::string_view name) const {
    const std::string_view real = Settings::realName(name);
    const auto found = constraints_.find(real.empty() ? name : real);
    return found == constraints_.end() ? nullptr : &found->second;
}

bool SettingConstraints::isReadonly(const Settings& current, std::string_view name) const {
    const SettingConstraint* constraint = find(name);
    const uint64_t readonly = current->readonly;
    if (readonly == 1 && !(constraint && constraint->changeable_in_readonly)) return true;
    if (readonly > 1 && name == "readonly") return true;
    return constraint && constraint->is_const;
}

void SettingConstraints::check(const Settings& current, std::string_view name, std::string_view text) const {
    Settings wanted;
    wanted.set(name, text);
    const std::string value = wanted.get(name);
    if (current.get(name) == value) return;
    const SettingConstraint* constraint = find(name);
    const uint64_t readonly = current->readonly;
    const bool free_in_readonly = constraint && constraint->changeable_in_readonly;
    if ((readonly == 1 && !free_in_readonly) || (readonly > 1 && name == "readonly"))
        throw Error(ErrorCode::READONLY, "Cannot modify '{}' setting in readonly mode", name);
    if (name == "allow_ddl" && !current->allow_ddl)
        throw Error(ErrorCode::QUERY_IS_PROHIBITED,
                    "Cannot modify 'allow_ddl' setting when DDL queries are prohibited for the user");
    if (!constraint) return;
    if (constraint->is_const)
        throw Error(ErrorCode::SETTING_CONSTRAINT_VIOLATION, "Setting {} should not be changed", name);
    if (constraint->min && compareSettingTexts(name, value, *constraint->min) < 0)
        throw Error(ErrorCode::SETTING_CONSTRAINT_VIOLATION, "Setting {} shouldn't be less than {}", name,
                    *constraint->min);
    if (constraint->max && compareSettingTexts(name, value, *constraint->max) > 0)
        throw Error(ErrorCode::SETTING_CONSTRAINT_VIOLATION, "Setting {} shouldn't be greater than {}", name,
                    *constraint->max);
}

void SettingConstraints::apply(Settings& current,
                               std::string_view name,
                               const SettingLiteral& literal) const {
    check(current, name, settingText(name, literal));
    current.setLiteral(name, literal);
}

}  // namespace shardd
