#include "server/daemon/query_planning.h"

#include <algorithm>

#include "common/base/error.h"
#include "common/columns/create_column.h"
#include "common/types/type_parser.h"
#include "server/daemon/query_settings.h"
#include "server/exec/pipeline.h"
#include "server/storage/memory_table.h"

namespace shardd::daemon {

namespace {

int64_t nowMicroseconds() {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count();
}

std::shared_ptr<functions::FunctionContext> makeServerContext(const QueryServices& services) {
    auto context = std::make_shared<functions::FunctionContext>();
    context->time_zone = services.time_zone;
    context->server_time_zone = services.time_zone;
    context->host_name = services.host_name;
    context->display_name = services.display_name;
    context->tcp_port = services.tcp_port();
    context->uptime_seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - services.started)
            .count();
    context->now_microseconds = nowMicroseconds();
    context->macro = [config = services.config()](std::string_view name) -> std::optional<std::string> {
        const auto found = config->macros.find(std::string(name));
        return found == config->macros.end() ? std::nullopt : std::optional(found->second);
    };
    return context;
}

// Blocks that came with a query under a name, as a table.
storage::TablePtr makeExternalTable(const session::NamedBlocks& external) {
    storage::TableSchema schema;
    schema.name = external.name;
    schema.engine = "Memory";
    if (!external.blocks.empty())
        for (const NamedColumn& column : external.blocks[0].columns)
            schema.columns.push_back({.name = column.name, .type = column.type});
    auto table = std::make_shared<storage::MemoryTable>(std::move(schema));
    std::vector<Block> blocks;
    for (const Block& block : external.blocks)
        if (block.rows > 0) blocks.push_back(block);
    table->append(std::move(blocks));
    return table;
}

}  // namespace

std::shared_ptr<const functions::FunctionContext> makeFunctionContext(const StatementContext& query,
                                                                      const Settings& settings) {
    auto context = makeServerContext(query.services);
    const protocol::ClientInfo& client = query.running->client_info;
    if (!settings->session_timezone.empty()) context->time_zone = settings->session_timezone;
    context->current_user = query.session.user();
    context->initial_user = client.initial_user;
    context->current_database = query.session.database;
    context->query_id = query.request.query_id;
    context->initial_query_id = client.initial_query_id;
    for (const auto& scalar : query.request.scalars) {
        if (scalar.blocks.empty() || scalar.blocks[0].rows == 0 || scalar.blocks[0].columns.empty()) continue;
        const auto number = [&] { return scalar.blocks[0].columns[0].column->value(0).to<uint32_t>(); };
        if (scalar.name == "_shard_num") context->shard_num = number();
        if (scalar.name == "_shard_count") context->shard_count = number();
    }
    context->setting = [settings = std::make_shared<const Settings>(settings)](std::string_view name) {
        return settings->find(name);
    };
    return context;
}

plan::PlannerContext makePlannerContext(const StatementContext& query, const Settings& settings) {
    const protocol::ClientInfo& client = query.running->client_info;
    plan::PlannerContext context;
    context.catalog = query.services.catalog;
    context.settings = settings;
    context.functions = makeFunctionContext(query, settings);
    context.current_database = query.session.database;
    context.temporary_tables = query.session.temporary_tables;
    for (const auto& external : query.request.external_tables)
        context.temporary_tables[external.name] = makeExternalTable(external);
    context.parameters = query.session.parameters;
    for (auto& [name, value] : queryParameters(query.request)) context.parameters[name] = std::move(value);
    context.secondary = client.kind == protocol::QueryKind::Secondary;
    context.stage = static_cast<storage::Stage>(query.request.stage);
    context.initial_user = client.initial_user;
    context.initial_query_id = client.initial_query_id;
    context.initial_address = client.initial_address;
    context.initial_start_microseconds =
        client.initial_start_time_us ? client.initial_start_time_us : context.functions->now_microseconds;
    context.distributed_depth = client.distributed_depth;
    context.stop = query.context.readingToken();
    context.activity = query.running->activity;
    context.run = [&query](const plan::StepPtr& step) {
        std::vector<Block> blocks = exec::executeToBlocks(step, query.context);
        return blocks.empty() ? step->header : concatenate(std::move(blocks));
    };
    return context;
}

plan::PlannerContext makeLoaderContext(const QueryServices& services) {
    plan::PlannerContext context;
    context.catalog = services.catalog;
    context.functions = makeServerContext(services);
    return context;
}

SettingLiteral toSettingLiteral(const sql::Literal& literal) {
    return std::visit(
        [&literal](const auto& value) -> SettingLiteral {
            using T = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<T, sql::Literal::Null>)
                return std::monostate{};
            else if constexpr (std::is_same_v<T, sql::Literal::Array> ||
                               std::is_same_v<T, sql::Literal::Tuple>)
                return sql::toText(literal);
            else
                return value;
        },
        literal.value);
}

void applySettingChanges(const sql::SettingChanges& changes,
                         const StatementContext& query,
                         Settings& settings) {
    const auto config = query.services.config();
    const bool is_secondary = query.running->client_info.kind == protocol::QueryKind::Secondary;
    for (const sql::SettingChange& change : changes) {
        if (change.to_default) {
            settings.reset(change.name);
            continue;
        }
        const auto& prefixes = config->custom_settings_prefixes;
        const bool is_custom = !Settings::knows(change.name) &&
                               std::any_of(prefixes.begin(), prefixes.end(), [&](const auto& prefix) {
                                   return change.name.starts_with(prefix);
                               });
        if (is_custom) {
            const auto* text = change.value.as<std::string>();
            settings.setCustom(change.name, text ? *text : sql::toText(change.value));
        } else if (is_secondary) {
            settings.setLiteral(change.name, toSettingLiteral(change.value));
        } else {
            query.session.account->constraints.apply(settings, change.name, toSettingLiteral(change.value));
        }
    }
}

sql::ParserLimits parserLimits(const Settings& settings) {
    return {.max_query_size = settings->max_query_size,
            .max_parser_depth = settings->max_parser_depth,
            .max_ast_depth = settings->max_ast_depth,
            .max_ast_elements = settings->max_ast_elements};
}

exec::ExecSettings operatorSettings(const Settings& settings, const QueryServices& services, const std::string& user) {
    exec::ExecSettings result = execSettings(settings);
    result.bytes_left_to_user = services.processes->bytesLeft(user);
    if (const uint64_t most = services.config()->shardd.worker_threads)
        result.max_threads = std::min<size_t>(result.max_threads, most);
    return result;
}

ColumnPtr castColumn(const ColumnPtr& column,
                     const TypePtr& from,
                     const TypePtr& to,
                     size_t rows,
                     const std::shared_ptr<const functions::FunctionContext>& context) {
    if (*from == *to) return column;
    const TypePtr text = parseType("String");
    const NamedColumn arguments[] = {{"", from, column},
                                     {"", text, createConstColumn(*text, Value(to->name()), rows)}};
    const NamedColumn types[] = {{"", from, nullptr}, arguments[1]};
    return functions::resolveFunction("_CAST", types, context)->execute(arguments, rows);
}

}  // namespace shardd::daemon
