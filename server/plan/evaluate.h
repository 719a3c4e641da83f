#pragma once

#include <set>
#include <string>

#include "server/plan/query_tree.h"

namespace shardd::plan {

/// The value of a node for every row of a block that has the columns it names (`k`, not `__table1.k`):
/// sharding keys, sorting keys, constants. Everything is computed, nothing lazily; queries are run by exec.
/// Errors: NOT_FOUND_COLUMN_IN_BLOCK, what functions throw; LOGICAL_ERROR for aggregates and subqueries.
ColumnPtr evaluateNode(const NodePtr& node, const Block& block);

/// The table columns that the node is computed from.
std::set<std::string> usedColumns(const Node& node);

/// Whether the same columns always give the same value, on every server.
bool isDeterministic(const Node& node);

}  // namespace shardd::plan
