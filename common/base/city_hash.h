#pragma once

#include <cstdint>
#include <string_view>

namespace shardd {

/// CityHash, release 1.0.2: the one that ClickHouse froze for checksums and for cityHash64(). Later releases give
/// other values, so no library serves.
struct Hash128 {
    uint64_t low;
    uint64_t high;

    friend bool operator==(const Hash128&, const Hash128&) = default;
};

uint64_t cityHash64(const char* data, size_t size);

inline uint64_t cityHash64(std::string_view text) { return cityHash64(text.data(), text.size()); }

Hash128 cityHash128(const char* data, size_t size);

Hash128 cityHash128WithSeed(const char* data, size_t size, Hash128 seed);

/// Mixes 16 bytes down to 8 (the library's Hash128to64), also ClickHouse's way to chain hashes.
inline uint64_t hash128To64(uint64_t low, uint64_t high) {
    constexpr uint64_t kMul = 0x9ddfea08eb382d69ULL;
    uint64_t a = (low ^ high) * kMul;
    a ^= a >> 47;
    uint64_t b = (high ^ a) * kMul;
    b ^= b >> 47;
    return b * kMul;
}

}  // namespace shardd
