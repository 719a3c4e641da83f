#pragma once

#include <functional>
#include <memory>

#include "server/exec/query_context.h"
#include "server/plan/plan.h"
#include "server/storage/distributed.h"

namespace shardd::exec {

/// What a part of a query that runs in this process gets from the query that asks.
struct LocalRun {
    ThreadPool& pool;
    std::shared_ptr<MemoryBudget> memory;
    ExecSettings settings;
    TemporarySpace temporary;
    /// Makes the plan, on the thread that runs it. Scalar subqueries run in the context that it is given.
    std::function<plan::StepPtr(QueryContext& context)> plan;
};

/// A shard's part of `query` run here, and its rows as a shard's answer: for a replica that is this very
/// server. Columns are taken by name and converted to query.header. What it reads counts for the query that
/// asks (query.progress); query.stop ends it, and it has ended when the stream is destroyed.
storage::RemoteStreamPtr makeLocalStream(LocalRun run, const storage::RemoteQuery& query, size_t shard);

}  // namespace shardd::exec
