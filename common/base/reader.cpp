#include "common/base/reader.h"

#include <algorithm>

namespace shardd {

void Reader::failShort(size_t wanted) {
    throw Error(ErrorCode::CANNOT_READ_ALL_DATA, "Cannot read all data: {} more bytes were expected", wanted);
}

void Reader::readBytesSlowly(char* out, size_t size) {
    while (size > 0) {
        if (position_ == end_ && !refill()) failShort(size);
        const size_t part = std::min(size, available());
        std::memcpy(out, position_, part);
        position_ += part;
        out += part;
        size -= part;
    }
}

void Reader::readString(std::string& out, size_t limit) {
    const uint64_t size = readVarUInt();
    if (size > limit)
        throw Error(ErrorCode::TOO_LARGE_STRING_SIZE, "Too large string size: {} bytes, at most {} are taken here", size, limit);
    out.clear();
    size_t rest = size;
    while (rest > 0) {
        if (position_ == end_ && !refill()) failShort(rest);
        const size_t part = std::min(rest, available());
        out.append(position_, part);
        position_ += part;
        rest -= part;
    }
}

void Reader::skip(size_t size) {
    while (size > 0) {
        if (position_ == end_ && !refill()) failShort(size);
        const size_t part = std::min(size, available());
        position_ += part;
        size -= part;
    }
}

}  // namespace shardd
