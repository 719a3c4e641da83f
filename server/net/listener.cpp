#include "server/net/listener.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "common/base/error.h"
#include "common/base/log.h"
#include "server/net/connection_impl.h"

namespace shardd::net {

namespace asio = boost::asio;
using boost::system::error_code;
using Tcp = asio::ip::tcp;

namespace {

constexpr Log kLog("net");

}  // namespace

struct Listener::Impl : std::enable_shared_from_this<Impl> {
    Impl(asio::io_context& io, ListenerOptions wanted, Serve handler)
        : context(io),
          options(std::move(wanted)),
          serve(std::move(handler)),
          acceptor(asio::make_strand(io)) {}

    void bind();
    asio::awaitable<void> acceptLoop(std::shared_ptr<Impl> self);
    asio::awaitable<void> secure(std::shared_ptr<Impl> self, Tcp::socket socket);
    std::shared_ptr<Connection> counted(std::shared_ptr<Connection> connection);

    asio::io_context& context;
    ListenerOptions options;
    Serve serve;
    Tcp::acceptor acceptor;
    std::atomic<size_t> open = 0;
    std::atomic<uint64_t> refused = 0;
    uint16_t port = 0;
};

void Listener::Impl::bind() {
    error_code error;
    const asio::ip::address address =
        asio::ip::make_address(options.host == "localhost" ? "127.0.0.1" : options.host, error);
    const Tcp::endpoint endpoint(address, options.port);
    const auto check = [&] {
        if (error)
            throw Error(ErrorCode::NETWORK_ERROR, "Cannot listen on {}:{}: {}", options.host, options.port,
                        error.message());
    };
    check();
    acceptor.open(endpoint.protocol(), error);
    check();
    acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (address.is_v6()) {
        error_code ignored;
        acceptor.set_option(asio::ip::v6_only(false), ignored);
    }
    acceptor.bind(endpoint, error);
    check();
    acceptor.listen(options.backlog, error);
    check();
    port = acceptor.local_endpoint().port();
}

/// A reference that shares the connection's life and lowers the count when the last one goes.
std::shared_ptr<Connection> Listener::Impl::counted(std::shared_ptr<Connection> connection) {
    Connection* plain = connection.get();
    ++open;
    auto guard = std::shared_ptr<void>(nullptr, [self = shared_from_this(), connection](void*) mutable {
        connection.reset();
        --self->open;
    });
    return {std::move(guard), plain};
}

asio::awaitable<void> Listener::Impl::secure(std::shared_ptr<Impl> self, Tcp::socket socket) {
    std::shared_ptr<Connection> connection;
    try {
        connection = co_await adoptSecure(std::move(socket), options.tls->current(),
                                          deadlineAfter(options.handshake_timeout));
    } catch (const Error& error) {
        kLog.warning("port {}: {}", port, error.message());
        co_return;  // nothing can be told to it
    }
    self->serve(self->counted(std::move(connection)));
}

asio::awaitable<void> Listener::Impl::acceptLoop(std::shared_ptr<Impl> self) {
    while (acceptor.is_open()) {
        error_code error;
        Tcp::socket socket(asio::make_strand(context));
        co_await acceptor.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
        if (error == asio::error::operation_aborted || !acceptor.is_open()) co_return;
        if (error) {
            // Out of descriptors, most likely: let some connections end first.
            asio::steady_timer pause(acceptor.get_executor(), std::chrono::milliseconds(50));
            error_code ignored;
            co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
            continue;
        }
        if (options.max_connections != 0 && open >= options.max_connections) {
            ++refused;
            continue;  // the socket's destructor closes it
        }
        const asio::any_io_executor strand = socket.get_executor();
        if (options.tls)
            asio::co_spawn(strand, secure(self, std::move(socket)), asio::detached);
        else
            serve(counted(adoptPlain(std::move(socket))));
    }
}

Listener::Listener(asio::io_context& context, ListenerOptions options, Serve serve)
    : impl_(std::make_shared<Impl>(context, std::move(options), std::move(serve))) {
    impl_->bind();
}

Listener::~Listener() { stopAccepting(); }

void Listener::start() {
    asio::co_spawn(impl_->acceptor.get_executor(), impl_->acceptLoop(impl_), asio::detached);
}

void Listener::stopAccepting() {
    asio::post(impl_->acceptor.get_executor(), [impl = impl_] {
        error_code ignored;
        impl->acceptor.close(ignored);
    });
}

uint16_t Listener::port() const { return impl_->port; }

size_t Listener::openConnections() const { return impl_->open; }

uint64_t Listener::refusedConnections() const { return impl_->refused; }

}  // namespace shardd::net
