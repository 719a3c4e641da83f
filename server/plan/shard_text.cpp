#include "server/plan/shard_text.h"

#include <algorithm>

#include "server/plan/node_syntax.h"
#include "server/plan/query_tree_walk.h"
#include "server/plan/select_planner.h"

namespace shardd::plan {

using storage::Stage;

namespace {

SyntaxOptions shardSyntax(const QueryNode& query,
                          SyntaxOptions::Dialect dialect,
                          const ShardTextParts& parts) {
    return {.dialect = dialect,
            .sent_sets = parts.sent_sets,
            .read = query.sources.empty() ? nullptr : query.sources[0].get(),
            .all_local = query.settings->distributed_product_mode == setting_types::DistributedProductMode::Local};
}

/// Lists are cut in filters only: elsewhere the name of a column may come from them.
std::shared_ptr<sql::Select> shardSelect(const QueryNode& query, const SyntaxOptions& options, const ShardTextParts& parts) {
    std::shared_ptr<sql::Select> select = selectSyntax(query, options);
    if (parts.lists.empty()) return select;
    SyntaxOptions shorter = options;
    shorter.lists = parts.lists;
    if (query.prewhere) select->prewhere = expressionSyntax(*query.prewhere, shorter);
    if (query.where) select->where = expressionSyntax(*query.where, shorter);
    return select;
}

Error cannotBeAsked(std::string_view what) {
    return Error(ErrorCode::NOT_IMPLEMENTED, "A shard older than 20.1 cannot be asked for {}", what);
}

/// An alias is visible everywhere in such a server's query, and goes before a column of its name.
bool hidesColumn(const QueryNode& query) {
    return std::ranges::any_of(query.projection, [&](const Projection& projection) {
        if (projection.node->kind == Node::Kind::Column && projection.node->column == projection.alias)
            return false;
        return std::ranges::any_of(query.sources, [&](const TableSourcePtr& source) {
            return std::ranges::any_of(source->columns,
                                       [&](const auto& column) { return column.first == projection.alias; });
        });
    });
}

/// SELECT __column1 AS v FROM (SELECT v + 1 AS __column1 …)
std::string renamedOutside(sql::Select& inner) {
    if (inner.totals) throw cannotBeAsked("totals beside an alias that hides a column");
    auto outer = std::make_shared<sql::Select>();
    for (size_t i = 0; i < inner.select.size(); ++i) {
        const std::string name = fmt::format("__column{}", i + 1);
        auto column = std::make_shared<sql::Identifier>(std::vector<std::string>{name});
        column->alias = std::exchange(inner.select[i]->alias, name);
        outer->select.push_back(std::move(column));
    }
    auto query = std::make_shared<sql::Query>();
    query->select = std::make_shared<sql::Select>(std::move(inner));
    sql::TableElement element;
    element.table.subquery = std::move(query);
    outer->from.push_back(std::move(element));
    return sql::toText(*outer, kForShards);
}

/// Rows to keep as a literal; nothing when the shard must send all: it skips none, and ties and shares of
/// rows are none of its words.
sql::ExpressionPtr keptRows(const QueryNode& query) {
    if (!query.limit || query.limit_with_ties) return nullptr;
    const RowCount limit = rowCount(query.limit);
    const RowCount offset = query.offset ? rowCount(query.offset) : RowCount{};
    if (!limit.plain() || !offset.plain()) return nullptr;
    return std::make_shared<sql::LiteralExpression>(sql::Literal{limit.rows + offset.rows});
}

/// An element of ARRAY JOIN has its name already, and may have it once only.
bool isCalled(const sql::Expression& column, const std::string& name) {
    const auto* identifier = sql::as<sql::Identifier>(&column);
    return identifier && identifier->parts.size() == 1 && identifier->parts[0] == name;
}

bool hasNullableArguments(const QueryNode& query) {
    return std::ranges::any_of(query.aggregates, [](const NodePtr& aggregate) {
        return std::ranges::any_of(aggregate->arguments, [](const NodePtr& argument) {
            return isNullableOrLowCardinalityNullable(argument->type);
        });
    });
}

/// What the columns of `wanted` are computed from, by their names.
std::vector<std::pair<std::string, NodePtr>> columnsBehind(const QueryNode& query, const Block& wanted) {
    std::map<std::string, NodePtr> nodes;
    forEachRoot(query, [&](const NodePtr& root) {
        walk(root, [&](const NodePtr& node) {
            nodes[node->name] = node;
            return true;
        });
    });
    for (const NodePtr& node : query.group_by) nodes[node->name] = node;
    std::vector<std::pair<std::string, NodePtr>> columns;
    for (const NamedColumn& column : wanted.columns)
        if (const auto found = nodes.find(column.name); found != nodes.end()) columns.emplace_back(column.name, found->second);
    return columns;
}

/// What the initiator does itself in stage 1 is left out.
void leaveOutWhatIsMerged(const QueryNode& query, sql::Select& select) {
    select.totals = select.rollup = select.cube = select.distinct = false;
    select.having = select.qualify = nullptr;
    const bool rows_pass =
        !query.aggregated() && query.windows.empty() && !query.distinct && !query.limit_by_limit;
    select.limit = rows_pass ? keptRows(query) : nullptr;
    select.limit_by.clear();
    select.limit_by_length = select.limit_by_offset = nullptr;
    if (query.aggregated() || !query.windows.empty()) select.order_by.clear();
}

}  // namespace

std::string shardText(const QueryNode& query, const ShardTextParts& parts) {
    return sql::toText(*shardSelect(query, shardSyntax(query, SyntaxOptions::Dialect::Analyzer, parts), parts), kForShards);
}

storage::LegacyQuery legacyShardText(const QueryNode& query,
                                     Stage stage,
                                     const Block& wanted,
                                     const ShardTextParts& parts) {
    SyntaxOptions options = shardSyntax(query, SyntaxOptions::Dialect::Legacy, parts);
    if (!query.grouping_sets.empty()) throw cannotBeAsked("GROUPING SETS");
    const std::shared_ptr<sql::Select> select = shardSelect(query, options, parts);
    if (stage == Stage::Complete)
        return {hidesColumn(query) ? renamedOutside(*select) : sql::toText(*select, kForShards), Stage::Complete};
    if (stage == Stage::WithMergeableState && hasNullableArguments(query))
        return {sql::toText(*select, kForShards), Stage::WithMergeableState};
    const std::vector<std::pair<std::string, NodePtr>> columns = columnsBehind(query, wanted);
    if (stage == Stage::WithMergeableState) {
        leaveOutWhatIsMerged(query, *select);
        options.states = true;
    } else {
        select->totals = false;
        select->limit =
            stage == Stage::WithMergeableStateAfterAggregationAndLimit ? keptRows(query) : nullptr;
        if (query.distinct && columns.size() > query.projection.size())
            throw cannotBeAsked("DISTINCT with ORDER BY of something else");
    }
    select->offset = nullptr;
    select->limit_with_ties = false;
    select->select.clear();
    for (const auto& [name, node] : columns) {
        sql::ExpressionPtr column = expressionSyntax(*node, options);
        if (!isCalled(*column, name)) column->alias = name;
        select->select.push_back(std::move(column));
    }
    // Without a column only the rows count.
    if (select->select.empty())
        select->select.push_back(std::make_shared<sql::LiteralExpression>(sql::Literal{uint64_t{1}}));
    return {sql::toText(*select, kForShards), Stage::Complete};
}

}  // namespace shardd::plan
