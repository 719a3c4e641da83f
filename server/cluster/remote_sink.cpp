#include "server/cluster/remote_sink.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>

#include "common/base/log.h"
#include "common/columns/adapt_block.h"
#include "server/cluster/shard_query.h"

namespace shardd::cluster {

namespace asio = boost::asio;
using protocol::ServerPacket;

namespace {

constexpr Log kLog("cluster");

net::Clock::time_point after(std::chrono::microseconds duration) {
    return net::Clock::now() + std::chrono::duration_cast<net::Clock::duration>(duration);
}

template <typename Condition>
void waitUntil(std::condition_variable& changed,
               std::unique_lock<std::mutex>& lock,
               RemoteSink::Deadline deadline,
               const Condition& condition) {
    if (deadline == RemoteSink::kNever)
        changed.wait(lock, condition);
    else if (!changed.wait_until(lock, deadline, condition))
        throw Error(ErrorCode::TIMEOUT_EXCEEDED, "Synchronous distributed insert timeout exceeded.");
}

/// Another replica may have what this one lacks.
bool isTableMissing(const Error& error) {
    return error.is(ErrorCode::UNKNOWN_TABLE) || error.is(ErrorCode::UNKNOWN_DATABASE);
}

}  // namespace

RemoteSink::RemoteSink(Request request)
    : request_(std::move(request)), settings_(settingsOf(request_.settings)) {}

void RemoteSink::start() {
    queue_.onReadable([weak = weak_from_this()] {
        if (const std::shared_ptr<RemoteSink> alive = weak.lock()) alive->wake();
    });
    queue_.onWritable([weak = weak_from_this()] {
        const std::shared_ptr<RemoteSink> alive = weak.lock();
        if (!alive) return;
        const std::lock_guard lock(alive->room_mutex_);
        alive->room_.notify_all();
    });
    std::shared_ptr<ShardClient> warm;
    asio::any_io_executor executor = asio::make_strand(request_.service->context);
    if (!request_.replicas.empty()) {
        linkTo(0);
        if (request_.has_rows) warm = link_->takeWarm();
        executor = link_->executorFor(warm);
    }
    asio::co_spawn(executor, run(shared_from_this(), std::move(warm)), asio::detached);
}

/// An INSERT has connections to many at once and cannot let one go before its end: it takes a place and waits
/// for none.
void RemoteSink::linkTo(size_t replica) {
    auto link = std::make_unique<ReplicaLink>(request_.service, request_.replicas[replica], request_.login);
    link->hold(link->places().take());
    const std::lock_guard lock(mutex_);
    link_ = std::move(link);
    if (cancelled_) link_->interrupt();
}

void RemoteSink::wake() {
    const std::lock_guard lock(mutex_);
    if (link_) link_->notify();
}

void RemoteSink::done(std::optional<Error> failure) {
    queue_.cancel();
    if (link_) link_->release();
    {
        const std::lock_guard lock(mutex_);
        done_ = true;
        failure_ = std::move(failure);
    }
    changed_.notify_all();
}

RemoteSink::Awaitable<void> RemoteSink::run(std::shared_ptr<RemoteSink> self,
                                            std::shared_ptr<ShardClient> warm) {
    std::optional<Error> failure;
    try {
        co_await self->converse(std::move(warm));
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

RemoteSink::Awaitable<void> RemoteSink::ask() {
    storage::RemoteQuery query;
    query.text = request_.text;
    query.settings = request_.settings;
    query.initial_user = request_.origin.initial_user;
    query.initial_query_id = request_.origin.initial_query_id;
    query.initial_address = request_.origin.initial_address;
    query.initial_start_microseconds = request_.origin.initial_start_microseconds;
    query.distributed_depth = request_.origin.distributed_depth;
    client().putQuery(makeShardQuery(query, settings_, *request_.service,
                                     {.revision = client().revision(),
                                      .compresses = link_->replica().config().compression,
                                      .is_shardd = client().isShardd()}));
    client().putEndOfData();
    co_await link_->flush(settings_);
    if (request_.has_rows) co_await awaitSample();
}

/// Nothing when the replica takes rows, else why it does not. Errors: those after which no other is tried.
RemoteSink::Awaitable<std::optional<Error>> RemoteSink::tryReplica(std::shared_ptr<ShardClient> warm) {
    std::optional<Error> failure;
    bool answered = false;
    // A warm connection may have died while it was idle: that is no fault of the replica's.
    for (int attempt = warm && warm->reusable() ? 0 : 1; attempt < 2; ++attempt) {
        failure.reset();
        try {
            if (attempt == 0)
                link_->use(std::move(warm));
            else
                co_await link_->open(settings_);
            co_await ask();
        } catch (const ReceivedError& error) {
            failure = error;
            answered = true;
        } catch (const Error& error) {
            failure = error;
            answered = link_->connected() && client().reusable();
        } catch (const net::PeerLeft&) {
            failure = Error(ErrorCode::NETWORK_ERROR, "The server closed the connection ({})",
                            link_->replica().address());
        }
        if (!failure) co_return std::nullopt;
        link_->releaseClient();
        if (answered || cancelled_) break;
    }
    if (cancelled_ || (answered && !isTableMissing(*failure))) throw *failure;
    co_return failure;
}

/// Connects to the first replica that has the table, and reads what columns it wants.
RemoteSink::Awaitable<void> RemoteSink::reachTable(std::shared_ptr<ShardClient> warm) {
    const uint64_t rounds = std::max<uint64_t>(settings_->connections_with_failover_max_tries, 1);
    std::string log;
    std::optional<Error> missing;
    for (uint64_t round = 0; round < rounds && !missing; ++round) {
        for (size_t i = 0; i < request_.replicas.size(); ++i) {
            if (round > 0 || i > 0) linkTo(i);
            const std::optional<Error> failure = co_await tryReplica(std::exchange(warm, nullptr));
            if (!failure) co_return;
            kLog.warning("{}: {}", request_.replicas[i]->address(), failure->message());
            if (isTableMissing(*failure)) {
                missing = failure;
            } else {
                request_.replicas[i]->countError(settings_->distributed_replica_error_cap);
                log += fmt::format("\nCode: {}. DB::NetException: {}", failure->code(), failure->message());
            }
        }
    }
    if (missing) throw *missing;
    throw Error(ErrorCode::ALL_CONNECTION_TRIES_FAILED, "All connection tries failed. Log: \n{}\n", log);
}

/// A packet, or (with `wake_for_rows`) a Pong in its stead when rows may be waiting to be sent.
RemoteSink::Awaitable<ShardEvent> RemoteSink::nextEvent(bool wake_for_rows) {
    const net::Clock::time_point deadline = after(settings_->receive_timeout);
    while (true) {
        if (cancelled_) throw Error(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled");
        std::optional<ShardEvent> event = client().tryNext();
        if (event) co_return std::move(*event);
        if (!wake_for_rows && net::Clock::now() >= deadline)
            throw Error(ErrorCode::SOCKET_TIMEOUT, "Timeout exceeded while receiving from {}",
                        client().address());
        co_await client().wait(wake_for_rows ? net::Clock::time_point::max() : deadline);
        if (wake_for_rows) {
            event = client().tryNext();
            if (event) co_return std::move(*event);
            ShardEvent nothing;
            nothing.kind = ServerPacket::Pong;
            co_return nothing;
        }
    }
}

void RemoteSink::check(const ShardEvent& event) const {
    if (event.kind == ServerPacket::Exception) throw receivedError(event.exception, client().address());
}

RemoteSink::Awaitable<void> RemoteSink::awaitSample() {
    while (true) {
        ShardEvent event = co_await nextEvent(false);
        check(event);
        if (event.kind == ServerPacket::EndOfStream)
            throw Error(ErrorCode::UNEXPECTED_PACKET_FROM_SERVER, "{} ended an INSERT before it took rows",
                        client().address());
        if (event.kind == ServerPacket::Data) {
            {
                const std::lock_guard lock(mutex_);
                sample_ = std::move(event.block);
            }
            changed_.notify_all();
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
        client().putData(*popped.value);
        co_await flushRows();
    }
}

/// As fast as the network may be used.
RemoteSink::Awaitable<void> RemoteSink::flushRows() {
    net::Clock::time_point resume = net::Clock::time_point::min();
    if (request_.network) resume = request_.network->count(client().pendingBytes());
    co_await link_->flush(settings_);
    while (!cancelled_ && net::Clock::now() < resume) co_await client().wait(resume);
}

RemoteSink::Awaitable<void> RemoteSink::awaitEnd() {
    while (true) {
        const ShardEvent event = co_await nextEvent(false);
        check(event);
        if (event.kind == ServerPacket::EndOfStream) co_return;
    }
}

RemoteSink::Awaitable<void> RemoteSink::converse(std::shared_ptr<ShardClient> warm) {
    co_await reachTable(std::move(warm));
    if (!request_.has_rows) {
        co_await awaitEnd();
        co_return;
    }
    co_await sendRows();
    // Rows must not be acknowledged by half: releaseClient() closes a connection in the middle of an INSERT.
    if (queue_.cancelled()) throw Error(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled");
    client().putEndOfData();
    co_await link_->flush(settings_);
    co_await awaitEnd();
}

/// What is known of why no more rows are taken. The coroutine has ended, or is about to.
void RemoteSink::failLate() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
    if (failure_) throw *failure_;
    throw Error(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled");
}

/// Until the other server has said what it wants.
void RemoteSink::awaitColumns(Deadline deadline) {
    std::unique_lock lock(mutex_);
    waitUntil(changed_, lock, deadline, [this] { return done_ || sample_; });
    if (!done_) return;
    lock.unlock();
    failLate();
}

void RemoteSink::write(const Block& block, Deadline deadline) {
    awaitColumns(deadline);
    Block adapted =
        sample_->columns.empty() ? block : adaptBlock(block, *sample_, request_.service->hooks.convert);
    const size_t weight = adapted.allocatedBytes() + 1;
    using Result = BoundedQueue<Block>::PushResult;
    Result result = Result::Full;
    {
        std::unique_lock lock(room_mutex_);
        waitUntil(room_, lock, deadline, [&] {
            result = queue_.tryPush(adapted, weight);
            return result != Result::Full;
        });
    }
    if (result == Result::Ended) failLate();
}

void RemoteSink::finish(Deadline deadline) {
    queue_.close();
    std::unique_lock lock(mutex_);
    waitUntil(changed_, lock, deadline, [this] { return done_; });
    if (failure_) throw *failure_;
}

void RemoteSink::cancel() {
    cancelled_ = true;
    queue_.cancel();
    {
        const std::lock_guard lock(mutex_);
        if (link_) link_->interrupt();
    }
    changed_.notify_all();
}

}  // namespace shardd::cluster
