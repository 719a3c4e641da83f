#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "config/config.h"
#include "config/users.h"
#include "server/daemon/deadline_timer.h"
#include "server/daemon/distributed_history.h"
#include "server/daemon/process_list.h"
#include "server/exec/thread_pool.h"
#include "server/session/query.h"
#include "server/storage/catalog.h"

namespace shardd::daemon {

/// The parts of the daemon that queries need; all outlive them.
struct QueryServices {
    storage::Catalog* catalog = nullptr;
    ProcessList* processes = nullptr;
    DistributedHistory* distributed = nullptr;
    exec::ThreadPool* pool = nullptr;
    DeadlineTimer* timer = nullptr;
    /// In force now; a reload replaces them, running queries keep what they have.
    std::function<std::shared_ptr<const Config>()> config;
    std::function<std::shared_ptr<const Users>()> users;
    /// Reads the configuration again (SYSTEM RELOAD CONFIG).
    std::function<void()> reload;
    /// Throws when there is no such cluster, or when it is not formed yet.
    std::function<void(const std::string& name)> get_cluster;
    std::string display_name;
    std::string host_name;
    std::string time_zone;  ///< of the server
    std::function<uint16_t()> tcp_port;
    std::chrono::steady_clock::time_point started;
};

/// Answers the conversations of the daemon: who may come in, and their queries, each on a worker of its own.
class QueryHost final : public session::SessionHost {
public:
    explicit QueryHost(QueryServices services) : services_(std::move(services)) {}

    std::shared_ptr<session::ClientSession> login(const session::LoginRequest& request) override;
    std::optional<std::string> clusterSecret(std::string_view cluster) override;
    protocol::TablesStatusResponse tablesStatus(session::ClientSession& session,
                                                const protocol::TablesStatusRequest& request) override;
    void start(session::QueryRequest request, std::shared_ptr<session::QueryChannel> channel) override;

    /// From now on queries are refused (the daemon stops).
    void refuseQueries() { refuses_ = true; }

private:
    QueryServices services_;
    std::atomic<bool> refuses_ = false;
};

}  // namespace shardd::daemon
