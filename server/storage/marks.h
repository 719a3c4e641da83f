#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/reader.h"

namespace shardd::storage {

/// Where a granule begins in a stream.
struct Mark {
    uint64_t block_offset = 0;     // of a compressed block in the .bin file
    uint64_t offset_in_block = 0;  // in that block's decompressed bytes; may be its end

    friend bool operator==(const Mark&, const Mark&) = default;
};

/// The eight kinds of marks files. Source: docs/storage-format.md, "Marks".
struct MarksFormat {
    bool adaptive = true;     // .mrk2, .mrk3, .mrk4: rows are in the file
    bool compact = false;     // .mrk3, .mrk4
    bool substreams = false;  // .mrk4: a mark for each substream, not for each column
    bool compressed = false;  // .cmrk…

    /// ".mrk2"; nothing for another ending is the caller's to notice.
    std::string extension() const;
};

struct Marks {
    /// marks[granule * stride + i]: stride is 1 in Wide parts.
    std::vector<Mark> marks;
    /// Of each granule; empty in non-adaptive files. A final mark has 0.
    std::vector<uint64_t> rows;
    size_t stride = 1;

    size_t granules() const { return marks.size() / stride; }
};

/// Errors: INCORRECT_DATA (117) for a size that is no whole number of marks.
Marks readMarks(std::string_view file, const MarksFormat& format, size_t stride);

}  // namespace shardd::storage
