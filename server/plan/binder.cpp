#include "server/plan/binder.h"

#include <algorithm>

#include "common/columns/create_column.h"
#include "common/base/stack_guard.h"
#include "common/types/type_parser.h"
#include "server/plan/binder_impl.h"
#include "server/plan/node_name.h"
#include "server/plan/query_tree_walk.h"
#include "server/sql/parser.h"
#include "server/sql/printer.h"
#include "server/functions/supertype.h"
#include "server/storage/catalog.h"

namespace shardd::plan {

namespace {

constexpr size_t kDeepestQuery = 200;

SettingLiteral settingLiteral(const sql::Literal& literal) {
    return std::visit(
        [&](const auto& value) -> SettingLiteral {
            using T = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<T, sql::Literal::Null>)
                return std::monostate{};
            else if constexpr (std::is_same_v<T, sql::Literal::Array> || std::is_same_v<T, sql::Literal::Tuple>)
                return sql::toText(literal);
            else
                return value;
        },
        literal.value);
}

bool looksLikeTableId(const std::string& alias) {
    return alias.starts_with("__table") && alias.size() > 7 && std::all_of(alias.begin() + 7, alias.end(), [](char c) { return c >= '0' && c <= '9'; });
}

SetOperation setOperation(sql::SetOperator written, const Settings& settings) {
    switch (written) {
        case sql::SetOperator::UnionAll:
            return SetOperation::UnionAll;
        case sql::SetOperator::UnionDistinct:
            return SetOperation::UnionDistinct;
        case sql::SetOperator::IntersectAll:
            return SetOperation::IntersectAll;
        case sql::SetOperator::IntersectDistinct:
            return SetOperation::IntersectDistinct;
        case sql::SetOperator::ExceptAll:
            return SetOperation::ExceptAll;
        case sql::SetOperator::ExceptDistinct:
            return SetOperation::ExceptDistinct;
        case sql::SetOperator::UnionDefault: {
            const std::string mode = settings.get("union_default_mode");
            if (mode.empty())
                throw Error(ErrorCode::EXPECTED_ALL_OR_DISTINCT, "Expected ALL or DISTINCT in SelectWithUnion query; because setting (union_default_mode) is empty");
            return mode == "DISTINCT" ? SetOperation::UnionDistinct : SetOperation::UnionAll;
        }
        case sql::SetOperator::IntersectDefault:
            return settings.get("intersect_default_mode") == "DISTINCT" ? SetOperation::IntersectDistinct : SetOperation::IntersectAll;
        case sql::SetOperator::ExceptDefault:
            return settings.get("except_default_mode") == "DISTINCT" ? SetOperation::ExceptDistinct : SetOperation::ExceptAll;
    }
    return SetOperation::UnionAll;
}

}  // namespace

QueryTreePtr bindQuery(const sql::Query& query, const PlannerContext& context) {
    return Binder(context).bindQuery(query, nullptr, context.settings);
}

NodePtr bindExpression(const sql::ExpressionPtr& expression,
                       const std::vector<std::pair<std::string, TypePtr>>& columns,
                       const PlannerContext& context) {
    return Binder(context).bindStandalone(expression, columns);
}

std::vector<std::pair<std::string, TypePtr>> queryColumns(const sql::Query& query, const PlannerContext& context) {
    PlannerContext dry = context;
    dry.run = nullptr;
    return bindQuery(query, dry)->columns;
}

NodePtr Binder::bindStandalone(const sql::ExpressionPtr& expression, const std::vector<std::pair<std::string, TypePtr>>& columns) {
    Scope scope;
    scope.query = std::make_shared<QueryNode>();
    scope.query->settings = context_.settings;
    auto source = std::make_shared<TableSource>();
    source->kind = TableSource::Kind::Table;
    source->columns = columns;
    for (const auto& [name, type] : columns) source->visible_columns.push_back(name);
    scope.query->sources.push_back(std::move(source));
    scope.no_aggregates_in = "this expression";
    collectAliases(expression, scope);
    return bind(expression, scope).node;
}

QueryTreePtr Binder::bindQuery(const sql::Query& query, const Scope* parent, const Settings& settings) {
    checkStack();
    if (++query_depth_ > kDeepestQuery)
        throw Error(ErrorCode::TOO_DEEP_SUBQUERIES, "Too deep subqueries: more than {} levels", kDeepestQuery);
    QueryTreePtr tree = query.select ? bindSelect(*query.select, parent, settings) : bindSetOperation(query, parent, settings);
    --query_depth_;
    return tree;
}

QueryTreePtr Binder::bindSetOperation(const sql::Query& query, const Scope* parent, const Settings& settings) {
    // Evaluated from the left: equal operations in a row make one node, another one begins a new node.
    std::vector<QueryTreePtr> operands = {bindQuery(*query.operands[0], parent, settings)};
    // WITH of the first SELECT is seen by all.
    Scope shared;
    shared.parent = parent;
    if (query.operands[0]->select) {
        for (const sql::WithElement& element : query.operands[0]->select->with) {
            if (element.query)
                shared.common_tables[element.name] = {element.query, element.column_aliases};
            else
                collectAliases(element.expression, shared);
        }
        if (!query.operands[0]->select->with.empty()) parent = &shared;
    }
    for (size_t i = 0; i < query.operators.size(); ++i) {
        const SetOperation operation = setOperation(query.operators[i], settings);
        if (i > 0 && operation != setOperation(query.operators[i - 1], settings)) {
            QueryTreePtr left = combine(std::move(operands), setOperation(query.operators[i - 1], settings));
            operands.clear();
            operands.push_back(std::move(left));
        }
        operands.push_back(bindQuery(*query.operands[i + 1], parent, settings));
    }
    return combine(std::move(operands), setOperation(query.operators.back(), settings));
}

QueryTreePtr Binder::combine(std::vector<QueryTreePtr> operands, SetOperation operation) {
    auto tree = std::make_shared<QueryTree>();
    tree->operation = operation;
    const size_t columns = operands[0]->columns.size();
    for (const QueryTreePtr& operand : operands)
        if (operand->columns.size() != columns)
            throw Error(operation == SetOperation::UnionAll || operation == SetOperation::UnionDistinct
                            ? ErrorCode::UNION_ALL_RESULT_STRUCTURES_MISMATCH
                            : ErrorCode::INTERSECT_OR_EXCEPT_RESULT_STRUCTURES_MISMATCH,
                        "Different number of columns in UNION: {} and {}",
                        columns,
                        operand->columns.size());
    for (size_t i = 0; i < columns; ++i) {
        std::vector<TypePtr> types;
        for (const QueryTreePtr& operand : operands) types.push_back(operand->columns[i].second);
        tree->columns.emplace_back(operands[0]->columns[i].first, functions::leastSupertype(types));
    }
    tree->operands = std::move(operands);
    return tree;
}

QueryTreePtr Binder::bindSelect(const sql::Select& select, const Scope* parent, const Settings& settings) {
    auto query = std::make_shared<QueryNode>();
    query->settings = settings;
    for (const sql::SettingChange& change : select.settings) {
        if (change.to_default)
            query->settings.reset(change.name);
        else
            query->settings.setLiteral(change.name, settingLiteral(change.value));
    }
    Scope scope;
    scope.parent = parent;
    scope.query = query;
    scope.select = &select;

    bindWith(select, scope);
    collectAliases(select, scope);
    bindFrom(select, scope);
    if (select.prewhere) query->prewhere = bindClause(select.prewhere, scope, "PREWHERE").node;
    if (select.where) query->where = bindClause(select.where, scope, "WHERE").node;
    bindProjection(select, scope);
    bindGroupBy(select, scope);
    if (select.having) query->having = bindClause(select.having, scope, nullptr).node;
    if (select.qualify) query->qualify = bindClause(select.qualify, scope, nullptr).node;
    bindOrderBy(select, scope);
    bindLimits(select, scope);
    if (!parent && query_depth_ == 1) foldLimitSettings(*query);
    if (query->settings->group_by_use_nulls && (query->rollup || query->cube || !query->grouping_sets.empty())) makeKeysNullable(*query);
    collectAggregates(*query);
    checkAggregation(*query);
    if (query->projection.empty()) throw Error(ErrorCode::EMPTY_LIST_OF_COLUMNS_QUERIED, "Empty list of columns in SELECT query");

    auto tree = std::make_shared<QueryTree>();
    tree->select = query;
    for (const Projection& projection : query->projection) tree->columns.emplace_back(projection.alias, projection.node->type);
    return tree;
}

void Binder::bindWith(const sql::Select& select, Scope& scope) {
    if (select.with_recursive) throw Error(ErrorCode::NOT_IMPLEMENTED, "WITH RECURSIVE is not supported");
    for (const sql::WithElement& element : select.with) {
        if (element.query)
            scope.common_tables[element.name] = {element.query, element.column_aliases};
        else
            collectAliases(element.expression, scope);
    }
}

void Binder::bindFrom(const sql::Select& select, Scope& scope) {
    for (const sql::TableElement& element : select.from) {
        if (element.is_array_join) continue;
        TableSourcePtr source = bindTable(element.table, scope);
        if (element.join)
            bindJoin(*element.join, std::move(source), scope);
        else
            scope.query->sources.push_back(std::move(source));
    }
    if (scope.query->sources.empty()) {
        auto none = std::make_shared<TableSource>();
        scope.query->sources.push_back(std::move(none));
    }
    for (const sql::TableElement& element : select.from)
        if (element.is_array_join) bindArrayJoin(element, scope);
}

/// ARRAY JOIN n of a Nested column joins n.a, n.b, …; under an alias m they are m.a, m.b, ….
sql::Expressions Binder::expandNested(const sql::Expressions& written, Scope& scope) {
    sql::Expressions expanded;
    for (const sql::ExpressionPtr& expression : written) {
        const auto* identifier = sql::as<sql::Identifier>(expression.get());
        const bool unknown = identifier && !scope.aliases.contains(identifier->parts[0]) && !findColumn(identifier->parts, scope);
        const size_t before = expanded.size();
        if (unknown) {
            const std::string prefix = identifier->parts.back() + ".";
            for (const TableSourcePtr& source : scope.query->sources) {
                for (const auto& [name, type] : source->columns) {
                    if (!name.starts_with(prefix) || type->kind() != TypeKind::Array) continue;
                    auto part = std::make_shared<sql::Identifier>(std::vector<std::string>{name});
                    if (!expression->alias.empty()) part->alias = expression->alias + "." + name.substr(prefix.size());
                    expanded.push_back(std::move(part));
                }
            }
        }
        if (expanded.size() == before) expanded.push_back(expression);
    }
    return expanded;
}

void Binder::bindArrayJoin(const sql::TableElement& element, Scope& scope) {
    scope.query->left_array_join = element.is_left_array_join;
    std::map<std::string, NodePtr> names;
    const size_t clause = scope.query->array_join.empty() ? 0 : scope.query->array_join.back().clause + 1;
    for (const sql::ExpressionPtr& expression : expandNested(element.array_join, scope)) {
        // The alias names the element, not the array: bind what it stands for.
        scope.aliases.erase(expression->alias);
        const Bound array = bindWithoutAlias(*expression, scope);
        TypePtr type = removeLowCardinality(array.node->type);
        if (type->isNullable()) type = type->child();
        if (type->kind() != TypeKind::Array && type->kind() != TypeKind::Map)
            throw Error(ErrorCode::TYPE_MISMATCH, "ARRAY JOIN requires array or map argument, but {} has type {}", array.name, array.node->type->name());
        auto column = std::make_shared<Node>();
        column->kind = Node::Kind::ArrayJoinColumn;
        column->type = type->kind() == TypeKind::Array ? type->child() : types::tuple(type->children(), {"keys", "values"});
        column->column = expression->alias.starts_with("__array_join_exp_") ? expression->alias
                                                                           : fmt::format("__array_join_exp_{}", next_array_join_++);
        const std::string name = expression->alias.empty() ? array.name : expression->alias;
        std::shared_ptr<Node> finished = column;
        nameNode(*finished);
        finished->old_name = name;
        scope.query->array_join.push_back({array.node, finished, name, clause, element.is_left_array_join});
        names[name] = finished;
        if (const auto* identifier = sql::as<sql::Identifier>(expression.get()); identifier && expression->alias.empty())
            names[identifier->parts.back()] = finished;
    }
    for (auto& [name, node] : names) scope.array_join_names[name] = node;
}

TableSourcePtr Binder::bindTable(const sql::TableExpression& table, Scope& scope) {
    if (table.subquery) return subquerySource(bindQuery(*table.subquery, &scope, scope.query->settings), table);
    if (table.function) return bindTableFunction(table, scope);
    return bindNamedTable(table, scope);
}

void Binder::finishSource(TableSource& source, const sql::TableExpression& table) {
    source.alias = table.alias;
    source.id = looksLikeTableId(table.alias) ? table.alias : fmt::format("__table{}", next_table_++);
    source.final = table.final;
    if (!table.column_aliases.empty() && table.column_aliases.size() != source.columns.size())
        throw Error(ErrorCode::BAD_ARGUMENTS, "{} column aliases for a table expression of {} columns", table.column_aliases.size(), source.columns.size());
    if (table.sample_size && source.storage && source.storage->distributed()) {
        // Shards sample.
        source.sample_text = sql::toText(*table.sample_size);
        if (table.sample_offset) source.sample_text += " OFFSET " + sql::toText(*table.sample_offset);
    } else if (table.sample_size)
        throw Error(ErrorCode::SAMPLING_NOT_SUPPORTED, "Storage {} doesn't support sampling", source.storage ? source.storage->schema()->engine : "of a subquery");
    for (size_t i = 0; i < table.column_aliases.size() && i < source.columns.size(); ++i) {
        source.columns[i].first = table.column_aliases[i];
        if (i < source.visible_columns.size()) source.visible_columns[i] = table.column_aliases[i];
    }
}

TableSourcePtr Binder::subquerySource(QueryTreePtr tree, const sql::TableExpression& table) {
    auto source = std::make_shared<TableSource>();
    source->kind = TableSource::Kind::Subquery;
    source->columns = tree->columns;
    for (const auto& [name, type] : tree->columns) source->visible_columns.push_back(name);
    source->subquery = std::move(tree);
    finishSource(*source, table);
    return source;
}

const Scope::CommonTable* Binder::findCommonTable(const std::string& name, const Scope& scope) const {
    for (const Scope* at = &scope; at; at = at->parent)
        if (auto found = at->common_tables.find(name); found != at->common_tables.end()) return &found->second;
    return nullptr;
}

storage::TablePtr Binder::findTable(const std::string& database, const std::string& table, const Scope& /*scope*/) {
    if (database.empty()) {
        if (auto found = context_.temporary_tables.find(table); found != context_.temporary_tables.end()) return found->second;
    }
    if (!context_.catalog) throw Error(ErrorCode::UNKNOWN_TABLE, "Table {} does not exist", table);
    return context_.catalog->get(database.empty() ? context_.current_database : database, table);
}

void Binder::fillColumns(TableSource& source) {
    for (const storage::ColumnDefinition& column : source.storage->schema()->columns) {
        if (column.default_kind == storage::DefaultKind::Ephemeral) continue;
        source.columns.emplace_back(column.name, column.type);
        if (column.default_kind != storage::DefaultKind::Materialized && column.default_kind != storage::DefaultKind::Alias)
            source.visible_columns.push_back(column.name);
    }
}

TableSourcePtr Binder::bindNamedTable(const sql::TableExpression& table, Scope& scope) {
    std::string database = table.table.database;
    std::string name = table.table.table;
    if (table.parameter) {
        auto found = context_.parameters.find(table.parameter->name);
        if (found == context_.parameters.end())
            throw Error(ErrorCode::UNKNOWN_QUERY_PARAMETER, "Query parameter `{}` was not set", table.parameter->name);
        name = found->second;
    }
    if (database.empty()) {
        if (const Scope::CommonTable* common = findCommonTable(name, scope)) {
            // A common table sees what was there where it was written, not the query that uses it under its own name.
            Scope outside;
            outside.query = scope.query;
            for (const Scope* at = &scope; at; at = at->parent)
                for (const auto& [other, definition] : at->common_tables)
                    if (other != name) outside.common_tables.try_emplace(other, definition);
            for (const Scope* at = &scope; at; at = at->parent)
                if (at->select)
                    for (const sql::WithElement& element : at->select->with)
                        if (!element.query) collectAliases(element.expression, outside);
            sql::TableExpression named = table;
            named.column_aliases = table.column_aliases.empty() ? common->column_aliases : table.column_aliases;
            if (named.alias.empty()) named.alias = name;
            return subquerySource(bindQuery(*common->query, &outside, scope.query->settings), named);
        }
    }
    auto source = std::make_shared<TableSource>();
    source->kind = TableSource::Kind::Table;
    source->storage = findTable(database, name, scope);
    if (const auto schema = source->storage->schema(); !schema->view_query.empty()) {
        // A view is its query, with its own database and nothing of the session's.
        PlannerContext own = context_;
        own.secondary = false;
        own.current_database = schema->database;
        own.temporary_tables.clear();
        Binder binder(own);
        sql::TableExpression named = table;
        if (named.alias.empty()) named.alias = name;
        return subquerySource(binder.bindQuery(*sql::parseQuery(schema->view_query), nullptr, {}), named);
    }
    source->database = source->storage->schema()->database;
    source->table = source->storage->schema()->name;
    fillColumns(*source);
    finishSource(*source, table);
    return source;
}

TableSourcePtr Binder::bindTableFunction(const sql::TableExpression& table, Scope& scope) {
    const sql::Function& call = *table.function;
    if (call.name == "view" || call.name == "viewIfPermitted") {
        const sql::Subquery* inner = call.arguments.empty() ? nullptr : sql::as<sql::Subquery>(call.arguments[0].get());
        if (!inner) throw Error(ErrorCode::BAD_ARGUMENTS, "Table function '{}' requires a query argument.", call.name);
        // The text of a view is a query of its own, positions included.
        PlannerContext own = context_;
        own.secondary = false;
        Binder binder(own);
        return subquerySource(binder.bindQuery(*inner->query, nullptr, scope.query->settings), table);
    }
    storage::TableFunctionRequest request;
    request.name = call.name;
    request.current_database = context_.current_database;
    request.current_user = context_.functions ? context_.functions->current_user : "";
    for (const sql::ExpressionPtr& expression : call.arguments) {
        storage::Argument argument;
        argument.text = sql::toText(*expression);
        if (const auto* identifier = sql::as<sql::Identifier>(expression.get())) {
            argument.identifier = identifier->parts;
        } else if (const auto* function = sql::as<sql::Function>(expression.get());
                   !(function && (function->name == "view" || function->name == "viewIfPermitted" ||
                                  (context_.catalog && context_.catalog->findTableFunction(function->name))))) {
            const NodePtr node = bind(expression, scope).node;
            if (node->kind == Node::Kind::Constant) {
                argument.value = node->constant->value(0);
                argument.type = node->type;
            }
        }
        request.arguments.push_back(std::move(argument));
    }
    request.parse_structure = [this](const std::string& text) {
        std::vector<storage::ColumnDefinition> columns;
        for (const sql::ColumnDeclaration& declaration : sql::parseColumns(text)) {
            storage::ColumnDefinition column;
            column.name = declaration.name;
            column.type = parseType(declaration.type);
            columns.push_back(std::move(column));
        }
        return columns;
    };
    if (!context_.catalog) throw Error(ErrorCode::UNKNOWN_FUNCTION, "Unknown table function {}", call.name);
    auto source = std::make_shared<TableSource>();
    source->kind = TableSource::Kind::TableFunction;
    source->storage = context_.catalog->createTableFunction(call.name, std::move(request));
    source->function_text = sql::toText(call);
    fillColumns(*source);
    finishSource(*source, table);
    return source;
}

NodePtr finishNode(std::shared_ptr<Node> node) {
    if (node->kind == Node::Kind::Aggregate) node->has_aggregate = true;
    if (node->kind == Node::Kind::Window) node->has_window = true;
    if (node->kind == Node::Kind::ArrayJoinColumn && !node->arguments.empty()) node->has_array_join = true;
    for (const NodePtr& argument : node->arguments) {
        node->has_aggregate |= argument->has_aggregate;
        node->has_window |= argument->has_window;
        node->has_array_join |= argument->has_array_join;
    }
    nameNode(*node);
    return node;
}

}  // namespace shardd::plan
