// Parts of dates and times: years, months, weeks, hours, numbers of them since the epoch.

#include "server/functions/date_support.h"

namespace shardd::functions {

namespace {

/// (date or time[, zone]); a zone only with DateTime and DateTime64.
template <TypeKind kResult>
TypePtr typeOfPart(const Signature& call) {
    needCount(call, 1, 2);
    needDateOrTime(call, 0);
    if (call.count() == 2) zoneNameOf(call, 0, 1);
    return types::simple(kResult);
}

template <TypeKind kResult>
TypePtr typeOfTimePart(const Signature& call) {
    needCount(call, 1, 2);
    needTime(call, 0);
    if (call.count() == 2) zoneNameOf(call, 0, 1);
    return types::simple(kResult);
}

template <typename Result, auto kOf>
ColumnPtr runDayPart(const Call& call) {
    return fromDays<Result>(call, 0, zoneOf(call, 0, 1), kOf);
}

template <typename Result, auto kOf>
ColumnPtr runTimePart(const Call& call) {
    const TimeZone& zone = zoneOf(call, 0, 1);
    return fromLocalTimes<Result>(call, 0, zone, kOf);
}

// -- parts of the day -----------------------------------------------------------------------------

constexpr auto kYear = [](int32_t days) { return Calendar::at(days).year; };
constexpr auto kMonth = [](int32_t days) { return Calendar::at(days).month; };
constexpr auto kDay = [](int32_t days) { return Calendar::at(days).day; };
constexpr auto kQuarter = [](int32_t days) { return (Calendar::at(days).month - 1) / 3 + 1; };
constexpr auto kDayOfYear = [](int32_t days) {
    return dayOfYear(std::clamp(days, Calendar::kFirst, Calendar::kLast));
};
constexpr auto kDaysInMonth = [](int32_t days) {
    return daysInMonth(Calendar::at(days).year, Calendar::at(days).month);
};
constexpr auto kIsoYear = [](int32_t days) { return isoWeekOf(days).year; };
constexpr auto kIsoWeek = [](int32_t days) { return isoWeekOf(days).week; };
constexpr auto kYearMonth = [](int32_t days) {
    const CivilDate& date = Calendar::at(days);
    return static_cast<uint32_t>(date.year) * 100 + date.month;
};
constexpr auto kYearMonthDay = [](int32_t days) {
    const CivilDate& date = Calendar::at(days);
    return (static_cast<uint32_t>(date.year) * 100 + date.month) * 100 + date.day;
};
constexpr auto kSinceYearZero = [](int32_t days) { return static_cast<uint32_t>(days + 719528); };
constexpr auto kYearsSinceEpoch = [](int32_t days) { return Calendar::at(days).year - 1970; };
constexpr auto kMonthsSinceEpoch = [](int32_t days) {
    return (Calendar::at(days).year - 1970) * 12 + Calendar::at(days).month - 1;
};
constexpr auto kRelativeMonth = [](int32_t days) {
    return Calendar::at(days).year * 12 + Calendar::at(days).month;
};
constexpr auto kRelativeQuarter = [](int32_t days) {
    return Calendar::at(days).year * 4 + (Calendar::at(days).month - 1) / 3;
};
constexpr auto kRelativeDay = [](int32_t days) { return std::max(days, 0); };
constexpr auto kRelativeWeek = [](int32_t days) { return std::max(days + 3, 0) / 7; };

// -- parts of the time of day ---------------------------------------------------------------------

constexpr auto kHour = [](const LocalTime& time) { return time.hour(); };
constexpr auto kMinute = [](const LocalTime& time) { return time.minute(); };
constexpr auto kSecond = [](const LocalTime& time) { return time.second(); };

ColumnPtr runDateTimeNumber(const Call& call) {
    const TimeZone& zone = zoneOf(call, 0, 1);
    return fromLocalTimes<uint64_t>(call, 0, zone, [](const LocalTime& time) {
        const uint64_t date = kYearMonthDay(time.days);
        return date * 1000000 + time.hour() * 10000 + time.minute() * 100 + time.second();
    });
}

/// Minutes and seconds of UTC: no calendar is needed.
ColumnPtr runSecond(const Call& call) { return runTimePart<uint8_t, kSecond>(call); }

/// Digits behind the second, `kDigits` of them.
template <typename Result, unsigned kDigits>
ColumnPtr runFraction(const Call& call) {
    if (call.argumentType(0)->kind() != TypeKind::DateTime64)
        return fixedColumn(PodVector<Result>(call.rows, 0));
    const ColumnPtr column = full(call.column(0));
    const auto& ticks = as<FixedColumn<int64_t>>(*column).values();
    const unsigned scale = call.argumentType(0)->scale();
    const int64_t unit = kPowersOf10[scale];
    return eachRow<Result>(call.rows, [&](size_t row) {
        const int64_t rest = floorModulo(ticks[row], unit);
        return static_cast<Result>(scale <= kDigits ? rest * kPowersOf10[kDigits - scale]
                                                    : rest / kPowersOf10[scale - kDigits]);
    });
}

/// Hours, minutes, seconds since the epoch.
template <int64_t kUnit>
ColumnPtr runRelative(const Call& call) {
    const TimeZone& zone = zoneOf(call, 0, 1);
    PodVector<uint32_t> result(call.rows);
    // Hours are counted on the clock of zones whose offset has a fraction of an hour, as ClickHouse does.
    eachMoment(call, 0, zone, [&](size_t row, int64_t seconds) {
        int64_t shifted = seconds;
        if (kUnit > 1) shifted += floorModulo(zone.offsetAt(seconds), 1800 < kUnit ? kUnit : 60);
        result[row] = static_cast<uint32_t>(floorDivide(shifted, kUnit));
    });
    return fixedColumn(std::move(result));
}

// -- weeks ----------------------------------------------------------------------------------------

/// (date or time or text[, mode[, zone]]).
template <TypeKind kResult, bool kTakesText>
TypePtr typeOfWeekPart(const Signature& call) {
    needCount(call, 1, 3);
    if (!(kTakesText && call.type(0)->kind() == TypeKind::String)) needDateOrTime(call, 0);
    if (call.count() > 1 && call.type(1)->kind() != TypeKind::UInt8) illegalArgument(call, 1, "UInt8");
    if (call.count() > 2) zoneNameOf(call, 0, 2);
    return types::simple(kResult);
}

unsigned modeOf(const Call& call) {
    return call.count() > 1 ? static_cast<unsigned>(IntegerArgument(call.column(1))[0]) : 0;
}

/// Text is read as a DateTime64 first.
template <typename Result, typename Of>
ColumnPtr fromDaysOrText(const Call& call, Of&& of) {
    if (call.argumentType(0)->kind() != TypeKind::String)
        return fromDays<Result>(call, 0, zoneOf(call, 0, 2), of);
    std::vector<NamedColumn> arguments(call.arguments.begin(), call.arguments.end());
    const TypePtr type = types::dateTime64(3, call.context.time_zone);
    arguments[0] = {arguments[0].name, type, castArgument(arguments[0], type, call.rows)};
    const Call inner{call.name, arguments, call.type, call.rows, call.context};
    return fromDays<Result>(inner, 0, zoneOf(inner, 0, 2), of);
}

ColumnPtr runDayOfWeek(const Call& call) {
    const unsigned mode = modeOf(call) & 3;
    const bool sunday_first = mode == 2 || mode == 3;
    const bool from_zero = mode == 1 || mode == 2;
    return fromDaysOrText<uint8_t>(call, [=](int32_t days) {
        unsigned day = dayOfWeek(days);
        if (sunday_first) day = day % 7 + 1;
        return day - from_zero;
    });
}

ColumnPtr runWeek(const Call& call) {
    const unsigned mode = modeOf(call);
    return fromDaysOrText<uint8_t>(call, [=](int32_t days) { return weekOf(days, mode, false).week; });
}

ColumnPtr runYearWeek(const Call& call) {
    const unsigned mode = modeOf(call);
    return fromDaysOrText<uint32_t>(call, [=](int32_t days) {
        const WeekOfYear week = weekOf(days, mode | 2, true);
        return static_cast<uint32_t>(week.year) * 100 + week.week;
    });
}

// -- zones ----------------------------------------------------------------------------------------

TypePtr typeOfZoneOffset(const Signature& call) {
    needCount(call, 1, 2);
    needTime(call, 0);
    return types::simple(TypeKind::Int32);
}

ColumnPtr runZoneOffset(const Call& call) {
    const TimeZone& zone = zoneOf(call, 0, 1);
    PodVector<int32_t> result(call.rows);
    eachMoment(call, 0, zone, [&](size_t row, int64_t seconds) { result[row] = zone.offsetAt(seconds); });
    return fixedColumn(std::move(result));
}

TypePtr typeOfZoneName(const Signature& call) {
    needCount(call, 1);
    needTime(call, 0);
    return types::string();
}

ColumnPtr runZoneName(const Call& call) { return constantText(zoneOf(call, 0, 1).name(), call.rows); }

}  // namespace

std::span<const FunctionInfo> datePartsFunctions() {
    static const FunctionInfo kList[] = {
        define<"toYear", typeOfPart<TypeKind::UInt16>, runDayPart<uint16_t, kYear>>(
            "toYear(date[, zone])", "The year.", "toYear(toDate('2024-02-29'))", "2024"),
        define<"toQuarter", typeOfPart<TypeKind::UInt8>, runDayPart<uint8_t, kQuarter>>(
            "toQuarter(date[, zone])", "The quarter, 1 to 4.", "toQuarter(toDate('2024-02-29'))", "1"),
        define<"toMonth", typeOfPart<TypeKind::UInt8>, runDayPart<uint8_t, kMonth>>(
            "toMonth(date[, zone])", "The month, 1 to 12.", "toMonth(toDate('2024-02-29'))", "2"),
        define<"toDayOfMonth", typeOfPart<TypeKind::UInt8>, runDayPart<uint8_t, kDay>>(
            "toDayOfMonth(date[, zone])", "The day, 1 to 31.", "toDayOfMonth(toDate('2024-02-29'))", "29"),
        define<"toDayOfYear", typeOfPart<TypeKind::UInt16>, runDayPart<uint16_t, kDayOfYear>>(
            "toDayOfYear(date[, zone])", "The day of the year, 1 to 366.",
            "toDayOfYear(toDate('2024-02-29'))", "60"),
        define<"toDaysInMonth", typeOfPart<TypeKind::UInt8>, runDayPart<uint8_t, kDaysInMonth>>(
            "toDaysInMonth(date[, zone])", "Days of the month of the date.",
            "toDaysInMonth(toDate('2024-02-29'))", "29"),
        define<"toISOYear", typeOfPart<TypeKind::UInt16>, runDayPart<uint16_t, kIsoYear>>(
            "toISOYear(date[, zone])", "The year of the ISO week.", "toISOYear(toDate('2023-01-01'))",
            "2022"),
        define<"toISOWeek", typeOfPart<TypeKind::UInt8>, runDayPart<uint8_t, kIsoWeek>>(
            "toISOWeek(date[, zone])", "The ISO week, 1 to 53.", "toISOWeek(toDate('2023-01-01'))", "52"),
        define<"toYYYYMM", typeOfPart<TypeKind::UInt32>, runDayPart<uint32_t, kYearMonth>>(
            "toYYYYMM(date[, zone])", "Year and month as one number.", "toYYYYMM(toDate('2024-02-29'))",
            "202402"),
        define<"toYYYYMMDD", typeOfPart<TypeKind::UInt32>, runDayPart<uint32_t, kYearMonthDay>>(
            "toYYYYMMDD(date[, zone])", "Year, month and day as one number.",
            "toYYYYMMDD(toDate('2024-02-29'))", "20240229"),
        define<"toYYYYMMDDhhmmss", typeOfPart<TypeKind::UInt64>, runDateTimeNumber>(
            "toYYYYMMDDhhmmss(time[, zone])", "Date and time as one number.",
            "toYYYYMMDDhhmmss(toDate('2024-02-29'))", "20240229000000"),
        define<"toDaysSinceYearZero", typeOfPart<TypeKind::UInt32>, runDayPart<uint32_t, kSinceYearZero>>(
            "toDaysSinceYearZero(date[, zone])", "Days since 0000-01-01.",
            "toDaysSinceYearZero(toDate('1970-01-01'))", "719528"),
        define<"toYearNumSinceEpoch", typeOfPart<TypeKind::UInt16>, runDayPart<uint16_t, kYearsSinceEpoch>>(
            "toYearNumSinceEpoch(date)", "Years since 1970.", "toYearNumSinceEpoch(toDate('2024-02-29'))",
            "54"),
        define<"toMonthNumSinceEpoch", typeOfPart<TypeKind::UInt32>, runDayPart<uint32_t, kMonthsSinceEpoch>>(
            "toMonthNumSinceEpoch(date)", "Months since January 1970.",
            "toMonthNumSinceEpoch(toDate('1971-02-01'))", "13"),
        define<"toRelativeYearNum", typeOfPart<TypeKind::UInt16>, runDayPart<uint16_t, kYear>>(
            "toRelativeYearNum(date[, zone])", "A number that grows by one each year.",
            "toRelativeYearNum(toDate('2024-02-29'))", "2024"),
        define<"toRelativeQuarterNum", typeOfPart<TypeKind::UInt32>, runDayPart<uint32_t, kRelativeQuarter>>(
            "toRelativeQuarterNum(date[, zone])", "A number that grows by one each quarter.",
            "toRelativeQuarterNum(toDate('2024-02-29'))", "8096"),
        define<"toRelativeMonthNum", typeOfPart<TypeKind::UInt32>, runDayPart<uint32_t, kRelativeMonth>>(
            "toRelativeMonthNum(date[, zone])", "A number that grows by one each month.",
            "toRelativeMonthNum(toDate('2024-02-29'))", "24290"),
        define<"toRelativeWeekNum", typeOfPart<TypeKind::UInt32>, runDayPart<uint32_t, kRelativeWeek>>(
            "toRelativeWeekNum(date[, zone])", "A number that grows by one each Monday.",
            "toRelativeWeekNum(toDate('1970-01-05'))", "1"),
        define<"toRelativeDayNum", typeOfPart<TypeKind::UInt32>, runDayPart<uint32_t, kRelativeDay>>(
            "toRelativeDayNum(date[, zone])", "Days since the epoch.",
            "toRelativeDayNum(toDate('1970-01-05'))", "4"),
        define<"toRelativeHourNum", typeOfPart<TypeKind::UInt32>, runRelative<3600>>(
            "toRelativeHourNum(time[, zone])", "Hours since the epoch.",
            "toRelativeHourNum(toDateTime('1970-01-02 01:00:00', 'UTC'))", "25"),
        define<"toRelativeMinuteNum", typeOfPart<TypeKind::UInt32>, runRelative<60>>(
            "toRelativeMinuteNum(time[, zone])", "Minutes since the epoch.",
            "toRelativeMinuteNum(toDateTime('1970-01-01 01:00:00', 'UTC'))", "60"),
        define<"toRelativeSecondNum", typeOfPart<TypeKind::UInt32>, runRelative<1>>(
            "toRelativeSecondNum(time[, zone])", "Seconds since the epoch.",
            "toRelativeSecondNum(toDateTime('1970-01-01 00:01:00', 'UTC'))", "60"),
        define<"toHour", typeOfTimePart<TypeKind::UInt8>, runTimePart<uint8_t, kHour>>(
            "toHour(time[, zone])", "The hour, 0 to 23.", "toHour(toDateTime('2024-02-29 12:34:56', 'UTC'))",
            "12"),
        define<"toMinute", typeOfTimePart<TypeKind::UInt8>, runTimePart<uint8_t, kMinute>>(
            "toMinute(time[, zone])", "The minute, 0 to 59.",
            "toMinute(toDateTime('2024-02-29 12:34:56', 'UTC'))", "34"),
        define<"toSecond", typeOfTimePart<TypeKind::UInt8>, runSecond>(
            "toSecond(time[, zone])", "The second, 0 to 59.",
            "toSecond(toDateTime('2024-02-29 12:34:56', 'UTC'))", "56"),
        define<"toMillisecond", typeOfTimePart<TypeKind::UInt16>, runFraction<uint16_t, 3>>(
            "toMillisecond(time[, zone])", "Milliseconds within the second.",
            "toMillisecond(toDateTime64('2024-02-29 12:34:56.789', 3, 'UTC'))", "789"),
        define<"toMicrosecond", typeOfTimePart<TypeKind::UInt32>, runFraction<uint32_t, 6>>(
            "toMicrosecond(time[, zone])", "Microseconds within the second.",
            "toMicrosecond(toDateTime64('2024-02-29 12:34:56.789', 3, 'UTC'))", "789000"),
        define<"toNanosecond", typeOfTimePart<TypeKind::UInt32>, runFraction<uint32_t, 9>>(
            "toNanosecond(time[, zone])", "Nanoseconds within the second.",
            "toNanosecond(toDateTime64('2024-02-29 12:34:56.789', 3, 'UTC'))", "789000000"),
        define<"toDayOfWeek", typeOfWeekPart<TypeKind::UInt8, true>, runDayOfWeek, kMayThrow, 6>(
            "toDayOfWeek(date[, mode[, zone]])", "The day of the week; Monday is 1 in mode 0.",
            "toDayOfWeek(toDate('2024-02-29'))", "4"),
        define<"toWeek", typeOfWeekPart<TypeKind::UInt8, true>, runWeek, kMayThrow, 6>(
            "toWeek(date[, mode[, zone]])", "The week of the year, as MySQL's WEEK() counts in ten modes.",
            "toWeek(toDate('2024-02-29'))", "8"),
        define<"toYearWeek", typeOfWeekPart<TypeKind::UInt32, true>, runYearWeek, kMayThrow, 6>(
            "toYearWeek(date[, mode[, zone]])", "The year and the week as one number.",
            "toYearWeek(toDate('2024-02-29'))", "202408"),
        define<"timezoneOffset", typeOfZoneOffset, runZoneOffset>(
            "timezoneOffset(time)", "Seconds east of UTC at that time.",
            "timezoneOffset(toDateTime('2024-02-29 12:00:00', 'Asia/Tokyo'))", "32400"),
        define<"timezoneOf", typeOfZoneName, runZoneName>(
            "timezoneOf(time)", "The name of the time zone of a type.",
            "timezoneOf(toDateTime('2024-02-29 12:00:00', 'UTC'))", "UTC"),
    };
    return kList;
}

}  // namespace shardd::functions
