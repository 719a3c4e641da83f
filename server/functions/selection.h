#pragma once

#include <span>

#include "common/columns/column.h"

namespace shardd::functions {

/// Row i from branches[which[i]].
/// Shapes: branches are of one kind, full or constant, each of `which.size()` rows.
ColumnPtr selectRows(std::span<const ColumnPtr> branches, std::span<const uint8_t> which);

}  // namespace shardd::functions
