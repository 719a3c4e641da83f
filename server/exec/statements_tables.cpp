#include <array>

#include "common/base/error.h"
#include "common/columns/fixed_column.h"
#include "common/columns/string_column.h"
#include "server/exec/statements_impl.h"
#include "server/exec/table_definition.h"
#include "server/plan/binder.h"
#include "server/sql/parser.h"
#include "server/sql/printer.h"

namespace shardd::exec {

namespace {

std::string shownName(const std::string& database, const std::string& table) {
    return sql::quoteIdentifierIfNeeded(database) + "." + sql::quoteIdentifierIfNeeded(table);
}

void dropOrTruncateDatabase(const sql::Drop& statement, const StatementEnvironment& environment) {
    storage::Catalog& catalog = *environment.catalog;
    for (const sql::QualifiedName& name : statement.names) {
        const std::string& database = name.database;
        if (statement.verb == sql::Drop::Verb::Detach)
            throw Error(ErrorCode::NOT_IMPLEMENTED, "DETACH DATABASE is not supported");
        if (statement.verb == sql::Drop::Verb::Drop) {
            catalog.dropDatabase(database, statement.if_exists);
            continue;
        }
        if (!catalog.hasDatabase(database) && statement.if_exists) continue;
        for (const auto& [table, object] : catalog.tables(database)) object->truncate();
    }
}

void dropOne(const sql::Drop& statement,
             const sql::QualifiedName& name,
             const StatementEnvironment& environment) {
    storage::Catalog& catalog = *environment.catalog;
    if (environment.temporary_tables && name.database.empty()) {
        const auto found = environment.temporary_tables->find(name.table);
        if (found != environment.temporary_tables->end()) {
            if (statement.verb == sql::Drop::Verb::Truncate)
                found->second->truncate();
            else
                environment.temporary_tables->erase(found);
            return;
        }
    }
    const std::string database = databaseOf(name, environment);
    const storage::TablePtr table = statement.temporary ? nullptr : catalog.find(database, name.table);
    if (!table) {
        if (statement.if_exists) return;
        if (statement.temporary)
            throw Error(ErrorCode::UNKNOWN_TABLE, "Temporary table {} doesn't exist",
                        sql::quoteIdentifierIfNeeded(name.table));
        catalog.get(database, name.table);
        return;
    }
    if (statement.if_empty && table->totalRows().value_or(0) != 0)
        throw Error(ErrorCode::TABLE_NOT_EMPTY, "Table {} is not empty", shownName(database, name.table));
    const bool is_view = table->schema()->engine == "View";
    if (statement.object == sql::ObjectKind::View && !is_view)
        throw Error(ErrorCode::INCORRECT_QUERY, "Table {} is not a View", shownName(database, name.table));
    switch (statement.verb) {
        case sql::Drop::Verb::Drop:
            return catalog.dropTable(database, name.table);
        case sql::Drop::Verb::Detach:
            return catalog.detachTable(database, name.table, statement.permanently);
        case sql::Drop::Verb::Truncate:
            return table->truncate();
        case sql::Drop::Verb::Undrop:
            throw Error(ErrorCode::NOT_IMPLEMENTED, "UNDROP TABLE is not supported");
    }
}

StatementAnswer describeColumns(const std::vector<storage::ColumnDefinition>& columns) {
    std::array<std::shared_ptr<StringColumn>, 7> values;
    for (auto& column : values) column = std::make_shared<StringColumn>();
    static constexpr const char* kKinds[] = {"", "DEFAULT", "MATERIALIZED", "ALIAS", "EPHEMERAL"};
    for (const storage::ColumnDefinition& column : columns) {
        values[0]->insertText(column.name);
        values[1]->insertText(column.type->name());
        values[2]->insertText(kKinds[static_cast<size_t>(column.default_kind)]);
        values[3]->insertText(column.default_expression);
        values[4]->insertText(column.comment);
        // Without "CODEC(" and ")".
        values[5]->insertText(
            column.codec.size() > 7 ? std::string_view(column.codec).substr(6, column.codec.size() - 7) : "");
        values[6]->insertText(column.ttl);
    }
    static constexpr const char* kNames[] = {
        "name",          "type", "default_type", "default_expression", "comment", "codec_expression",
        "ttl_expression"};
    StatementAnswer answer;
    for (size_t i = 0; i < values.size(); ++i) answer.rows.add({kNames[i], types::string(), values[i]});
    return answer;
}

}  // namespace

StatementAnswer runDrop(const sql::Drop& statement, const StatementEnvironment& environment) {
    refuseCluster(statement.cluster, environment);
    if (statement.object == sql::ObjectKind::Database || statement.all_tables) {
        dropOrTruncateDatabase(statement, environment);
        return {};
    }
    if (statement.object != sql::ObjectKind::Table && statement.object != sql::ObjectKind::View)
        throw Error(ErrorCode::NOT_IMPLEMENTED, "Dictionaries and functions are not supported");
    for (const sql::QualifiedName& name : statement.names) dropOne(statement, name, environment);
    return {};
}

StatementAnswer runRename(const sql::Rename& statement, const StatementEnvironment& environment) {
    refuseCluster(statement.cluster, environment);
    storage::Catalog& catalog = *environment.catalog;
    for (const auto& [from, to] : statement.pairs) {
        if (statement.object == sql::ObjectKind::Database) {
            catalog.renameDatabase(from.database, to.database);
            continue;
        }
        const std::string database = databaseOf(from, environment);
        const std::string new_database = databaseOf(to, environment);
        for (const std::string& name : {database, new_database}) catalog.database(name);
        if (!catalog.find(database, from.table)) {
            if (statement.if_exists) continue;
            throw Error(ErrorCode::UNKNOWN_TABLE, "Table `{}`.`{}` doesn't exist", database, from.table);
        }
        if (!statement.exchange) {
            catalog.renameTable(database, from.table, new_database, to.table);
            continue;
        }
        if (!catalog.find(new_database, to.table))
            throw Error(ErrorCode::UNKNOWN_TABLE, "Table `{}`.`{}` doesn't exist", new_database, to.table);
        catalog.exchangeTables(database, from.table, new_database, to.table);
    }
    return {};
}

StatementAnswer runDescribe(const sql::Describe& statement, const StatementEnvironment& environment) {
    const sql::TableExpression& table = statement.table;
    if (!table.function && !table.subquery)
        return describeColumns(tableOf(table.table, environment)->schema()->columns);
    const sql::QueryPtr query =
        table.subquery ? table.subquery : sql::parseQuery("SELECT * FROM " + sql::toText(*table.function));
    plan::PlannerContext context = *environment.planner;
    context.run = nullptr;
    std::vector<storage::ColumnDefinition> columns;
    for (const auto& [name, type] : plan::queryColumns(*query, context))
        columns.push_back({.name = name, .type = type});
    return describeColumns(columns);
}

StatementAnswer runExists(const sql::Exists& statement, const StatementEnvironment& environment) {
    bool found = false;
    if (statement.object == sql::ObjectKind::Database) {
        found = environment.catalog->hasDatabase(statement.name.database);
    } else if (statement.temporary) {
        found = environment.temporary_tables && environment.temporary_tables->contains(statement.name.table);
    } else if (statement.object == sql::ObjectKind::Table || statement.object == sql::ObjectKind::View) {
        const storage::TablePtr table =
            environment.catalog->find(databaseOf(statement.name, environment), statement.name.table);
        found = table && (statement.object == sql::ObjectKind::Table || table->schema()->engine == "View");
        if (!found && statement.object == sql::ObjectKind::Table && statement.name.database.empty() &&
            environment.temporary_tables)
            found = environment.temporary_tables->contains(statement.name.table);
    }
    StatementAnswer answer;
    answer.rows.add({"result", types::uint8(),
                     std::make_shared<FixedColumn<uint8_t>>(PodVector<uint8_t>(1, found ? 1 : 0))});
    return answer;
}

}  // namespace shardd::exec
