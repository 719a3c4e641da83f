#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/columns/const_column.h"
#include "common/columns/fixed_column.h"
#include "common/types/type.h"

/// The widths and signs of results of arithmetic, and operands brought to one C++ type.
namespace shardd::functions {

/// What arithmetic needs to know of a number's type. Bool counts as UInt8, IPv4 as UInt32.
struct NumberShape {
    bool is_float = false;
    bool is_signed = false;
    size_t bytes = 0;  // 0: not a number that arithmetic takes (Decimals are not among them)

    bool valid() const { return bytes != 0; }
};

NumberShape shapeOf(const Type& type);

/// The type of that shape; floats of 2, 4, 8 bytes, integers of 1 … 32.
const TypePtr& typeOfShape(bool is_float, bool is_signed, size_t bytes);

/// Twice the bytes up to 8; wider ones stay.
inline size_t nextSize(size_t bytes) { return bytes < 8 ? bytes * 2 : bytes; }

/// `count` values of one C++ type as another: integers wrap, integers become floats.
using ConvertKernel = void (*)(const void* from, void* to, size_t count);
/// Errors: LOGICAL_ERROR for IPv6.
ConvertKernel convertKernel(Physical from, Physical to);

/// A column of `rows` values of constant width that are yet to be written: to `data`, each `width` bytes.
/// Errors: LOGICAL_ERROR for IPv6.
MutableColumnPtr numberColumn(Physical physical, size_t rows, char*& data, size_t& width);

template <typename T>
constexpr Physical physicalOf() {
#define CASE(name, type) \
    if constexpr (std::is_same_v<T, type>) return Physical::name;
    SHARDD_FIXED_TYPES(CASE)
#undef CASE
    return Physical::None;
}

constexpr size_t kChunkRows = 1024;

/// A column of numbers as `T`, read chunk by chunk: where it is no T already, a chunk is converted in a
/// buffer that stays in the first cache.
template <typename T>
class Operand {
public:
    /// `column` holds values of `physical`, full or constant; it lives longer.
    Operand(const Column& column, Physical physical) {
        const Column* values = &column;
        if (column.kind() == ColumnKind::Const) {
            values = as<ConstColumn>(column).one().get();
            constant_ = true;
        }
        // A state of an empty column has no bytes to look at.
        data_ = values->size() == 0 ? nullptr : values->bytesAt(0).data();
        width_ = values->size() == 0 ? 0 : values->bytesAt(0).size();
        if (physical != physicalOf<T>()) kernel_ = convertKernel(physical, physicalOf<T>());
        if (constant_ && data_) value_ = *convert(0, 1);
    }

    bool constant() const { return constant_; }

    const T& value() const { return value_; }

    /// Rows from .. from + count, at most kChunkRows. Not for constants.
    const T* chunk(size_t from, size_t count) { return convert(from, count); }

private:
    const T* convert(size_t from, size_t count) {
        const char* begin = data_ + from * width_;
        if (!kernel_) return reinterpret_cast<const T*>(begin);
        kernel_(begin, buffer_.data(), count);
        return buffer_.data();
    }

    bool constant_ = false;
    const char* data_ = nullptr;
    size_t width_ = 0;
    ConvertKernel kernel_ = nullptr;
    T value_{};
    std::array<T, kChunkRows> buffer_;
};

/// out[i] = action(a[i], b[i]) over whole columns, constants kept in registers.
template <typename T, typename R, typename Action>
void runBinary(Operand<T>& a, Operand<T>& b, R* out, size_t rows, Action action) {
    for (size_t from = 0; from < rows; from += kChunkRows) {
        const size_t count = std::min(kChunkRows, rows - from);
        R* const to = out + from;
        if (a.constant()) {
            const T left = a.value();
            const T* right = b.chunk(from, count);
            for (size_t i = 0; i < count; ++i) to[i] = action(left, right[i]);
        } else if (b.constant()) {
            const T* left = a.chunk(from, count);
            const T right = b.value();
            for (size_t i = 0; i < count; ++i) to[i] = action(left[i], right);
        } else {
            const T* left = a.chunk(from, count);
            const T* right = b.chunk(from, count);
            for (size_t i = 0; i < count; ++i) to[i] = action(left[i], right[i]);
        }
    }
}

/// Calls action(Tag<T>{}) for the C++ type of an integer or a float of 4 or 8 bytes; false for others.
template <typename Action>
bool dispatchNumber(Physical physical, Action&& action) {
    switch (physical) {
#define CASE(name, type)     \
    case Physical::name:     \
        action(Tag<type>{}); \
        return true;
        CASE(UInt8, uint8_t)
        CASE(UInt16, uint16_t)
        CASE(UInt32, uint32_t)
        CASE(UInt64, uint64_t)
        CASE(UInt128, UInt128)
        CASE(UInt256, UInt256)
        CASE(Int8, int8_t)
        CASE(Int16, int16_t)
        CASE(Int32, int32_t)
        CASE(Int64, int64_t)
        CASE(Int128, Int128)
        CASE(Int256, Int256)
        CASE(Float32, float)
        CASE(Float64, double)
#undef CASE
        default:
            return false;
    }
}

/// Calls action(Tag<T>{}) for the unsigned type as wide as an integer: for what does the same to the bits of
/// signed ones. False for others.
template <typename Action>
bool dispatchUnsigned(Physical physical, Action&& action) {
    switch (physical) {
#define CASE(name, type)     \
    case Physical::name:     \
    case Physical::U##name:  \
        action(Tag<type>{}); \
        return true;
        CASE(Int8, uint8_t)
        CASE(Int16, uint16_t)
        CASE(Int32, uint32_t)
        CASE(Int64, uint64_t)
        CASE(Int128, UInt128)
        CASE(Int256, UInt256)
#undef CASE
        default:
            return false;
    }
}

template <typename T>
constexpr bool kIsSigned = std::is_signed_v<T> || std::is_same_v<T, Int128> || std::is_same_v<T, Int256>;

}  // namespace shardd::functions
