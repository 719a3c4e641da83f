#pragma once

#include <string>
#include <vector>

#include "server/plan/planner_context.h"
#include "server/plan/query_tree.h"
#include "server/plan/sharding.h"

namespace shardd::plan {

/// How far the shards of one read go, which of them are asked, and why: the sentence is for people.
struct StageChoice {
    storage::Stage stage = storage::Stage::Complete;
    std::vector<size_t> shards;
    std::string reason;
    /// Why the other shards are not asked; empty when all are.
    std::string skipped;
    /// IN lists of which each shard gets what may be there, see listsOfShards().
    ShardLists lists;
};

/// `wanted`: how far the query itself must go here (less than Complete when this node is a shard of another).
/// Errors: UNABLE_TO_SKIP_UNUSED_SHARDS (507), NOT_IMPLEMENTED (48) for window functions in mode 2.
/// Source: docs/distribution.md, "How the stage is chosen".
StageChoice chooseStage(const QueryNode& query,
                        const storage::DistributedSource& source,
                        storage::Stage wanted,
                        const PlannerContext& context);

}  // namespace shardd::plan
