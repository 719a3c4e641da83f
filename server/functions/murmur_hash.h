#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/base/city_hash.h"

// MurmurHash 2 and 3 after Austin Appleby's public-domain description.
namespace shardd::functions {

template <typename T>
inline T loadUnaligned(const void* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

inline uint32_t murmurHash2_32(const char* data, size_t size, uint32_t seed) {
    constexpr uint32_t kMul = 0x5bd1e995;
    uint32_t h = seed ^ static_cast<uint32_t>(size);
    for (; size >= 4; data += 4, size -= 4) {
        uint32_t k = loadUnaligned<uint32_t>(data) * kMul;
        k ^= k >> 24;
        h = (h * kMul) ^ (k * kMul);
    }
    if (size > 0) {
        uint32_t tail = 0;
        std::memcpy(&tail, data, size);
        h = (h ^ tail) * kMul;
    }
    h = (h ^ (h >> 13)) * kMul;
    return h ^ (h >> 15);
}

/// MurmurHash64A.
inline uint64_t murmurHash2_64(const char* data, size_t size, uint64_t seed) {
    constexpr uint64_t kMul = 0xc6a4a7935bd1e995ULL;
    uint64_t h = seed ^ (size * kMul);
    for (; size >= 8; data += 8, size -= 8) {
        uint64_t k = loadUnaligned<uint64_t>(data) * kMul;
        k ^= k >> 47;
        h = (h ^ (k * kMul)) * kMul;
    }
    if (size > 0) {
        uint64_t tail = 0;
        std::memcpy(&tail, data, size);
        h = (h ^ tail) * kMul;
    }
    h = (h ^ (h >> 47)) * kMul;
    return h ^ (h >> 47);
}

/// std::_Hash_bytes of libstdc++: the same steps, another mixing of each word and of the tail.
inline uint64_t murmurHashOfGcc(const char* data, size_t size, uint64_t seed) {
    constexpr uint64_t kMul = 0xc6a4a7935bd1e995ULL;
    auto shiftMix = [](uint64_t v) { return v ^ (v >> 47); };
    uint64_t h = seed ^ (size * kMul);
    for (; size >= 8; data += 8, size -= 8)
        h = (h ^ (shiftMix(loadUnaligned<uint64_t>(data) * kMul) * kMul)) * kMul;
    if (size > 0) {
        uint64_t tail = 0;
        std::memcpy(&tail, data, size);
        h = (h ^ tail) * kMul;
    }
    h = shiftMix(h) * kMul;
    return shiftMix(h);
}

inline uint32_t murmurHash3_32(const char* data, size_t size, uint32_t seed) {
    constexpr uint32_t kC1 = 0xcc9e2d51;
    constexpr uint32_t kC2 = 0x1b873593;
    const size_t total = size;
    uint32_t h = seed;
    for (; size >= 4; data += 4, size -= 4) {
        h ^= std::rotl(loadUnaligned<uint32_t>(data) * kC1, 15) * kC2;
        h = std::rotl(h, 13) * 5 + 0xe6546b64;
    }
    if (size > 0) {
        uint32_t tail = 0;
        std::memcpy(&tail, data, size);
        h ^= std::rotl(tail * kC1, 15) * kC2;
    }
    h ^= static_cast<uint32_t>(total);
    h = (h ^ (h >> 16)) * 0x85ebca6b;
    h = (h ^ (h >> 13)) * 0xc2b2ae35;
    return h ^ (h >> 16);
}

/// MurmurHash3_x64_128.
inline Hash128 murmurHash3_128(const char* data, size_t size, uint64_t seed) {
    constexpr uint64_t kC1 = 0x87c37b91114253d5ULL;
    constexpr uint64_t kC2 = 0x4cf5ad432745937fULL;
    auto finish = [](uint64_t k) {
        k = (k ^ (k >> 33)) * 0xff51afd7ed558ccdULL;
        k = (k ^ (k >> 33)) * 0xc4ceb9fe1a85ec53ULL;
        return k ^ (k >> 33);
    };
    const size_t total = size;
    uint64_t h1 = seed;
    uint64_t h2 = seed;
    for (; size >= 16; data += 16, size -= 16) {
        h1 ^= std::rotl(loadUnaligned<uint64_t>(data) * kC1, 31) * kC2;
        h1 = (std::rotl(h1, 27) + h2) * 5 + 0x52dce729;
        h2 ^= std::rotl(loadUnaligned<uint64_t>(data + 8) * kC2, 33) * kC1;
        h2 = (std::rotl(h2, 31) + h1) * 5 + 0x38495ab5;
    }
    if (size > 8) {
        uint64_t tail = 0;
        std::memcpy(&tail, data + 8, size - 8);
        h2 ^= std::rotl(tail * kC2, 33) * kC1;
    }
    if (size > 0) {
        uint64_t tail = 0;
        std::memcpy(&tail, data, size < 8 ? size : 8);
        h1 ^= std::rotl(tail * kC1, 31) * kC2;
    }
    h1 ^= total;
    h2 ^= total;
    h1 += h2;
    h2 += h1;
    h1 = finish(h1);
    h2 = finish(h2);
    h1 += h2;
    h2 += h1;
    return {h1, h2};
}

}  // namespace shardd::functions
