#include "tests/support/local_node.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "common/base/file_system.h"
#include "common/columns/create_column.h"
#include "common/types/type_parser.h"
#include "server/exec/pipeline.h"
#include "server/exec/statements.h"
#include "server/formats/value_text.h"
#include "server/plan/binder.h"
#include "server/plan/compile.h"
#include "server/plan/explain.h"
#include "server/plan/planner.h"
#include "server/sql/parser.h"
#include "server/storage/memory_table.h"

namespace shardd::test {

namespace {

class CollectingResult final : public exec::ResultSink {
public:
    explicit CollectingResult(Answer& answer) : answer_(answer) {}

    void header(const Block& block) override { answer_.header = block; }

    bool data(Block block) override {
        answer_.blocks.push_back(std::move(block));
        return true;
    }

    void totals(Block block) override { answer_.totals = std::move(block); }

    void extremes(Block block) override { answer_.extremes = std::move(block); }

private:
    Answer& answer_;
};

SettingLiteral literalOf(const sql::Literal& literal) {
    if (const auto* value = literal.as<bool>()) return *value;
    if (const auto* value = literal.as<uint64_t>()) return *value;
    if (const auto* value = literal.as<int64_t>()) return *value;
    if (const auto* value = literal.as<double>()) return *value;
    if (const auto* value = literal.as<std::string>()) return *value;
    return std::monostate();
}

void applySettings(const sql::SettingChanges& changes, Settings& settings) {
    for (const sql::SettingChange& change : changes) {
        if (change.to_default)
            settings.reset(change.name);
        else
            settings.setLiteral(change.name, literalOf(change.value));
    }
}

/// The settings of the clause that speaks for the whole query.
const sql::Select* lastSelect(const sql::Query& query) {
    return query.select ? query.select.get() : lastSelect(*query.operands.back());
}

/// `(1, 'a'), (2, DEFAULT)` to rows of tuples; DEFAULT is NULL in them.
sql::Expressions parseRows(std::string text) {
    while (!text.empty() && (text.back() == ';' || isspace(static_cast<unsigned char>(text.back()))))
        text.pop_back();
    return sql::parseExpressionList(text, {.max_query_size = 0});
}

/// Rows in the notation of each type, as a native client reads them; false where there is an expression among
/// them.
bool readRows(const std::string& text,
              const std::vector<TypePtr>& types,
              std::vector<MutableColumnPtr>& columns) {
    formats::TextInput in(text);
    std::vector<formats::ValueTextPtr> readers;
    for (const TypePtr& type : types) readers.push_back(formats::valueText(type));
    while (true) {
        in.skipSpace();
        if (in.atEnd() || in.peek() == ';') return true;
        if (!in.skip('(')) return false;
        for (size_t i = 0; i < types.size(); ++i) {
            in.skipSpace();
            Value value;
            try {
                if (readers[i]->read(in, formats::TextStyle::Quoted, value) != ErrorCode::OK) return false;
                columns[i]->insert(value);
            } catch (const Error&) {
                return false;
            }
            in.skipSpace();
            if (!in.skip(i + 1 == types.size() ? ')' : ',')) return false;
        }
        in.skipSpace();
        in.skip(',');
    }
}

}  // namespace

std::vector<std::string> cellsOf(const Block& block, size_t row) {
    std::vector<std::string> cells;
    for (const NamedColumn& column : block.columns) {
        const ColumnPtr values = full(column.column);
        cells.push_back(values->value(row).isNull() ? "\\N" : formats::textOf(*values, row, column.type));
    }
    return cells;
}

namespace {

std::string makeFolder() {
    std::string path = std::filesystem::temp_directory_path() / "shardd_sql_XXXXXX";
    if (!mkdtemp(path.data())) throw std::runtime_error("no folder for a node: " + path);
    return path + "/";
}

}  // namespace

LocalNode::~LocalNode() {
    for (const auto& database : catalog_.databases())
        for (const auto& [name, table] : catalog_.tables(database.name)) table->shutdown();
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

LocalNode::LocalNode()
    : path_(makeFolder()), catalog_(localFileSystem(), {.path = path_, .durable_inserts = false}), pool_(64) {
    for (auto& engine : storage::storageEngines()) catalog_.addEngine(std::move(engine));
    for (auto& function : storage::storageTableFunctions()) catalog_.addTableFunction(std::move(function));
    catalog_.createDatabase({.name = "default"}, true);
    catalog_.createDatabase({.name = "system", .in_memory = true}, true);
}

plan::PlannerContext LocalNode::plannerContext(Connection& connection) {
    plan::PlannerContext context;
    context.catalog = &catalog_;
    context.settings = connection.settings;
    auto functions = std::make_shared<functions::FunctionContext>();
    functions->now_microseconds = 1796089613960000;
    functions->current_database = connection.database;
    if (const std::string zone = connection.settings.get("session_timezone"); !zone.empty())
        functions->time_zone = zone;
    functions->host_name = "localhost";
    functions->setting = [settings =
                              connection.settings](std::string_view name) -> std::optional<std::string> {
        try {
            return settings.get(name);
        } catch (const Error&) {
            return std::nullopt;
        }
    };
    context.functions = functions;
    context.current_database = connection.database;
    context.temporary_tables = connection.temporary_tables;
    context.initial_query_id = "test";
    context.run = [this, settings = connection.settings](const plan::StepPtr& root) {
        return runToBlock(root, settings);
    };
    return context;
}

Block LocalNode::runToBlock(const plan::StepPtr& root, const Settings& settings) {
    exec::QueryContext context(pool_, MemoryBudget::create("query", 0),
                               {.max_threads = settings->max_threads});
    auto blocks = exec::executeToBlocks(root, context);
    return blocks.empty() ? root->header.header() : concatenate(std::move(blocks));
}

Answer LocalNode::query(const sql::Query& query, const plan::PlannerContext& context) {
    plan::PlannerContext own = context;
    applySettings(lastSelect(query)->settings, own.settings);
    const plan::QueryPlan plan = plan::planTopLevel(plan::bindQuery(query, own), own);
    exec::QueryContext running(pool_, MemoryBudget::create("query", 0), {.max_threads = 2});
    Answer answer;
    CollectingResult result(answer);
    exec::execute(plan.root, running, result);
    return answer;
}

Answer LocalNode::insert(const std::string& text,
                         const sql::Insert& insert,
                         const plan::PlannerContext& context) {
    storage::TablePtr table;
    const auto temporary = context.temporary_tables.find(insert.table.table);
    if (insert.function)
        throw Error(ErrorCode::NOT_IMPLEMENTED, "INSERT INTO FUNCTION");
    else if (insert.table.database.empty() && temporary != context.temporary_tables.end())
        table = temporary->second;
    else
        table = catalog_.get(insert.table.database.empty() ? context.current_database : insert.table.database,
                             insert.table.table);
    const auto schema = table->schema();
    std::vector<std::string> columns;
    for (const auto& column : insert.columns) {
        const auto* name = sql::as<sql::Identifier>(column.get());
        if (!name || !schema->find(name->parts.back()))
            throw Error(ErrorCode::NO_SUCH_COLUMN_IN_TABLE, "No such column in table");
        columns.push_back(name->parts.back());
    }
    if (columns.empty())
        for (const auto& column : schema->columns)
            if (column.default_kind == storage::DefaultKind::None ||
                column.default_kind == storage::DefaultKind::Default)
                columns.push_back(column.name);
    Block rows;
    if (insert.query) {
        plan::PlannerContext own = context;
        applySettings(lastSelect(*insert.query)->settings, own.settings);
        const plan::StepPtr root = plan::planQuery(plan::bindQuery(*insert.query, own), own).root;
        rows = runToBlock(root, own.settings);
        if (rows.columns.size() != columns.size())
            throw Error(ErrorCode::NUMBER_OF_COLUMNS_DOESNT_MATCH, "Number of columns doesn't match");
        rows.makeFull();
    } else {
        std::vector<MutableColumnPtr> values;
        for (const std::string& name : columns) values.push_back(createColumn(*schema->find(name)->type));
        std::vector<TypePtr> value_types;
        for (const std::string& name : columns) value_types.push_back(schema->find(name)->type);
        const bool read = readRows(text.substr(insert.data_begin), value_types, values);
        if (!read)
            for (size_t i = 0; i < columns.size(); ++i) values[i] = createColumn(*value_types[i]);
        for (const auto& row : read ? sql::Expressions() : parseRows(text.substr(insert.data_begin))) {
            const plan::NodePtr node = plan::bindExpression(row, {}, context);
            const bool tuple = node->type->kind() == TypeKind::Tuple && columns.size() > 1;
            for (size_t i = 0; i < columns.size(); ++i) {
                const TypePtr type = tuple ? node->type->child(i) : node->type;
                const Value value = tuple ? node->constant->value(0).elements()[i] : node->constant->value(0);
                NamedColumn one{"", type, createConstColumn(*type, value, 1)};
                const TypePtr target = schema->find(columns[i])->type;
                std::vector<NamedColumn> cast = {
                    one,
                    {"", types::string(), createConstColumn(*types::string(), Value(target->name()), 1)}};
                if (value.isNull() && !isNullableOrLowCardinalityNullable(target)) {
                    insertDefaults(*target, *values[i], 1);
                    continue;
                }
                const auto function = functions::resolveFunction("_CAST", cast, context.functions);
                values[i]->insertFrom(*full(function->execute(cast, 1)), 0);
            }
        }
        for (size_t i = 0; i < columns.size(); ++i)
            rows.add({columns[i], schema->find(columns[i])->type, ColumnPtr(std::move(values[i]))});
    }
    // The rest of the columns, and the types of the table.
    plan::ProjectStep project;
    Block written;
    Block source = rows.header();
    for (size_t i = 0; i < columns.size(); ++i) source.columns[i].name = rows.columns[i].name = columns[i];
    std::vector<std::pair<std::string, TypePtr>> known;
    for (const auto& column : source.columns) known.emplace_back(column.name, column.type);
    for (const auto& column : schema->columns) {
        if (column.default_kind == storage::DefaultKind::Alias ||
            column.default_kind == storage::DefaultKind::Ephemeral)
            continue;
        plan::NamedExpression expression{column.name, nullptr};
        plan::Compiler compiler(source, context, true);
        if (source.find(column.name))
            expression.expression = plan::inputExpression(column.name, source.get(column.name).type);
        else if (!column.default_expression.empty())
            expression.expression = compiler.compile(
                plan::bindExpression(sql::parseExpression(column.default_expression), known, context));
        else
            continue;
        expression.expression = plan::castExpression(expression.expression, column.type, context);
        written.columns.push_back({column.name, column.type, ColumnPtr(createColumn(*column.type))});
        project.columns.push_back(std::move(expression));
    }
    plan::SourceStep given;

    struct Source final : BlockSource {
        Block block;
        Block empty;
        bool given = false;

        const Block& header() const override { return empty; }

        std::optional<Block> next() override {
            if (given || block.rows == 0) return std::nullopt;
            given = true;
            return block;
        }
    };

    given.open = [rows, source] {
        auto stream = std::make_unique<Source>();
        stream->block = rows;
        stream->empty = source;
        return stream;
    };
    project.input = plan::makeStep(std::move(given), source);
    storage::WriteRequest request;
    for (const auto& column : written.columns) request.columns.push_back(column.name);
    Block block = runToBlock(plan::makeStep(std::move(project), written), context.settings);
    block.makeFull();
    const BlockSinkPtr sink = table->write(request);
    if (block.rows) sink->write(std::move(block));
    sink->finish();
    return {};
}

Answer LocalNode::run(const std::string& text, Connection& connection) {
    const sql::StatementPtr statement = sql::parseStatement(text);
    if (const auto* set = sql::as<sql::Set>(statement)) {
        applySettings(set->changes, connection.settings);
        return {};
    }
    if (const auto* use = sql::as<sql::Use>(statement)) {
        if (!catalog_.hasDatabase(use->database))
            throw Error(ErrorCode::UNKNOWN_DATABASE, "Database {} does not exist", use->database);
        connection.database = use->database;
        return {};
    }
    plan::PlannerContext context = plannerContext(connection);
    applySettings(statement->settings, context.settings);
    if (const auto* query_statement = sql::as<sql::QueryStatement>(statement))
        return query(*query_statement->query, context);
    if (const auto* insert_statement = sql::as<sql::Insert>(statement))
        return insert(text, *insert_statement, context);
    if (const auto* explain = sql::as<sql::Explain>(statement)) {
        Block lines = plan::explain(*explain, context);
        return {lines.header(), {lines}, std::nullopt, std::nullopt};
    }
    exec::StatementEnvironment environment;
    environment.catalog = &catalog_;
    environment.planner = &context;
    environment.temporary_tables = &connection.temporary_tables;
    const exec::StatementAnswer answer = exec::runStatement(*statement, environment);
    if (!answer.follow_up.empty()) return run(answer.follow_up, connection);
    if (answer.rows.columns.empty()) return {};
    return {answer.rows.header(), {answer.rows}, std::nullopt, std::nullopt};
}

Answer LocalNode::runAsShard(const ShardRequest& request) {
    Connection connection;
    connection.database = request.database;
    for (const auto& [name, value] : request.settings) connection.settings.set(name, value);
    for (const auto& [name, blocks] : request.external_tables) {
        storage::TableSchema schema;
        schema.name = name;
        schema.engine = "Memory";
        for (const NamedColumn& column : blocks.at(0).columns)
            schema.columns.push_back({column.name, column.type});
        auto table = std::make_shared<storage::MemoryTable>(std::move(schema));
        std::vector<Block> rows = blocks;
        std::erase_if(rows, [](const Block& block) { return block.rows == 0; });
        for (Block& block : rows) block.makeFull();
        table->append(std::move(rows));
        connection.temporary_tables[name] = table;
    }
    const sql::StatementPtr statement = sql::parseStatement(request.text);
    plan::PlannerContext context = plannerContext(connection);
    auto functions = std::make_shared<functions::FunctionContext>(*context.functions);
    functions->shard_num = request.shard_num;
    functions->shard_count = request.shard_count;
    context.functions = functions;
    context.secondary = true;
    context.stage = request.stage;
    return query(*sql::as<sql::QueryStatement>(statement)->query, context);
}

}  // namespace shardd::test
