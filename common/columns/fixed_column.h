#pragma once

#include <array>
#include <compare>
#include <cstring>

#include "common/base/wide_integer.h"
#include "common/columns/column.h"
#include "common/types/type.h"

namespace shardd {

/// The upper half of a Float32.
struct BFloat16 {
    uint16_t bits;

    float toFloat() const {
        const uint32_t wide = uint32_t{bits} << 16;
        float result = 0;
        std::memcpy(&result, &wide, sizeof(result));
        return result;
    }

    static BFloat16 fromFloat(float value);

    friend bool operator==(BFloat16 a, BFloat16 b) { return a.toFloat() == b.toFloat(); }

    friend std::partial_ordering operator<=>(BFloat16 a, BFloat16 b) { return a.toFloat() <=> b.toFloat(); }
};

/// Network order, compared as bytes.
struct IPv6Bytes {
    std::array<uint8_t, 16> bytes;

    friend auto operator<=>(const IPv6Bytes&, const IPv6Bytes&) = default;
};

/// Values of constant width: numbers, dates, enums, decimals (unscaled), UUID (UInt128 whose low word is the first
/// half of the text, so that memory is the wire's bytes), IPv4, IPv6.
template <typename T>
class FixedColumn final : public Column {
public:
    using Element = T;

    FixedColumn() = default;

    explicit FixedColumn(PodVector<T> values) : values_(std::move(values)) {}

    PodVector<T>& values() { return values_; }

    const PodVector<T>& values() const { return values_; }

    const T* data() const { return values_.data(); }

    ColumnKind kind() const override { return ColumnKind::Fixed; }

    size_t size() const override { return values_.size(); }

    size_t allocatedBytes() const override { return values_.allocatedBytes(); }

    size_t dataBytes() const override { return values_.size() * sizeof(T); }

    Value value(size_t row) const override;
    bool isDefaultAt(size_t row) const override;

    std::string_view bytesAt(size_t row) const override {
        return {reinterpret_cast<const char*>(values_.data() + row), sizeof(T)};
    }

    int compareAt(size_t row, const Column& other, size_t other_row, int nulls_direction) const override;
    MutableColumnPtr cloneEmpty() const override;

    void reserve(size_t rows) override { values_.reserve(rows); }

    void insertDefault(size_t count) override;
    void insert(const Value& value) override;
    void insertFrom(const Column& source, size_t row) override;
    void insertRange(const Column& source, size_t from, size_t count) override;
    void popBack(size_t count) override { values_.resize(values_.size() - count); }

    ColumnPtr filter(std::span<const uint8_t> mask, size_t kept) const override;
    ColumnPtr gather(std::span<const RowIndex> rows) const override;
    ColumnPtr slice(size_t from, size_t count) const override;
    void updateHashes(std::span<uint64_t> hashes) const override;
    void updateSipHash(size_t row, SipHash& hash) const override;
    void serializeKey(size_t row, Writer& out) const override;
    const char* insertKey(const char* position) override;

private:
    PodVector<T> values_;
};

#define SHARDD_FIXED_TYPES(X) \
    X(UInt8, uint8_t)         \
    X(UInt16, uint16_t)       \
    X(UInt32, uint32_t)       \
    X(UInt64, uint64_t)       \
    X(UInt128, UInt128)       \
    X(UInt256, UInt256)       \
    X(Int8, int8_t)           \
    X(Int16, int16_t)         \
    X(Int32, int32_t)         \
    X(Int64, int64_t)         \
    X(Int128, Int128)         \
    X(Int256, Int256)         \
    X(BFloat16, BFloat16)     \
    X(Float32, float)         \
    X(Float64, double)        \
    X(IPv6, IPv6Bytes)

#define DECLARE(name, type) extern template class FixedColumn<type>;
SHARDD_FIXED_TYPES(DECLARE)
#undef DECLARE

/// Calls `action(Tag<T>{})` with the C++ type of a fixed-width Physical; returns false for Physical::None.
template <typename T>
struct Tag {
    using Type = T;
};

template <typename Action>
bool dispatchPhysical(Physical physical, Action&& action) {
    switch (physical) {
#define CASE(name, type)            \
    case Physical::name:            \
        action(Tag<type>{}); \
        return true;
        SHARDD_FIXED_TYPES(CASE)
#undef CASE
        case Physical::None:
            return false;
    }
    return false;
}

}  // namespace shardd
