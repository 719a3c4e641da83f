#pragma once

#include <memory>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include "server/net/connection.h"

namespace shardd::net {

/// Wraps accepted sockets; for the listener. The socket's executor must be a strand.
std::shared_ptr<Connection> adoptPlain(boost::asio::ip::tcp::socket socket);

/// The TLS handshake is done within `deadline`, as the server.
Connection::Awaitable<std::shared_ptr<Connection>> adoptSecure(
    boost::asio::ip::tcp::socket socket,
    std::shared_ptr<boost::asio::ssl::context> context,
    Clock::time_point deadline);

}  // namespace shardd::net
