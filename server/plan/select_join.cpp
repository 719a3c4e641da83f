#include <algorithm>

#include "common/columns/create_column.h"
#include "server/functions/supertype.h"
#include "server/plan/node_name.h"
#include "server/plan/query_tree_walk.h"
#include "server/plan/select_planner.h"
#include "server/plan/sent_tables.h"

namespace shardd::plan {

using storage::Stage;

namespace {

/// Which of the two inputs' columns the node needs.
bool computable(const NodePtr& node, const Block& header) {
    bool all = true;
    bool any = false;
    walk(node, [&](const NodePtr& part) {
        if (part->kind != Node::Kind::Column) return true;
        any = true;
        all = all && header.find(part->name);
        return all;
    });
    return all && any;
}

void flatten(const NodePtr& node, std::vector<NodePtr>& conditions) {
    if (!node) return;
    if (node->kind == Node::Kind::Function && node->function_name == "and") {
        for (const NodePtr& argument : node->arguments) flatten(argument, conditions);
        return;
    }
    conditions.push_back(node);
}

/// A CROSS JOIN whose WHERE compares the sides is a join by keys; the filter stays where it is.
void addKeysOfWhere(const NodePtr& where,
                    const Block& left,
                    const Block& right,
                    std::vector<JoinNode::Key>& keys) {
    std::vector<NodePtr> conditions;
    flatten(where, conditions);
    for (const NodePtr& condition : conditions) {
        if (condition->kind != Node::Kind::Function || condition->function_name != "equals") continue;
        const NodePtr& a = condition->arguments[0];
        const NodePtr& b = condition->arguments[1];
        if (computable(a, left) && computable(b, right)) keys.push_back({a, b, false});
        if (computable(b, left) && computable(a, right)) keys.push_back({b, a, false});
    }
}

/// An input with more columns: its own and the expressions.
StepPtr withColumns(StepPtr input, std::vector<NamedExpression> more) {
    if (more.empty()) return input;
    ProjectStep project;
    Block header = input->header;
    for (const NamedColumn& column : header.columns)
        project.columns.push_back({column.name, inputExpression(column.name, column.type)});
    for (NamedExpression& each : more) {
        header.columns.push_back(
            {each.name, each.expression->type, ColumnPtr(createColumn(*each.expression->type))});
        project.columns.push_back(std::move(each));
    }
    project.input = std::move(input);
    return makeStep(std::move(project), std::move(header));
}

bool isSharded(const TableSource& source) {
    return (source.kind == TableSource::Kind::Table && source.storage->distributed()) ||
           (source.subquery && readsSharded(*source.subquery));
}

}  // namespace

/// GLOBAL JOIN: the right side is computed once, here, and travels with the query.
void SelectPlanner::sendJoinedTables(storage::RemoteQuery& query, std::map<std::string, std::string>& names) {
    for (size_t i = 0; i < query_.joins.size(); ++i) {
        const TableSource& source = *query_.sources[i + 1];
        const bool sharded = isSharded(source);
        const bool may_be_sent = sharded || source.kind == TableSource::Kind::Table ||
                                 (source.subquery && readsTables(*source.subquery));
        if (!query_.joins[i].global && !(may_be_sent && isSent(query_.settings, sharded))) continue;
        planSide(source);
        Block rows = step_->header.header();
        if (context_.run) {
            Block answer = context_.run(step_);
            if (answer.rows > 0) rows = std::move(answer);
            limitTransfer(query_.settings, rows);
        }
        for (NamedColumn& column : rows.columns) column.name = column.name.substr(source.id.size() + 1);
        const std::string table = fmt::format("_data_{}_{}", source.id, query.external_tables.size() + 1);
        names[source.id] = table;
        query.external_tables.emplace_back(table, std::vector<Block>{std::move(rows)});
    }
}

void SelectPlanner::planJoin(const JoinNode& join, const TableSource& source) {
    StepPtr left = step_;
    planSide(source);
    StepPtr right = step_;

    std::vector<JoinNode::Key> keys = join.keys;
    const bool plain = join.kind == JoinNode::Kind::Inner && join.strictness == JoinStep::Strictness::All;
    if (keys.empty() && plain) addKeysOfWhere(query_.where, left->header, right->header, keys);
    const Block left_header = left->header, right_header = right->header;
    Compiler left_compiler(left_header, context_), right_compiler(right_header, context_);
    std::vector<NamedExpression> left_columns, right_columns;
    JoinStep step;
    const auto addPair = [&](const NodePtr& left_node, const NodePtr& right_node, const std::string& name) {
        const ExpressionPtr a = left_compiler.compile(left_node), b = right_compiler.compile(right_node);
        const TypePtr type =
            functions::leastSupertype(removeLowCardinality(a->type), removeLowCardinality(b->type));
        left_columns.push_back({name + "_left", castExpression(a, type, context_)});
        right_columns.push_back({name + "_right", castExpression(b, type, context_)});
    };
    for (size_t i = 0; i < keys.size(); ++i) {
        addPair(keys[i].left, keys[i].right, fmt::format("__join_key_{}", i));
        step.left_keys.push_back(left_columns.back().name);
        step.right_keys.push_back(right_columns.back().name);
        step.null_safe.push_back(keys[i].null_safe);
    }
    if (join.asof) {
        addPair(join.asof->left, join.asof->right, "__join_asof");
        step.asof_left = left_columns.back().name;
        step.asof_right = right_columns.back().name;
        step.nearest = join.asof->nearest;
    }
    if (join.condition) {
        Block both = left_header;
        for (const NamedColumn& column : right_header.columns) both.columns.push_back(column);
        step.condition = Compiler(both, context_).compile(join.condition);
    }
    step.strictness = join.strictness;
    step.kind = join.kind == JoinNode::Kind::Inner
                    ? JoinStep::Kind::Inner
                    : (join.kind == JoinNode::Kind::Full ? JoinStep::Kind::Full : JoinStep::Kind::Left);
    step.left = withColumns(std::move(left), std::move(left_columns));
    step.right = withColumns(std::move(right), std::move(right_columns));
    if (join.kind == JoinNode::Kind::Right) {
        std::swap(step.left, step.right);
        std::swap(step.left_keys, step.right_keys);
    }
    Block header = joinedHeader(join, left_header, right_header);
    setStep(makeStep(std::move(step), std::move(header)));
}

Block SelectPlanner::joinedHeader(const JoinNode& join, const Block& left, const Block& right) const {
    const bool nulls = query_.settings->join_use_nulls && join.strictness != JoinStep::Strictness::Semi;
    const bool right_nullable =
        nulls && (join.kind == JoinNode::Kind::Left || join.kind == JoinNode::Kind::Full);
    const bool left_nullable =
        nulls && (join.kind == JoinNode::Kind::Right || join.kind == JoinNode::Kind::Full);
    Block header;
    const auto add = [&](const Block& side, bool nullable) {
        for (const NamedColumn& column : side.columns) {
            const bool can = removeLowCardinality(column.type)->canBeInsideNullable();
            const TypePtr type = nullable && can ? makeNullable(column.type) : column.type;
            header.columns.push_back({column.name, type, ColumnPtr(createColumn(*type))});
        }
    };
    add(left, left_nullable);
    add(right, right_nullable);
    return header;
}

/// A sharded table beside a local one: its rows come here first.
void SelectPlanner::planShardedSide(const TableSource& source, const std::vector<std::string>& needed) {
    auto inner = std::make_shared<QueryNode>();
    inner->settings = query_.settings;
    inner->settings.set("distributed_group_by_no_merge", "0");
    auto own = std::make_shared<TableSource>(source);
    inner->sources.push_back(own);
    auto tree = std::make_shared<QueryTree>();
    for (const std::string& name : needed) {
        auto column = std::make_shared<Node>();
        column->kind = Node::Kind::Column;
        column->source = own;
        column->column = name;
        column->type = source.storage->schema()->find(name)->type;
        nameNode(*column);
        inner->projection.push_back({column, name});
        tree->columns.emplace_back(name, column->type);
    }
    tree->select = inner;
    PlannerContext context = context_;
    context.stage = Stage::Complete;
    context.outermost = false;
    const StepPtr rows = planTree(tree, context, plan_, 0);
    ProjectStep rename;
    Block header;
    for (const NamedColumn& column : rows->header.columns) {
        rename.columns.push_back({source.id + "." + column.name, inputExpression(column.name, column.type)});
        header.columns.push_back({source.id + "." + column.name, column.type, column.column});
    }
    rename.input = rows;
    setStep(makeStep(std::move(rename), std::move(header)));
}

}  // namespace shardd::plan
