#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/memory_budget.h"
#include "common/protocol/packets.h"
#include "config/settings.h"
#include "config/users.h"
#include "server/exec/temporary_file.h"
#include "server/session/query.h"
#include "server/storage/distributed_activity.h"

namespace shardd::daemon {

/// A query that runs: what system.processes shows of it, and the way to end it.
struct RunningQuery {
    std::string query_id;
    std::string user;
    std::string text;
    std::string database;
    std::string peer_address;
    protocol::ClientInfo client_info;
    std::chrono::system_clock::time_point started_at;
    std::chrono::steady_clock::time_point started;
    /// In force for the query; what its text changes is among them once it is parsed. Guarded by `mutex`.
    Settings settings;
    std::shared_ptr<const User> account;
    std::shared_ptr<MemoryBudget> memory;
    /// Of all its parts that run here, with one quota; set before anything runs.
    exec::TemporarySpace temporary;
    std::shared_ptr<session::QueryChannel> channel;
    /// What it does with other machines; never null.
    storage::DistributedActivityPtr activity = std::make_shared<storage::DistributedActivity>();
    std::atomic<bool> is_cancelled = false;
    /// Ends it with this reason; set before it runs. Called at most once, from any thread.
    std::function<void(Error)> cancel;
    mutable std::mutex mutex;

    Settings currentSettings() const {
        const std::lock_guard lock(mutex);
        return settings;
    }
};

using RunningQueryPtr = std::shared_ptr<RunningQuery>;

/// All queries of the daemon, their limits, and the memory and disk of each user.
/// Threads: any.
class ProcessList {
public:
    /// 0 is no limit.
    struct Limits {
        uint64_t max_queries = 0;
        uint64_t max_selects = 0;
    };

    ProcessList(std::shared_ptr<MemoryBudget> server_memory, Limits limits);

    /// A budget for a query of `user`: below the user's, which is below the server's.
    std::shared_ptr<MemoryBudget> makeBudget(const std::string& user,
                                             const std::string& query_id,
                                             const Settings& settings);

    /// What the limits of the user and of the server still leave; nothing when there are none.
    std::optional<uint64_t> bytesLeft(const std::string& user) const;

    /// For temporary files of a query of `user`: below the user's.
    std::shared_ptr<exec::DiskQuota> makeDiskQuota(const std::string& user, const Settings& settings);

    /// Errors: TOO_MANY_SIMULTANEOUS_QUERIES (202); QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING (216); with
    /// replace_running_query the other one is cancelled instead.
    void add(const RunningQueryPtr& query);
    void remove(const RunningQueryPtr& query);

    std::vector<RunningQueryPtr> all() const;
    size_t size() const;

    /// Whether there was one. The reason is QUERY_WAS_CANCELLED (394).
    bool kill(std::string_view query_id);
    void cancelAll(const Error& reason);

    /// The query that pays for this thread's memory: how a system table learns who asks. Null for none.
    RunningQueryPtr current() const;

    static void cancel(RunningQuery& query, Error reason);

private:
    std::shared_ptr<MemoryBudget> server_memory_;
    Limits limits_;
    mutable std::mutex mutex_;  // guards what follows
    std::vector<RunningQueryPtr> queries_;
    std::map<std::string, std::shared_ptr<MemoryBudget>> user_memory_;
    std::map<std::string, std::shared_ptr<exec::DiskQuota>> user_disk_;
};

}  // namespace shardd::daemon
