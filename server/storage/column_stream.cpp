#include "server/storage/column_stream.h"

#include <algorithm>
#include <cstring>

#include "common/base/error.h"
#include "common/wire/frame.h"
#include "server/storage/codecs.h"

namespace shardd::storage {

ColumnStream::ColumnStream(std::shared_ptr<const ReadableFile> file, std::string name)
    : Reader(nullptr, 0), file_(std::move(file)), name_(std::move(name)) {}

void ColumnStream::seek(Mark mark) {
    if (!has_block_ || block_start_ != mark.block_offset) {
        has_block_ = false;
        position_ = end_ = nullptr;
        next_block_ = mark.block_offset;
        if (mark.offset_in_block == 0) return;
        if (!refill()) failShort(mark.offset_in_block);
    }
    if (mark.offset_in_block > data_.size())
        throw Error(ErrorCode::CORRUPTED_DATA, "A mark of file {} points at byte {} of a block of {} bytes",
                    name_, mark.offset_in_block, data_.size());
    position_ = data_.data() + mark.offset_in_block;
}

Mark ColumnStream::place() const {
    if (!has_block_ || position_ == end_) return {next_block_, 0};
    return {block_start_, static_cast<uint64_t>(position_ - data_.data())};
}

void ColumnStream::readInto(char* out, size_t bytes) {
    while (bytes > 0) {
        if (const size_t ready = std::min(available(), bytes); ready > 0) {
            std::memcpy(out, position_, ready);
            position_ += ready;
            out += ready;
            bytes -= ready;
            continue;
        }
        Frame frame;
        if (!nextFrame(frame)) failShort(bytes);
        if (frame.data_bytes <= bytes && frame.data_bytes > 0) {
            decode(frame, out);
            has_block_ = false;
            position_ = end_ = nullptr;
            next_block_ += frame.bytes.size();
            out += frame.data_bytes;
            bytes -= frame.data_bytes;
        } else if (!refill()) {
            failShort(bytes);
        }
    }
}

bool ColumnStream::refill() {
    Frame frame;
    do {
        if (!nextFrame(frame)) return false;
        data_.resize(frame.data_bytes);
        decode(frame, data_.data());
        block_start_ = next_block_;
        next_block_ += frame.bytes.size();
    } while (frame.data_bytes == 0);
    has_block_ = true;
    position_ = data_.data();
    end_ = position_ + data_.size();
    return true;
}

void ColumnStream::failShort(size_t wanted) {
    throw Error(ErrorCode::CANNOT_READ_ALL_DATA, "File {} ends where {} more bytes are wanted", name_,
                wanted);
}

std::string_view ColumnStream::window(uint64_t offset, size_t bytes) {
    const bool there = offset >= input_start_ && offset + bytes <= input_start_ + input_.size();
    if (!there) {
        const uint64_t rest = file_->size() - std::min(offset, file_->size());
        if (rest < bytes) failShort(bytes - rest);
        const uint64_t ahead =
            read_end_ > offset ? std::min<uint64_t>(read_end_ - offset, kReadAheadBytes) : bytes;
        input_.resize(std::min<uint64_t>(rest, std::max<uint64_t>(bytes, ahead)));
        input_start_ = offset;
        if (file_->read(offset, input_.data(), input_.size()) < bytes) failShort(bytes);
    }
    return {input_.data() + (offset - input_start_), bytes};
}

bool ColumnStream::nextFrame(Frame& frame) {
    if (next_block_ >= file_->size()) return false;
    const std::string_view header = window(next_block_, kFrameHeaderBytes);
    uint32_t compressed = 0;
    uint32_t data = 0;
    std::memcpy(&compressed, header.data() + kFrameChecksumBytes + 1, sizeof(compressed));
    std::memcpy(&data, header.data() + kFrameChecksumBytes + 5, sizeof(data));
    frame.method = static_cast<uint8_t>(header[kFrameChecksumBytes]);
    frame.data_bytes = data;
    if (compressed < kFrameSizesBytes || compressed > kMaxFrameBytes || data > kMaxFrameBytes)
        throw Error(ErrorCode::CANNOT_DECOMPRESS,
                    "File {} has at {} a block that claims {} bytes for {} bytes of data", name_, next_block_,
                    compressed, data);
    frame.bytes = window(next_block_, kFrameChecksumBytes + compressed);
    return true;
}

void ColumnStream::decode(const Frame& frame, char* out) {
    try {
        if (isGenericCodec(frame.method))
            decodeFrameInto(*peekFrameHeader(frame.bytes), frame.bytes, out);
        else
            decodeCodecFrame(frame.bytes, out);
    } catch (Error& error) {
        error.append(fmt::format(": in file {} at offset {}", name_, next_block_));
        throw;
    }
}

}  // namespace shardd::storage
