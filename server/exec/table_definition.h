#pragma once

#include "server/plan/planner_context.h"
#include "server/sql/ast.h"
#include "server/storage/engine.h"

namespace shardd::exec {

/// A table as CREATE says it, completed: columns with types and defaults in canonical text, the engine that
/// is meant when none is written, keys as functions. `create` is changed to the complete statement. The
/// context's session decides nothing that is stored: keys are computed in the server's time zone. Errors:
/// what types, expressions and ClickHouse's checks of a CREATE say.
storage::TableDefinition makeTableDefinition(sql::Create& create, const plan::PlannerContext& context);

/// The statement that is stored: ATTACH TABLE _ UUID '…' ….
std::string attachQuery(const sql::Create& create, const std::string& uuid);

/// The complete statement under a table's name now; on several lines for people.
std::string createQuery(const sql::Create& create,
                        const std::string& database,
                        const std::string& table,
                        bool multi_line);

/// Columns as declarations, for CREATE TABLE … AS table.
std::vector<sql::ColumnDeclaration> declarationsOf(const storage::TableSchema& schema);

/// An argument of an engine: a name, or a constant expression.
storage::Argument makeArgument(const sql::ExpressionPtr& expression, const plan::PlannerContext& context);

}  // namespace shardd::exec
