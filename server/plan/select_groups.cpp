#include <algorithm>

#include "common/columns/create_column.h"
#include "server/plan/group_proof.h"
#include "server/plan/key_order.h"
#include "server/plan/query_tree_walk.h"
#include "server/plan/select_planner.h"
#include "server/storage/group_buckets.h"

namespace shardd::plan {

using storage::Stage;

namespace {

/// As ClickHouse has it: servers say `force` to one another.
bool wantsKeyOrder(const Settings& settings) {
    return settings->force_aggregation_in_order ||
           (settings->optimize_aggregation_in_order && settings->query_plan_aggregation_in_order &&
            settings->query_plan_enable_optimizations);
}

bool finishesGroups(Stage stage) { return stage >= Stage::Complete; }

/// The level of ROLLUP or CUBE that leaves out every key, as RollupStep numbers them.
uint64_t grandTotalLevel(const QueryNode& query) {
    const size_t keys = query.group_by.size();
    return query.cube ? (uint64_t{1} << keys) - 1 : keys;
}

}  // namespace

/// Groups by the first elements of a table's sorting key may be finished while it is read. max_rows_to_group_by counts all groups
/// together, so then they stay together.
void SelectPlanner::orderGroups(AggregateStep& aggregate) const {
    if (!wantsKeyOrder(query_.settings) || !aggregate.grouping_sets.empty() || aggregate.max_groups != 0) return;
    aggregate.key_order = keyOrderOf(step_, aggregate.keys, context_);
    if (query_.settings->optimize_aggregation_in_order_limit && !countsAllRows()) return;
    for (KeyOrderElement& element : aggregate.key_order) element.key.clear();
}

/// As an initiator: how it is proved that groups which shards finish are disjoint.
std::optional<GroupComparison> SelectPlanner::planComparison(const storage::DistributedSource& distributed,
                                                             const StageChoice& choice) const {
    const uint64_t mode = query_.settings->verify_disjoint_groups;
    if (mode == 0 || !query_.aggregated() || !finishesGroups(choice.stage) || distributed.shardCount() < 2) return std::nullopt;
    GroupComparison comparison;
    comparison.throws = mode > 1;
    comparison.activity = context_.activity ? context_.activity : std::make_shared<storage::DistributedActivity>();
    comparison.keys = groupLabels(query_);
    if (!distributed.shardingKey().empty())
        comparison.slots = groupSlots(query_, distributed.shardingKey(), distributed.shardWeights(), context_);
    if (!comparison.slots && choice.shards.size() < 2) return std::nullopt;  // nobody to share a group with
    return comparison;
}

/// The query as shards get it: keys that nobody selects are added, so that groups can be told apart here. `header` gets the
/// columns of the answer, the added ones last.
std::shared_ptr<const QueryNode> SelectPlanner::withHiddenKeys(const StageChoice& choice, GroupComparison& comparison, Block& header) const {
    std::vector<Projection> hidden;
    header = remoteHeader(choice.stage);
    const bool complete = choice.stage == Stage::Complete;
    for (size_t i = 0; i < query_.group_by.size(); ++i) {
        const NodePtr& key = query_.group_by[i];
        std::string& column = comparison.keys[i].first;
        const auto selected = std::find_if(query_.projection.begin(), query_.projection.end(),
                                           [&](const Projection& each) { return each.node->name == key->name; });
        if (selected != query_.projection.end()) {
            if (complete) column = selected->alias;
        } else if (complete || !header.find(key->name)) {
            if (query_.distinct) {
                comparison.impossible = fmt::format(
                    "{} is not selected, and SELECT DISTINCT would answer something else with it", key->old_name);
                header = remoteHeader(choice.stage);
                return owned_;
            }
            hidden.push_back({key, fmt::format("__group_key_{}", i + 1)});
            if (complete) column = hidden.back().alias;
            header.columns.push_back({column, key->type, ColumnPtr(createColumn(*key->type))});
        }
    }
    if (comparison.slots)
        for (auto& [column, table_column] : comparison.slots->columns)
            for (size_t i = 0; i < query_.group_by.size(); ++i)
                if (query_.group_by[i]->kind == Node::Kind::Column && query_.group_by[i]->name == column) {
                    column = comparison.keys[i].first;
                    break;
                }
    if (hidden.empty()) return owned_;
    auto asked = std::make_shared<QueryNode>(query_);
    std::move(hidden.begin(), hidden.end(), std::back_inserter(asked->projection));
    return asked;
}

/// As a shard that was told how rows are spread: groups are held against that as they come out of the aggregation.
void SelectPlanner::checkGroups() {
    const Settings& settings = query_.settings;
    const bool asked = context_.secondary && context_.outermost && context_.activity && settings->verify_disjoint_groups != 0 &&
                       finishesGroups(to_) && from_ == Stage::FetchColumns && context_.functions->shard_num > 0;
    const std::string key = settings.get("distributed_group_key");
    if (!asked || key.empty()) return;
    std::optional<GroupSlots> slots;
    try {
        slots = groupSlots(query_, key, weightsOf(settings.get("distributed_shard_weights")), context_);
    } catch (const Error&) {
        return;  // the table here is another one: the initiator, which hears no promise, looks itself
    }
    if (!slots || slots->weights.size() < context_.functions->shard_num) return;
    GroupCheckStep check;
    check.input = step_;
    check.slots = std::move(*slots);
    check.keys = groupLabels(query_);
    check.own_shard = context_.functions->shard_num - 1;
    check.throws = settings->verify_disjoint_groups > 1;
    check.activity = context_.activity;
    context_.activity->setChecksGroups();
    Block header = step_->header;
    setStep(makeStep(std::move(check), std::move(header)));
}

bool SelectPlanner::sendsTotalsAsStates() const {
    return context_.secondary && context_.outermost && context_.activity && query_.settings->distributed_totals_as_states &&
           finishesGroups(to_);
}

/// Groups whose states go to whoever asks, by keys that all of them have.
bool SelectPlanner::wantsBuckets(Stage stage) const {
    return stage == Stage::WithMergeableState && !query_.group_by.empty() && query_.grouping_sets.empty();
}

/// As a shard: the initiator merges bucket by bucket, and numbers buckets as we do.
bool SelectPlanner::sendsBuckets() const {
    return context_.secondary && context_.outermost && wantsBuckets(to_) &&
           query_.settings.get("distributed_group_buckets") == storage::kGroupBucketHash;
}

/// The row over all groups from the states of all shards: WITH TOTALS, and the grand total of ROLLUP and CUBE.
std::optional<ExactTotals> SelectPlanner::planExactTotals(const StageChoice& choice) const {
    const bool exact = query_.settings->distributed_totals == setting_types::DistributedTotals::Exact;
    const bool has_grand_total = query_.totals || query_.rollup || query_.cube;
    if (!exact || !has_grand_total || !finishesGroups(choice.stage)) return std::nullopt;
    if (choice.shards.size() < 2 && !sendsTotalsAsStates()) return std::nullopt;  // one shard's totals are those of all
    if (!query_.windows.empty() || query_.qualify)
        throw Error(ErrorCode::NOT_IMPLEMENTED, "Window functions over finished groups and distributed_totals = 'exact' do not go together");
    ExactTotals totals;
    const bool levels = query_.rollup || query_.cube;
    totals.is_row = levels;
    totals.is_totals = query_.totals;
    totals.calls = calls(true);
    totals.grouping_set = levels ? grandTotalLevel(query_) : 0;
    if (sendsTotalsAsStates()) totals.states_to = context_.activity;
    const auto add = [&](const std::string& name, const TypePtr& type) {
        if (!totals.inputs.find(name)) totals.inputs.columns.push_back({name, type, ColumnPtr(createColumn(*type))});
    };
    if (levels || !query_.grouping_sets.empty()) add("__grouping_set", types::uint64());
    const bool nulls = levels && query_.settings->group_by_use_nulls;
    for (const NodePtr& key : query_.group_by) add(key->name, nulls ? makeNullable(key->type) : key->type);
    for (const NodePtr& node : query_.aggregates) add(node->name, node->type);
    Compiler compiler(totals.inputs, context_);
    setGroupingSets(compiler);
    if (levels && query_.having) totals.having = compiler.compile(query_.having);
    if (choice.stage == Stage::Complete) {
        for (const Projection& projection : query_.projection)
            totals.output.push_back({projection.alias, compiler.compile(projection.node)});
    } else {
        for (const NodePtr& node : outputNodes())
            if (!isRowless(node)) totals.output.push_back({node->name, compiler.compile(node)});
    }
    return totals;
}

}  // namespace shardd::plan
