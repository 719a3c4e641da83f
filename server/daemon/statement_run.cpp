#include "server/daemon/statement_run.h"

#include <algorithm>

#include "common/base/error.h"
#include "common/base/file_system.h"
#include "server/daemon/query_planning.h"
#include "server/daemon/query_settings.h"
#include "server/daemon/statements.h"
#include "server/sql/parser.h"

namespace shardd::daemon {

namespace {

// What creates, changes, renames, empties or drops: DDL.
bool isDdl(const sql::Statement& statement) {
    using Kind = sql::Statement::Kind;
    switch (statement.kind) {
        case Kind::Create:
        case Kind::Drop:
        case Kind::Rename:
        case Kind::Alter:
        case Kind::Delete:
        case Kind::Update:
            return true;
        default:
            return false;
    }
}

// Nothing but reading and settings in readonly mode, as ClickHouse has it.
bool isReading(const sql::Statement& statement) {
    using Kind = sql::Statement::Kind;
    switch (statement.kind) {
        case Kind::Insert:
        case Kind::Optimize:
        case Kind::CreateFunction:
        case Kind::Access:
        case Kind::System:
            return false;
        default:
            return !isDdl(statement);
    }
}

void checkReadonly(const sql::Statement& statement, const Settings& settings, const std::string& user) {
    if (settings->readonly != 0 && !isReading(statement))
        throw Error(ErrorCode::READONLY, "{}: Cannot execute query in readonly mode", user);
}

void checkDdl(const sql::Statement& statement, const Settings& settings, const std::string& user) {
    if (!settings->allow_ddl && isDdl(statement))
        throw Error(ErrorCode::QUERY_IS_PROHIBITED,
                    "Cannot execute query. DDL queries are prohibited for the user {}", user);
}

// The SETTINGS that hold for the whole query: behind the statement, or of its first SELECT.
const sql::SettingChanges* outerSettings(const sql::Statement& statement) {
    if (!statement.settings.empty()) return &statement.settings;
    const auto* query = sql::as<sql::QueryStatement>(&statement);
    const auto* insert = sql::as<sql::Insert>(&statement);
    const sql::Query* tree = query ? query->query.get() : insert ? insert->query.get() : nullptr;
    while (tree && !tree->select && !tree->operands.empty()) tree = tree->operands.back().get();
    return tree && tree->select && !tree->select->settings.empty() ? &tree->select->settings : nullptr;
}

DeadlineTimer::Handle startTimer(const StatementContext& query, const Settings& settings) {
    using setting_types::OverflowMode;
    const auto limit = settings->max_execution_time;
    if (limit.count() <= 0) return {};
    exec::QueryContext& context = query.context;
    if (settings->timeout_overflow_mode == OverflowMode::Break)
        return query.services.timer->at(query.running->started + limit,
                                        [&context] { context.stopReading(); });
    auto call = [running = query.running, limit] {
        const double elapsed =
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - running->started)
                .count();
        const auto maximum = static_cast<double>(limit.count()) / 1000;
        ProcessList::cancel(*running,
                            Error(ErrorCode::TIMEOUT_EXCEEDED,
                                  "Timeout exceeded: elapsed {:.3f} ms, maximum: {} ms", elapsed, maximum));
    };
    return query.services.timer->at(query.running->started + limit, std::move(call));
}

}  // namespace

void dispatch(const sql::Statement& statement, const StatementContext& query) {
    using Kind = sql::Statement::Kind;
    switch (statement.kind) {
        case Kind::Query:
            return run(*sql::as<sql::QueryStatement>(&statement), query);
        case Kind::Insert:
            return run(*sql::as<sql::Insert>(&statement), query);
        case Kind::Explain:
            return run(*sql::as<sql::Explain>(&statement), query);
        case Kind::Set:
            return run(*sql::as<sql::Set>(&statement), query);
        case Kind::Use:
            return run(*sql::as<sql::Use>(&statement), query);
        case Kind::SetRole:
            return;  // there is nobody's role but one's own
        default:
            return runCatalogStatement(statement, query);
    }
}

void runStatement(const StatementContext& query) {
    Settings settings = query.running->currentSettings();
    const sql::StatementPtr statement = sql::parseStatement(query.request.text, parserLimits(settings));
    query.channel.format = statement->format;
    checkReadonly(*statement, settings, query.running->user);
    if (const auto* changes = outerSettings(*statement);
        changes && statement->kind != sql::Statement::Kind::Set) {
        applySettingChanges(*changes, query, settings);
        const std::lock_guard lock(query.running->mutex);
        query.running->settings = settings;
    }
    checkDdl(*statement, settings, query.running->user);
    query.channel.setting = [kept = std::make_shared<const Settings>(settings)](std::string_view name) {
        return kept->find(name);
    };
    query.running->memory->setLimit(settings->max_memory_usage);
    query.context.settings = operatorSettings(settings, query.services, query.running->user);
    query.running->temporary = {
        .files = &localFileSystem(),
        .path = query.services.config()->tmp_path,
        .quota = query.services.processes->makeDiskQuota(query.running->user, settings),
        .min_free_bytes = settings->min_free_disk_space_for_temporary_data,
        .codec = temporaryCodec(settings)};
    query.context.temporary = query.running->temporary;
    const DeadlineTimer::Handle timer = startTimer(query, settings);
    dispatch(*statement, query);
    query.context.check();  // cancelled at the very end is cancelled
}

}  // namespace shardd::daemon
