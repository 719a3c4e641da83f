#pragma once

#include "common/base/reader.h"
#include "common/base/writer.h"
#include "common/columns/column.h"
#include "common/types/type.h"

namespace shardd::storage {

/// The one-value binary form of primary.idx, partition.dat and minmax_*.idx: numbers raw; String varuint
/// length and bytes; Nullable a flag byte, then the value if it is not NULL; Array varuint count and
/// elements; LowCardinality the plain value.
void writeValueBinary(const Type& type, const Column& column, size_t row, Writer& out);

/// Appends one value to a column of removeLowCardinalityRecursively(type).
void readValueBinary(const Type& type, Reader& in, Column& column);

}  // namespace shardd::storage
