#pragma once

#include "server/exec/operators.h"

namespace shardd::exec {

/// GROUP BY x, f(x), 1: groups by x alone and makes the other keys of the groups. Returns false, and does nothing,
/// where no key follows from the others.
bool runDependentKeys(const plan::AggregateStep& step, const StepPlace& place, Sink& sink);

}  // namespace shardd::exec
