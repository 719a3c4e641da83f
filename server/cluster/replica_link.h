#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "config/settings.h"
#include "server/cluster/cluster_service.h"

namespace shardd::cluster {

inline std::chrono::milliseconds toMilliseconds(std::chrono::microseconds duration) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

/// What ClickHouse takes for a fault of the network even when a server says it.
bool isNetworkFault(int code);

/// The way to one replica for one query or INSERT: its place among the connections that may be used at once,
/// and a connection, warm or new. Threads: the strand of the connection; notify() and interrupt() from any.
class ReplicaLink {
public:
    ReplicaLink(ClusterServicePtr service, std::shared_ptr<Replica> replica, const ShardLogin& login);

    const Replica& replica() const { return *replica_; }

    /// Of all who use connections to this replica as this user.
    PlaceGate& places() { return *places_; }

    void hold(PlaceGate::Place place) { place_ = std::move(place); }

    /// From the pool, nullptr when there is none. It is used on its own executor: executorFor().
    std::shared_ptr<ShardClient> takeWarm();

    /// Where a conversation over `warm`, or over a new connection, must run.
    boost::asio::any_io_executor executorFor(const std::shared_ptr<ShardClient>& warm) const;

    void use(std::shared_ptr<ShardClient> client);

    /// A new connection, used from here on, within the times that the settings give it. `begins` is called
    /// when it is its turn to be made; may be empty. Errors: ReceivedError when the replica refuses, and
    /// others need not be asked; those of the network; QUERY_WAS_CANCELLED after interrupt().
    boost::asio::awaitable<void> open(const Settings& settings, std::function<void()> begins = {});

    /// Sends what was put into the client's buffer, within send_timeout.
    boost::asio::awaitable<void> flush(const Settings& settings);

    bool connected() const { return client_ != nullptr; }

    ShardClient& client() const { return *client_; }

    /// The connection goes back into the pool when it can be used again, else it is closed.
    void releaseClient();

    /// The connection, and then the place.
    void release();

    /// Wakes whoever waits for the connection.
    void notify();

    /// Ends waiting for a place, connecting and sending.
    void interrupt();

    net::Interrupt& interruption() { return interrupt_; }

private:
    const ClusterServicePtr service_;
    const std::shared_ptr<Replica> replica_;
    const ShardLogin login_;
    const std::string key_;
    const std::shared_ptr<PlaceGate> places_;
    PlaceGate::Place place_;
    net::Interrupt interrupt_;
    std::mutex mutex_;  // guards client_ against notify()
    std::shared_ptr<ShardClient> client_;
};

}  // namespace shardd::cluster
