#pragma once

#include <functional>
#include <string>

#include "common/columns/block.h"

namespace shardd {

/// A column of type `from` as one of type `to` (CAST).
using ColumnCast = std::function<ColumnPtr(const ColumnPtr& column, const TypePtr& from, const TypePtr& to)>;

/// The columns of `wanted` out of a block that another server or another plan made: found by name, in the
/// order of `wanted` and in its types. `other_name`: what a column may be called instead; may be missing, as
/// `cast` may where all types are the same. Errors: NOT_FOUND_COLUMN_IN_BLOCK (10), TYPE_MISMATCH (53)
/// without a cast, and those of the cast.
Block adaptBlock(const Block& block,
                 const Block& wanted,
                 const ColumnCast& cast,
                 const std::function<std::string(const std::string&)>& other_name = nullptr);

}  // namespace shardd
