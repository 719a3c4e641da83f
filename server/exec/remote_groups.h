#pragma once

#include <memory>
#include <vector>

#include "server/plan/plan.h"

namespace shardd::exec {

/// The streams of a read whose groups are checked as they pass (step.comparison), and without the columns that only the check
/// needs. `step` outlives them.
/// Errors of the streams: VIOLATED_CONSTRAINT (469) under verify_disjoint_groups = 2; NOT_IMPLEMENTED (48) where a shard neither
/// checks its groups nor sends what tells them apart.
std::vector<storage::RemoteStreamPtr> withCheckedGroups(const plan::RemoteScanStep& step,
                                                        std::vector<storage::RemoteStreamPtr> streams);

}  // namespace shardd::exec
