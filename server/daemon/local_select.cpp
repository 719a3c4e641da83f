#include "server/daemon/local_select.h"

#include <algorithm>

#include "server/daemon/query_planning.h"
#include "server/daemon/query_settings.h"
#include "server/exec/local_stream.h"
#include "server/exec/pipeline.h"
#include "server/plan/binder.h"
#include "server/plan/planner.h"
#include "server/storage/memory_table.h"

namespace shardd::daemon {

namespace {

storage::TablePtr makeTable(const std::string& name, const std::vector<Block>& blocks) {
    storage::TableSchema schema;
    schema.name = name;
    schema.engine = "Memory";
    std::vector<Block> rows;
    for (const Block& block : blocks) {
        if (schema.columns.empty())
            for (const NamedColumn& column : block.columns)
                schema.columns.push_back({.name = column.name, .type = column.type});
        if (block.rows > 0) rows.push_back(block);
    }
    auto table = std::make_shared<storage::MemoryTable>(std::move(schema));
    table->append(std::move(rows));
    return table;
}

/// The settings that a shard would have: what is not sent to shards is the initiator's alone, here too.
Settings settingsOf(const RunningQuery& running, const storage::RemoteQuery& query) {
    Settings settings = running.currentSettings();
    for (const SettingChange& change : settings.changed()) settings.reset(change.name);
    for (const auto& [name, value] : query.settings) settings.set(name, value);
    if (!query.group_buckets.empty()) settings.set("distributed_group_buckets", std::string(query.group_buckets));
    return settings;
}

plan::PlannerContext makeContext(const QueryServices& services,
                                 const RunningQuery& running,
                                 const storage::RemoteQuery& query,
                                 const cluster::LocalPart& part) {
    plan::PlannerContext context = makeLoaderContext(services);
    context.settings = settingsOf(running, query);
    context.secondary = true;
    context.stage = query.stage;
    context.current_database = running.database;
    for (const auto& [name, blocks] : query.external_tables)
        context.temporary_tables[name] = makeTable(name, blocks);
    context.initial_user = query.initial_user;
    context.initial_query_id = query.initial_query_id;
    context.initial_address = query.initial_address;
    context.initial_start_microseconds = query.initial_start_microseconds;
    context.distributed_depth = query.distributed_depth + 1;
    context.stop = query.stop;
    auto functions = std::make_shared<functions::FunctionContext>(*context.functions);
    if (!context.settings->session_timezone.empty())
        functions->time_zone = context.settings->session_timezone;
    functions->current_user = running.user;
    functions->initial_user = query.initial_user;
    functions->current_database = running.database;
    functions->query_id = running.query_id;
    functions->initial_query_id = query.initial_query_id;
    functions->shard_num = part.shard_number;
    functions->shard_count = part.shard_count;
    functions->setting = [settings = std::make_shared<const Settings>(context.settings)](std::string_view name) {
        return settings->find(name);
    };
    context.functions = std::move(functions);
    return context;
}

plan::StepPtr makePlan(const std::string& text, plan::PlannerContext context, exec::QueryContext& running) {
    context.run = [&running](const plan::StepPtr& step) {
        std::vector<Block> blocks = exec::executeToBlocks(step, running);
        return blocks.empty() ? step->header : concatenate(std::move(blocks));
    };
    const sql::StatementPtr statement = sql::parseStatement(text, parserLimits(context.settings));
    const auto* query = sql::as<sql::QueryStatement>(statement.get());
    return plan::planTopLevel(plan::bindQuery(*query->query, context), context).root;
}

storage::RemoteStreamPtr selectHere(const QueryServices& services,
                                    const storage::RemoteQuery& query,
                                    const cluster::LocalPart& part) {
    const std::optional<protocol::TableName>& table = part.table;
    if (part.has_others && table && !services.catalog->find(table->database, table->table)) return nullptr;
    const RunningQueryPtr running = services.processes->current();
    if (!running) return nullptr;
    plan::PlannerContext context = makeContext(services, *running, query, part);
    const exec::ExecSettings settings = operatorSettings(context.settings, services, running->user);
    auto plan = [text = query.textFor(part.shard), context = std::move(context)](exec::QueryContext& own) {
        return makePlan(text, context, own);
    };
    return exec::makeLocalStream({*services.pool, running->memory, settings, running->temporary, std::move(plan)}, query,
                                 part.shard);
}

std::optional<std::chrono::steady_clock::time_point> deadlineOf(const QueryServices& services) {
    const RunningQueryPtr running = services.processes->current();
    if (!running) return std::nullopt;
    const auto limit = running->currentSettings()->max_execution_time;
    if (limit.count() <= 0) return std::nullopt;
    return running->started + limit;
}

}  // namespace

void lendOwnQueries(cluster::ClusterService& service, const QueryServices& services) {
    service.hooks.select_here = [services](const storage::RemoteQuery& query,
                                           const cluster::LocalPart& part) {
        return selectHere(services, query, part);
    };
    service.hooks.deadline = [services] { return deadlineOf(services); };
}

}  // namespace shardd::daemon
