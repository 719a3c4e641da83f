#pragma once

#include <algorithm>

#include "server/plan/query_tree.h"

namespace shardd::plan {

/// Calls `visit` for the node and, while it answers true, for what stands below: arguments, a window's parts.
template <typename Visit>
void walk(const NodePtr& node, Visit&& visit) {
    if (!node || !visit(node)) return;
    for (const NodePtr& argument : node->arguments) walk(argument, visit);
    if (node->window) {
        for (const NodePtr& part : node->window->partition_by) walk(part, visit);
        for (const auto& order : node->window->order_by) walk(order.node, visit);
    }
}

/// Every expression of the query, each once: the roots to walk from.
template <typename Visit>
void forEachRoot(const QueryNode& query, Visit&& visit) {
    for (const JoinNode& join : query.joins) {
        if (join.on) visit(join.on);
        for (const JoinNode::Key& key : join.keys) {
            visit(key.left);
            visit(key.right);
        }
        if (join.asof) {
            visit(join.asof->left);
            visit(join.asof->right);
        }
    }
    for (const ArrayJoinElement& element : query.array_join) visit(element.array);
    for (const NodePtr& node : {query.prewhere, query.where}) visit(node);
    for (const Projection& projection : query.projection) visit(projection.node);
    for (const NodePtr& node : query.group_by) visit(node);
    for (const NodePtr& node : {query.having, query.qualify}) visit(node);
    for (const OrderItem& item : query.order_by) visit(item.node);
    for (const NodePtr& node : query.limit_by) visit(node);
}

inline bool containsName(const std::vector<NodePtr>& nodes, const std::string& name) {
    return std::any_of(nodes.begin(), nodes.end(), [&](const NodePtr& node) { return node->name == name; });
}

inline void addDistinct(std::vector<NodePtr>& nodes, const NodePtr& node) {
    if (!containsName(nodes, node->name)) nodes.push_back(node);
}

/// Whether no column, aggregate or parameter stands below, and nothing that depends on the server (hostName(),
/// shardNum()): the same for every row, wherever it is computed.
inline bool isRowless(const NodePtr& node) {
    bool rowless = true;
    walk(node, [&](const NodePtr& inner) {
        const bool is_call = inner->kind == Node::Kind::Function && !inner->function->traits().server_constant;
        if (inner->kind != Node::Kind::Constant && !is_call && inner->kind != Node::Kind::Set) rowless = false;
        return rowless;
    });
    return rowless;
}

/// Whether a table (not remote() or cluster()) whose rows are on shards stands anywhere in its FROM.
bool readsSharded(const QueryTree& tree);

/// Fills query.aggregates and query.windows from its clauses.
void collectAggregates(QueryNode& query);

}  // namespace shardd::plan
