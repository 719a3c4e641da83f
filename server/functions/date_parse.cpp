// Text to dates and times: parseDateTime by a pattern.

#include "common/columns/create_column.h"
#include "common/columns/nullable_column.h"
#include "server/formats/text_input.h"
#include "server/functions/date_support.h"

namespace shardd::functions {

namespace {

enum class OnError { Throw, Zero, Null };

/// What a pattern has read so far.
struct Parsed {
    int64_t year = 1970;
    int64_t month = 1;
    int64_t day = 1;
    std::optional<int64_t> day_of_year;
    std::optional<int64_t> iso_year;
    int64_t iso_week = 1;
    int64_t iso_day = 1;
    std::optional<int64_t> hour;
    std::optional<int64_t> hour12;
    bool afternoon = false;
    int64_t minute = 0;
    int64_t second = 0;
    int64_t nanoseconds = 0;
    std::optional<int64_t> offset;
    bool year_given = false;
};

/// A text being read by a pattern. Every reader answers false when the text does not fit.
class Reading {
public:
    explicit Reading(std::string_view text) : text_(text) {}

    bool number(size_t least, size_t most, int64_t low, int64_t high, int64_t& out) {
        size_t count = 0;
        int64_t value = 0;
        while (count < most && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
            value = value * 10 + (text_[at_++] - '0');
            ++count;
        }
        if (count < least || value < low || value > high) return false;
        out = value;
        return true;
    }

    bool literal(char c) {
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    template <size_t N>
    bool name(const std::array<std::string_view, N>& names, size_t letters, int64_t& out) {
        for (size_t i = 0; i < N; ++i) {
            const std::string_view name = letters == 0 ? names[i] : names[i].substr(0, letters);
            if (word(name)) {
                out = static_cast<int64_t>(i) + 1;
                return true;
            }
        }
        return false;
    }

    bool word(std::string_view wanted) {
        if (text_.size() - at_ < wanted.size()) return false;
        for (size_t i = 0; i < wanted.size(); ++i)
            if (formats::toLower(text_[at_ + i]) != formats::toLower(wanted[i])) return false;
        at_ += wanted.size();
        return true;
    }

    bool fraction(size_t most, int64_t& nanoseconds) {
        int64_t value = 0;
        size_t count = 0;
        for (; count < most && at_ < text_.size() && formats::isDigit(text_[at_]); ++count)
            value = value * 10 + (text_[at_++] - '0');
        if (count == 0) return false;
        nanoseconds = value * kPowersOf10[9 - count];
        return true;
    }

    void skipBlanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
    }

    bool atEnd() const { return at_ == text_.size(); }

private:
    std::string_view text_;
    size_t at_ = 0;
};

bool readAfternoon(Reading& in, Parsed& out) {
    if (in.word("PM")) return out.afternoon = true;
    return in.word("AM");
}

bool readOffset(Reading& in, Parsed& out) {
    const bool minus = in.literal('-');
    if (!minus && !in.literal('+')) return false;
    int64_t hours = 0;
    int64_t minutes = 0;
    if (!in.number(2, 2, 0, 23, hours) || !in.number(2, 2, 0, 59, minutes)) return false;
    out.offset = (minus ? -1 : 1) * (hours * 3600 + minutes * 60);
    return true;
}

bool readHour(Reading& in, Parsed& out) {
    int64_t value = 0;
    if (!in.number(1, 2, 0, 23, value)) return false;
    out.hour = value;
    return true;
}

bool readHour12(Reading& in, Parsed& out) {
    int64_t value = 0;
    if (!in.number(1, 2, 1, 12, value)) return false;
    out.hour12 = value;
    return true;
}

bool readTwoDigitYear(Reading& in, Parsed& out) {
    int64_t value = 0;
    if (!in.number(2, 2, 0, 99, value)) return false;
    out.year = value >= 70 ? 1900 + value : 2000 + value;
    out.year_given = true;
    return true;
}

bool readYear(Reading& in, Parsed& out) { return out.year_given = in.number(4, 4, 1900, 2299, out.year); }

/// One letter behind '%' of MySQL's patterns.
bool readMysql(char letter, Reading& in, Parsed& out) {
    int64_t ignored = 0;
    switch (letter) {
        case 'Y':
            return readYear(in, out);
        case 'y':
            return readTwoDigitYear(in, out);
        case 'm':
        case 'c':
            return in.number(letter == 'm' ? 2 : 1, 2, 1, 12, out.month);
        case 'd':
            return in.number(2, 2, 1, 31, out.day);
        case 'e':
            in.skipBlanks();
            return in.number(1, 2, 1, 31, out.day);
        case 'b':
            return in.name(kMonthNames, 3, out.month);
        case 'M':
            return in.name(kMonthNames, 0, out.month);
        case 'a':
            return in.name(kWeekdayNames, 3, ignored);
        case 'W':
            return in.name(kWeekdayNames, 0, ignored);
        case 'u':
            return in.number(1, 1, 1, 7, out.iso_day);
        case 'w':
            return in.number(1, 1, 0, 6, ignored);
        case 'j': {
            int64_t day = 0;
            if (!in.number(3, 3, 1, 366, day)) return false;
            out.day_of_year = day;
            return true;
        }
        case 'G': {
            int64_t year = 0;
            if (!in.number(4, 4, 1900, 2299, year)) return false;
            out.iso_year = year;
            return true;
        }
        case 'V':
            return in.number(2, 2, 1, 53, out.iso_week);
        case 'F':
            return readYear(in, out) && in.literal('-') && in.number(2, 2, 1, 12, out.month) &&
                   in.literal('-') && in.number(2, 2, 1, 31, out.day);
        case 'D':
            return in.number(2, 2, 1, 12, out.month) && in.literal('/') && in.number(2, 2, 1, 31, out.day) &&
                   in.literal('/') && readTwoDigitYear(in, out);
        case 'H':
        case 'k':
            return readHour(in, out);
        case 'h':
        case 'I':
        case 'l':
            return readHour12(in, out);
        case 'i':
            return in.number(2, 2, 0, 59, out.minute);
        case 's':
        case 'S':
            return in.number(2, 2, 0, 59, out.second);
        case 'f':
            return in.fraction(6, out.nanoseconds);
        case 'p':
            return readAfternoon(in, out);
        case 'R':
            return readHour(in, out) && in.literal(':') && in.number(2, 2, 0, 59, out.minute);
        case 'T':
            return readHour(in, out) && in.literal(':') && in.number(2, 2, 0, 59, out.minute) &&
                   in.literal(':') && in.number(2, 2, 0, 59, out.second);
        case 'r':
            return readHour12(in, out) && in.literal(':') && in.number(2, 2, 0, 59, out.minute) &&
                   in.literal(' ') && readAfternoon(in, out);
        case 'z':
            return readOffset(in, out);
        case 'n':
            return in.literal('\n');
        case 't':
            return in.literal('\t');
        case '%':
            return in.literal('%');
        default:
            throw Error(ErrorCode::BAD_ARGUMENTS, "Incorrect syntax, symbol is not supported '{}'", letter);
    }
}

bool readByMysql(std::string_view pattern, Reading& in, Parsed& out) {
    for (size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == '%' && i + 1 < pattern.size()) {
            if (!readMysql(pattern[++i], in, out)) return false;
        } else if (!in.literal(pattern[i])) {
            return false;
        }
    }
    return true;
}

/// A run of one letter of Joda-Time's patterns.
bool readJodaRun(char letter, size_t count, Reading& in, Parsed& out) {
    int64_t value = 0;
    switch (letter) {
        case 'Y':
        case 'y':
            return count == 2 ? readTwoDigitYear(in, out)
                              : (out.year_given = in.number(1, 4, 1, 9999, out.year));
        case 'M':
            if (count < 3) return in.number(1, 2, 1, 12, out.month);
            return in.name(kMonthNames, 0, out.month) || in.name(kMonthNames, 3, out.month);
        case 'd':
            return in.number(1, 2, 1, 31, out.day);
        case 'D':
            if (!in.number(1, 3, 1, 366, value)) return false;
            out.day_of_year = value;
            return true;
        case 'E':
            return in.name(kWeekdayNames, 0, value) || in.name(kWeekdayNames, 3, value);
        case 'e':
            return in.number(1, 1, 1, 7, out.iso_day);
        case 'x':
            if (!in.number(1, 4, 1, 9999, value)) return false;
            out.iso_year = value;
            return true;
        case 'w':
            return in.number(1, 2, 1, 53, out.iso_week);
        case 'H':
            return readHour(in, out);
        case 'k':
            if (!in.number(1, 2, 1, 24, value)) return false;
            out.hour = value % 24;
            return true;
        case 'h':
            return readHour12(in, out);
        case 'K':
            if (!in.number(1, 2, 0, 11, value)) return false;
            out.hour12 = value == 0 ? 12 : value;
            return true;
        case 'm':
            return in.number(1, 2, 0, 59, out.minute);
        case 's':
            return in.number(1, 2, 0, 59, out.second);
        case 'S':
            return in.fraction(std::min<size_t>(count, 9), out.nanoseconds);
        case 'a':
            return readAfternoon(in, out);
        case 'Z':
            return readOffset(in, out);
        default:
            throw Error(ErrorCode::NOT_IMPLEMENTED, "format is not supported for {}", letter);
    }
}

bool readByJoda(std::string_view pattern, Reading& in, Parsed& out) {
    for (size_t i = 0; i < pattern.size();) {
        const char c = pattern[i];
        if (c == '\'') {
            const size_t end = pattern.find('\'', i + 1);
            if (end == std::string_view::npos)
                throw Error(ErrorCode::BAD_ARGUMENTS, "No closing single quote for literal");
            for (size_t k = i + 1; k < end; ++k)
                if (!in.literal(pattern[k])) return false;
            i = end + 1;
        } else if (formats::isLetter(c)) {
            size_t count = 1;
            while (i + count < pattern.size() && pattern[i + count] == c) ++count;
            if (!readJodaRun(c, count, in, out)) return false;
            i += count;
        } else {
            if (!in.literal(c)) return false;
            ++i;
        }
    }
    return true;
}

/// Seconds since the epoch; nothing for a date that does not exist.
std::optional<int64_t> momentOf(const Parsed& parsed, const TimeZone& zone) {
    int32_t days = 0;
    const auto year = static_cast<int32_t>(parsed.year);
    if (parsed.day_of_year) {
        if (*parsed.day_of_year > 365 + isLeapYear(year)) return std::nullopt;
        days = daysFromCivil(year, 1, 1) + static_cast<int32_t>(*parsed.day_of_year) - 1;
    } else if (parsed.iso_year) {
        days = isoYearStart(static_cast<int32_t>(*parsed.iso_year)) +
               static_cast<int32_t>((parsed.iso_week - 1) * 7 + parsed.iso_day - 1);
    } else {
        if (parsed.day > static_cast<int64_t>(daysInMonth(year, static_cast<unsigned>(parsed.month))))
            return std::nullopt;
        days = daysFromCivil(year, static_cast<unsigned>(parsed.month), static_cast<unsigned>(parsed.day));
    }
    int64_t hour = parsed.hour.value_or(0);
    if (parsed.hour12) hour = *parsed.hour12 % 12 + (parsed.afternoon ? 12 : 0);
    const int64_t of_day = hour * 3600 + parsed.minute * 60 + parsed.second;
    if (parsed.offset) return int64_t{days} * 86400 + of_day - *parsed.offset;
    return zone.moment(days, of_day);
}

// -- by a pattern ---------------------------------------------------------------------------------

constexpr std::string_view kMysqlDefault = "%Y-%m-%d %H:%i:%S";
constexpr std::string_view kJodaDefault = "yyyy-MM-dd HH:mm:ss";

/// Digits of the fraction that the pattern reads.
unsigned digitsOfPattern(const Signature& call, bool joda) {
    if (call.count() < 2) return joda ? 0 : 6;
    const auto pattern = constantValue(call.arguments[1]);
    if (!pattern) return 6;
    const std::string& text = pattern->get<std::string>();
    if (!joda) return text.find("%f") != std::string::npos ? 6 : 0;
    return static_cast<unsigned>(
        std::min<size_t>(static_cast<size_t>(std::count(text.begin(), text.end(), 'S')), 9));
}

template <bool kJoda, bool kWide, OnError kOnError>
TypePtr typeOfParse(const Signature& call) {
    needCount(call, 1, 3);
    needString(call, 0);
    if (call.count() > 1) needString(call, 1);
    std::string zone = zoneNameOf(call, SIZE_MAX, 2);
    if (zone.empty()) zone = call.context.time_zone;
    TypePtr type = kWide ? types::dateTime64(digitsOfPattern(call, kJoda), zone) : types::dateTime(zone);
    return kOnError == OnError::Null ? types::nullable(type) : type;
}

template <bool kWide, typename Read>
ColumnPtr parseRows(const Call& call, const TypePtr& type, OnError on_error, Read&& read) {
    const TextArgument texts(call.column(0));
    Mask nulls(call.rows, 0);
    auto value = [&](size_t row) -> int64_t {
        const std::optional<int64_t> parsed = read(row, texts[row]);
        if (parsed) return *parsed;
        if (on_error == OnError::Throw)
            throw Error(ErrorCode::CANNOT_PARSE_DATETIME, "Cannot parse a time from '{}' in function {}",
                        texts[row], call.name);
        nulls[row] = 1;
        return 0;
    };
    ColumnPtr column;
    if (type->kind() == TypeKind::DateTime64)
        column = eachRow<int64_t>(call.rows, value);
    else
        column = eachRow<uint32_t>(call.rows, [&](size_t row) { return static_cast<uint32_t>(value(row)); });
    if (on_error != OnError::Null) return column;
    return std::make_shared<NullableColumn>(std::move(column), std::move(nulls));
}

template <bool kJoda, bool kWide, OnError kOnError>
ColumnPtr runParse(const Call& call) {
    const TypePtr type = removeNullable(call.type);
    const TimeZone& zone = TimeZone::get(type->timeZone());
    std::optional<TextArgument> patterns;
    if (call.count() > 1) patterns.emplace(call.column(1));
    return parseRows<kWide>(
        call, type, kOnError, [&](size_t row, std::string_view text) -> std::optional<int64_t> {
            const std::string_view pattern = patterns ? (*patterns)[row]
                                             : kJoda  ? kJodaDefault
                                                      : kMysqlDefault;
            Reading in(text);
            Parsed parsed;
            const bool fits = kJoda ? readByJoda(pattern, in, parsed) : readByMysql(pattern, in, parsed);
            if (!fits || !in.atEnd()) return std::nullopt;
            const auto seconds = momentOf(parsed, zone);
            if (!seconds) return std::nullopt;
            if (kWide)
                return *seconds * kPowersOf10[type->scale()] +
                       parsed.nanoseconds / kPowersOf10[9 - type->scale()];
            if (*seconds < 0 || *seconds > UINT32_MAX) return std::nullopt;
            return seconds;
        });
}

#define PARSERS(name, joda, wide)                                                                           \
    define<name, typeOfParse<joda, wide, OnError::Throw>, runParse<joda, wide, OnError::Throw>, kMayThrow>( \
        name "(text[, pattern[, zone]])", "The time that a text writes by a pattern."),                     \
        define<name "OrZero", typeOfParse<joda, wide, OnError::Zero>, runParse<joda, wide, OnError::Zero>>( \
            name "OrZero(text[, pattern[, zone]])", "The same, or 1970-01-01."),                            \
        define<name "OrNull", typeOfParse<joda, wide, OnError::Null>, runParse<joda, wide, OnError::Null>>( \
            name "OrNull(text[, pattern[, zone]])", "The same, or NULL.")

}  // namespace

std::span<const FunctionInfo> dateParseFunctions() {
    static const FunctionInfo kList[] = {
        PARSERS("parseDateTime", false, false),
        PARSERS("parseDateTime64", false, true),
        PARSERS("parseDateTimeInJodaSyntax", true, false),
        PARSERS("parseDateTime64InJodaSyntax", true, true),
    };
    return kList;
}

}  // namespace shardd::functions
