#include "server/session/session_server.h"

#include <condition_variable>
#include <mutex>
#include <set>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "server/net/connection.h"

namespace shardd::session {

namespace asio = boost::asio;

struct SessionServer::Impl : std::enable_shared_from_this<Impl> {
    Impl(std::shared_ptr<SessionHost> session_host, SessionOptions session_options)
        : host(std::move(session_host)),
          options(std::make_shared<const SessionOptions>(std::move(session_options))) {}

    void serve(std::shared_ptr<net::Connection> connection);
    asio::awaitable<void> run(std::shared_ptr<Impl> self, std::shared_ptr<Session> session);

    std::shared_ptr<SessionHost> host;
    std::shared_ptr<const SessionOptions> options;
    std::unique_ptr<net::Listener> listener;

    std::mutex mutex;  // guards the three below
    std::condition_variable ended;
    std::set<std::shared_ptr<Session>> sessions;
    bool stopping = false;
};

asio::awaitable<void> SessionServer::Impl::run(std::shared_ptr<Impl> self, std::shared_ptr<Session> session) {
    co_await session->run();
    const std::lock_guard lock(self->mutex);
    self->sessions.erase(session);
    session.reset();  // its connection is no longer counted when finish() returns
    self->ended.notify_all();
}

void SessionServer::Impl::serve(std::shared_ptr<net::Connection> connection) {
    const asio::any_io_executor executor = connection->executor();
    auto session = std::make_shared<Session>(std::move(connection), host, options);
    {
        const std::lock_guard lock(mutex);
        if (stopping) return;
        sessions.insert(session);
    }
    asio::co_spawn(executor, run(shared_from_this(), std::move(session)), asio::detached);
}

SessionServer::SessionServer(asio::io_context& context,
                             net::ListenerOptions listener,
                             std::shared_ptr<SessionHost> host,
                             SessionOptions options)
    : impl_(std::make_shared<Impl>(std::move(host), std::move(options))) {
    const std::weak_ptr<Impl> weak = impl_;
    impl_->listener = std::make_unique<net::Listener>(context, std::move(listener),
                                                      [weak](std::shared_ptr<net::Connection> connection) {
                                                          if (const std::shared_ptr<Impl> impl = weak.lock())
                                                              impl->serve(std::move(connection));
                                                      });
}

SessionServer::~SessionServer() {
    stopAccepting();
    finish(std::chrono::milliseconds(0));
}

void SessionServer::start() { impl_->listener->start(); }

void SessionServer::stopAccepting() {
    impl_->listener->stopAccepting();
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    for (const std::shared_ptr<Session>& session : impl_->sessions) session->stopWhenIdle();
}

void SessionServer::finish(std::chrono::milliseconds patience) {
    std::unique_lock lock(impl_->mutex);
    const auto none_left = [this] { return impl_->sessions.empty(); };
    if (impl_->ended.wait_for(lock, patience, none_left)) return;
    for (const std::shared_ptr<Session>& session : impl_->sessions) session->stopNow();
    // A session that does not even end now hangs in a peer that neither reads nor closes; the process may go.
    impl_->ended.wait_for(lock, std::chrono::seconds(5), none_left);
}

uint16_t SessionServer::port() const { return impl_->listener->port(); }

size_t SessionServer::openConnections() const { return impl_->listener->openConnections(); }

}  // namespace shardd::session
