#pragma once

#include <memory>

#include "server/daemon/row_completer.h"
#include "server/daemon/statement_run.h"
#include "server/sql/ast.h"

namespace shardd::daemon {

/// Where the rows of an INSERT go, and what is known of them.
struct ByteInsert {
    const sql::Insert& statement;
    std::shared_ptr<const storage::TableSchema> schema;
    /// The columns that rows give, in order; a row may leave some to their defaults.
    std::vector<std::string> given;
    BlockSink& table;
};

/// Reads the rows behind the statement's text, and in the body of its request, by the statement's format, and
/// writes them into the table. Errors: of the format, with the number of the row; nothing of a block is
/// written when one fails in it.
void insertFromBytes(const ByteInsert& insert,
                     const StatementContext& query,
                     const Settings& settings,
                     const plan::PlannerContext& context);

}  // namespace shardd::daemon
