#pragma once

#include <vector>

#include "server/plan/planner_context.h"
#include "server/plan/query_tree.h"

namespace shardd::plan {

/// What a condition (WHERE or PREWHERE; may be nullptr) says of single columns of `source`, for leaving out
/// partitions, parts and granules: comparisons with constants and IN lists, joined by AND. Constants are
/// converted to the column's type where that is exact; otherwise the comparison says nothing here. Rows are
/// still filtered by the condition itself.
std::vector<storage::ColumnRange> rangesOf(const NodePtr& condition,
                                           const TableSource& source,
                                           const PlannerContext& context);

}  // namespace shardd::plan
