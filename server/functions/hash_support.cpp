#include "server/functions/hash_support.h"

#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <openssl/evp.h>

#include "common/base/error.h"

namespace shardd::functions {

Hash128 sipHash128Reference(std::string_view text, uint64_t key0, uint64_t key1) {
    uint64_t v0 = 0x736f6d6570736575ULL ^ key0;
    uint64_t v1 = 0x646f72616e646f6dULL ^ key1 ^ 0xee;
    uint64_t v2 = 0x6c7967656e657261ULL ^ key0;
    uint64_t v3 = 0x7465646279746573ULL ^ key1;
    auto rounds = [&](int count) {
        for (int i = 0; i < count; ++i) {
            v0 += v1;
            v1 = std::rotl(v1, 13) ^ v0;
            v0 = std::rotl(v0, 32);
            v2 += v3;
            v3 = std::rotl(v3, 16) ^ v2;
            v0 += v3;
            v3 = std::rotl(v3, 21) ^ v0;
            v2 += v1;
            v1 = std::rotl(v1, 17) ^ v2;
            v2 = std::rotl(v2, 32);
        }
    };
    auto absorb = [&](uint64_t word) {
        v3 ^= word;
        rounds(2);
        v0 ^= word;
    };
    size_t at = 0;
    for (; at + 8 <= text.size(); at += 8) {
        uint64_t word = 0;
        std::memcpy(&word, text.data() + at, 8);
        absorb(word);
    }
    uint64_t last = 0;
    std::memcpy(&last, text.data() + at, text.size() - at);
    absorb(last | (static_cast<uint64_t>(text.size()) << 56));
    v2 ^= 0xee;
    rounds(4);
    const uint64_t low = v0 ^ v1 ^ v2 ^ v3;
    v1 ^= 0xdd;
    rounds(4);
    return {low, v0 ^ v1 ^ v2 ^ v3};
}

const evp_md_st* digestByName(const char* name) {
    static std::mutex mutex;  // guards `known`
    // Never destroyed: OpenSSL's own end may come before.
    static auto& known = *new std::map<std::string, EVP_MD*, std::less<>>;
    const std::lock_guard lock(mutex);
    const auto found = known.find(name);
    if (found != known.end()) return found->second;
    EVP_MD* digest = EVP_MD_fetch(nullptr, name, nullptr);
    if (!digest) throw Error(ErrorCode::NOT_IMPLEMENTED, "The cryptographic library has no digest {}", name);
    return known.emplace(name, digest).first->second;
}

unsigned digestOf(const evp_md_st* digest, std::string_view text, unsigned char* out) {
    struct Free {
        void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
    };

    thread_local const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
    unsigned size = 0;
    if (!context || EVP_DigestInit_ex(context.get(), digest, nullptr) != 1 ||
        EVP_DigestUpdate(context.get(), text.data(), text.size()) != 1 ||
        EVP_DigestFinal_ex(context.get(), out, &size) != 1)
        throw Error(ErrorCode::OPENSSL_ERROR, "A digest could not be computed");
    return size;
}

}  // namespace shardd::functions
