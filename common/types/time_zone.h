#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shardd {

/// A date of the proleptic Gregorian calendar.
struct CivilDate {
    int32_t year;
    uint8_t month;  // 1 … 12
    uint8_t day;    // 1 … 31
};

/// Days since 1970-01-01 and back; any year.
int32_t daysFromCivil(int32_t year, unsigned month, unsigned day);
CivilDate civilFromDays(int32_t days);

/// 28 … 31.
unsigned daysInMonth(int32_t year, unsigned month);

inline bool isLeapYear(int32_t year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

/// 1 (Monday) … 7 (Sunday).
inline unsigned dayOfWeek(int32_t days) { return static_cast<unsigned>(((days + 3) % 7 + 7) % 7) + 1; }

/// 1 … 366.
inline unsigned dayOfYear(int32_t days) {
    return static_cast<unsigned>(days - daysFromCivil(civilFromDays(days).year, 1, 1)) + 1;
}

/// A moment as a clock on the wall shows it: local days since 1970-01-01, and seconds of that day.
struct LocalTime {
    int32_t days;
    int32_t seconds;  // 0 … 86399

    unsigned hour() const { return static_cast<unsigned>(seconds) / 3600; }

    unsigned minute() const { return static_cast<unsigned>(seconds) / 60 % 60; }

    unsigned second() const { return static_cast<unsigned>(seconds) % 60; }
};

/// A time zone of the IANA database, its changes from 1900 to 2300 kept in a table. Immutable, one object a
/// name, alive to the end of the program.
class TimeZone {
public:
    /// Errors: BAD_ARGUMENTS (36) for a name that does not exist. The empty name is UTC.
    static const TimeZone& get(std::string_view name);
    static const TimeZone& utc();
    static bool exists(std::string_view name);

    const std::string& name() const { return name_; }

    /// No change of the offset ever.
    bool isFixed() const { return changes_.size() == 1; }

    /// Seconds east of UTC at a moment (seconds since the epoch).
    int32_t offsetAt(int64_t moment) const { return changes_[indexAt(moment)].offset; }

    bool isDaylightSavingAt(int64_t moment) const { return changes_[indexAt(moment)].daylight_saving; }

    LocalTime localTime(int64_t moment) const {
        const int64_t local = moment + offsetAt(moment);
        int64_t days = local / 86400;
        int64_t seconds = local % 86400;
        if (seconds < 0) {
            seconds += 86400;
            --days;
        }
        return {static_cast<int32_t>(days), static_cast<int32_t>(seconds)};
    }

    /// When a local day begins; the first moment of it where midnight does not exist or comes twice.
    int64_t dayStart(int32_t days) const;

    /// The moment of a local time, as ClickHouse finds it: a time that comes twice is the first, one that
    /// does not exist counts on from midnight without the change. `seconds` may exceed a day.
    int64_t moment(int32_t days, int64_t seconds) const;

    int64_t moment(
        int32_t year, unsigned month, unsigned day, unsigned hour, unsigned minute, unsigned second) const {
        return moment(daysFromCivil(year, month, day), int64_t{hour} * 3600 + minute * 60 + second);
    }

private:
    struct Change {
        int64_t since;
        int32_t offset;
        bool daylight_saving;
    };

    explicit TimeZone(std::string_view name);
    friend struct TimeZoneRegistry;

    size_t indexAt(int64_t moment) const {
        if (changes_.size() == 1) return 0;
        if (moment < kFirst) return 0;
        const auto slot = static_cast<size_t>((moment - kFirst) >> kSlotBits);
        size_t index = slot < slots_.size() ? slots_[slot] : changes_.size() - 1;
        while (index + 1 < changes_.size() && changes_[index + 1].since <= moment) ++index;
        return index;
    }

    static constexpr int64_t kFirst = -2208988800 - 86400;  // the day before 1900-01-01
    static constexpr int64_t kLast = 10413792000 + 86400;   // the day after 2300-01-01
    static constexpr unsigned kSlotBits = 21;               // about 24 days

    std::string name_;
    std::vector<Change> changes_;
    /// The change in force when a slot of time begins.
    std::vector<uint16_t> slots_;
};

}  // namespace shardd
