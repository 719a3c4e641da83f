#pragma once

#include <span>

#include "common/types/type.h"

namespace shardd::functions {

/// The least type that holds the values of all `types`: for if, multiIf, array(), UNION, CASE, greatest …
/// Numbers widen (UInt64 with a signed one has none), Decimals take the greater precision and scale, dates
/// meet in the finer one, Nullable and LowCardinality spread, arrays, tuples and maps go by their elements.
/// An empty list gives Nothing. Errors: NO_COMMON_TYPE (386).
TypePtr leastSupertype(std::span<const TypePtr> types);

inline TypePtr leastSupertype(const TypePtr& a, const TypePtr& b) {
    const TypePtr both[] = {a, b};
    return leastSupertype(std::span<const TypePtr>(both));
}

/// The same, but nothing instead of an error.
TypePtr tryLeastSupertype(std::span<const TypePtr> types);

}  // namespace shardd::functions
