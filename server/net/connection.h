#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "common/wire/byte_window.h"

namespace boost::asio {
class io_context;
}

namespace shardd::net {

class Interrupt;
class Tls;

using Clock = std::chrono::steady_clock;

/// The time `duration` from now; zero means never.
inline Clock::time_point deadlineAfter(std::chrono::milliseconds duration) {
    return duration.count() == 0 ? Clock::time_point::max() : Clock::now() + duration;
}

/// One socket of the native protocol, plain or TLS: bytes arrive in a window, packets are written whole.
/// Reading goes on behind the owner's back while it waits for something else (one read at a time, and only
/// when asked), so that a peer's Cancel or its end is noticed during a query. Threads: everything but
/// notify() and the plain getters runs on the connection's own executor (a strand), in one coroutine. Errors:
/// NETWORK_ERROR (210) when the socket fails, SOCKET_TIMEOUT (209) when a deadline passes.
class Connection : public std::enable_shared_from_this<Connection> {
public:
    struct Target {
        std::string host;
        uint16_t port = 0;
        bool secure = false;
        /// Only with secure; nullptr: Tls::defaultClient().
        std::shared_ptr<const Tls> tls = nullptr;
    };

    template <typename T>
    using Awaitable = boost::asio::awaitable<T>;

    /// Opens a connection to `target`; the coroutine must run on an executor that serialises (a strand).
    /// Errors: also QUERY_WAS_CANCELLED (394) when `interrupt` was raised.
    static Awaitable<std::shared_ptr<Connection>> connect(Target target,
                                                          Clock::time_point deadline,
                                                          Interrupt* interrupt = nullptr);

    virtual ~Connection() = default;

    /// The strand that everything runs on.
    virtual boost::asio::any_io_executor executor() = 0;

    /// What has arrived and is not used yet.
    ByteWindow& window() { return window_; }

    /// Waits for more bytes; false when the peer has ended the stream.
    virtual Awaitable<bool> readMore(Clock::time_point deadline) = 0;

    /// Lets one read run while the owner does other things; its end wakes waitForEvent().
    virtual void readAhead() = 0;

    /// The peer has ended the stream or the socket failed; bytes that came before may still be in the window.
    virtual bool peerGone() const = 0;

    /// Why reading failed; empty when the peer ended the stream in good order, or has not.
    const std::string& readFailure() const { return read_failure_; }

    /// Until bytes arrive, the peer goes, notify() is called or the deadline passes, whichever is first. May
    /// wake for no reason.
    virtual Awaitable<void> waitForEvent(Clock::time_point deadline) = 0;

    /// Wakes waitForEvent(). From any thread.
    virtual void notify() = 0;

    /// Writes one or several whole packets.
    virtual Awaitable<void> write(std::string_view packets, Clock::time_point deadline) = 0;

    /// From now on incoming bytes are chunk-framed; bytes already in the window are taken so too.
    virtual void receiveChunked() = 0;

    /// A connection without traffic for so long is tried by the system, so that a peer that vanished is noticed and
    /// nobody on the way forgets it.
    virtual void keepAliveAfter(std::chrono::seconds idle) = 0;

    /// Ends both directions at once. Harmless when closed before.
    virtual void close() = 0;

    /// "192.0.2.1:40000"
    const std::string& peerAddress() const { return peer_address_; }

    const std::string& localAddress() const { return local_address_; }

    uint64_t receivedBytes() const { return received_bytes_; }

    uint64_t sentBytes() const { return sent_bytes_; }

protected:
    ByteWindow window_;
    std::string peer_address_;
    std::string local_address_;
    std::string read_failure_;
    uint64_t received_bytes_ = 0;
    uint64_t sent_bytes_ = 0;
};

}  // namespace shardd::net
