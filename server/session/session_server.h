#pragma once

#include <chrono>
#include <memory>

#include "server/net/listener.h"
#include "server/session/session.h"

namespace shardd::session {

/// The native port: a listener, and a Session for each of its connections.
/// Threads: any; start() once, then stopAccepting(), then finish().
class SessionServer {
public:
    SessionServer(boost::asio::io_context& context,
                  net::ListenerOptions listener,
                  std::shared_ptr<SessionHost> host,
                  SessionOptions options);
    ~SessionServer();
    SessionServer(const SessionServer&) = delete;
    SessionServer& operator=(const SessionServer&) = delete;

    void start();

    /// First step of the end: no new connections; idle ones are closed, busy ones after their query.
    void stopAccepting();

    /// Second step: waits up to `patience` for the busy ones, then cancels their queries and waits for their
    /// end.
    void finish(std::chrono::milliseconds patience);

    uint16_t port() const;

    size_t openConnections() const;

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace shardd::session
