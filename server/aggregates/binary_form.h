#pragma once

#include "common/base/reader.h"
#include "common/base/writer.h"
#include "common/columns/column.h"
#include "common/types/type.h"

namespace shardd::aggregates {

/// The binary form of single values, which most states consist of: numbers raw, String with its length, Array
/// with its count, Nullable with a flag; docs/aggregates.md, "Binary form".
void writeBinary(const Column& column, size_t row, Writer& out);

/// Appends one value to `to`, a column of `type`.
/// Errors: CANNOT_READ_ALL_DATA; TOO_LARGE_ARRAY_SIZE (128), TOO_LARGE_STRING_SIZE (131). Memory is taken as
/// bytes arrive.
void readBinary(const Type& type, Column& to, Reader& in);

/// The same as a physical Value.
Value readBinaryValue(const Type& type, Reader& in);

/// A count from outside: refused with TOO_LARGE_ARRAY_SIZE beyond `limit`.
size_t readCount(Reader& in, size_t limit, const char* what);

/// The most elements that a state may hold when it comes from outside, as ClickHouse limits arrays.
inline constexpr size_t kMaxElements = 0xFFFFFF;

/// Appends `count` values of fixed width, taking memory only as bytes arrive.
template <typename T>
void readFixedArray(PodVector<T>& values, size_t count, Reader& in) {
    constexpr size_t kStep = 8192;
    while (count > 0) {
        const size_t step = count < kStep ? count : kStep;
        const size_t before = values.size();
        values.resize(before + step);
        in.readBytes(values.data() + before, step * sizeof(T));
        count -= step;
    }
}

/// Reads a value in arena form (serializeKey) of `type` from bytes that somebody else made: checks them
/// whole, so that Column::insertKey() may be given them. Errors: INCORRECT_DATA (117), CANNOT_READ_ALL_DATA
/// (33).
void checkArenaForm(const Type& type, std::string_view bytes);

}  // namespace shardd::aggregates
