#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "server/plan/planner_context.h"
#include "server/sql/ast.h"
#include "server/storage/key.h"

/// What storage and cluster need of SQL: expressions over a table's columns as functions over blocks.
namespace shardd::plan {

using ColumnTypes = std::vector<std::pair<std::string, TypePtr>>;

/// An expression that was made into a function of a block with (at least) `columns`.
struct BlockFunction {
    std::string text;  // canonical
    TypePtr type;
    std::vector<std::string> columns;
    std::function<ColumnPtr(const Block&)> evaluate;
    bool deterministic = true;
};

/// Errors: what parsing and binding say; ILLEGAL_AGGREGATION (184) and the like for what is no expression of
/// one row.
BlockFunction makeBlockFunction(const sql::ExpressionPtr& expression,
                                const ColumnTypes& columns,
                                const PlannerContext& context);
BlockFunction makeBlockFunction(const std::string& text,
                                const ColumnTypes& columns,
                                const PlannerContext& context);

/// PARTITION BY, PRIMARY KEY: `a`, `(a, b)`, `tuple()`; nullptr is no key.
/// Errors: BAD_ARGUMENTS (36) for keys that are not deterministic.
storage::KeyDescription makeKey(const sql::ExpressionPtr& expression,
                                const ColumnTypes& columns,
                                const PlannerContext& context);

/// ORDER BY of an engine, where an element may be DESC.
storage::KeyDescription makeSortingKey(const std::vector<sql::OrderElement>& elements,
                                       const ColumnTypes& columns,
                                       const PlannerContext& context);

/// From a block with the key's columns to positions of shards, one a row: where INSERT into a sharded table
/// sends them. An empty text (no sharding key) has no such function.
std::function<std::vector<size_t>(const Block&)> makeShardSelector(const std::string& sharding_key,
                                                                   std::vector<uint32_t> weights,
                                                                   const ColumnTypes& columns,
                                                                   const PlannerContext& context);

}  // namespace shardd::plan
