#include "server/plan/stage.h"

#include <numeric>

#include "server/plan/sharding.h"

namespace shardd::plan {

namespace {

using storage::Stage;

class StageChooser {
public:
    StageChooser(const QueryNode& query,
                 const storage::DistributedSource& source,
                 const PlannerContext& context)
        : query_(query), source_(source), context_(context) {}

    StageChoice choose(Stage wanted);

private:
    void skipShards(StageChoice& choice);
    void failUnlessSkipped(bool has_key, bool usable) const;
    bool keyIsUsable() const;
    std::string whyGroupsMayCross() const;
    const std::optional<ShardingKey>& key();

    const TableSource& table() const { return *query_.sources[0]; }

    const QueryNode& query_;
    const storage::DistributedSource& source_;
    const PlannerContext& context_;
    std::optional<ShardingKey> key_;
    bool key_is_bound_ = false;
};

const std::optional<ShardingKey>& StageChooser::key() {
    if (!key_is_bound_) key_ = bindShardingKey(source_.shardingKey(), table().columns, context_);
    key_is_bound_ = true;
    return key_;
}

bool StageChooser::keyIsUsable() const {
    return key_ &&
           (key_->deterministic || query_.settings->allow_nondeterministic_optimize_skip_unused_shards);
}

/// Source: docs/distribution.md, "Leaving shards out".
void StageChooser::skipShards(StageChoice& choice) {
    const auto& settings = query_.settings;
    if (choice.shards.size() < 2 || !settings->optimize_skip_unused_shards) return;
    key();
    if (keyIsUsable()) {
        const auto needed =
            shardsOfFilter({query_.prewhere, query_.where}, *key_, table(), source_.shardWeights(),
                           settings->optimize_skip_unused_shards_limit, context_);
        if (needed) {
            choice.shards = *needed;
            if (settings->optimize_skip_unused_shards_rewrite_in)
                choice.lists = listsOfShards({query_.prewhere, query_.where}, *key_, table(), source_.shardWeights(),
                                             choice.shards, context_);
            if (choice.shards.size() < source_.shardCount())
                choice.skipped = fmt::format("the filter pins the sharding key {} to other shards", source_.shardingKey());
            return;
        }
    }
    failUnlessSkipped(key_.has_value(), keyIsUsable());
}

void StageChooser::failUnlessSkipped(bool has_key, bool usable) const {
    const auto& settings = query_.settings;
    const uint64_t force = settings->force_optimize_skip_unused_shards;
    if (force == 0) return;
    if (!has_key) {
        if (force == 2) throw Error(ErrorCode::UNABLE_TO_SKIP_UNUSED_SHARDS, "No sharding key");
        return;
    }
    if (!usable) throw Error(ErrorCode::UNABLE_TO_SKIP_UNUSED_SHARDS, "Sharding key is not deterministic");
    throw Error(ErrorCode::UNABLE_TO_SKIP_UNUSED_SHARDS, "Sharding key {} is not used",
                source_.shardingKey());
}

/// Why rows that are brought together may come from several shards; empty when they never do. For people.
std::string StageChooser::whyGroupsMayCross() const {
    if (!key_) return "the table has no sharding key";
    if (!keyIsUsable())
        return fmt::format("the sharding key {} is not the same whenever it is computed", source_.shardingKey());
    const auto lacking = [&](const char* clause, const std::vector<NodePtr>& list) {
        const std::string columns = columnsLacking(list, *key_, table());
        return columns.empty() ? columns : fmt::format("{} lacks {} of {}", clause, columns, source_.shardingKey());
    };
    for (const JoinNode& join : query_.joins)
        if (join.kind == JoinNode::Kind::Right || join.kind == JoinNode::Kind::Full)
            return "a RIGHT or FULL JOIN gives every shard the rows that have no partner there";
    std::vector<std::string> reasons;
    if (query_.distinct) {
        std::vector<NodePtr> list;
        for (const Projection& projection : query_.projection) list.push_back(projection.node);
        reasons.push_back(lacking("DISTINCT", list));
    }
    if (query_.aggregated() && !query_.has_group_by)
        reasons.emplace_back("there is no GROUP BY: all rows are one group");
    else if (query_.aggregated())
        reasons.push_back(lacking("GROUP BY", query_.group_by));
    if (query_.limit_by_limit) reasons.push_back(lacking("LIMIT BY", query_.limit_by));
    for (const std::string& reason : reasons)
        if (!reason.empty()) return reason;
    for (const char* setting : {"optimize_skip_unused_shards", "optimize_distributed_group_by_sharding_key"})
        if (query_.settings.get(setting) == "0")
            return fmt::format("every group has all of the sharding key {}, but {} = 0", source_.shardingKey(), setting);
    return "";
}

StageChoice StageChooser::choose(Stage wanted) {
    StageChoice choice;
    choice.shards.resize(source_.shardCount());
    std::iota(choice.shards.begin(), choice.shards.end(), size_t{0});
    skipShards(choice);
    const auto answer = [&](Stage stage, std::string reason) {
        choice.stage = stage;
        choice.reason = std::move(reason);
        return choice;
    };

    const Stage after_aggregation = query_.settings->distributed_push_down_limit
                                        ? Stage::WithMergeableStateAfterAggregationAndLimit
                                        : Stage::WithMergeableStateAfterAggregation;
    const uint64_t mode = query_.settings->distributed_group_by_no_merge;
    if (mode == 2) {
        if (!query_.windows.empty() || query_.qualify)
            throw Error(ErrorCode::NOT_IMPLEMENTED,
                        "Window functions are not supported with distributed_group_by_no_merge=2");
        // Whole answers travel under their own names, and are passed on as they come.
        if (wanted == Stage::Complete && query_.order_by.empty() && !query_.limit && !query_.offset)
            return answer(Stage::Complete,
                          "distributed_group_by_no_merge = 2, and nothing is left to sort or limit: the answers of the shards "
                          "follow one another");
        return answer(
            after_aggregation,
            "distributed_group_by_no_merge = 2: shards finish their groups, the initiator sorts and limits");
    }
    if (mode != 0)
        return answer(Stage::Complete,
                      "distributed_group_by_no_merge = 1: the answers of the shards follow one another");
    if (wanted == Stage::WithMergeableState) return answer(wanted, "the asking initiator wants states");
    if (choice.shards.empty()) return answer(Stage::FetchColumns, "no shard can have rows");
    if (choice.shards.size() == 1) return answer(Stage::Complete, "one shard answers alone");

    const bool one_set = query_.grouping_sets.size() == 1;
    if (query_.totals || query_.rollup || query_.cube || (!query_.grouping_sets.empty() && !one_set))
        return answer(Stage::WithMergeableState, "totals and several grouping sets span all shards");
    if (!query_.windows.empty() || query_.qualify)
        return answer(Stage::WithMergeableState, "window functions see all rows");
    if (query_.settings->extremes) return answer(Stage::WithMergeableState, "extremes span all shards");

    const bool brings_rows_together = query_.aggregated() || query_.distinct || query_.limit_by_limit;
    if (brings_rows_together) {
        key();
        if (const std::string why = whyGroupsMayCross(); !why.empty())
            return answer(Stage::WithMergeableState, "a group may live on several shards: " + why);
    }
    const std::string reason =
        brings_rows_together
            ? fmt::format("the sharding key {} keeps every group on one shard", source_.shardingKey())
            : std::string("no row depends on those of another shard");
    if (!query_.order_by.empty() || query_.limit || query_.offset)
        return answer(after_aggregation, reason + "; the initiator sorts and limits");
    return answer(Stage::Complete, reason);
}

}  // namespace

StageChoice chooseStage(const QueryNode& query,
                        const storage::DistributedSource& source,
                        Stage wanted,
                        const PlannerContext& context) {
    return StageChooser(query, source, context).choose(wanted);
}

}  // namespace shardd::plan
