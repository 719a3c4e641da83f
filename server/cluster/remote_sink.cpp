#include "server/cluster/remote_sink.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>

#include "server/cluster/shard_query.h"

namespace shardd::cluster {

namespace asio = boost::asio;
using protocol::ServerPacket;

RemoteSink::RemoteSink(Request request) : request_(std::move(request)) {}

void RemoteSink::start() {
    queue_.onReadable([weak = weak_from_this()] {
        if (const std::shared_ptr<RemoteSink> alive = weak.lock()) alive->wake();
    });
    asio::co_spawn(asio::make_strand(request_.service->context), run(shared_from_this()), asio::detached);
}

void RemoteSink::wake() {
    const std::lock_guard lock(mutex_);
    if (client_) client_->notify();
}

void RemoteSink::done(std::optional<Error> failure) {
    queue_.cancel();
    std::shared_ptr<ShardClient> client;
    {
        const std::lock_guard lock(mutex_);
        client = std::move(client_);
        done_ = true;
        failure_ = std::move(failure);
    }
    if (client) request_.service->pool.giveBack(pool_key_, std::move(client));
    ended_.notify_all();
}

RemoteSink::Awaitable<void> RemoteSink::run(std::shared_ptr<RemoteSink> self) {
    std::optional<Error> failure;
    try {
        co_await self->converse();
    } catch (const Error& error) {
        failure = error;
    } catch (const net::PeerLeft&) {
        failure =
            Error(ErrorCode::NETWORK_ERROR, "The server closed the connection while an INSERT was sent");
    } catch (const std::exception& error) {
        failure = Error(ErrorCode::STD_EXCEPTION, "{}", error.what());
    }
    self->done(std::move(failure));
}

RemoteSink::Awaitable<void> RemoteSink::connect() {
    std::string log;
    for (const std::shared_ptr<Replica>& replica : request_.replicas) {
        std::shared_ptr<ShardClient> opened;
        try {
            opened = co_await ShardClient::open(
                replica->config(), request_.login,
                net::deadlineAfter(request_.settings->connect_timeout_with_failover_ms));
        } catch (const Error& error) {
            log += fmt::format("\nCode: {}. DB::NetException: {}", error.code(), error.message());
        } catch (const net::PeerLeft&) {
            log += fmt::format("\n{} closed the connection", replica->address());
        }
        if (opened) {
            pool_key_ = ClientPool::key(replica->config(), request_.login);
            const std::lock_guard lock(mutex_);
            client_ = std::move(opened);
            co_return;
        }
        replica->countError();
    }
    throw Error(ErrorCode::ALL_CONNECTION_TRIES_FAILED, "All connection tries failed. Log: \n{}\n", log);
}

/// A packet, or (with `wake_for_rows`) an EndOfStream-less default when rows may be waiting to be sent.
RemoteSink::Awaitable<ShardEvent> RemoteSink::nextEvent(bool wake_for_rows) {
    const net::Clock::time_point deadline =
        net::Clock::now() +
        std::chrono::duration_cast<net::Clock::duration>(request_.settings->receive_timeout);
    while (true) {
        std::optional<ShardEvent> event = client_->tryNext();
        if (event) co_return std::move(*event);
        if (!wake_for_rows && net::Clock::now() >= deadline)
            throw Error(ErrorCode::SOCKET_TIMEOUT, "Timeout exceeded while receiving from {}",
                        client_->address());
        co_await client_->wait(wake_for_rows ? net::Clock::time_point::max() : deadline);
        if (wake_for_rows) {
            event = client_->tryNext();
            if (event) co_return std::move(*event);
            ShardEvent nothing;
            nothing.kind = ServerPacket::Pong;
            co_return nothing;
        }
    }
}

void RemoteSink::check(const ShardEvent& event) const {
    if (event.kind == ServerPacket::Exception) throw receivedError(event.exception, client_->address());
}

RemoteSink::Awaitable<void> RemoteSink::awaitSample() {
    while (true) {
        ShardEvent event = co_await nextEvent(false);
        check(event);
        if (event.kind == ServerPacket::EndOfStream)
            throw Error(ErrorCode::UNEXPECTED_PACKET_FROM_SERVER, "{} ended an INSERT before it took rows",
                        client_->address());
        if (event.kind == ServerPacket::Data) {
            sample_ = std::move(event.block);
            co_return;
        }
    }
}

RemoteSink::Awaitable<void> RemoteSink::sendRows() {
    while (true) {
        auto popped = queue_.tryPop();
        if (popped.ended) co_return;
        if (!popped.value) {
            const ShardEvent event = co_await nextEvent(true);
            check(event);
            continue;
        }
        client_->putData(*popped.value);
        const net::Clock::time_point deadline =
            net::Clock::now() +
            std::chrono::duration_cast<net::Clock::duration>(request_.settings->send_timeout);
        co_await client_->flush(deadline);
    }
}

RemoteSink::Awaitable<void> RemoteSink::awaitEnd() {
    while (true) {
        const ShardEvent event = co_await nextEvent(false);
        check(event);
        if (event.kind == ServerPacket::EndOfStream) co_return;
    }
}

RemoteSink::Awaitable<void> RemoteSink::converse() {
    co_await connect();
    storage::RemoteQuery query;
    query.text = request_.text;
    query.initial_user = "default";
    for (const shardd::SettingChange& setting : request_.settings.changed())
        query.settings.emplace_back(setting.name, setting.value);
    ShardQuery packet =
        makeShardQuery(query, request_.settings, *request_.service, client_->revision(), true, client_->isShardd());
    client_->putQuery(std::move(packet));
    client_->putEndOfData();
    co_await client_->flush(net::deadlineAfter(std::chrono::seconds(60)));
    co_await awaitSample();
    co_await sendRows();
    if (queue_.cancelled()) {
        client_->connection().close();  // rows must not be acknowledged by half
        co_return;
    }
    client_->putEndOfData();
    co_await client_->flush(net::deadlineAfter(std::chrono::seconds(60)));
    co_await awaitEnd();
}

void RemoteSink::write(Block block) {
    const size_t weight = block.allocatedBytes() + 1;
    if (queue_.push(std::move(block), weight)) return;
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return done_; });
    if (failure_) throw *failure_;
    throw Error(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled");
}

void RemoteSink::finish() {
    queue_.close();
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return done_; });
    if (failure_) throw *failure_;
}

void RemoteSink::cancel() { queue_.cancel(); }

}  // namespace shardd::cluster
