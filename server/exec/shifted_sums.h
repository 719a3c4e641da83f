#pragma once

#include "server/exec/operators.h"

namespace shardd::exec {

/// Several sum(x + constant) over one x: sums x once and counts, then adds constant * count to each. Integers
/// wrap at 64 bits either way, so the values are the same. Returns false, and does nothing, where the step is
/// not of this kind.
bool runShiftedSums(const plan::AggregateStep& step, const StepPlace& place, Sink& sink);

}  // namespace shardd::exec
