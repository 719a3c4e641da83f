#pragma once

#include <array>
#include <cstdint>

#include "common/types/time_zone.h"
#include "server/functions/definition.h"

// What all functions over dates and times share: reading the four kinds of moments, and the calendar by
// table.
namespace shardd::functions {

/// Year, month and day of a day from 1900 to 2299, from a table; other days are those of the nearest end.
class Calendar {
public:
    static constexpr int32_t kFirst = -25567;  // 1900-01-01
    static constexpr int32_t kLast = 120529;   // 2299-12-31

    static const CivilDate& at(int32_t days) { return table[std::clamp(days, kFirst, kLast) - kFirst]; }

private:
    /// Made before main(); kept in a plain pointer, so that kernels read it without a guard.
    static const CivilDate* const table;
};

inline constexpr std::array<int64_t, 20> kPowersOf10 = {1,
                                                        10,
                                                        100,
                                                        1000,
                                                        10000,
                                                        100000,
                                                        1000000,
                                                        10000000,
                                                        100000000,
                                                        1000000000,
                                                        10000000000,
                                                        100000000000,
                                                        1000000000000,
                                                        10000000000000,
                                                        100000000000000,
                                                        1000000000000000,
                                                        10000000000000000,
                                                        100000000000000000,
                                                        1000000000000000000,
                                                        INT64_MAX};

/// Division rounding down; the divisor is positive.
constexpr int64_t floorDivide(int64_t a, int64_t b) { return a / b - ((a % b != 0) && (a < 0)); }

constexpr int64_t floorModulo(int64_t a, int64_t b) {
    const int64_t rest = a % b;
    return rest < 0 ? rest + b : rest;
}

/// The zone in which an argument's times are shown: the constant at `zone_argument` if the call has it, else
/// the type's, else the session's.
const TimeZone& zoneOf(const Call& call, size_t argument, size_t zone_argument);

/// The constant zone name at `zone_argument` when resolving, or the type's; empty for the session's. Checks
/// that it exists.
std::string zoneNameOf(const Signature& call, size_t argument, size_t zone_argument);

/// ILLEGAL_TYPE_OF_ARGUMENT unless Date, Date32, DateTime, DateTime64.
void needDateOrTime(const Signature& call, size_t i);
/// Not Date and Date32.
void needTime(const Signature& call, size_t i);

/// `of(days)` for the local day of every row. Fractions of DateTime64 are rounded down, or towards zero when
/// it `truncates`.
template <typename Result, typename Of>
ColumnPtr fromDays(const Call& call, size_t argument, const TimeZone& zone, Of&& of, bool truncates = false) {
    const ColumnPtr column = full(call.column(argument));
    const Type& type = *call.argumentType(argument);
    PodVector<Result> result(call.rows);
    switch (type.kind()) {
        case TypeKind::Date: {
            const auto& days = as<FixedColumn<uint16_t>>(*column).values();
            for (size_t i = 0; i < call.rows; ++i) result[i] = static_cast<Result>(of(int32_t{days[i]}));
            break;
        }
        case TypeKind::Date32: {
            const auto& days = as<FixedColumn<int32_t>>(*column).values();
            for (size_t i = 0; i < call.rows; ++i) result[i] = static_cast<Result>(of(days[i]));
            break;
        }
        case TypeKind::DateTime: {
            const auto& seconds = as<FixedColumn<uint32_t>>(*column).values();
            if (zone.isFixed()) {  // one day added and taken away keeps the sum positive
                const int64_t offset = zone.offsetAt(0) + 86400;
                for (size_t i = 0; i < call.rows; ++i) {
                    const auto day =
                        static_cast<uint32_t>(static_cast<uint64_t>(seconds[i] + offset) / 86400);
                    result[i] = static_cast<Result>(of(static_cast<int32_t>(day) - 1));
                }
            } else {
                for (size_t i = 0; i < call.rows; ++i)
                    result[i] = static_cast<Result>(of(zone.localTime(seconds[i]).days));
            }
            break;
        }
        default: {
            const auto& ticks = as<FixedColumn<int64_t>>(*column).values();
            const int64_t scale = kPowersOf10[type.scale()];
            for (size_t i = 0; i < call.rows; ++i)
                result[i] = static_cast<Result>(
                    of(zone.localTime(truncates ? ticks[i] / scale : floorDivide(ticks[i], scale)).days));
        }
    }
    return fixedColumn(std::move(result));
}

/// `each(row, seconds)` for the moment of every row, rounded down to seconds; a date is its local midnight in
/// `zone`.
template <typename Each>
void eachMoment(
    const Call& call, size_t argument, const TimeZone& zone, Each&& each, bool truncates = false) {
    const ColumnPtr column = full(call.column(argument));
    const Type& type = *call.argumentType(argument);
    switch (type.kind()) {
        case TypeKind::Date: {
            const auto& days = as<FixedColumn<uint16_t>>(*column).values();
            for (size_t i = 0; i < call.rows; ++i) each(i, zone.dayStart(days[i]));
            break;
        }
        case TypeKind::Date32: {
            const auto& days = as<FixedColumn<int32_t>>(*column).values();
            for (size_t i = 0; i < call.rows; ++i) each(i, zone.dayStart(days[i]));
            break;
        }
        case TypeKind::DateTime: {
            const auto& seconds = as<FixedColumn<uint32_t>>(*column).values();
            for (size_t i = 0; i < call.rows; ++i) each(i, int64_t{seconds[i]});
            break;
        }
        default: {
            const auto& ticks = as<FixedColumn<int64_t>>(*column).values();
            const int64_t scale = kPowersOf10[type.scale()];
            for (size_t i = 0; i < call.rows; ++i)
                each(i, truncates ? ticks[i] / scale : floorDivide(ticks[i], scale));
        }
    }
}

/// `of(local time)` for every row.
template <typename Result, typename Of>
ColumnPtr fromLocalTimes(const Call& call, size_t argument, const TimeZone& zone, Of&& of) {
    PodVector<Result> result(call.rows);
    eachMoment(call, argument, zone, [&](size_t row, int64_t seconds) {
        result[row] = static_cast<Result>(of(zone.localTime(seconds)));
    });
    return fixedColumn(std::move(result));
}

/// Which week a day is in, as MySQL's WEEK() counts with `mode`; `year` is the year that the week belongs to
/// when the mode says so.
struct WeekOfYear {
    int32_t year;
    uint32_t week;
};

WeekOfYear weekOf(int32_t days, unsigned mode, bool with_year);

/// ISO: weeks begin on Monday, the first one has the year's first Thursday.
WeekOfYear isoWeekOf(int32_t days);

/// First day of a year's first ISO week.
int32_t isoYearStart(int32_t iso_year);

inline constexpr std::array<std::string_view, 12> kMonthNames = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
inline constexpr std::array<std::string_view, 7> kWeekdayNames = {
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};

/// The unit of 'day', 'days', 'd', 'dd', …: ClickHouse's and the SQL words; nothing for others.
std::optional<IntervalUnit> parseDatePart(std::string_view text);

}  // namespace shardd::functions
