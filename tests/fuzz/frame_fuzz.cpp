#include <cstddef>
#include <cstdint>

#include "common/wire/frame.h"

/// Any bytes are frames with good checksums, or refused.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace shardd;
    try {
        Reader source(reinterpret_cast<const char*>(data), size);
        FrameReader frames(source);
        while (!frames.atEnd()) frames.readByte();
    } catch (const Error&) {
        // refused
    }
    // The decompressors behind the checksum, which a fuzzer would hardly ever guess.
    try {
        std::string frame(reinterpret_cast<const char*>(data), size);
        std::optional<FrameHeader> header = peekFrameHeader(frame);
        if (!header || header->data_bytes > (1U << 24)) return 0;
        header->payload_bytes = static_cast<uint32_t>(frame.size() - kFrameHeaderBytes);
        header->checksum = cityHash128(frame.data() + kFrameChecksumBytes, frame.size() - kFrameChecksumBytes);
        if (header->method == FrameMethod::None) return 0;
        PodVector<char> out;
        decodeFrame(*header, frame, out);
    } catch (const Error&) {
        // refused
    }
    return 0;
}
