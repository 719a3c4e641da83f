#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include <emmintrin.h>

#include "common/base/pod_vector.h"
#include "common/columns/column.h"

namespace shardd {

/// Rows of a mask that are not 0.
size_t countKept(std::span<const uint8_t> mask);

/// Copies the kept ones of mask.size() values of `width` bytes. `out` has room for them and kCompactSlack bytes more,
/// which may be written to.
void compactValues(const void* values, size_t width, std::span<const uint8_t> mask, void* out);

inline constexpr size_t kCompactSlack = 64;

/// The kept ones of a vector's values, `kept` in number.
template <typename T>
PodVector<T> keptValues(const PodVector<T>& values, std::span<const uint8_t> mask, size_t kept) {
    PodVector<T> result;
    result.reserve(kept + (kCompactSlack + sizeof(T) - 1) / sizeof(T));
    result.resize(kept);
    compactValues(values.data(), sizeof(T), mask, result.data());
    return result;
}

/// Bit i: whether row from + i, of up to 64, is kept; rows behind the mask are not.
inline uint64_t keptBits(std::span<const uint8_t> mask, size_t from) {
    alignas(16) uint8_t tail[64];
    const uint8_t* bytes = mask.data() + from;
    if (mask.size() - from < sizeof(tail)) [[unlikely]] {
        std::memset(tail, 0, sizeof(tail));
        std::memcpy(tail, bytes, mask.size() - from);
        bytes = tail;
    }
    const __m128i zero = _mm_setzero_si128();
    uint64_t dropped = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 16 * i));
        const int zeros = _mm_movemask_epi8(_mm_cmpeq_epi8(sixteen, zero));
        dropped |= uint64_t{static_cast<uint32_t>(zeros)} << (16 * i);
    }
    return ~dropped;
}

/// Calls `run(from, count)` for each run of rows that stay, the longest there are.
template <typename Run>
void forEachRun(std::span<const uint8_t> mask, Run&& run) {
    constexpr size_t kNone = SIZE_MAX;
    size_t open = kNone;  // where a run began that is not known to end yet
    for (size_t from = 0; from < mask.size(); from += 64) {
        uint64_t bits = keptBits(mask, from);
        if (open != kNone) {
            const auto more = static_cast<size_t>(std::countr_one(bits));
            if (more == 64) continue;
            run(open, from + more - open);
            open = kNone;
            bits &= ~uint64_t{0} << more;
        }
        while (bits != 0) {
            const auto first = static_cast<size_t>(std::countr_zero(bits));
            const auto count = static_cast<size_t>(std::countr_one(bits >> first));
            if (first + count == 64) {
                open = from + first;
                break;
            }
            run(from + first, count);
            bits &= ~uint64_t{0} << (first + count);
        }
    }
    if (open != kNone) run(open, mask.size() - open);
}

}  // namespace shardd
