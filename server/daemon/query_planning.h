#pragma once

#include <memory>
#include <string>

#include "server/daemon/statement_run.h"
#include "server/plan/planner_context.h"
#include "server/sql/ast.h"
#include "server/sql/parser.h"

namespace shardd::daemon {

/// What functions may know in this query.
std::shared_ptr<const functions::FunctionContext> makeFunctionContext(const StatementContext& query,
                                                                      const Settings& settings);

/// What the planner may ask of this query; `settings` are those in force. External tables that came with it
/// are among the temporary ones.
plan::PlannerContext makePlannerContext(const StatementContext& query, const Settings& settings);

/// For definitions that are read at the start, before anybody asked.
plan::PlannerContext makeLoaderContext(const QueryServices& services);

/// A value of a SETTINGS clause as settings take it.
SettingLiteral toSettingLiteral(const sql::Literal& literal);

/// Takes a SETTINGS clause or a SET over into `settings`, within the user's constraints. Errors: as
/// SettingConstraints.
void applySettingChanges(const sql::SettingChanges& changes,
                         const StatementContext& query,
                         Settings& settings);

sql::ParserLimits parserLimits(const Settings& settings);

/// What operators keep to, with what `user` and this server still leave.
exec::ExecSettings operatorSettings(const Settings& settings, const QueryServices& services, const std::string& user);

/// A column of type `from` as one of type `to`, as CAST does it.
ColumnPtr castColumn(const ColumnPtr& column,
                     const TypePtr& from,
                     const TypePtr& to,
                     size_t rows,
                     const std::shared_ptr<const functions::FunctionContext>& context);

}  // namespace shardd::daemon
