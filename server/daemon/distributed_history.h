#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "server/daemon/process_list.h"
#include "server/storage/distributed_activity.h"

namespace shardd::daemon {

/// One query that read sharded tables, as it ended.
struct DistributedQuery {
    std::string query_id;
    std::string initial_query_id;
    std::string user;
    std::string text;
    std::chrono::system_clock::time_point started_at;
    uint64_t microseconds = 0;
    bool is_running = false;
    std::string exception;  // empty when it went well
    /// With what became of every shard.
    struct Read {
        storage::ReadActivity read;
        std::vector<storage::ShardAnswer> shards;
    };
    std::vector<Read> reads;

    /// Roughly, with everything it points to.
    size_t bytes() const;
};

/// As it stands now; `exception` is empty while all is well.
DistributedQuery describe(const RunningQuery& query, bool is_running, std::string exception);

/// The last distributed queries, for system.distributed_queries: the oldest go first when there are too many, or too much text.
/// Threads: any.
class DistributedHistory {
public:
    struct Limits {
        size_t queries = 1000;
        size_t bytes = size_t{8} << 20;
    };

    explicit DistributedHistory(Limits limits) : limits_(limits) {}

    DistributedHistory() : DistributedHistory(Limits()) {}

    /// One that is larger than everything that may be kept is not.
    void add(DistributedQuery query);

    /// The oldest first.
    std::vector<DistributedQuery> all() const;

private:
    const Limits limits_;
    mutable std::mutex mutex_;  // guards the two below
    std::deque<DistributedQuery> queries_;
    size_t bytes_ = 0;
};

}  // namespace shardd::daemon
