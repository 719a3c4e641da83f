// Dates and times as text by a pattern: formatDateTime, formatDateTimeInJodaSyntax, fromUnixTimestamp,
// dateName, monthName.

#include "server/functions/date_support.h"

namespace shardd::functions {

namespace {

/// A moment in the parts that patterns ask for.
struct Shown {
    LocalTime local;
    CivilDate date;
    int64_t nanoseconds = 0;
    int32_t offset = 0;

    unsigned hour12() const { return local.hour() % 12 == 0 ? 12 : local.hour() % 12; }
};

void writeNumber(TextBuilder& out, int64_t value, unsigned digits) {
    char buffer[20];
    size_t at = sizeof(buffer);
    uint64_t rest = static_cast<uint64_t>(value < 0 ? -value : value);
    do {
        buffer[--at] = static_cast<char>('0' + rest % 10);
        rest /= 10;
        if (digits > 0) --digits;
    } while (rest > 0 || digits > 0);
    if (value < 0) buffer[--at] = '-';
    out.append(std::string_view(buffer + at, sizeof(buffer) - at));
}

void writeOffset(TextBuilder& out, int32_t offset) {
    out.append(offset < 0 ? '-' : '+');
    const auto minutes = static_cast<unsigned>(offset < 0 ? -offset : offset) / 60;
    writeNumber(out, minutes / 60, 2);
    writeNumber(out, minutes % 60, 2);
}

void writeClock(TextBuilder& out, const LocalTime& local, bool with_seconds) {
    writeNumber(out, local.hour(), 2);
    out.append(':');
    writeNumber(out, local.minute(), 2);
    if (!with_seconds) return;
    out.append(':');
    writeNumber(out, local.second(), 2);
}

void writeIsoDate(TextBuilder& out, const CivilDate& date) {
    writeNumber(out, date.year, 4);
    out.append('-');
    writeNumber(out, date.month, 2);
    out.append('-');
    writeNumber(out, date.day, 2);
}

std::string_view weekdayOf(const Shown& shown) { return kWeekdayNames[dayOfWeek(shown.local.days) - 1]; }

/// One letter behind '%', as MySQL's DATE_FORMAT has it; false for a letter that has no meaning.
bool writeMysql(char letter, const Shown& shown, TextBuilder& out) {
    const CivilDate& date = shown.date;
    const LocalTime& local = shown.local;
    switch (letter) {
        case 'Y':
            writeNumber(out, date.year, 4);
            break;
        case 'y':
            writeNumber(out, date.year % 100, 2);
            break;
        case 'C':
            writeNumber(out, date.year / 100, 2);
            break;
        case 'm':
        case 'c':
            writeNumber(out, date.month, 2);
            break;
        case 'd':
            writeNumber(out, date.day, 2);
            break;
        case 'e':
            writeNumber(out, date.day, 1);
            break;
        case 'b':
            out.append(kMonthNames[date.month - 1u].substr(0, 3));
            break;
        case 'M':
            out.append(kMonthNames[date.month - 1u]);
            break;
        case 'a':
            out.append(weekdayOf(shown).substr(0, 3));
            break;
        case 'W':
            out.append(weekdayOf(shown));
            break;
        case 'u':
            writeNumber(out, dayOfWeek(local.days), 1);
            break;
        case 'w':
            writeNumber(out, dayOfWeek(local.days) % 7, 1);
            break;
        case 'j':
            writeNumber(out, dayOfYear(local.days), 3);
            break;
        case 'Q':
            writeNumber(out, (date.month - 1) / 3 + 1, 1);
            break;
        case 'G':
            writeNumber(out, isoWeekOf(local.days).year, 4);
            break;
        case 'g':
            writeNumber(out, isoWeekOf(local.days).year % 100, 2);
            break;
        case 'V':
            writeNumber(out, isoWeekOf(local.days).week, 2);
            break;
        case 'D':
            writeNumber(out, date.month, 2);
            out.append('/');
            writeNumber(out, date.day, 2);
            out.append('/');
            writeNumber(out, date.year % 100, 2);
            break;
        case 'F':
            writeIsoDate(out, date);
            break;
        case 'H':
        case 'k':
            writeNumber(out, local.hour(), 2);
            break;
        case 'h':
        case 'I':
        case 'l':
            writeNumber(out, shown.hour12(), 2);
            break;
        case 'i':
            writeNumber(out, local.minute(), 2);
            break;
        case 's':
        case 'S':
            writeNumber(out, local.second(), 2);
            break;
        case 'f':
            writeNumber(out, shown.nanoseconds / 1000, 6);
            break;
        case 'p':
            out.append(local.hour() < 12 ? "AM" : "PM");
            break;
        case 'r':
            writeNumber(out, shown.hour12(), 2);
            out.append(':');
            writeNumber(out, local.minute(), 2);
            out.append(local.hour() < 12 ? " AM" : " PM");
            break;
        case 'R':
            writeClock(out, local, false);
            break;
        case 'T':
            writeClock(out, local, true);
            break;
        case 'z':
            writeOffset(out, shown.offset);
            break;
        case 'n':
            out.append('\n');
            break;
        case 't':
            out.append('\t');
            break;
        case '%':
            out.append('%');
            break;
        default:
            return false;
    }
    return true;
}

void checkMysql(std::string_view pattern, std::string_view function) {
    constexpr std::string_view kKnown = "YyCmcdebMaWuwjQGgVDFHkhIlisSfprRTznt%";
    for (size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '%') continue;
        if (++i == pattern.size())
            throw Error(ErrorCode::BAD_ARGUMENTS,
                        "'%' must not be the last character in the format string, use '%%' instead");
        if (pattern[i] == 'U' || pattern[i] == 'v' || pattern[i] == 'x' || pattern[i] == 'X')
            throw Error(ErrorCode::NOT_IMPLEMENTED, "format is not supported for %{}", pattern[i]);
        if (kKnown.find(pattern[i]) == std::string_view::npos)
            throw Error(ErrorCode::BAD_ARGUMENTS,
                        "Incorrect syntax '{}', symbol is not supported '{}' for function {}", pattern,
                        pattern[i], function);
    }
}

void writeByMysql(std::string_view pattern, const Shown& shown, TextBuilder& out) {
    for (size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == '%' && i + 1 < pattern.size())
            writeMysql(pattern[++i], shown, out);
        else
            out.append(pattern[i]);
    }
}

/// A run of one letter, as Joda-Time has it.
void writeJoda(char letter, unsigned count, const Shown& shown, std::string_view zone, TextBuilder& out) {
    const CivilDate& date = shown.date;
    const LocalTime& local = shown.local;
    auto year = [&](int32_t value) {
        if (count == 2)
            writeNumber(out, value % 100, 2);
        else
            writeNumber(out, value, count);
    };
    switch (letter) {
        case 'G':
            out.append("AD");
            break;
        case 'C':
            writeNumber(out, date.year / 100, count);
            break;
        case 'Y':
        case 'y':
            year(date.year);
            break;
        case 'x':
            year(isoWeekOf(local.days).year);
            break;
        case 'w':
            writeNumber(out, isoWeekOf(local.days).week, count);
            break;
        case 'e':
            writeNumber(out, dayOfWeek(local.days), count);
            break;
        case 'E':
            out.append(count < 4 ? weekdayOf(shown).substr(0, 3) : weekdayOf(shown));
            break;
        case 'D':
            writeNumber(out, dayOfYear(local.days), count);
            break;
        case 'M':
            if (count < 3)
                writeNumber(out, date.month, count);
            else
                out.append(count == 3 ? kMonthNames[date.month - 1u].substr(0, 3)
                                      : kMonthNames[date.month - 1u]);
            break;
        case 'd':
            writeNumber(out, date.day, count);
            break;
        case 'a':
            out.append(local.hour() < 12 ? "AM" : "PM");
            break;
        case 'K':
            writeNumber(out, local.hour() % 12, count);
            break;
        case 'h':
            writeNumber(out, shown.hour12(), count);
            break;
        case 'H':
            writeNumber(out, local.hour(), count);
            break;
        case 'k':
            writeNumber(out, local.hour() == 0 ? 24 : local.hour(), count);
            break;
        case 'm':
            writeNumber(out, local.minute(), count);
            break;
        case 's':
            writeNumber(out, local.second(), count);
            break;
        case 'S': {
            char digits[10];
            std::snprintf(digits, sizeof(digits), "%09d", static_cast<int>(shown.nanoseconds));
            out.append(std::string_view(digits, std::min(count, 9u)));
            for (unsigned i = 9; i < count; ++i) out.append('0');
            break;
        }
        case 'z':
            if (count <= 3)
                throw Error(ErrorCode::NOT_IMPLEMENTED, "Short name time zone is not yet supported");
            out.append(zone);
            break;
        default:
            throw Error(ErrorCode::NOT_IMPLEMENTED, "format is not supported for {}", letter);
    }
}

void writeByJoda(std::string_view pattern, const Shown& shown, std::string_view zone, TextBuilder& out) {
    for (size_t i = 0; i < pattern.size();) {
        const char c = pattern[i];
        if (c == '\'') {
            if (pattern.substr(i, 2) == "''") {
                out.append('\'');
                i += 2;
                continue;
            }
            const size_t end = pattern.find('\'', i + 1);
            if (end == std::string_view::npos)
                throw Error(ErrorCode::BAD_ARGUMENTS, "No closing single quote for literal");
            out.append(pattern.substr(i + 1, end - i - 1));
            i = end + 1;
        } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
            unsigned count = 1;
            while (i + count < pattern.size() && pattern[i + count] == c) ++count;
            writeJoda(c, count, shown, zone, out);
            i += count;
        } else {
            out.append(c);
            ++i;
        }
    }
}

template <bool kJoda>
ColumnPtr formatMoments(const Call& call) {
    const TimeZone& zone = zoneOf(call, 0, 2);
    const TextArgument patterns(call.column(1));
    std::optional<IntegerArgument> ticks;
    const bool has_fraction = call.argumentType(0)->kind() == TypeKind::DateTime64;
    if (has_fraction) ticks.emplace(call.column(0));
    const unsigned scale = has_fraction ? call.argumentType(0)->scale() : 0;
    if (!kJoda && call.rows > 0) checkMysql(patterns[0], call.name);
    TextBuilder out(call.rows, call.rows * 20);
    eachMoment(call, 0, zone, [&](size_t row, int64_t seconds) {
        Shown shown;
        shown.local = zone.localTime(seconds);
        shown.date = Calendar::at(shown.local.days);
        shown.offset = zone.offsetAt(seconds);
        if (has_fraction)
            shown.nanoseconds = floorModulo((*ticks)[row], kPowersOf10[scale]) * kPowersOf10[9 - scale];
        if constexpr (kJoda) {
            writeByJoda(patterns[row], shown, zone.name(), out);
        } else {
            if (row > 0 && !patterns.constant()) checkMysql(patterns[row], call.name);
            writeByMysql(patterns[row], shown, out);
        }
        out.endRow();
    });
    return out.finish();
}

TypePtr typeOfFormat(const Signature& call) {
    needCount(call, 2, 3);
    if (!call.type(0)->isDateOrTime())
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal type {} of first argument of function {}. Should be a date or a date with time",
                    call.type(0)->name(), call.name);
    needString(call, 1);
    if (call.count() == 3) zoneNameOf(call, 0, 2);
    return types::string();
}

// -- fromUnixTimestamp ----------------------------------------------------------------------------

template <bool kJoda>
TypePtr typeOfFromUnix(const Signature& call) {
    needCount(call, kJoda ? 1 : 1, 3);
    if (call.count() == 1) {
        if (!call.type(0)->isInteger())
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "Illegal type {} of first argument of function {} when arguments size is 1. Should "
                        "be integer",
                        call.type(0)->name(), call.name);
        return types::dateTime();
    }
    if (!call.type(0)->isInteger() && !call.type(0)->isDateOrTime())
        illegalArgument(call, 0, "an integer, a date or a time");
    needString(call, 1);
    if (call.count() == 3) zoneNameOf(call, SIZE_MAX, 2);
    return types::string();
}

template <bool kJoda>
ColumnPtr runFromUnix(const Call& call) {
    if (call.argumentType(0)->isDateOrTime() && call.count() > 1) return formatMoments<kJoda>(call);
    const IntegerArgument values(call.column(0));
    const bool is_unsigned = call.argumentType(0)->kind() == TypeKind::UInt64;
    ColumnPtr moments = eachRow<uint32_t>(call.rows, [&](size_t row) {
        if (is_unsigned && values[row] < 0) return UINT32_MAX;
        return static_cast<uint32_t>(std::clamp<int64_t>(values[row], 0, UINT32_MAX));
    });
    if (call.count() == 1) return moments;
    std::vector<NamedColumn> arguments(call.arguments.begin(), call.arguments.end());
    arguments[0] = {arguments[0].name, types::dateTime(), std::move(moments)};
    return formatMoments<kJoda>(Call{call.name, arguments, call.type, call.rows, call.context});
}

// -- names ----------------------------------------------------------------------------------------

enum class Part { Year, Quarter, Month, DayOfYear, Day, Week, Weekday, Hour, Minute, Second };

std::optional<Part> partByName(std::string_view text) {
    std::string word(text);
    for (char& c : word)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
    static constexpr std::pair<std::string_view, Part> kParts[] = {
        {"year", Part::Year},           {"quarter", Part::Quarter}, {"month", Part::Month},
        {"dayofyear", Part::DayOfYear}, {"day", Part::Day},         {"week", Part::Week},
        {"weekday", Part::Weekday},     {"hour", Part::Hour},       {"minute", Part::Minute},
        {"second", Part::Second}};
    for (const auto& [name, part] : kParts)
        if (name == word) return part;
    return std::nullopt;
}

TypePtr typeOfDateName(const Signature& call) {
    needCount(call, 2, 3);
    needString(call, 0);
    needConstant(call, 0);
    const std::string name = constantValue(call.arguments[0])->get<std::string>();
    const auto part = partByName(name);
    if (!call.type(1)->isDateOrTime()) illegalArgument(call, 1, "a date or a time");
    if (!part) throw Error(ErrorCode::BAD_ARGUMENTS, "Invalid date part {} for function {}", name, call.name);
    if (*part >= Part::Hour && call.type(1)->isDate())
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Illegal argument of type {} for function {}",
                    call.type(1)->name(), call.name);
    if (call.count() == 3) zoneNameOf(call, 1, 2);
    return types::string();
}

void writePart(Part part, const LocalTime& local, TextBuilder& out) {
    const CivilDate& date = Calendar::at(local.days);
    switch (part) {
        case Part::Year:
            return writeNumber(out, date.year, 1);
        case Part::Quarter:
            return writeNumber(out, (date.month - 1) / 3 + 1, 1);
        case Part::Month:
            return out.append(kMonthNames[date.month - 1u]);
        case Part::DayOfYear:
            return writeNumber(out, dayOfYear(local.days), 1);
        case Part::Day:
            return writeNumber(out, date.day, 1);
        case Part::Week:
            return writeNumber(out, isoWeekOf(local.days).week, 1);
        case Part::Weekday:
            return out.append(kWeekdayNames[dayOfWeek(local.days) - 1]);
        case Part::Hour:
            return writeNumber(out, local.hour(), 1);
        case Part::Minute:
            return writeNumber(out, local.minute(), 1);
        case Part::Second:
            return writeNumber(out, local.second(), 1);
    }
}

ColumnPtr writeParts(const Call& call, size_t argument, size_t zone_argument, Part part) {
    const TimeZone& zone = zoneOf(call, argument, zone_argument);
    TextBuilder out(call.rows, call.rows * 8);
    eachMoment(call, argument, zone, [&](size_t, int64_t seconds) {
        writePart(part, zone.localTime(seconds), out);
        out.endRow();
    });
    return out.finish();
}

ColumnPtr runDateName(const Call& call) {
    return writeParts(call, 1, 2, *partByName(TextArgument(call.column(0))[0]));
}

TypePtr typeOfMonthName(const Signature& call) {
    needCount(call, 1);
    if (!call.type(0)->isDateOrTime() || call.type(0)->kind() == TypeKind::Date32)
        illegalArgument(call, 0, "Date or DateTime");
    return types::string();
}

ColumnPtr runMonthName(const Call& call) { return writeParts(call, 0, SIZE_MAX, Part::Month); }

}  // namespace

std::span<const FunctionInfo> dateFormatFunctions() {
    static const FunctionInfo kList[] = {
        define<"formatDateTime", typeOfFormat, formatMoments<false>, kMayThrow>(
            "formatDateTime(time, pattern[, zone])", "A time by a pattern of MySQL.",
            "formatDateTime(toDate('2024-02-29'), '%d/%m/%Y')", "29/02/2024"),
        define<"formatDateTimeInJodaSyntax", typeOfFormat, formatMoments<true>, kMayThrow>(
            "formatDateTimeInJodaSyntax(time, pattern[, zone])", "A time by a pattern of Joda-Time.",
            "formatDateTimeInJodaSyntax(toDate('2024-02-29'), 'dd.MM.yyyy')", "29.02.2024"),
        define<"fromUnixTimestamp", typeOfFromUnix<false>, runFromUnix<false>, kMayThrow>(
            "fromUnixTimestamp(n[, pattern[, zone]])", "The time of seconds since 1970, or its text.",
            "fromUnixTimestamp(86400, '%F', 'UTC')", "1970-01-02"),
        define<"fromUnixTimestampInJodaSyntax", typeOfFromUnix<true>, runFromUnix<true>, kMayThrow>(
            "fromUnixTimestampInJodaSyntax(n, pattern[, zone])", "The same by a pattern of Joda-Time."),
        define<"dateName", typeOfDateName, runDateName, kPlainManner, 1>(
            "dateName(part, time[, zone])", "A part of a time as text.",
            "dateName('month', toDate('2024-02-29'))", "February"),
        define<"monthName", typeOfMonthName, runMonthName>("monthName(time)", "The name of the month.",
                                                           "monthName(toDate('2024-02-29'))", "February"),
    };
    return kList;
}

}  // namespace shardd::functions
