#pragma once

#include <memory>

#include "server/daemon/query_host.h"
#include "server/session/query.h"

namespace shardd::daemon {

/// The life of one query, on a worker: settings, memory, limits, parsing, running, and every error into the
/// channel. Throws nothing.
void runQuery(const QueryServices& services,
              const session::QueryRequest& request,
              const std::shared_ptr<session::QueryChannel>& channel);

}  // namespace shardd::daemon
