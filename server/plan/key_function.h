#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/plan/planner_context.h"
#include "server/sql/ast.h"
#include "server/storage/key.h"

/// What storage and cluster need of SQL: an expression over a table's columns as a function over blocks.
namespace shardd::plan {

/// One expression of a key: sorting, partition, sharding.
/// Errors: what parsing and binding say; BAD_ARGUMENTS (36) for one that is not deterministic, unless that is
/// allowed.
storage::KeyElement makeKeyElement(const sql::ExpressionPtr& expression,
                                   const std::vector<std::pair<std::string, TypePtr>>& columns,
                                   const PlannerContext& context,
                                   bool allow_nondeterministic = false);

storage::KeyElement makeKeyElement(const std::string& text,
                                   const std::vector<std::pair<std::string, TypePtr>>& columns,
                                   const PlannerContext& context,
                                   bool allow_nondeterministic = false);

}  // namespace shardd::plan
