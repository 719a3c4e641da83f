#pragma once

#include "server/daemon/statement_run.h"
#include "server/sql/ast.h"

namespace shardd::daemon {

/// SYSTEM FLUSH DISTRIBUTED table, SYSTEM STOP and START DISTRIBUTED SENDS [table]; false for any other
/// command. Errors: those of the sends; BAD_ARGUMENTS (36) for a table that is not Distributed.
bool runDistributedSends(const sql::System& statement, const StatementContext& query);

}  // namespace shardd::daemon
