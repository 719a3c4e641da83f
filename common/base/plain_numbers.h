#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Numbers in messages, names and addresses.
namespace shardd {

/// "12.13 MiB", as ClickHouse's messages have it.
std::string readableBytes(uint64_t bytes);

/// All of `text` as a decimal number; nothing for anything else.
std::optional<uint64_t> parseUnsigned(std::string_view text);

}  // namespace shardd
