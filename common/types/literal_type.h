#pragma once

#include "common/types/type.h"

namespace shardd::types {

/// The type of a literal from 2^32 to 2^63 - 1: UInt64, but beside signed numbers it counts as Int64, wherever it has got to:
/// `[5000000000, -1]` is an Array(Int64), and so is `[x, -1]` where x comes from `SELECT 5000000000 AS x`. It has the name and
/// all properties of UInt64; that it is this very object tells it apart. Source: ClickHouse's DataTypeUInt64.
const TypePtr& literalUInt64();

inline bool mayBeSigned(const TypePtr& type) { return type == literalUInt64(); }

}  // namespace shardd::types
