#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "common/base/city_hash.h"

namespace shardd {

/// SipHash-2-4, fed piece by piece. ClickHouse's 128-bit form is the two halves before they are folded into the
/// 64-bit form (v0^v1, v2^v3), which is not the published SipHash-128.
class SipHash {
public:
    explicit SipHash(uint64_t key0 = 0, uint64_t key1 = 0)
        : v0_(0x736f6d6570736575ULL ^ key0),
          v1_(0x646f72616e646f6dULL ^ key1),
          v2_(0x6c7967656e657261ULL ^ key0),
          v3_(0x7465646279746573ULL ^ key1) {}

    void update(const void* data, size_t size);

    void update(std::string_view text) { update(text.data(), text.size()); }

    template <typename T>
        requires std::is_trivially_copyable_v<T>
    void updateFixed(const T& value) {
        update(&value, sizeof(T));
    }

    /// The end of the input: call one of these, once.
    uint64_t get64() {
        finish();
        return v0_ ^ v1_ ^ v2_ ^ v3_;
    }

    Hash128 get128() {
        finish();
        return {v0_ ^ v1_, v2_ ^ v3_};
    }

private:
    void round() {
        v0_ += v1_;
        v1_ = std::rotl(v1_, 13) ^ v0_;
        v0_ = std::rotl(v0_, 32);
        v2_ += v3_;
        v3_ = std::rotl(v3_, 16) ^ v2_;
        v0_ += v3_;
        v3_ = std::rotl(v3_, 21) ^ v0_;
        v2_ += v1_;
        v1_ = std::rotl(v1_, 17) ^ v2_;
        v2_ = std::rotl(v2_, 32);
    }

    void absorb(uint64_t word) {
        v3_ ^= word;
        round();
        round();
        v0_ ^= word;
    }

    void finish();

    uint64_t v0_;
    uint64_t v1_;
    uint64_t v2_;
    uint64_t v3_;
    uint64_t pending_ = 0;  // the bytes not yet absorbed, lowest first
    uint64_t total_ = 0;
};

inline uint64_t sipHash64(std::string_view text) {
    SipHash hash;
    hash.update(text);
    return hash.get64();
}

inline Hash128 sipHash128(std::string_view text) {
    SipHash hash;
    hash.update(text);
    return hash.get128();
}

}  // namespace shardd
