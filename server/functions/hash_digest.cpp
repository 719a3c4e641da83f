// Cryptographic digests: MD5, SHA*, RIPEMD160, MD4, HMAC.

#include <bit>
#include <cstring>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "server/functions/definition.h"
#include "server/functions/hash_support.h"
#include "server/functions/murmur_hash.h"

namespace shardd::functions {

namespace {

template <size_t kSize>
TypePtr typeOfDigest(const Signature& call) {
    needCount(call, 1);
    if (!call.type(0)->isString() && call.type(0)->kind() != TypeKind::IPv6)
        illegalArgument(call, 0, "String, FixedString or IPv6");
    return types::fixedString(kSize);
}

template <FixedName kDigest, size_t kSize>
ColumnPtr runDigest(const Call& call) {
    const evp_md_st* digest = digestByName(kDigest.text);
    const TextArgument texts(call.column(0));
    PodVector<char> bytes(call.rows * kSize);
    unsigned char out[EVP_MAX_MD_SIZE];
    for (size_t row = 0; row < call.rows; ++row) {
        digestOf(digest, texts[row], out);
        std::memcpy(bytes.data() + row * kSize, out, kSize);
    }
    return std::make_shared<FixedStringColumn>(kSize, std::move(bytes));
}

/// RFC 1320, which the library keeps apart from the others.
class Md4 {
public:
    static void digest(std::string_view text, char* out) {
        Md4 md4;
        size_t at = 0;
        for (; at + 64 <= text.size(); at += 64) md4.block(text.data() + at);
        char last[128] = {};
        const size_t rest = text.size() - at;
        std::memcpy(last, text.data() + at, rest);
        last[rest] = static_cast<char>(0x80);
        const size_t blocks = rest < 56 ? 1 : 2;
        const uint64_t bits = text.size() * 8;
        std::memcpy(last + blocks * 64 - 8, &bits, 8);
        for (size_t i = 0; i < blocks; ++i) md4.block(last + i * 64);
        std::memcpy(out, md4.state_, 16);
    }

private:
    void block(const char* data) {
        uint32_t x[16];
        std::memcpy(x, data, 64);
        uint32_t s[4] = {state_[0], state_[1], state_[2], state_[3]};
        static constexpr int kShifts[3][4] = {{3, 7, 11, 19}, {3, 5, 9, 13}, {3, 9, 11, 15}};
        static constexpr int kOrder[3][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                              {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15},
                                              {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15}};
        static constexpr uint32_t kAdd[3] = {0, 0x5a827999, 0x6ed9eba1};
        for (int round = 0; round < 3; ++round) {
            for (int i = 0; i < 16; ++i) {
                uint32_t& a = s[(16 - i) % 4];
                const uint32_t b = s[(17 - i) % 4];
                const uint32_t c = s[(18 - i) % 4];
                const uint32_t d = s[(19 - i) % 4];
                const uint32_t f = round == 0   ? (b & c) | (~b & d)
                                   : round == 1 ? (b & c) | (b & d) | (c & d)
                                                : b ^ c ^ d;
                a = std::rotl(a + f + x[kOrder[round][i]] + kAdd[round], kShifts[round][i % 4]);
            }
        }
        for (int i = 0; i < 4; ++i) state_[i] += s[i];
    }

    uint32_t state_[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
};

ColumnPtr runMd4(const Call& call) {
    const TextArgument texts(call.column(0));
    PodVector<char> bytes(call.rows * 16);
    for (size_t row = 0; row < call.rows; ++row) Md4::digest(texts[row], bytes.data() + row * 16);
    return std::make_shared<FixedStringColumn>(16, std::move(bytes));
}

TypePtr typeOfHmac(const Signature& call) {
    needCount(call, 3);
    for (size_t i = 0; i < 3; ++i) needString(call, i);
    return types::string();
}

/// HMAC(mode, message, key).
ColumnPtr runHmac(const Call& call) {
    std::string mode(TextArgument(call.column(0))[0]);
    for (char& c : mode) c = c >= 'a' && c <= 'z' ? static_cast<char>(c & ~0x20) : c;
    const EVP_MD* digest = EVP_get_digestbyname(mode.c_str());
    if (!digest) throw Error(ErrorCode::BAD_ARGUMENTS, "Invalid mode: {}", mode);
    const TextArgument messages(call.column(1));
    const TextArgument keys(call.column(2));
    return eachText(call.rows, call.rows * 32, [&](size_t row, TextBuilder& out) {
        unsigned char bytes[EVP_MAX_MD_SIZE];
        unsigned size = 0;
        const std::string_view key = keys[row];
        const std::string_view message = messages[row];
        ::HMAC(digest, key.data(), static_cast<int>(key.size()),
               reinterpret_cast<const unsigned char*>(message.data()), message.size(), bytes, &size);
        out.append(std::string_view(reinterpret_cast<const char*>(bytes), size));
    });
}

#define DIGEST(name, library_name, size) \
    define<name, typeOfDigest<size>, runDigest<library_name, size>>(name "(text)", "The " name " digest.")

}  // namespace

std::span<const FunctionInfo> hashDigestFunctions() {
    static const FunctionInfo kList[] = {
        define<"MD4", typeOfDigest<16>, runMd4>("MD4(text)", "The MD4 digest.", "hex(MD4('abc'))",
                                                "A448017AAF21D8525FC10AE87AA6729D"),
        DIGEST("MD5", "MD5", 16),
        DIGEST("SHA1", "SHA1", 20),
        DIGEST("SHA224", "SHA224", 28),
        DIGEST("SHA256", "SHA256", 32),
        DIGEST("SHA384", "SHA384", 48),
        DIGEST("SHA512", "SHA512", 64),
        DIGEST("SHA512_256", "SHA512-256", 32),
        DIGEST("RIPEMD160", "RIPEMD160", 20),
        define<"HMAC", typeOfHmac, runHmac, kMayThrow, 1>("HMAC(mode, message, key)", "A keyed digest."),
    };
    return kList;
}

}  // namespace shardd::functions
