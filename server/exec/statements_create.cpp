#include <algorithm>

#include "common/base/error.h"
#include "common/types/type_parser.h"
#include "server/exec/statements_impl.h"
#include "server/exec/table_definition.h"
#include "server/exec/values_function.h"
#include "server/functions/convert.h"
#include "server/plan/binder.h"
#include "server/sql/parser.h"
#include "server/sql/printer.h"
#include "server/storage/part_reader.h"

namespace shardd::exec {

namespace {

StatementAnswer createDatabase(const sql::Create& statement, const StatementEnvironment& environment) {
    storage::DatabaseInfo info{.name = statement.name.database, .comment = statement.comment};
    if (statement.storage.engine) info.engine = statement.storage.engine->name;
    environment.catalog->createDatabase(std::move(info), statement.if_not_exists || statement.attach);
    return {};
}

/// The columns of CREATE … AS other_table: its declarations, and its engine when none is written.
void copyTable(sql::Create& create, const StatementEnvironment& environment) {
    const storage::TablePtr source = tableOf(create.as_table, environment);
    const auto schema = source->schema();
    create.as_table = {};
    const bool takes_columns = create.columns.empty();
    sql::StatementPtr parsed;
    if (!schema->create_query.empty()) parsed = sql::parseStatement(schema->create_query);
    const auto* original = sql::as<sql::Create>(parsed);
    if (takes_columns) create.columns = original ? original->columns : declarationsOf(*schema);
    if (original && takes_columns) {
        create.indexes = original->indexes;
        create.constraints = original->constraints;
    }
    if (!create.storage.engine) {
        if (!original)
            throw Error(ErrorCode::INCORRECT_QUERY, "The engine of table {} cannot be copied: write one",
                        schema->name);
        create.storage = original->storage;
    }
}

void selectColumns(sql::Create& create, const StatementEnvironment& environment) {
    if (!create.columns.empty()) return;
    for (const auto& [name, type] : plan::queryColumns(*create.as_query, *environment.planner)) {
        sql::ColumnDeclaration column;
        column.name = name;
        column.type = type->name();
        create.columns.push_back(std::move(column));
    }
}

/// Distributed(cluster, db, t) without columns takes those of db.t here, when it is there.
void distributedColumns(sql::Create& create, const StatementEnvironment& environment) {
    const sql::Expressions& arguments = create.storage.engine->arguments;
    if (arguments.size() < 3) return;
    const std::string database = makeArgument(arguments[1], *environment.planner).word("database");
    const std::string table = makeArgument(arguments[2], *environment.planner).word("table");
    const auto local =
        environment.catalog->find(database.empty() ? environment.planner->current_database : database, table);
    if (local) create.columns = declarationsOf(*local->schema());
}

void addTemporary(sql::Create& create, const StatementEnvironment& environment) {
    const std::string name = create.name.table;
    auto& tables = *environment.temporary_tables;
    if (tables.contains(name)) {
        if (create.if_not_exists) return;
        if (!create.or_replace && !create.replace)
            throw Error(ErrorCode::TABLE_ALREADY_EXISTS, "Temporary table {} already exists",
                        sql::quoteIdentifierIfNeeded(name));
    }
    create.name.database.clear();
    const storage::TableDefinition definition = makeTableDefinition(create, *environment.planner);
    const storage::EngineInfo* engine = environment.catalog->findEngine(definition.schema.engine);
    if (engine && engine->stores_data)
        throw Error(ErrorCode::NOT_IMPLEMENTED, "Temporary tables of engine {} are not supported",
                    definition.schema.engine);
    tables[name] = environment.catalog->makeTable(definition);
}

/// CREATE OR REPLACE: the new table is made beside the old one, and then they change places.
void replaceTable(sql::Create& create, const StatementEnvironment& environment) {
    storage::Catalog& catalog = *environment.catalog;
    const std::string database = create.name.database;
    const std::string name = create.name.table;
    if (!catalog.find(database, name)) {
        if (create.replace)
            throw Error(ErrorCode::UNKNOWN_TABLE, "Table {}.{} doesn't exist",
                        sql::quoteIdentifierIfNeeded(database), sql::quoteIdentifierIfNeeded(name));
        storage::TableDefinition definition = makeTableDefinition(create, *environment.planner);
        catalog.createTable(std::move(definition), attachQuery(create, create.uuid));
        return;
    }
    create.name.table = "_tmp_replace_" + create.uuid.substr(0, 8);
    storage::TableDefinition definition = makeTableDefinition(create, *environment.planner);
    catalog.createTable(std::move(definition), attachQuery(create, create.uuid));
    catalog.exchangeTables(database, create.name.table, database, name);
    catalog.dropTable(database, create.name.table);
    create.name.table = name;
}

StatementAnswer attachDetached(const sql::Create& statement, const StatementEnvironment& environment) {
    const std::string database = statement.name.database;
    const std::string& name = statement.name.table;
    storage::Catalog& catalog = *environment.catalog;
    if (catalog.find(database, name)) {
        if (statement.if_not_exists) return {};
        throw Error(ErrorCode::TABLE_ALREADY_EXISTS, "Table {}.{} already exists",
                    sql::quoteIdentifierIfNeeded(database), sql::quoteIdentifierIfNeeded(name));
    }
    const auto stored = catalog.detachedTable(database, name);
    if (!stored)
        throw Error(ErrorCode::UNKNOWN_TABLE, "Table {}.{} does not exist",
                    sql::quoteIdentifierIfNeeded(database), sql::quoteIdentifierIfNeeded(name));
    const sql::StatementPtr parsed = sql::parseStatement(stored->query, {.max_query_size = 0});
    auto* create = sql::as<sql::Create>(parsed);
    if (!create)
        throw Error(ErrorCode::INCORRECT_QUERY, "The stored definition of table {} is no ATTACH", name);
    create->attach = true;
    create->name = {.database = database, .table = name};
    if (create->uuid.empty()) create->uuid = stored->uuid;
    catalog.attachTable(makeTableDefinition(*create, *environment.planner));
    return {};
}

void qualifyTables(sql::Query& query, const std::string& database, std::vector<std::string> hidden);

void qualifyTables(const sql::ExpressionPtr& expression,
                   const std::string& database,
                   const std::vector<std::string>& hidden) {
    if (!expression) return;
    if (auto* subquery = sql::as<sql::Subquery>(expression))
        qualifyTables(*subquery->query, database, hidden);
    if (auto* function = sql::as<sql::Function>(expression))
        for (const sql::ExpressionPtr& argument : function->arguments)
            qualifyTables(argument, database, hidden);
}

/// A view means the tables of the moment it was made: they get their database. `hidden` are names of WITH.
void qualifyTables(sql::Query& query, const std::string& database, std::vector<std::string> hidden) {
    for (const sql::QueryPtr& operand : query.operands) qualifyTables(*operand, database, hidden);
    if (!query.select) return;
    sql::Select& select = *query.select;
    for (const sql::WithElement& element : select.with) {
        if (element.query) qualifyTables(*element.query, database, hidden);
        if (element.query) hidden.push_back(element.name);
    }
    for (sql::TableElement& element : select.from) {
        sql::TableExpression& table = element.table;
        if (table.subquery) qualifyTables(*table.subquery, database, hidden);
        const bool is_hidden = std::find(hidden.begin(), hidden.end(), table.table.table) != hidden.end();
        if (!table.table.table.empty() && table.table.database.empty() && !is_hidden)
            table.table.database = database;
    }
    for (const sql::ExpressionPtr& part : {select.prewhere, select.where, select.having})
        qualifyTables(part, database, hidden);
    for (const sql::ExpressionPtr& part : select.select) qualifyTables(part, database, hidden);
}

StatementAnswer createView(sql::Create& create, const StatementEnvironment& environment) {
    if (create.object == sql::ObjectKind::MaterializedView)
        throw Error(ErrorCode::NOT_IMPLEMENTED, "Materialized views are not supported");
    selectColumns(create, environment);
    if (!create.attach) qualifyTables(*create.as_query, environment.planner->current_database, {});
    storage::TableDefinition definition;
    definition.schema.database = create.name.database;
    definition.schema.name = create.name.table;
    definition.schema.uuid = create.uuid;
    definition.schema.engine = "View";
    definition.schema.engine_full = "View";
    definition.schema.comment = create.comment;
    definition.schema.view_query = sql::toText(*create.as_query);
    for (const sql::ColumnDeclaration& column : create.columns)
        definition.schema.columns.push_back({.name = column.name, .type = parseType(column.type)});
    create.has_columns = true;
    definition.schema.create_query = createQuery(create, create.name.database, create.name.table, false);
    if (create.or_replace && environment.catalog->find(create.name.database, create.name.table))
        environment.catalog->dropTable(create.name.database, create.name.table);
    definition.attach = create.attach;
    if (create.attach)
        environment.catalog->attachTable(std::move(definition));
    else
        environment.catalog->createTable(std::move(definition), attachQuery(create, create.uuid),
                                         create.if_not_exists);
    return {};
}

}  // namespace

StatementAnswer runCreate(const sql::Create& statement, const StatementEnvironment& environment) {
    refuseCluster(statement.cluster, environment);
    if (statement.object == sql::ObjectKind::Database) return createDatabase(statement, environment);
    if (statement.object == sql::ObjectKind::Dictionary || statement.object == sql::ObjectKind::Function)
        throw Error(ErrorCode::NOT_IMPLEMENTED, "CREATE of dictionaries and functions is not supported");
    sql::Create create = statement;
    const bool temporary = create.temporary && environment.temporary_tables;
    if (!temporary) create.name.database = databaseOf(create.name, environment);
    storage::Catalog& catalog = *environment.catalog;
    if (!temporary) catalog.database(create.name.database);
    const bool says_nothing =
        !create.has_columns && !create.as_query && create.as_table.table.empty() && !create.as_function;
    if (create.attach && says_nothing && !create.storage.engine) return attachDetached(create, environment);
    if (create.if_not_exists && !temporary && catalog.find(create.name.database, create.name.table))
        return {};
    if (create.uuid.empty()) create.uuid = storage::makeUuid();
    if (create.object != sql::ObjectKind::Table) return createView(create, environment);
    if (create.as_function)
        throw Error(ErrorCode::NOT_IMPLEMENTED, "CREATE TABLE … AS table function is not supported");
    if (!create.as_table.table.empty()) copyTable(create, environment);
    if (create.as_query) selectColumns(create, environment);
    if (create.columns.empty() && create.storage.engine && create.storage.engine->name == "Distributed")
        distributedColumns(create, environment);
    if (create.columns.empty() && !(create.storage.engine && create.storage.engine->name == "Distributed"))
        throw Error(ErrorCode::INCORRECT_QUERY,
                    "Incorrect CREATE query: required list of column descriptions or AS section or SELECT");
    sql::QueryPtr query = std::exchange(create.as_query, nullptr);
    if (temporary) {
        addTemporary(create, environment);
    } else if (create.or_replace || create.replace) {
        replaceTable(create, environment);
    } else {
        storage::TableDefinition definition = makeTableDefinition(create, *environment.planner);
        if (!catalog.createTable(std::move(definition), attachQuery(create, create.uuid),
                                 create.if_not_exists))
            return {};
    }
    StatementAnswer answer;
    if (query && !statement.empty_as) {
        std::string target = sql::quoteIdentifier(create.name.table);
        if (!temporary) target = sql::quoteIdentifier(create.name.database) + "." + target;
        answer.follow_up = "INSERT INTO " + target + " " + sql::toText(*query);
    }
    return answer;
}

namespace {

/// The views of the standard, over the system tables; under both spellings of the database.
constexpr std::pair<const char*, const char*> kInformationViews[] = {
    {"schemata",
     "SELECT name AS catalog_name, name AS schema_name, 'default' AS schema_owner, NULL AS "
     "default_character_set_catalog, "
     "NULL AS default_character_set_schema, NULL AS default_character_set_name, NULL AS sql_path FROM "
     "system.databases"},
    {"tables",
     "SELECT database AS table_catalog, database AS table_schema, name AS table_name, multiIf(is_temporary, "
     "'LOCAL TEMPORARY', "
     "engine LIKE '%View', 'VIEW', engine LIKE 'System%', 'SYSTEM VIEW', has_own_data = 0, 'FOREIGN TABLE', "
     "'BASE TABLE') AS "
     "table_type, total_rows AS table_rows, total_bytes AS data_length, NULL AS index_length, "
     "'utf8mb4_0900_ai_ci' AS "
     "table_collation, comment AS table_comment FROM system.tables"},
    {"views",
     "SELECT database AS table_catalog, database AS table_schema, name AS table_name, as_select AS "
     "view_definition, 'NONE' AS "
     "check_option, 'NO' AS is_updatable, 'NO' AS is_insertable_into FROM system.tables WHERE engine LIKE "
     "'%View'"},
    {"columns",
     "SELECT database AS table_catalog, database AS table_schema, table AS table_name, name AS column_name, "
     "position AS "
     "ordinal_position, default_expression AS column_default, toString(type LIKE 'Nullable(%)') AS "
     "is_nullable, type AS data_type, "
     "comment AS column_comment, type AS column_type FROM system.columns"},
};

void addInformationSchema(const StatementEnvironment& environment) {
    for (const char* database : {"information_schema", "INFORMATION_SCHEMA"}) {
        for (const auto& [name, text] : kInformationViews) {
            sql::Create create;
            create.object = sql::ObjectKind::View;
            create.name = {.database = database, .table = name};
            create.uuid = storage::makeUuid();
            create.as_query = sql::parseQuery(text);
            createView(create, environment);
        }
    }
}

}  // namespace

void loadStoredTables(storage::Catalog& catalog,
                      const plan::PlannerContext& planner,
                      const std::function<void(const std::string& table, const Error& error)>& failed) {
    storage::setColumnConverter([](const ColumnPtr& column, const TypePtr& from, const TypePtr& to) {
        return full(functions::castColumn({"column", from, column}, to));
    });
    catalog.addTableFunction(valuesFunction());
    catalog.addTableFunction(viewFunction());
    const std::vector<storage::StoredTable> stored = catalog.load();
    catalog.createDatabase({.name = "default"}, true);
    StatementEnvironment environment{.catalog = &catalog, .planner = &planner};
    try {
        addInformationSchema(environment);
    } catch (const Error& error) {
        failed("information_schema", error);
    }
    for (const storage::StoredTable& table : stored) {
        try {
            const sql::StatementPtr parsed = sql::parseStatement(table.query, {.max_query_size = 0});
            auto* create = sql::as<sql::Create>(parsed);
            if (!create) throw Error(ErrorCode::INCORRECT_QUERY, "The stored definition is no ATTACH");
            create->attach = true;
            create->name = {.database = table.database, .table = table.name};
            if (create->uuid.empty()) create->uuid = table.uuid;
            if (create->object == sql::ObjectKind::Table)
                catalog.attachTable(makeTableDefinition(*create, planner));
            else
                createView(*create, environment);
        } catch (const Error& error) {
            failed(table.database + "." + table.name, error);
        }
    }
}

}  // namespace shardd::exec
