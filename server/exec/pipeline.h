#pragma once

#include <vector>

#include "server/exec/operator.h"
#include "server/exec/query_context.h"
#include "server/plan/plan.h"

namespace shardd::exec {

/// Runs a tree of steps to its end and gives every row to `result`.
/// Threads: blocks the calling thread, which works too; further workers come from context.pool. result's
/// members are
///          called from any of them, one at a time.
/// Errors:  the first one of any operator; the reason given to QueryContext::cancel().
void execute(const plan::StepPtr& root, QueryContext& context, ResultSink& result);

/// The same into a list of blocks: scalar subqueries, IN (SELECT …), tests. At most max_rows + 1 rows are
/// kept when max_rows is not 0.
std::vector<Block> executeToBlocks(const plan::StepPtr& root, QueryContext& context, uint64_t max_rows = 0);

/// Runs one step's rows into a sink; for operators with several inputs.
void runStep(const plan::Step& step, QueryContext& context, Sink& sink);

}  // namespace shardd::exec
