#pragma once

#include <type_traits>

#include "common/columns/fixed_column.h"

namespace shardd::aggregates {

template <typename T>
inline constexpr bool kIsWide256 = std::is_same_v<T, UInt256> || std::is_same_v<T, Int256>;

template <typename T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T> || std::is_same_v<T, BFloat16>;

/// Whether T holds numbers at all (an IPv6 does not).
template <typename T>
inline constexpr bool kIsNumber = !std::is_same_v<T, IPv6Bytes>;

/// Any number as a double.
template <typename T>
double toDouble(const T& value) {
    if constexpr (kIsWide256<T>)
        return value.toDouble();
    else if constexpr (std::is_same_v<T, BFloat16>)
        return value.toFloat();
    else
        return static_cast<double>(value);
}

/// One number as another type, wrapping as static_cast does.
template <typename To, typename From>
To convertNumber(const From& value) {
    if constexpr (std::is_same_v<To, From>)
        return value;
    else if constexpr (std::is_same_v<To, BFloat16>)
        return BFloat16::fromFloat(static_cast<float>(toDouble(value)));
    else if constexpr (std::is_same_v<From, BFloat16>)
        return convertNumber<To>(value.toFloat());
    else if constexpr (std::is_floating_point_v<To>)
        return static_cast<To>(toDouble(value));
    else if constexpr (kIsWide256<To> && std::is_floating_point_v<From>)
        return To::fromDouble(value);
    else if constexpr (kIsWide256<To>)
        return To(value);
    else if constexpr (kIsWide256<From>)
        return static_cast<To>(value.low());
    else
        return static_cast<To>(value);
}

/// 10^scale as a double.
double powerOfTen(unsigned scale);

}  // namespace shardd::aggregates
