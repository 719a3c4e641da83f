#include "server/plan/planner.h"

#include <algorithm>
#include <unordered_set>

#include "server/plan/select_planner.h"

namespace shardd::plan {

namespace {

/// The operand's columns under the tree's names and types.
StepPtr convertColumns(StepPtr step, const QueryTree& tree, const PlannerContext& context) {
    bool same = true;
    for (size_t i = 0; i < tree.columns.size(); ++i)
        same = same && step->header.columns[i].name == tree.columns[i].first && sameType(step->header.columns[i].type, tree.columns[i].second);
    if (same) return step;
    ProjectStep project;
    for (size_t i = 0; i < tree.columns.size(); ++i) {
        const NamedColumn& column = step->header.columns[i];
        project.columns.push_back({tree.columns[i].first, castExpression(inputExpression(column.name, column.type), tree.columns[i].second, context)});
    }
    Block header = makeHeader(tree.columns);
    project.input = std::move(step);
    return makeStep(std::move(project), std::move(header));
}

std::vector<std::string> columnNames(const Block& header) {
    std::vector<std::string> names;
    for (const NamedColumn& column : header.columns) names.push_back(column.name);
    return names;
}

/// UNION, INTERSECT and EXCEPT compare columns by place: names that occur twice get their place appended.
QueryTree distinctNames(const QueryTree& tree) {
    QueryTree result = tree;
    std::unordered_set<std::string> seen;
    for (size_t i = 0; i < result.columns.size(); ++i)
        if (!seen.insert(result.columns[i].first).second) result.columns[i].first += fmt::format("\x01{}", i);
    return result;
}

StepPtr planSetOperation(const QueryTree& written, const PlannerContext& outer, QueryPlan& plan, uint64_t limit_rows) {
    PlannerContext context = outer;
    context.outermost = false;
    const QueryTree tree = distinctNames(written);
    const bool is_union = tree.operation == SetOperation::UnionAll || tree.operation == SetOperation::UnionDistinct;
    std::vector<StepPtr> inputs;
    for (const QueryTreePtr& operand : tree.operands) {
        StepPtr step = planTree(operand, context, plan, tree.operation == SetOperation::UnionAll ? limit_rows : 0);
        // Operands may have equal names of their own: take columns by place.
        std::unordered_set<std::string> names;
        Block positional = step->header;
        bool repeated = false;
        for (NamedColumn& column : positional.columns) repeated = !names.insert(column.name).second || repeated;
        if (repeated) throw Error(ErrorCode::NOT_IMPLEMENTED, "Columns of one name in a part of UNION are not supported: give them aliases");
        inputs.push_back(convertColumns(std::move(step), tree, context));
    }
    const Block header = makeHeader(tree.columns);
    StepPtr step;
    if (is_union) {
        step = makeStep(UnionStep{std::move(inputs)}, header);
        if (tree.operation == SetOperation::UnionDistinct) step = makeStep(DistinctStep{step, columnNames(header), 0}, header);
    } else {
        IntersectExceptStep::Kind kind = tree.operation == SetOperation::IntersectAll        ? IntersectExceptStep::Kind::Intersect
                                         : tree.operation == SetOperation::IntersectDistinct ? IntersectExceptStep::Kind::IntersectDistinct
                                         : tree.operation == SetOperation::ExceptAll         ? IntersectExceptStep::Kind::Except
                                                                                             : IntersectExceptStep::Kind::ExceptDistinct;
        step = inputs[0];
        for (size_t i = 1; i < inputs.size(); ++i) step = makeStep(IntersectExceptStep{kind, step, inputs[i]}, header);
    }
    return convertColumns(std::move(step), written, context);
}

}  // namespace

StepPtr planTree(const QueryTreePtr& tree, const PlannerContext& context, QueryPlan& plan, uint64_t limit_rows) {
    if (tree->operation == SetOperation::Select) return SelectPlanner(tree->select, context, plan, limit_rows).plan();
    if (context.stage != storage::Stage::Complete) {
        // Only a whole answer can be had of several SELECTs.
        PlannerContext complete = context;
        complete.stage = storage::Stage::Complete;
        return planSetOperation(*tree, complete, plan, limit_rows);
    }
    return planSetOperation(*tree, context, plan, limit_rows);
}

QueryPlan planQuery(const QueryTreePtr& tree, const PlannerContext& context, uint64_t limit_rows) {
    QueryPlan plan;
    PlannerContext inner = context;
    inner.stage = storage::Stage::Complete;
    inner.outermost = false;
    plan.root = planTree(tree, inner, plan, limit_rows);
    if (limit_rows > 0) {
        Block header = plan.root->header;
        LimitStep limit;
        limit.input = plan.root;
        limit.limit = RowCount{.rows = limit_rows};
        plan.root = makeStep(std::move(limit), std::move(header));
    }
    return plan;
}

QueryPlan planTopLevel(const QueryTreePtr& tree, const PlannerContext& context) {
    QueryPlan plan;
    plan.root = planTree(tree, context, plan, 0);
    const Settings& settings = tree->select ? tree->select->settings : context.settings;
    const Block header = plan.root->header;
    if (settings->limit > 0 || settings->offset > 0) {
        LimitStep limit;
        limit.input = plan.root;
        if (settings->limit > 0) limit.limit = RowCount{.rows = settings->limit};
        limit.offset = RowCount{.rows = settings->offset};
        plan.root = makeStep(std::move(limit), header);
    }
    if (settings->max_result_rows > 0 || settings->max_result_bytes > 0) {
        LimitsStep limits;
        limits.input = plan.root;
        limits.max_rows = settings->max_result_rows;
        limits.max_bytes = settings->max_result_bytes;
        limits.throws = settings.get("result_overflow_mode") == "throw";
        limits.what = "result";
        plan.root = makeStep(std::move(limits), header);
    }
    if (settings->extremes && context.stage == storage::Stage::Complete) plan.root = makeStep(ExtremesStep{plan.root}, header);
    return plan;
}

}  // namespace shardd::plan
