#include "server/daemon/distributed_history.h"
#include "server/daemon/system_tables.h"
#include "server/plan/explain.h"

/// system.distributed_queries: a row for each shard of each read of a query, while it runs and after.
namespace shardd::daemon {

namespace {

int64_t microseconds(std::chrono::system_clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

SystemRow rowOf(const DistributedQuery& query, const DistributedQuery::Read& each, const storage::ShardAnswer& shard) {
    SystemRow row;
    row.set("query_id", query.query_id);
    row.set("initial_query_id", query.initial_query_id);
    row.set("user", query.user);
    row.set("query", query.text);
    row.setSigned("start_time", microseconds(query.started_at));
    row.setNumber("query_microseconds", query.microseconds);
    row.setNumber("is_running", query.is_running);
    row.set("exception", query.exception);
    row.set("cluster", each.read.cluster);
    row.set("table", each.read.table);
    row.setNumber("mode", each.read.mode);
    row.set("stage", plan::stageText(static_cast<storage::Stage>(each.read.stage)));
    row.set("stage_reason", each.read.reason);
    row.set("proof", each.read.proof);
    row.setNumber("shard_num", shard.number);
    row.set("address", shard.address);
    row.setNumber("is_shardd", shard.is_shardd);
    row.set("state", nameOf(shard.state));
    row.set("state_reason", shard.reason);
    row.setNumber("rows", shard.rows);
    row.setNumber("blocks", shard.blocks);
    row.setNumber("received_bytes", shard.received_bytes);
    row.setNumber("read_rows", shard.read_rows);
    row.setNumber("read_bytes", shard.read_bytes);
    row.setNumber("groups", shard.groups);
    row.setNumber("misplaced_groups", shard.misplaced_groups);
    row.setNumber("peak_memory_usage", shard.peak_memory_bytes);
    row.setNumber("microseconds", shard.microseconds);
    return row;
}

SystemRows distributedQueries(const SystemSources& sources) {
    std::vector<DistributedQuery> queries = sources.distributed->all();
    for (const RunningQueryPtr& running : sources.processes->all()) queries.push_back(describe(*running, true, ""));
    SystemRows rows;
    for (const DistributedQuery& query : queries)
        for (const DistributedQuery::Read& read : query.reads)
            for (const storage::ShardAnswer& shard : read.shards) rows.push_back(rowOf(query, read, shard));
    return rows;
}

}  // namespace

std::vector<SystemTableFiller> distributedFillers() { return {{"distributed_queries", distributedQueries}}; }

}  // namespace shardd::daemon
