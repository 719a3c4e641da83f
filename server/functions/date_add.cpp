// Dates and times moved by intervals, and the distance between two of them.

#include "common/columns/tuple_column.h"
#include "server/functions/date_support.h"

namespace shardd::functions {

namespace {

// -- adding ---------------------------------------------------------------------------------------

constexpr bool isFraction(IntervalUnit unit) { return unit <= IntervalUnit::Millisecond; }

constexpr bool isMonths(IntervalUnit unit) { return unit >= IntervalUnit::Month; }

constexpr unsigned digitsOf(IntervalUnit unit) {
    return unit == IntervalUnit::Millisecond   ? 3
           : unit == IntervalUnit::Microsecond ? 6
           : unit == IntervalUnit::Nanosecond  ? 9
                                               : 0;
}

constexpr int64_t secondsOf(IntervalUnit unit) {
    return unit == IntervalUnit::Week     ? 604800
           : unit == IntervalUnit::Day    ? 86400
           : unit == IntervalUnit::Hour   ? 3600
           : unit == IntervalUnit::Minute ? 60
                                          : 1;
}

constexpr int64_t monthsOf(IntervalUnit unit) {
    return unit == IntervalUnit::Year ? 12 : unit == IntervalUnit::Quarter ? 3 : 1;
}

int32_t addMonthsToDay(int32_t days, int64_t months) {
    const CivilDate date = civilFromDays(days);
    const int64_t month = int64_t{date.year} * 12 + date.month - 1 + months;
    const auto year = static_cast<int32_t>(floorDivide(month, 12));
    const auto in_year = static_cast<unsigned>(floorModulo(month, 12) + 1);
    return daysFromCivil(year, in_year, std::min<unsigned>(date.day, daysInMonth(year, in_year)));
}

/// A moment moved on the calendar of its zone: the time of day stays.
int64_t addDaysToMoment(const TimeZone& zone, int64_t seconds, int64_t days) {
    if (zone.isFixed()) return seconds + days * 86400;
    const LocalTime local = zone.localTime(seconds);
    return zone.moment(static_cast<int32_t>(local.days + days), local.seconds);
}

int64_t addMonthsToMoment(const TimeZone& zone, int64_t seconds, int64_t months) {
    const LocalTime local = zone.localTime(seconds);
    return zone.moment(addMonthsToDay(local.days, months), local.seconds);
}

TypePtr typeOfMoved(const Signature& call, IntervalUnit unit) {
    needCount(call, 2, 3);
    if (!call.type(1)->isNumber()) illegalArgument(call, 1, "a number");
    if (call.type(0)->kind() == TypeKind::String) return types::dateTime64(std::max(3u, digitsOf(unit)));
    needDateOrTime(call, 0);
    const std::string zone = zoneNameOf(call, 0, 2);
    switch (call.type(0)->kind()) {
        case TypeKind::Date:
            if (isFraction(unit))
                throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "{} cannot be used with Date", call.name);
            return unit >= IntervalUnit::Day ? types::simple(TypeKind::Date) : types::dateTime(zone);
        case TypeKind::Date32:
            if (isFraction(unit))
                throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "{} cannot be used with Date32", call.name);
            return unit >= IntervalUnit::Day ? types::simple(TypeKind::Date32) : types::dateTime64(3, zone);
        case TypeKind::DateTime:
            return isFraction(unit) ? types::dateTime64(digitsOf(unit), zone) : types::dateTime(zone);
        default:
            return types::dateTime64(std::max(call.type(0)->scale(), digitsOf(unit)), zone);
    }
}

/// Moments in ticks of `scale`, moved.
int64_t moveTicks(const TimeZone& zone,
                  int64_t ticks,
                  int64_t scale,
                  unsigned scale_digits,
                  int64_t delta,
                  IntervalUnit unit) {
    if (isFraction(unit)) return ticks + delta * kPowersOf10[scale_digits - digitsOf(unit)];
    if (unit < IntervalUnit::Day) return ticks + delta * secondsOf(unit) * scale;
    const int64_t seconds = floorDivide(ticks, scale);
    const int64_t rest = ticks - seconds * scale;
    if (isMonths(unit)) return addMonthsToMoment(zone, seconds, delta * monthsOf(unit)) * scale + rest;
    return addDaysToMoment(zone, seconds, delta * (secondsOf(unit) / 86400)) * scale + rest;
}

int64_t moveSeconds(const TimeZone& zone, int64_t seconds, int64_t delta, IntervalUnit unit) {
    if (unit < IntervalUnit::Day)
        return seconds + delta * secondsOf(unit);
    else if (isMonths(unit))
        return addMonthsToMoment(zone, seconds, delta * monthsOf(unit));
    else
        return addDaysToMoment(zone, seconds, delta * (secondsOf(unit) / 86400));
}

int32_t moveDays(int32_t days, int64_t delta, IntervalUnit unit) {
    if (isMonths(unit)) return addMonthsToDay(days, delta * monthsOf(unit));
    return static_cast<int32_t>(days + delta * (secondsOf(unit) / 86400));
}

/// What lies before 1970 is 1970 for the units that follow the calendar, and wraps round for the others.
int64_t clampBegin(int64_t value, IntervalUnit unit) {
    return isMonths(unit) ? std::max<int64_t>(value, 0) : value;
}

ColumnPtr runMoved(const Call& call, IntervalUnit unit, int sign) {
    NamedColumn first = call.arguments[0];
    if (first.type->kind() == TypeKind::String) {
        const TypePtr type = types::dateTime64(call.type->scale(), call.context.time_zone);
        first = {first.name, type, castArgument(first, type, call.rows)};
    }
    const NamedColumn arguments[] = {first};
    const Call inner{call.name, arguments, call.type, call.rows, call.context};
    const TimeZone& zone = call.count() > 2 ? zoneOf(call, 0, 2) : zoneOf(inner, 0, 1);
    const IntegerArgument deltas(call.column(1));
    const ColumnPtr column = full(first.column);
    auto delta = [&](size_t row) { return deltas[row] * sign; };
    switch (first.type->kind()) {
        case TypeKind::Date: {
            const auto& days = as<FixedColumn<uint16_t>>(*column).values();
            if (unit >= IntervalUnit::Day)
                return eachRow<uint16_t>(call.rows, [&](size_t row) {
                    return static_cast<uint16_t>(clampBegin(moveDays(days[row], delta(row), unit), unit));
                });
            else
                return eachRow<uint32_t>(call.rows, [&](size_t row) {
                    return static_cast<uint32_t>(
                        moveSeconds(zone, zone.dayStart(days[row]), delta(row), unit));
                });
        }
        case TypeKind::Date32: {
            const auto& days = as<FixedColumn<int32_t>>(*column).values();
            if (unit >= IntervalUnit::Day)
                return eachRow<int32_t>(call.rows,
                                        [&](size_t row) { return moveDays(days[row], delta(row), unit); });
            else
                return eachRow<int64_t>(call.rows, [&](size_t row) {
                    return moveTicks(zone, zone.dayStart(days[row]) * 1000, 1000, 9, delta(row), unit);
                });
        }
        case TypeKind::DateTime: {
            const auto& seconds = as<FixedColumn<uint32_t>>(*column).values();
            if (isFraction(unit)) {
                const int64_t scale = kPowersOf10[digitsOf(unit)];
                return eachRow<int64_t>(call.rows,
                                        [&](size_t row) { return seconds[row] * scale + delta(row); });
            } else {
                return eachRow<uint32_t>(call.rows, [&](size_t row) {
                    return static_cast<uint32_t>(
                        clampBegin(moveSeconds(zone, seconds[row], delta(row), unit), unit));
                });
            }
        }
        default: {
            const auto& ticks = as<FixedColumn<int64_t>>(*column).values();
            const unsigned digits = call.type->scale();
            const int64_t raise = kPowersOf10[digits - first.type->scale()];
            const int64_t scale = kPowersOf10[digits];
            return eachRow<int64_t>(call.rows, [&](size_t row) {
                return moveTicks(zone, ticks[row] * raise, scale, digits, delta(row), unit);
            });
        }
    }
}

template <IntervalUnit kUnit>
TypePtr typeOfAdd(const Signature& call) {
    return typeOfMoved(call, kUnit);
}

template <IntervalUnit kUnit, int kSign>
ColumnPtr runAdd(const Call& call) {
    return runMoved(call, kUnit, kSign);
}

// -- intervals together ---------------------------------------------------------------------------

/// Interval or a tuple of them, and one more: the last of the tuple grows when the unit is the same.
template <int kSign>
TypePtr typeOfAddInterval(const Signature& call) {
    needCount(call, 2);
    if (call.type(1)->kind() != TypeKind::Interval) illegalArgument(call, 1, "Interval");
    if (call.type(0)->kind() == TypeKind::Interval) {
        if (sameType(call.type(0), call.type(1))) return call.type(0);
        return types::tuple({call.type(0), call.type(1)});
    }
    if (call.type(0)->kind() != TypeKind::Tuple)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal type {} of first argument of function {}, must be Tuple or Interval",
                    call.type(0)->name(), call.name);
    std::vector<TypePtr> elements = call.type(0)->children();
    if (elements.empty() || !sameType(elements.back(), call.type(1))) elements.push_back(call.type(1));
    return types::tuple(std::move(elements));
}

template <int kSign>
ColumnPtr runAddInterval(const Call& call) {
    const IntegerArgument more(call.column(1));
    auto sum = [&](const ColumnPtr& column) {
        const IntegerArgument values(column);
        return eachRow<int64_t>(call.rows, [&](size_t row) { return values[row] + kSign * more[row]; });
    };
    auto signedMore = [&] {
        return eachRow<int64_t>(call.rows, [&](size_t row) { return kSign * more[row]; });
    };
    if (call.argumentType(0)->kind() == TypeKind::Interval) {
        if (call.type->kind() == TypeKind::Interval) return sum(call.column(0));
        return std::make_shared<TupleColumn>(std::vector<ColumnPtr>{full(call.column(0)), signedMore()},
                                             call.rows);
    }
    const ColumnPtr tuple = full(call.column(0));
    std::vector<ColumnPtr> elements = as<TupleColumn>(*tuple).elements();
    if (elements.size() == call.type->children().size())
        elements.back() = sum(elements.back());
    else
        elements.push_back(signedMore());
    return std::make_shared<TupleColumn>(std::move(elements), call.rows);
}

constexpr std::string_view kUnitNames[] = {"Nanoseconds", "Microseconds", "Milliseconds", "Seconds",
                                           "Minutes",     "Hours",        "Days",         "Weeks",
                                           "Months",      "Quarters",     "Years"};

/// The name of the function that adds or subtracts an interval.
template <int kSign>
std::string moverOf(const Type& interval) {
    return std::string(kSign > 0 ? "add" : "subtract") +
           std::string(kUnitNames[static_cast<size_t>(interval.intervalUnit())]);
}

template <int kSign>
TypePtr typeOfAddTuple(const Signature& call) {
    needCount(call, 2);
    needTuple(call, 1);
    TypePtr type = call.type(0);
    for (const TypePtr& interval : call.type(1)->children()) {
        if (interval->kind() != TypeKind::Interval) illegalArgument(call, 1, "Tuple of intervals");
        const NamedColumn arguments[] = {{"", type, nullptr}, {"", types::int64(), nullptr}};
        type = resolveFunction(moverOf<kSign>(*interval), arguments, nullptr)->resultType();
    }
    return type;
}

template <int kSign>
ColumnPtr runAddTuple(const Call& call) {
    const ColumnPtr tuple = full(call.column(1));
    NamedColumn value = call.arguments[0];
    const auto context = std::make_shared<FunctionContext>(call.context);
    for (size_t i = 0; i < call.argumentType(1)->children().size(); ++i) {
        const NamedColumn arguments[] = {value, {"", types::int64(), as<TupleColumn>(*tuple).element(i)}};
        const auto mover =
            resolveFunction(moverOf<kSign>(*call.argumentType(1)->child(i)), arguments, context);
        value = {"", mover->resultType(), mover->execute(arguments, call.rows)};
    }
    return value.column;
}

/// addDate(date, interval): plus and minus of nothing but intervals.
template <int kSign>
TypePtr typeOfAddDate(const Signature& call) {
    needCount(call, 2);
    if (call.type(1)->kind() != TypeKind::Interval) illegalArgument(call, 1, "Interval");
    const NamedColumn arguments[] = {{"", call.type(0), nullptr}, {"", types::int64(), nullptr}};
    return resolveFunction(moverOf<kSign>(*call.type(1)), arguments, nullptr)->resultType();
}

template <int kSign>
ColumnPtr runAddDate(const Call& call) {
    const NamedColumn arguments[] = {call.arguments[0], {"", types::int64(), call.column(1)}};
    return resolveFunction(moverOf<kSign>(*call.argumentType(1)), arguments,
                           std::make_shared<FunctionContext>(call.context))
        ->execute(arguments, call.rows);
}

// -- differences ----------------------------------------------------------------------------------

IntervalUnit differenceUnit(const Signature& call) {
    if (call.type(0)->kind() != TypeKind::String) illegalArgument(call, 0, "String: a unit");
    const auto text = constantValue(call.arguments[0]);
    if (!text)
        throw Error(ErrorCode::ILLEGAL_COLUMN,
                    "First argument for function {} (unit) must be constant String", call.name);
    const auto unit = parseDatePart(text->get<std::string>());
    if (!unit)
        throw Error(ErrorCode::BAD_ARGUMENTS, "Function {} does not support '{}' unit", call.name,
                    text->get<std::string>());
    return *unit;
}

TypePtr typeOfDifference(const Signature& call) {
    needCount(call, 3, 4);
    needDateOrTime(call, 1);
    needDateOrTime(call, 2);
    differenceUnit(call);
    if (call.count() == 4) zoneNameOf(call, 1, 3);
    return types::int64();
}

/// A moment with its fraction, in nanoseconds beyond the second.
struct Moment {
    int64_t seconds;
    int64_t nanoseconds;
};

std::vector<Moment> momentsOf(const Call& call, size_t argument, const TimeZone& zone) {
    std::vector<Moment> moments(call.rows, Moment{0, 0});
    eachMoment(call, argument, zone, [&](size_t row, int64_t seconds) { moments[row].seconds = seconds; });
    if (call.argumentType(argument)->kind() == TypeKind::DateTime64) {
        const IntegerArgument ticks(call.column(argument));
        const unsigned digits = call.argumentType(argument)->scale();
        for (size_t row = 0; row < call.rows; ++row)
            moments[row].nanoseconds = floorModulo(ticks[row], kPowersOf10[digits]) * kPowersOf10[9 - digits];
    }
    return moments;
}

/// A number of the unit in which a moment lies; dateDiff is the difference of two.
int64_t unitNumber(const TimeZone& zone, const Moment& moment, IntervalUnit unit) {
    switch (unit) {
        case IntervalUnit::Nanosecond:
            return moment.seconds * 1000000000 + moment.nanoseconds;
        case IntervalUnit::Microsecond:
            return moment.seconds * 1000000 + moment.nanoseconds / 1000;
        case IntervalUnit::Millisecond:
            return moment.seconds * 1000 + moment.nanoseconds / 1000000;
        case IntervalUnit::Second:
            return moment.seconds;
        case IntervalUnit::Minute:
            return floorDivide(moment.seconds + floorModulo(zone.offsetAt(moment.seconds), 60), 60);
        case IntervalUnit::Hour:
            return floorDivide(moment.seconds + floorModulo(zone.offsetAt(moment.seconds), 3600), 3600);
        default:
            break;
    }
    const int32_t days = zone.localTime(moment.seconds).days;
    if (unit == IntervalUnit::Day) return days;
    if (unit == IntervalUnit::Week) return floorDivide(int64_t{days} + 3, 7);
    const CivilDate date = civilFromDays(days);
    if (unit == IntervalUnit::Year) return date.year;
    if (unit == IntervalUnit::Quarter) return int64_t{date.year} * 4 + (date.month - 1) / 3;
    return int64_t{date.year} * 12 + date.month;
}

/// How many whole units lie between two moments.
int64_t wholeUnits(
    const TimeZone& zone, const TimeZone& other_zone, const Moment& a, const Moment& b, IntervalUnit unit) {
    if (unit <= IntervalUnit::Millisecond) return unitNumber(other_zone, b, unit) - unitNumber(zone, a, unit);
    const bool later = b.seconds > a.seconds || (b.seconds == a.seconds && b.nanoseconds >= a.nanoseconds);
    if (!later) return -wholeUnits(other_zone, zone, b, a, unit);
    const LocalTime from = zone.localTime(a.seconds);
    const LocalTime to = other_zone.localTime(b.seconds);
    const bool rest_less =
        to.seconds < from.seconds || (to.seconds == from.seconds && b.nanoseconds < a.nanoseconds);
    if (unit <= IntervalUnit::Hour) {
        const int64_t seconds = b.seconds - a.seconds - (b.nanoseconds < a.nanoseconds);
        return seconds / secondsOf(unit);
    }
    if (unit <= IntervalUnit::Week) {
        const int64_t days = int64_t{to.days} - from.days - rest_less;
        return days / (unit == IntervalUnit::Week ? 7 : 1);
    }
    const CivilDate from_date = civilFromDays(from.days);
    const CivilDate to_date = civilFromDays(to.days);
    int64_t months = (int64_t{to_date.year} - from_date.year) * 12 + to_date.month - from_date.month;
    if (to_date.day < from_date.day || (to_date.day == from_date.day && rest_less)) --months;
    return months / monthsOf(unit);
}

template <bool kWhole>
ColumnPtr runDifference(const Call& call) {
    const IntervalUnit unit = *parseDatePart(TextArgument(call.column(0))[0]);
    const TimeZone& from_zone = zoneOf(call, 1, 3);
    const TimeZone& to_zone = zoneOf(call, 2, 3);
    const std::vector<Moment> from = momentsOf(call, 1, from_zone);
    const std::vector<Moment> to = momentsOf(call, 2, to_zone);
    return eachRow<int64_t>(call.rows, [&](size_t row) {
        if (kWhole) return wholeUnits(from_zone, to_zone, from[row], to[row], unit);
        return unitNumber(to_zone, to[row], unit) - unitNumber(from_zone, from[row], unit);
    });
}

TypePtr typeOfTimeDiff(const Signature& call) {
    needCount(call, 2);
    needDateOrTime(call, 0);
    needDateOrTime(call, 1);
    return types::int64();
}

ColumnPtr runTimeDiff(const Call& call) {
    const std::vector<Moment> from = momentsOf(call, 0, zoneOf(call, 0, SIZE_MAX));
    const std::vector<Moment> to = momentsOf(call, 1, zoneOf(call, 1, SIZE_MAX));
    return eachRow<int64_t>(call.rows, [&](size_t row) { return to[row].seconds - from[row].seconds; });
}

// -- one part changed -----------------------------------------------------------------------------

TypePtr typeOfChanged(const Signature& call, IntervalUnit unit) {
    needCount(call, 2);
    needDateOrTime(call, 0);
    needInteger(call, 1);
    if (unit >= IntervalUnit::Day) return call.type(0);
    if (call.type(0)->kind() == TypeKind::Date) return types::dateTime();
    if (call.type(0)->kind() == TypeKind::Date32) return types::dateTime64(3);
    return call.type(0);
}

/// The moment with one part set to `value`; nothing when there is no such part.
std::optional<int64_t> changed(const TimeZone& zone, int64_t seconds, int64_t value, IntervalUnit unit) {
    const LocalTime local = zone.localTime(seconds);
    const CivilDate date = civilFromDays(local.days);
    int64_t of_day = local.seconds;
    int32_t days = local.days;
    switch (unit) {
        case IntervalUnit::Year:
            if (value < 1900 || value > 2299) return std::nullopt;
            days = daysFromCivil(static_cast<int32_t>(value), date.month, 1) + date.day - 1;
            break;
        case IntervalUnit::Month:
            if (value < 1 || value > 12) return std::nullopt;
            days = daysFromCivil(date.year, static_cast<unsigned>(value), 1) + date.day - 1;
            break;
        case IntervalUnit::Day:
            if (value < 1 || value > 31) return std::nullopt;
            days += static_cast<int32_t>(value) - date.day;
            break;
        case IntervalUnit::Hour:
            if (value < 0 || value > 23) return std::nullopt;
            of_day += (value - local.hour()) * 3600;
            break;
        case IntervalUnit::Minute:
            if (value < 0 || value > 59) return std::nullopt;
            of_day += (value - local.minute()) * 60;
            break;
        default:
            if (value < 0 || value > 59) return std::nullopt;
            of_day += value - local.second();
    }
    return zone.moment(days, of_day);
}

ColumnPtr runChanged(const Call& call, IntervalUnit unit) {
    const TimeZone& zone = zoneOf(call, 0, SIZE_MAX);
    const IntegerArgument values(call.column(1));
    PodVector<int64_t> moments(call.rows);
    // ClickHouse answers the least value of the type for parts that do not exist.
    constexpr int64_t kNone = INT64_MIN;
    eachMoment(call, 0, zone, [&](size_t row, int64_t seconds) {
        moments[row] = changed(zone, seconds, values[row], unit).value_or(kNone);
    });
    switch (call.type->kind()) {
        case TypeKind::Date:
            return eachRow<uint16_t>(call.rows, [&](size_t row) -> uint16_t {
                if (moments[row] == kNone) return 0;
                return static_cast<uint16_t>(std::clamp(zone.localTime(moments[row]).days, 0, 65535));
            });
        case TypeKind::Date32:
            return eachRow<int32_t>(call.rows, [&](size_t row) {
                return moments[row] == kNone ? Calendar::kFirst : zone.localTime(moments[row]).days;
            });
        case TypeKind::DateTime:
            return eachRow<uint32_t>(call.rows, [&](size_t row) {
                return moments[row] == kNone
                           ? 0u
                           : static_cast<uint32_t>(std::clamp<int64_t>(moments[row], 0, UINT32_MAX));
            });
        default: {
            const unsigned digits = call.type->scale();
            const IntegerArgument ticks(call.column(0));
            const bool has_fraction = call.argumentType(0)->kind() == TypeKind::DateTime64;
            return eachRow<int64_t>(call.rows, [&](size_t row) {
                if (moments[row] == kNone) return int64_t{Calendar::kFirst} * 86400 * kPowersOf10[digits];
                return moments[row] * kPowersOf10[digits] +
                       (has_fraction ? floorModulo(ticks[row], kPowersOf10[digits]) : 0);
            });
        }
    }
}

template <IntervalUnit kUnit>
TypePtr typeOfChange(const Signature& call) {
    return typeOfChanged(call, kUnit);
}

template <IntervalUnit kUnit>
ColumnPtr runChange(const Call& call) {
    return runChanged(call, kUnit);
}

#define ADDERS(unit)                                                                                 \
    define<"add" #unit "s", typeOfAdd<IntervalUnit::unit>, runAdd<IntervalUnit::unit, 1>>(           \
        "add" #unit "s(time, n)", "The time n units later."),                                        \
        define<"subtract" #unit "s", typeOfAdd<IntervalUnit::unit>, runAdd<IntervalUnit::unit, -1>>( \
            "subtract" #unit "s(time, n)", "The time n units earlier.")

#define CHANGER(unit)                                                                        \
    define<"change" #unit, typeOfChange<IntervalUnit::unit>, runChange<IntervalUnit::unit>>( \
        "change" #unit "(time, n)", "The time with this part set to n.")

}  // namespace

std::span<const FunctionInfo> dateAddFunctions() {
    static const FunctionInfo kList[] = {
        ADDERS(Nanosecond),
        ADDERS(Microsecond),
        ADDERS(Millisecond),
        ADDERS(Second),
        ADDERS(Minute),
        ADDERS(Hour),
        ADDERS(Day),
        ADDERS(Week),
        ADDERS(Month),
        ADDERS(Quarter),
        ADDERS(Year),
        CHANGER(Year),
        CHANGER(Month),
        CHANGER(Day),
        CHANGER(Hour),
        CHANGER(Minute),
        CHANGER(Second),
        define<"addDate", typeOfAddDate<1>, runAddDate<1>>(
            "addDate(time, interval)", "The time moved on by an interval.",
            "addDate(toDate('2024-02-28'), INTERVAL 2 DAY)", "2024-03-01"),
        define<"subDate", typeOfAddDate<-1>, runAddDate<-1>>(
            "subDate(time, interval)", "The time moved back by an interval.",
            "subDate(toDate('2024-03-01'), INTERVAL 1 DAY)", "2024-02-29"),
        define<"addInterval", typeOfAddInterval<1>, runAddInterval<1>>(
            "addInterval(intervals, interval)", "An interval added to an interval or a tuple of them."),
        define<"subtractInterval", typeOfAddInterval<-1>, runAddInterval<-1>>(
            "subtractInterval(intervals, interval)", "The same, negated."),
        define<"addTupleOfIntervals", typeOfAddTuple<1>, runAddTuple<1>>(
            "addTupleOfIntervals(time, intervals)", "The time moved by each interval, one after another."),
        define<"subtractTupleOfIntervals", typeOfAddTuple<-1>, runAddTuple<-1>>(
            "subtractTupleOfIntervals(time, intervals)", "The time moved back by each."),
        define<"dateDiff", typeOfDifference, runDifference<false>, kPlainManner, 1>(
            "dateDiff(unit, from, to[, zone])", "How many borders of the unit lie between.",
            "dateDiff('month', toDate('2024-01-31'), toDate('2024-02-01'))", "1"),
        define<"age", typeOfDifference, runDifference<true>, kPlainManner, 1>(
            "age(unit, from, to[, zone])", "How many whole units lie between.",
            "age('month', toDate('2024-01-31'), toDate('2024-02-01'))", "0"),
        define<"timeDiff", typeOfTimeDiff, runTimeDiff>(
            "timeDiff(from, to)", "Seconds between two times.",
            "timeDiff(toDateTime('2024-02-29 00:00:00', 'UTC'), toDateTime('2024-02-29 01:00:00', 'UTC'))",
            "3600"),
    };
    return kList;
}

}  // namespace shardd::functions
