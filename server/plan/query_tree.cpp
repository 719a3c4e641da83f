#include "server/plan/query_tree.h"

#include "server/plan/query_tree_walk.h"

namespace shardd::plan {

bool readsSharded(const QueryTree& tree) {
    for (const QueryTreePtr& operand : tree.operands)
        if (readsSharded(*operand)) return true;
    if (!tree.select) return false;
    for (const TableSourcePtr& source : tree.select->sources) {
        if (source->kind == TableSource::Kind::Table && source->storage->distributed()) return true;
        if (source->subquery && readsSharded(*source->subquery)) return true;
    }
    return false;
}

void collectAggregates(QueryNode& query) {
    query.aggregates.clear();
    query.windows.clear();
    const auto collect = [&](const NodePtr& root) {
        walk(root, [&](const NodePtr& node) {
            if (node->kind == Node::Kind::Window) addDistinct(query.windows, node);
            if (node->kind == Node::Kind::Aggregate) {
                addDistinct(query.aggregates, node);
                return false;
            }
            return node->has_aggregate || node->has_window;
        });
    };
    for (const Projection& projection : query.projection) collect(projection.node);
    collect(query.having);
    collect(query.qualify);
    for (const OrderItem& item : query.order_by) collect(item.node);
    for (const NodePtr& node : query.limit_by) collect(node);
}

}  // namespace shardd::plan
