#include "common/protocol/chunked.h"

#include <algorithm>

#include "common/protocol/packets.h"

namespace shardd::protocol {

void writeChunked(std::string_view packet, Writer& out) {
    // A chunk's size is 32 bits wide; a packet beyond it takes several.
    constexpr size_t kMaxChunkBytes = size_t{1} << 30;
    for (size_t offset = 0; offset < packet.size(); offset += kMaxChunkBytes) {
        const std::string_view chunk = packet.substr(offset, kMaxChunkBytes);
        out.writeFixed(static_cast<uint32_t>(chunk.size()));
        out.writeBytes(chunk);
    }
    out.writeFixed(uint32_t{0});
}

void ChunkDecoder::feed(std::string_view bytes, ByteWindow& out) {
    while (!bytes.empty()) {
        if (chunk_rest_ == 0) {
            size_ |= static_cast<uint32_t>(static_cast<uint8_t>(bytes.front())) << (8 * size_bytes_);
            bytes.remove_prefix(1);
            if (++size_bytes_ < 4) continue;
            chunk_rest_ = size_;
            size_ = 0;
            size_bytes_ = 0;
            continue;
        }
        const size_t part = std::min<size_t>(chunk_rest_, bytes.size());
        out.append(bytes.substr(0, part));
        bytes.remove_prefix(part);
        chunk_rest_ -= static_cast<uint32_t>(part);
    }
}

std::optional<bool> agreeChunked(std::string_view client, std::string_view server) {
    const bool client_chunked = client.starts_with(kChunked);
    const bool server_chunked = server.starts_with(kChunked);
    if (server.ends_with("_optional")) return client_chunked;
    if (client.ends_with("_optional")) return server_chunked;
    if (client_chunked != server_chunked) return std::nullopt;
    return client_chunked;
}

}  // namespace shardd::protocol
