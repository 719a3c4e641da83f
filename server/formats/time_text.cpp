#include "server/formats/time_text.h"

#include "server/formats/number_text.h"

namespace shardd::formats {

namespace {

void writeTwoDigits(char* out, unsigned value) {
    out[0] = static_cast<char>('0' + value / 10);
    out[1] = static_cast<char>('0' + value % 10);
}

void putDate(char* out, int32_t days) {
    const CivilDate date = civilFromDays(days);
    const auto year = static_cast<unsigned>(date.year < 0 ? 0 : date.year % 10000);
    writeTwoDigits(out, year / 100);
    writeTwoDigits(out + 2, year % 100);
    out[4] = '-';
    writeTwoDigits(out + 5, date.month);
    out[7] = '-';
    writeTwoDigits(out + 8, date.day);
}

int64_t pow10(unsigned exponent) {
    int64_t result = 1;
    while (exponent-- > 0) result *= 10;
    return result;
}

void writeFraction(int64_t fraction, unsigned scale, Writer& out) {
    out.writeByte('.');
    char* const digits = out.extend(scale);
    for (unsigned i = scale; i-- > 0; fraction /= 10) digits[i] = static_cast<char>('0' + fraction % 10);
}

}  // namespace

void writeDate(int32_t days, Writer& out) { putDate(out.extend(10), days); }

void writeDateTime(int64_t moment, const TimeZone& zone, Writer& out) {
    const LocalTime local = zone.localTime(moment);
    char* const text = out.extend(19);
    putDate(text, local.days);
    text[10] = ' ';
    writeTwoDigits(text + 11, local.hour());
    text[13] = ':';
    writeTwoDigits(text + 14, local.minute());
    text[16] = ':';
    writeTwoDigits(text + 17, local.second());
}

void writeDateTime64(int64_t value, unsigned scale, const TimeZone& zone, Writer& out) {
    const int64_t unit = pow10(scale);
    int64_t seconds = value / unit;
    int64_t fraction = value % unit;
    if (fraction < 0) {
        fraction += unit;
        --seconds;
    }
    writeDateTime(seconds, zone, out);
    if (scale > 0) writeFraction(fraction, scale, out);
}

void writeTime(int64_t seconds, Writer& out) {
    if (seconds < 0) {
        out.writeByte('-');
        seconds = -seconds;
    }
    const int64_t hours = seconds / 3600;
    if (hours < 10) out.writeByte('0');
    writeInteger(hours, out);
    char* const rest = out.extend(6);
    rest[0] = rest[3] = ':';
    writeTwoDigits(rest + 1, static_cast<unsigned>(seconds / 60 % 60));
    writeTwoDigits(rest + 4, static_cast<unsigned>(seconds % 60));
}

void writeTime64(int64_t value, unsigned scale, Writer& out) {
    const int64_t unit = pow10(scale);
    if (value < 0) {
        out.writeByte('-');
        value = -value;
    }
    writeTime(value / unit, out);
    if (scale > 0) writeFraction(value % unit, scale, out);
}

namespace {

/// Exactly `count` digits.
bool readDigits(TextInput& in, unsigned count, unsigned& value) {
    value = 0;
    for (unsigned i = 0; i < count; ++i) {
        if (!isDigit(in.peek())) return false;
        value = value * 10 + static_cast<unsigned>(*in.position++ - '0');
    }
    return true;
}

/// One or two digits.
bool readOneOrTwoDigits(TextInput& in, unsigned& value) {
    if (!readDigits(in, 1, value)) return false;
    if (isDigit(in.peek())) value = value * 10 + static_cast<unsigned>(*in.position++ - '0');
    return true;
}

bool skipDelimiter(TextInput& in) {
    if (in.atEnd() || isDigit(in.peek())) return false;
    ++in.position;
    return true;
}

}  // namespace

TextResult readDate(TextInput& in, int32_t& days, bool& valid) {
    unsigned year = 0;
    unsigned month = 0;
    unsigned day = 0;
    if (!readDigits(in, 4, year)) return ErrorCode::CANNOT_PARSE_DATE;
    if (skipDelimiter(in)) {
        if (!readOneOrTwoDigits(in, month) || !skipDelimiter(in) || !readOneOrTwoDigits(in, day))
            return ErrorCode::CANNOT_PARSE_DATE;
    } else if (!readDigits(in, 2, month) || !readDigits(in, 2, day)) {
        return ErrorCode::CANNOT_PARSE_DATE;
    }
    valid = month >= 1 && month <= 12 && day >= 1 && day <= 31;
    days = valid ? daysFromCivil(static_cast<int32_t>(year), month, day) : 0;
    return ErrorCode::OK;
}

TextResult readMoment(TextInput& in, const TimeZone& zone, ParsedMoment& moment, bool with_fraction) {
    // The common form; anything behind it is left to best effort.
    if (in.left() == 19 && in.peek(4) == '-' && in.peek(7) == '-' &&
        (in.peek(10) == ' ' || in.peek(10) == 'T') && in.peek(13) == ':' && in.peek(16) == ':') {
        TextInput fast = in;
        unsigned parts[6] = {0, 0, 0, 0, 0, 0};
        bool good = readDigits(fast, 4, parts[0]);
        for (int i = 1; i < 6 && good; ++i) {
            ++fast.position;
            good = readDigits(fast, 2, parts[i]);
        }
        if (good && parts[1] >= 1 && parts[1] <= 12 && parts[2] >= 1 && parts[2] <= 31 && parts[0] >= 1) {
            moment.seconds =
                zone.moment(static_cast<int32_t>(parts[0]), parts[1], parts[2], parts[3], parts[4], parts[5]);
            moment.nanoseconds = 0;
            in = fast;
            return ErrorCode::OK;
        }
        if (good && parts[1] == 0 && parts[2] == 0) {  // 0000-00-00 00:00:00
            moment = {};
            in = fast;
            return ErrorCode::OK;
        }
    }
    return readMomentBestEffort(in, zone, moment, DateOrder::DayFirst, with_fraction);
}

namespace {

/// ".123" to nanoseconds.
uint32_t readFraction(TextInput& in) {
    uint32_t result = 0;
    unsigned digits = 0;
    for (++in.position; isDigit(in.peek()); ++in.position, ++digits)
        if (digits < 9) result = result * 10 + static_cast<uint32_t>(in.peek() - '0');
    for (; digits < 9; ++digits) result *= 10;
    return result;
}

}  // namespace

TextResult readMomentPlain(TextInput& in,
                           const TimeZone& zone,
                           ParsedMoment& moment,
                           std::optional<int64_t>& ticks,
                           bool with_fraction) {
    constexpr int64_t kFirstTicks = 9908870400;  // 2284: no moment of seconds is meant beyond
    unsigned digits = 0;
    while (isDigit(in.peek(digits))) ++digits;
    moment = {};
    if (digits != 4) {
        if (digits < 5) return ErrorCode::CANNOT_PARSE_DATETIME;
        readInteger(in, moment.seconds);
        if (moment.seconds >= kFirstTicks) ticks = moment.seconds;
        if (with_fraction && in.peek() == '.') moment.nanoseconds = readFraction(in);
        return ErrorCode::OK;
    }
    unsigned parts[6] = {0, 0, 0, 0, 0, 0};
    readDigits(in, 4, parts[0]);
    for (int i = 1; i < 3; ++i)
        if (!skipDelimiter(in) || !readDigits(in, 2, parts[i])) return ErrorCode::CANNOT_PARSE_DATETIME;
    if (in.peek() == ' ' || in.peek() == 'T') {
        for (int i = 3; i < 6; ++i)
            if (!skipDelimiter(in) || !readDigits(in, 2, parts[i])) return ErrorCode::CANNOT_PARSE_DATETIME;
        if (with_fraction && in.peek() == '.') moment.nanoseconds = readFraction(in);
    }
    const bool valid = parts[0] >= 1 && parts[1] >= 1 && parts[1] <= 12 && parts[2] >= 1 && parts[2] <= 31;
    if (valid)
        moment.seconds =
            zone.moment(static_cast<int32_t>(parts[0]), parts[1], parts[2], parts[3], parts[4], parts[5]);
    return ErrorCode::OK;
}

TextResult readTime(TextInput& in, int64_t& seconds, uint32_t* nanoseconds, bool& negative) {
    if (in.atEnd()) return ErrorCode::CANNOT_PARSE_DATETIME;
    negative = in.skip('-');
    unsigned first = 0;
    if (!readOneOrTwoDigits(in, first)) return ErrorCode::CANNOT_PARSE_DATETIME;
    if (isDigit(in.peek()) && in.peek(1) == ':')
        first = first * 10 + static_cast<unsigned>(*in.position++ - '0');
    seconds = first;
    for (int part = 0; part < 2 && in.peek() == ':' && isDigit(in.peek(1)) && isDigit(in.peek(2)); ++part) {
        ++in.position;
        unsigned value = 0;
        readDigits(in, 2, value);
        seconds = seconds * 60 + value;
    }
    if (nanoseconds && in.peek() == '.') {
        ++in.position;
        *nanoseconds = 0;
        unsigned digits = 0;
        for (; isDigit(in.peek()); ++in.position, ++digits)
            if (digits < 9) *nanoseconds = *nanoseconds * 10 + static_cast<uint32_t>(in.peek() - '0');
        for (; digits < 9; ++digits) *nanoseconds *= 10;
    }
    return ErrorCode::OK;
}

}  // namespace shardd::formats
