#include "config/settings.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <type_traits>

#include "common/base/error.h"
#include "config/nearest.h"
#include "config/setting_text.h"

namespace shardd {

static_assert(std::is_standard_layout_v<SettingValues>, "offsetof() below needs it");

namespace {

// The lists as constant data: loops over them compile in a second, one expression a setting takes a minute.
struct Entry {
    std::string_view name, type, default_text;
    SettingTier tier;
    size_t offset;
};

struct Alias {
    std::string_view name, target;
};

#define SETTING_ALIAS(name, target)
#define SETTING(type, name, default_text, tier) \
    Entry{#name, #type, default_text, SettingTier::tier, offsetof(SettingValues, name)},
constexpr Entry kEntries[] = {
#include "config/own_settings_list.inc"
#include "config/settings_list.inc"
};
#undef SETTING_ALIAS
#undef SETTING

#define SETTING_ALIAS(name, target) Alias{#name, #target},
#define SETTING(type, name, default_text, tier)
constexpr Alias kAliases[] = {
#include "config/own_settings_list.inc"
#include "config/settings_list.inc"
};
#undef SETTING_ALIAS
#undef SETTING

// Where the value of one setting lives, and how its text is read.
struct Slot {
    std::string_view name;
    size_t offset;
    SettingFormat format;
};

std::vector<Slot> makeSlots() {
    std::vector<Slot> list;
    for (const Entry& entry : kEntries) list.push_back({entry.name, entry.offset, settingFormat(entry.type)});
    return list;
}

const std::vector<Slot>& slots() {
    static const std::vector<Slot> list = makeSlots();
    return list;
}

struct NamedSlot {
    std::string_view name;
    size_t slot;  ///< index in slots()
};

std::vector<NamedSlot> makeIndex() {
    std::vector<NamedSlot> index;
    const auto& list = slots();
    for (size_t i = 0; i < list.size(); ++i) index.push_back({list[i].name, i});
    const auto byName = [](const NamedSlot& left, const NamedSlot& right) { return left.name < right.name; };
    std::sort(index.begin(), index.end(), byName);
    const std::vector<NamedSlot> real = index;
    for (const auto& info : settingList()) {
        if (info.alias_for.empty()) continue;
        const auto target = std::lower_bound(real.begin(), real.end(), NamedSlot{info.alias_for, 0}, byName);
        SHARDD_CHECK(target != real.end() && target->name == info.alias_for);
        index.push_back({info.name, target->slot});
    }
    std::sort(index.begin(), index.end(), byName);
    return index;
}

std::optional<size_t> findSlot(std::string_view name) {
    static const std::vector<NamedSlot> index = makeIndex();
    const auto found =
        std::lower_bound(index.begin(), index.end(), name,
                         [](const NamedSlot& entry, std::string_view wanted) { return entry.name < wanted; });
    if (found == index.end() || found->name != name) return std::nullopt;
    return found->slot;
}

size_t requireSlot(std::string_view name) {
    if (const auto slot = findSlot(name)) return *slot;
    std::vector<std::string_view> names;
    for (const auto& info : settingList()) names.push_back(info.name);
    std::string hints;
    for (const auto& near : nearestNames(name, names))
        hints += fmt::format("{}'{}'", hints.empty() ? "" : ",", near);
    if (hints.empty()) throw Error(ErrorCode::UNKNOWN_SETTING, "Unknown setting '{}'", name);
    throw Error(ErrorCode::UNKNOWN_SETTING, "Unknown setting '{}': Maybe you meant [{}]", name, hints);
}

char* fieldOf(SettingValues& values, const Slot& slot) {
    return reinterpret_cast<char*>(&values) + slot.offset;
}

const char* fieldOf(const SettingValues& values, const Slot& slot) {
    return reinterpret_cast<const char*>(&values) + slot.offset;
}

SettingValues makeDefaults() {
    SettingValues values;
    for (size_t i = 0; i < slots().size(); ++i)
        readSetting(slots()[i].format, kEntries[i].default_text, fieldOf(values, slots()[i]));
    return values;
}

const SettingValues& defaults() {
    static const SettingValues values = makeDefaults();
    return values;
}

// Text goes through a field of its own, so that a bad value leaves the old one alone.
void copyField(const Slot& slot, const SettingValues& from, SettingValues& to) {
    readSetting(slot.format, printSetting(slot.format, fieldOf(from, slot)), fieldOf(to, slot));
}

std::vector<SettingInfo> makeList() {
    std::vector<SettingInfo> list;
    for (const Entry& entry : kEntries)
        list.push_back({entry.name, entry.type, entry.default_text, entry.tier, {}});
    for (const Alias& alias : kAliases)
        list.push_back({alias.name, {}, {}, SettingTier::Production, alias.target});
    std::sort(list.begin(), list.end(),
              [](const auto& left, const auto& right) { return left.name < right.name; });
    for (auto& info : list) {
        if (info.alias_for.empty()) continue;
        const auto target = std::find_if(list.begin(), list.end(),
                                         [&](const auto& other) { return other.name == info.alias_for; });
        SHARDD_CHECK(target != list.end() && target->alias_for.empty());
        info = SettingInfo{info.name, target->type, target->default_text, target->tier, info.alias_for};
    }
    return list;
}

}  // namespace

std::string SettingInfo::defaultText() const {
    const size_t slot = requireSlot(alias_for.empty() ? name : alias_for);
    return printSetting(slots()[slot].format, fieldOf(defaults(), slots()[slot]));
}

const std::vector<SettingInfo>& settingList() {
    static const std::vector<SettingInfo> list = makeList();
    return list;
}

Settings::Settings() : values_(defaults()) {}
Settings::Settings(const Settings& other) = default;
Settings::Settings(Settings&& other) noexcept = default;
Settings& Settings::operator=(const Settings& other) = default;
Settings& Settings::operator=(Settings&& other) noexcept = default;
Settings::~Settings() = default;

void Settings::set(std::string_view name, std::string_view text) {
    const size_t slot = requireSlot(name);
    readSetting(slots()[slot].format, text, fieldOf(values_, slots()[slot]));
    changed_.set(slot);
}

void Settings::setLiteral(std::string_view name, const SettingLiteral& literal) {
    const size_t slot = requireSlot(name);
    readSettingLiteral(slots()[slot].format, literal, fieldOf(values_, slots()[slot]));
    changed_.set(slot);
}

void Settings::reset(std::string_view name) {
    if (const auto slot = findSlot(name)) {
        copyField(slots()[*slot], defaults(), values_);
        changed_.reset(*slot);
    } else {
        custom_.erase(std::string(name));
    }
}

std::string Settings::get(std::string_view name) const {
    if (const auto custom = custom_.find(std::string(name)); custom != custom_.end()) return custom->second;
    const Slot& slot = slots()[requireSlot(name)];
    return printSetting(slot.format, fieldOf(values_, slot));
}

bool Settings::isChanged(std::string_view name) const {
    const auto slot = findSlot(name);
    return slot ? changed_.test(*slot) : custom_.contains(std::string(name));
}

std::vector<SettingChange> Settings::changed() const {
    std::vector<SettingChange> changes;
    for (size_t i = 0; i < slots().size(); ++i)
        if (changed_.test(i))
            changes.push_back({std::string(slots()[i].name),
                               printSetting(slots()[i].format, fieldOf(values_, slots()[i]))});
    return changes;
}

void Settings::merge(const Settings& other) {
    for (size_t i = 0; i < slots().size(); ++i)
        if (other.changed_.test(i)) copyField(slots()[i], other.values_, values_);
    changed_ |= other.changed_;
    for (const auto& [name, literal] : other.custom_) custom_[name] = literal;
}

void Settings::setCustom(std::string name, std::string literal) {
    custom_[std::move(name)] = std::move(literal);
}

std::optional<std::string> Settings::find(std::string_view name) const {
    if (!knows(name) && !custom_.contains(std::string(name))) return std::nullopt;
    return get(name);
}

bool Settings::knows(std::string_view name) { return findSlot(name).has_value(); }

std::string_view Settings::realName(std::string_view name) {
    const auto slot = findSlot(name);
    return slot ? slots()[*slot].name : std::string_view();
}

std::string settingText(std::string_view name, const SettingLiteral& literal) {
    Settings scratch;
    scratch.setLiteral(name, literal);
    return scratch.get(name);
}

int compareSettingTexts(std::string_view name, std::string_view left, std::string_view right) {
    const Slot& slot = slots()[requireSlot(name)];
    Settings first, second;
    first.set(name, left);
    second.set(name, right);
    long double a = 0, b = 0;
    if (settingAsNumber(slot.format, fieldOf(first.values(), slot), a) &&
        settingAsNumber(slot.format, fieldOf(second.values(), slot), b))
        return a < b ? -1 : a > b ? 1 : 0;
    const int order = first.get(name).compare(second.get(name));
    return order < 0 ? -1 : order > 0 ? 1 : 0;
}

}  // namespace shardd
