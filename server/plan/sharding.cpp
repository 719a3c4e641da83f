#include "server/plan/sharding.h"

#include <algorithm>
#include <map>

#include "common/columns/const_column.h"
#include "common/columns/create_column.h"
#include "server/functions/set.h"
#include "server/plan/binder.h"
#include "server/plan/evaluate.h"
#include "server/plan/exact_cast.h"
#include "server/plan/query_tree_walk.h"
#include "server/sql/parser.h"
#include "server/storage/shard_slots.h"

namespace shardd::plan {

namespace {

/// Values of the key's columns (physical, of their types) that one row may have.
using Combination = std::map<std::string, Value>;
/// Nothing: any row may pass. An empty list: none does.
using Combinations = std::optional<std::vector<Combination>>;

/// The node when it is a column of the key.
const Node* keyColumn(const NodePtr& node, const ShardingKey& key, const TableSource& source) {
    const bool ours = node->kind == Node::Kind::Column && node->source && node->source->id == source.id;
    return ours && key.columns.contains(node->column) ? node.get() : nullptr;
}

class FilterReducer {
public:
    FilterReducer(const ShardingKey& key,
                  const TableSource& source,
                  uint64_t limit,
                  const PlannerContext& context)
        : key_(key), source_(source), limit_(limit ? limit : UINT64_MAX), context_(context) {}

    Combinations reduce(const NodePtr& node);
    Combinations both(Combinations left, Combinations right) const;

private:
    Combinations either(const Node& node);
    Combinations equality(const NodePtr& left, const NodePtr& right);
    Combinations membership(const Node& node);
    const Node* keyColumn(const NodePtr& node) const { return plan::keyColumn(node, key_, source_); }
    Combinations oneOf(const std::vector<const Node*>& columns, const std::vector<NodePtr>& rows);

    const ShardingKey& key_;
    const TableSource& source_;
    uint64_t limit_;
    const PlannerContext& context_;
};

Combinations FilterReducer::reduce(const NodePtr& node) {
    if (node->kind == Node::Kind::Constant) {
        const Value value = node->constant->value(0);
        const bool never = value.isNull() || (node->type->isNumber() && value.to<double>() == 0);
        return never ? Combinations(std::vector<Combination>{}) : std::nullopt;
    }
    if (node->kind != Node::Kind::Function) return std::nullopt;
    if (node->function_name == "and") {
        Combinations all;
        for (const NodePtr& argument : node->arguments) all = both(std::move(all), reduce(argument));
        return all;
    }
    if (node->function_name == "or") return either(*node);
    if (node->function_name == "equals") return equality(node->arguments[0], node->arguments[1]);
    if (node->function_name == "in" || node->function_name == "globalIn") return membership(*node);
    return std::nullopt;
}

Combinations FilterReducer::both(Combinations left, Combinations right) const {
    if (!left) return right;
    if (!right) return left;
    std::vector<Combination> joined;
    for (const Combination& a : *left) {
        for (const Combination& b : *right) {
            Combination merged = a;
            bool contradicts = false;
            for (const auto& [column, value] : b) {
                const auto [found, added] = merged.emplace(column, value);
                contradicts = contradicts || (!added && !(found->second == value));
            }
            if (contradicts) continue;
            joined.push_back(std::move(merged));
            if (joined.size() > limit_) return std::nullopt;
        }
    }
    return joined;
}

Combinations FilterReducer::either(const Node& node) {
    std::vector<Combination> united;
    for (const NodePtr& argument : node.arguments) {
        Combinations branch = reduce(argument);
        if (!branch || united.size() + branch->size() > limit_) return std::nullopt;
        std::move(branch->begin(), branch->end(), std::back_inserter(united));
    }
    return united;
}

Combinations FilterReducer::equality(const NodePtr& left, const NodePtr& right) {
    if (left->kind == Node::Kind::Constant && right->kind != Node::Kind::Constant)
        return equality(right, left);
    if (right->kind != Node::Kind::Constant) return std::nullopt;
    if (const Node* column = keyColumn(left)) return oneOf({column}, {right});
    return std::nullopt;
}

Combinations FilterReducer::membership(const Node& node) {
    const NodePtr& left = node.arguments[0];
    const Node& set = *node.arguments[1];
    if (set.kind != Node::Kind::Set || set.subquery || !set.set_table.empty()) return std::nullopt;
    if (const Node* column = keyColumn(left)) return oneOf({column}, set.set_elements);
    if (left->kind != Node::Kind::Function || left->function_name != "tuple") return std::nullopt;
    std::vector<const Node*> columns;
    for (const NodePtr& argument : left->arguments) columns.push_back(keyColumn(argument));
    if (std::all_of(columns.begin(), columns.end(), [](const Node* column) { return !column; }))
        return std::nullopt;
    return oneOf(columns, set.set_elements);
}

/// One combination a row; columns that are not the key's are nullptr and do not count.
Combinations FilterReducer::oneOf(const std::vector<const Node*>& columns, const std::vector<NodePtr>& rows) {
    if (rows.size() > limit_) return std::nullopt;
    std::vector<Combination> combinations;
    for (const NodePtr& row : rows) {
        if (row->kind != Node::Kind::Constant) return std::nullopt;
        const Value value = row->constant->value(0);
        const bool tuple = columns.size() > 1;
        if (tuple && (row->type->kind() != TypeKind::Tuple || row->type->children().size() != columns.size()))
            return std::nullopt;
        Combination combination;
        bool impossible = value.isNull();
        for (size_t i = 0; i < columns.size() && !impossible; ++i) {
            if (!columns[i]) continue;
            const Value& part = tuple ? value.elements()[i] : value;
            const ExactCast cast =
                castExactly(tuple ? row->type->child(i) : row->type, part, columns[i]->type, context_);
            if (cast.outcome == ExactCast::Outcome::Unknown) return std::nullopt;
            impossible = cast.outcome == ExactCast::Outcome::Impossible;
            if (!impossible) combination.emplace(columns[i]->column, cast.value);
        }
        if (!impossible) combinations.push_back(std::move(combination));
    }
    return combinations;
}

Block combinationBlock(const ShardingKey& key,
                       const TableSource& source,
                       const std::vector<Combination>& rows) {
    Block block;
    block.rows = rows.size();
    for (const auto& [name, type] : source.columns) {
        if (!key.columns.contains(name)) continue;
        MutableColumnPtr column = createColumn(*type);
        for (const Combination& row : rows) column->insert(row.at(name));
        block.columns.push_back({name, type, ColumnPtr(std::move(column))});
    }
    return block;
}

/// The shard of each row.
std::vector<size_t> shardsOf(const std::vector<Combination>& rows,
                             const ShardingKey& key,
                             const TableSource& source,
                             std::span<const uint32_t> weights) {
    std::vector<size_t> shards;
    if (rows.empty()) return shards;
    const ColumnPtr keys = fullPlain(evaluateNode(key.node, combinationBlock(key, source, rows)));
    const storage::ShardSlots slots(weights);
    PodVector<uint64_t> slot_of;
    slots.slotsOf(*removeLowCardinality(key.node->type), *keys, slot_of);
    for (const uint64_t slot : slot_of) shards.push_back(slots.shardOf(slot));
    return shards;
}

/// The shard of each element of an IN list, SIZE_MAX for those that no row can be; nothing when one of them is no value
/// that can be told.
std::optional<std::vector<size_t>> shardsOfElements(const Node& column,
                                                    const std::vector<NodePtr>& elements,
                                                    const ShardingKey& key,
                                                    const TableSource& source,
                                                    std::span<const uint32_t> weights,
                                                    const PlannerContext& context) {
    std::vector<size_t> shards(elements.size(), SIZE_MAX);
    std::vector<Combination> rows;
    std::vector<size_t> places;
    for (size_t i = 0; i < elements.size(); ++i) {
        if (elements[i]->kind != Node::Kind::Constant) return std::nullopt;
        const Value value = elements[i]->constant->value(0);
        if (value.isNull()) continue;
        const ExactCast cast = castExactly(elements[i]->type, value, column.type, context);
        if (cast.outcome == ExactCast::Outcome::Unknown) return std::nullopt;
        if (cast.outcome == ExactCast::Outcome::Impossible) continue;
        rows.push_back({{column.column, cast.value}});
        places.push_back(i);
    }
    const std::vector<size_t> found = shardsOf(rows, key, source, weights);
    for (size_t i = 0; i < found.size(); ++i) shards[places[i]] = found[i];
    return shards;
}

/// Adds the columns that can be told from the value of `node`.
void collectTold(const NodePtr& node, const TableSource& source, std::set<std::string>& columns) {
    if (node->kind == Node::Kind::Column) {
        if (node->source && node->source->id == source.id) columns.insert(node->column);
        return;
    }
    if (node->kind != Node::Kind::Function) return;
    std::vector<NamedColumn> arguments;
    for (const NodePtr& argument : node->arguments) {
        ColumnPtr constant;
        if (argument->kind == Node::Kind::Constant)
            constant = std::make_shared<ConstColumn>(argument->constant, 1);
        arguments.push_back({argument->old_name, argument->type, std::move(constant)});
    }
    const bool tuple = node->function_name == "tuple";
    if (!tuple && !node->function->function().injective(arguments)) return;
    for (const NodePtr& argument : node->arguments) collectTold(argument, source, columns);
}

bool usesColumn(const NodePtr& root, const std::string& name, const TableSource& source) {
    bool uses = false;
    walk(root, [&](const NodePtr& node) {
        uses = uses || (node->kind == Node::Kind::Column && node->source && node->source->id == source.id && node->column == name);
        return !uses;
    });
    return uses;
}

}  // namespace

std::optional<ShardingKey> bindShardingKey(const std::string& text,
                                           const std::vector<std::pair<std::string, TypePtr>>& columns,
                                           const PlannerContext& context) {
    if (text.empty()) return std::nullopt;
    ShardingKey key;
    key.node = bindExpression(sql::parseExpression(text), columns, context);
    const TypePtr type = removeLowCardinality(key.node->type);
    if (!storage::isShardingType(*type))
        throw Error(ErrorCode::TYPE_MISMATCH,
                    "Sharding expression has type {}, but should be one of integer type",
                    key.node->type->name());
    key.columns = usedColumns(*key.node);
    key.deterministic = isDeterministic(*key.node);
    return key;
}

std::string columnsLacking(const std::vector<NodePtr>& list, const ShardingKey& key, const TableSource& source) {
    if (key.columns.empty()) return "any column";
    std::set<std::string> told;
    for (const NodePtr& node : list) collectTold(node, source, told);
    std::string text;
    size_t count = 0;
    for (const std::string& column : key.columns) {
        if (told.contains(column)) continue;
        text += (text.empty() ? "" : ", ") + column;
        ++count;
        for (const NodePtr& node : list) {
            if (!usesColumn(node, column, source)) continue;
            text += fmt::format(" ({} does not tell it)", node->old_name);
            break;
        }
    }
    return text.empty() ? text : (count > 1 ? "columns " : "column ") + text;
}

ShardLists listsOfShards(const std::vector<NodePtr>& filters,
                         const ShardingKey& key,
                         const TableSource& source,
                         std::span<const uint32_t> weights,
                         const std::vector<size_t>& shards,
                         const PlannerContext& context) {
    ShardLists lists;
    if (key.columns.size() != 1) return lists;
    const auto visit = [&](const NodePtr& node) {
        if (node->kind != Node::Kind::Function || node->function_name != "in") return true;
        const Node* column = keyColumn(node->arguments[0], key, source);
        const Node* set = node->arguments[1].get();
        if (!column || set->kind != Node::Kind::Set || set->set_elements.size() < 2) return true;
        const auto shard_of = shardsOfElements(*column, set->set_elements, key, source, weights, context);
        if (!shard_of) return true;
        for (const size_t shard : shards) {
            std::vector<NodePtr> own;
            for (size_t i = 0; i < shard_of->size(); ++i)
                if ((*shard_of)[i] == shard) own.push_back(set->set_elements[i]);
            if (own.empty()) own.push_back(set->set_elements.back());
            if (own.size() < set->set_elements.size()) lists[shard][set] = std::move(own);
        }
        return true;
    };
    for (const NodePtr& filter : filters)
        if (filter) walk(filter, visit);
    return lists;
}

std::optional<std::vector<size_t>> shardsOfFilter(const std::vector<NodePtr>& filters,
                                                  const ShardingKey& key,
                                                  const TableSource& source,
                                                  std::span<const uint32_t> weights,
                                                  uint64_t limit,
                                                  const PlannerContext& context) {
    FilterReducer reducer(key, source, limit, context);
    Combinations combinations;
    for (const NodePtr& filter : filters)
        if (filter) combinations = reducer.both(std::move(combinations), reducer.reduce(filter));
    if (!combinations) return std::nullopt;
    for (const Combination& each : *combinations)
        for (const std::string& column : key.columns)
            if (!each.contains(column)) return std::nullopt;
    const std::vector<size_t> shard_of = shardsOf(*combinations, key, source, weights);
    const std::set<size_t> shards(shard_of.begin(), shard_of.end());
    return std::vector<size_t>(shards.begin(), shards.end());
}

}  // namespace shardd::plan
