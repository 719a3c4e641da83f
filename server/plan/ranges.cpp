#include "server/plan/ranges.h"

#include <cmath>

#include "server/plan/exact_cast.h"

namespace shardd::plan {

namespace {

class RangeCollector {
public:
    RangeCollector(const TableSource& source, const PlannerContext& context)
        : source_(source), context_(context) {}

    void collect(const Node& node);

    std::vector<storage::ColumnRange> take() { return std::move(ranges_); }

private:
    const Node* column(const Node& node) const;
    std::optional<Value> constant(const Node& node, const Node& column) const;
    void comparison(std::string_view name, const Node& left, const Node& right);
    void membership(const Node& column, const Node& set);

    const TableSource& source_;
    const PlannerContext& context_;
    std::vector<storage::ColumnRange> ranges_;
};

const Node* RangeCollector::column(const Node& node) const {
    const bool ours = node.kind == Node::Kind::Column && node.source && node.source->id == source_.id;
    return ours ? &node : nullptr;
}

std::optional<Value> RangeCollector::constant(const Node& node, const Node& column) const {
    if (node.kind != Node::Kind::Constant) return std::nullopt;
    const Value value = node.constant->value(0);
    if (value.isNull()) return std::nullopt;
    ExactCast cast = castExactly(node.type, value, column.type, context_);
    if (cast.outcome != ExactCast::Outcome::Exact) return std::nullopt;
    if (cast.value.kind() == Value::Kind::Float64 && std::isnan(cast.value.get<double>()))
        return std::nullopt;
    return std::move(cast.value);
}

void RangeCollector::comparison(std::string_view name, const Node& left, const Node& right) {
    const Node* column_of = column(left);
    if (!column_of) return;
    auto value = constant(right, *column_of);
    if (!value) return;
    storage::ColumnRange range;
    range.column = column_of->column;
    if (name == "equals") {
        range.lower = *value;
        range.upper = std::move(*value);
    } else if (name.starts_with("less")) {
        range.upper = std::move(*value);
        range.upper_open = name == "less";
    } else {
        range.lower = std::move(*value);
        range.lower_open = name == "greater";
    }
    ranges_.push_back(std::move(range));
}

void RangeCollector::membership(const Node& column_of, const Node& set) {
    if (set.kind != Node::Kind::Set || set.subquery || !set.set_table.empty() || set.set_elements.empty())
        return;
    storage::ColumnRange range;
    range.column = column_of.column;
    for (const NodePtr& element : set.set_elements) {
        const bool null = element->kind == Node::Kind::Constant && element->constant->value(0).isNull();
        if (null) continue;
        const auto value = constant(*element, column_of);
        if (!value) return;  // one element that is not understood, and the list says nothing
        range.values.push_back(*value);
    }
    if (!range.values.empty()) ranges_.push_back(std::move(range));
}

void RangeCollector::collect(const Node& node) {
    if (node.kind != Node::Kind::Function) return;
    const std::string& name = node.function_name;
    if (name == "and") {
        for (const NodePtr& argument : node.arguments) collect(*argument);
        return;
    }
    if (node.arguments.size() != 2) return;
    const Node& left = *node.arguments[0];
    const Node& right = *node.arguments[1];
    if (name == "in") {
        // With NULLs as values, a list has more members than its ranges know.
        if (const Node* column_of = column(left); column_of && !context_.settings->transform_null_in)
            membership(*column_of, right);
        return;
    }
    static constexpr std::pair<std::string_view, std::string_view> kMirrors[] = {
        {"equals", "equals"},
        {"less", "greater"},
        {"greater", "less"},
        {"lessOrEquals", "greaterOrEquals"},
        {"greaterOrEquals", "lessOrEquals"},
    };
    for (const auto& [comparison_name, mirror] : kMirrors) {
        if (name != comparison_name) continue;
        column(left) ? comparison(name, left, right) : comparison(mirror, right, left);
    }
}

}  // namespace

std::vector<storage::ColumnRange> rangesOf(const NodePtr& condition,
                                           const TableSource& source,
                                           const PlannerContext& context) {
    if (!condition) return {};
    RangeCollector collector(source, context);
    collector.collect(*condition);
    return collector.take();
}

}  // namespace shardd::plan
