#include "common/base/error.h"
#include "common/columns/string_column.h"
#include "server/exec/statements_impl.h"
#include "server/exec/table_definition.h"
#include "server/sql/parser.h"
#include "server/sql/printer.h"

namespace shardd::exec {

namespace {

/// Conditions, ORDER BY and LIMIT behind the SELECT that a SHOW stands for.
class ShownSelect {
public:
    explicit ShownSelect(std::string select) : text_(std::move(select)) {}

    void where(const std::string& condition) {
        text_ += (has_where_ ? " AND " : " WHERE ") + condition;
        has_where_ = true;
    }

    /// LIKE, WHERE of the statement.
    void filter(const sql::Show& show, const std::string& column) {
        if (show.has_like) {
            const char* comparison = show.case_insensitive_like ? " ILIKE " : " LIKE ";
            where(column + (show.not_like ? " NOT" : "") + comparison + sql::quoteString(show.like));
        }
        if (show.where) where("(" + sql::toText(*show.where) + ")");
    }

    StatementAnswer finish(const sql::Show& show, const std::string& order) {
        if (!order.empty()) text_ += " ORDER BY " + order;
        if (show.limit) text_ += " LIMIT " + sql::toText(*show.limit);
        StatementAnswer answer;
        answer.follow_up = text_;
        return answer;
    }

private:
    std::string text_;
    bool has_where_ = false;
};

StatementAnswer showCreate(const sql::Show& show, const StatementEnvironment& environment) {
    if (show.object == sql::ObjectKind::Database) {
        const std::string name = show.name.database.empty() ? show.name.table : show.name.database;
        const storage::DatabaseInfo info = environment.catalog->database(name);
        std::string text =
            "CREATE DATABASE " + sql::quoteIdentifierIfNeeded(name) + "\nENGINE = " + info.engine;
        if (!info.comment.empty()) text += "\nCOMMENT " + sql::quoteString(info.comment);
        return {.rows = stringRows("statement", {text}), .follow_up = {}};
    }
    const bool is_temporary = show.name.database.empty() && environment.temporary_tables &&
                              environment.temporary_tables->contains(show.name.table);
    const std::string database = databaseOf(show.name, environment);
    storage::TablePtr table;
    if (is_temporary) {
        table = environment.temporary_tables->at(show.name.table);
    } else {
        environment.catalog->database(database);
        table = environment.catalog->find(database, show.name.table);
        if (!table)
            throw Error(ErrorCode::CANNOT_GET_CREATE_TABLE_QUERY,
                        "There is no metadata of table `{}` in database `{}` (engine Atomic){}",
                        show.name.table, database, environment.catalog->hint(database, show.name.table));
    }
    const auto schema = table->schema();
    sql::Create create;
    if (schema->create_query.empty()) {
        create.columns = declarationsOf(*schema);
        create.has_columns = true;
        create.storage.engine = std::make_shared<sql::Function>(schema->engine);
    } else {
        const sql::StatementPtr parsed = sql::parseStatement(schema->create_query, {.max_query_size = 0});
        create = *sql::as<sql::Create>(parsed);
    }
    create.temporary = is_temporary;
    return {.rows = stringRows(
                "statement", {createQuery(create, is_temporary ? "" : schema->database, schema->name, true)}),
            .follow_up = {}};
}

StatementAnswer showColumns(const sql::Show& show, const StatementEnvironment& environment) {
    const std::string database = databaseOf(show.name, environment);
    environment.catalog->get(database, show.name.table);
    std::string fields =
        "name AS field, type AS type, if(startsWith(type, 'Nullable'), 'YES', 'NO') AS `null`, "
        "trim(concat(if(is_in_primary_key, 'PRI ', ''), if(is_in_sorting_key, 'SOR ', ''))) AS key, "
        "if(default_expression = '', NULL, default_expression) AS default, '' AS extra";
    if (show.full) fields += ", NULL AS collation, comment, '' AS privileges";
    ShownSelect select("SELECT " + fields + " FROM system.columns");
    select.where("database = " + sql::quoteString(database));
    select.where("table = " + sql::quoteString(show.name.table));
    select.filter(show, "field");
    return select.finish(show, "field, type, `null`, key, default, extra");
}

StatementAnswer showTables(const sql::Show& show, const StatementEnvironment& environment) {
    const std::string database =
        show.name.database.empty() ? environment.planner->current_database : show.name.database;
    environment.catalog->database(database);
    if (show.temporary) {
        std::vector<std::string> names;
        if (environment.temporary_tables)
            for (const auto& [name, table] : *environment.temporary_tables) names.push_back(name);
        return {.rows = stringRows("name", names), .follow_up = {}};
    }
    ShownSelect select(show.full ? "SELECT name, engine FROM system.tables"
                                 : "SELECT name FROM system.tables");
    select.where("database = " + sql::quoteString(database));
    select.filter(show, "name");
    return select.finish(show, "name");
}

}  // namespace

StatementAnswer runShow(const sql::Show& show, const StatementEnvironment& environment) {
    switch (show.what) {
        case sql::Show::What::Databases: {
            ShownSelect select("SELECT name FROM system.databases");
            select.filter(show, "name");
            return select.finish(show, "name");
        }
        case sql::Show::What::Tables:
            return showTables(show, environment);
        case sql::Show::What::Create:
            return showCreate(show, environment);
        case sql::Show::What::Columns:
            return showColumns(show, environment);
        case sql::Show::What::Dictionaries:
        case sql::Show::What::Merges:
            return {.rows = stringRows("name", {}), .follow_up = {}};
        case sql::Show::What::Processlist:
            return ShownSelect("SELECT * FROM system.processes").finish(show, "elapsed DESC");
        case sql::Show::What::Settings: {
            ShownSelect select("SELECT name, type, value FROM system.settings");
            if (show.changed) select.where("changed = 1");
            select.filter(show, "name");
            return select.finish(show, "");
        }
        case sql::Show::What::Setting: {
            ShownSelect select("SELECT value FROM system.settings");
            select.where("name = " + sql::quoteString(show.argument));
            return select.finish(show, "");
        }
        case sql::Show::What::Functions: {
            ShownSelect select("SELECT * FROM system.functions");
            select.filter(show, "name");
            return select.finish(show, "");
        }
        case sql::Show::What::Clusters: {
            ShownSelect select("SELECT DISTINCT cluster FROM system.clusters");
            select.filter(show, "cluster");
            return select.finish(show, "cluster");
        }
        case sql::Show::What::Cluster: {
            ShownSelect select(
                "SELECT cluster, shard_num, replica_num, host_name, host_address, port FROM system.clusters");
            select.where("cluster = " + sql::quoteString(show.argument));
            return select.finish(show, "cluster, shard_num, replica_num, host_name, host_address, port");
        }
        case sql::Show::What::Engines:
            return ShownSelect("SELECT * FROM system.table_engines").finish(show, "name");
        case sql::Show::What::Users:
            return ShownSelect("SELECT name FROM system.users").finish(show, "name");
        default:
            throw Error(ErrorCode::NOT_IMPLEMENTED, "This SHOW is not supported: {}", sql::toText(show));
    }
}

}  // namespace shardd::exec
