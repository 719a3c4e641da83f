#include "server/plan/stage.h"

#include <numeric>

namespace shardd::plan {

StageChoice chooseStage(const QueryNode& query,
                        const storage::DistributedSource& source,
                        storage::Stage wanted,
                        const PlannerContext& /*context*/) {
    StageChoice choice;
    choice.shards.resize(source.shardCount());
    std::iota(choice.shards.begin(), choice.shards.end(), size_t{0});

    const uint64_t mode = query.settings->distributed_group_by_no_merge;
    const bool push_down_limit = query.settings->distributed_push_down_limit;
    const bool grouping = query.aggregated() || query.distinct || query.limit_by_limit;
    const storage::Stage after_aggregation =
        push_down_limit ? storage::Stage::WithMergeableStateAfterAggregationAndLimit : storage::Stage::WithMergeableStateAfterAggregation;

    if (wanted == storage::Stage::WithMergeableState && mode == 0) {
        choice.stage = wanted;
        choice.reason = "another initiator asked for states";
    } else if (mode == 2) {
        if (!query.windows.empty())
            throw Error(ErrorCode::NOT_IMPLEMENTED, "Window functions are not supported with distributed_group_by_no_merge = 2");
        choice.stage = after_aggregation;
        choice.reason = "distributed_group_by_no_merge = 2";
    } else if (mode != 0) {
        choice.stage = storage::Stage::Complete;
        choice.reason = "distributed_group_by_no_merge = 1";
    } else if (choice.shards.size() == 1) {
        choice.stage = storage::Stage::Complete;
        choice.reason = "there is one shard";
    } else if (grouping || !query.windows.empty() || query.settings->extremes) {
        choice.stage = storage::Stage::WithMergeableState;
        choice.reason = "groups may live on several shards";
    } else if (!query.order_by.empty() || query.limit || query.offset) {
        choice.stage = after_aggregation;
        choice.reason = "rows are only sorted and limited";
    } else {
        choice.stage = storage::Stage::Complete;
        choice.reason = "nothing is left to do for the initiator";
    }
    return choice;
}

}  // namespace shardd::plan
