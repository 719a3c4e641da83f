#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/city_hash.h"
#include "common/base/hash.h"

struct evp_md_st;

namespace shardd::functions {

/// ClickHouse's hash of integers.
inline uint64_t intHash64(uint64_t x) { return mixHash64(x ^ 0x4CF2D2BAAE6DA887ULL); }

/// Thomas Wang's 64 to 32 bits.
inline uint32_t intHash32(uint64_t x) {
    uint64_t k = x ^ 0x75D9543DE018BF45ULL;
    k = ~k + (k << 18);
    k ^= k >> 31 | k << 33;
    k *= 21;
    k ^= k >> 11 | k << 53;
    k += k << 6;
    k ^= k >> 22 | k << 42;
    return static_cast<uint32_t>(k);
}

/// SipHash-2-4 with 128 bits as its authors published it.
Hash128 sipHash128Reference(std::string_view text, uint64_t key0, uint64_t key1);

/// A digest of OpenSSL, fetched once; NOT_IMPLEMENTED (48) when the library does not have it.
const evp_md_st* digestByName(const char* name);

/// Writes the digest of a text; returns its size.
unsigned digestOf(const evp_md_st* digest, std::string_view text, unsigned char* out);

}  // namespace shardd::functions
