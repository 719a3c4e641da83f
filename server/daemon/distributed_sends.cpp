#include "server/daemon/distributed_sends.h"

#include "common/base/error.h"
#include "server/cluster/distributed_table.h"
#include "server/daemon/statements.h"
#include "server/daemon/system_tables.h"

namespace shardd::daemon {

namespace {

/// Holds the table, not only its queues.
struct Sending {
    storage::TablePtr table;
    cluster::InsertQueues* queues = nullptr;
};

cluster::InsertQueues* queuesOf(const storage::TablePtr& table) {
    auto* distributed = dynamic_cast<cluster::DistributedTable*>(table.get());
    return distributed ? distributed->queues() : nullptr;
}

template <typename Visit>
void forEachSending(const storage::Catalog& catalog, const Visit& visit) {
    for (const storage::DatabaseInfo& database : catalog.databases()) {
        if (!catalog.hasDatabase(database.name)) continue;
        for (const auto& [name, table] : catalog.tables(database.name))
            if (cluster::InsertQueues* queues = queuesOf(table)) visit(database.name, name, *queues);
    }
}

Sending sendingOf(const sql::QualifiedName& name, const StatementContext& query) {
    Sending sending;
    sending.table = findTable(name, query);
    if (!dynamic_cast<cluster::DistributedTable*>(sending.table.get()))
        throw Error(ErrorCode::BAD_ARGUMENTS, "Table {} is not distributed", name.table);
    sending.queues = queuesOf(sending.table);
    return sending;
}

void flush(const sql::System& statement, const StatementContext& query) {
    const Sending sending = sendingOf(statement.table, query);
    if (!sending.queues) return;
    try {
        sending.queues->flush(cluster::InsertQueue::Deadline::max(), query.context.readingToken());
    } catch (const Error&) {
        query.context.check();  // why it was cancelled says more than that it was
        throw;
    }
}

void setBlocked(const sql::System& statement, const StatementContext& query, bool blocked) {
    if (!statement.table.table.empty()) {
        const Sending sending = sendingOf(statement.table, query);
        if (sending.queues) sending.queues->setBlocked(blocked);
        return;
    }
    forEachSending(*query.services.catalog, [&](const auto&, const auto&, cluster::InsertQueues& queues) {
        queues.setBlocked(blocked);
    });
}

SystemRows distributionQueue(const SystemSources& sources) {
    SystemRows rows;
    const auto visit = [&](const std::string& database, const std::string& table,
                           cluster::InsertQueues& queues) {
        for (const cluster::QueueStatus& status : queues.statuses()) {
            SystemRow row;
            row.set("database", database);
            row.set("table", table);
            row.set("data_path", status.path);
            row.setNumber("is_blocked", status.blocked);
            row.setNumber("error_count", status.error_count);
            row.setNumber("data_files", status.files);
            row.setNumber("data_compressed_bytes", status.bytes);
            row.setNumber("broken_data_files", status.broken_files);
            row.setNumber("broken_data_compressed_bytes", status.broken_bytes);
            row.set("last_exception", status.last_exception);
            const auto since_epoch = status.last_exception_time.time_since_epoch();
            row.setNumber(
                "last_exception_time",
                static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(since_epoch).count()));
            rows.push_back(std::move(row));
        }
    };
    forEachSending(*sources.catalog, visit);
    return rows;
}

}  // namespace

bool runDistributedSends(const sql::System& statement, const StatementContext& query) {
    if (statement.command == "FLUSH DISTRIBUTED")
        flush(statement, query);
    else if (statement.command == "STOP DISTRIBUTED SENDS")
        setBlocked(statement, query, true);
    else if (statement.command == "START DISTRIBUTED SENDS")
        setBlocked(statement, query, false);
    else
        return false;
    return true;
}

std::vector<SystemTableFiller> clusterFillers() { return {{"distribution_queue", distributionQueue}}; }

}  // namespace shardd::daemon
