#include "server/aggregates/value_bits.h"

#include <algorithm>

namespace shardd::aggregates {

namespace {

bool isSignedInteger(Physical physical) {
    switch (physical) {
        case Physical::Int8:
        case Physical::Int16:
        case Physical::Int32:
        case Physical::Int64:
        case Physical::Int128:
        case Physical::Int256:
            return true;
        default:
            return false;
    }
}

bool isFloatingPoint(Physical physical) {
    return physical == Physical::BFloat16 || physical == Physical::Float32 || physical == Physical::Float64;
}

template <typename K>
struct IntegerLess {
    K flip;

    bool operator()(const K& a, const K& b) const { return (a ^ flip) < (b ^ flip); }
};

/// Calls action(values, less) with what numbers of the type are sorted as: signed integers as unsigned ones
/// with their top bit flipped.
template <typename Action>
void dispatchSorted(Physical physical, void* values, Action&& action) {
    if (physical == Physical::BFloat16) {
        action(static_cast<BFloat16*>(values), std::less<>());
        return;
    }
    if (physical == Physical::Float32) {
        action(static_cast<float*>(values), std::less<>());
        return;
    }
    if (physical == Physical::Float64) {
        action(static_cast<double*>(values), std::less<>());
        return;
    }
    dispatchWidth(physical, [&]<typename K>(Tag<K>) {
        const K flip = isSignedInteger(physical) ? NumberOrder::topBit<K>() : K{};
        action(static_cast<K*>(values), IntegerLess<K>{flip});
    });
}

template <typename T>
double readAt(const char* bytes, size_t row) {
    T value;
    std::memcpy(static_cast<void*>(&value), bytes + row * sizeof(T), sizeof(T));
    return toDouble(value);
}

}  // namespace

size_t widthOf(Physical physical) {
    size_t width = 0;
    dispatchPhysical(physical, [&]<typename T>(Tag<T>) { width = sizeof(T); });
    return width;
}

NumberOrder::NumberOrder(Physical physical)
    : signed_(isSignedInteger(physical)), float_(isFloatingPoint(physical)) {}

const char* fixedBytes(const Column& column) {
    if (column.kind() != ColumnKind::Fixed) [[unlikely]]
        failColumnCast(column, "FixedColumn");
    return column.bytesAt(0).data();
}

NumberReader numberReader(Physical physical) {
    NumberReader reader = nullptr;
    dispatchPhysical(physical, [&]<typename T>(Tag<T>) {
        if constexpr (kIsNumber<T>) reader = readAt<T>;
    });
    return reader;
}

void sortNumbers(Physical physical, void* values, size_t count) {
    dispatchSorted(physical, values, [&](auto* first, auto less) { std::sort(first, first + count, less); });
}

void selectNumber(Physical physical, void* values, size_t from, size_t n, size_t count) {
    dispatchSorted(physical, values, [&](auto* first, auto less) {
        std::nth_element(first + from, first + n, first + count, less);
    });
}

const void* smallestNumber(Physical physical, const void* values, size_t count) {
    const void* found = values;
    dispatchSorted(physical, const_cast<void*>(values),
                   [&](auto* first, auto less) { found = std::min_element(first, first + count, less); });
    return found;
}

const void* largestNumber(Physical physical, const void* values, size_t count) {
    const void* found = values;
    dispatchSorted(physical, const_cast<void*>(values),
                   [&](auto* first, auto less) { found = std::max_element(first, first + count, less); });
    return found;
}

double numberOf(Physical physical, const void* value) {
    return numberReader(physical)(static_cast<const char*>(value), 0);
}

void storeNumber(Physical physical, double number, void* to) {
    dispatchPhysical(physical, [&]<typename T>(Tag<T>) {
        if constexpr (kIsNumber<T>) {
            const T value = convertNumber<T>(number);
            std::memcpy(to, static_cast<const void*>(&value), sizeof(T));
        }
    });
}

char* growFixed(Physical physical, Column& to, size_t count) {
    char* room = nullptr;
    dispatchPhysical(physical, [&]<typename T>(Tag<T>) {
        PodVector<T>& values = static_cast<FixedColumn<T>&>(to).values();
        values.resize(values.size() + count);
        room = static_cast<char*>(static_cast<void*>(values.data() + values.size() - count));
    });
    return room;
}

void appendBits(Physical physical, Column& to, const void* values, size_t count) {
    if (count > 0) std::memcpy(growFixed(physical, to, count), values, count * widthOf(physical));
}

}  // namespace shardd::aggregates
