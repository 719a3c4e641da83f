#pragma once

#include <memory>

#include <boost/asio/ip/tcp.hpp>

#include "server/net/connection.h"
#include "server/net/tls.h"

namespace shardd::net {

/// Wraps accepted sockets; for the listener. The socket's executor must be a strand.
std::shared_ptr<Connection> adoptPlain(boost::asio::ip::tcp::socket socket);

/// The TLS handshake is done within `deadline`, as the server.
Connection::Awaitable<std::shared_ptr<Connection>> adoptSecure(boost::asio::ip::tcp::socket socket,
                                                               Tls::State tls,
                                                               Clock::time_point deadline);

}  // namespace shardd::net
