#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/plan/query_tree.h"
#include "server/sql/printer.h"

namespace shardd::plan {

/// How texts for other servers are written.
inline constexpr sql::PrintOptions kForShards{.multi_line = false, .quoting = sql::PrintOptions::Quoting::Always};

/// What is printed otherwise than the query has it.
struct ShardTextParts {
    /// For GLOBAL IN, from a set node's name to the table that travels with the query.
    std::map<std::string, std::string> sent_sets;
    /// IN lists of which a shard gets a part: from the set's node to its elements.
    std::map<const Node*, std::vector<NodePtr>> lists;
};

/// The query as its shards receive it, in ClickHouse's analyzer dialect: every identifier in backquotes, tables as
/// `__tableN`, every column under an alias, no positions, constants with _CAST where their type is not their literal's.
/// Source: docs/distribution.md, "What a shard receives".
std::string shardText(const QueryNode& query, const ShardTextParts& parts);

/// The same query for a server of 18.16's time, whose stages and names of columns are not those of today: a whole
/// query (stage Complete there) whose answer is what `stage` asks for, the columns `wanted` by their names; of
/// aggregates their states where they shall be merged. Its -State of a Nullable argument forgets whether there was a
/// value: a query with such states is one for its own stage 1, with names that it makes itself.
/// Errors: NOT_IMPLEMENTED (48) for what such a server cannot be asked.
storage::LegacyQuery legacyShardText(const QueryNode& query,
                                     storage::Stage stage,
                                     const Block& wanted,
                                     const ShardTextParts& parts);

}  // namespace shardd::plan
