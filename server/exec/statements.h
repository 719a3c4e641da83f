#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "server/plan/planner_context.h"
#include "server/sql/ast.h"
#include "server/storage/catalog.h"

namespace shardd::exec {

/// What statements that are no queries work on; all of it outlives the statement.
struct StatementEnvironment {
    storage::Catalog* catalog = nullptr;
    /// The session's names and settings. `run` must be there for KILL and CREATE … AS SELECT.
    const plan::PlannerContext* planner = nullptr;
    /// Of the session; changed by CREATE TEMPORARY TABLE and DROP.
    std::map<std::string, storage::TablePtr>* temporary_tables = nullptr;
    /// Ends a query by its id; whether there was one.
    std::function<bool(const std::string& query_id)> kill_query = {};
    /// SYSTEM commands that concern the whole daemon (RELOAD CONFIG, SHUTDOWN …): true when it knew what to
    /// do.
    std::function<bool(const sql::System& statement)> system_command = {};
    /// For ON CLUSTER: throws when there is no such cluster; may be missing.
    std::function<void(const std::string& cluster)> get_cluster = {};
};

/// What such a statement answers.
struct StatementAnswer {
    /// Columns and rows for the client; without columns nothing is answered but the end.
    Block rows;
    /// SQL text to be run next in the statement's place, its rows being the answer: the SELECT behind SHOW,
    /// the INSERT behind CREATE TABLE … AS SELECT. Empty: none.
    std::string follow_up;
};

/// Whether runStatement() knows this kind: everything but queries, INSERT, EXPLAIN, SET, USE (whose state is
/// the session's).
bool isCatalogStatement(const sql::Statement& statement);

/// CREATE, DROP, TRUNCATE, RENAME, EXCHANGE, ATTACH, DETACH, ALTER, DESCRIBE, EXISTS, SHOW, OPTIMIZE, CHECK,
/// KILL, SYSTEM. Errors: ClickHouse's codes; NOT_IMPLEMENTED (48) naming what is missing.
StatementAnswer runStatement(const sql::Statement& statement, const StatementEnvironment& environment);

/// At the start: reads the stored databases and tables, makes `default` when there is none. A table that
/// cannot be loaded is told to `failed` and left out; its definition and data stay.
void loadStoredTables(storage::Catalog& catalog,
                      const plan::PlannerContext& planner,
                      const std::function<void(const std::string& table, const Error& error)>& failed);

}  // namespace shardd::exec
