#pragma once

#include <cstddef>

namespace shardd {

/// Bytes in order, from wherever they come. Threads: one reader.
class ByteSource {
public:
    virtual ~ByteSource() = default;

    /// At least one byte, unless all have been read; waits. Errors: what is wrong with where they come from.
    virtual size_t read(char* out, size_t size) = 0;
};

}  // namespace shardd
