#include "server/storage/file_names.h"

#include <fmt/core.h>

#include "common/base/sip_hash.h"
#include "server/storage/stream_path.h"

namespace shardd::storage {

namespace {

constexpr char kHexDigits[] = "0123456789ABCDEF";

bool staysAsItIs(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

int hexValue(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

}  // namespace

std::string escapeFileName(std::string_view name) {
    std::string escaped;
    escaped.reserve(name.size());
    for (const char c : name) {
        if (staysAsItIs(c)) {
            escaped += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            escaped += '%';
            escaped += kHexDigits[byte >> 4];
            escaped += kHexDigits[byte & 15];
        }
    }
    return escaped;
}

std::string unescapeFileName(std::string_view name) {
    std::string plain;
    plain.reserve(name.size());
    for (size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '%' && i + 2 < name.size() && hexValue(name[i + 1]) >= 0 &&
            hexValue(name[i + 2]) >= 0) {
            plain += static_cast<char>(hexValue(name[i + 1]) * 16 + hexValue(name[i + 2]));
            i += 2;
        } else {
            plain += name[i];
        }
    }
    return plain;
}

std::string streamFileName(const std::string& stream) {
    constexpr size_t kLongestName = 127;
    if (stream.size() <= kLongestName) return stream;
    const Hash128 hash = sipHash128(stream);
    return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

}  // namespace shardd::storage
