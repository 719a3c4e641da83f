#pragma once

#include <map>
#include <string>

#include "server/plan/query_tree.h"

namespace shardd::plan {

/// The query as its shards receive it, in ClickHouse's analyzer dialect: every identifier in backquotes, tables as
/// `__tableN`, every column under an alias, no positions, constants with _CAST where their type is not their literal's.
/// `sent_sets`: for GLOBAL IN, from a set node's name to the table that travels with the query.
/// Source: docs/distribution.md, "What a shard receives".
std::string shardText(const QueryNode& query, const std::map<std::string, std::string>& sent_sets);

}  // namespace shardd::plan
