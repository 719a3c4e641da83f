#pragma once

#include <string>
#include <unordered_map>

#include "server/plan/planner_context.h"
#include "server/plan/query_tree.h"

namespace shardd::plan {

/// Makes expressions over the columns of one block from nodes. A node whose name is a column of the block is that column;
/// equal nodes become one expression. One compiler a block header: what it made is remembered.
class Compiler {
public:
    /// `raw_columns`: the block has a table's own column names, not `__table1.k`.
    Compiler(const Block& header, const PlannerContext& context, bool raw_columns = false)
        : header_(header), context_(context), raw_columns_(raw_columns) {}

    /// Errors: LOGICAL_ERROR when a column or an aggregate is not there; what subqueries of IN throw.
    ExpressionPtr compile(const NodePtr& node);

    /// For grouping(): the keys, and the positions of each set's; nothing where there are no sets.
    void setGroupingSets(std::vector<std::string> keys, std::vector<std::vector<size_t>> sets) {
        grouping_keys_ = std::move(keys);
        grouping_sets_ = std::move(sets);
    }

private:
    ExpressionPtr compileFunction(const Node& node);
    ExpressionPtr compileLambda(const Node& node);
    ExpressionPtr compileSet(const Node& node);
    ExpressionPtr compileGrouping(const Node& node);
    ExpressionPtr input(const std::string& name, const TypePtr& type);

    const Block& header_;
    const PlannerContext& context_;
    bool raw_columns_;
    std::vector<std::string> grouping_keys_;
    std::vector<std::vector<size_t>> grouping_sets_;
    std::unordered_map<std::string, ExpressionPtr> made_;
    std::vector<std::string> lambda_parameters_;
};

/// The column of the block, as an expression.
ExpressionPtr inputExpression(const std::string& name, const TypePtr& type);

/// CAST of an expression to another type; the expression itself when it has it.
ExpressionPtr castExpression(const ExpressionPtr& expression, const TypePtr& type, const PlannerContext& context);

}  // namespace shardd::plan
