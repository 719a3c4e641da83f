#pragma once

#include <cstdint>

#include "common/base/wide_integer.h"
#include "common/base/writer.h"
#include "server/formats/text_input.h"

/// UUIDs and IP addresses as text and back.
namespace shardd::formats {

/// In memory the low 64 bits are the first eight bytes of the text.
void writeUuid(UInt128 value, Writer& out);
/// "1.2.3.4" of 0x01020304.
void writeIPv4(uint32_t value, Writer& out);
/// 16 bytes in network order; the longest run of zero groups as "::", mapped IPv4 as "::ffff:1.2.3.4".
void writeIPv6(const uint8_t* bytes, Writer& out);

/// 36 characters with dashes or 32 without. Code: CANNOT_PARSE_UUID.
TextResult readUuid(TextInput& in, UInt128& value);
/// Code: CANNOT_PARSE_IPV4.
TextResult readIPv4(TextInput& in, uint32_t& value);
/// IPv4 is read as mapped. Code: CANNOT_PARSE_IPV6.
TextResult readIPv6(TextInput& in, uint8_t* bytes);

}  // namespace shardd::formats
