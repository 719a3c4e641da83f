#pragma once

#include <string>
#include <vector>

#include "server/daemon/statement_run.h"
#include "server/sql/ast.h"
#include "server/storage/table.h"

namespace shardd::daemon {

/// INSERT INTO one Distributed table SELECT FROM another, over the same shards: each shard inserts what it
/// selects, when parallel_distributed_insert_select says so (1: into the Distributed table there; 2: into its
/// own part). False when that is not asked for, or cannot be done: the INSERT then takes the usual way.
/// `columns`: what rows are given for. Errors: those of the shards.
bool insertOnShards(const sql::Insert& statement,
                    const storage::TablePtr& target,
                    const std::vector<std::string>& columns,
                    const storage::WriteRequest& request,
                    const StatementContext& query);

}  // namespace shardd::daemon
