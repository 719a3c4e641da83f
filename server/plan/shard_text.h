#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/plan/query_tree.h"

namespace shardd::plan {

/// The query as its shards receive it, in ClickHouse's analyzer dialect: every identifier in backquotes, tables as
/// `__tableN`, every column under an alias, no positions, constants with _CAST where their type is not their literal's.
/// `sent_sets`: for GLOBAL IN, from a set node's name to the table that travels with the query.
/// Source: docs/distribution.md, "What a shard receives".
std::string shardText(const QueryNode& query, const std::map<std::string, std::string>& sent_sets);

/// The same query for a server of 18.16's time, whose stages and names of columns are not those of today: a whole
/// query (stage Complete there) whose answer is what `stage` asks for: `columns`, by name and what they are computed
/// from, and of aggregates their states where they shall be merged. Its -State of a Nullable argument forgets whether
/// there was a value: a query with such states is one for its own stage 1, with names that it makes itself.
/// Errors: NOT_IMPLEMENTED (48) for what such a server cannot be asked.
std::string legacyShardText(const QueryNode& query,
                            storage::Stage stage,
                            const std::vector<std::pair<std::string, NodePtr>>& columns,
                            const std::map<std::string, std::string>& sent_sets);

}  // namespace shardd::plan
