#pragma once

#include <memory>
#include <string>

#include "common/base/file_system.h"
#include "common/base/pod_vector.h"
#include "common/base/reader.h"
#include "server/storage/marks.h"

namespace shardd::storage {

/// The decompressed bytes of one .bin file, from any mark on.
/// Errors: CHECKSUM_DOESNT_MATCH (40), CANNOT_DECOMPRESS (271), CANNOT_READ_ALL_DATA (33), each naming the
/// file.
class ColumnStream final : public Reader {
public:
    ColumnStream(std::shared_ptr<const ReadableFile> file, std::string name);

    void seek(Mark mark);

    /// Where the next byte is; seek() to it comes back here.
    Mark place() const;

    /// Nothing behind this offset of the file will be wanted soon: bounds reading ahead.
    void setReadEnd(uint64_t offset) { read_end_ = offset; }

    /// As readBytes(), but whole blocks are decompressed right into `out`.
    void readInto(char* out, size_t bytes);

protected:
    bool refill() override;
    [[noreturn]] void failShort(size_t wanted) override;

private:
    struct Frame {
        std::string_view bytes;  // with its header
        uint8_t method = 0;
        size_t data_bytes = 0;
    };

    static constexpr size_t kReadAheadBytes = size_t{1} << 20;

    /// `bytes` bytes of the file at `offset`; CANNOT_READ_ALL_DATA when it ends before.
    std::string_view window(uint64_t offset, size_t bytes);
    /// The frame at next_block_; false at the end of the file.
    bool nextFrame(Frame& frame);
    void decode(const Frame& frame, char* out);

    std::shared_ptr<const ReadableFile> file_;
    std::string name_;
    uint64_t read_end_ = UINT64_MAX;
    PodVector<char> input_;  // compressed bytes of the file from input_start_ on
    uint64_t input_start_ = 0;
    PodVector<char> data_;      // the decompressed block, when there is one
    uint64_t block_start_ = 0;  // its offset in the file
    bool has_block_ = false;
    uint64_t next_block_ = 0;
};

}  // namespace shardd::storage
