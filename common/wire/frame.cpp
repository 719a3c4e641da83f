#include "common/wire/frame.h"

#include <algorithm>
#include <cstring>

#include <lz4.h>
#include <zstd.h>

namespace shardd {

namespace {

/// LZ4 cannot grow a byte into more than this many, whatever the frame says.
constexpr uint64_t kLz4MaxRatio = 255;

template <typename T>
T load(const char* data) {
    T value;
    std::memcpy(&value, data, sizeof(T));
    return value;
}

void checkSizes(const FrameHeader& header) {
    if (header.payload_bytes > kMaxFrameBytes || header.data_bytes > kMaxFrameBytes)
        throw Error(ErrorCode::TOO_LARGE_SIZE_COMPRESSED,
                    "A compressed frame claims {} bytes that hold {}; at most {} are taken",
                    header.payload_bytes, header.data_bytes, kMaxFrameBytes);
    const bool impossible =
        (header.method == FrameMethod::None && header.payload_bytes != header.data_bytes) ||
        (header.method == FrameMethod::Lz4 &&
         header.data_bytes > (uint64_t{header.payload_bytes} + 1) * kLz4MaxRatio);
    if (impossible)
        throw Error(ErrorCode::CANNOT_DECOMPRESS, "A compressed frame of {} bytes cannot hold {} bytes",
                    header.payload_bytes, header.data_bytes);
}

void decompress(const FrameHeader& header, const char* payload, char* out) {
    bool whole = false;
    switch (header.method) {
        case FrameMethod::None:
            std::memcpy(out, payload, header.data_bytes);
            whole = true;
            break;
        case FrameMethod::Lz4:
            whole = LZ4_decompress_safe(payload, out, static_cast<int>(header.payload_bytes),
                                        static_cast<int>(header.data_bytes)) ==
                    static_cast<int>(header.data_bytes);
            break;
        case FrameMethod::Zstd:
            whole =
                ZSTD_decompress(out, header.data_bytes, payload, header.payload_bytes) == header.data_bytes;
            break;
    }
    if (!whole)
        throw Error(ErrorCode::CANNOT_DECOMPRESS, "Cannot decompress a frame of {} bytes into {} bytes",
                    header.payload_bytes, header.data_bytes);
}

/// Writes the compressed payload behind the header and returns its size.
size_t compressPayload(std::string_view data, FrameOptions options, Writer& out) {
    const size_t before = out.size();
    if (options.method == FrameMethod::None) {
        out.writeBytes(data);
    } else if (options.method == FrameMethod::Lz4) {
        const int bound = LZ4_compressBound(static_cast<int>(data.size()));
        char* place = out.extend(static_cast<size_t>(bound));
        const int size = LZ4_compress_default(data.data(), place, static_cast<int>(data.size()), bound);
        out.shrink(before + static_cast<size_t>(size));
    } else {
        const size_t bound = ZSTD_compressBound(data.size());
        char* place = out.extend(bound);
        const size_t size = ZSTD_compress(place, bound, data.data(), data.size(), options.zstd_level);
        if (ZSTD_isError(size) != 0)
            throw Error(ErrorCode::CANNOT_COMPRESS, "Cannot compress with ZSTD: {}", ZSTD_getErrorName(size));
        out.shrink(before + size);
    }
    return out.size() - before;
}

void encodeFrame(std::string_view data, FrameOptions options, Writer& out) {
    const size_t start = out.size();
    out.extend(kFrameHeaderBytes);
    const size_t payload_bytes = compressPayload(data, options, out);
    char* header = out.data() + start;
    const auto compressed = static_cast<uint32_t>(payload_bytes + kFrameSizesBytes);
    const auto uncompressed = static_cast<uint32_t>(data.size());
    header[kFrameChecksumBytes] = static_cast<char>(options.method);
    std::memcpy(header + kFrameChecksumBytes + 1, &compressed, sizeof(compressed));
    std::memcpy(header + kFrameChecksumBytes + 5, &uncompressed, sizeof(uncompressed));
    const Hash128 checksum = cityHash128(header + kFrameChecksumBytes, compressed);
    std::memcpy(header, &checksum.low, sizeof(checksum.low));
    std::memcpy(header + 8, &checksum.high, sizeof(checksum.high));
}

}  // namespace

std::optional<FrameHeader> peekFrameHeader(std::string_view bytes) {
    if (bytes.size() < kFrameHeaderBytes) return std::nullopt;
    FrameHeader header;
    header.checksum = {load<uint64_t>(bytes.data()), load<uint64_t>(bytes.data() + 8)};
    const auto method = static_cast<uint8_t>(bytes[kFrameChecksumBytes]);
    if (method != 0x02 && method != 0x82 && method != 0x90)
        throw Error(ErrorCode::UNKNOWN_COMPRESSION_METHOD, "Unknown compression method {:#04x} of a frame",
                    method);
    header.method = static_cast<FrameMethod>(method);
    const auto compressed = load<uint32_t>(bytes.data() + kFrameChecksumBytes + 1);
    if (compressed < kFrameSizesBytes)
        throw Error(ErrorCode::CANNOT_DECOMPRESS,
                    "A compressed frame claims a size of {}, less than its header", compressed);
    header.payload_bytes = compressed - static_cast<uint32_t>(kFrameSizesBytes);
    header.data_bytes = load<uint32_t>(bytes.data() + kFrameChecksumBytes + 5);
    checkSizes(header);
    return header;
}

void decodeFrameInto(const FrameHeader& header, std::string_view frame, char* out) {
    SHARDD_CHECK(frame.size() == header.frameBytes());
    const char* covered = frame.data() + kFrameChecksumBytes;
    const Hash128 found = cityHash128(covered, frame.size() - kFrameChecksumBytes);
    if (!(found == header.checksum))
        throw Error(
            ErrorCode::CHECKSUM_DOESNT_MATCH,
            "Checksum of a compressed frame does not match: {:016x}{:016x} is said, {:016x}{:016x} is so",
            header.checksum.high, header.checksum.low, found.high, found.low);
    decompress(header, frame.data() + kFrameHeaderBytes, out);
}

void decodeFrame(const FrameHeader& header, std::string_view frame, PodVector<char>& out) {
    const size_t before = out.size();
    out.resize(before + header.data_bytes);
    try {
        decodeFrameInto(header, frame, out.data() + before);
    } catch (const Error&) {
        out.resize(before);
        throw;
    }
}

void encodeFrames(std::string_view data, FrameOptions options, Writer& out) {
    for (size_t offset = 0; offset < data.size(); offset += kFrameDataBytes)
        encodeFrame(data.substr(offset, kFrameDataBytes), options, out);
}

bool FrameReader::refill() {
    do {
        if (source_.atEnd()) return false;
        frame_.resize(kFrameHeaderBytes);
        source_.readBytes(frame_.data(), kFrameHeaderBytes);
        const FrameHeader header = *peekFrameHeader({frame_.data(), frame_.size()});
        // The payload is collected in steps, so that a false size costs no more memory than bytes that came.
        for (size_t rest = header.payload_bytes; rest > 0;) {
            const size_t step = std::min(rest, kFrameDataBytes);
            const size_t before = frame_.size();
            frame_.resize(before + step);
            source_.readBytes(frame_.data() + before, step);
            rest -= step;
        }
        data_.clear();
        decodeFrame(header, {frame_.data(), frame_.size()}, data_);
    } while (data_.empty());
    position_ = data_.data();
    end_ = position_ + data_.size();
    return true;
}

void FrameWriter::flushFull() {
    const size_t full = data_.size() / kFrameDataBytes * kFrameDataBytes;
    if (full == 0) return;
    encodeFrames(data_.view().substr(0, full), options_, out_);
    data_.dropFront(full);
}

void FrameWriter::finish() {
    encodeFrames(data_.view(), options_, out_);
    data_.clear();
}

}  // namespace shardd
