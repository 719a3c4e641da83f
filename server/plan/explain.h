#pragma once

#include <string>
#include <vector>

#include "server/plan/planner.h"
#include "server/sql/ast.h"

namespace shardd::plan {

/// The answer of EXPLAIN: one column `explain`, a line a row; of EXPLAIN ESTIMATE the columns of ClickHouse.
/// Nothing is run. Errors: what parsing, binding and planning say; INCORRECT_QUERY (80) for what cannot be
/// explained that way.
Block explain(const sql::Explain& statement, const PlannerContext& context);

/// The syntax tree in ClickHouse's notation, an indented line a node.
std::vector<std::string> syntaxTreeLines(const sql::Statement& statement);

/// The query tree: names, types, where everything comes from.
std::vector<std::string> queryTreeLines(const QueryTree& tree);

/// The steps, each under the one that reads it.
std::vector<std::string> stepLines(const StepPtr& root);

/// What shards are asked, and why: for each sharded table that is read.
std::vector<std::string> distributedLines(const QueryPlan& plan);

/// "1 (WithMergeableState)"
std::string stageText(storage::Stage stage);

}  // namespace shardd::plan
