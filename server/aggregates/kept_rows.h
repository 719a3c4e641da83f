#pragma once

#include <cstdint>
#include <span>

#include "server/aggregates/aggregate.h"

namespace shardd::aggregates {

/// AggregateFunction::addBatch() for those rows of the batch whose byte in `kept` (one a row, the first for row `from`) is
/// not 0: how -If and NULLs go. Where about half of the rows are kept, a branch a row would be mispredicted every other time.
void addKeptRows(const AggregateFunction& function,
                 const Column* const* arguments,
                 char* const* places,
                 size_t offset,
                 size_t from,
                 std::span<const uint8_t> kept,
                 Arena& arena);

}  // namespace shardd::aggregates
