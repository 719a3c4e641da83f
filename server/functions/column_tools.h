#pragma once

#include "common/columns/column.h"
#include "common/columns/const_column.h"
#include "common/types/type.h"

/// Steps between kinds of columns that functions take often.
namespace shardd::functions {

/// Whether LowCardinality(type) is allowed: numbers (no Decimal), dates, texts, UUID, IPs, and Nullable of
/// those.
bool canBeInsideLowCardinality(const TypePtr& type);

/// Every dictionary of a column of `type` as plain values, inside arrays and tuples too. Constants stay
/// constants.
ColumnPtr writeOutDictionaries(const ColumnPtr& column, const TypePtr& type);

/// The values of a Nullable column; of a constant, the constant of its value (the default for NULL).
ColumnPtr valuesOfNullable(const ColumnPtr& column);

/// LowCardinality(plain_type) of plain values (a constant stays one).
ColumnPtr makeDictionary(const ColumnPtr& plain, const TypePtr& plain_type);

/// A dictionary of `values` (one for each old key) for rows that used the old keys by `codes`.
ColumnPtr remapDictionary(const ColumnPtr& values,
                          const TypePtr& plain_type,
                          const PodVector<uint32_t>& codes);

}  // namespace shardd::functions
