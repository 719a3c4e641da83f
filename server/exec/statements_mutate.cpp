#include <algorithm>

#include "common/base/error.h"
#include "server/exec/expression.h"
#include "server/exec/statements_impl.h"
#include "server/plan/binder.h"
#include "server/plan/evaluate.h"
#include "server/sql/printer.h"
#include "server/storage/merge_tree.h"

namespace shardd::exec {

namespace {

storage::MergeTree& mutableTable(storage::Table& table) {
    if (auto* found = dynamic_cast<storage::MergeTree*>(&table)) return *found;
    throw Error(ErrorCode::NOT_IMPLEMENTED, "Table engine {} doesn't support mutations",
                table.schema()->engine);
}

std::vector<std::pair<std::string, TypePtr>> columnsOf(const storage::TableSchema& schema) {
    std::vector<std::pair<std::string, TypePtr>> columns;
    for (const storage::ColumnDefinition& column : schema.columns)
        columns.emplace_back(column.name, column.type);
    return columns;
}

/// A value for each row of a block, from an expression over the table's columns.
struct RowExpression {
    plan::NodePtr node;

    ColumnPtr operator()(const Block& block) const { return full(plan::evaluateNode(node, block)); }
};

}  // namespace

void deleteRows(storage::Table& table, const sql::ExpressionPtr& where, const plan::PlannerContext& context) {
    storage::MergeTree& merge_tree = mutableTable(table);
    const RowExpression condition{plan::bindExpression(where, columnsOf(*table.schema()), context)};
    merge_tree.mutate([&](Block block) {
        Mask keep = maskOf(*condition(block), *condition.node->type);
        for (uint8_t& byte : keep) byte = byte == 0;
        return block.filter(keep.span(), SIZE_MAX);
    });
}

void updateRows(storage::Table& table,
                const std::vector<std::pair<std::string, sql::ExpressionPtr>>& assignments,
                const sql::ExpressionPtr& where,
                const plan::PlannerContext& context) {
    storage::MergeTree& merge_tree = mutableTable(table);
    const auto schema = table.schema();
    std::vector<std::pair<std::string, RowExpression>> values;
    for (const auto& [name, expression] : assignments) {
        const storage::ColumnDefinition* column = schema->find(name);
        if (!column)
            throw Error(ErrorCode::NO_SUCH_COLUMN_IN_TABLE, "There is no column {} in table",
                        sql::quoteIdentifierIfNeeded(name));
        for (const auto* key : {&merge_tree.sortingKey(), &merge_tree.partitionKey()})
            for (const std::string& used : key->usedColumns())
                if (used == name)
                    throw Error(ErrorCode::CANNOT_UPDATE_COLUMN, "Cannot UPDATE key column {}",
                                sql::quoteIdentifierIfNeeded(name));
        // CAST(if(where, expression, column), 'type'): the type of the column, whatever the expression has.
        const auto type = std::make_shared<sql::LiteralExpression>(sql::Literal{column->type->name()});
        sql::ExpressionPtr value = expression;
        if (where) {
            const auto old = std::make_shared<sql::Identifier>(std::vector<std::string>{name});
            const auto cast = std::make_shared<sql::Function>("CAST", sql::Expressions{expression, type});
            value = std::make_shared<sql::Function>("if", sql::Expressions{where, cast, old});
        }
        value = std::make_shared<sql::Function>("CAST", sql::Expressions{value, type});
        values.emplace_back(name, RowExpression{plan::bindExpression(value, columnsOf(*schema), context)});
    }
    merge_tree.mutate([&](Block block) {
        std::vector<ColumnPtr> changed;
        for (const auto& [name, value] : values) changed.push_back(value(block));
        for (size_t i = 0; i < values.size(); ++i)
            for (NamedColumn& column : block.columns)
                if (column.name == values[i].first) column.column = changed[i];
        return block;
    });
}

StatementAnswer runDelete(const sql::Delete& statement, const StatementEnvironment& environment) {
    refuseCluster(statement.cluster, environment);
    deleteRows(*tableOf(statement.table, environment), statement.where, *environment.planner);
    return {};
}

StatementAnswer runUpdate(const sql::Update& statement, const StatementEnvironment& environment) {
    refuseCluster(statement.cluster, environment);
    updateRows(*tableOf(statement.table, environment), statement.assignments, statement.where,
               *environment.planner);
    return {};
}

}  // namespace shardd::exec
