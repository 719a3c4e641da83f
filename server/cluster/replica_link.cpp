#include "server/cluster/replica_link.h"

#include <algorithm>

#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>

namespace shardd::cluster {

namespace asio = boost::asio;

bool isNetworkFault(int code) {
    constexpr ErrorCode kFaults[] = {ErrorCode::NETWORK_ERROR, ErrorCode::SOCKET_TIMEOUT,
                                     ErrorCode::ATTEMPT_TO_READ_AFTER_EOF, ErrorCode::DNS_ERROR,
                                     ErrorCode::UNEXPECTED_PACKET_FROM_SERVER};
    return std::ranges::any_of(kFaults, [&](ErrorCode each) { return static_cast<int>(each) == code; });
}

ReplicaLink::ReplicaLink(ClusterServicePtr service, std::shared_ptr<Replica> replica, const ShardLogin& login)
    : service_(std::move(service)),
      replica_(std::move(replica)),
      login_(login),
      key_(ClientPool::key(replica_->config(), login_)),
      places_(service_->pool.places(key_)) {}

std::shared_ptr<ShardClient> ReplicaLink::takeWarm() { return service_->pool.take(key_); }

asio::any_io_executor ReplicaLink::executorFor(const std::shared_ptr<ShardClient>& warm) const {
    if (warm) return warm->connection().executor();
    return asio::make_strand(service_->context);
}

void ReplicaLink::use(std::shared_ptr<ShardClient> client) {
    const std::lock_guard lock(mutex_);
    client_ = std::move(client);
}

asio::awaitable<void> ReplicaLink::open(const Settings& settings, std::function<void()> begins) {
    PlaceGate::Wish wish{.limit = ClusterService::kMostConnecting, .interrupt = interrupt_};
    const std::optional<PlaceGate::Place> place = co_await service_->connecting->enter(wish);
    if (begins) begins();
    ShardClient::OpenLimits limits;
    limits.connect_timeout =
        toMilliseconds(replica_->config().secure ? settings->connect_timeout_with_failover_secure_ms
                                                 : settings->connect_timeout_with_failover_ms);
    limits.handshake_timeout = toMilliseconds(settings->handshake_timeout_ms);
    limits.keep_alive_after = std::chrono::duration_cast<std::chrono::seconds>(settings->tcp_keep_alive_timeout);
    limits.interrupt = &interrupt_;
    try {
        std::shared_ptr<ShardClient> opened = co_await ShardClient::open(replica_->config(), login_, limits);
        use(std::move(opened));
    } catch (const ReceivedError& error) {
        if (isNetworkFault(error.code())) throw Error(error);
        throw;
    }
}

asio::awaitable<void> ReplicaLink::flush(const Settings& settings) {
    const std::shared_ptr<net::Connection> connection = client_->connection().shared_from_this();
    const net::Interrupt::Wait wait(&interrupt_, connection->executor(),
                                    [connection] { connection->close(); });
    co_await client_->flush(net::Clock::now() + std::chrono::microseconds(settings->send_timeout));
}

void ReplicaLink::releaseClient() {
    std::shared_ptr<ShardClient> client;
    {
        const std::lock_guard lock(mutex_);
        client = std::move(client_);
    }
    if (client) service_->pool.giveBack(key_, std::move(client));
}

void ReplicaLink::release() {
    releaseClient();
    place_ = {};
}

void ReplicaLink::notify() {
    const std::lock_guard lock(mutex_);
    if (client_) client_->notify();
}

void ReplicaLink::interrupt() {
    interrupt_.raise();
    notify();
}

}  // namespace shardd::cluster
