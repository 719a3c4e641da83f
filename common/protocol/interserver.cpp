#include "common/protocol/interserver.h"

#include <fmt/core.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "common/base/error.h"
#include "common/base/writer.h"

namespace shardd::protocol {

namespace {

void writeRoles(const std::vector<std::string>& roles, Writer& out) {
    out.writeVarUInt(roles.size());
    for (const std::string& role : roles) out.writeString(role);
}

}  // namespace

std::string interserverHash(const InterserverSecret& connection, const Query& query, Revision revision) {
    Writer covered;
    covered.writeBytes(connection.salt);
    if (revision >= gate::kNonce) covered.writeBytes(fmt::format("{}", connection.nonce));
    covered.writeBytes(connection.secret);
    covered.writeBytes(query.text);
    covered.writeBytes(query.query_id);
    covered.writeBytes(query.client_info.initial_user);
    if (revision >= gate::kExternalRoles) writeRoles(query.external_roles, covered);
    if (revision >= gate::kCurrentRoles)
        writeRoles(query.client_info.current_roles.value_or(std::vector<std::string>()), covered);
    return sha256(covered.view());
}

std::string sha256(std::string_view bytes) {
    std::string digest(EVP_MAX_MD_SIZE, '\0');
    unsigned size = 0;
    if (EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), &size,
                   EVP_sha256(), nullptr) != 1)
        throw Error(ErrorCode::OPENSSL_ERROR, "OpenSSL cannot compute SHA-256");
    digest.resize(size);
    return digest;
}

std::string hmacSha256(std::string_view key, std::string_view bytes) {
    std::string digest(EVP_MAX_MD_SIZE, '\0');
    unsigned size = 0;
    if (!HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(bytes.data()),
              bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), &size))
        throw Error(ErrorCode::OPENSSL_ERROR, "OpenSSL cannot compute HMAC-SHA-256");
    digest.resize(size);
    return digest;
}

bool equalInConstantTime(std::string_view left, std::string_view right) {
    return left.size() == right.size() && CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

std::string randomBytes(size_t size) {
    std::string bytes(size, '\0');
    if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(size)) != 1)
        throw Error(ErrorCode::OPENSSL_ERROR, "OpenSSL has no random bytes");
    return bytes;
}

std::string makeQueryId() {
    const std::string bytes = randomBytes(16);
    std::string text;
    for (size_t i = 0; i < bytes.size(); ++i) {
        auto byte = static_cast<uint8_t>(bytes[i]);
        if (i == 6) byte = static_cast<uint8_t>((byte & 0x0F) | 0x40);
        if (i == 8) byte = static_cast<uint8_t>((byte & 0x3F) | 0x80);
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += fmt::format("{:02x}", byte);
    }
    return text;
}

}  // namespace shardd::protocol
