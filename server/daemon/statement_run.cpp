#include "server/daemon/statement_run.h"

#include "common/base/error.h"

namespace shardd::daemon {

void runStatement(const StatementContext& query) {
    throw Error(ErrorCode::NOT_IMPLEMENTED, "Not understood yet: {}", query.request.text);
}

}  // namespace shardd::daemon
