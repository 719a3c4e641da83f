#pragma once

#include <memory>

#include <boost/asio/awaitable.hpp>

#include "server/bootstrap/rendezvous.h"
#include "server/net/listener.h"

namespace shardd::bootstrap {

/// Rank 0's side of tcp://: a board, and a door where the others ask for it.
/// Threads: the one of the bootstrap.
class TcpHost {
public:
    /// Listens at once. Errors: NETWORK_ERROR when it cannot.
    TcpHost(boost::asio::io_context& context, const RendezvousOptions& options, const Member& own);
    ~TcpHost();
    TcpHost(const TcpHost&) = delete;
    TcpHost& operator=(const TcpHost&) = delete;

    Board& board();

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

/// One frame, at most `limit` bytes, without its length. Errors: TOO_LARGE_ARRAY_SIZE (128), and those of the
/// socket.
boost::asio::awaitable<std::string> readFrame(net::Connection& connection,
                                              size_t limit,
                                              Clock::time_point deadline);

/// Exactly so many bytes.
boost::asio::awaitable<std::string> readExactly(net::Connection& connection,
                                                size_t size,
                                                Clock::time_point deadline);

}  // namespace shardd::bootstrap
