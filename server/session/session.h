#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "common/protocol/packet_codec.h"
#include "common/wire/native.h"
#include "server/session/connection_settings.h"
#include "server/session/query.h"

namespace shardd::net {
class Connection;
}

namespace shardd::session {

/// What a server says of itself, and how long and how much it bears.
struct SessionOptions {
    std::string server_name = "ClickHouse";
    uint64_t version_major = 26;
    uint64_t version_minor = 7;
    uint64_t version_patch = 1;
    std::string display_name = "shardd";
    std::string time_zone = "UTC";
    uint16_t http_port = 8123;  // for the hint to who speaks HTTP here

    std::chrono::milliseconds handshake_timeout{10000};
    /// Until a user's are known.
    ConnectionSettings connection;

    protocol::DecodeLimits packet_limits;
    NativeLimits block_limits;
    /// Of the blocks that precede a query (external tables), all together.
    size_t max_external_bytes = size_t{1} << 30;
};

/// One conversation of the native protocol, in the server's role: hello, then queries one after another.
/// Threads: run() on the connection's strand; stopWhenIdle() and stopNow() from any thread.
class Session : public std::enable_shared_from_this<Session> {
public:
    Session(std::shared_ptr<net::Connection> connection,
            std::shared_ptr<SessionHost> host,
            std::shared_ptr<const SessionOptions> options);
    ~Session();

    /// Until the client leaves, breaks the protocol or is told to go. Throws nothing.
    boost::asio::awaitable<void> run();

    /// Ends after the query that runs now.
    void stopWhenIdle();

    /// Cancels the query and ends.
    void stopNow();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace shardd::session
