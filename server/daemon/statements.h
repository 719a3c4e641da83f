#pragma once

#include "server/daemon/statement_run.h"
#include "server/sql/ast.h"

/// One function a statement; each runs it and sends its answer into the channel. Errors: all of them are
/// thrown. A new statement is its function here, its case in dispatch(), and its place in the syntax
/// tree.
namespace shardd::daemon {

void run(const sql::QueryStatement& statement, const StatementContext& query);
void run(const sql::Insert& statement, const StatementContext& query);
void run(const sql::Explain& statement, const StatementContext& query);
void run(const sql::Set& statement, const StatementContext& query);
void run(const sql::Use& statement, const StatementContext& query);

/// What exec::runStatement() knows: CREATE, DROP, ALTER, SHOW, KILL and so on.
void runCatalogStatement(const sql::Statement& statement, const StatementContext& query);

/// By kind, one of the above. Errors: NOT_IMPLEMENTED for what is none of them.
void dispatch(const sql::Statement& statement, const StatementContext& query);

/// Runs a query; the rest of the statement is up to the caller.
void runQueryTree(const sql::Query& tree, const StatementContext& query);

/// The table of that name: temporary ones first, then the database given or the current one. Errors: 60, 81.
storage::TablePtr findTable(const sql::QualifiedName& name, const StatementContext& query);

/// The name with its database filled in.
sql::QualifiedName fullName(const sql::QualifiedName& name, const StatementContext& query);

}  // namespace shardd::daemon
