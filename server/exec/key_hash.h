#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/base/hash.h"

namespace shardd::exec {

struct KeyString;

/// Hashes of packed keys: bits 0.. choose a slot, 40..47 a partition, 48..63 are kept in the slot.
/// Internal: never on the wire, may change between versions.
void hashKeys(size_t words, const uint64_t* keys, const KeyString* strings, size_t rows, uint64_t* hashes);

inline uint64_t foldMultiply(uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

template <size_t Words>
uint64_t hashWords(const uint64_t* key) {
    uint64_t hash = mixHash64(key[0]);
    for (size_t i = 1; i < Words; ++i) hash = mixHash64(hash ^ (key[i] + 0x9E3779B97F4A7C15ULL));
    return hash;
}

/// Never reads beyond the text.
inline uint64_t hashBytes(const char* data, size_t size) {
    constexpr uint64_t kFirst = 0x8A5CD789635D2DFFULL;
    constexpr uint64_t kSecond = 0x121FD2155C472F96ULL;
    uint64_t hash = foldMultiply(size ^ kFirst, kSecond);
    uint64_t a = 0;
    uint64_t b = 0;
    while (size > 16) {
        std::memcpy(&a, data, 8);
        std::memcpy(&b, data + 8, 8);
        hash = foldMultiply(a ^ hash, b ^ kSecond);
        data += 16;
        size -= 16;
    }
    a = b = 0;
    if (size > 8) {
        std::memcpy(&a, data, 8);
        std::memcpy(&b, data + size - 8, 8);
    } else if (size >= 4) {
        uint32_t head = 0;
        uint32_t tail = 0;
        std::memcpy(&head, data, 4);
        std::memcpy(&tail, data + size - 4, 4);
        a = head;
        b = tail;
    } else if (size != 0) {
        a = static_cast<uint8_t>(data[0]) | uint64_t{static_cast<uint8_t>(data[size / 2])} << 8 |
            uint64_t{static_cast<uint8_t>(data[size - 1])} << 16;
    }
    return foldMultiply(a ^ hash ^ kFirst, b ^ kSecond ^ hash);
}

}  // namespace shardd::exec
