#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/city_hash.h"
#include "common/base/pod_vector.h"
#include "common/base/reader.h"
#include "common/base/writer.h"

namespace shardd {

/// The compressed frame of sockets and of column files:
///     16 bytes checksum | UInt8 method | UInt32 compressed size | UInt32 uncompressed size | payload
/// The compressed size counts method, both sizes and payload; the checksum (CityHash128) covers the same
/// bytes. Source: docs/protocol.md, "Compressed frames".

/// The method byte. It travels and lies on disk: never renumber.
enum class FrameMethod : uint8_t {
    None = 0x02,
    Lz4 = 0x82,
    Zstd = 0x90,
};

inline constexpr size_t kFrameChecksumBytes = 16;
inline constexpr size_t kFrameSizesBytes = 9;
inline constexpr size_t kFrameHeaderBytes = kFrameChecksumBytes + kFrameSizesBytes;

/// What a writer puts into one frame at most; a reader takes more.
inline constexpr size_t kFrameDataBytes = size_t{1} << 20;

/// A frame that claims more than this, compressed or not, is refused before anything is allocated.
inline constexpr size_t kMaxFrameBytes = size_t{1} << 30;

struct FrameHeader {
    Hash128 checksum{};
    FrameMethod method = FrameMethod::None;
    uint32_t payload_bytes = 0;
    uint32_t data_bytes = 0;

    /// Bytes of the whole frame, its header included.
    size_t frameBytes() const { return kFrameHeaderBytes + payload_bytes; }
};

/// The header at the start of `bytes`; nothing when fewer than kFrameHeaderBytes are there.
/// Errors: UNKNOWN_COMPRESSION_METHOD (89), TOO_LARGE_SIZE_COMPRESSED (39), CANNOT_DECOMPRESS (271) for sizes
/// that no honest frame has.
std::optional<FrameHeader> peekFrameHeader(std::string_view bytes);

/// Appends the data of one whole frame (header included) to `out`.
/// Errors: CHECKSUM_DOESNT_MATCH (40), CANNOT_DECOMPRESS (271); `out` is then as it was.
void decodeFrame(const FrameHeader& header, std::string_view frame, PodVector<char>& out);

/// The same into memory of header.data_bytes bytes that the caller owns: a column's own buffer.
void decodeFrameInto(const FrameHeader& header, std::string_view frame, char* out);

struct FrameOptions {
    FrameMethod method = FrameMethod::Lz4;
    int zstd_level = 1;
};

/// Appends `data` to `out` as frames of at most kFrameDataBytes each; no data, no frame.
void encodeFrames(std::string_view data, FrameOptions options, Writer& out);

/// Reads the data of consecutive frames of another reader. Every refill is one frame.
class FrameReader : public Reader {
public:
    /// `source` must outlive this reader.
    explicit FrameReader(Reader& source) : Reader(nullptr, 0), source_(source) {}

protected:
    bool refill() override;

private:
    Reader& source_;
    PodVector<char> frame_;
    PodVector<char> data_;
};

/// Collects data and gives it out as frames: the writing twin of FrameReader.
/// `out` receives whole frames; finish() sends the rest and must be called.
class FrameWriter {
public:
    FrameWriter(Writer& out, FrameOptions options) : out_(out), options_(options) {}

    /// The place to write data to; call flushFull() from time to time so that memory stays bounded.
    Writer& data() { return data_; }

    /// Sends every full frame that has collected.
    void flushFull();

    void finish();

private:
    Writer& out_;
    FrameOptions options_;
    Writer data_;
};

}  // namespace shardd
