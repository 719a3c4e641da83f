#pragma once

#include <string>
#include <string_view>

#include "common/protocol/packets.h"
#include "common/protocol/revision.h"

namespace shardd::protocol {

/// What both ends of an interserver connection know besides the query.
struct InterserverSecret {
    std::string_view salt;
    uint64_t nonce = 0;
    std::string_view secret;
};

/// The 32 bytes that prove knowledge of the cluster's secret for one query: SHA-256 over salt, nonce, secret,
/// text, query id, initial user and the lists of roles, each where the revision has it.
std::string interserverHash(const InterserverSecret& connection, const Query& query, Revision revision);

/// SHA-256 of `bytes`, raw 32 bytes.
std::string sha256(std::string_view bytes);

/// HMAC-SHA-256 of `bytes`, raw 32 bytes.
std::string hmacSha256(std::string_view key, std::string_view bytes);

/// Equal, in a time that does not tell where the first difference is.
bool equalInConstantTime(std::string_view left, std::string_view right);

/// Bytes that nobody can guess, for salts and nonces.
std::string randomBytes(size_t size);

/// A random UUID as text, for a query whose client gave none.
std::string makeQueryId();

}  // namespace shardd::protocol
