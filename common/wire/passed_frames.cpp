#include "common/wire/passed_frames.h"

#include "common/base/error.h"
#include "common/columns/opaque_column.h"
#include "common/types/type.h"
#include "common/wire/frame.h"

namespace shardd {

namespace {

class FramesColumn final : public OpaqueColumn {
public:
    explicit FramesColumn(PassedFrames passed)
        : OpaqueColumn(passed.rows, "Compressed frames that are only passed on were used as values"),
          passed_(std::move(passed)) {}

    const PassedFrames& passed() const { return passed_; }

    size_t allocatedBytes() const override { return passed_.frames.capacity(); }

    size_t dataBytes() const override { return passed_.data_bytes; }

private:
    PassedFrames passed_;
};

/// Of the data in all frames, by their headers.
uint64_t dataBytesOf(std::string_view frames) {
    uint64_t bytes = 0;
    while (!frames.empty()) {
        const std::optional<FrameHeader> header = peekFrameHeader(frames);
        if (!header || header->frameBytes() > frames.size())
            throw Error(ErrorCode::INCORRECT_DATA, "A block of compressed frames ends in the middle of one");
        bytes += header->data_bytes;
        frames.remove_prefix(header->frameBytes());
    }
    return bytes;
}

}  // namespace

Block passedBlock(uint64_t revision, uint64_t rows, PodVector<char> frames) {
    PassedFrames passed;
    passed.revision = revision;
    passed.rows = rows;
    passed.data_bytes = dataBytesOf({frames.data(), frames.size()});
    passed.frames = std::move(frames);
    Block block;
    block.add({"", types::string(), std::make_shared<FramesColumn>(std::move(passed))});
    return block;
}

const PassedFrames* passedFrames(const Block& block) {
    if (block.columns.size() != 1 || block.columns[0].column->kind() != ColumnKind::Other) return nullptr;
    const auto* column = dynamic_cast<const FramesColumn*>(block.columns[0].column.get());
    return column ? &column->passed() : nullptr;
}

}  // namespace shardd
