#include <functional>

#include "server/plan/explain.h"

/// EXPLAIN PLAN and EXPLAIN QUERY TREE.
namespace shardd::plan {

namespace {

std::string join(const std::vector<std::string>& list) {
    std::string text;
    for (const auto& each : list) text += (text.empty() ? "" : ", ") + each;
    return text;
}

std::string keysText(const std::vector<SortKey>& keys) {
    std::string text;
    for (const SortKey& key : keys)
        text += (text.empty() ? "" : ", ") + key.column + (key.descending ? " DESC" : " ASC");
    return text;
}

std::string callsText(const std::vector<AggregateCall>& calls) {
    std::string text;
    for (const AggregateCall& call : calls) text += (text.empty() ? "" : ", ") + call.name;
    return text;
}

std::string rowsText(const RowCount& count) {
    if (count.fraction > 0) return fmt::format("{} of all", count.fraction);
    return (count.from_end ? "-" : "") + std::to_string(count.rows);
}

/// Writes a step and, deeper, those that it reads.
class StepWriter {
public:
    void write(const StepPtr& step);

    std::vector<std::string> take() { return std::move(lines_); }

private:
    void line(const std::string& text) { lines_.push_back(std::string(2 * depth_, ' ') + text); }

    void detail(const std::string& name, const std::string& value) {
        if (!value.empty()) lines_.push_back(std::string(2 * depth_ + 2, ' ') + name + ": " + value);
    }

    void node(const ScanStep& step);
    void node(const RemoteScanStep& step);
    void node(const GroupCheckStep& step);
    void node(const SourceStep& step);
    void node(const FilterStep& step);
    void node(const ProjectStep& step);
    void node(const ArrayJoinStep& step);
    void node(const AggregateStep& step);
    void node(const MergeStatesStep& step);
    void node(const TotalsStep& step);
    void node(const RollupStep& step);
    void node(const SortStep& step);
    void node(const MergeSortedStep& step);
    void node(const LimitStep& step);
    void node(const LimitByStep& step);
    void node(const DistinctStep& step);
    void node(const UnionStep& step);
    void node(const IntersectExceptStep& step);
    void node(const FillStep& step);
    void node(const WindowStep& step);
    void node(const ExtremesStep& step);
    void node(const JoinStep& step);
    void node(const LimitsStep& step);

    std::vector<std::string> lines_;
    size_t depth_ = 0;
};

void StepWriter::write(const StepPtr& step) {
    std::visit([&](const auto& each) { node(each); }, step->node);
    ++depth_;
    std::visit(
        [&](const auto& each) {
            if constexpr (requires { each.input; })
                write(each.input);
            else if constexpr (requires { each.inputs; })
                for (const StepPtr& input : each.inputs) write(input);
            else if constexpr (requires { each.left; }) {
                write(each.left);
                write(each.right);
            }
        },
        step->node);
    --depth_;
}

void StepWriter::node(const ScanStep& step) {
    const auto schema = step.table->schema();
    line(fmt::format("ReadFromTable ({}{})", schema->database.empty() ? "" : schema->database + ".",
                     schema->name));
    detail("Columns", join(step.columns));
    if (step.prewhere) detail("Prewhere", step.prewhere->name);
    std::vector<std::string> ranges;
    for (const auto& range : step.ranges) ranges.push_back(range.column);
    detail("Ranges on", join(ranges));
    if (step.limit_rows) detail("Rows wanted", std::to_string(step.limit_rows));
}

void StepWriter::node(const RemoteScanStep& step) {
    line("ReadFromShards");
    detail("Shards", std::to_string(step.query.shards.size()));
    detail("Stage", stageText(step.query.stage));
    detail("Query", step.query.text);
}

void StepWriter::node(const SourceStep& step) { line("ReadFromSource (" + step.description + ")"); }

void StepWriter::node(const FilterStep& step) {
    line("Filter");
    detail("Condition", step.condition->name);
}

void StepWriter::node(const ProjectStep& step) {
    line("Expression");
    std::vector<std::string> names;
    for (const NamedExpression& column : step.columns) names.push_back(column.name);
    detail("Columns", join(names));
}

void StepWriter::node(const ArrayJoinStep& step) {
    line(step.left ? "LeftArrayJoin" : "ArrayJoin");
    detail("Columns", join(step.columns));
}

void StepWriter::node(const AggregateStep& step) {
    line(step.finish ? "Aggregating" : "Aggregating (states)");
    detail("Keys", join(step.keys));
    detail("Aggregates", callsText(step.calls));
    std::vector<std::string> order;
    for (const KeyOrderElement& element : step.key_order) order.push_back(element.text + (element.descending ? " DESC" : " ASC"));
    detail("Order", join(order));
    if (!step.grouping_sets.empty()) detail("Grouping sets", std::to_string(step.grouping_sets.size()));
}

void StepWriter::node(const GroupCheckStep& step) {
    line("CheckingGroups");
    detail("Sharding key", step.slots.key.text);
}

void StepWriter::node(const MergeStatesStep& step) {
    line("MergingAggregated");
    detail("Keys", join(step.keys));
    detail("Aggregates", callsText(step.calls));
}

void StepWriter::node(const TotalsStep& step) {
    line("TotalsHaving");
    if (step.having) detail("Condition", step.having->name);
}

void StepWriter::node(const RollupStep& step) {
    line(step.cube ? "Cube" : "Rollup");
    detail("Keys", join(step.keys));
}

void StepWriter::node(const SortStep& step) {
    line("Sorting");
    detail("Sort description", keysText(step.keys));
    if (step.limit) detail("Limit", std::to_string(step.limit));
}

void StepWriter::node(const MergeSortedStep& step) {
    line("MergingSorted");
    detail("Sort description", keysText(step.keys));
    if (step.limit) detail("Limit", std::to_string(step.limit));
}

void StepWriter::node(const LimitStep& step) {
    line("Limit");
    if (step.limit) detail("Limit", rowsText(*step.limit) + (step.with_ties ? " with ties" : ""));
    detail("Offset", rowsText(step.offset));
}

void StepWriter::node(const LimitByStep& step) {
    line("LimitBy");
    detail("Columns", join(step.columns));
    detail("Limit", std::to_string(step.limit));
}

void StepWriter::node(const DistinctStep& step) {
    line("Distinct");
    detail("Columns", join(step.columns));
}

void StepWriter::node(const UnionStep&) { line("Union"); }

void StepWriter::node(const IntersectExceptStep& step) {
    const bool except = step.kind == IntersectExceptStep::Kind::Except ||
                        step.kind == IntersectExceptStep::Kind::ExceptDistinct;
    line(except ? "Except" : "Intersect");
}

void StepWriter::node(const FillStep& step) {
    line("Filling");
    std::vector<std::string> names;
    for (const auto& column : step.columns) names.push_back(column.key.column);
    detail("Columns", join(names));
}

void StepWriter::node(const WindowStep& step) {
    line("Window");
    detail("Partition by", join(step.partition_by));
    detail("Order by", keysText(step.order_by));
    std::vector<std::string> names;
    for (const auto& call : step.calls) names.push_back(call.name);
    detail("Functions", join(names));
}

void StepWriter::node(const JoinStep& step) {
    static constexpr const char* kKinds[] = {"INNER", "LEFT", "FULL"};
    static constexpr const char* kStrictness[] = {"ALL", "ANY", "SEMI", "ANTI", "ASOF"};
    line("Join");
    detail("Type", fmt::format("{} {}", kStrictness[static_cast<size_t>(step.strictness)], kKinds[static_cast<size_t>(step.kind)]));
    detail("Left keys", join(step.left_keys));
    detail("Right keys", join(step.right_keys));
    if (step.condition) detail("Condition", step.condition->name);
}

void StepWriter::node(const ExtremesStep&) { line("Extremes"); }

void StepWriter::node(const LimitsStep& step) {
    line("Limits");
    if (step.max_rows) detail("Rows", std::to_string(step.max_rows));
    if (step.max_bytes) detail("Bytes", std::to_string(step.max_bytes));
}

// ------------------------------------------------------------------------------ query tree

class TreeWriter {
public:
    void tree(const QueryTree& tree);

    std::vector<std::string> take() { return std::move(lines_); }

private:
    void line(const std::string& text) { lines_.push_back(std::string(2 * depth_, ' ') + text); }

    void section(const std::string& title, const std::function<void()>& content) {
        line(title);
        ++depth_;
        content();
        --depth_;
    }

    void node(const Node& node);
    void list(const std::string& title, const std::vector<NodePtr>& nodes);
    void optional(const std::string& title, const NodePtr& node_of);
    void query(const QueryNode& query);
    void source(const TableSource& source);

    std::vector<std::string> lines_;
    size_t depth_ = 0;
};

void TreeWriter::node(const Node& node_of) {
    static constexpr const char* kKinds[] = {"COLUMN",   "ARRAY JOIN COLUMN", "PARAMETER", "CONSTANT",
                                             "FUNCTION", "AGGREGATE",         "WINDOW",    "LAMBDA",
                                             "SET",      "GROUPING"};
    line(fmt::format("{} {}, type: {}", kKinds[static_cast<size_t>(node_of.kind)], node_of.name,
                     node_of.type ? node_of.type->name() : "?"));
    ++depth_;
    for (const NodePtr& argument : node_of.arguments) node(*argument);
    if (node_of.subquery) tree(*node_of.subquery);
    --depth_;
}

void TreeWriter::list(const std::string& title, const std::vector<NodePtr>& nodes) {
    if (nodes.empty()) return;
    section(title, [&] {
        for (const NodePtr& each : nodes) node(*each);
    });
}

void TreeWriter::optional(const std::string& title, const NodePtr& node_of) {
    if (node_of) section(title, [&] { node(*node_of); });
}

void TreeWriter::source(const TableSource& source_of) {
    switch (source_of.kind) {
        case TableSource::Kind::None:
            line("ONE ROW");
            return;
        case TableSource::Kind::Table:
            line(fmt::format("TABLE {}.{}, alias: {}", source_of.database, source_of.table, source_of.id));
            return;
        case TableSource::Kind::TableFunction:
            line(fmt::format("TABLE_FUNCTION {}, alias: {}", source_of.function_text, source_of.id));
            return;
        case TableSource::Kind::Subquery:
            line("SUBQUERY alias: " + source_of.id);
            ++depth_;
            tree(*source_of.subquery);
            --depth_;
            return;
    }
}

void TreeWriter::query(const QueryNode& query_of) {
    line(query_of.distinct ? "QUERY is_distinct: 1" : "QUERY");
    ++depth_;
    section("PROJECTION COLUMNS", [&] {
        for (const Projection& each : query_of.projection) line(each.alias + " " + each.node->type->name());
    });
    section("PROJECTION", [&] {
        for (const Projection& each : query_of.projection) node(*each.node);
    });
    section("JOIN TREE", [&] {
        for (const TableSourcePtr& each : query_of.sources) source(*each);
    });
    if (!query_of.array_join.empty())
        section(query_of.left_array_join ? "LEFT ARRAY JOIN" : "ARRAY JOIN", [&] {
            for (const ArrayJoinElement& each : query_of.array_join) node(*each.array);
        });
    optional("PREWHERE", query_of.prewhere);
    optional("WHERE", query_of.where);
    list("GROUP BY", query_of.group_by);
    optional("HAVING", query_of.having);
    optional("QUALIFY", query_of.qualify);
    if (!query_of.order_by.empty())
        section("ORDER BY", [&] {
            for (const OrderItem& item : query_of.order_by)
                section(
                    item.descending ? "SORT sort_direction: DESCENDING" : "SORT sort_direction: ASCENDING",
                    [&] { node(*item.node); });
        });
    list("LIMIT BY", query_of.limit_by);
    optional("LIMIT", query_of.limit);
    optional("OFFSET", query_of.offset);
    --depth_;
}

void TreeWriter::tree(const QueryTree& tree_of) {
    if (tree_of.operation == SetOperation::Select) return query(*tree_of.select);
    static constexpr const char* kOperations[] = {
        "",           "UNION ALL",      "UNION DISTINCT", "INTERSECT ALL", "INTERSECT DISTINCT",
        "EXCEPT ALL", "EXCEPT DISTINCT"};
    section(std::string("UNION mode: ") + kOperations[static_cast<size_t>(tree_of.operation)], [&] {
        for (const QueryTreePtr& operand : tree_of.operands) tree(*operand);
    });
}

}  // namespace

std::vector<std::string> stepLines(const StepPtr& root) {
    StepWriter writer;
    writer.write(root);
    return writer.take();
}

std::vector<std::string> queryTreeLines(const QueryTree& tree) {
    TreeWriter writer;
    writer.tree(tree);
    return writer.take();
}

}  // namespace shardd::plan
