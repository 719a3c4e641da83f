#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/plan/planner_context.h"
#include "server/plan/query_tree.h"

/// The proof that finished groups are disjoint (verify_disjoint_groups): what an initiator asks of its shards, and what a shard
/// does when it is asked.
namespace shardd::plan {

/// Where groups live, when the keys of GROUP BY hold every column of the sharding key as it is; nothing otherwise, and for a key
/// that is not the same whenever it is computed.
/// Errors: what binding the key's text says.
std::optional<GroupSlots> groupSlots(const QueryNode& query,
                                     const std::string& sharding_key,
                                     std::vector<uint32_t> weights,
                                     const PlannerContext& context);

/// "1,2,1" and back. Errors: BAD_ARGUMENTS (36).
std::string weightsText(const std::vector<uint32_t>& weights);
std::vector<uint32_t> weightsOf(const std::string& text);

/// The keys of GROUP BY: their columns, and what the query calls them.
std::vector<std::pair<std::string, std::string>> groupLabels(const QueryNode& query);

/// For people: how the groups of `comparison` are checked.
std::string proofText(const GroupComparison& comparison);

}  // namespace shardd::plan
