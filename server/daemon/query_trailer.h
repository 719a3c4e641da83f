#pragma once

#include "server/daemon/statement_run.h"

/// What is said of a distributed query beside its rows: ProfileEvents by host, log lines for clients that want them, the server's
/// log. Source: docs/distribution.md, "Which shard answered what".
namespace shardd::daemon {

/// Before the header of a query that an initiator of our kind sent: what this shard promises.
void sendPromises(const StatementContext& query);

/// Behind the rows. As a shard: groups, memory, and groups in the wrong place, for an initiator of our kind. As an initiator: the
/// shards one by one, and a warning when groups are not disjoint. Nothing for queries that read no sharded table.
void sendTrailer(const StatementContext& query);

}  // namespace shardd::daemon
