#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "common/base/bounded_queue.h"
#include "config/settings.h"
#include "server/cluster/cluster_service.h"

namespace shardd::cluster {

/// An INSERT into a table of one other server. Blocks go through a bounded queue to a coroutine that sends
/// them. Threads: one writer, which may be blocked; the coroutine on its connection's strand.
class RemoteSink : public std::enable_shared_from_this<RemoteSink> {
public:
    static constexpr size_t kQueueBytes = size_t{8} << 20;

    struct Request {
        ClusterServicePtr service;
        ShardLogin login;
        /// In the order in which they are tried until one takes the connection.
        std::vector<std::shared_ptr<Replica>> replicas;
        /// "INSERT INTO db.t (a, b) VALUES"
        std::string text;
        Settings settings;
    };

    explicit RemoteSink(Request request);

    void start();

    /// Waits for room. Throws what the other server said, as soon as it is known.
    void write(Block block);

    /// Waits until the server has acknowledged all rows.
    void finish();

    /// Gives up; rows that were sent may stay. Does not wait.
    void cancel();

private:
    template <typename T>
    using Awaitable = boost::asio::awaitable<T>;

    Awaitable<void> run(std::shared_ptr<RemoteSink> self);
    Awaitable<void> converse();
    Awaitable<void> connect();
    Awaitable<ShardEvent> nextEvent(bool wake_for_rows);
    Awaitable<void> awaitSample();
    Awaitable<void> sendRows();
    Awaitable<void> awaitEnd();
    void done(std::optional<Error> failure);
    void wake();
    void check(const ShardEvent& event) const;

    Request request_;
    BoundedQueue<Block> queue_{kQueueBytes};
    std::string pool_key_;
    Block sample_;
    std::mutex mutex_;  // guards the three below
    std::condition_variable ended_;
    std::shared_ptr<ShardClient> client_;
    bool done_ = false;
    std::optional<Error> failure_;
};

}  // namespace shardd::cluster
