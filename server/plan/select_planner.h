#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/plan/compile.h"
#include "server/plan/planner.h"
#include "server/plan/stage.h"

namespace shardd::plan {

StepPtr planTree(const QueryTreePtr& tree, const PlannerContext& context, QueryPlan& plan, uint64_t limit_rows);

/// The steps of one SELECT, from where its rows come (a table, or shards that went to some stage) to where it must stop.
/// Columns between the steps are called by their nodes' names.
class SelectPlanner {
public:
    SelectPlanner(std::shared_ptr<const QueryNode> query, const PlannerContext& context, QueryPlan& plan, uint64_t limit_rows)
        : owned_(std::move(query)), query_(*owned_), context_(context), plan_(plan), limit_rows_(limit_rows), to_(context.stage) {}

    StepPtr plan();

private:
    // -- where rows come from ----------------------------------------------------------------------
    void planSource();
    void planScan(const TableSource& source);
    void planSubquery(const TableSource& source);
    void planRemote(const TableSource& source);
    void planSide(const TableSource& source);
    // select_join.cpp
    void planJoin(const JoinNode& join, const TableSource& source);
    Block joinedHeader(const JoinNode& join, const Block& left, const Block& right) const;
    void planShardedSide(const TableSource& source, const std::vector<std::string>& needed);
    void sendJoinedTables(storage::RemoteQuery& query, std::map<std::string, std::string>& names);
    Block remoteHeader(storage::Stage stage) const;
    static void writeTexts(storage::RemoteQuery& query, std::shared_ptr<const QueryNode> asked, std::map<std::string, std::string> sent_sets, ShardLists lists);
    void sendSets(storage::RemoteQuery& query, std::map<std::string, std::string>& names);
    std::vector<std::pair<std::string, std::string>> remoteSettings(const storage::DistributedSource& distributed) const;
    std::vector<std::pair<std::string, std::string>> ownSettings() const;
    // select_groups.cpp: groups that are finished before all rows were read; what is proved and merged of finished groups
    void orderGroups(AggregateStep& aggregate) const;
    std::shared_ptr<const QueryNode> withHiddenKeys(const StageChoice& choice, GroupComparison& comparison, Block& header) const;
    std::optional<GroupComparison> planComparison(const storage::DistributedSource& distributed, const StageChoice& choice) const;
    std::optional<ExactTotals> planExactTotals(const StageChoice& choice) const;
    void checkGroups();
    void noteRead(const storage::DistributedSource& distributed, const StageChoice& choice, RemoteScanStep& remote);
    bool sendsTotalsAsStates() const;
    bool wantsBuckets(storage::Stage stage) const;
    bool sendsBuckets() const;

    // -- clauses -----------------------------------------------------------------------------------
    void planArrayJoinClause();
    void planArrayJoin(std::span<const ArrayJoinElement> elements);
    void planWhere();
    void planAggregation();
    void planAfterStates();
    void planWindows();
    void planProjectionAndOrder();
    void planSort(uint64_t limit);
    void planLimitBy();
    void planFill();
    void planLimit();
    StepPtr finish();
    StepPtr finishUnfinished();

    // -- tools -------------------------------------------------------------------------------------
    void setStep(StepPtr step);
    void setGroupingSets(Compiler& compiler) const;
    ExpressionPtr compile(const NodePtr& node);
    void filter(const NodePtr& condition);
    /// Computes `nodes` beside (keep_all) or instead of the columns that are there.
    void compute(const std::vector<NodePtr>& nodes, bool keep_all);
    /// Rows for each element of arrayJoin() calls below the nodes, unless they were made before.
    void applyArrayJoins(const std::vector<NodePtr>& nodes);
    bool available(const NodePtr& node) const { return step_->header.find(node->name).has_value(); }
    std::vector<AggregateCall> calls(bool over_states) const;
    std::vector<std::string> keyNames() const;
    std::vector<SortKey> sortKeys() const;
    /// LIMIT + OFFSET as rows to keep; 0 when that is no plain number.
    uint64_t keptRows() const;
    /// Rows behind a LIMIT are counted too, so they must be there.
    bool countsAllRows() const;
    std::vector<NodePtr> outputNodes() const;
    /// Leaves (columns, keys, aggregates) that the output is computed from.
    std::vector<NodePtr> outputLeaves() const;

    const std::shared_ptr<const QueryNode> owned_;
    const QueryNode& query_;
    const PlannerContext& context_;
    QueryPlan& plan_;
    uint64_t limit_rows_;
    storage::Stage to_;
    storage::Stage from_ = storage::Stage::FetchColumns;
    StepPtr step_;
    std::unique_ptr<Compiler> compiler_;
    /// What the scan itself filters by.
    bool prewhere_taken_ = false;
    bool where_taken_ = false;
};

/// A bound LIMIT or OFFSET.
RowCount rowCount(const NodePtr& node);

}  // namespace shardd::plan
