#pragma once

#include "server/exec/statements.h"

/// Inside server/exec/statements*.cpp only: one function a statement.
namespace shardd::exec {

StatementAnswer runCreate(const sql::Create& statement, const StatementEnvironment& environment);
StatementAnswer runDrop(const sql::Drop& statement, const StatementEnvironment& environment);
StatementAnswer runRename(const sql::Rename& statement, const StatementEnvironment& environment);
StatementAnswer runAlter(const sql::Alter& statement, const StatementEnvironment& environment);
StatementAnswer runDelete(const sql::Delete& statement, const StatementEnvironment& environment);
StatementAnswer runUpdate(const sql::Update& statement, const StatementEnvironment& environment);
StatementAnswer runShow(const sql::Show& statement, const StatementEnvironment& environment);
StatementAnswer runDescribe(const sql::Describe& statement, const StatementEnvironment& environment);
StatementAnswer runExists(const sql::Exists& statement, const StatementEnvironment& environment);

/// The current database where none is written.
std::string databaseOf(const sql::QualifiedName& name, const StatementEnvironment& environment);

/// A temporary table of that name, or a table of the catalog. UNKNOWN_DATABASE (81), UNKNOWN_TABLE (60).
storage::TablePtr tableOf(const sql::QualifiedName& name, const StatementEnvironment& environment);

/// ON CLUSTER needs a coordinator that we have not: NO_ELEMENTS_IN_CONFIG (139), as a ClickHouse without
/// ZooKeeper says.
void refuseCluster(const std::string& cluster, const StatementEnvironment& environment);

/// ALTER … DELETE and UPDATE: the table's parts are written anew, at once.
void deleteRows(storage::Table& table, const sql::ExpressionPtr& where, const plan::PlannerContext& context);
void updateRows(storage::Table& table,
                const std::vector<std::pair<std::string, sql::ExpressionPtr>>& assignments,
                const sql::ExpressionPtr& where,
                const plan::PlannerContext& context);

/// One column of strings.
Block stringRows(const std::string& name, const std::vector<std::string>& values);

}  // namespace shardd::exec
