#pragma once

#include "server/cluster/cluster_service.h"
#include "server/daemon/query_host.h"

namespace shardd::daemon {

/// The rows of a Distributed table that belong to this very server: into its own table, without a socket.
/// Errors: as an INSERT INTO database.table (columns) of the initial user.
BlockSinkPtr insertHere(const QueryServices& services, const cluster::LocalInsert& insert);

}  // namespace shardd::daemon
