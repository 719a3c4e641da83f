#pragma once

#include "common/columns/block.h"
#include "server/exec/top_filter.h"

namespace shardd::exec {

/// Clears the mask of rows that come behind those that ORDER BY … LIMIT has already, before their other
/// columns are read, and counts them. `block` has the hint's column; the hint has a filter.
void dropHopeless(const TopHint& hint, const Block& block, Mask& mask);

}  // namespace shardd::exec
