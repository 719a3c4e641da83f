#pragma once

#include <span>

#include "server/plan/plan.h"

namespace shardd::exec {

/// The block with results in place of states: each call's column of states (arguments[0]) becomes the column
/// of its name in `header`.
Block finishStates(const Block& block, std::span<const plan::AggregateCall> calls, const Block& header);

}  // namespace shardd::exec
