#include "server/exec/statements.h"

#include <algorithm>

#include "common/base/error.h"
#include "common/columns/fixed_column.h"
#include "common/columns/string_column.h"
#include "server/exec/statements_impl.h"
#include "server/plan/binder.h"
#include "server/plan/planner.h"
#include "server/sql/parser.h"
#include "server/sql/printer.h"
#include "server/storage/merge_tree.h"

namespace shardd::exec {

namespace {

storage::MergeTree& mergeTreeOf(const storage::TablePtr& table) {
    if (auto* found = dynamic_cast<storage::MergeTree*>(table.get())) return *found;
    throw Error(ErrorCode::NOT_IMPLEMENTED, "Table engine {} doesn't support partitioning",
                table->schema()->engine);
}

StatementAnswer runOptimize(const sql::Optimize& statement, const StatementEnvironment& environment) {
    refuseCluster(statement.cluster, environment);
    const storage::TablePtr table = tableOf(statement.table, environment);
    auto* merge_tree = dynamic_cast<storage::MergeTree*>(table.get());
    if (!merge_tree) {
        if (table->schema()->engine == "Memory" || table->schema()->engine == "Null") return {};
        throw Error(ErrorCode::NOT_IMPLEMENTED, "Method optimize is not supported by storage {}",
                    table->schema()->engine);
    }
    merge_tree->optimize(
        statement.partition.kind == sql::PartitionReference::Kind::Id ? statement.partition.id : "");
    return {};
}

StatementAnswer runCheck(const sql::Check& statement, const StatementEnvironment& environment) {
    if (statement.all_tables) throw Error(ErrorCode::NOT_IMPLEMENTED, "CHECK ALL TABLES is not supported");
    const storage::TablePtr table = tableOf(statement.table, environment);
    const auto results = mergeTreeOf(table).check();
    const auto& settings = environment.planner->settings;
    StatementAnswer answer;
    if (settings->check_query_single_value_result) {
        const bool passed = std::all_of(results.begin(), results.end(),
                                        [](const auto& result) { return result.second.empty(); });
        answer.rows.add({"result", types::uint8(),
                         std::make_shared<FixedColumn<uint8_t>>(PodVector<uint8_t>(1, passed ? 1 : 0))});
        return answer;
    }
    auto paths = std::make_shared<StringColumn>();
    auto messages = std::make_shared<StringColumn>();
    PodVector<uint8_t> passed;
    for (const auto& [part, wrong] : results) {
        paths->insertText(part);
        passed.push_back(wrong.empty() ? 1 : 0);
        messages->insertText(wrong);
    }
    answer.rows.add({"part_path", types::string(), paths});
    answer.rows.add({"is_passed", types::uint8(), std::make_shared<FixedColumn<uint8_t>>(std::move(passed))});
    answer.rows.add({"message", types::string(), messages});
    return answer;
}

/// Rows of a query that the statement needs for itself.
Block runQuery(const std::string& text, const StatementEnvironment& environment) {
    SHARDD_CHECK(environment.planner->run);
    const sql::QueryPtr query = sql::parseQuery(text);
    const plan::QueryPlan planned =
        plan::planTopLevel(plan::bindQuery(*query, *environment.planner), *environment.planner);
    return environment.planner->run(planned.root);
}

StatementAnswer runKill(const sql::Kill& statement, const StatementEnvironment& environment) {
    refuseCluster(statement.cluster, environment);
    if (statement.mutation) throw Error(ErrorCode::NOT_IMPLEMENTED, "KILL MUTATION is not supported");
    std::string text = "SELECT query_id, user, query FROM system.processes WHERE query_id != queryID()";
    if (statement.where) text += " AND (" + sql::toText(*statement.where) + ")";
    const Block found = runQuery(text, environment);
    auto statuses = std::make_shared<StringColumn>();
    for (size_t row = 0; row < found.rows; ++row) {
        const std::string id(found.get("query_id").column->bytesAt(row));
        if (statement.mode != sql::Kill::Mode::Test && environment.kill_query) environment.kill_query(id);
        statuses->insertText(statement.mode == sql::Kill::Mode::Sync ? "finished" : "waiting");
    }
    StatementAnswer answer;
    answer.rows.add({"kill_status", types::string(), statuses});
    for (const char* name : {"query_id", "user", "query"})
        answer.rows.add({name, types::string(),
                         found.rows == 0 ? ColumnPtr(std::make_shared<StringColumn>())
                                         : fullPlain(found.get(name).column)});
    return answer;
}

StatementAnswer runSystem(const sql::System& statement, const StatementEnvironment& environment) {
    refuseCluster(statement.cluster, environment);
    if (environment.system_command && environment.system_command(statement)) return {};
    // What has nothing to do here: caches, logs and queues that we do not have, or that are always up to
    // date.
    static constexpr const char* kNothingToDo[] = {
        "FLUSH", "DROP",   "CLEAR",   "START",   "STOP",    "SYNC",    "RELOAD", "UNFREEZE",
        "WAIT",  "ENABLE", "DISABLE", "RESTART", "RESTORE", "PREWARM", "LOAD",   "UNLOAD"};
    const std::string word = statement.command.substr(0, statement.command.find(' '));
    for (const char* known : kNothingToDo)
        if (word == known) return {};
    throw Error(ErrorCode::NOT_IMPLEMENTED, "SYSTEM {} is not supported", statement.command);
}

}  // namespace

std::string databaseOf(const sql::QualifiedName& name, const StatementEnvironment& environment) {
    return name.database.empty() ? environment.planner->current_database : name.database;
}

storage::TablePtr tableOf(const sql::QualifiedName& name, const StatementEnvironment& environment) {
    if (name.database.empty() && environment.temporary_tables) {
        const auto found = environment.temporary_tables->find(name.table);
        if (found != environment.temporary_tables->end()) return found->second;
    }
    return environment.catalog->get(databaseOf(name, environment), name.table);
}

void refuseCluster(const std::string& cluster, const StatementEnvironment& environment) {
    if (cluster.empty()) return;
    if (environment.get_cluster) environment.get_cluster(cluster);
    throw Error(ErrorCode::NO_ELEMENTS_IN_CONFIG,
                "There is no Zookeeper configuration in server config: ON CLUSTER is not supported");
}

Block stringRows(const std::string& name, const std::vector<std::string>& values) {
    auto column = std::make_shared<StringColumn>();
    for (const std::string& value : values) column->insertText(value);
    Block block;
    block.add({name, types::string(), std::move(column)});
    return block;
}

bool isCatalogStatement(const sql::Statement& statement) {
    switch (statement.kind) {
        case sql::Statement::Kind::Create:
        case sql::Statement::Kind::Drop:
        case sql::Statement::Kind::Rename:
        case sql::Statement::Kind::Alter:
        case sql::Statement::Kind::Delete:
        case sql::Statement::Kind::Update:
        case sql::Statement::Kind::Describe:
        case sql::Statement::Kind::Exists:
        case sql::Statement::Kind::Show:
        case sql::Statement::Kind::Kill:
        case sql::Statement::Kind::System:
        case sql::Statement::Kind::Optimize:
        case sql::Statement::Kind::Check:
            return true;
        default:
            return false;
    }
}

StatementAnswer runStatement(const sql::Statement& statement, const StatementEnvironment& environment) {
    switch (statement.kind) {
        case sql::Statement::Kind::Create:
            return runCreate(*sql::as<sql::Create>(&statement), environment);
        case sql::Statement::Kind::Drop:
            return runDrop(*sql::as<sql::Drop>(&statement), environment);
        case sql::Statement::Kind::Rename:
            return runRename(*sql::as<sql::Rename>(&statement), environment);
        case sql::Statement::Kind::Alter:
            return runAlter(*sql::as<sql::Alter>(&statement), environment);
        case sql::Statement::Kind::Delete:
            return runDelete(*sql::as<sql::Delete>(&statement), environment);
        case sql::Statement::Kind::Update:
            return runUpdate(*sql::as<sql::Update>(&statement), environment);
        case sql::Statement::Kind::Describe:
            return runDescribe(*sql::as<sql::Describe>(&statement), environment);
        case sql::Statement::Kind::Exists:
            return runExists(*sql::as<sql::Exists>(&statement), environment);
        case sql::Statement::Kind::Show:
            return runShow(*sql::as<sql::Show>(&statement), environment);
        case sql::Statement::Kind::Kill:
            return runKill(*sql::as<sql::Kill>(&statement), environment);
        case sql::Statement::Kind::System:
            return runSystem(*sql::as<sql::System>(&statement), environment);
        case sql::Statement::Kind::Optimize:
            return runOptimize(*sql::as<sql::Optimize>(&statement), environment);
        case sql::Statement::Kind::Check:
            return runCheck(*sql::as<sql::Check>(&statement), environment);
        default:
            throw Error(ErrorCode::NOT_IMPLEMENTED, "This statement is not supported: {}",
                        sql::toText(statement));
    }
}

}  // namespace shardd::exec
