#include "common/base/error.h"
#include "server/daemon/distributed_sends.h"
#include "server/daemon/query_planning.h"
#include "server/daemon/result_channel.h"
#include "server/daemon/statements.h"
#include "server/exec/statements.h"
#include "server/plan/explain.h"
#include "server/sql/parser.h"

/// Statements about the session, and those about the catalog, which exec runs.
namespace shardd::daemon {

namespace {

void sendBlock(Block block, const StatementContext& query) {
    if (block.columns.empty()) return;
    if (block.rows == 0) block.rows = block.columns[0].column->size();
    ChannelSink sink(query.channel);
    sink.header(block);
    block.makeFull();
    if (block.rows > 0) sink.data(std::move(block));
    sink.profile(std::nullopt);
}

}  // namespace

void run(const sql::Set& statement, const StatementContext& query) {
    // On the session, all or nothing. What came with this query alone does not stay.
    Settings changed = query.session.settings;
    applySettingChanges(statement.changes, query, changed);
    query.session.settings = std::move(changed);
    for (const auto& [name, value] : statement.parameters) query.session.parameters[name] = value;
}

void run(const sql::Use& statement, const StatementContext& query) {
    query.services.catalog->database(statement.database);
    query.session.database = statement.database;
}

void run(const sql::Explain& statement, const StatementContext& query) {
    plan::PlannerContext context = makePlannerContext(query, query.running->currentSettings());
    context.run = nullptr;
    sendBlock(plan::explain(statement, context), query);
}

void runCatalogStatement(const sql::Statement& statement, const StatementContext& query) {
    const plan::PlannerContext planner = makePlannerContext(query, query.running->currentSettings());
    exec::StatementEnvironment environment;
    environment.catalog = query.services.catalog;
    environment.planner = &planner;
    environment.temporary_tables = &query.session.temporary_tables;
    environment.kill_query = [&query](const std::string& id) { return query.services.processes->kill(id); };
    environment.get_cluster = query.services.get_cluster;
    environment.system_command = [&query](const sql::System& system) {
        if (runDistributedSends(system, query)) return true;
        if (system.command != "RELOAD CONFIG" && system.command != "RELOAD USERS") return false;
        if (query.services.reload) query.services.reload();
        return true;
    };
    exec::StatementAnswer answer = exec::runStatement(statement, environment);
    if (answer.follow_up.empty()) return sendBlock(std::move(answer.rows), query);
    dispatch(*sql::parseStatement(answer.follow_up, {.max_query_size = 0}), query);
}

}  // namespace shardd::daemon
