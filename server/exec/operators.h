#pragma once

#include <functional>

#include "server/exec/operator.h"
#include "server/exec/query_context.h"
#include "server/plan/plan.h"

/// Every step of a plan has one function here that runs it into a sink: makes the operator, runs its input
/// into that, and so on down to the scans. A new step is its own file, one line here and its place in
/// plan::Step.
namespace shardd::exec {

/// A step with what is known where it stands in the plan.
struct StepPlace {
    const Block& header;
    QueryContext& context;
    /// This step's rows are the ones behind rows_before_limit.
    bool counts_rows_before_limit = false;
};

void run(const plan::ScanStep& step, const StepPlace& place, Sink& sink);
void run(const plan::RemoteScanStep& step, const StepPlace& place, Sink& sink);
void run(const plan::SourceStep& step, const StepPlace& place, Sink& sink);
void run(const plan::FilterStep& step, const StepPlace& place, Sink& sink);
void run(const plan::ProjectStep& step, const StepPlace& place, Sink& sink);
void run(const plan::ArrayJoinStep& step, const StepPlace& place, Sink& sink);
void run(const plan::AggregateStep& step, const StepPlace& place, Sink& sink);
void run(const plan::GroupCheckStep& step, const StepPlace& place, Sink& sink);
void run(const plan::MergeStatesStep& step, const StepPlace& place, Sink& sink);
void run(const plan::TotalsStep& step, const StepPlace& place, Sink& sink);
void run(const plan::RollupStep& step, const StepPlace& place, Sink& sink);
void run(const plan::SortStep& step, const StepPlace& place, Sink& sink);
void run(const plan::MergeSortedStep& step, const StepPlace& place, Sink& sink);
void run(const plan::LimitStep& step, const StepPlace& place, Sink& sink);
void run(const plan::LimitByStep& step, const StepPlace& place, Sink& sink);
void run(const plan::DistinctStep& step, const StepPlace& place, Sink& sink);
void run(const plan::UnionStep& step, const StepPlace& place, Sink& sink);
void run(const plan::IntersectExceptStep& step, const StepPlace& place, Sink& sink);
void run(const plan::FillStep& step, const StepPlace& place, Sink& sink);
void run(const plan::WindowStep& step, const StepPlace& place, Sink& sink);
void run(const plan::JoinStep& step, const StepPlace& place, Sink& sink);
void run(const plan::ExtremesStep& step, const StepPlace& place, Sink& sink);
void run(const plan::LimitsStep& step, const StepPlace& place, Sink& sink);

/// DISTINCT whose rows are then sorted by all of its columns: what is equal in that order is the same row, so
/// there is one zero and one NaN. Elsewhere keys are the same when their bytes are. As ClickHouse has it.
void runDistinctByValue(const plan::DistinctStep& step, const StepPlace& place, Sink& sink);

/// ThreadPool::parallel() with the query's memory and its cancellation.
void parallel(QueryContext& context, size_t tasks, const std::function<void(size_t)>& task);

/// Rows of `block` to `sink` in blocks of at most max_block_rows, by worker 0; stops at Enough.
Flow pushInBlocks(const Block& block, size_t max_block_rows, Sink& sink);

}  // namespace shardd::exec
