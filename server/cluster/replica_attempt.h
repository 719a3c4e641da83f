#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "server/cluster/replica_link.h"
#include "server/cluster/shard_task.h"

namespace shardd::cluster {

/// One try to have one replica answer a shard's part of a query: a connection, the query, the answer, as long
/// as no other replica's answer is chosen. Tells its ShardTask how far it came. Threads: a coroutine on the
/// strand of the connection that it uses; giveUp(), insist() and wake() from any.
class ReplicaAttempt : public std::enable_shared_from_this<ReplicaAttempt> {
public:
    /// `accept_stale`: however far the replica is behind.
    ReplicaAttempt(std::shared_ptr<ShardTask> task,
                   size_t place,
                   std::shared_ptr<Replica> replica,
                   bool accept_stale);

    void start();

    /// The answer is not wanted any more: the replica is told to stop.
    void giveUp();

    /// The answer is waited for by itself: the replica is asked however many connections there are.
    void insist() { insisted_.raise(); }

    /// Something changed that the coroutine must look at (room in the queue).
    void wake();

private:
    template <typename T>
    using Awaitable = boost::asio::awaitable<T>;

    /// How far it came: decides what a failure means.
    enum class Phase { Connecting, Asked, Chosen };

    void begin();
    Awaitable<void> waitForPlaces(std::shared_ptr<ReplicaAttempt> self);
    Awaitable<void> run(std::shared_ptr<ReplicaAttempt> self, std::shared_ptr<ShardClient> warm);
    Awaitable<void> converse(std::shared_ptr<ShardClient> warm);
    Awaitable<bool> connect(std::shared_ptr<ShardClient> warm);
    Awaitable<void> open();
    Awaitable<bool> ask();
    Awaitable<bool> compete();
    Awaitable<void> receive();
    Awaitable<void> push(Block block);
    Awaitable<std::optional<ShardEvent>> nextEvent(std::chrono::microseconds timeout);
    Awaitable<void> cancelAndDrain();

    void putQuery();
    void checkPeer();
    bool checkStatus(const ShardEvent& event);
    bool counts(const ShardEvent& event);
    void handle(ShardEvent& event);
    bool isIgnored(int code) const;
    void conclude(const std::optional<Error>& failure);
    Awaitable<bool> take(ShardEvent event);
    Awaitable<void> countNetwork(uint64_t bytes);
    void startTimer(std::chrono::microseconds timeout);
    void end(const std::optional<Error>& failure);
    size_t mostConnections() const;

    ShardClient& client() const { return link_.client(); }

    const std::string& address() const { return address_; }

    const Settings& settings() const { return task_->group()->settings; }

    const std::shared_ptr<ShardTask> task_;
    const size_t place_;
    const std::string address_;
    const bool accept_stale_;
    std::atomic<bool> over_ = false;
    net::Interrupt insisted_;
    ReplicaLink link_;

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
    uint64_t counted_ = 0;          // of what was received, for the limits of the network
};

}  // namespace shardd::cluster
