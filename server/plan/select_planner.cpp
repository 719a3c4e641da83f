#include "server/plan/select_planner.h"

#include <algorithm>
#include <unordered_set>

#include "common/columns/create_column.h"
#include "server/plan/query_tree_walk.h"

namespace shardd::plan {

using storage::Stage;

namespace {

/// Columns of a header by node: the node's name and type.
void addColumn(Block& header, const std::string& name, const TypePtr& type) {
    if (!header.find(name)) header.columns.push_back({name, type, ColumnPtr(createColumn(*type))});
}

/// Plain Complete names may repeat: `SELECT 1 AS a, 2 AS a`.
void appendColumn(Block& header, const std::string& name, const TypePtr& type) {
    header.columns.push_back({name, type, ColumnPtr(createColumn(*type))});
}

uint64_t plainNumber(const NodePtr& node) {
    if (!node) return 0;
    const RowCount count = rowCount(node);
    return count.plain() ? count.rows : 0;
}

}  // namespace

RowCount rowCount(const NodePtr& node) {
    RowCount result;
    const Value value = node->constant->value(0);
    if (value.isNull()) return result;
    if (value.kind() == Value::Kind::Float64) {
        const double number = value.get<double>();
        if (number > 0 && number < 1) {
            result.fraction = number;
            return result;
        }
        if (number != static_cast<double>(static_cast<int64_t>(number)))
            throw Error(ErrorCode::INVALID_LIMIT_EXPRESSION, "The value {} of LIMIT expression is not representable as UInt64", number);
        result.from_end = number < 0;
        result.rows = static_cast<uint64_t>(number < 0 ? -number : number);
        return result;
    }
    if (value.kind() == Value::Kind::Int64 && value.get<int64_t>() < 0) {
        result.from_end = true;
        result.rows = static_cast<uint64_t>(-value.get<int64_t>());
        return result;
    }
    result.rows = value.to<uint64_t>();
    return result;
}

void SelectPlanner::setStep(StepPtr step) {
    step_ = std::move(step);
    compiler_ = std::make_unique<Compiler>(step_->header, context_);
    setGroupingSets(*compiler_);
}

void SelectPlanner::setGroupingSets(Compiler& compiler) const {
    std::vector<std::string> keys;
    for (const NodePtr& key : query_.group_by) keys.push_back(key->name);
    std::vector<std::vector<size_t>> sets = query_.grouping_sets;
    // ROLLUP and CUBE are sets too: their levels in the order that RollupStep numbers them.
    if (query_.rollup)
        for (size_t kept = keys.size() + 1; kept-- > 0;) {
            sets.emplace_back();
            for (size_t i = 0; i < kept; ++i) sets.back().push_back(i);
        }
    if (query_.cube && keys.size() < 16)
        for (size_t mask = size_t{1} << keys.size(); mask-- > 0;) {
            sets.emplace_back();
            for (size_t i = 0; i < keys.size(); ++i)
                if (mask >> (keys.size() - 1 - i) & 1) sets.back().push_back(i);
        }
    compiler.setGroupingSets(std::move(keys), std::move(sets));
}

ExpressionPtr SelectPlanner::compile(const NodePtr& node) { return compiler_->compile(node); }

void SelectPlanner::filter(const NodePtr& condition) {
    Block header = step_->header;
    setStep(makeStep(FilterStep{step_, compile(condition)}, std::move(header)));
}

void SelectPlanner::compute(const std::vector<NodePtr>& nodes, bool keep_all) {
    ProjectStep project;
    Block header;
    if (keep_all)
        for (const NamedColumn& column : step_->header.columns) {
            project.columns.push_back({column.name, inputExpression(column.name, column.type)});
            addColumn(header, column.name, column.type);
        }
    for (const NodePtr& node : nodes) {
        if (header.find(node->name)) continue;
        ExpressionPtr expression = compile(node);
        addColumn(header, node->name, expression->type);
        project.columns.push_back({node->name, std::move(expression)});
    }
    project.input = step_;
    setStep(makeStep(std::move(project), std::move(header)));
}

void SelectPlanner::applyArrayJoins(const std::vector<NodePtr>& nodes) {
    std::vector<NodePtr> calls;
    for (const NodePtr& root : nodes) {
        std::vector<NodePtr> found;
        walk(root, [&](const NodePtr& node) {
            if (!node->has_array_join || available(node)) return false;
            if (node->kind == Node::Kind::ArrayJoinColumn) found.push_back(node);
            return true;
        });
        // Inner calls first: their rows are what outer ones see.
        for (auto call = found.rbegin(); call != found.rend(); ++call) addDistinct(calls, *call);
    }
    for (const NodePtr& call : calls) {
        ProjectStep project;
        Block header;
        for (const NamedColumn& column : step_->header.columns) {
            project.columns.push_back({column.name, inputExpression(column.name, column.type)});
            addColumn(header, column.name, column.type);
        }
        ExpressionPtr array = compile(call->arguments[0]);
        addColumn(header, call->name, array->type);
        project.columns.push_back({call->name, std::move(array)});
        project.input = step_;
        Block joined = header;
        for (NamedColumn& column : joined.columns)
            if (column.name == call->name) column = {call->name, call->type, ColumnPtr(createColumn(*call->type))};
        StepPtr arrays = makeStep(std::move(project), std::move(header));
        setStep(makeStep(ArrayJoinStep{std::move(arrays), {call->name}, false}, std::move(joined)));
    }
}

std::vector<std::string> SelectPlanner::keyNames() const {
    std::vector<std::string> names;
    for (const NodePtr& key : query_.group_by) names.push_back(key->name);
    return names;
}

std::vector<AggregateCall> SelectPlanner::calls(bool over_states) const {
    std::vector<AggregateCall> result;
    for (const NodePtr& node : query_.aggregates) {
        AggregateCall call{node->aggregate, {}, node->name};
        if (over_states)
            call.arguments.push_back(node->name);
        else
            for (const NodePtr& argument : node->arguments) call.arguments.push_back(argument->name);
        result.push_back(std::move(call));
    }
    return result;
}

std::vector<SortKey> SelectPlanner::sortKeys() const {
    std::vector<SortKey> keys;
    for (const OrderItem& item : query_.order_by)
        keys.push_back({item.node->name, item.descending, item.nulls_first == item.descending ? 1 : -1});
    return keys;
}

uint64_t SelectPlanner::keptRows() const {
    if (!query_.limit || query_.limit_with_ties) return 0;
    const RowCount limit = rowCount(query_.limit);
    const RowCount offset = query_.offset ? rowCount(query_.offset) : RowCount{};
    if (!limit.plain() || !offset.plain() || limit.rows == 0) return 0;
    return limit.rows > UINT64_MAX - offset.rows ? 0 : limit.rows + offset.rows;
}

bool SelectPlanner::countsAllRows() const {
    return query_.settings->exact_rows_before_limit || query_.settings->distributed_totals == setting_types::DistributedTotals::Exact;
}

std::vector<NodePtr> SelectPlanner::outputNodes() const {
    std::vector<NodePtr> nodes;
    for (const Projection& projection : query_.projection) addDistinct(nodes, projection.node);
    for (const OrderItem& item : query_.order_by) addDistinct(nodes, item.node);
    for (const NodePtr& node : query_.limit_by) addDistinct(nodes, node);
    return nodes;
}

std::vector<NodePtr> SelectPlanner::outputLeaves() const {
    std::vector<NodePtr> leaves;
    for (const NodePtr& root : outputNodes())
        walk(root, [&](const NodePtr& node) {
            if (containsName(query_.group_by, node->name) || node->kind == Node::Kind::Aggregate || node->kind == Node::Kind::Column ||
                node->kind == Node::Kind::ArrayJoinColumn) {
                addDistinct(leaves, node);
                return false;
            }
            return true;
        });
    return leaves;
}

StepPtr SelectPlanner::plan() {
    planSource();
    if (from_ == Stage::Complete) return step_;
    const bool aggregated = query_.aggregated();
    if (from_ == Stage::FetchColumns) {
        planArrayJoinClause();
        planWhere();
    }
    if (from_ < Stage::WithMergeableStateAfterAggregation) {
        if (aggregated) {
            planAggregation();
            if (to_ == Stage::WithMergeableState) return finishUnfinished();
            planAfterStates();
        } else if (query_.having && to_ != Stage::WithMergeableState) {
            filter(query_.having);
        }
        if (to_ == Stage::WithMergeableState && !query_.windows.empty()) return finishUnfinished();
        planWindows();
        if (query_.qualify) filter(query_.qualify);
        planProjectionAndOrder();
    } else if (!query_.order_by.empty()) {
        const uint64_t kept = keptRows();
        Block header = step_->header;
        setStep(makeStep(MergeSortedStep{step_, sortKeys(), kept, false}, std::move(header)));
        planFill();
    }
    if (to_ == Stage::WithMergeableState || to_ == Stage::WithMergeableStateAfterAggregation) return finishUnfinished();
    planLimit();
    return to_ == Stage::Complete ? finish() : finishUnfinished();
}

void SelectPlanner::planArrayJoinClause() {
    for (size_t from = 0; from < query_.array_join.size();) {
        size_t to = from;
        while (to < query_.array_join.size() && query_.array_join[to].clause == query_.array_join[from].clause) ++to;
        planArrayJoin(std::span(query_.array_join).subspan(from, to - from));
        from = to;
    }
}

/// Arrays of one ARRAY JOIN, side by side.
void SelectPlanner::planArrayJoin(std::span<const ArrayJoinElement> elements) {
    ProjectStep project;
    Block header;
    for (const NamedColumn& column : step_->header.columns) {
        project.columns.push_back({column.name, inputExpression(column.name, column.type)});
        addColumn(header, column.name, column.type);
    }
    ArrayJoinStep join;
    join.left = elements[0].left;
    for (const ArrayJoinElement& element : elements) {
        if (header.find(element.column->name)) continue;
        ExpressionPtr array = compile(element.array);
        addColumn(header, element.column->name, array->type);
        project.columns.push_back({element.column->name, std::move(array)});
        join.columns.push_back(element.column->name);
    }
    project.input = step_;
    Block joined = header;
    for (const ArrayJoinElement& element : elements)
        for (NamedColumn& column : joined.columns)
            if (column.name == element.column->name) column = {column.name, element.column->type, ColumnPtr(createColumn(*element.column->type))};
    join.input = makeStep(std::move(project), std::move(header));
    setStep(makeStep(std::move(join), std::move(joined)));
}

void SelectPlanner::planWhere() {
    // A PREWHERE that the scan did not take (a subquery, a table that cannot) filters first.
    for (const NodePtr& condition : {query_.prewhere, query_.where}) {
        if (!condition || (condition == query_.prewhere && prewhere_taken_) || (condition == query_.where && where_taken_)) continue;
        applyArrayJoins({condition});
        filter(condition);
    }
}

void SelectPlanner::planAggregation() {
    const bool plain = !query_.rollup && !query_.cube && !query_.totals;
    const bool finish_here = plain && to_ != Stage::WithMergeableState;
    const bool constant_keys = query_.has_group_by && query_.group_by.empty();
    const bool empty_without_input = constant_keys ? bool(query_.settings->empty_result_for_aggregation_by_constant_keys_on_empty_set)
                                                   : bool(query_.settings->empty_result_for_aggregation_by_empty_set);
    Block header;
    if (!query_.grouping_sets.empty()) addColumn(header, "__grouping_set", types::uint64());
    // Keys that a grouping set leaves out are NULL where that is wanted, defaults else.
    const bool nulls = query_.settings->group_by_use_nulls && !query_.grouping_sets.empty();
    for (const NodePtr& key : query_.group_by) addColumn(header, key->name, nulls ? makeNullable(key->type) : key->type);
    for (const NodePtr& node : query_.aggregates)
        addColumn(header, node->name, finish_here ? node->type : node->aggregate->stateType());
    const std::string overflow = query_.settings.get("group_by_overflow_mode");

    if (from_ == Stage::WithMergeableState) {
        MergeStatesStep merge;
        merge.input = step_;
        merge.keys = keyNames();
        merge.calls = calls(true);
        merge.finish = finish_here;
        merge.has_grouping_set_column = !query_.grouping_sets.empty();
        merge.overflow_row = query_.totals && query_.settings->max_rows_to_group_by > 0 && overflow == "any";
        merge.by_buckets = sendsBuckets();
        setStep(makeStep(std::move(merge), std::move(header)));
        return;
    }
    std::vector<NodePtr> inputs = query_.group_by;
    for (const NodePtr& node : query_.aggregates)
        for (const NodePtr& argument : node->arguments) addDistinct(inputs, argument);
    applyArrayJoins(inputs);
    compute(inputs, false);

    AggregateStep aggregate;
    aggregate.input = step_;
    aggregate.keys = keyNames();
    aggregate.calls = calls(false);
    aggregate.finish = finish_here;
    aggregate.empty_result_without_input = empty_without_input;
    aggregate.grouping_sets = query_.grouping_sets;
    aggregate.by_buckets = sendsBuckets();
    aggregate.max_groups = query_.settings->max_rows_to_group_by;
    aggregate.overflow = overflow == "any" ? OverflowMode::Any : overflow == "break" ? OverflowMode::Break : OverflowMode::Throw;
    aggregate.overflow_row = query_.totals && aggregate.max_groups > 0 && aggregate.overflow == OverflowMode::Any;
    const bool any_groups = query_.order_by.empty() && !query_.having && !query_.qualify && query_.windows.empty() && !query_.limit_by_limit &&
                            !query_.distinct && plain && query_.grouping_sets.empty() && to_ != Stage::WithMergeableState;
    if (any_groups && !query_.group_by.empty() && !query_.settings->exact_rows_before_limit)
        aggregate.limit_groups = query_.limit ? keptRows() : limit_rows_;
    if (plain) orderGroups(aggregate);
    setStep(makeStep(std::move(aggregate), std::move(header)));
    checkGroups();
}

void SelectPlanner::planAfterStates() {
    NodePtr having = query_.having;
    if (query_.rollup || query_.cube) {
        RollupStep rollup;
        rollup.input = step_;
        rollup.keys = keyNames();
        rollup.calls = calls(true);
        rollup.cube = query_.cube;
        rollup.use_nulls = query_.settings->group_by_use_nulls;
        rollup.totals = query_.totals;
        if (sendsTotalsAsStates()) rollup.states_to = context_.activity;
        Block header;
        addColumn(header, "__grouping_set", types::uint64());
        for (const NodePtr& key : query_.group_by) addColumn(header, key->name, rollup.use_nulls ? makeNullable(key->type) : key->type);
        for (const NodePtr& node : query_.aggregates) addColumn(header, node->name, node->type);
        setStep(makeStep(std::move(rollup), std::move(header)));
    } else if (query_.totals) {
        TotalsStep totals;
        totals.input = step_;
        totals.keys = keyNames();
        totals.calls = calls(true);
        Block header;
        if (!query_.grouping_sets.empty()) addColumn(header, "__grouping_set", types::uint64());
        for (const NodePtr& key : query_.group_by) addColumn(header, key->name, key->type);
        for (const NodePtr& node : query_.aggregates) addColumn(header, node->name, node->type);
        if (having) totals.having = Compiler(header, context_).compile(having);
        const std::string mode = query_.settings.get("totals_mode");
        totals.mode = mode == "before_having"            ? TotalsMode::BeforeHaving
                      : mode == "after_having_inclusive" ? TotalsMode::AfterHavingInclusive
                      : mode == "after_having_auto"      ? TotalsMode::AfterHavingAuto
                                                         : TotalsMode::AfterHavingExclusive;
        totals.auto_threshold = static_cast<double>(query_.settings->totals_auto_threshold);
        if (sendsTotalsAsStates()) totals.states_to = context_.activity;
        having = nullptr;
        setStep(makeStep(std::move(totals), std::move(header)));
    }
    if (having) {
        applyArrayJoins({having});
        filter(having);
    }
}

void SelectPlanner::planWindows() {
    std::vector<NodePtr> done;
    for (const NodePtr& first : query_.windows) {
        if (containsName(done, first->name)) continue;
        WindowStep window;
        const Node::WindowInfo& info = *first->window;
        std::vector<NodePtr> inputs;
        for (const NodePtr& node : info.partition_by) addDistinct(inputs, node);
        for (const auto& order : info.order_by) addDistinct(inputs, order.node);
        std::vector<NodePtr> same;
        for (const NodePtr& node : query_.windows)
            if (node->window->key == info.key) same.push_back(node);
        for (const NodePtr& node : same)
            for (const NodePtr& argument : node->arguments) addDistinct(inputs, argument);
        applyArrayJoins(inputs);
        compute(inputs, true);
        Block header = step_->header;
        for (const NodePtr& node : info.partition_by) window.partition_by.push_back(node->name);
        for (const auto& order : info.order_by) window.order_by.push_back({order.node->name, order.descending, order.nulls_direction});
        window.frame = info.frame;
        window.begin = info.begin;
        window.end = info.end;
        for (const NodePtr& node : same) {
            WindowStep::Call call;
            call.aggregate = node->aggregate;
            call.function = node->function_name;
            for (const NodePtr& argument : node->arguments) call.arguments.push_back(argument->name);
            call.type = node->type;
            call.name = node->name;
            addColumn(header, node->name, node->type);
            window.calls.push_back(std::move(call));
            done.push_back(node);
        }
        window.input = step_;
        setStep(makeStep(std::move(window), std::move(header)));
    }
}

void SelectPlanner::planProjectionAndOrder() {
    std::vector<NodePtr> nodes = outputNodes();
    // A shard's peer may ask for what the output is computed from instead of the output.
    if (context_.secondary && to_ != Stage::Complete)
        for (const NodePtr& leaf : outputLeaves()) addDistinct(nodes, leaf);
    applyArrayJoins(nodes);
    std::erase_if(nodes, [&](const NodePtr& node) { return node->kind == Node::Kind::Set || node->kind == Node::Kind::Lambda; });
    compute(nodes, false);
    if (query_.distinct) {
        DistinctStep distinct;
        distinct.input = step_;
        for (const Projection& projection : query_.projection)
            if (std::find(distinct.columns.begin(), distinct.columns.end(), projection.node->name) == distinct.columns.end())
                distinct.columns.push_back(projection.node->name);
        if (query_.order_by.empty() && !query_.limit_by_limit) distinct.limit_rows = query_.limit ? keptRows() : limit_rows_;
        Block header = step_->header;
        setStep(makeStep(std::move(distinct), std::move(header)));
    }
    const bool limit_reaches_sort = !query_.limit_by_limit && to_ != Stage::WithMergeableStateAfterAggregation &&
                                    std::none_of(query_.order_by.begin(), query_.order_by.end(), [](const OrderItem& item) { return item.with_fill; });
    const bool unfinished_groups = to_ == Stage::WithMergeableState && query_.distinct;
    planSort(limit_reaches_sort && !unfinished_groups ? keptRows() : 0);
    if (to_ == Stage::WithMergeableState) return;
    planLimitBy();
    planFill();
}

void SelectPlanner::planSort(uint64_t limit) {
    if (query_.order_by.empty()) return;
    Block header = step_->header;
    setStep(makeStep(SortStep{step_, sortKeys(), limit, false}, std::move(header)));
}

void SelectPlanner::planLimitBy() {
    if (!query_.limit_by_limit) return;
    LimitByStep limit_by;
    limit_by.input = step_;
    for (const NodePtr& node : query_.limit_by)
        if (!isRowless(node)) limit_by.columns.push_back(node->name);
    limit_by.limit = plainNumber(query_.limit_by_limit);
    limit_by.offset = plainNumber(query_.limit_by_offset);
    Block header = step_->header;
    setStep(makeStep(std::move(limit_by), std::move(header)));
}

void SelectPlanner::planFill() {
    if (std::none_of(query_.order_by.begin(), query_.order_by.end(), [](const OrderItem& item) { return item.with_fill; })) return;
    FillStep fill;
    fill.input = step_;
    fill.all_keys = sortKeys();
    const auto constant = [&](const NodePtr& node) -> std::optional<Value> {
        if (!node) return std::nullopt;
        if (node->kind != Node::Kind::Constant)
            throw Error(ErrorCode::INVALID_WITH_FILL_EXPRESSION, "WITH FILL expression {} must be constant", node->old_name);
        return node->constant->value(0);
    };
    for (size_t i = 0; i < query_.order_by.size(); ++i) {
        const OrderItem& item = query_.order_by[i];
        if (!item.with_fill) continue;
        FillStep::Column column;
        column.key = fill.all_keys[i];
        // Bounds of a date may be dates or texts: what they are in the column's type.
        const auto bound = [&](const NodePtr& node) -> std::optional<Value> {
            if (!node) return std::nullopt;
            if (node->kind == Node::Kind::Constant && !sameType(node->type, item.node->type) && item.node->type->isDateOrTime() && !node->type->isNumber()) {
                const ExpressionPtr cast = castExpression(compile(node), item.node->type, context_);
                std::vector<NamedColumn> arguments;
                for (const ExpressionPtr& argument : cast->arguments) arguments.push_back({"", argument->type, argument->constant});
                return cast->function->execute(arguments, 1)->value(0);
            }
            return constant(node);
        };
        column.from = bound(item.fill_from);
        column.to = bound(item.fill_to);
        column.step = item.fill_step ? *constant(item.fill_step) : Value(int64_t{item.descending ? -1 : 1});
        if (item.fill_step && item.fill_step->type->kind() == TypeKind::Interval) column.step_unit = item.fill_step->type->intervalUnit();
        column.staleness = constant(item.fill_staleness);
        fill.columns.push_back(std::move(column));
    }
    // INTERPOLATE names columns of the SELECT list; here they still have the names of their expressions. A column
    // without an expression, and with a bare INTERPOLATE every one, goes on as it was.
    for (const Projection& projection : query_.projection) {
        const ExpressionPtr column = compile(projection.node);
        const auto named = std::find_if(query_.interpolate.begin(), query_.interpolate.end(), [&](const auto& element) { return element.first == projection.alias; });
        const bool is_named = named != query_.interpolate.end();
        if (!query_.has_interpolate || (!is_named && !query_.interpolate.empty()) || column->kind != Expression::Kind::Input) continue;
        fill.interpolate.push_back({column->name, is_named && named->second ? compile(named->second) : column});
    }
    Block header = step_->header;
    setStep(makeStep(std::move(fill), std::move(header)));
}

void SelectPlanner::planLimit() {
    if (!query_.limit && !query_.offset) return;
    LimitStep limit;
    limit.input = step_;
    if (query_.limit) limit.limit = rowCount(query_.limit);
    if (query_.offset) limit.offset = rowCount(query_.offset);
    limit.with_ties = query_.limit_with_ties;
    if (limit.with_ties) limit.ties = sortKeys();
    limit.exhaust_input = query_.totals || countsAllRows();
    if (to_ == Stage::WithMergeableStateAfterAggregationAndLimit) {
        // The initiator skips the offset itself; what is no plain number it must see whole.
        const uint64_t kept = keptRows();
        const bool plain = limit.limit && limit.limit->plain() && limit.offset.plain();
        if (!plain) return;
        limit.limit = RowCount{.rows = limit.with_ties ? limit.limit->rows + limit.offset.rows : kept};
        limit.offset = RowCount{};
    }
    Block header = step_->header;
    setStep(makeStep(std::move(limit), std::move(header)));
}

StepPtr SelectPlanner::finish() {
    ProjectStep project;
    Block header;
    for (const Projection& projection : query_.projection) {
        ExpressionPtr expression = compile(projection.node);
        appendColumn(header, projection.alias, expression->type);
        project.columns.push_back({projection.alias, std::move(expression)});
    }
    project.input = step_;
    return makeStep(std::move(project), std::move(header));
}

StepPtr SelectPlanner::finishUnfinished() {
    // The names that the initiator computes for itself: with tables and types from the analyzer, bare from older ones.
    const bool analyzer = bool(query_.settings->allow_experimental_analyzer) && !query_.sources.empty() && query_.sources[0]->alias == query_.sources[0]->id;
    if (!context_.secondary || analyzer) return step_;
    std::map<std::string, std::string> old_names;
    for (const NodePtr& node : query_.group_by) old_names[node->name] = node->old_name;
    for (const NodePtr& node : query_.aggregates) old_names[node->name] = node->old_name;
    for (const NodePtr& node : outputNodes()) old_names[node->name] = node->old_name;
    for (const NodePtr& node : outputLeaves()) old_names[node->name] = node->old_name;
    ProjectStep project;
    Block header;
    for (const NamedColumn& column : step_->header.columns) {
        const auto old_name = old_names.find(column.name);
        const std::string name = old_name == old_names.end() ? column.name : old_name->second;
        if (header.find(name)) continue;
        project.columns.push_back({name, inputExpression(column.name, column.type)});
        addColumn(header, name, column.type);
    }
    project.input = step_;
    return makeStep(std::move(project), std::move(header));
}

}  // namespace shardd::plan
