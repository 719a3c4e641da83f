#include "common/base/error.h"
#include "server/daemon/query_planning.h"
#include "server/daemon/query_trailer.h"
#include "server/daemon/result_channel.h"
#include "server/daemon/statements.h"
#include "server/exec/pipeline.h"
#include "server/plan/binder.h"
#include "server/plan/planner.h"

namespace shardd::daemon {

void runQueryTree(const sql::Query& tree, const StatementContext& query) {
    plan::PlannerContext context = makePlannerContext(query, query.running->currentSettings());
    context.client_revision = query.request.client_revision;  // only here do rows go to the client as they are
    const plan::QueryPlan planned = plan::planTopLevel(plan::bindQuery(tree, context), context);
    sendPromises(query);
    ChannelSink sink(query.channel, query.running->activity.get());
    exec::execute(planned.root, query.context, sink);
    sink.sendTotalStates();
    sink.profile(query.context.rowsBeforeLimit());
    sendTrailer(query);
}

void run(const sql::QueryStatement& statement, const StatementContext& query) {
    runQueryTree(*statement.query, query);
}

storage::TablePtr findTable(const sql::QualifiedName& name, const StatementContext& query) {
    if (name.database.empty()) {
        const auto temporary = query.session.temporary_tables.find(name.table);
        if (temporary != query.session.temporary_tables.end()) return temporary->second;
    }
    const sql::QualifiedName full = fullName(name, query);
    return query.services.catalog->get(full.database, full.table);
}

sql::QualifiedName fullName(const sql::QualifiedName& name, const StatementContext& query) {
    return {name.database.empty() ? query.session.database : name.database, name.table};
}

}  // namespace shardd::daemon
