#include "config/password.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "common/base/error.h"

namespace shardd {

namespace {

std::string digest(const EVP_MD* kind, std::string_view text) {
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    SHARDD_CHECK(EVP_Digest(text.data(), text.size(), bytes, &size, kind, nullptr) == 1);
    return std::string(reinterpret_cast<const char*>(bytes), size);
}

int hexDigit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace

std::string sha256(std::string_view text) { return digest(EVP_sha256(), text); }

std::string sha1(std::string_view text) { return digest(EVP_sha1(), text); }

std::string fromHex(std::string_view text, size_t bytes) {
    if (text.size() != bytes * 2) return {};
    std::string raw;
    for (size_t i = 0; i < text.size(); i += 2) {
        const int high = hexDigit(text[i]);
        const int low = hexDigit(text[i + 1]);
        if (high < 0 || low < 0) return {};
        raw.push_back(static_cast<char>(high * 16 + low));
    }
    return raw;
}

bool equalInConstantTime(std::string_view left, std::string_view right) {
    return left.size() == right.size() && CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

}  // namespace shardd
