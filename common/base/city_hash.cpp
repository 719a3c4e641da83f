#include "common/base/city_hash.h"

#include <bit>
#include <cstring>
#include <utility>

namespace shardd {

namespace {

constexpr uint64_t k0 = 0xc3a5c85c97cb3127ULL;
constexpr uint64_t k1 = 0xb492b66fbe98f273ULL;
constexpr uint64_t k2 = 0x9ae16a3b2f90404fULL;
constexpr uint64_t k3 = 0xc949d7c7509e6557ULL;

uint64_t word64(const char* at) {
    uint64_t value = 0;
    std::memcpy(&value, at, sizeof(value));
    return value;
}

uint64_t word32(const char* at) {
    uint32_t value = 0;
    std::memcpy(&value, at, sizeof(value));
    return value;
}

uint64_t rotate(uint64_t value, int shift) { return std::rotr(value, shift); }

uint64_t shiftMix(uint64_t value) { return value ^ (value >> 47); }

uint64_t hash16(uint64_t u, uint64_t v) { return hash128To64(u, v); }

uint64_t hashUpTo16(const char* s, size_t size) {
    if (size > 8) {
        const uint64_t a = word64(s);
        const uint64_t b = word64(s + size - 8);
        return hash16(a, rotate(b + size, static_cast<int>(size))) ^ b;
    }
    if (size >= 4) {
        const uint64_t a = word32(s);
        return hash16(size + (a << 3), word32(s + size - 4));
    }
    if (size > 0) {
        const auto a = static_cast<uint8_t>(s[0]);
        const auto b = static_cast<uint8_t>(s[size >> 1]);
        const auto c = static_cast<uint8_t>(s[size - 1]);
        const uint32_t y = uint32_t{a} + (uint32_t{b} << 8);
        const uint32_t z = static_cast<uint32_t>(size) + (uint32_t{c} << 2);
        return shiftMix(y * k2 ^ z * k3) * k2;
    }
    return k2;
}

uint64_t hash17To32(const char* s, size_t size) {
    const uint64_t a = word64(s) * k1;
    const uint64_t b = word64(s + 8);
    const uint64_t c = word64(s + size - 8) * k2;
    const uint64_t d = word64(s + size - 16) * k0;
    return hash16(rotate(a - b, 43) + rotate(c, 30) + d, a + rotate(b ^ k3, 20) - c + size);
}

using Pair = std::pair<uint64_t, uint64_t>;

Pair weakHash32(uint64_t w, uint64_t x, uint64_t y, uint64_t z, uint64_t a, uint64_t b) {
    a += w;
    b = rotate(b + a + z, 21);
    const uint64_t c = a;
    a += x;
    a += y;
    b += rotate(a, 44);
    return {a + z, b + c};
}

Pair weakHash32(const char* s, uint64_t a, uint64_t b) {
    return weakHash32(word64(s), word64(s + 8), word64(s + 16), word64(s + 24), a, b);
}

uint64_t hash33To64(const char* s, size_t size) {
    uint64_t z = word64(s + 24);
    uint64_t a = word64(s) + (size + word64(s + size - 16)) * k0;
    uint64_t b = rotate(a + z, 52);
    uint64_t c = rotate(a, 37);
    a += word64(s + 8);
    c += rotate(a, 7);
    a += word64(s + 16);
    const uint64_t vf = a + z;
    const uint64_t vs = b + rotate(a, 31) + c;
    a = word64(s + 16) + word64(s + size - 32);
    z = word64(s + size - 8);
    b = rotate(a + z, 52);
    c = rotate(a, 37);
    a += word64(s + size - 24);
    c += rotate(a, 7);
    a += word64(s + size - 16);
    const uint64_t wf = a + z;
    const uint64_t ws = b + rotate(a, 31) + c;
    const uint64_t r = shiftMix((vf + ws) * k2 + (wf + vs) * k0);
    return shiftMix(r * k0 + vs) * k2;
}

Hash128 cityMurmur(const char* s, size_t size, Hash128 seed) {
    uint64_t a = seed.low;
    uint64_t b = seed.high;
    uint64_t c = 0;
    uint64_t d = 0;
    auto rest = static_cast<int64_t>(size) - 16;
    if (rest <= 0) {
        a = shiftMix(a * k1) * k1;
        c = b * k1 + hashUpTo16(s, size);
        d = shiftMix(a + (size >= 8 ? word64(s) : c));
    } else {
        c = hash16(word64(s + size - 8) + k1, a);
        d = hash16(b + size, c + word64(s + size - 16));
        a += d;
        do {
            a ^= shiftMix(word64(s) * k1) * k1;
            a *= k1;
            b ^= a;
            c ^= shiftMix(word64(s + 8) * k1) * k1;
            c *= k1;
            d ^= c;
            s += 16;
            rest -= 16;
        } while (rest > 0);
    }
    a = hash16(a, c);
    b = hash16(d, b);
    return {a ^ b, hash16(b, a)};
}

}  // namespace

uint64_t cityHash64(const char* s, size_t size) {
    if (size <= 16) return hashUpTo16(s, size);
    if (size <= 32) return hash17To32(s, size);
    if (size <= 64) return hash33To64(s, size);

    uint64_t x = word64(s);
    uint64_t y = word64(s + size - 16) ^ k1;
    uint64_t z = word64(s + size - 56) ^ k0;
    Pair v = weakHash32(s + size - 64, size, y);
    Pair w = weakHash32(s + size - 32, size * k1, k0);
    z += shiftMix(v.second) * k1;
    x = rotate(z + x, 39) * k1;
    y = rotate(y, 33) * k1;

    size_t rest = (size - 1) & ~size_t{63};
    do {
        x = rotate(x + y + v.first + word64(s + 16), 37) * k1;
        y = rotate(y + v.second + word64(s + 48), 42) * k1;
        x ^= w.second;
        y ^= v.first;
        z = rotate(z ^ w.first, 33);
        v = weakHash32(s, v.second * k1, x + w.first);
        w = weakHash32(s + 32, z + w.second, y);
        std::swap(z, x);
        s += 64;
        rest -= 64;
    } while (rest != 0);
    return hash16(hash16(v.first, w.first) + shiftMix(y) * k1 + z, hash16(v.second, w.second) + x);
}

Hash128 cityHash128WithSeed(const char* s, size_t size, Hash128 seed) {
    if (size < 128) return cityMurmur(s, size, seed);

    uint64_t x = seed.low;
    uint64_t y = seed.high;
    uint64_t z = size * k1;
    Pair v;
    Pair w;
    v.first = rotate(y ^ k1, 49) * k1 + word64(s);
    v.second = rotate(v.first, 42) * k1 + word64(s + 8);
    w.first = rotate(y + z, 35) * k1 + x;
    w.second = rotate(x + word64(s + 88), 53) * k1;

    size_t rest = size;
    do {
        for (int round = 0; round < 2; ++round) {
            x = rotate(x + y + v.first + word64(s + 16), 37) * k1;
            y = rotate(y + v.second + word64(s + 48), 42) * k1;
            x ^= w.second;
            y ^= v.first;
            z = rotate(z ^ w.first, 33);
            v = weakHash32(s, v.second * k1, x + w.first);
            w = weakHash32(s + 32, z + w.second, y);
            std::swap(z, x);
            s += 64;
        }
        rest -= 128;
    } while (rest >= 128);
    y += rotate(w.first, 37) * k0 + z;
    x += rotate(v.first + z, 49) * k0;
    for (size_t tail = 0; tail < rest;) {
        tail += 32;
        y = rotate(y - x, 42) * k0 + v.second;
        w.first += word64(s + rest - tail + 16);
        x = rotate(x, 49) * k0 + w.first;
        w.first += v.first;
        v = weakHash32(s + rest - tail, v.first, v.second);
    }
    x = hash16(x, v.first);
    y = hash16(y, w.first);
    return {hash16(x + v.second, w.second) + y, hash16(x + w.second, y + v.second)};
}

Hash128 cityHash128(const char* s, size_t size) {
    if (size >= 16) return cityHash128WithSeed(s + 16, size - 16, {word64(s) ^ k3, word64(s + 8)});
    if (size >= 8) return cityHash128WithSeed(nullptr, 0, {word64(s) ^ (size * k0), word64(s + size - 8) ^ k1});
    return cityHash128WithSeed(s, size, {k0, k1});
}

}  // namespace shardd
