// Dates and times rounded down: toStartOf*, toStartOfInterval, dateTrunc, timeSlot, tumble and hop.

#include "common/columns/tuple_column.h"
#include "server/functions/date_support.h"

namespace shardd::functions {

namespace {

/// As ClickHouse rounds DateTime64 before 1970: its fraction is cut towards zero first.
constexpr bool kTruncates = true;

// -- to a day -------------------------------------------------------------------------------------

constexpr auto kYearStart = [](int32_t days) { return daysFromCivil(Calendar::at(days).year, 1, 1); };
constexpr auto kQuarterStart = [](int32_t days) {
    const CivilDate& date = Calendar::at(days);
    return daysFromCivil(date.year, (date.month - 1u) / 3 * 3 + 1, 1);
};
constexpr auto kMonthStart = [](int32_t days) {
    return std::clamp(days, Calendar::kFirst, Calendar::kLast) - Calendar::at(days).day + 1;
};
constexpr auto kMonthEnd = [](int32_t days) {
    const CivilDate& date = Calendar::at(days);
    return kMonthStart(days) + static_cast<int32_t>(daysInMonth(date.year, date.month)) - 1;
};
constexpr auto kWeekStart = [](int32_t days) { return days - static_cast<int32_t>(dayOfWeek(days)) + 1; };
constexpr auto kSundayStart = [](int32_t days) { return days - static_cast<int32_t>(dayOfWeek(days) % 7); };
constexpr auto kIsoYearStart = [](int32_t days) { return isoYearStart(isoWeekOf(days).year); };

/// (date or time[, zone]), a zone only with times.
TypePtr typeOfToDate(const Signature& call) {
    needCount(call, 1, 2);
    needDateOrTime(call, 0);
    if (call.count() == 2) {
        if (call.type(0)->isDate())
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "The timezone argument of function {} is allowed only when the 1st argument has the "
                        "type DateTime or DateTime64",
                        call.name);
        zoneNameOf(call, 0, 1);
    }
    return types::simple(TypeKind::Date);
}

/// Days as Date: what does not fit is the nearest Date, but a Date itself wraps at its end.
template <typename Round>
ColumnPtr toDates(const Call& call, const TimeZone& zone, Round&& round) {
    const bool wraps = call.argumentType(0)->kind() == TypeKind::Date;
    return fromDays<uint16_t>(call, 0, zone, [&](int32_t days) {
        const int32_t rounded = std::max(round(days), 0);
        return static_cast<uint16_t>(wraps ? rounded : std::min(rounded, 65535));
    });
}

template <auto kRound>
ColumnPtr runToDate(const Call& call) {
    return toDates(call, zoneOf(call, 0, 1), kRound);
}

ColumnPtr runIsoYearStart(const Call& call) {
    return toDates(call, zoneOf(call, 0, 1),
                   [](int32_t days) { return kIsoYearStart(std::min(days, 65535)); });
}

TypePtr typeOfWeekEnd(const Signature& call) {
    needCount(call, 1, 3);
    needDateOrTime(call, 0);
    if (call.count() > 1 && call.type(1)->kind() != TypeKind::UInt8) illegalArgument(call, 1, "UInt8");
    if (call.count() > 2) zoneNameOf(call, 0, 2);
    return types::simple(TypeKind::Date);
}

template <int32_t kAdded>
ColumnPtr runWeek(const Call& call) {
    const bool monday = call.count() > 1 && (IntegerArgument(call.column(1))[0] & 1);
    return toDates(call, zoneOf(call, 0, 2),
                   [=](int32_t days) { return (monday ? kWeekStart(days) : kSundayStart(days)) + kAdded; });
}

// -- to a time of the day -------------------------------------------------------------------------

TypePtr typeOfDayStart(const Signature& call) {
    needCount(call, 1, 2);
    needDateOrTime(call, 0);
    return types::dateTime(zoneNameOf(call, 0, 1));
}

ColumnPtr runDayStart(const Call& call) {
    const TimeZone& zone = zoneOf(call, 0, 1);
    const TypeKind kind = call.argumentType(0)->kind();
    return fromDays<uint32_t>(
        call, 0, zone,
        [&](int32_t days) {
            const int64_t start = zone.dayStart(kind == TypeKind::DateTime ? std::max(days, 0) : days);
            return static_cast<uint32_t>(kind == TypeKind::Date32 ? std::clamp<int64_t>(start, 0, UINT32_MAX)
                                                                  : start);
        },
        kTruncates);
}

TypePtr typeOfTimeStart(const Signature& call) {
    needCount(call, 1, 2);
    needTime(call, 0);
    return types::dateTime(zoneNameOf(call, 0, 1));
}

/// `unit` seconds on the clock of the zone.
template <typename Round>
ColumnPtr roundMoments(const Call& call, const TimeZone& zone, Round&& round) {
    PodVector<uint32_t> result(call.rows);
    eachMoment(
        call, 0, zone,
        [&](size_t row, int64_t seconds) { result[row] = static_cast<uint32_t>(round(seconds)); },
        kTruncates);
    return fixedColumn(std::move(result));
}

int64_t clockFloor(const TimeZone& zone, int64_t seconds, int64_t unit) {
    return seconds - floorModulo(seconds + zone.offsetAt(seconds), unit);
}

template <int64_t kUnit>
ColumnPtr runTimeStart(const Call& call) {
    const TimeZone& zone = zoneOf(call, 0, 1);
    if (zone.isFixed() && zone.offsetAt(0) % kUnit == 0)
        return roundMoments(call, zone,
                            [](int64_t seconds) { return seconds - floorModulo(seconds, kUnit); });
    return roundMoments(call, zone, [&](int64_t seconds) { return clockFloor(zone, seconds, kUnit); });
}

/// toStartOfSecond and below: DateTime64 stays, with at least kDigits digits.
template <unsigned kDigits>
TypePtr typeOfFractionStart(const Signature& call) {
    needCount(call, 1, 2);
    if (call.type(0)->kind() != TypeKind::DateTime64)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {} of argument for function {}",
                    call.type(0)->name(), call.name);
    return types::dateTime64(std::max(call.type(0)->scale(), kDigits), zoneNameOf(call, 0, 1));
}

template <unsigned kDigits>
ColumnPtr runFractionStart(const Call& call) {
    const ColumnPtr column = full(call.column(0));
    const auto& ticks = as<FixedColumn<int64_t>>(*column).values();
    const unsigned scale = call.argumentType(0)->scale();
    const int64_t unit = scale > kDigits ? kPowersOf10[scale - kDigits] : 1;
    const int64_t raise = scale < kDigits ? kPowersOf10[kDigits - scale] : 1;
    return eachRow<int64_t>(call.rows,
                            [&](size_t row) { return (ticks[row] - floorModulo(ticks[row], unit)) * raise; });
}

// -- to any interval ------------------------------------------------------------------------------

bool isDayUnit(IntervalUnit unit) { return unit >= IntervalUnit::Week; }

bool isFractionUnit(IntervalUnit unit) { return unit <= IntervalUnit::Millisecond; }

unsigned digitsOf(IntervalUnit unit) {
    return unit == IntervalUnit::Millisecond ? 3 : unit == IntervalUnit::Microsecond ? 6 : 9;
}

/// Start of an interval of `n` weeks, months, quarters or years that holds a day.
int32_t roundDays(int32_t days, IntervalUnit unit, int64_t n) {
    const CivilDate& date = Calendar::at(days);
    switch (unit) {
        case IntervalUnit::Week:
            if (n == 1) return kWeekStart(days);
            return static_cast<int32_t>(4 + floorDivide(days - 4, n * 7) * n * 7);
        case IntervalUnit::Month:
        case IntervalUnit::Quarter: {
            const int64_t step = unit == IntervalUnit::Quarter ? n * 3 : n;
            const int64_t month = ((date.year - 1900) * 12 + date.month - 1) / step * step;
            return daysFromCivil(static_cast<int32_t>(1900 + month / 12),
                                 static_cast<unsigned>(month % 12 + 1), 1);
        }
        case IntervalUnit::Year:
            return daysFromCivil(static_cast<int32_t>(1900 + (date.year - 1900) / n * n), 1, 1);
        default:
            return static_cast<int32_t>(floorDivide(days, n) * n);
    }
}

/// Start of an interval of `n` seconds, minutes, hours or days.
int64_t roundSeconds(const TimeZone& zone, int64_t seconds, IntervalUnit unit, int64_t n) {
    switch (unit) {
        case IntervalUnit::Second:
            if (n % 60 != 0) return seconds - floorModulo(seconds, n);
            return roundSeconds(zone, seconds, IntervalUnit::Minute, n / 60);
        case IntervalUnit::Minute: {
            if (zone.offsetAt(seconds) % 3600 == 0) return seconds - floorModulo(seconds, n * 60);
            if (n == 1) return clockFloor(zone, seconds, 60);
            const int64_t midnight = zone.dayStart(zone.localTime(seconds).days);
            return midnight + (seconds - midnight) / (n * 60) * (n * 60);
        }
        case IntervalUnit::Hour: {
            if (n == 1) return clockFloor(zone, seconds, 3600);
            const LocalTime local = zone.localTime(seconds);
            return zone.moment(local.days, local.seconds / (n * 3600) * (n * 3600));
        }
        default:
            return zone.dayStart(static_cast<int32_t>(floorDivide(zone.localTime(seconds).days, n) * n));
    }
}

/// The interval and zone of a call, and where counting begins.
struct Rounding {
    IntervalUnit unit = IntervalUnit::Second;
    int64_t n = 1;
};

Rounding roundingOf(const Signature& call, size_t i) {
    if (call.type(i)->kind() != TypeKind::Interval) illegalArgument(call, i, "Interval");
    Rounding rounding{call.type(i)->intervalUnit(), 1};
    if (const auto value = constantValue(call.arguments[i])) rounding.n = value->to<int64_t>();
    if (rounding.n <= 0)
        throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND,
                    "Value for 2nd argument of function {} must be positive", call.name);
    return rounding;
}

TypePtr roundedType(const Signature& call, IntervalUnit unit, const std::string& zone) {
    const TypeKind kind = call.type(0)->kind();
    if (isDayUnit(unit)) return types::simple(TypeKind::Date);
    if ((call.type(0)->isDate() && unit != IntervalUnit::Day) ||
        (kind == TypeKind::DateTime && unit < IntervalUnit::Millisecond && false))
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Illegal interval kind for argument data type {}",
                    call.type(0)->name());
    if (isFractionUnit(unit)) {
        if (kind != TypeKind::DateTime64)
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "Illegal interval kind for argument data type {}", call.type(0)->name());
        return types::dateTime64(digitsOf(unit), zone);
    }
    return types::dateTime(zone);
}

/// Where the optional origin and zone of toStartOfInterval stand; SIZE_MAX where they do not.
std::pair<size_t, size_t> originAndZone(size_t count, const TypePtr& third) {
    if (count < 3) return {SIZE_MAX, SIZE_MAX};
    if (third->isString()) return {SIZE_MAX, 2};
    return {2, count > 3 ? 3 : SIZE_MAX};
}

TypePtr typeOfIntervalStart(const Signature& call) {
    needCount(call, 2, 4);
    if (!call.type(0)->isDateOrTime())
        throw Error(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of 1st argument of function {}, expected a Date, Date32, DateTime or DateTime64",
            call.type(0)->name(), call.name);
    const Rounding rounding = roundingOf(call, 1);
    const auto [origin, zone] = originAndZone(call.count(), call.count() > 2 ? call.type(2) : nullptr);
    if (origin != SIZE_MAX) {
        if (!sameType(call.type(origin), call.type(0)))
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "Datetime argument and origin argument for function {} must have the same type",
                        call.name);
        if (!call.type(0)->isDate() || isDayUnit(rounding.unit)) return call.type(0);
    }
    return roundedType(call, rounding.unit, zoneNameOf(call, 0, zone));
}

/// Sub-second units of DateTime64.
ColumnPtr roundTicks(const Call& call, IntervalUnit unit, int64_t n) {
    const ColumnPtr column = full(call.column(0));
    const auto& ticks = as<FixedColumn<int64_t>>(*column).values();
    const unsigned scale = call.argumentType(0)->scale();
    const unsigned digits = digitsOf(unit);
    return eachRow<int64_t>(call.rows, [&](size_t row) {
        const int64_t units = scale >= digits ? floorDivide(ticks[row], kPowersOf10[scale - digits])
                                              : ticks[row] * kPowersOf10[digits - scale];
        return units - floorModulo(units, n);
    });
}

int64_t addMonths(const TimeZone& zone, int64_t seconds, int64_t months) {
    const LocalTime local = zone.localTime(seconds);
    const CivilDate date = civilFromDays(local.days);
    const int64_t month = int64_t{date.year} * 12 + date.month - 1 + months;
    const auto year = static_cast<int32_t>(floorDivide(month, 12));
    const auto in_year = static_cast<unsigned>(floorModulo(month, 12) + 1);
    return zone.moment(daysFromCivil(year, in_year, std::min<unsigned>(date.day, daysInMonth(year, in_year))),
                       local.seconds);
}

/// With an origin: the last of origin, origin + interval, … that is not after the moment.
int64_t roundFromOrigin(const TimeZone& zone, int64_t seconds, int64_t origin, IntervalUnit unit, int64_t n) {
    if (origin > seconds)
        throw Error(ErrorCode::BAD_ARGUMENTS, "The origin must be before the end date / date with time");
    if (unit <= IntervalUnit::Week) {
        static constexpr int64_t kSeconds[] = {1, 1, 1, 1, 60, 3600, 86400, 604800};
        const int64_t step = kSeconds[static_cast<size_t>(unit)] * n;
        return origin + (seconds - origin) / step * step;
    }
    const int64_t step = n * (unit == IntervalUnit::Year ? 12 : unit == IntervalUnit::Quarter ? 3 : 1);
    const CivilDate from = civilFromDays(zone.localTime(origin).days);
    const CivilDate to = civilFromDays(zone.localTime(seconds).days);
    int64_t count = ((int64_t{to.year} - from.year) * 12 + to.month - from.month) / step;
    if (addMonths(zone, origin, count * step) > seconds) --count;
    return addMonths(zone, origin, count * step);
}

ColumnPtr runWithOrigin(
    const Call& call, const TimeZone& zone, IntervalUnit unit, int64_t n, size_t origin_argument) {
    const Type& type = *call.argumentType(0);
    const Value origin = call.column(origin_argument)->value(0);
    PodVector<int64_t> moments(call.rows);
    int64_t from = origin.to<int64_t>();
    if (type.isDate()) from = zone.dayStart(static_cast<int32_t>(from));
    const int64_t scale = type.kind() == TypeKind::DateTime64 ? kPowersOf10[type.scale()] : 1;
    const int64_t from_rest = type.kind() == TypeKind::DateTime64 ? floorModulo(from, scale) : 0;
    if (scale > 1) from = floorDivide(from, scale);
    eachMoment(call, 0, zone, [&](size_t row, int64_t seconds) {
        moments[row] = roundFromOrigin(zone, seconds, from, unit, n);
    });
    if (type.kind() == TypeKind::DateTime64)
        return eachRow<int64_t>(call.rows, [&](size_t row) { return moments[row] * scale + from_rest; });
    if (call.type->kind() == TypeKind::DateTime)
        return eachRow<uint32_t>(call.rows, [&](size_t row) { return static_cast<uint32_t>(moments[row]); });
    if (type.kind() == TypeKind::Date)
        return eachRow<uint16_t>(
            call.rows, [&](size_t row) { return static_cast<uint16_t>(zone.localTime(moments[row]).days); });
    return eachRow<int32_t>(call.rows, [&](size_t row) { return zone.localTime(moments[row]).days; });
}

ColumnPtr roundTo(const Call& call, const TimeZone& zone, IntervalUnit unit, int64_t n) {
    if (isFractionUnit(unit)) return roundTicks(call, unit, n);
    if (isDayUnit(unit)) {
        const bool clamped = call.argumentType(0)->kind() != TypeKind::Date32 &&
                             call.argumentType(0)->kind() != TypeKind::DateTime64;
        return fromDays<uint16_t>(
            call, 0, zone,
            [&](int32_t days) {
                const int32_t rounded = roundDays(days, unit, n);
                return static_cast<uint16_t>(clamped ? std::max(rounded, 0) : rounded);
            },
            kTruncates);
    }
    if (unit == IntervalUnit::Day) {
        const bool clamped = call.argumentType(0)->kind() == TypeKind::DateTime;
        return fromDays<uint32_t>(
            call, 0, zone,
            [&](int32_t days) {
                return static_cast<uint32_t>(zone.dayStart(
                    static_cast<int32_t>(floorDivide(clamped ? std::max(days, 0) : days, n) * n)));
            },
            kTruncates);
    }
    return roundMoments(call, zone, [&](int64_t seconds) { return roundSeconds(zone, seconds, unit, n); });
}

ColumnPtr runIntervalStart(const Call& call) {
    const auto [origin, zone_argument] =
        originAndZone(call.count(), call.count() > 2 ? call.argumentType(2) : nullptr);
    const TimeZone& zone = zoneOf(call, 0, zone_argument);
    const IntervalUnit unit = call.argumentType(1)->intervalUnit();
    const int64_t n = IntegerArgument(call.column(1))[0];
    if (origin != SIZE_MAX) return runWithOrigin(call, zone, unit, n, origin);
    return roundTo(call, zone, unit, n);
}

// -- dateTrunc ------------------------------------------------------------------------------------

IntervalUnit truncUnit(const Signature& call) {
    const auto text = constantValue(call.arguments[0]);
    if (call.type(0)->kind() != TypeKind::String || !text)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "First argument for function {} must be constant string: name of datepart", call.name);
    const auto unit = parseDatePart(text->get<std::string>());
    if (!unit)
        throw Error(ErrorCode::BAD_ARGUMENTS, "{} doesn't look like datepart name in {}",
                    text->get<std::string>(), call.name);
    return *unit;
}

TypePtr typeOfTrunc(const Signature& call) {
    needCount(call, 2, 3);
    const IntervalUnit unit = truncUnit(call);
    const TypeKind kind = call.type(1)->kind();
    const bool small = unit < IntervalUnit::Day;
    if (!call.type(1)->isDateOrTime() || (call.type(1)->isDate() && small))
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {} of argument for function {}",
                    call.type(1)->name(), call.name);
    const bool wide = kind == TypeKind::Date32 || kind == TypeKind::DateTime64;
    if (isDayUnit(unit)) return types::simple(wide ? TypeKind::Date32 : TypeKind::Date);
    if (isFractionUnit(unit)) {
        if (kind != TypeKind::DateTime64)
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "Illegal interval kind for argument data type {}", call.type(1)->name());
        return types::dateTime64(digitsOf(unit), zoneNameOf(call, 1, 2));
    }
    const std::string zone = zoneNameOf(call, 1, 2);
    return wide ? types::dateTime64(0, zone) : types::dateTime(zone);
}

ColumnPtr runTrunc(const Call& call) {
    const IntervalUnit unit = *parseDatePart(TextArgument(call.column(0))[0]);
    const TimeZone& zone = zoneOf(call, 1, 2);
    const Call inner{call.name, call.arguments.subspan(1, 1), call.type, call.rows, call.context};
    const TypeKind kind = call.type->kind();
    if (kind == TypeKind::Date32)
        return fromDays<int32_t>(
            inner, 0, zone, [&](int32_t days) { return roundDays(days, unit, 1); }, kTruncates);
    if (kind == TypeKind::DateTime64 && !isFractionUnit(unit)) {
        PodVector<int64_t> result(call.rows);
        eachMoment(
            inner, 0, zone,
            [&](size_t row, int64_t seconds) { result[row] = roundSeconds(zone, seconds, unit, 1); },
            kTruncates);
        return fixedColumn(std::move(result));
    }
    return roundTo(inner, zone, unit, 1);
}

// -- slots and windows ----------------------------------------------------------------------------

/// (time, duration[, slot size]): DateTime with UInt32, DateTime64 with Decimal64.
TypePtr typeOfTimeSlots(const Signature& call) {
    needCount(call, 2, 3);
    needTime(call, 0);
    const bool wide = call.type(0)->kind() == TypeKind::DateTime64;
    if (call.type(1)->kind() != (wide ? TypeKind::Decimal64 : TypeKind::UInt32))
        illegalArgument(call, 1, wide ? "Decimal64" : "UInt32");
    if (call.count() == 3) {
        if (wide ? call.type(2)->kind() != TypeKind::Decimal64 : !call.type(2)->isInteger())
            illegalArgument(call, 2, wide ? "Decimal64" : "an integer");
        needConstant(call, 2);
    }
    if (!wide) return types::array(types::dateTime(call.type(0)->timeZone()));
    unsigned scale = std::max(call.type(0)->scale(), call.type(1)->scale());
    if (call.count() == 3) scale = std::max(scale, call.type(2)->scale());
    return types::array(types::dateTime64(scale, call.type(0)->timeZone()));
}

ColumnPtr runTimeSlots(const Call& call) {
    const TypePtr& element = call.type->child();
    const bool wide = element->kind() == TypeKind::DateTime64;
    const IntegerArgument times(call.column(0));
    const IntegerArgument durations(call.column(1));
    auto raise = [&](size_t i) {
        return wide ? kPowersOf10[element->scale() - call.argumentType(i)->scale()] : 1;
    };
    const int64_t size = call.count() == 3 ? IntegerArgument(call.column(2))[0] * raise(2)
                                           : 1800 * (wide ? kPowersOf10[element->scale()] : 1);
    if (size <= 0)
        throw Error(ErrorCode::ILLEGAL_COLUMN, "Third argument for function {} must be greater than zero",
                    call.name);
    PodVector<int64_t> slots;
    PodVector<uint64_t> ends(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        const int64_t from = times[row] * raise(0);
        int64_t end = from + durations[row] * raise(1);
        if (!wide) end = static_cast<uint32_t>(end);
        const int64_t last = floorDivide(end, size);
        for (int64_t slot = floorDivide(from, size); slot <= last; ++slot) slots.push_back(slot * size);
        ends[row] = slots.size();
    }
    ColumnPtr elements;
    if (wide)
        elements = fixedColumn(std::move(slots));
    else
        elements = eachRow<uint32_t>(slots.size(), [&](size_t i) { return static_cast<uint32_t>(slots[i]); });
    return std::make_shared<ArrayColumn>(std::move(elements), std::move(ends));
}

template <bool kHop, bool kPair>
TypePtr typeOfWindow(const Signature& call) {
    needCount(call, kHop ? 3 : 2, kHop ? 4 : 3);
    if (call.type(0)->kind() != TypeKind::DateTime) illegalArgument(call, 0, "DateTime");
    roundingOf(call, 1);
    if (kHop) roundingOf(call, 2);
    const TypePtr moment = types::dateTime(zoneNameOf(call, 0, kHop ? 3 : 2));
    return kPair ? types::tuple({moment, moment}) : moment;
}

int64_t moveBy(const TimeZone& zone, int64_t seconds, IntervalUnit unit, int64_t n) {
    static constexpr int64_t kSeconds[] = {0, 0, 0, 1, 60, 3600};
    if (unit <= IntervalUnit::Hour) return seconds + kSeconds[static_cast<size_t>(unit)] * n;
    const LocalTime local = zone.localTime(seconds);
    if (unit <= IntervalUnit::Week)
        return zone.moment(static_cast<int32_t>(local.days + n * (unit == IntervalUnit::Week ? 7 : 1)),
                           local.seconds);
    return addMonths(zone, seconds,
                     n * (unit == IntervalUnit::Year      ? 12
                          : unit == IntervalUnit::Quarter ? 3
                                                          : 1));
}

/// The window [start, end) of a moment: tumbling ones lie side by side, hopping ones begin every hop.
template <bool kHop>
std::pair<ColumnPtr, ColumnPtr> windows(const Call& call) {
    const TimeZone& zone = zoneOf(call, 0, kHop ? 3 : 2);
    const IntervalUnit unit = call.argumentType(1)->intervalUnit();
    const int64_t step = IntegerArgument(call.column(1))[0];
    const IntervalUnit size_unit = call.argumentType(kHop ? 2 : 1)->intervalUnit();
    const int64_t size = kHop ? IntegerArgument(call.column(2))[0] : step;
    PodVector<uint32_t> starts(call.rows);
    PodVector<uint32_t> ends(call.rows);
    eachMoment(call, 0, zone, [&](size_t row, int64_t seconds) {
        int64_t start = isDayUnit(unit) ? zone.dayStart(roundDays(zone.localTime(seconds).days, unit, step))
                                        : roundSeconds(zone, seconds, unit, step);
        int64_t end = moveBy(zone, start, unit, step);
        if (kHop) {  // the earliest window that still holds the moment
            start = moveBy(zone, end, size_unit, -size);
            while (moveBy(zone, start, unit, step) <= seconds && moveBy(zone, end, unit, -step) > seconds) {
                end = moveBy(zone, end, unit, -step);
                start = moveBy(zone, end, size_unit, -size);
            }
        }
        starts[row] = static_cast<uint32_t>(start);
        ends[row] = static_cast<uint32_t>(end);
    });
    return {fixedColumn(std::move(starts)), fixedColumn(std::move(ends))};
}

template <bool kHop, int kWhich>
ColumnPtr runWindow(const Call& call) {
    auto [start, end] = windows<kHop>(call);
    if (kWhich == 0) return std::make_shared<TupleColumn>(std::vector<ColumnPtr>{start, end}, call.rows);
    return kWhich == 1 ? start : end;
}

}  // namespace

std::span<const FunctionInfo> dateRoundFunctions() {
    static const FunctionInfo kList[] = {
        define<"toStartOfYear", typeOfToDate, runToDate<kYearStart>>(
            "toStartOfYear(date[, zone])", "The first day of the year.",
            "toStartOfYear(toDate('2024-02-29'))", "2024-01-01"),
        define<"toStartOfISOYear", typeOfToDate, runIsoYearStart>(
            "toStartOfISOYear(date[, zone])", "The first day of the ISO year.",
            "toStartOfISOYear(toDate('2023-12-31'))", "2023-01-02"),
        define<"toStartOfQuarter", typeOfToDate, runToDate<kQuarterStart>>(
            "toStartOfQuarter(date[, zone])", "The first day of the quarter.",
            "toStartOfQuarter(toDate('2024-02-29'))", "2024-01-01"),
        define<"toStartOfMonth", typeOfToDate, runToDate<kMonthStart>>(
            "toStartOfMonth(date[, zone])", "The first day of the month.",
            "toStartOfMonth(toDate('2024-02-29'))", "2024-02-01"),
        define<"toLastDayOfMonth", typeOfToDate, runToDate<kMonthEnd>>(
            "toLastDayOfMonth(date[, zone])", "The last day of the month.",
            "toLastDayOfMonth(toDate('2024-02-01'))", "2024-02-29"),
        define<"toMonday", typeOfToDate, runToDate<kWeekStart>>(
            "toMonday(date[, zone])", "The Monday of the week.", "toMonday(toDate('2024-02-29'))",
            "2024-02-26"),
        define<"toStartOfWeek", typeOfWeekEnd, runWeek<0>, kPlainManner, 6>(
            "toStartOfWeek(date[, mode[, zone]])",
            "The Sunday (or, with an odd mode, the Monday) of the week.",
            "toStartOfWeek(toDate('2024-02-29'))", "2024-02-25"),
        define<"toLastDayOfWeek", typeOfWeekEnd, runWeek<6>, kPlainManner, 6>(
            "toLastDayOfWeek(date[, mode[, zone]])", "The last day of the week.",
            "toLastDayOfWeek(toDate('2024-02-29'))", "2024-03-02"),
        define<"toStartOfDay", typeOfDayStart, runDayStart>(
            "toStartOfDay(time[, zone])", "Midnight.",
            "toStartOfDay(toDateTime('2024-02-29 12:34:56', 'UTC'))", "2024-02-29 00:00:00"),
        define<"toStartOfHour", typeOfTimeStart, runTimeStart<3600>>(
            "toStartOfHour(time[, zone])", "The begin of the hour.",
            "toStartOfHour(toDateTime('2024-02-29 12:34:56', 'UTC'))", "2024-02-29 12:00:00"),
        define<"toStartOfMinute", typeOfTimeStart, runTimeStart<60>>(
            "toStartOfMinute(time[, zone])", "The begin of the minute.",
            "toStartOfMinute(toDateTime('2024-02-29 12:34:56', 'UTC'))", "2024-02-29 12:34:00"),
        define<"toStartOfFiveMinutes", typeOfTimeStart, runTimeStart<300>>(
            "toStartOfFiveMinutes(time[, zone])", "Rounded down to five minutes.",
            "toStartOfFiveMinutes(toDateTime('2024-02-29 12:34:56', 'UTC'))", "2024-02-29 12:30:00"),
        define<"toStartOfTenMinutes", typeOfTimeStart, runTimeStart<600>>(
            "toStartOfTenMinutes(time[, zone])", "Rounded down to ten minutes.",
            "toStartOfTenMinutes(toDateTime('2024-02-29 12:34:56', 'UTC'))", "2024-02-29 12:30:00"),
        define<"toStartOfFifteenMinutes", typeOfTimeStart, runTimeStart<900>>(
            "toStartOfFifteenMinutes(time[, zone])", "Rounded down to fifteen minutes.",
            "toStartOfFifteenMinutes(toDateTime('2024-02-29 12:34:56', 'UTC'))", "2024-02-29 12:30:00"),
        define<"timeSlot", typeOfTimeStart, runTimeStart<1800>>(
            "timeSlot(time[, zone])", "Rounded down to half an hour.",
            "timeSlot(toDateTime('2024-02-29 12:34:56', 'UTC'))", "2024-02-29 12:30:00"),
        define<"toStartOfSecond", typeOfFractionStart<0>, runFractionStart<0>>(
            "toStartOfSecond(time[, zone])", "Without the fraction.",
            "toStartOfSecond(toDateTime64('2024-02-29 12:34:56.789', 3, 'UTC'))", "2024-02-29 12:34:56.000"),
        define<"toStartOfMillisecond", typeOfFractionStart<3>, runFractionStart<3>>(
            "toStartOfMillisecond(time[, zone])", "Rounded down to milliseconds."),
        define<"toStartOfMicrosecond", typeOfFractionStart<6>, runFractionStart<6>>(
            "toStartOfMicrosecond(time[, zone])", "Rounded down to microseconds."),
        define<"toStartOfNanosecond", typeOfFractionStart<9>, runFractionStart<9>>(
            "toStartOfNanosecond(time[, zone])", "Rounded down to nanoseconds."),
        define<"toStartOfInterval", typeOfIntervalStart, runIntervalStart, kMayThrow, 2>(
            "toStartOfInterval(time, interval[, origin][, zone])",
            "Rounded down to a multiple of an interval.",
            "toStartOfInterval(toDate('2024-02-29'), INTERVAL 1 MONTH)", "2024-02-01"),
        define<"dateTrunc", typeOfTrunc, runTrunc, kPlainManner, 1>(
            "dateTrunc(unit, time[, zone])", "Rounded down to a unit.",
            "dateTrunc('month', toDate('2024-02-29'))", "2024-02-01"),
        define<"timeSlots", typeOfTimeSlots, runTimeSlots, kMayThrow>(
            "timeSlots(time, duration[, size])", "The slots that lie within a duration.",
            "timeSlots(toDateTime('2024-02-29 12:20:00', 'UTC'), toUInt32(600))",
            "['2024-02-29 12:00:00','2024-02-29 12:30:00']"),
        define<"tumble", typeOfWindow<false, true>, runWindow<false, 0>, kPlainManner, 2>(
            "tumble(time, interval[, zone])", "The tumbling window of a moment."),
        define<"tumbleStart", typeOfWindow<false, false>, runWindow<false, 1>, kPlainManner, 2>(
            "tumbleStart(time, interval[, zone])", "Its begin."),
        define<"tumbleEnd", typeOfWindow<false, false>, runWindow<false, 2>, kPlainManner, 2>(
            "tumbleEnd(time, interval[, zone])", "Its end."),
        define<"hop", typeOfWindow<true, true>, runWindow<true, 0>, kPlainManner, 6>(
            "hop(time, hop, size[, zone])", "The earliest hopping window of a moment."),
        define<"hopStart", typeOfWindow<true, false>, runWindow<true, 1>, kPlainManner, 6>(
            "hopStart(time, hop, size[, zone])", "Its begin."),
        define<"hopEnd", typeOfWindow<true, false>, runWindow<true, 2>, kPlainManner, 6>(
            "hopEnd(time, hop, size[, zone])", "Its end."),
    };
    return kList;
}

}  // namespace shardd::functions
