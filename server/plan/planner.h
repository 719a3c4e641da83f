#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/plan/planner_context.h"
#include "server/plan/query_tree.h"

namespace shardd::plan {

/// What was decided for one read of a sharded table, for EXPLAIN DISTRIBUTED and the query's trailer.
struct DistributedRead {
    std::string cluster;
    size_t shard_count = 0;  // of the cluster; query.shards are those that are asked
    std::vector<std::string> addresses;  // of each shard, as far as known
    storage::RemoteQuery query;
    std::string reason;   // why this stage
    std::string skipped;  // why the other shards are not asked; empty when all are
    std::string proof;    // how groups are checked; empty when they are not
};

struct QueryPlan {
    StepPtr root;
    std::vector<DistributedRead> distributed;
};

/// The steps of a query up to context.stage. `limit_rows`: nobody will want more rows than this (0: all).
QueryPlan planQuery(const QueryTreePtr& tree, const PlannerContext& context, uint64_t limit_rows = 0);

/// The outermost query: also what settings ask of its result (limit, offset, extremes, max_result_rows).
QueryPlan planTopLevel(const QueryTreePtr& tree, const PlannerContext& context);

}  // namespace shardd::plan
