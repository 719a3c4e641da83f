#include "server/functions/date_support.h"

namespace shardd::functions {

const CivilDate* const Calendar::table = [] {
    static std::array<CivilDate, static_cast<size_t>(kLast - kFirst + 1)> days;
    for (int32_t day = kFirst; day <= kLast; ++day)
        days[static_cast<size_t>(day - kFirst)] = civilFromDays(day);
    return days.data();
}();

const TimeZone& zoneOf(const Call& call, size_t argument, size_t zone_argument) {
    if (zone_argument < call.count()) {
        const std::string_view name = TextArgument(call.column(zone_argument))[0];
        if (!name.empty()) return TimeZone::get(name);
    }
    const std::string& own = call.argumentType(argument)->timeZone();
    return TimeZone::get(own.empty() ? call.context.time_zone : own);
}

std::string zoneNameOf(const Signature& call, size_t argument, size_t zone_argument) {
    if (zone_argument < call.count()) {
        if (call.type(zone_argument)->kind() != TypeKind::String)
            illegalArgument(call, zone_argument, "const String");
        const auto zone = constantValue(call.arguments[zone_argument]);
        if (!zone)
            throw Error(ErrorCode::ILLEGAL_COLUMN,
                        "Argument {} of function {} must be a constant string: the time zone",
                        zone_argument + 1, call.name);
        const std::string name = zone->get<std::string>();
        if (name.empty())
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "Provided time zone must be non-empty and be a valid time zone");
        return TimeZone::get(name).name();
    }
    return argument < call.count() ? call.type(argument)->timeZone() : std::string();
}

void needDateOrTime(const Signature& call, size_t i) {
    if (!call.type(i)->isDateOrTime()) illegalArgument(call, i, "Date, Date32, DateTime or DateTime64");
}

void needTime(const Signature& call, size_t i) {
    const TypeKind kind = call.type(i)->kind();
    if (kind != TypeKind::DateTime && kind != TypeKind::DateTime64)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Illegal argument of type {} for function {}",
                    call.type(i)->name(), call.name);
}

WeekOfYear isoWeekOf(int32_t days) {
    const int32_t thursday = days - static_cast<int32_t>(dayOfWeek(days)) + 4;
    const int32_t year = Calendar::at(thursday).year;
    const int32_t first = daysFromCivil(year, 1, 1);
    return {year, static_cast<uint32_t>((thursday - first) / 7) + 1};
}

int32_t isoYearStart(int32_t iso_year) {
    const int32_t fourth = daysFromCivil(iso_year, 1, 4);
    return fourth - static_cast<int32_t>(dayOfWeek(fourth)) + 1;
}

WeekOfYear weekOf(int32_t days, unsigned mode, bool with_year) {
    // Mode bits, as MySQL has them: 1 = weeks begin on Monday, 2 = the week's own year, 4 = the first week is
    // the first full one; with Monday the last bit counts the other way round. 8 = week 1 is the one with
    // January 1.
    const bool with_january_first = mode & 8;
    bool monday = mode & 1;
    const bool own_year = (mode & 2) || with_year;
    bool full_first = mode & 4;
    if (!monday) full_first = !full_first;
    const CivilDate date = Calendar::at(days);
    int32_t year = date.year;
    auto weekday = [&](int32_t day) {
        return static_cast<int32_t>(monday ? dayOfWeek(day) - 1 : dayOfWeek(day) % 7);
    };
    if (with_january_first) {
        const int32_t next_first = daysFromCivil(year + 1, 1, 1);
        if (days - weekday(days) + 7 > next_first) return {year + 1, 1};
        const int32_t first = daysFromCivil(year, 1, 1);
        return {year, static_cast<uint32_t>((days - weekday(days) - (first - weekday(first))) / 7) + 1};
    }
    int32_t first = daysFromCivil(year, 1, 1);
    int32_t first_weekday = weekday(first);
    bool week_year = own_year;
    if (date.month == 1 && date.day <= 7 - first_weekday) {
        if (!week_year && ((full_first && first_weekday != 0) || (!full_first && first_weekday >= 4)))
            return {year, 0};
        week_year = true;
        --year;
        const int32_t length = isLeapYear(year) ? 366 : 365;
        first -= length;
        first_weekday = (first_weekday + 53 * 7 - length) % 7;
    }
    const bool later = (full_first && first_weekday != 0) || (!full_first && first_weekday >= 4);
    const int32_t since = later ? days - (first + (7 - first_weekday)) : days - (first - first_weekday);
    if (week_year && since >= 52 * 7) {
        first_weekday = (first_weekday + (isLeapYear(year) ? 366 : 365)) % 7;
        if ((!full_first && first_weekday < 4) || (full_first && first_weekday == 0)) return {year + 1, 1};
    }
    return {year, static_cast<uint32_t>(since / 7) + 1};
}

std::optional<IntervalUnit> parseDatePart(std::string_view text) {
    std::string word(text);
    for (char& c : word)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);

    struct Word {
        std::string_view text;
        IntervalUnit unit;
    };

    static constexpr Word kWords[] = {
        {"nanosecond", IntervalUnit::Nanosecond},
        {"nanoseconds", IntervalUnit::Nanosecond},
        {"ns", IntervalUnit::Nanosecond},
        {"microsecond", IntervalUnit::Microsecond},
        {"microseconds", IntervalUnit::Microsecond},
        {"us", IntervalUnit::Microsecond},
        {"u", IntervalUnit::Microsecond},
        {"millisecond", IntervalUnit::Millisecond},
        {"milliseconds", IntervalUnit::Millisecond},
        {"ms", IntervalUnit::Millisecond},
        {"second", IntervalUnit::Second},
        {"seconds", IntervalUnit::Second},
        {"sql_tsi_second", IntervalUnit::Second},
        {"ss", IntervalUnit::Second},
        {"s", IntervalUnit::Second},
        {"minute", IntervalUnit::Minute},
        {"minutes", IntervalUnit::Minute},
        {"sql_tsi_minute", IntervalUnit::Minute},
        {"mi", IntervalUnit::Minute},
        {"n", IntervalUnit::Minute},
        {"hour", IntervalUnit::Hour},
        {"hours", IntervalUnit::Hour},
        {"sql_tsi_hour", IntervalUnit::Hour},
        {"hh", IntervalUnit::Hour},
        {"h", IntervalUnit::Hour},
        {"day", IntervalUnit::Day},
        {"days", IntervalUnit::Day},
        {"sql_tsi_day", IntervalUnit::Day},
        {"dd", IntervalUnit::Day},
        {"d", IntervalUnit::Day},
        {"week", IntervalUnit::Week},
        {"weeks", IntervalUnit::Week},
        {"sql_tsi_week", IntervalUnit::Week},
        {"wk", IntervalUnit::Week},
        {"ww", IntervalUnit::Week},
        {"month", IntervalUnit::Month},
        {"months", IntervalUnit::Month},
        {"sql_tsi_month", IntervalUnit::Month},
        {"mm", IntervalUnit::Month},
        {"m", IntervalUnit::Month},
        {"quarter", IntervalUnit::Quarter},
        {"quarters", IntervalUnit::Quarter},
        {"sql_tsi_quarter", IntervalUnit::Quarter},
        {"qq", IntervalUnit::Quarter},
        {"q", IntervalUnit::Quarter},
        {"year", IntervalUnit::Year},
        {"years", IntervalUnit::Year},
        {"sql_tsi_year", IntervalUnit::Year},
        {"yyyy", IntervalUnit::Year},
        {"yy", IntervalUnit::Year},
    };
    for (const Word& known : kWords)
        if (known.text == word) return known.unit;
    return std::nullopt;
}

}  // namespace shardd::functions
