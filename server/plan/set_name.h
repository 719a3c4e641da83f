#pragma once

#include <optional>
#include <string>

#include "server/plan/query_tree.h"

namespace shardd::plan {

/// What the analyzer calls the set of `x IN (literals)` in column names: `__set_UInt8_<hash>_<hash>`, where the hash covers
/// the literals and their types as they stand on the right, and the type is that of the left side.
/// An initiator looks for columns such as `sumIf(v, in(k, __set_…))` under this name, so it must be the same to the bit.
/// `right` is the whole right side: a constant, a tuple or an array. Nothing for types whose hash is not known.
/// Source: measured against ClickHouse 26.7 (docs/distribution.md, "Names of sets").
std::optional<std::string> literalSetName(const Type& left, const Type& right, const Column& one);

}  // namespace shardd::plan
