#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace boost::asio {
class io_context;
}

namespace shardd::net {

class Connection;
class Tls;

struct ListenerOptions {
    std::string host = "127.0.0.1";
    uint16_t port = 0;
    int backlog = 4096;
    /// Connections beyond it are accepted and closed at once, so that the client learns it soon. 0 is no
    /// limit.
    size_t max_connections = 4096;
    std::chrono::milliseconds handshake_timeout{10000};
    /// Nothing for a plain port.
    std::shared_ptr<const Tls> tls = nullptr;
};

/// Accepts connections and hands each, on a strand of its own, to `serve`; counts them while they live.
/// Stops in two steps: stopAccepting(), then whoever serves ends the connections.
/// Threads: start and stop from any thread; `serve` is called on the network's threads and must only spawn.
class Listener {
public:
    /// Owned by the listener while the connection lives; the last reference to it tells the listener.
    using Serve = std::function<void(std::shared_ptr<Connection>)>;

    /// Binds at once: Error NETWORK_ERROR (210) names the address when it cannot.
    Listener(boost::asio::io_context& context, ListenerOptions options, Serve serve);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    void start();

    /// No new connections from now on.
    void stopAccepting();

    /// The port in use; interesting when 0 was asked for.
    uint16_t port() const;

    size_t openConnections() const;

    uint64_t refusedConnections() const;

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace shardd::net
