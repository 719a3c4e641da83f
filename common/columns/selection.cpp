#include "common/columns/selection.h"

#include <immintrin.h>

#include "common/base/cpu.h"

namespace shardd {

size_t countKept(std::span<const uint8_t> mask) {
    size_t kept = 0;
    for (size_t from = 0; from < mask.size(); from += 64)
        kept += static_cast<size_t>(std::popcount(keptBits(mask, from)));
    return kept;
}

namespace {

template <size_t width>
void compact(const char* values, std::span<const uint8_t> mask, char* out) {
    for (size_t from = 0; from < mask.size(); from += 64, values += 64 * width) {
        uint64_t bits = keptBits(mask, from);
        if (bits == ~uint64_t{0}) {
            std::memcpy(out, values, 64 * width);
            out += 64 * width;
            continue;
        }
        for (; bits != 0; bits &= bits - 1, out += width)
            std::memcpy(out, values + static_cast<size_t>(std::countr_zero(bits)) * width, width);
    }
}

void compactAny(const char* values, size_t width, std::span<const uint8_t> mask, char* out) {
    forEachRun(mask, [&](size_t from, size_t count) {
        std::memcpy(out, values + from * width, count * width);
        out += count * width;
    });
}

/// The kept ones of as many values as fill 64 bytes, to the front.
template <size_t width>
SHARDD_TARGET_AVX512 inline __m512i compressed(uint64_t bits, __m512i values) {
    if constexpr (width == 1) return _mm512_maskz_compress_epi8(bits, values);
    if constexpr (width == 2) return _mm512_maskz_compress_epi16(static_cast<__mmask32>(bits), values);
    if constexpr (width == 4) return _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), values);
    if constexpr (width == 8) return _mm512_maskz_compress_epi64(static_cast<__mmask8>(bits), values);
}

template <size_t width>
SHARDD_TARGET_AVX512 void compactByAvx512(const char* values, std::span<const uint8_t> mask, char* out) {
    constexpr size_t kAtOnce = 64 / width;
    constexpr uint64_t kAll = kAtOnce == 64 ? ~uint64_t{0} : (uint64_t{1} << (kAtOnce % 64)) - 1;
    const size_t whole = mask.size() / 64 * 64;
    for (size_t from = 0; from < whole; from += 64, values += 64 * width) {
        const __m512i bytes = _mm512_loadu_si512(mask.data() + from);
        const uint64_t bits = _mm512_test_epi8_mask(bytes, bytes);
        if (bits == 0) continue;
        for (size_t i = 0; i < width; ++i) {
            const uint64_t some = (bits >> (i * kAtOnce % 64)) & kAll;
            _mm512_storeu_si512(out, compressed<width>(some, _mm512_loadu_si512(values + 64 * i)));
            out += static_cast<size_t>(std::popcount(some)) * width;
        }
    }
    compact<width>(values, mask.subspan(whole), out);
}

template <size_t width>
void compactQuickly(const char* values, std::span<const uint8_t> mask, char* out) {
    if (cpuHasAvx512())
        compactByAvx512<width>(values, mask, out);
    else
        compact<width>(values, mask, out);
}

}  // namespace

void compactValues(const void* values, size_t width, std::span<const uint8_t> mask, void* out) {
    const auto* from = static_cast<const char*>(values);
    auto* to = static_cast<char*>(out);
    switch (width) {
        case 1:
            return compactQuickly<1>(from, mask, to);
        case 2:
            return compactQuickly<2>(from, mask, to);
        case 4:
            return compactQuickly<4>(from, mask, to);
        case 8:
            return compactQuickly<8>(from, mask, to);
        case 16:
            return compact<16>(from, mask, to);
        default:
            return compactAny(from, width, mask, to);
    }
}

}  // namespace shardd
