#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "server/aggregates/numbers.h"

namespace shardd::aggregates {

/// Adds a column up in several lanes, so that the additions do not wait for one another. The order is fixed
/// for one block but not the rows' order; ClickHouse promises none for floats either.
template <typename S, typename T>
S sumOf(const T* values, size_t rows) {
    if constexpr (std::is_floating_point_v<S>) {
        constexpr size_t kLanes = 8;
        S lanes[kLanes] = {};
        size_t row = 0;
        for (; row + kLanes <= rows; row += kLanes)
            for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += convertNumber<S>(values[row + lane]);
        S sum{};
        for (S lane : lanes) sum += lane;
        for (; row < rows; ++row) sum += convertNumber<S>(values[row]);
        return sum;
    } else {
        S sum{};
        for (size_t row = 0; row < rows; ++row) sum += convertNumber<S>(values[row]);
        return sum;
    }
}

template <typename S, typename T>
S sumOfMasked(const T* values, size_t rows, const uint8_t* mask) {
    if constexpr (std::is_floating_point_v<S>) {
        constexpr size_t kLanes = 8;
        S lanes[kLanes] = {};
        size_t row = 0;
        for (; row + kLanes <= rows; row += kLanes)
            for (size_t lane = 0; lane < kLanes; ++lane)
                lanes[lane] += mask[row + lane] ? convertNumber<S>(values[row + lane]) : S{};
        S sum{};
        for (S lane : lanes) sum += lane;
        for (; row < rows; ++row)
            if (mask[row]) sum += convertNumber<S>(values[row]);
        return sum;
    } else {
        S sum{};
        for (size_t row = 0; row < rows; ++row) sum += mask[row] ? convertNumber<S>(values[row]) : S{};
        return sum;
    }
}

}  // namespace shardd::aggregates
