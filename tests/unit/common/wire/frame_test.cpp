#include "common/wire/frame.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace shardd {
namespace {

std::string fromHex(std::string_view hex) {
    std::string bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
    return bytes;
}

std::string noise(size_t size) {
    std::mt19937 random(7);
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 11);
    return bytes;
}

class FrameMethods : public testing::TestWithParam<FrameMethod> {};

TEST_P(FrameMethods, RoundTripOfEverySize) {
    for (const size_t size :
         {size_t{1}, size_t{9}, size_t{1000}, kFrameDataBytes, kFrameDataBytes * 3 + 17}) {
        const std::string data = noise(size);
        Writer frames;
        encodeFrames(data, {.method = GetParam()}, frames);
        Reader source(frames.view());
        FrameReader reader(source);
        std::string back(size, '\0');
        reader.readBytes(back.data(), size);
        EXPECT_EQ(back, data);
        EXPECT_TRUE(reader.atEnd());
    }
}

TEST_P(FrameMethods, EveryPrefixEndsInAnError) {
    Writer frames;
    encodeFrames(noise(300), {.method = GetParam()}, frames);
    for (size_t size = 1; size < frames.size(); ++size) {
        Reader source(frames.view().substr(0, size));
        FrameReader reader(source);
        EXPECT_THROW(reader.readByte(), Error) << size;
    }
}

TEST_P(FrameMethods, EveryFlippedByteIsNoticed) {
    Writer frames;
    encodeFrames(noise(60), {.method = GetParam()}, frames);
    for (size_t i = 0; i < frames.size(); ++i) {
        std::string broken(frames.view());
        broken[i] = static_cast<char>(broken[i] ^ 0x40);
        Reader source(broken);
        FrameReader reader(source);
        EXPECT_THROW(reader.readByte(), Error) << i;
    }
}

INSTANTIATE_TEST_SUITE_P(All,
                         FrameMethods,
                         testing::Values(FrameMethod::None, FrameMethod::Lz4, FrameMethod::Zstd));

TEST(Frame, TheEmptyBlockOfAClient) {
    const std::string frame =
        fromHex("2f52a1ea36f369c4298e958c545f01d882160000000c000000c0010002ffffffff0300000000");
    const std::optional<FrameHeader> header = peekFrameHeader(frame);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->method, FrameMethod::Lz4);
    EXPECT_EQ(header->frameBytes(), frame.size());
    PodVector<char> data;
    decodeFrame(*header, frame, data);
    EXPECT_EQ(std::string(data.data(), data.size()), fromHex("010002ffffffff0300000000"));
    Writer again;
    encodeFrames({data.data(), data.size()}, {.method = FrameMethod::Lz4}, again);
    EXPECT_EQ(again.view(), frame);
}

TEST(Frame, HostileSizesAreRefusedBeforeMemoryIsTaken) {
    struct Row {
        const char* what;
        const char* method_and_sizes;
        ErrorCode code;
    };

    const Row rows[] = {
        {"unknown method", "990a00000001000000", ErrorCode::UNKNOWN_COMPRESSION_METHOD},
        {"smaller than its header", "820800000001000000", ErrorCode::CANNOT_DECOMPRESS},
        {"4 GiB compressed", "82ffffffff01000000", ErrorCode::TOO_LARGE_SIZE_COMPRESSED},
        {"4 GiB of data", "900a000000ffffffff", ErrorCode::TOO_LARGE_SIZE_COMPRESSED},
        {"LZ4 bomb beyond its ratio", "820a00000000000010", ErrorCode::CANNOT_DECOMPRESS},
        {"sizes differ without a method", "020a00000000000010", ErrorCode::CANNOT_DECOMPRESS},
    };
    for (const Row& row : rows) {
        const std::string bytes = std::string(16, '\0') + fromHex(row.method_and_sizes);
        try {
            peekFrameHeader(bytes);
            ADD_FAILURE() << row.what;
        } catch (const Error& error) {
            EXPECT_TRUE(error.is(row.code)) << row.what << ": " << error.what();
        }
    }
    EXPECT_FALSE(peekFrameHeader(std::string(24, '\x82')));
}

TEST(FrameWriter, SendsFullFramesEarlyAndTheRestAtTheEnd) {
    const std::string data = noise(kFrameDataBytes + 100);
    Writer out;
    FrameWriter writer(out, {.method = FrameMethod::None});
    writer.data().writeBytes(data);
    writer.flushFull();
    EXPECT_EQ(out.size(), kFrameHeaderBytes + kFrameDataBytes);
    writer.finish();
    EXPECT_EQ(out.size(), 2 * kFrameHeaderBytes + kFrameDataBytes + 100);
}

}  // namespace
}  // namespace shardd
