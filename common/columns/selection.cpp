#include "common/columns/selection.h"

#include <array>

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

/// By the bits of which of eight four-byte lanes are kept: which lane goes where.
constexpr auto kLaneOrders = [] {
    std::array<std::array<uint32_t, 8>, 256> orders{};
    for (size_t bits = 0; bits < orders.size(); ++bits) {
        size_t next = 0;
        for (uint32_t lane = 0; lane < 8; ++lane)
            if (bits >> lane & 1) orders[bits][next++] = lane;
    }
    return orders;
}();

/// The kept ones of thirty-two values to `out`; returns the place behind them.
template <size_t width>
SHARDD_TARGET_AVX2 inline char* keepByAvx2(uint64_t bits, const char* values, char* out) {
    if constexpr (width <= 2) {
        constexpr size_t kAtOnce = 8 / width;
        constexpr uint64_t kFirsts = width == 1 ? 0x0101010101010101 : 0x0001000100010001;
        constexpr uint64_t kWhole = width == 1 ? 0xFF : 0xFFFF;
        for (size_t i = 0; i < 32; i += kAtOnce) {
            const uint64_t some = bits >> i & ((uint64_t{1} << kAtOnce) - 1);
            uint64_t word;
            std::memcpy(&word, values + i * width, sizeof(word));
            word = _pext_u64(word, _pdep_u64(some, kFirsts) * kWhole);
            std::memcpy(out, &word, sizeof(word));
            out += static_cast<size_t>(std::popcount(some)) * width;
        }
    } else {
        constexpr size_t kAtOnce = 32 / width;
        for (size_t i = 0; i < 32; i += kAtOnce) {
            const uint64_t some = bits >> i & ((uint64_t{1} << kAtOnce) - 1);
            const uint64_t lanes = width == 4 ? some : _pdep_u64(some, 0x55) * 3;
            const __m256i order =
                _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kLaneOrders[lanes].data()));
            const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + i * width));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_permutevar8x32_epi32(all, order));
            out += static_cast<size_t>(std::popcount(some)) * width;
        }
    }
    return out;
}

template <size_t width>
SHARDD_TARGET_AVX2 void compactByAvx2(const char* values, std::span<const uint8_t> mask, char* out) {
    const size_t whole = mask.size() / 32 * 32;
    for (size_t from = 0; from < whole; from += 32, values += 32 * width) {
        const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(mask.data() + from));
        const __m256i zeros = _mm256_cmpeq_epi8(bytes, _mm256_setzero_si256());
        const uint32_t bits = ~static_cast<uint32_t>(_mm256_movemask_epi8(zeros));
        if (bits != 0) out = keepByAvx2<width>(bits, values, out);
    }
    compact<width>(values, mask.subspan(whole), out);
}

template <size_t width>
void compactQuickly(const char* values, std::span<const uint8_t> mask, char* out) {
    switch (cpuLevel()) {
        case CpuLevel::Avx512:
            return compactByAvx512<width>(values, mask, out);
        case CpuLevel::Avx2:
            return compactByAvx2<width>(values, mask, out);
        case CpuLevel::Baseline:
            return compact<width>(values, mask, out);
    }
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
