#pragma once

#include <string>
#include <vector>

#include "server/plan/planner_context.h"

namespace shardd::plan {

/// The first elements of a table's primary key that have one value within every group, when rows of `input`
/// are grouped by the columns `keys`; none when these are not the rows of one MergeTree table, read as they
/// are stored.
std::vector<KeyOrderElement> keyOrderOf(const StepPtr& input,
                                        const std::vector<std::string>& keys,
                                        const PlannerContext& context);

}  // namespace shardd::plan
