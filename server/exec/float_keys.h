#pragma once

#include "common/columns/column.h"

namespace shardd::exec {

/// The column with one zero and one NaN, wherever floating-point numbers lie in it: so that keys which are
/// compared by their bytes are equal where their values are. The column itself when it has none.
ColumnPtr withOneZeroAndOneNan(const ColumnPtr& column);

}  // namespace shardd::exec
