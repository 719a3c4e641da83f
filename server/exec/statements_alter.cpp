#include <algorithm>
#include <map>
#include <set>

#include "common/base/error.h"
#include "common/columns/create_column.h"
#include "server/exec/statements_impl.h"
#include "server/exec/table_definition.h"
#include "server/functions/convert.h"
#include "server/plan/binder.h"
#include "server/plan/evaluate.h"
#include "server/sql/parser.h"
#include "server/sql/printer.h"
#include "server/storage/merge_tree.h"

namespace shardd::exec {

namespace {

using Command = sql::AlterCommand;

std::vector<sql::ColumnDeclaration>::iterator findColumn(sql::Create& create, const std::string& name) {
    return std::find_if(create.columns.begin(), create.columns.end(),
                        [&](const auto& column) { return column.name == name; });
}

/// The column, or NO_SUCH_COLUMN_IN_TABLE (16).
sql::ColumnDeclaration& columnOrFail(sql::Create& create, const std::string& name) {
    const auto found = findColumn(create, name);
    if (found == create.columns.end())
        throw Error(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK, "Wrong column. Cannot find column {} to modify",
                    sql::quoteIdentifierIfNeeded(name));
    return *found;
}

/// Puts the column first, behind another, or last.
void placeColumn(sql::Create& create, const Command& command, sql::ColumnDeclaration column) {
    if (command.first) {
        create.columns.insert(create.columns.begin(), std::move(column));
    } else if (!command.after.empty()) {
        const auto after = findColumn(create, command.after);
        if (after == create.columns.end())
            throw Error(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK,
                        "Wrong column. Cannot find column {} to insert after",
                        sql::quoteIdentifierIfNeeded(command.after));
        create.columns.insert(after + 1, std::move(column));
    } else {
        create.columns.push_back(std::move(column));
    }
}

void addColumn(sql::Create& create, const Command& command) {
    if (findColumn(create, command.column.name) != create.columns.end()) {
        if (command.if_not_exists) return;
        throw Error(ErrorCode::DUPLICATE_COLUMN, "Cannot add column {}: column with this name already exists",
                    command.column.name);
    }
    placeColumn(create, command, command.column);
}

bool isKeyColumn(const storage::TableSchema& schema, const std::string& column) {
    for (const std::string& key : {schema.sorting_key, schema.partition_key})
        for (const sql::ExpressionPtr& expression :
             key.empty() ? sql::Expressions{} : sql::parseExpressionList(key))
            if (sql::toText(*expression) == sql::quoteIdentifierIfNeeded(column)) return true;
    return false;
}

void dropColumn(sql::Create& create, const Command& command, const storage::TableSchema& schema) {
    const auto found = findColumn(create, command.name);
    if (found == create.columns.end()) {
        if (command.if_exists) return;
        throw Error(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK, "Wrong column name. Cannot find column {} to drop",
                    sql::quoteIdentifierIfNeeded(command.name));
    }
    if (create.columns.size() == 1) throw Error(ErrorCode::BAD_ARGUMENTS, "Cannot drop or clear all columns");
    if (isKeyColumn(schema, command.name))
        throw Error(ErrorCode::UNKNOWN_IDENTIFIER, "Missing columns: '{}' while processing: '{}'",
                    command.name, command.name);
    create.columns.erase(found);
}

void modifyColumn(sql::Create& create, const Command& command, const storage::TableSchema& schema) {
    const std::string& name = command.column.name;
    if (findColumn(create, name) == create.columns.end() && command.if_exists) return;
    sql::ColumnDeclaration& column = columnOrFail(create, name);
    const sql::ColumnDeclaration& wanted = command.column;
    if (!wanted.type.empty()) {
        if (isKeyColumn(schema, name) && wanted.type != column.type)
            throw Error(ErrorCode::ALTER_OF_COLUMN_IS_FORBIDDEN,
                        "ALTER of key column {} from type {} to type {} is not safe because it can "
                        "change the representation of primary key",
                        name, column.type, wanted.type);
        column.type = wanted.type;
        column.null_modifier = wanted.null_modifier;
    }
    if (wanted.default_kind != sql::ColumnDeclaration::Default::None) {
        column.default_kind = wanted.default_kind;
        column.default_expression = wanted.default_expression;
    }
    if (wanted.has_comment) {
        column.has_comment = true;
        column.comment = wanted.comment;
    }
    if (!wanted.codec.empty()) column.codec = wanted.codec;
    if (wanted.ttl) column.ttl = wanted.ttl;
    if (!command.first && command.after.empty()) return;
    sql::ColumnDeclaration moved = column;
    create.columns.erase(findColumn(create, name));
    placeColumn(create, command, std::move(moved));
}

void renameColumn(sql::Create& create, const Command& command, const storage::TableSchema& schema) {
    const auto found = findColumn(create, command.name);
    if (found == create.columns.end()) {
        if (command.if_exists) return;
        throw Error(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK,
                    "Wrong column name. Cannot find column {} to rename",
                    sql::quoteIdentifierIfNeeded(command.name));
    }
    if (findColumn(create, command.after) != create.columns.end())
        throw Error(ErrorCode::DUPLICATE_COLUMN, "Cannot rename to {}: column with this name already exists",
                    command.after);
    if (isKeyColumn(schema, command.name))
        throw Error(ErrorCode::ALTER_OF_COLUMN_IS_FORBIDDEN, "Trying to ALTER RENAME key {} column",
                    command.name);
    found->name = command.after;
}

void removeFromColumn(sql::Create& create, const Command& command) {
    sql::ColumnDeclaration& column = columnOrFail(create, command.name);
    if (command.remove == "DEFAULT" || command.remove == "MATERIALIZED" || command.remove == "ALIAS" ||
        command.remove == "EPHEMERAL") {
        column.default_kind = sql::ColumnDeclaration::Default::None;
        column.default_expression = nullptr;
    } else if (command.remove == "COMMENT") {
        column.has_comment = false;
        column.comment.clear();
    } else if (command.remove == "CODEC") {
        column.codec.clear();
    } else if (command.remove == "TTL") {
        column.ttl = nullptr;
    }
}

void changeSettings(sql::Create& create, const Command& command) {
    for (const sql::SettingChange& change : command.settings) {
        std::erase_if(create.storage.settings, [&](const auto& known) { return known.name == change.name; });
        create.storage.settings.push_back(change);
    }
    for (const std::string& name : command.names)
        std::erase_if(create.storage.settings, [&](const auto& known) { return known.name == name; });
}

/// Changes the definition; false for a command that is about parts.
bool changeDefinition(sql::Create& create, const Command& command, const storage::TableSchema& schema) {
    switch (command.kind) {
        case Command::Kind::AddColumn:
            addColumn(create, command);
            return true;
        case Command::Kind::DropColumn:
            dropColumn(create, command, schema);
            return true;
        case Command::Kind::ModifyColumn:
            modifyColumn(create, command, schema);
            return true;
        case Command::Kind::RenameColumn:
            renameColumn(create, command, schema);
            return true;
        case Command::Kind::ClearColumn:
            if (findColumn(create, command.name) == create.columns.end() && command.if_exists) return true;
            columnOrFail(create, command.name);
            return true;
        case Command::Kind::ModifyColumnRemove:
            removeFromColumn(create, command);
            return true;
        case Command::Kind::CommentColumn: {
            if (findColumn(create, command.name) == create.columns.end() && command.if_exists) return true;
            sql::ColumnDeclaration& column = columnOrFail(create, command.name);
            column.has_comment = !command.text.empty();
            column.comment = command.text;
            return true;
        }
        case Command::Kind::ModifySetting:
        case Command::Kind::ResetSetting:
            changeSettings(create, command);
            return true;
        case Command::Kind::ModifyComment:
            create.has_comment = !command.text.empty();
            create.comment = command.text;
            return true;
        case Command::Kind::ModifyTtl:
            create.storage.ttl = command.ttl;
            return true;
        case Command::Kind::RemoveTtl:
            create.storage.ttl.clear();
            return true;
        default:
            return false;
    }
}

/// The id of a partition written as a value: PARTITION 202401, PARTITION ('a', 1), PARTITION ID '…'; empty
/// for ALL.
std::string partitionIdOf(const sql::PartitionReference& partition,
                          const storage::MergeTree& table,
                          const plan::PlannerContext& context) {
    if (partition.kind == sql::PartitionReference::Kind::Id) return partition.id;
    if (partition.kind == sql::PartitionReference::Kind::All) return {};
    if (!partition.expression) throw Error(ErrorCode::BAD_ARGUMENTS, "A partition must be written");
    const auto& key = table.partitionKey();
    sql::Expressions elements{partition.expression};
    const auto* function = sql::as<sql::Function>(partition.expression);
    if (function && function->name == "tuple") elements = function->arguments;
    std::vector<Value> values;
    for (const sql::ExpressionPtr& element : elements) {
        const plan::NodePtr node = plan::bindExpression(element, {}, context);
        if (node->kind != plan::Node::Kind::Constant)
            throw Error(ErrorCode::BAD_ARGUMENTS, "A partition must be a constant");
        const Value value = node->constant->value(0);
        if (value.kind() == Value::Kind::Tuple && elements.size() == 1)
            values = value.elements();
        else
            values.push_back(value);
    }
    if (values.size() != key.elements.size())
        throw Error(ErrorCode::INVALID_PARTITION_VALUE,
                    "Wrong number of fields in the partition expression: {}, must be: {}", values.size(),
                    key.elements.size());
    return table.partitionIdOf(values, [&](const Value& value, const TypePtr& type) {
        // Texts stand for dates and the like: cast as SQL does.
        const auto cast = sql::parseExpression("CAST(" + sql::quoteString(value.get<std::string>()) + " AS " +
                                               type->name() + ")");
        return plan::bindExpression(cast, {}, context)->constant->value(0);
    });
}

void changeParts(const Command& command, storage::MergeTree& table, const plan::PlannerContext& context) {
    const bool is_part = command.partition.kind == sql::PartitionReference::Kind::Part;
    switch (command.kind) {
        case Command::Kind::DropPartition:
        case Command::Kind::DetachPartition: {
            const bool to_detached = command.kind == Command::Kind::DetachPartition;
            if (is_part) return table.removePart(command.partition.id, to_detached);
            return table.removePartition(partitionIdOf(command.partition, table, context), to_detached);
        }
        case Command::Kind::AttachPartition:
            if (is_part) return table.attachPart(command.partition.id);
            return table.attachPartition(partitionIdOf(command.partition, table, context));
        default:
            throw Error(ErrorCode::NOT_IMPLEMENTED, "This ALTER is not supported yet");
    }
}

/// What the definition's change means for rows that are there.
struct RowChange {
    std::map<std::string, std::string> renamed;  // new name: old name
    std::set<std::string> cleared;
    std::set<std::string> added;
    bool dropped = false;
};

RowChange rowChangeOf(const sql::Alter& statement, const storage::TableSchema& before) {
    RowChange change;
    for (const Command& command : statement.commands) {
        if (command.kind == Command::Kind::RenameColumn && before.find(command.name))
            change.renamed[command.after] = command.name;
        if (command.kind == Command::Kind::ClearColumn) change.cleared.insert(command.name);
        if (command.kind == Command::Kind::DropColumn && before.find(command.name)) change.dropped = true;
        if (command.kind == Command::Kind::AddColumn && !before.find(command.column.name))
            change.added.insert(command.column.name);
    }
    return change;
}

/// Writes the rows anew where their parts would say something else under the new definition: another name, a
/// default that is computed from other columns, values that must not come back with a later column of the
/// same name.
void rewriteRows(storage::Table& table,
                 const storage::TableSchema& after,
                 const RowChange& change,
                 const plan::PlannerContext& context) {
    auto* merge_tree = dynamic_cast<storage::MergeTree*>(&table);
    if (!merge_tree) return;
    std::map<std::string, plan::NodePtr> defaults;
    std::vector<std::pair<std::string, TypePtr>> columns;
    for (const storage::ColumnDefinition& column : table.schema()->columns)
        columns.emplace_back(column.name, column.type);
    for (const storage::ColumnDefinition& column : after.columns) {
        const bool computed = (change.added.contains(column.name) || change.cleared.contains(column.name)) &&
                              !column.default_expression.empty();
        if (!computed || column.default_kind == storage::DefaultKind::Alias ||
            column.default_kind == storage::DefaultKind::Ephemeral)
            continue;
        defaults[column.name] =
            plan::bindExpression(sql::parseExpression(column.default_expression), columns, context);
    }
    if (defaults.empty() && change.renamed.empty() && change.cleared.empty() && !change.dropped) return;
    merge_tree->mutate([&](Block before) {
        Block changed;
        changed.rows = before.rows;
        for (const storage::ColumnDefinition& column : after.columns) {
            if (column.default_kind == storage::DefaultKind::Alias ||
                column.default_kind == storage::DefaultKind::Ephemeral)
                continue;
            const auto renamed = change.renamed.find(column.name);
            const auto source = before.find(renamed == change.renamed.end() ? column.name : renamed->second);
            ColumnPtr values;
            if (const auto node = defaults.find(column.name); node != defaults.end()) {
                values = full(functions::castColumn(
                    {column.name, node->second->type, plan::evaluateNode(node->second, before)},
                    column.type));
            } else if (source && !change.cleared.contains(column.name)) {
                const NamedColumn& old = before.columns[*source];
                values = sameType(old.type, column.type) ? old.column
                                                         : full(functions::castColumn(old, column.type));
            } else {
                MutableColumnPtr made = createColumn(*column.type);
                insertDefaults(*column.type, *made, before.rows);
                values = std::move(made);
            }
            changed.columns.push_back({column.name, column.type, std::move(values)});
        }
        return changed;
    });
}

}  // namespace

StatementAnswer runAlter(const sql::Alter& statement, const StatementEnvironment& environment) {
    refuseCluster(statement.cluster, environment);
    if (statement.is_database) throw Error(ErrorCode::NOT_IMPLEMENTED, "ALTER DATABASE is not supported");
    const std::string database = databaseOf(statement.table, environment);
    const storage::TablePtr table = environment.catalog->get(database, statement.table.table);
    const auto schema = table->schema();
    if (schema->create_query.empty())
        throw Error(ErrorCode::NOT_IMPLEMENTED, "Alter is not supported by storage {}", schema->engine);
    const sql::StatementPtr parsed = sql::parseStatement(schema->create_query, {.max_query_size = 0});
    sql::Create create = *sql::as<sql::Create>(parsed);
    bool changed = false;
    for (const Command& command : statement.commands) {
        if (command.kind == Command::Kind::Delete) {
            deleteRows(*table, command.expression, *environment.planner);
            continue;
        }
        if (command.kind == Command::Kind::Update) {
            updateRows(*table, command.assignments, command.expression, *environment.planner);
            continue;
        }
        if (changeDefinition(create, command, *schema)) {
            changed = true;
            continue;
        }
        auto* merge_tree = dynamic_cast<storage::MergeTree*>(table.get());
        if (!merge_tree)
            throw Error(ErrorCode::NOT_IMPLEMENTED, "Table engine {} doesn't support this ALTER",
                        schema->engine);
        changeParts(command, *merge_tree, *environment.planner);
    }
    if (!changed) return {};
    create.name = {.database = database, .table = statement.table.table};
    create.uuid = schema->uuid;
    storage::TableDefinition definition = makeTableDefinition(create, *environment.planner);
    if (const storage::EngineInfo* engine = environment.catalog->findEngine(schema->engine))
        storage::checkEngineTakes(*engine, definition);
    if (schema->engine.ends_with("MergeTree")) storage::MergeTreeSettings::parse(definition.settings);
    rewriteRows(*table, definition.schema, rowChangeOf(statement, *schema), *environment.planner);
    environment.catalog->alterTable(database, statement.table.table, definition.schema,
                                    attachQuery(create, schema->uuid));
    return {};
}

}  // namespace shardd::exec
