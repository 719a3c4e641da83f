#pragma once

#include <bit>
#include <cmath>
#include <type_traits>

#include "server/aggregates/aggregate_base.h"
#include "server/aggregates/compact_set.h"
#include "server/aggregates/numbers.h"

namespace shardd::aggregates {

// Functions that mostly keep values know them by their bits: they are compiled once a width, not once a type,
// and ask once a group or a block what the bits mean.

/// Calls action(Tag<K>{}) with the unsigned type as wide as values of `physical`; false for Physical::None.
template <typename Action>
bool dispatchWidth(Physical physical, Action&& action);

/// Bytes of a value; 0 for Physical::None.
size_t widthOf(Physical physical);

/// Of a number's bits: how they compare.
class NumberOrder {
public:
    explicit NumberOrder(Physical physical);

    bool isFloat() const { return float_; }

    bool isSigned() const { return signed_; }

    /// As the type's own operator< (a NaN is not less than anything).
    template <typename K>
    bool less(const K& a, const K& b) const {
        if constexpr (std::is_same_v<K, uint16_t>)
            if (float_) return BFloat16{a} < BFloat16{b};
        if constexpr (std::is_same_v<K, uint32_t>)
            if (float_) return std::bit_cast<float>(a) < std::bit_cast<float>(b);
        if constexpr (std::is_same_v<K, uint64_t>)
            if (float_) return std::bit_cast<double>(a) < std::bit_cast<double>(b);
        const K flip = signed_ ? topBit<K>() : K{};
        return (a ^ flip) < (b ^ flip);
    }

    template <typename K>
    bool isNaN(const K& bits) const {
        if constexpr (std::is_same_v<K, uint32_t>) return float_ && std::isnan(std::bit_cast<float>(bits));
        if constexpr (std::is_same_v<K, uint64_t>) return float_ && std::isnan(std::bit_cast<double>(bits));
        return false;
    }

    /// An integer of up to eight bytes, sign-extended.
    template <typename K>
    uint64_t extended(const K& bits) const {
        constexpr unsigned kUnused = 64 - 8 * sizeof(K);
        const uint64_t wide = bits;
        return signed_ ? static_cast<uint64_t>(static_cast<int64_t>(wide << kUnused) >> kUnused) : wide;
    }

    /// The bit that tells negative integers; flipping it makes signed ones compare as unsigned ones do.
    template <typename K>
    static K topBit() {
        K bit{};
        if constexpr (std::is_same_v<K, UInt256>)
            bit.words[3] = uint64_t{1} << 63;
        else
            bit = static_cast<K>(K{1} << (8 * sizeof(K) - 1));
        return bit;
    }

private:
    bool signed_;
    bool float_;
};

/// The first byte of a column of constant width; LOGICAL_ERROR for any other.
const char* fixedBytes(const Column& column);

/// The argument at `position`, of constant width, as bits.
template <typename K, size_t position = 0>
struct BitsInput {
    const char* bytes;

    explicit BitsInput(const Column* const* arguments) : bytes(fixedBytes(*arguments[position])) {}

    K operator[](size_t row) const {
        K bits;
        std::memcpy(static_cast<void*>(&bits), bytes + row * sizeof(K), sizeof(K));
        return bits;
    }
};

/// Reads the number in `row` of a column's bytes as a double.
using NumberReader = double (*)(const char* bytes, size_t row);

/// nullptr for values that are no numbers.
NumberReader numberReader(Physical physical);

/// The argument at `position` as doubles.
struct NumbersInput {
    const char* bytes;
    NumberReader read;

    NumbersInput(const Column& column, NumberReader reader) : bytes(fixedBytes(column)), read(reader) {}

    double operator[](size_t row) const { return read(bytes, row); }
};

// Of `count` numbers of a type, from `values` on.
void sortNumbers(Physical physical, void* values, size_t count);
/// Moves the number of rank `n` to its place among from … count-1, smaller ones before it, as
/// std::nth_element does.
void selectNumber(Physical physical, void* values, size_t from, size_t n, size_t count);
const void* smallestNumber(Physical physical, const void* values, size_t count);
const void* largestNumber(Physical physical, const void* values, size_t count);

/// Any number as a double.
double numberOf(Physical physical, const void* value);

/// Stores a double as a number of the type, wrapping as static_cast does.
void storeNumber(Physical physical, double number, void* to);

/// Room for `count` more values at the end of a column of constant width.
char* growFixed(Physical physical, Column& to, size_t count);

/// Appends values of the column's type.
void appendBits(Physical physical, Column& to, const void* values, size_t count);

template <typename Action>
bool dispatchWidth(Physical physical, Action&& action) {
    switch (widthOf(physical)) {
        case 1:
            action(Tag<uint8_t>{});
            return true;
        case 2:
            action(Tag<uint16_t>{});
            return true;
        case 4:
            action(Tag<uint32_t>{});
            return true;
        case 8:
            action(Tag<uint64_t>{});
            return true;
        case 16:
            action(Tag<UInt128>{});
            return true;
        case 32:
            action(Tag<UInt256>{});
            return true;
        default:
            return false;
    }
}

}  // namespace shardd::aggregates
