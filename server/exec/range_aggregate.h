#pragma once

#include "server/exec/aggregator.h"
#include "server/exec/operators.h"

namespace shardd::exec {

/// GROUP BY over rows that come range by range of the keys: the groups of a range go on as soon as its rows
/// have ended, and nothing is kept of it. Where nobody gives ranges it is an aggregation as any other.
void runRangeAggregate(const plan::AggregateStep& step,
                       AggregationPlan plan,
                       const StepPlace& place,
                       Sink& sink);

}  // namespace shardd::exec
