#include "common/wire/passed_frames.h"

#include "common/base/error.h"
#include "common/types/type.h"
#include "common/wire/frame.h"

namespace shardd {

namespace {

class FramesColumn final : public Column {
public:
    explicit FramesColumn(PassedFrames passed) : passed_(std::move(passed)) {}

    const PassedFrames& passed() const { return passed_; }

    ColumnKind kind() const override { return ColumnKind::Other; }

    size_t size() const override { return passed_.rows; }

    size_t allocatedBytes() const override { return passed_.frames.capacity(); }

    size_t dataBytes() const override { return passed_.data_bytes; }

    Value value(size_t /*row*/) const override { fail(); }

    bool isDefaultAt(size_t /*row*/) const override { fail(); }

    int compareAt(size_t, const Column&, size_t, int) const override { fail(); }

    MutableColumnPtr cloneEmpty() const override { fail(); }

    void insertDefault(size_t) override { fail(); }

    void insert(const Value&) override { fail(); }

    void insertFrom(const Column&, size_t) override { fail(); }

    void insertRange(const Column&, size_t, size_t) override { fail(); }

    void popBack(size_t) override { fail(); }

    ColumnPtr filter(std::span<const uint8_t>, size_t) const override { fail(); }

    ColumnPtr gather(std::span<const RowIndex>) const override { fail(); }

    ColumnPtr slice(size_t, size_t) const override { fail(); }

    void updateHashes(std::span<uint64_t>) const override { fail(); }

    void updateSipHash(size_t, SipHash&) const override { fail(); }

    void serializeKey(size_t, Writer&) const override { fail(); }

    const char* insertKey(const char*) override { fail(); }

private:
    [[noreturn]] static void fail() {
        throw Error(ErrorCode::LOGICAL_ERROR, "Compressed frames that are only passed on were used as values");
    }

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
