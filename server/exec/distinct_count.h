#pragma once

#include "server/exec/aggregator.h"
#include "server/exec/operators.h"

namespace shardd::exec {

/// Whether count(DISTINCT x) of this step is better counted in one flat table, by all workers, than in a set.
bool countsDistinctFlat(const plan::AggregateStep& step);

/// uniqExact(x) without keys: the distinct x are found by an aggregation of their own, in parallel and in cache like any
/// other, and then counted. Only finished results: states of uniqExact are sets.
void runDistinctCount(const plan::AggregateStep& step,
                      AggregationPlan plan,
                      const StepPlace& place,
                      Sink& sink);

}  // namespace shardd::exec
