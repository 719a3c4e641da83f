#pragma once

#include "server/daemon/client_session.h"
#include "server/daemon/query_host.h"
#include "server/exec/query_context.h"

namespace shardd::daemon {

/// One query with all that it may touch; everything outlives the call.
struct StatementContext {
    const QueryServices& services;
    const session::QueryRequest& request;
    DaemonSession& session;
    RunningQueryPtr running;
    session::QueryChannel& channel;
    exec::QueryContext& context;
};

/// Parses the text and runs the statement; its rows go into the channel. Errors: all of them are thrown.
void runStatement(const StatementContext& query);

}  // namespace shardd::daemon
