#pragma once

#include "server/functions/array_support.h"

namespace shardd::functions {

/// Keys and values of a Map argument as arrays.
NamedColumn mapKeysArgument(const NamedColumn& map);
NamedColumn mapValuesArgument(const NamedColumn& map);

/// A Map column of keys and values in arrays with these ends.
ColumnPtr makeMap(ColumnPtr keys, ColumnPtr values, PodVector<uint64_t> ends);

}  // namespace shardd::functions
