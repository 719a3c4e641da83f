#pragma once

#include <optional>
#include <vector>

#include "server/exec/query_context.h"
#include "server/plan/plan.h"

namespace shardd::exec {

/// What the states of all shards make (distributed_totals = 'exact'): columns of the read's answer, one row.
struct MergedTotals {
    /// The grand total of ROLLUP or CUBE, when it passes HAVING and there was a row at all.
    std::optional<Block> row;
    /// WITH TOTALS.
    std::optional<Block> totals;
};

/// Takes the totals() of every stream, which hold states. In a node that is a shard itself they are passed on instead, and
/// nothing comes out.
MergedTotals mergeTotals(const plan::ExactTotals& exact,
                         const std::vector<storage::RemoteStreamPtr>& streams,
                         QueryContext& context);

}  // namespace shardd::exec
