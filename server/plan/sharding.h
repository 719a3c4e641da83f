#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "server/plan/planner_context.h"
#include "server/plan/query_tree.h"

namespace shardd::plan {

/// The expression that says on which shard a row lives.
struct ShardingKey {
    NodePtr node;
    std::set<std::string> columns;
    bool deterministic = true;
};

/// Binds the text of a sharding key over the table's columns; nothing when the text is empty.
/// Errors: what binding says; TYPE_MISMATCH (53) when the key is no integer.
std::optional<ShardingKey> bindShardingKey(const std::string& text,
                                           const std::vector<std::pair<std::string, TypePtr>>& columns,
                                           const PlannerContext& context);

/// Rows with equal values of `list` (GROUP BY, DISTINCT, LIMIT BY) live on one shard when every column of the key can
/// be told from the list, whose expressions are injective in it. This is what keeps it from that, for people: "column b", "column k (k % 2 does not tell it)". Empty when it
/// contains the key.
std::string columnsLacking(const std::vector<NodePtr>& list, const ShardingKey& key, const TableSource& source);

/// The shards that rows passing `filter` can live on, ascending; nothing when the filter does not pin the
/// key. Equalities and IN lists on the key's columns count, under AND and OR; at most `limit` combinations
/// (0: any number).
std::optional<std::vector<size_t>> shardsOfFilter(const std::vector<NodePtr>& filters,
                                                  const ShardingKey& key,
                                                  const TableSource& source,
                                                  std::span<const uint32_t> weights,
                                                  uint64_t limit,
                                                  const PlannerContext& context);

/// For shards by their position: from the set of an IN to those of its elements that may be there.
using ShardLists = std::map<size_t, std::map<const Node*, std::vector<NodePtr>>>;

/// What each of `shards` needs of the lists in `column IN (list)`, where `column` is the only one of the key; lists of
/// which it needs all are left out. A list keeps one element at least, the last one.
/// Source: ClickHouse's optimize_skip_unused_shards_rewrite_in.
ShardLists listsOfShards(const std::vector<NodePtr>& filters,
                         const ShardingKey& key,
                         const TableSource& source,
                         std::span<const uint32_t> weights,
                         const std::vector<size_t>& shards,
                         const PlannerContext& context);

}  // namespace shardd::plan
