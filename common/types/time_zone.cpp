#include "common/types/time_zone.h"

#include <chrono>
#include <map>
#include <mutex>

#include <cctz/civil_time.h>
#include <cctz/time_zone.h>

#include "common/base/error.h"

namespace shardd {

int32_t daysFromCivil(int32_t year, unsigned month, unsigned day) {
    // Years begin in March, so that the leap day is the last of a year; 400 years are one era of 146097 days.
    year -= month <= 2;
    const int32_t era = (year >= 0 ? year : year - 399) / 400;
    const auto year_of_era = static_cast<uint32_t>(year - era * 400);
    const uint32_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    const uint32_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + static_cast<int32_t>(day_of_era) - 719468;
}

CivilDate civilFromDays(int32_t days) {
    days += 719468;
    const int32_t era = (days >= 0 ? days : days - 146096) / 146097;
    const auto day_of_era = static_cast<uint32_t>(days - era * 146097);
    const uint32_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const uint32_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const uint32_t shifted_month = (5 * day_of_year + 2) / 153;
    const uint32_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
    return {static_cast<int32_t>(year_of_era) + era * 400 + (month <= 2), static_cast<uint8_t>(month),
            static_cast<uint8_t>(day_of_year - (153 * shifted_month + 2) / 5 + 1)};
}

unsigned daysInMonth(int32_t year, unsigned month) {
    constexpr uint8_t kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && isLeapYear(year) ? 29 : kDays[month - 1];
}

namespace {

using Seconds = std::chrono::time_point<std::chrono::system_clock, cctz::seconds>;

Seconds toPoint(int64_t moment) { return Seconds(cctz::seconds(moment)); }

bool load(std::string_view name, cctz::time_zone& zone) {
    if (name.empty()) {
        zone = cctz::utc_time_zone();
        return true;
    }
    // cctz also takes "Fixed/…" and file names; the database's names are letters, digits and a few signs.
    for (const char c : name)
        if (!(isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '+' || c == '/'))
            return false;
    if (name.front() == '/' || name.size() > 64 || name.starts_with("Fixed/")) return false;
    return cctz::load_time_zone(std::string(name), &zone);
}

}  // namespace

TimeZone::TimeZone(std::string_view name) : name_(name.empty() ? "UTC" : name) {
    cctz::time_zone zone;
    if (!load(name, zone)) throw Error(ErrorCode::BAD_ARGUMENTS, "Cannot load time zone {}", name);
    Seconds at = toPoint(kFirst);
    const auto first = zone.lookup(at);
    changes_.push_back({INT64_MIN, first.offset, first.is_dst});
    cctz::time_zone::civil_transition transition;
    while (zone.next_transition(at, &transition)) {
        at = std::chrono::time_point_cast<cctz::seconds>(zone.lookup(transition.to).trans);
        const int64_t since = at.time_since_epoch().count();
        if (since > kLast) break;
        const auto now = zone.lookup(at);
        if (now.offset != changes_.back().offset || now.is_dst != changes_.back().daylight_saving)
            changes_.push_back({since, now.offset, now.is_dst});
    }
    if (changes_.size() == 1) return;
    slots_.resize(static_cast<size_t>((kLast - kFirst) >> kSlotBits) + 1);
    size_t index = 0;
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
        const int64_t begin = kFirst + (static_cast<int64_t>(slot) << kSlotBits);
        while (index + 1 < changes_.size() && changes_[index + 1].since <= begin) ++index;
        slots_[slot] = static_cast<uint16_t>(index);
    }
}

/// All zones that were asked for, never freed.
struct TimeZoneRegistry {
    std::mutex mutex;
    std::map<std::string, std::unique_ptr<TimeZone>, std::less<>> zones;  // guarded by mutex

    static TimeZoneRegistry& instance() {
        static TimeZoneRegistry registry;
        return registry;
    }

    const TimeZone& get(std::string_view name) {
        const std::lock_guard lock(mutex);
        auto found = zones.find(name);
        if (found == zones.end())
            found = zones.emplace(std::string(name), std::unique_ptr<TimeZone>(new TimeZone(name))).first;
        return *found->second;
    }
};

const TimeZone& TimeZone::get(std::string_view name) {
    if (name.empty() || name == "UTC") return utc();
    return TimeZoneRegistry::instance().get(name);
}

const TimeZone& TimeZone::utc() {
    static const TimeZone& zone = TimeZoneRegistry::instance().get("UTC");
    return zone;
}

bool TimeZone::exists(std::string_view name) {
    cctz::time_zone zone;
    return load(name, zone);
}

int64_t TimeZone::dayStart(int32_t days) const {
    const int64_t local = int64_t{days} * 86400;
    if (changes_.size() == 1) return local - changes_.front().offset;
    // Offsets lie within a day and two hours, so what holds a little before and after decides.
    size_t index = indexAt(local - 2 * 86400);
    for (;; ++index) {
        const int64_t start = local - changes_[index].offset;
        if (index + 1 == changes_.size() || start < changes_[index + 1].since)
            return start < changes_[index].since ? changes_[index].since : start;  // midnight was skipped
    }
}

int64_t TimeZone::moment(int32_t days, int64_t seconds) const {
    const int64_t start = dayStart(days);
    if (changes_.size() == 1) return start + seconds;
    const size_t index = indexAt(start);
    if (index + 1 == changes_.size()) return start + seconds;
    const Change& next = changes_[index + 1];
    if (next.since >= start + 86400 + 2 * 3600) return start + seconds;
    const int64_t change_after = next.since - start;
    if (change_after <= 0 || change_after >= 86400 + 2 * 3600 || seconds < change_after)
        return start + seconds;
    if (next.since >= dayStart(days + 1)) return start + seconds;
    return start + seconds - (next.offset - changes_[index].offset);
}

}  // namespace shardd
