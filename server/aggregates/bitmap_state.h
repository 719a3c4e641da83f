#pragma once

#include <cstdint>

#include "common/base/arena.h"
#include "common/base/pod_vector.h"
#include "common/types/type.h"

namespace shardd::aggregates {

/// Up to so many values a bitmap is a list in the order in which they came; above, a Roaring bitmap.
inline constexpr size_t kSmallBitmap = 32;

/// A state of groupBitmap as a set of integers, whatever their width: for functions that work on bitmaps.
/// Values are their unsigned bits; in a Roaring bitmap those of signed integers up to 32 bits are extended
/// to 32.
class BitmapStates {
public:
    virtual ~BitmapStates() = default;

    virtual size_t count(const char* state) const = 0;
    virtual bool contains(const char* state, uint64_t value) const = 0;
    /// Appends the values: in their order while they are few, else ascending.
    virtual void appendValues(const char* state, PodVector<uint64_t>& values) const = 0;
    virtual void insertValue(char* state, uint64_t value, Arena& arena) const = 0;
    /// The greatest value that a small one holds.
    virtual uint64_t mostSmall() const = 0;
};

/// Of a type AggregateFunction(groupBitmap, T); nullptr for any other type. Lives as long as the type.
const BitmapStates* bitmapStatesOf(const Type& type);

}  // namespace shardd::aggregates
