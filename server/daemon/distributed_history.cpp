#include "server/daemon/distributed_history.h"

namespace shardd::daemon {

size_t DistributedQuery::bytes() const {
    size_t total = sizeof(*this) + query_id.size() + initial_query_id.size() + user.size() + text.size() + exception.size();
    for (const Read& each : reads) {
        total += sizeof(each) + each.read.cluster.size() + each.read.table.size() + each.read.reason.size() + each.read.proof.size();
        for (const storage::ShardAnswer& shard : each.shards) total += sizeof(shard) + shard.address.size() + shard.reason.size();
    }
    return total;
}

DistributedQuery describe(const RunningQuery& query, bool is_running, std::string exception) {
    DistributedQuery described;
    described.query_id = query.query_id;
    described.initial_query_id = query.client_info.initial_query_id;
    described.user = query.user;
    described.text = query.text;
    described.started_at = query.started_at;
    const auto spent = std::chrono::steady_clock::now() - query.started;
    described.microseconds = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(spent).count());
    described.is_running = is_running;
    described.exception = std::move(exception);
    for (storage::ReadActivity& read : query.activity->reads()) {
        std::vector<storage::ShardAnswer> shards = read.report->answers();
        // Shards that are told to stop may say their last word when the query has gone.
        if (!is_running)
            for (storage::ShardAnswer& shard : shards)
                if (!storage::isFinal(shard.state)) shard.state = storage::ShardAnswer::State::Stopped;
        read.report = nullptr;
        described.reads.push_back({std::move(read), std::move(shards)});
    }
    return described;
}

void DistributedHistory::add(DistributedQuery query) {
    const size_t bytes = query.bytes();
    if (bytes > limits_.bytes || limits_.queries == 0) return;
    const std::lock_guard lock(mutex_);
    bytes_ += bytes;
    queries_.push_back(std::move(query));
    while (queries_.size() > limits_.queries || bytes_ > limits_.bytes) {
        bytes_ -= queries_.front().bytes();
        queries_.pop_front();
    }
}

std::vector<DistributedQuery> DistributedHistory::all() const {
    const std::lock_guard lock(mutex_);
    return {queries_.begin(), queries_.end()};
}

}  // namespace shardd::daemon
