#pragma once

#include "server/plan/query_tree.h"

/// What is computed by the initiator and travels to the shards with their query: the right sides of IN and
/// JOIN.
namespace shardd::plan {

/// What becomes of the right side of an IN or JOIN that was not written GLOBAL: true when it is computed here
/// and sent. `sharded`: it reads a sharded table. Errors: DISTRIBUTED_IN_JOIN_SUBQUERY_DENIED (288) as
/// distributed_product_mode says.
bool isSent(const Settings& settings, bool sharded);

/// Whether a stored table stands anywhere in FROM; prefer_global_in_and_join leaves other subqueries of a
/// JOIN alone.
bool readsTables(const QueryTree& tree);

/// Errors: SET_SIZE_LIMIT_EXCEEDED (191) for more than max_rows_to_transfer or max_bytes_to_transfer; with
/// transfer_overflow_mode = 'break' blocks behind the one that passed the limit are left out.
void limitTransfer(const Settings& settings, Block& rows);

}  // namespace shardd::plan
