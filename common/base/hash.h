#pragma once

#include <cstdint>

namespace shardd {

/// MurmurHash3's 64-bit finaliser: ClickHouse's hash of integers inside uniq states and two-level buckets.
inline uint64_t mixHash64(uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    x ^= x >> 33;
    return x;
}

}  // namespace shardd
