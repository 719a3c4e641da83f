#pragma once

#include "common/columns/column.h"
#include "common/types/type.h"

namespace shardd {

/// An empty column for values of `type`. LOGICAL_ERROR for types that are never in a column (Lambda, Set).
MutableColumnPtr createColumn(const Type& type);

/// `value` (physical) as a constant of `rows` rows.
ColumnPtr createConstColumn(const Type& type, const Value& value, size_t rows);

/// The value that a column of this type gets where none is given: 0, '', [], NULL; for an Enum its lowest number.
Value defaultValue(const Type& type);

/// `rows` defaults; unlike Column::insertDefault it knows that an Enum's default is its first name.
void insertDefaults(const Type& type, Column& column, size_t rows);

}  // namespace shardd
