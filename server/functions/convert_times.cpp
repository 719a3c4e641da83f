#include <cmath>

#include "server/formats/time_text.h"
#include "server/functions/convert_kernels.h"
#include "server/functions/numbers.h"

/// Dates and times among each other, from numbers and to numbers.
namespace shardd::functions {

namespace {

/// Seconds of 9999-12-31 23:59:59 and of 0000-01-01: what a DateTime64 made of a number is clamped to.
constexpr int64_t kLastSecond = 253402300799;
constexpr int64_t kFirstSecond = -62167219200;
/// 999:59:59.
constexpr int64_t kMostTime = 3599999;

bool isTime(const Type& type) {
    return type.isDateOrTime() || type.kind() == TypeKind::Time || type.kind() == TypeKind::Time64;
}

bool hasTicks(const Type& type) {
    return type.kind() == TypeKind::DateTime64 || type.kind() == TypeKind::Time64;
}

bool isNumber(const Type& type) {
    return type.kind() == TypeKind::Bool || type.isInteger() || type.isFloat() || type.isDecimal() ||
           type.isEnum();
}

int64_t pow10(unsigned exponent) {
    int64_t result = 1;
    while (exponent-- > 0) result *= 10;
    return result;
}

int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/// The number behind a date or time, as the type that its memory is.
TypePtr numberBehind(const Type& type) {
    switch (type.kind()) {
        case TypeKind::Date:
            return types::simple(TypeKind::UInt16);
        case TypeKind::DateTime:
            return types::simple(TypeKind::UInt32);
        case TypeKind::Date32:
        case TypeKind::Time:
            return types::simple(TypeKind::Int32);
        default:
            return types::decimal(18, type.scale());
    }
}

/// Any plain number as Int64: floats cut off and kept within 64 bits, wide integers clamped.
PodVector<int64_t> integersOf(const Column& column, const Type& type) {
    PodVector<int64_t> out(column.size());
    if (out.empty()) return out;
    if (type.isFloat()) {
        PodVector<double> values(column.size());
        convertKernel(type.physical(), Physical::Float64)(column.bytesAt(0).data(), values.data(),
                                                          values.size());
        for (size_t i = 0; i < values.size(); ++i)
            out[i] = std::isnan(values[i]) ? 0
                     : values[i] >= 9e18   ? INT64_MAX
                     : values[i] <= -9e18  ? INT64_MIN
                                           : static_cast<int64_t>(values[i]);
        return out;
    }
    convertKernel(type.physical(), Physical::Int64)(column.bytesAt(0).data(), out.data(), out.size());
    if (type.isUnsigned() && type.width() >= 8)
        for (int64_t& value : out)
            if (value < 0) value = INT64_MAX;
    return out;
}

template <typename T, typename Of>
ColumnPtr each(size_t rows, Of of) {
    PodVector<T> out(rows);
    for (size_t i = 0; i < rows; ++i) out[i] = static_cast<T>(of(i));
    return std::make_shared<FixedColumn<T>>(std::move(out));
}

/// Physical values as Int64.
PodVector<int64_t> rawOf(const Column& column, const Type& type) {
    PodVector<int64_t> out(column.size());
    if (!out.empty())
        convertKernel(type.physical(), Physical::Int64)(column.bytesAt(0).data(), out.data(), out.size());
    return out;
}

class TimeConversion {
public:
    TimeConversion(const Column& column, const Type& from, const Type& to, const ConvertRules& rules)
        : from_(from),
          to_(to),
          rules_(rules),
          rows_(column.size()),
          values_(isTime(from)       ? rawOf(column, from)
                  : from.isDecimal() ? PodVector<int64_t>()
                                     : integersOf(column, from)),
          zone_(formats::zoneOf(isTime(from) && !from.isDate() ? from : to, rules.text)) {}

    ColumnPtr run(const Column& column) {
        switch (to_.kind()) {
            case TypeKind::Date:
                return toDate();
            case TypeKind::Date32:
                return toDate32();
            case TypeKind::DateTime:
                return toDateTime();
            case TypeKind::DateTime64:
                return toDateTime64(column);
            case TypeKind::Time:
                return toTime();
            default:
                return toTime64(column);
        }
    }

private:
    int64_t localDay(int64_t second) const { return zone_.localTime(second).days; }

    ColumnPtr toDate() const {
        if (from_.isDate()) return each<uint16_t>(rows_, [&](size_t i) { return values_[i]; });
        if (from_.kind() == TypeKind::DateTime)
            return each<uint16_t>(rows_, [&](size_t i) { return localDay(values_[i]); });
        if (from_.kind() == TypeKind::DateTime64) {
            const int64_t unit = pow10(from_.scale());
            return each<uint16_t>(rows_, [&](size_t i) { return localDay(values_[i] / unit); });
        }
        // Small numbers are days, great ones seconds.
        return each<uint16_t>(rows_, [&](size_t i) -> int64_t {
            const int64_t value = values_[i];
            if (value < 0) {
                refuseNarrow(i);
                return 0;
            }
            return value <= 65535 ? value : localDay(std::min<int64_t>(value, UINT32_MAX));
        });
    }

    void refuseNarrow(size_t row) const {
        if (rules_.accurate)
            refuseRow(rules_, row, ErrorCode::CANNOT_CONVERT_TYPE,
                      "Value {} cannot be safely converted into type {}", values_[row], to_.name());
    }

    ColumnPtr toDate32() const {
        if (from_.isDate()) return each<int32_t>(rows_, [&](size_t i) { return values_[i]; });
        if (from_.kind() == TypeKind::DateTime)
            return each<int32_t>(rows_, [&](size_t i) { return localDay(values_[i]); });
        if (from_.kind() == TypeKind::DateTime64) {
            const int64_t unit = pow10(from_.scale());
            return each<int32_t>(rows_, [&](size_t i) {
                return std::clamp<int64_t>(localDay(floorDivide(values_[i], unit)), formats::kFirstDate32,
                                           formats::kLastDate32);
            });
        }
        return each<int32_t>(rows_, [&](size_t i) -> int64_t {
            const int64_t value = values_[i];
            if (value <= formats::kLastDate32) return std::max<int64_t>(value, formats::kFirstDate32);
            return localDay(std::min<int64_t>(value, int64_t{formats::kLastDate32} * 86400));
        });
    }

    ColumnPtr toDateTime() const {
        if (from_.isDate())
            return each<uint32_t>(rows_,
                                  [&](size_t i) { return zone_.dayStart(static_cast<int32_t>(values_[i])); });
        if (from_.kind() == TypeKind::DateTime64) {
            const int64_t unit = pow10(from_.scale());
            return each<uint32_t>(rows_, [&](size_t i) { return floorDivide(values_[i], unit); });
        }
        if (isTime(from_))
            return each<uint32_t>(rows_, [&](size_t i) {
                return hasTicks(from_) ? values_[i] / pow10(from_.scale()) : values_[i];
            });
        return each<uint32_t>(rows_, [&](size_t i) {
            if (values_[i] < 0 || values_[i] > UINT32_MAX) refuseNarrow(i);
            return std::clamp<int64_t>(values_[i], 0, UINT32_MAX);
        });
    }

    ColumnPtr toDateTime64(const Column& column) const {
        const int64_t unit = pow10(to_.scale());
        if (from_.isDate())
            return each<int64_t>(rows_, [&](size_t i) {
                return multiply(zone_.dayStart(static_cast<int32_t>(values_[i])), unit);
            });
        if (hasTicks(from_)) return rescaled();
        if (isTime(from_)) return each<int64_t>(rows_, [&](size_t i) { return multiply(values_[i], unit); });
        if (from_.isFloat() || from_.isDecimal()) return fromFraction(column, unit);
        return each<int64_t>(rows_, [&](size_t i) {
            return multiply(std::clamp(values_[i], kFirstSecond, kLastSecond), unit);
        });
    }

    static int64_t multiply(int64_t a, int64_t b) {
        return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    }

    ColumnPtr rescaled() const {
        const unsigned from_scale = from_.scale();
        const unsigned to_scale = to_.scale();
        const int64_t factor = pow10(to_scale > from_scale ? to_scale - from_scale : from_scale - to_scale);
        if (to_scale >= from_scale)
            return each<int64_t>(rows_, [&](size_t i) { return multiply(values_[i], factor); });
        return each<int64_t>(rows_, [&](size_t i) { return values_[i] / factor; });
    }

    ColumnPtr fromFraction(const Column& column, int64_t unit) const {
        if (from_.isDecimal()) {
            const ColumnPtr shared(std::shared_ptr<void>(), &column);
            return convertNumbers(shared, from_, *types::decimal(18, to_.scale()), rules_);
        }
        PodVector<double> values(rows_);
        if (rows_ != 0)
            convertKernel(from_.physical(), Physical::Float64)(column.bytesAt(0).data(), values.data(),
                                                               rows_);
        return each<int64_t>(rows_, [&](size_t i) {
            const double seconds =
                std::clamp(values[i], static_cast<double>(kFirstSecond), static_cast<double>(kLastSecond));
            return std::isnan(seconds) ? 0 : static_cast<int64_t>(seconds * static_cast<double>(unit));
        });
    }

    ColumnPtr toTime() const {
        if (from_.kind() == TypeKind::DateTime)
            return each<int32_t>(rows_, [&](size_t i) { return zone_.localTime(values_[i]).seconds; });
        if (from_.kind() == TypeKind::DateTime64) {
            const int64_t unit = pow10(from_.scale());
            return each<int32_t>(
                rows_, [&](size_t i) { return zone_.localTime(floorDivide(values_[i], unit)).seconds; });
        }
        if (from_.isDate()) return each<int32_t>(rows_, [](size_t) { return 0; });
        const int64_t unit = hasTicks(from_) ? pow10(from_.scale()) : 1;
        return each<int32_t>(rows_,
                             [&](size_t i) { return std::clamp(values_[i] / unit, -kMostTime, kMostTime); });
    }

    ColumnPtr toTime64(const Column& column) const {
        const int64_t unit = pow10(to_.scale());
        if (from_.kind() == TypeKind::DateTime)
            return each<int64_t>(rows_, [&](size_t i) { return zone_.localTime(values_[i]).seconds * unit; });
        if (from_.kind() == TypeKind::DateTime64) {
            const int64_t from_unit = pow10(from_.scale());
            return each<int64_t>(rows_, [&](size_t i) {
                const int64_t second = floorDivide(values_[i], from_unit);
                const int64_t fraction = values_[i] - second * from_unit;
                return zone_.localTime(second).seconds * unit +
                       (unit >= from_unit ? fraction * (unit / from_unit) : fraction / (from_unit / unit));
            });
        }
        if (from_.isDate()) return each<int64_t>(rows_, [](size_t) { return 0; });
        if (hasTicks(from_)) return rescaled();
        if (from_.isFloat() || from_.isDecimal()) return fromFraction(column, unit);
        return each<int64_t>(rows_,
                             [&](size_t i) { return std::clamp(values_[i], -kMostTime, kMostTime) * unit; });
    }

    const Type& from_;
    const Type& to_;
    const ConvertRules& rules_;
    size_t rows_;
    PodVector<int64_t> values_;
    const TimeZone& zone_;
};

/// The days of DateTimes whose local time is UTC, by far the most frequent conversion.
ColumnPtr daysInUtc(const Column& column) {
    const uint32_t* seconds = as<FixedColumn<uint32_t>>(column).data();
    return each<uint16_t>(column.size(), [seconds](size_t i) { return seconds[i] / 86400; });
}

}  // namespace

bool canConvertTimes(const Type& from, const Type& to) {
    return (isTime(from) && (isTime(to) || isNumber(to))) || (isNumber(from) && isTime(to));
}

ColumnPtr convertTimes(const ColumnPtr& column, const Type& from, const Type& to, const ConvertRules& rules) {
    if (!isTime(to)) {
        if (to.isDecimal() && !hasTicks(from))
            throw Error(ErrorCode::ILLEGAL_COLUMN, "Illegal column {} of first argument of function {}",
                        from.name(), rules.function);
        return convertNumbers(column, *numberBehind(from), to, rules);
    }
    if (from.isDecimal() && !hasTicks(to))
        throw Error(ErrorCode::ILLEGAL_COLUMN, "Illegal column {} of first argument of function {}",
                    from.name(), rules.function);
    if (from.kind() == to.kind() && from.scale() == to.scale()) return column;
    if (from.kind() == TypeKind::DateTime && to.kind() == TypeKind::Date) {
        const TimeZone& zone = formats::zoneOf(from, rules.text);
        if (zone.isFixed() && zone.offsetAt(0) == 0) return daysInUtc(*column);
    }
    return TimeConversion(*column, from, to, rules).run(*column);
}

}  // namespace shardd::functions
