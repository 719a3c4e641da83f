#include "common/wire/passed_frames.h"

#include <gtest/gtest.h>

#include "common/base/error.h"
#include "common/columns/create_column.h"
#include "common/wire/frame.h"

namespace shardd {
namespace {

PodVector<char> bytesOf(std::string_view text) {
    PodVector<char> bytes;
    bytes.append(text.data(), text.size());
    return bytes;
}

std::string framesOf(size_t data_bytes) {
    Writer out;
    encodeFrames(std::string(data_bytes, 'x'), {}, out);
    return std::string(out.view());
}

TEST(PassedFramesTest, areCountedAndFoundAgain) {
    const std::string frames = framesOf(3 * kFrameDataBytes / 2);
    const Block block = passedBlock(54486, 7, bytesOf(frames));
    EXPECT_EQ(block.rows, 7u);
    EXPECT_EQ(block.dataBytes(), 3 * kFrameDataBytes / 2);
    const PassedFrames* passed = passedFrames(block);
    ASSERT_NE(passed, nullptr);
    EXPECT_EQ(passed->revision, 54486u);
    EXPECT_EQ(std::string(passed->frames.data(), passed->frames.size()), frames);
    Block copy = block;
    copy.makeFull();
    EXPECT_EQ(passedFrames(copy), passed);
}

TEST(PassedFramesTest, anyOtherBlockHasNone) {
    EXPECT_EQ(passedFrames(Block()), nullptr);
    EXPECT_EQ(passedFrames(makeHeader({{"a", types::uint8()}})), nullptr);
}

TEST(PassedFramesTest, everyPrefixIsRefused) {
    const std::string frames = framesOf(100) + framesOf(50);
    const size_t first = framesOf(100).size();
    for (size_t size = 1; size < frames.size(); ++size) {
        if (size == first) continue;
        EXPECT_THROW(passedBlock(54486, 1, bytesOf(std::string_view(frames).substr(0, size))), Error) << size;
    }
}

TEST(PassedFramesTest, areNoValues) {
    const Block block = passedBlock(54486, 1, bytesOf(framesOf(10)));
    EXPECT_THROW(block.slice(0, 1), Error);
    EXPECT_THROW(block.columns[0].column->value(0), Error);
}

}  // namespace
}  // namespace shardd
