#include <cmath>

#include "server/formats/number_text.h"
#include "server/functions/convert_kernels.h"
#include "server/functions/numbers.h"

/// Numbers to numbers.
namespace shardd::functions {

namespace {

bool isPlainNumber(const Type& type) {
    return type.kind() == TypeKind::Bool || type.isInteger() || type.isFloat() || type.isEnum() ||
           type.kind() == TypeKind::Interval;
}

template <typename T>
constexpr bool kIsFloating = std::is_floating_point_v<T>;

template <typename T>
ColumnPtr column(PodVector<T> values) {
    return std::make_shared<FixedColumn<T>>(std::move(values));
}

/// Values of the column as `T` by static_cast.
template <typename T>
PodVector<T> valuesAs(const Column& from, Physical physical) {
    PodVector<T> out(from.size());
    if (!out.empty())
        convertKernel(physical, physicalOf<T>())(from.bytesAt(0).data(), out.data(), out.size());
    return out;
}

template <typename T>
T fromInt64(int64_t value) {
    return static_cast<T>(value);
}

/// As x86 converts: what is beyond 64 bits is the least Int64; narrower integers take the low bits.
template <typename T>
T cutToInteger(double value) {
    if constexpr (sizeof(T) == 32)
        return T::fromDouble(value);
    else if constexpr (sizeof(T) == 16)
        return value >= 0 ? static_cast<T>(static_cast<UInt128>(value))
                          : static_cast<T>(-static_cast<Int128>(-value));
    else if constexpr (std::is_same_v<T, uint64_t>)
        return value >= 9223372036854775808.0 && value < 18446744073709551616.0
                   ? static_cast<uint64_t>(value)
                   : static_cast<uint64_t>(
                         std::abs(value) < 9223372036854775808.0 ? static_cast<int64_t>(value) : INT64_MIN);
    else if constexpr (std::is_same_v<T, int32_t>)
        return std::abs(value) < 2147483648.0 ? static_cast<int32_t>(value) : INT32_MIN;
    else
        return static_cast<T>(std::abs(value) < 9223372036854775808.0 ? static_cast<int64_t>(value)
                                                                      : INT64_MIN);
}

template <typename T>
double lowest() {
    return kIsSigned<T> ? -std::ldexp(1.0, static_cast<int>(sizeof(T) * 8) - 1) : 0.0;
}

template <typename T>
double beyond() {
    return std::ldexp(1.0, static_cast<int>(sizeof(T) * 8) - (kIsSigned<T> ? 1 : 0));
}

template <typename T>
ColumnPtr floatToInteger(const Column& from,
                         const Type& from_type,
                         const Type& to_type,
                         const ConvertRules& rules) {
    const PodVector<double> values = valuesAs<double>(from, from_type.physical());
    PodVector<T> out(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
        const double value = values[i];
        out[i] = T(0);
        if (!std::isfinite(value)) {
            refuseRow(rules, i, ErrorCode::CANNOT_CONVERT_TYPE,
                      "Unexpected inf or nan to integer conversion");
            continue;
        }
        if (rules.accurate && (value != std::trunc(value) || value < lowest<T>() || value >= beyond<T>())) {
            refuseRow(rules, i, ErrorCode::CANNOT_CONVERT_TYPE,
                      "Value {} cannot be safely converted into type {}", value, to_type.name());
            continue;
        }
        out[i] = cutToInteger<T>(value);
    }
    return column(std::move(out));
}

/// Integers to integers, where what does not fit is refused.
template <typename T>
ColumnPtr integerAccurately(const Column& from,
                            const Type& from_type,
                            const Type& to_type,
                            const ConvertRules& rules) {
    const PodVector<Int256> wide = valuesAs<Int256>(from, from_type.physical());
    const bool huge = from_type.kind() == TypeKind::UInt256;
    PodVector<T> out(wide.size());
    convertKernel(Physical::Int256, physicalOf<T>())(wide.data(), out.data(), out.size());
    const PodVector<Int256> back = valuesAs<Int256>(FixedColumn<T>(out), physicalOf<T>());
    for (size_t i = 0; i < wide.size(); ++i) {
        const bool sign_lost = sizeof(T) == 32 && (huge ? kIsSigned<T> && wide[i].negative()
                                                        : !kIsSigned<T> && wide[i].negative());
        if (back[i] == wide[i] && !sign_lost) continue;
        out[i] = T(0);
        refuseRow(rules, i, ErrorCode::CANNOT_CONVERT_TYPE,
                  "Value {} cannot be safely converted into type {}", toText(wide[i]), to_type.name());
    }
    return column(std::move(out));
}

/// To floats, where what is rounded is refused.
template <typename T>
ColumnPtr floatAccurately(const Column& from,
                          const Type& from_type,
                          const Type& to_type,
                          const ConvertRules& rules) {
    PodVector<T> out = valuesAs<T>(from, from_type.physical());
    for (size_t i = 0; i < out.size(); ++i) {
        bool same = true;
        if (from_type.isFloat()) {
            const double before = from_type.kind() == TypeKind::Float64
                                      ? static_cast<const FixedColumn<double>&>(from).values()[i]
                                      : static_cast<double>(out[i]);
            same = static_cast<double>(out[i]) == before || std::isnan(before);
        } else {
            const Value before = from.value(i);
            same = before.to<Int256>() == Int256::fromDouble(static_cast<double>(out[i]));
        }
        if (same) continue;
        out[i] = T(0);
        refuseRow(rules, i, ErrorCode::CANNOT_CONVERT_TYPE, "Value cannot be safely converted into type {}",
                  to_type.name());
    }
    return column(std::move(out));
}

ColumnPtr toBool(const Column& from, const Type& type) {
    PodVector<uint8_t> out(from.size());
    if (type.isFloat()) {  // -0 is false, and no default by its bits
        const PodVector<double> values = valuesAs<double>(from, type.physical());
        for (size_t i = 0; i < out.size(); ++i) out[i] = values[i] != 0;
        return column(std::move(out));
    }
    for (size_t i = 0; i < out.size(); ++i) out[i] = !from.isDefaultAt(i);
    return column(std::move(out));
}

template <typename T>
ColumnPtr plainTo(const ColumnPtr& from,
                  const Type& from_type,
                  const Type& to_type,
                  const ConvertRules& rules) {
    if constexpr (kIsFloating<T>) {
        if (rules.accurate && from_type.physical() != to_type.physical())
            return floatAccurately<T>(*from, from_type, to_type, rules);
    } else {
        if (from_type.isFloat()) return floatToInteger<T>(*from, from_type, to_type, rules);
        if (rules.accurate && from_type.physical() != to_type.physical())
            return integerAccurately<T>(*from, from_type, to_type, rules);
    }
    if (from_type.physical() == to_type.physical()) return from;
    return column(valuesAs<T>(*from, from_type.physical()));
}

ColumnPtr plainToPlain(const ColumnPtr& from,
                       const Type& from_type,
                       const Type& to_type,
                       const ConvertRules& rules) {
    if (to_type.kind() == TypeKind::Bool && from_type.kind() != TypeKind::Bool) return toBool(*from, from_type);
    if (to_type.physical() == Physical::BFloat16)
        return column(valuesAs<BFloat16>(*from, from_type.physical()));
    ColumnPtr result;
    dispatchNumber(to_type.physical(), [&](auto tag) {
        result = plainTo<typename decltype(tag)::Type>(from, from_type, to_type, rules);
    });
    SHARDD_CHECK(result != nullptr);
    return result;
}

// --- Decimals ----------------------------------------------------------------------------------

template <typename N>
Int256 mostOf() {
    if constexpr (sizeof(N) == 32)
        return Int256(UInt256(~UInt256{}) >> 1);
    else
        return Int256(static_cast<Int128>((UInt128(1) << (sizeof(N) * 8 - 1)) - 1));
}

template <typename N>
N narrowDecimal(const Int256& value) {
    if constexpr (sizeof(N) == 32)
        return value;
    else
        return static_cast<N>(value.low());
}

/// Unscaled values in `values` on the scale of `to`; out of range is refused.
template <typename N>
ColumnPtr finishDecimal(const PodVector<Int256>& values,
                        int shift,
                        const Type& to,
                        const ConvertRules& rules) {
    const Int256 most = mostOf<N>();
    const Int256 least = -most - Int256(1);
    const Int256 factor =
        shift == 0 ? Int256(1) : formats::powerOfTen(static_cast<unsigned>(std::abs(shift)));
    const Int256 most_before = shift > 0 ? most / factor : most;
    const Int256 least_before = shift > 0 ? least / factor : least;
    PodVector<N> out(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
        const Int256 value = shift < 0 ? values[i] / factor : values[i];
        if (value > most_before || value < least_before) {
            out[i] = N(0);
            refuseRow(rules, i, ErrorCode::DECIMAL_OVERFLOW, "Decimal convert overflow: {} does not fit {}",
                      toText(values[i]), to.name());
            continue;
        }
        out[i] = narrowDecimal<N>(shift > 0 ? value * factor : value);
    }
    return column(std::move(out));
}

/// The same within 64 bits, which is most of life.
template <typename N>
ColumnPtr finishSmallDecimal(const PodVector<int64_t>& values,
                             unsigned shift,
                             const Type& to,
                             const ConvertRules& rules) {
    const auto factor = static_cast<int64_t>(formats::powerOfTen(shift).low());
    PodVector<N> out(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
        int64_t scaled = 0;
        const bool overflow = __builtin_mul_overflow(values[i], factor, &scaled);
        out[i] = static_cast<N>(scaled);
        if (!overflow && int64_t{out[i]} == scaled) continue;
        out[i] = 0;
        refuseRow(rules, i, ErrorCode::DECIMAL_OVERFLOW, "Decimal convert overflow: {} does not fit {}",
                  values[i], to.name());
    }
    return column(std::move(out));
}

template <typename N>
ColumnPtr toDecimalOf(const Column& from, const Type& from_type, const Type& to, const ConvertRules& rules) {
    const unsigned from_scale = from_type.isDecimal() ? from_type.scale() : 0;
    const int shift = static_cast<int>(to.scale()) - static_cast<int>(from_scale);
    if (from_type.isFloat()) {
        const PodVector<double> values = valuesAs<double>(from, from_type.physical());
        const double factor = formats::powerOfTen(to.scale()).toDouble();
        const double limit = std::ldexp(1.0, static_cast<int>(sizeof(N) * 8) - 1);
        PodVector<N> out(values.size());
        for (size_t i = 0; i < values.size(); ++i) {
            const double scaled = values[i] * factor;
            out[i] = N(0);
            if (!std::isfinite(scaled))
                refuseRow(rules, i, ErrorCode::DECIMAL_OVERFLOW,
                          "Decimal convert overflow. Cannot convert infinity or NaN to decimal");
            else if (scaled <= -limit || scaled >= limit)
                refuseRow(rules, i, ErrorCode::DECIMAL_OVERFLOW,
                          "Decimal convert overflow. Float is out of Decimal range");
            else
                out[i] = narrowDecimal<N>(Int256::fromDouble(scaled));
        }
        return column(std::move(out));
    }
    if constexpr (sizeof(N) <= 8) {
        const bool small = from_type.width() <= 8 && from_type.kind() != TypeKind::UInt64;
        if (small && shift >= 0 && shift <= 18)
            return finishSmallDecimal<N>(valuesAs<int64_t>(from, from_type.physical()),
                                         static_cast<unsigned>(shift), to, rules);
    }
    return finishDecimal<N>(valuesAs<Int256>(from, from_type.physical()), shift, to, rules);
}

ColumnPtr toDecimal(const Column& from, const Type& from_type, const Type& to, const ConvertRules& rules) {
    switch (to.width()) {
        case 4:
            return toDecimalOf<int32_t>(from, from_type, to, rules);
        case 8:
            return toDecimalOf<int64_t>(from, from_type, to, rules);
        case 16:
            return toDecimalOf<Int128>(from, from_type, to, rules);
        default:
            return toDecimalOf<Int256>(from, from_type, to, rules);
    }
}

template <typename T>
ColumnPtr decimalToInteger(const Column& from,
                           const Type& from_type,
                           const Type& to,
                           const ConvertRules& rules) {
    const PodVector<Int256> values = valuesAs<Int256>(from, from_type.physical());
    const Int256& factor = formats::powerOfTen(from_type.scale());
    PodVector<T> out(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
        const Int256 whole = values[i] / factor;
        convertKernel(Physical::Int256, physicalOf<T>())(&whole, &out[i], 1);
        Int256 back;
        convertKernel(physicalOf<T>(), Physical::Int256)(&out[i], &back, 1);
        if (back == whole && (sizeof(T) < 32 || kIsSigned<T> || !whole.negative())) continue;
        out[i] = T(0);
        refuseRow(rules, i, ErrorCode::DECIMAL_OVERFLOW, "Convert overflow: {} does not fit {}",
                  toText(whole), to.name());
    }
    return column(std::move(out));
}

ColumnPtr decimalTo(const Column& from, const Type& from_type, const Type& to, const ConvertRules& rules) {
    if (to.kind() == TypeKind::Bool) return toBool(from, from_type);
    if (to.isFloat()) {
        PodVector<double> values = valuesAs<double>(from, from_type.physical());
        const double divisor = formats::powerOfTen(from_type.scale()).toDouble();
        for (double& value : values) value /= divisor;
        if (to.kind() == TypeKind::Float64) return column(std::move(values));
        return plainToPlain(column(std::move(values)), *types::float64(), to, rules);
    }
    ColumnPtr result;
    dispatchNumber(to.physical(), [&](auto tag) {
        using T = typename decltype(tag)::Type;
        if constexpr (!kIsFloating<T>) result = decimalToInteger<T>(from, from_type, to, rules);
    });
    SHARDD_CHECK(result != nullptr);
    return result;
}

}  // namespace

bool canConvertNumbers(const Type& from, const Type& to) {
    return (isPlainNumber(from) || from.isDecimal()) && (isPlainNumber(to) || to.isDecimal()) && !to.isEnum();
}

ColumnPtr convertNumbers(const ColumnPtr& from,
                         const Type& from_type,
                         const Type& to,
                         const ConvertRules& rules) {
    if (to.isDecimal()) {
        if (from_type.isDecimal() && from_type.scale() == to.scale() && from_type.width() == to.width())
            return from;
        return toDecimal(*from, from_type, to, rules);
    }
    if (from_type.isDecimal()) return decimalTo(*from, from_type, to, rules);
    return plainToPlain(from, from_type, to, rules);
}

}  // namespace shardd::functions
