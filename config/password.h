#pragma once

#include <string>
#include <string_view>

namespace shardd {

std::string sha256(std::string_view text);  ///< 32 raw bytes
std::string sha1(std::string_view text);    ///< 20 raw bytes

/// Raw bytes of hexadecimal text of exactly `bytes` bytes; empty when it is not that.
std::string fromHex(std::string_view text, size_t bytes);

/// Takes the same time wherever the two differ.
bool equalInConstantTime(std::string_view left, std::string_view right);

}  // namespace shardd
