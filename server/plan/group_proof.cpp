#include "server/plan/group_proof.h"

#include <algorithm>
#include <charconv>

#include "server/plan/evaluate.h"
#include "server/plan/key_function.h"
#include "server/plan/sharding.h"

namespace shardd::plan {

namespace {

/// The key of GROUP BY that is the table's column and nothing else, with its values.
const Node* keyOfColumn(const QueryNode& query, const std::string& name, const TypePtr& type) {
    const TableSource& table = *query.sources[0];
    for (const NodePtr& key : query.group_by) {
        const bool is_column = key->kind == Node::Kind::Column && key->source && key->source->id == table.id;
        if (is_column && key->column == name && sameType(key->type, type)) return key.get();
    }
    return nullptr;
}

}  // namespace

std::optional<GroupSlots> groupSlots(const QueryNode& query,
                                     const std::string& sharding_key,
                                     std::vector<uint32_t> weights,
                                     const PlannerContext& context) {
    if (query.sources.empty() || query.rollup || query.cube || !query.grouping_sets.empty()) return std::nullopt;
    const TableSource& table = *query.sources[0];
    const std::optional<ShardingKey> key = bindShardingKey(sharding_key, table.columns, context);
    if (!key || !key->deterministic || key->columns.empty()) return std::nullopt;
    GroupSlots slots;
    slots.weights = std::move(weights);
    for (const auto& [name, type] : table.columns) {
        if (!key->columns.contains(name)) continue;
        const Node* group_key = keyOfColumn(query, name, type);
        if (!group_key) return std::nullopt;
        slots.columns.emplace_back(group_key->name, name);
    }
    slots.key = makeKeyElement(sharding_key, table.columns, context);
    return slots;
}

std::string weightsText(const std::vector<uint32_t>& weights) {
    std::string text;
    for (const uint32_t weight : weights) text += (text.empty() ? "" : ",") + std::to_string(weight);
    return text;
}

std::vector<uint32_t> weightsOf(const std::string& text) {
    std::vector<uint32_t> weights;
    const char* at = text.data();
    const char* end = at + text.size();
    while (at < end) {
        uint32_t weight = 0;
        const auto [next, error] = std::from_chars(at, end, weight);
        if (error != std::errc() || (next != end && *next != ','))
            throw Error(ErrorCode::BAD_ARGUMENTS, "distributed_shard_weights is no list of numbers: {}", text);
        weights.push_back(weight);
        at = next == end ? end : next + 1;
    }
    return weights;
}

std::vector<std::pair<std::string, std::string>> groupLabels(const QueryNode& query) {
    std::vector<std::pair<std::string, std::string>> labels;
    for (const NodePtr& key : query.group_by) labels.emplace_back(key->name, key->old_name);
    return labels;
}

std::string proofText(const GroupComparison& comparison) {
    if (!comparison.impossible.empty()) return "groups cannot be checked: " + comparison.impossible;
    if (comparison.slots)
        return fmt::format("every group is held against the place that {} gives it; shardd does that on the shard, others' groups "
                           "are checked here",
                           comparison.slots->key.text);
    return "the keys of all shards' groups are compared here";
}

}  // namespace shardd::plan
