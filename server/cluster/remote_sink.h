#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "common/base/bounded_queue.h"
#include "config/settings.h"
#include "server/cluster/cluster_service.h"
#include "server/cluster/network_limits.h"
#include "server/cluster/replica_link.h"
#include "server/storage/table.h"

namespace shardd::cluster {

/// An INSERT into a table of one other server. Blocks go through a bounded queue to a coroutine that sends
/// them. Threads: one writer, which may be blocked; cancel() from any; the coroutine on its connection's
/// strand.
class RemoteSink : public std::enable_shared_from_this<RemoteSink> {
public:
    static constexpr size_t kQueueBytes = size_t{8} << 20;

    struct Request {
        ClusterServicePtr service;
        ShardLogin login;
        /// In the order in which they are tried until one has the table and takes rows.
        std::vector<std::shared_ptr<Replica>> replicas;
        /// "INSERT INTO db.t (a, b) VALUES"; or one with a SELECT, and then finish() waits for its end: it is
        /// sent to one replica once, for nobody can tell how far it went.
        std::string text;
        bool has_rows = true;
        /// What the query has set.
        std::vector<std::pair<std::string, std::string>> settings;
        storage::QueryOrigin origin;
        /// Of the INSERT that the rows belong to, shared by its sinks; may be missing.
        std::shared_ptr<NetworkLimits> network;
    };

    using Deadline = net::Clock::time_point;
    static constexpr Deadline kNever = Deadline::max();

    explicit RemoteSink(Request request);

    /// Before any other member is called.
    void start();

    /// Waits for room. The columns become those that the other server asked for, by name and type.
    /// Errors: what the other server said, as soon as it is known; TIMEOUT_EXCEEDED (159) at the deadline.
    void write(const Block& block, Deadline deadline = kNever);

    /// Waits until the server has acknowledged all rows. Errors: as write().
    void finish(Deadline deadline = kNever);

    /// Gives up at once; rows that were sent may stay. Does not wait.
    void cancel();

private:
    template <typename T>
    using Awaitable = boost::asio::awaitable<T>;

    Awaitable<void> run(std::shared_ptr<RemoteSink> self, std::shared_ptr<ShardClient> warm);
    Awaitable<void> converse(std::shared_ptr<ShardClient> warm);
    Awaitable<void> reachTable(std::shared_ptr<ShardClient> warm);
    Awaitable<std::optional<Error>> tryReplica(std::shared_ptr<ShardClient> warm);
    Awaitable<void> ask();
    Awaitable<ShardEvent> nextEvent(bool wake_for_rows);
    Awaitable<void> awaitSample();
    Awaitable<void> sendRows();
    Awaitable<void> flushRows();
    Awaitable<void> awaitEnd();
    void linkTo(size_t replica);

    ShardClient& client() const { return link_->client(); }

    void done(std::optional<Error> failure);
    void wake();
    void check(const ShardEvent& event) const;
    void awaitColumns(Deadline deadline);
    [[noreturn]] void failLate();

    Request request_;
    const Settings settings_;
    BoundedQueue<Block> queue_{kQueueBytes};
    std::atomic<bool> cancelled_ = false;
    std::mutex room_mutex_;  // guards nothing but the waiting for room in queue_
    std::condition_variable room_;
    std::mutex mutex_;  // guards all below
    std::condition_variable changed_;
    std::unique_ptr<ReplicaLink> link_;  // to the replica that is tried; written by the coroutine alone
    std::optional<Block> sample_;        // the columns wanted; set once
    bool done_ = false;
    std::optional<Error> failure_;
};

}  // namespace shardd::cluster
