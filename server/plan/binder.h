#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/plan/planner_context.h"
#include "server/plan/query_tree.h"
#include "server/sql/ast.h"

namespace shardd::plan {

/// Resolves names, types and functions: syntax tree to query tree.
/// Rules: aliases may be used anywhere and win over columns, except inside their own expression; lambda parameters win over
/// both; WITH names reach into subqueries; positions (GROUP BY 1) only in queries that a person sent.
/// Errors: UNKNOWN_IDENTIFIER (47), UNKNOWN_TABLE (60), UNKNOWN_FUNCTION (46), NOT_AN_AGGREGATE (215), ILLEGAL_AGGREGATION (184),
/// and what functions say of their arguments, with ClickHouse's texts where users know them.
QueryTreePtr bindQuery(const sql::Query& query, const PlannerContext& context);

/// An expression over the given columns alone: keys, defaults, sharding keys. Columns are Column nodes of a source without id.
NodePtr bindExpression(const sql::ExpressionPtr& expression,
                       const std::vector<std::pair<std::string, TypePtr>>& columns,
                       const PlannerContext& context);

/// The columns that a query answers, without running anything: DESCRIBE (SELECT …), CREATE TABLE … AS SELECT.
std::vector<std::pair<std::string, TypePtr>> queryColumns(const sql::Query& query, const PlannerContext& context);

}  // namespace shardd::plan
