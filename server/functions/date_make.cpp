// Dates and times made of other things: now(), makeDate, fromUnixTimestamp*, toUnixTimestamp*, toTimeZone,
// YYYYMMDDToDate …

#include "common/columns/create_column.h"
#include "common/columns/nullable_column.h"
#include "server/functions/date_support.h"

namespace shardd::functions {

namespace {

// -- now ------------------------------------------------------------------------------------------

TypePtr typeOfNow(const Signature& call) {
    needCount(call, 0, 1);
    return types::dateTime(zoneNameOf(call, SIZE_MAX, 0));
}

TypePtr typeOfUtcNow(const Signature& call) {
    needCount(call, 0);
    return types::dateTime("UTC");
}

ColumnPtr runNow(const Call& call) {
    return createConstColumn(*call.type, Value(floorDivide(call.context.now_microseconds, 1000000)),
                             call.rows);
}

TypePtr typeOfNow64(const Signature& call) {
    needCount(call, 0, 2);
    unsigned scale = 3;
    if (call.count() > 0) {
        needInteger(call, 0);
        needConstant(call, 0);
        const auto value = constantValue(call.arguments[0])->to<int64_t>();
        if (value < 0 || value > 9)
            throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Scale {} is out of bounds", value);
        scale = static_cast<unsigned>(value);
    }
    return types::dateTime64(scale, zoneNameOf(call, SIZE_MAX, 1));
}

ColumnPtr runNow64(const Call& call) {
    const unsigned scale = call.type->scale();
    const int64_t now = call.context.now_microseconds;
    const int64_t ticks =
        scale <= 6 ? floorDivide(now, kPowersOf10[6 - scale]) : now * kPowersOf10[scale - 6];
    return createConstColumn(*call.type, Value(ticks), call.rows);
}

template <int kDays>
ColumnPtr runToday(const Call& call) {
    const int64_t seconds = floorDivide(call.context.now_microseconds, 1000000);
    const int32_t days = TimeZone::get(call.context.time_zone).localTime(seconds).days + kDays;
    return createConstColumn(*call.type, Value(int64_t{days}), call.rows);
}

// -- Unix timestamps ------------------------------------------------------------------------------

TypePtr typeOfToUnix(const Signature& call) {
    needCount(call, 1, 2);
    if (call.type(0)->kind() != TypeKind::String) needDateOrTime(call, 0);
    if (call.count() == 2) zoneNameOf(call, 0, 1);
    return types::simple(TypeKind::UInt32);
}

ColumnPtr runToUnix(const Call& call) {
    if (call.argumentType(0)->kind() == TypeKind::String) {
        const TypePtr type = types::dateTime(call.count() == 2 ? std::string(TextArgument(call.column(1))[0])
                                                               : call.context.time_zone);
        return castArgument(call.arguments[0], type, call.rows);
    }
    const TimeZone& zone = zoneOf(call, 0, 1);
    const bool checked = call.argumentType(0)->kind() == TypeKind::DateTime64;
    PodVector<uint32_t> result(call.rows);
    eachMoment(call, 0, zone, [&](size_t row, int64_t seconds) {
        if (checked && (seconds < 0 || seconds > UINT32_MAX))
            throw Error(ErrorCode::DECIMAL_OVERFLOW, "Convert overflow");
        result[row] = static_cast<uint32_t>(seconds);
    });
    return fixedColumn(std::move(result));
}

TypePtr typeOfToUnix64(const Signature& call) {
    needCount(call, 1);
    if (call.type(0)->kind() != TypeKind::DateTime64) illegalArgument(call, 0, "DateTime64");
    return types::int64();
}

template <unsigned kDigits>
ColumnPtr runToUnix64(const Call& call) {
    const IntegerArgument ticks(call.column(0));
    const unsigned scale = call.argumentType(0)->scale();
    return eachRow<int64_t>(call.rows, [&](size_t row) {
        // As Decimals are rescaled: towards zero.
        return scale <= kDigits ? ticks[row] * kPowersOf10[kDigits - scale]
                                : ticks[row] / kPowersOf10[scale - kDigits];
    });
}

template <unsigned kDigits>
TypePtr typeOfFromUnix64(const Signature& call) {
    needCount(call, 1, 2);
    if (!call.type(0)->isInteger() || call.type(0)->width() > 8) illegalArgument(call, 0, "an integer");
    return types::dateTime64(kDigits, zoneNameOf(call, SIZE_MAX, 1));
}

ColumnPtr runFromUnix64(const Call& call) {
    const IntegerArgument values(call.column(0));
    return eachRow<int64_t>(call.rows, [&](size_t row) { return values[row]; });
}

// -- parts to dates -------------------------------------------------------------------------------

/// Each part as a number, truncated.
std::vector<IntegerArgument> partsOf(const Call& call, size_t count) {
    std::vector<IntegerArgument> parts;
    for (size_t i = 0; i < count; ++i) parts.emplace_back(call.column(i));
    return parts;
}

void needPart(const Signature& call, size_t i) {
    if (!call.type(i)->isNumber() && call.type(i)->kind() != TypeKind::String)
        illegalArgument(call, i, "a number");
    if (call.type(i)->kind() == TypeKind::String) illegalArgument(call, i, "a number");
}

template <TypeKind kResult>
TypePtr typeOfMakeDate(const Signature& call) {
    needCount(call, 2, 3);
    for (size_t i = 0; i < call.count(); ++i) needPart(call, i);
    return types::simple(kResult);
}

/// The day, or nothing for a date that the type cannot hold.
std::optional<int32_t> dayOfParts(int64_t year, int64_t month, int64_t day) {
    if (year < 1900 || year > 2299 || month < 1 || month > 12 || day < 1 || day > 31) return std::nullopt;
    return daysFromCivil(static_cast<int32_t>(year), static_cast<unsigned>(month), 1) +
           static_cast<int32_t>(day) - 1;
}

template <typename T>
ColumnPtr runMakeDate(const Call& call) {
    const auto parts = partsOf(call, call.count());
    constexpr bool kNarrow = std::is_same_v<T, uint16_t>;
    return eachRow<T>(call.rows, [&](size_t row) -> T {
        std::optional<int32_t> days;
        const int64_t year = parts[0][row];
        if (parts.size() == 3) {
            days = dayOfParts(year, parts[1][row], parts[2][row]);
        } else if (year >= 1900 && year <= 2299 && parts[1][row] >= 1 &&
                   parts[1][row] <= 365 + isLeapYear(static_cast<int32_t>(year))) {
            days = daysFromCivil(static_cast<int32_t>(year), 1, 1) + static_cast<int32_t>(parts[1][row]) - 1;
        }
        if (!days || (kNarrow && (*days < 0 || *days > 65535))) return 0;
        return static_cast<T>(*days);
    });
}

template <bool kWide>
TypePtr typeOfMakeDateTime(const Signature& call) {
    needCount(call, 6, kWide ? 9 : 7);
    for (size_t i = 0; i < 6; ++i) needPart(call, i);
    if (!kWide) return types::dateTime(zoneNameOf(call, SIZE_MAX, 6));
    unsigned scale = 3;
    if (call.count() > 6) needPart(call, 6);
    if (call.count() > 7) {
        needConstant(call, 7);
        needInteger(call, 7);
        const auto value = constantValue(call.arguments[7])->to<int64_t>();
        if (value < 0 || value > 9)
            throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND,
                        "Precision argument value must be an integer between 0 and 9");
        scale = static_cast<unsigned>(value);
    }
    return types::dateTime64(scale, zoneNameOf(call, SIZE_MAX, 8));
}

const TimeZone& resultZone(const Call& call) {
    return TimeZone::get(call.type->timeZone().empty() ? call.context.time_zone : call.type->timeZone());
}

template <bool kWide>
ColumnPtr runMakeDateTime(const Call& call) {
    const auto parts = partsOf(call, 6);
    const TimeZone& zone = resultZone(call);
    auto moment = [&](size_t row) -> std::optional<int64_t> {
        const auto days = dayOfParts(parts[0][row], parts[1][row], parts[2][row]);
        if (!days || parts[3][row] < 0 || parts[4][row] < 0 || parts[5][row] < 0) return std::nullopt;
        return zone.moment(*days, parts[3][row] * 3600 + parts[4][row] * 60 + parts[5][row]);
    };
    if constexpr (!kWide)
        return eachRow<uint32_t>(call.rows, [&](size_t row) {
            return static_cast<uint32_t>(std::clamp<int64_t>(moment(row).value_or(0), 0, UINT32_MAX));
        });
    std::optional<IntegerArgument> fractions;
    if (call.count() > 6) fractions.emplace(call.column(6));
    const int64_t scale = kPowersOf10[call.type->scale()];
    return eachRow<int64_t>(call.rows, [&](size_t row) {
        const auto seconds = moment(row);
        const int64_t fraction = fractions ? std::clamp<int64_t>((*fractions)[row], 0, scale - 1) : 0;
        if (!seconds) return zone.dayStart(Calendar::kFirst) * scale;
        return *seconds * scale + fraction;
    });
}

template <TypeKind kResult>
TypePtr typeOfNumberToDate(const Signature& call) {
    needCount(call, 1);
    needNumber(call, 0);
    return types::simple(kResult);
}

template <typename T>
ColumnPtr runNumberToDate(const Call& call) {
    const IntegerArgument numbers(call.column(0));
    constexpr bool kNarrow = std::is_same_v<T, uint16_t>;
    return eachRow<T>(call.rows, [&](size_t row) -> T {
        const int64_t number = numbers[row];
        const auto days = dayOfParts(number / 10000, number / 100 % 100, number % 100);
        if (!days || (kNarrow && (*days < 0 || *days > 65535))) return 0;
        return static_cast<T>(*days);
    });
}

template <bool kWide>
TypePtr typeOfNumberToTime(const Signature& call) {
    needCount(call, 1, kWide ? 3 : 2);
    needNumber(call, 0);
    if (!kWide) return types::dateTime(zoneNameOf(call, SIZE_MAX, 1));
    unsigned scale = 3;
    if (call.count() > 1)
        scale = static_cast<unsigned>(
            constantValue(call.arguments[1]).value_or(Value(uint64_t{3})).to<uint64_t>());
    return types::dateTime64(scale, zoneNameOf(call, SIZE_MAX, 2));
}

template <bool kWide>
ColumnPtr runNumberToTime(const Call& call) {
    const IntegerArgument numbers(call.column(0));
    const TimeZone& zone = resultZone(call);
    auto moment = [&](size_t row) -> int64_t {
        const int64_t number = numbers[row];
        const auto days = dayOfParts(number / 10000000000, number / 100000000 % 100, number / 1000000 % 100);
        if (!days) return 0;
        return zone.moment(*days, number / 10000 % 100 * 3600 + number / 100 % 100 * 60 + number % 100);
    };
    if constexpr (kWide)
        return eachRow<int64_t>(call.rows,
                                [&](size_t row) { return moment(row) * kPowersOf10[call.type->scale()]; });
    else
        return eachRow<uint32_t>(call.rows, [&](size_t row) {
            return static_cast<uint32_t>(std::clamp<int64_t>(moment(row), 0, UINT32_MAX));
        });
}

// -- zones ----------------------------------------------------------------------------------------

TypePtr typeOfToZone(const Signature& call) {
    needCount(call, 2);
    const std::string zone = zoneNameOf(call, 0, 1);
    if (call.type(0)->kind() == TypeKind::DateTime) return types::dateTime(zone);
    if (call.type(0)->kind() == TypeKind::DateTime64) return types::dateTime64(call.type(0)->scale(), zone);
    illegalArgument(call, 0, "DateTime or DateTime64");
}

ColumnPtr runFirst(const Call& call) { return call.column(0); }

/// From the clock of a zone to that of UTC and back; the type has no zone of its own.
TypePtr typeOfUtcShift(const Signature& call) {
    needCount(call, 2);
    needTime(call, 0);
    if (!call.type(0)->timeZone().empty())
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Function {}'s 1st argument should not have explicit time zone", call.name);
    needString(call, 1);
    needConstant(call, 1);
    TimeZone::get(constantValue(call.arguments[1])->get<std::string>());
    return call.type(0);
}

template <bool kToUtc>
ColumnPtr runUtcShift(const Call& call) {
    const TimeZone& zone = TimeZone::get(TextArgument(call.column(1))[0]);
    const int64_t scale = call.type->kind() == TypeKind::DateTime64 ? kPowersOf10[call.type->scale()] : 1;
    auto shift = [&](int64_t seconds) -> int64_t {
        if (!kToUtc) return zone.offsetAt(seconds);
        const int64_t local_days = floorDivide(seconds, 86400);
        return zone.moment(static_cast<int32_t>(local_days), seconds - local_days * 86400) - seconds;
    };
    const IntegerArgument ticks(call.column(0));
    if (scale == 1 && call.type->kind() == TypeKind::DateTime)
        return eachRow<uint32_t>(
            call.rows, [&](size_t row) { return static_cast<uint32_t>(ticks[row] + shift(ticks[row])); });
    return eachRow<int64_t>(
        call.rows, [&](size_t row) { return ticks[row] + shift(floorDivide(ticks[row], scale)) * scale; });
}

// -- snowflakes, Julian days ----------------------------------------------------------------------

template <bool kWide>
TypePtr typeOfFromSnowflake(const Signature& call) {
    needCount(call, 1, 3);
    if (call.type(0)->kind() != TypeKind::UInt64) illegalArgument(call, 0, "UInt64");
    if (call.count() > 1) needInteger(call, 1);
    const std::string zone = zoneNameOf(call, SIZE_MAX, 2);
    return kWide ? types::dateTime64(3, zone) : types::dateTime(zone);
}

int64_t epochOf(const Call& call) { return call.count() > 1 ? IntegerArgument(call.column(1))[0] : 0; }

template <bool kWide>
ColumnPtr runFromSnowflake(const Call& call) {
    const IntegerArgument ids(call.column(0));
    const int64_t epoch = epochOf(call);
    auto milliseconds = [&](size_t row) {
        return static_cast<int64_t>(static_cast<uint64_t>(ids[row]) >> 22) + epoch;
    };
    if constexpr (kWide)
        return eachRow<int64_t>(call.rows, milliseconds);
    else
        return eachRow<uint32_t>(call.rows,
                                 [&](size_t row) { return static_cast<uint32_t>(milliseconds(row) / 1000); });
}

template <bool kWide>
TypePtr typeOfToSnowflake(const Signature& call) {
    needCount(call, 1, 2);
    if (call.type(0)->kind() != (kWide ? TypeKind::DateTime64 : TypeKind::DateTime))
        illegalArgument(call, 0, kWide ? "DateTime64" : "DateTime");
    if (call.count() == 2) needInteger(call, 1);
    return types::uint64();
}

template <bool kWide>
ColumnPtr runToSnowflake(const Call& call) {
    const IntegerArgument times(call.column(0));
    const int64_t epoch = epochOf(call);
    const unsigned scale = kWide ? call.argumentType(0)->scale() : 0;
    return eachRow<uint64_t>(call.rows, [&](size_t row) {
        const int64_t milliseconds =
            scale <= 3 ? times[row] * kPowersOf10[3 - scale] : times[row] / kPowersOf10[scale - 3];
        return static_cast<uint64_t>(milliseconds - epoch) << 22;
    });
}

constexpr int32_t kModifiedJulianEpoch = 40587;  // the modified Julian day of 1970-01-01

template <bool kOrNull>
TypePtr typeOfToJulian(const Signature& call) {
    needCount(call, 1);
    needText(call, 0);
    const TypePtr& type = types::simple(TypeKind::Int32);
    return kOrNull ? types::nullable(type) : type;
}

/// "2024-02-29", exactly.
std::optional<int32_t> parseIsoDate(std::string_view text) {
    if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
    auto number = [&](size_t from, size_t count) -> std::optional<int32_t> {
        int32_t value = 0;
        for (size_t i = from; i < from + count; ++i) {
            if (text[i] < '0' || text[i] > '9') return std::nullopt;
            value = value * 10 + (text[i] - '0');
        }
        return value;
    };
    const auto year = number(0, 4);
    const auto month = number(5, 2);
    const auto day = number(8, 2);
    if (!year || !month || !day || *month < 1 || *month > 12 || *day < 1) return std::nullopt;
    if (*day > static_cast<int32_t>(daysInMonth(*year, static_cast<unsigned>(*month)))) return std::nullopt;
    return daysFromCivil(*year, static_cast<unsigned>(*month), static_cast<unsigned>(*day));
}

template <bool kOrNull>
ColumnPtr runToJulian(const Call& call) {
    const TextArgument texts(call.column(0));
    Mask nulls(call.rows, 0);
    ColumnPtr days = eachRow<int32_t>(call.rows, [&](size_t row) -> int32_t {
        const auto day = parseIsoDate(texts[row]);
        if (day) return *day + kModifiedJulianEpoch;
        if (!kOrNull)
            throw Error(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, "Cannot parse a date from '{}'",
                        texts[row]);
        nulls[row] = 1;
        return 0;
    });
    if (!kOrNull) return days;
    return std::make_shared<NullableColumn>(std::move(days), std::move(nulls));
}

ColumnPtr runFromJulian(const Call& call) {
    const IntegerArgument days(call.column(0));
    return eachText(call.rows, call.rows * 10, [&](size_t row, TextBuilder& out) {
        const CivilDate date = civilFromDays(static_cast<int32_t>(days[row] - kModifiedJulianEpoch));
        out.append(fmt::format("{:04}-{:02}-{:02}", date.year, date.month, date.day));
    });
}

}  // namespace

std::span<const FunctionInfo> dateMakeFunctions() {
    static const FunctionInfo kList[] = {
        define<"now", typeOfNow, runNow, kOncePerQuery>("now([zone])", "The time of the query."),
        define<"nowInBlock", typeOfNow, runNow, kOncePerQuery>("nowInBlock([zone])",
                                                               "The time of the block."),
        define<"now64", typeOfNow64, runNow64, kOncePerQuery>("now64([scale[, zone]])",
                                                              "The time of the query with a fraction."),
        define<"UTCTimestamp", typeOfUtcNow, runNow, kOncePerQuery>("UTCTimestamp()",
                                                                    "The time of the query, shown in UTC."),
        define<"today", nothingTo<TypeKind::Date>, runToday<0>, kOncePerQuery>("today()",
                                                                               "The day of the query."),
        define<"yesterday", nothingTo<TypeKind::Date>, runToday<-1>, kOncePerQuery>("yesterday()",
                                                                                    "The day before."),
        define<"toUnixTimestamp", typeOfToUnix, runToUnix, kMayThrow>(
            "toUnixTimestamp(time[, zone])", "Seconds since 1970.", "toUnixTimestamp(toDate('1970-01-02'))",
            "86400"),
        define<"toUnixTimestamp64Second", typeOfToUnix64, runToUnix64<0>>("toUnixTimestamp64Second(time)",
                                                                          "Seconds since 1970."),
        define<"toUnixTimestamp64Milli", typeOfToUnix64, runToUnix64<3>>("toUnixTimestamp64Milli(time)",
                                                                         "Milliseconds since 1970."),
        define<"toUnixTimestamp64Micro", typeOfToUnix64, runToUnix64<6>>("toUnixTimestamp64Micro(time)",
                                                                         "Microseconds since 1970."),
        define<"toUnixTimestamp64Nano", typeOfToUnix64, runToUnix64<9>>("toUnixTimestamp64Nano(time)",
                                                                        "Nanoseconds since 1970."),
        define<"fromUnixTimestamp64Second", typeOfFromUnix64<0>, runFromUnix64>(
            "fromUnixTimestamp64Second(n[, zone])", "A DateTime64 of seconds."),
        define<"fromUnixTimestamp64Milli", typeOfFromUnix64<3>, runFromUnix64>(
            "fromUnixTimestamp64Milli(n[, zone])", "A DateTime64 of milliseconds."),
        define<"fromUnixTimestamp64Micro", typeOfFromUnix64<6>, runFromUnix64>(
            "fromUnixTimestamp64Micro(n[, zone])", "A DateTime64 of microseconds."),
        define<"fromUnixTimestamp64Nano", typeOfFromUnix64<9>, runFromUnix64>(
            "fromUnixTimestamp64Nano(n[, zone])", "A DateTime64 of nanoseconds."),
        define<"makeDate", typeOfMakeDate<TypeKind::Date>, runMakeDate<uint16_t>>(
            "makeDate(year, month, day)", "A date of its parts.", "makeDate(2024, 2, 29)", "2024-02-29"),
        define<"makeDate32", typeOfMakeDate<TypeKind::Date32>, runMakeDate<int32_t>>(
            "makeDate32(year, month, day)", "A Date32 of its parts.", "makeDate32(1925, 2, 28)",
            "1925-02-28"),
        define<"makeDateTime", typeOfMakeDateTime<false>, runMakeDateTime<false>>(
            "makeDateTime(year, month, day, hour, minute, second[, zone])", "A time of its parts.",
            "makeDateTime(2024, 2, 29, 12, 34, 56, 'UTC')", "2024-02-29 12:34:56"),
        define<"makeDateTime64", typeOfMakeDateTime<true>, runMakeDateTime<true>>(
            "makeDateTime64(year, month, day, hour, minute, second[, fraction[, scale[, zone]]])",
            "A DateTime64 of its parts."),
        define<"YYYYMMDDToDate", typeOfNumberToDate<TypeKind::Date>, runNumberToDate<uint16_t>>(
            "YYYYMMDDToDate(n)", "The date that digits write.", "YYYYMMDDToDate(20240229)", "2024-02-29"),
        define<"YYYYMMDDToDate32", typeOfNumberToDate<TypeKind::Date32>, runNumberToDate<int32_t>>(
            "YYYYMMDDToDate32(n)", "The same as Date32."),
        define<"YYYYMMDDhhmmssToDateTime", typeOfNumberToTime<false>, runNumberToTime<false>>(
            "YYYYMMDDhhmmssToDateTime(n[, zone])", "The time that digits write."),
        define<"YYYYMMDDhhmmssToDateTime64", typeOfNumberToTime<true>, runNumberToTime<true>>(
            "YYYYMMDDhhmmssToDateTime64(n[, scale[, zone]])", "The same as DateTime64."),
        define<"toTimezone", typeOfToZone, runFirst, kPlainManner, 2>(
            "toTimezone(time, zone)", "The same moment, shown in another zone.",
            "toTimezone(toDateTime('2024-02-29 12:34:56', 'UTC'), 'Asia/Tokyo')", "2024-02-29 21:34:56"),
        define<"toUTCTimestamp", typeOfUtcShift, runUtcShift<true>, kPlainManner, 2>(
            "toUTCTimestamp(time, zone)",
            "What the clock of UTC shows when that of the zone shows the time."),
        define<"fromUTCTimestamp", typeOfUtcShift, runUtcShift<false>, kPlainManner, 2>(
            "fromUTCTimestamp(time, zone)",
            "What the clock of the zone shows when that of UTC shows the time."),
        define<"snowflakeIDToDateTime", typeOfFromSnowflake<false>, runFromSnowflake<false>, kPlainManner, 2>(
            "snowflakeIDToDateTime(id[, epoch[, zone]])", "The time in a Snowflake id."),
        define<"snowflakeIDToDateTime64", typeOfFromSnowflake<true>, runFromSnowflake<true>, kPlainManner, 2>(
            "snowflakeIDToDateTime64(id[, epoch[, zone]])", "The time in a Snowflake id, in milliseconds."),
        define<"dateTimeToSnowflakeID", typeOfToSnowflake<false>, runToSnowflake<false>, kPlainManner, 2>(
            "dateTimeToSnowflakeID(time[, epoch])", "The first Snowflake id of a time."),
        define<"dateTime64ToSnowflakeID", typeOfToSnowflake<true>, runToSnowflake<true>, kPlainManner, 2>(
            "dateTime64ToSnowflakeID(time[, epoch])", "The first Snowflake id of a time."),
        define<"toModifiedJulianDay", typeOfToJulian<false>, runToJulian<false>, kMayThrow>(
            "toModifiedJulianDay(text)", "The modified Julian day of a date as text."),
        define<"toModifiedJulianDayOrNull", typeOfToJulian<true>, runToJulian<true>>(
            "toModifiedJulianDayOrNull(text)", "The same, or NULL."),
        define<"fromModifiedJulianDay", integerTo<TypeKind::String>, runFromJulian>(
            "fromModifiedJulianDay(n)", "The date of a modified Julian day.", "fromModifiedJulianDay(60369)",
            "2024-02-29"),
    };
    return kList;
}

}  // namespace shardd::functions
