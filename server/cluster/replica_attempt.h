#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "server/cluster/shard_client.h"
#include "server/cluster/shard_task.h"
#include "server/net/interrupt.h"

namespace shardd::cluster {

/// One try to have one replica answer a shard's part of a query: a connection, the query, the answer, as long
/// as no other replica's answer is chosen. Tells its ShardTask how far it came. Threads: a coroutine on the
/// strand of the connection that it uses; giveUp() and wake() from any.
class ReplicaAttempt : public std::enable_shared_from_this<ReplicaAttempt> {
public:
    /// `accept_stale`: however far the replica is behind.
    ReplicaAttempt(std::shared_ptr<ShardTask> task,
                   size_t place,
                   std::shared_ptr<Replica> replica,
                   bool accept_stale)
        : task_(std::move(task)), place_(place), replica_(std::move(replica)), accept_stale_(accept_stale) {}

    void start();

    /// The answer is not wanted any more: the replica is told to stop.
    void giveUp();

    /// Something changed that the coroutine must look at (room in the queue).
    void wake();

private:
    template <typename T>
    using Awaitable = boost::asio::awaitable<T>;

    /// How far it came: decides what a failure means.
    enum class Phase { Connecting, Asked, Chosen };

    Awaitable<void> run(std::shared_ptr<ReplicaAttempt> self, std::shared_ptr<ShardClient> warm);
    Awaitable<void> converse(std::shared_ptr<ShardClient> warm);
    Awaitable<bool> connect(std::shared_ptr<ShardClient> warm);
    Awaitable<void> open();
    Awaitable<bool> ask();
    Awaitable<bool> compete();
    Awaitable<void> receive();
    Awaitable<void> push(Block block);
    Awaitable<std::optional<ShardEvent>> nextEvent(std::chrono::microseconds timeout);
    Awaitable<void> flush(net::Clock::time_point deadline);
    Awaitable<void> cancelAndDrain();

    void putQuery();
    void checkPeer();
    bool checkStatus(const ShardEvent& event);
    bool counts(const ShardEvent& event);
    void handle(ShardEvent& event);
    bool isIgnored(int code) const;
    void conclude(const std::optional<Error>& failure);
    Awaitable<bool> take(ShardEvent event);
    void startTimer(std::chrono::microseconds timeout);
    void useClient(std::shared_ptr<ShardClient> client);
    void releaseClient();

    const Settings& settings() const { return task_->group()->settings; }

    const std::shared_ptr<ShardTask> task_;
    const size_t place_;
    const std::shared_ptr<Replica> replica_;
    const bool accept_stale_;
    std::atomic<bool> over_ = false;
    net::Interrupt interrupt_;
    std::mutex client_mutex_;  // guards client_ against wake()
    std::shared_ptr<ShardClient> client_;

    // On the strand.
    Phase phase_ = Phase::Connecting;
    bool refused_ = false;  // by a word of the replica's, not by a fault of the network
    std::optional<std::string> useless_;
    std::optional<uint64_t> stale_;
    std::optional<boost::asio::any_io_executor> executor_;  // the strand
    std::optional<boost::asio::steady_timer> timer_;        // to ask another replica too
    size_t timer_turn_ = 0;
    bool timer_expired_ = false;
    std::vector<ShardEvent> kept_;  // what it said before its answer counted
    bool got_rows_ = false;
    uint64_t received_before_ = 0;  // on this connection, by earlier queries
};

}  // namespace shardd::cluster
