#include "server/exec/table_definition.h"

#include <algorithm>
#include <array>
#include <set>

#include "common/base/error.h"
#include "common/types/type_parser.h"
#include "server/plan/binder.h"
#include "server/plan/key_function.h"
#include "server/sql/parser.h"
#include "server/sql/printer.h"

namespace shardd::exec {

namespace {

using Columns = std::vector<std::pair<std::string, TypePtr>>;

storage::DefaultKind defaultKind(sql::ColumnDeclaration::Default kind) {
    switch (kind) {
        case sql::ColumnDeclaration::Default::None:
            return storage::DefaultKind::None;
        case sql::ColumnDeclaration::Default::Default:
            return storage::DefaultKind::Default;
        case sql::ColumnDeclaration::Default::Materialized:
            return storage::DefaultKind::Materialized;
        case sql::ColumnDeclaration::Default::Alias:
            return storage::DefaultKind::Alias;
        case sql::ColumnDeclaration::Default::Ephemeral:
            return storage::DefaultKind::Ephemeral;
    }
    return storage::DefaultKind::None;
}

/// The part of a family name: MergeTree, ReplacingMergeTree …
bool isMergeTree(const std::string& engine) { return engine.ends_with("MergeTree"); }

std::string lowered(std::string text) {
    for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return text;
}

/// Codecs as ClickHouse shows them, with their parameters: Delta on a Date is Delta(2), ZSTD is ZSTD(1).
/// Errors: UNKNOWN_CODEC (432).
void completeCodecs(sql::Expressions& codecs, const TypePtr& type) {
    static constexpr std::array kCodecs{"NONE",    "LZ4", "LZ4HC", "ZSTD", "Delta",  "DoubleDelta",
                                        "Gorilla", "T64", "GCD",   "FPC",  "Default"};
    for (sql::ExpressionPtr& codec : codecs) {
        const auto* call = sql::as<sql::Function>(codec);
        const auto* word = sql::as<sql::Identifier>(codec);
        const std::string name = call ? call->name : word ? word->parts.back() : sql::toText(*codec);
        const auto known = std::find_if(kCodecs.begin(), kCodecs.end(),
                                        [&](const char* candidate) { return name == candidate; });
        if (known == kCodecs.end()) throw Error(ErrorCode::UNKNOWN_CODEC, "Unknown codec family: {}", name);
        if (call && !call->arguments.empty()) continue;
        const auto number = [](uint64_t value) {
            return std::make_shared<sql::LiteralExpression>(sql::Literal{value});
        };
        const size_t width = removeNullable(removeLowCardinality(type))->width();
        if (name == "Delta" || name == "Gorilla")
            codec = std::make_shared<sql::Function>(name, sql::Expressions{number(width == 0 ? 1 : width)});
        if (name == "ZSTD") codec = std::make_shared<sql::Function>(name, sql::Expressions{number(1)});
        if (name == "LZ4HC") codec = std::make_shared<sql::Function>(name, sql::Expressions{number(9)});
    }
}

std::string codecText(const sql::Expressions& codecs) {
    std::string text;
    for (const sql::ExpressionPtr& codec : codecs) text += (text.empty() ? "" : ", ") + sql::toText(*codec);
    return "CODEC(" + text + ")";
}

/// Nested(a T, b U) under the name n becomes n.a Array(T), n.b Array(U).
std::vector<sql::ColumnDeclaration> flattenNested(const std::vector<sql::ColumnDeclaration>& columns,
                                                  bool flatten) {
    std::vector<sql::ColumnDeclaration> flat;
    for (const sql::ColumnDeclaration& column : columns) {
        const bool nested = flatten && lowered(column.type).starts_with("nested(");
        if (!nested) {
            flat.push_back(column);
            continue;
        }
        const TypePtr type = parseType(column.type);
        const Type& tuple = *type->child();
        for (size_t i = 0; i < tuple.children().size(); ++i) {
            sql::ColumnDeclaration element = column;
            element.name = column.name + "." + tuple.elementNames()[i];
            element.type = types::array(tuple.child(i))->name();
            flat.push_back(std::move(element));
        }
    }
    return flat;
}

void checkType(const Type& type, const Settings& settings) {
    if (type.isLowCardinality() && !settings->allow_suspicious_low_cardinality_types) {
        const TypePtr inner = removeNullable(type.child());
        if (!inner->isString())
            throw Error(ErrorCode::SUSPICIOUS_TYPE_FOR_LOW_CARDINALITY,
                        "Creating columns of type {} is prohibited by default due to expected negative "
                        "impact on performance. It can be "
                        "enabled with the `allow_suspicious_low_cardinality_types` setting",
                        type.name());
    }
    for (const TypePtr& child : type.children()) checkType(*child, settings);
}

/// Makes storage's columns from declarations, whose types and texts become canonical.
std::vector<storage::ColumnDefinition> makeColumns(std::vector<sql::ColumnDeclaration>& declarations,
                                                   const plan::PlannerContext& context,
                                                   bool attach) {
    Columns typed;
    std::set<std::string> names;
    for (sql::ColumnDeclaration& declaration : declarations) {
        if (!names.insert(declaration.name).second)
            throw Error(ErrorCode::ILLEGAL_COLUMN,
                        "Cannot add column {}: column with this name already exists", declaration.name);
        if (declaration.type.empty()) continue;
        TypePtr type = parseType(declaration.type);
        const bool make_nullable = declaration.null_modifier
                                       ? *declaration.null_modifier
                                       : (!attach && context.settings->data_type_default_nullable);
        if (make_nullable && declaration.null_modifier.value_or(true))
            type = type->isNullable() ? type : types::nullable(type);
        if (!attach) checkType(*type, context.settings);
        declaration.type = type->name();
        declaration.null_modifier.reset();
        typed.emplace_back(declaration.name, type);
    }
    std::vector<storage::ColumnDefinition> columns;
    for (sql::ColumnDeclaration& declaration : declarations) {
        storage::ColumnDefinition column{
            .name = declaration.name, .type = nullptr, .default_kind = defaultKind(declaration.default_kind)};
        if (declaration.default_expression) {
            const plan::NodePtr node = plan::bindExpression(declaration.default_expression, typed, context);
            column.default_expression = sql::toText(*declaration.default_expression);
            if (declaration.type.empty()) {
                declaration.type = node->type->name();
                typed.emplace_back(declaration.name, node->type);
            }
        }
        if (declaration.type.empty()) declaration.type = "String";  // c EPHEMERAL
        column.type = parseType(declaration.type);
        column.comment = declaration.comment;
        if (!declaration.codec.empty()) {
            completeCodecs(declaration.codec, column.type);
            column.codec = codecText(declaration.codec);
        }
        if (declaration.ttl) column.ttl = sql::toText(*declaration.ttl);
        columns.push_back(std::move(column));
    }
    return columns;
}

/// `(a, b)` and `tuple(a, b)` are keys of their elements, `tuple()` of none.
sql::Expressions keyExpressions(const sql::ExpressionPtr& expression) {
    if (!expression) return {};
    const auto* function = sql::as<sql::Function>(expression);
    if (function && function->name == "tuple") return function->arguments;
    return {expression};
}

storage::KeyElement makeKeyPart(const sql::ExpressionPtr& expression,
                                const Columns& columns,
                                const plan::PlannerContext& context) {
    storage::KeyElement element = plan::makeKeyElement(expression, columns, context);
    if (element.columns.empty())
        throw Error(ErrorCode::ILLEGAL_COLUMN, "Key cannot contain constants: {}", element.text);
    return element;
}

storage::KeyDescription makeKey(const sql::Expressions& expressions,
                                const Columns& columns,
                                const plan::PlannerContext& context) {
    storage::KeyDescription key;
    for (const sql::ExpressionPtr& expression : expressions)
        key.elements.push_back(makeKeyPart(expression, columns, context));
    return key;
}

std::string listText(const storage::KeyDescription& key) {
    std::string text;
    for (const storage::KeyElement& element : key.elements) text += (text.empty() ? "" : ", ") + element.text;
    return text;
}

std::string settingText(const sql::Literal& value) {
    if (const auto* text = value.as<std::string>()) return *text;
    return sql::toText(value);
}

void makeKeys(storage::TableDefinition& definition,
              sql::StorageDefinition& storage,
              const Columns& columns,
              const plan::PlannerContext& context) {
    definition.partition_key = makeKey(keyExpressions(storage.partition_by), columns, context);
    for (const sql::OrderElement& element : storage.order_by) {
        for (const sql::ExpressionPtr& expression : keyExpressions(element.expression)) {
            definition.sorting_key.elements.push_back(makeKeyPart(expression, columns, context));
            definition.sorting_key.elements.back().descending = element.descending;
        }
    }
    definition.primary_key = makeKey(keyExpressions(storage.primary_key), columns, context);
    if (storage.order_by.empty() && !definition.primary_key.empty())
        definition.sorting_key = definition.primary_key;
    if (definition.primary_key.empty()) definition.primary_key = definition.sorting_key;
    for (size_t i = 0;
         i < definition.primary_key.elements.size() && i < definition.sorting_key.elements.size(); ++i)
        definition.primary_key.elements[i].descending = definition.sorting_key.elements[i].descending;
    definition.schema.partition_key = storage.partition_by ? sql::toText(*storage.partition_by) : "";
    if (definition.partition_key.empty()) definition.schema.partition_key.clear();
    definition.schema.sorting_key = listText(definition.sorting_key);
    definition.schema.primary_key = listText(definition.primary_key);
    if (storage.sample_by) definition.schema.sampling_key = sql::toText(*storage.sample_by);
    definition.has_sampling_key = storage.sample_by != nullptr;
}

/// The engine that is meant where none is written, and what ClickHouse adds to a MergeTree.
void completeStorage(sql::Create& create, const plan::PlannerContext& context) {
    sql::StorageDefinition& storage = create.storage;
    if (!storage.engine) {
        const bool wants_memory = create.temporary && !storage.has_order_by;
        storage.engine = std::make_shared<sql::Function>(wants_memory ? "Memory" : "MergeTree");
        (void)context;
    }
    if (!storage.primary_key && create.primary_key_in_columns)
        storage.primary_key = create.primary_key_in_columns;
    create.primary_key_in_columns = nullptr;
    if (storage.engine->name == "Distributed") {
        // Names of the cluster, database and table are shown as texts.
        auto engine = std::make_shared<sql::Function>(*storage.engine);
        for (size_t i = 0; i < engine->arguments.size() && i < 3; ++i)
            if (const auto* name = sql::as<sql::Identifier>(engine->arguments[i]);
                name && name->parts.size() == 1)
                engine->arguments[i] = std::make_shared<sql::LiteralExpression>(sql::Literal{name->parts[0]});
        storage.engine = std::move(engine);
    }
    if (!isMergeTree(storage.engine->name)) return;
    if (storage.order_by.empty()) {
        storage.has_order_by = true;
        sql::OrderElement element;
        element.expression =
            storage.primary_key ? storage.primary_key : std::make_shared<sql::Function>("tuple");
        storage.order_by.push_back(std::move(element));
    }
    const bool says_granularity =
        std::any_of(storage.settings.begin(), storage.settings.end(),
                    [](const sql::SettingChange& change) { return change.name == "index_granularity"; });
    if (!says_granularity)
        storage.settings.push_back({.name = "index_granularity", .value = {uint64_t{8192}}});
}

}  // namespace

storage::Argument makeArgument(const sql::ExpressionPtr& expression, const plan::PlannerContext& context) {
    storage::Argument argument;
    argument.text = sql::toText(*expression);
    if (const auto* identifier = sql::as<sql::Identifier>(expression)) {
        argument.identifier = identifier->parts;
        return argument;
    }
    try {
        const plan::NodePtr node = plan::bindExpression(expression, {}, context);
        if (node->kind == plan::Node::Kind::Constant) {
            argument.value = node->constant->value(0);
            argument.type = node->type;
        }
    } catch (const Error&) {
        // No constant: the engine sees the text (a sharding key over columns, a table function).
    }
    return argument;
}

std::vector<sql::ColumnDeclaration> declarationsOf(const storage::TableSchema& schema) {
    std::vector<sql::ColumnDeclaration> declarations;
    for (const storage::ColumnDefinition& column : schema.columns) {
        sql::ColumnDeclaration declaration;
        declaration.name = column.name;
        declaration.type = column.type->name();
        switch (column.default_kind) {
            case storage::DefaultKind::None:
                break;
            case storage::DefaultKind::Default:
                declaration.default_kind = sql::ColumnDeclaration::Default::Default;
                break;
            case storage::DefaultKind::Materialized:
                declaration.default_kind = sql::ColumnDeclaration::Default::Materialized;
                break;
            case storage::DefaultKind::Alias:
                declaration.default_kind = sql::ColumnDeclaration::Default::Alias;
                break;
            case storage::DefaultKind::Ephemeral:
                declaration.default_kind = sql::ColumnDeclaration::Default::Ephemeral;
                break;
        }
        if (!column.default_expression.empty())
            declaration.default_expression = sql::parseExpression(column.default_expression);
        declaration.has_comment = !column.comment.empty();
        declaration.comment = column.comment;
        if (!column.codec.empty())
            declaration.codec = sql::as<sql::Function>(sql::parseExpression(column.codec))->arguments;
        if (!column.ttl.empty()) declaration.ttl = sql::parseExpression(column.ttl);
        declarations.push_back(std::move(declaration));
    }
    return declarations;
}

std::string attachQuery(const sql::Create& create, const std::string& uuid) {
    sql::Create stored = create;
    stored.attach = true;
    stored.if_not_exists = stored.or_replace = stored.replace = stored.temporary = false;
    stored.name = {.database = {}, .table = "_"};
    stored.uuid = uuid;
    stored.cluster.clear();
    return sql::toText(stored, {.multi_line = true}) + "\n";
}

std::string createQuery(const sql::Create& create,
                        const std::string& database,
                        const std::string& table,
                        bool multi_line) {
    sql::Create shown = create;
    shown.attach = false;
    shown.if_not_exists = shown.or_replace = shown.replace = false;
    shown.name = {.database = database, .table = table};
    shown.uuid.clear();
    shown.cluster.clear();
    return sql::toText(shown, {.multi_line = multi_line});
}

storage::TableDefinition makeTableDefinition(sql::Create& create, const plan::PlannerContext& session) {
    plan::PlannerContext context = session;
    if (session.functions) {
        auto functions = std::make_shared<functions::FunctionContext>(*session.functions);
        functions->time_zone = functions->server_time_zone;
        context.functions = std::move(functions);
    }
    storage::TableDefinition definition;
    definition.attach = create.attach;
    create.columns = flattenNested(create.columns, context.settings->flatten_nested && !create.attach);
    sql::Expressions primary_columns;
    for (sql::ColumnDeclaration& column : create.columns) {
        if (!column.primary_key) continue;
        primary_columns.push_back(std::make_shared<sql::Identifier>(std::vector<std::string>{column.name}));
        column.primary_key = false;
    }
    if (primary_columns.size() == 1) create.primary_key_in_columns = primary_columns[0];
    if (primary_columns.size() > 1)
        create.primary_key_in_columns = std::make_shared<sql::Function>("tuple", primary_columns);
    completeStorage(create, context);
    definition.schema.database = create.name.database;
    definition.schema.name = create.name.table;
    definition.schema.uuid = create.uuid;
    definition.schema.engine = create.storage.engine->name;
    definition.schema.comment = create.comment;
    definition.schema.columns = makeColumns(create.columns, context, create.attach);
    create.has_columns = !create.columns.empty();
    Columns columns;
    for (const storage::ColumnDefinition& column : definition.schema.columns)
        columns.emplace_back(column.name, column.type);
    makeKeys(definition, create.storage, columns, context);
    for (const sql::ExpressionPtr& argument : create.storage.engine->arguments)
        definition.arguments.push_back(makeArgument(argument, context));
    for (const sql::SettingChange& change : create.storage.settings)
        definition.settings.emplace_back(change.name, settingText(change.value));
    for (const sql::ConstraintDeclaration& constraint : create.constraints)
        if (!constraint.assume)
            definition.schema.constraints.emplace_back(constraint.name, sql::toText(*constraint.expression));
    definition.has_ttl = !create.storage.ttl.empty();
    definition.has_indices = !create.indexes.empty();
    definition.schema.create_query = createQuery(create, create.name.database, create.name.table, false);
    if (const size_t engine = definition.schema.create_query.find(" ENGINE = ");
        engine != std::string::npos) {
        definition.schema.engine_full = definition.schema.create_query.substr(engine + 10);
        if (create.has_comment)
            definition.schema.engine_full.erase(std::min(definition.schema.engine_full.rfind(" COMMENT "),
                                                         definition.schema.engine_full.size()));
    }
    return definition;
}

}  // namespace shardd::exec
