#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/writer.h"
#include "common/wire/byte_window.h"

namespace shardd::protocol {

/// Chunked framing: every packet of a direction travels as chunks `UInt32 size, size bytes`, then `UInt32 0`.
/// Source: docs/protocol.md, "Chunked framing".

/// Appends one packet as one chunk and its end.
void writeChunked(std::string_view packet, Writer& out);

/// Takes the framing off. A chunk boundary may fall anywhere, so the packets' ends are not looked at.
class ChunkDecoder {
public:
    /// Appends the payload of `bytes`, which continue what was fed before, to `out`.
    void feed(std::string_view bytes, ByteWindow& out);

private:
    uint32_t chunk_rest_ = 0;
    uint32_t size_ = 0;
    unsigned size_bytes_ = 0;
};

/// What a direction does when one side wishes `client` and the other `server` (kChunked, kNotChunkedOptional
/// …): true is chunked, nothing is a contradiction, for which the client closes.
std::optional<bool> agreeChunked(std::string_view client, std::string_view server);

}  // namespace shardd::protocol
