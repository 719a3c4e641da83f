#include "server/cluster/replica_attempt.h"

#include <algorithm>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "server/cluster/shard_notes.h"
#include "server/cluster/shard_query.h"

namespace shardd::cluster {

namespace asio = boost::asio;
using protocol::ServerPacket;

namespace {

/// How long a cancelled shard may take to end its answer before its connection is given up.
constexpr auto kDrainTimeout = std::chrono::seconds(5);
/// How long a shard that is connected may take to say whether it has the table. ClickHouse's
/// sync_request_timeout.
constexpr auto kStatusTimeout = std::chrono::seconds(5);
/// Of log lines and the like, before the answer counts.
constexpr size_t kMostKept = 1000;

}  // namespace

ReplicaAttempt::ReplicaAttempt(std::shared_ptr<ShardTask> task,
                               size_t place,
                               std::shared_ptr<Replica> replica,
                               bool accept_stale)
    : task_(std::move(task)),
      place_(place),
      address_(replica->address()),
      accept_stale_(accept_stale),
      link_(task_->group()->service,
            std::move(replica),
            task_->group()->service->loginFor(*task_->group()->cluster)) {}

void ReplicaAttempt::start() {
    task_->note([&](storage::ShardAnswer& answer) { answer.address = address(); });
    std::optional<PlaceGate::Place> place;
    if (task_->tryBegin()) place = link_.places().tryEnter(mostConnections());
    if (place) {
        link_.hold(std::move(*place));
        return begin();
    }
    executor_ = link_.executorFor(nullptr);
    asio::co_spawn(*executor_, waitForPlaces(shared_from_this()), asio::detached);
}

/// A shard's own query never waits here: whoever asked it holds connections already, perhaps those it would
/// wait for.
size_t ReplicaAttempt::mostConnections() const {
    return task_->group()->query.distributed_depth > 0 ? 0 : settings()->distributed_connections_pool_size;
}

/// Among the shards of the query that are asked at once, then among the connections to the replica.
ReplicaAttempt::Awaitable<void> ReplicaAttempt::waitForPlaces(std::shared_ptr<ReplicaAttempt> self) {
    std::optional<Error> failure;
    try {
        co_await self->task_->begin(self->link_.interruption(), self->insisted_);
        const size_t most = self->mostConnections();
        const std::chrono::microseconds patience = self->settings()->connection_pool_max_wait_ms;
        PlaceGate::Wish wish{
            .limit = most, .interrupt = self->link_.interruption(), .insist = &self->insisted_};
        wish.deadline = net::deadlineAfter(toMilliseconds(patience));
        std::optional<PlaceGate::Place> place = co_await self->link_.places().enter(wish);
        if (!place) {
            self->refused_ = true;  // it is nobody's fault: other replicas are not asked
            throw Error(ErrorCode::NO_FREE_CONNECTION,
                        "No free connection in pool of size {} after waiting {} ms ({}, {}; see "
                        "distributed_connections_pool_size and connection_pool_max_wait_ms)",
                        most, toMilliseconds(patience).count(), self->address(),
                        self->task_->group()->shardText(self->task_->shard()));
        }
        self->link_.hold(std::move(*place));
    } catch (const Error& error) {
        failure = error;
    }
    if (failure)
        self->end(failure);
    else
        self->begin();
}

/// With all places taken.
void ReplicaAttempt::begin() {
    std::shared_ptr<ShardClient> warm = link_.takeWarm();
    executor_ = link_.executorFor(warm);
    asio::co_spawn(*executor_, run(shared_from_this(), std::move(warm)), asio::detached);
}

void ReplicaAttempt::giveUp() {
    over_ = true;
    link_.interrupt();
}

void ReplicaAttempt::wake() { link_.notify(); }

ReplicaAttempt::Awaitable<void> ReplicaAttempt::run(std::shared_ptr<ReplicaAttempt> self,
                                                    std::shared_ptr<ShardClient> warm) {
    std::optional<Error> failure;
    try {
        co_await self->converse(std::move(warm));
    } catch (const Error& error) {
        failure = error;
    } catch (const net::PeerLeft&) {
        failure = Error(ErrorCode::ATTEMPT_TO_READ_AFTER_EOF,
                        "Attempt to read after eof: the server closed the connection ({})", self->address());
    } catch (const std::exception& error) {
        failure = Error(ErrorCode::STD_EXCEPTION, "{}", error.what());
    }
    self->end(failure);
}

void ReplicaAttempt::end(const std::optional<Error>& failure) {
    timer_.reset();
    link_.release();
    conclude(failure);
    task_->gone(place_, this);
}

/// Tells the task what this came to.
void ReplicaAttempt::conclude(const std::optional<Error>& failure) {
    if (phase_ == Phase::Chosen || (refused_ && !over_ && task_->choose(place_)))
        return task_->finish(failure);
    if (over_) return;
    if (useless_) return task_->useless(place_, *useless_);
    if (stale_) return task_->stale(place_, *stale_);
    if (!failure) return;
    if (phase_ == Phase::Asked) return task_->lost(place_, *failure);
    task_->unreachable(place_, *failure);
}

ReplicaAttempt::Awaitable<void> ReplicaAttempt::converse(std::shared_ptr<ShardClient> warm) {
    const bool connected = co_await connect(std::move(warm));
    if (!connected) {
        if (link_.connected()) co_await cancelAndDrain();
        co_return;
    }
    std::optional<Error> failure;
    try {
        const bool chosen = co_await compete();
        if (chosen) co_await receive();
    } catch (const ReceivedError&) {
        throw;
    } catch (const Error& error) {
        failure = error;
    }
    if (!failure) {
        if (over_) co_await cancelAndDrain();
        co_return;
    }
    failure->append(fmt::format(": while receiving packet from {} ({})", address(),
                                task_->group()->shardText(task_->shard())));
    throw *failure;
}

/// Up to the replica's word that it can answer; the query is with it then. False when it is not to answer.
ReplicaAttempt::Awaitable<bool> ReplicaAttempt::connect(std::shared_ptr<ShardClient> warm) {
    if (warm && warm->reusable()) {
        link_.use(std::move(warm));
        startTimer(settings()->hedged_connection_timeout_ms);
        try {
            const bool can = co_await ask();
            co_return can;
        } catch (const Error&) {
            if (refused_ || over_) throw;
        } catch (const net::PeerLeft&) {
            if (over_) throw;
        }
        link_.releaseClient();  // it died while it was idle: that is no fault of the replica's
    }
    co_await open();
    const bool can = co_await ask();
    co_return can;
}

ReplicaAttempt::Awaitable<void> ReplicaAttempt::open() {
    try {
        co_await link_.open(settings(), [this] { startTimer(settings()->hedged_connection_timeout_ms); });
    } catch (const ReceivedError&) {
        refused_ = true;
        throw;
    }
}

void ReplicaAttempt::putQuery() {
    const QueryGroup& group = *task_->group();
    const storage::RemoteQuery& query = group.query;
    client().putStatusRequest(group.checked_table);
    client().putQuery(makeShardQuery(query, group.settings, *group.service,
                                     {.shard = task_->shard(),
                                      .revision = client().revision(),
                                      .compresses = link_.replica().config().compression,
                                      .is_shardd = client().isShardd()},
                                     group.deadline));
    client().putScalar("_shard_count", static_cast<uint32_t>(group.cluster->shards.size()));
    client().putScalar("_shard_num", group.cluster->shards[task_->shard()].number);
    for (const auto& [name, blocks] : query.external_tables)
        for (const Block& block : blocks) client().putData(block, name);
    client().putEndOfData();
}

/// Asks whether the replica can answer and sends the query in the same breath: the question costs no round
/// trip. False when it cannot.
ReplicaAttempt::Awaitable<bool> ReplicaAttempt::ask() {
    checkPeer();
    received_before_ = counted_ = client().connection().receivedBytes();
    task_->note([&](storage::ShardAnswer& answer) {
        answer.address = address();
        answer.is_shardd = client().isShardd();
    });
    {
        refused_ = true;  // what this peer cannot be asked is an answer, and no fault of the network
        const MemoryScope scope(task_->group()->budget);
        putQuery();
        refused_ = false;
    }
    co_await countNetwork(client().pendingBytes());
    co_await link_.flush(settings());
    const std::optional<ShardEvent> event = co_await nextEvent(kStatusTimeout);
    co_return event.has_value() && checkStatus(*event);
}

/// What was asked may need a shard that knows our own settings.
void ReplicaAttempt::checkPeer() {
    const std::string& setting = task_->group()->query.needs_own_for;
    if (setting.empty() || client().isShardd()) return;
    refused_ = true;
    throw Error(
        ErrorCode::UNSUPPORTED_METHOD,
        "{} needs shardd on every shard, but {} ({}) is another server: it cannot send what is merged "
        "here. Use the default of this setting for ClickHouse's own behaviour, or "
        "distributed_group_by_no_merge = 0",
        setting, client().address(), task_->group()->shardText(task_->shard()));
}

bool ReplicaAttempt::checkStatus(const ShardEvent& event) {
    if (event.kind == ServerPacket::Exception) {
        Error error = receivedError(event.exception, client().address());
        refused_ = !isNetworkFault(error.code());
        throw error;
    }
    const std::optional<protocol::TableName>& table = task_->group()->checked_table;
    if (event.kind == ServerPacket::TablesStatusResponse && table) {
        const auto found = std::ranges::find_if(
            event.tables.tables, [&](const protocol::TableStatus& status) { return status.name == *table; });
        if (found == event.tables.tables.end()) {
            useless_ = fmt::format("There is no table {}.{} on server: {}", quoteIdentifier(table->database),
                                   quoteIdentifier(table->table), client().address());
            return false;
        }
        const uint64_t most = settings()->max_replica_delay_for_distributed_queries;  // seconds
        if (most > 0 && found->absolute_delay_s >= most && !accept_stale_) {
            stale_ = found->absolute_delay_s;
            return false;
        }
    } else if (event.kind != ServerPacket::Pong) {
        throw Error(ErrorCode::UNEXPECTED_PACKET_FROM_SERVER,
                    "Unexpected packet from server {} (expected Pong or TablesStatusResponse, got {})",
                    client().address(), protocol::packetName(event.kind));
    }
    return true;
}

/// When nothing has come by then, another replica is asked too.
void ReplicaAttempt::startTimer(std::chrono::microseconds timeout) {
    timer_expired_ = false;
    const size_t turn = ++timer_turn_;
    if (!settings()->use_hedged_requests || !task_->hasSpare()) return;
    if (!timer_) timer_.emplace(*executor_);
    timer_->expires_after(timeout);
    timer_->async_wait([weak = weak_from_this(), turn](const boost::system::error_code& error) {
        const std::shared_ptr<ReplicaAttempt> self = weak.lock();
        if (error || !self || self->timer_turn_ != turn) return;
        self->timer_expired_ = true;
        self->task_->slow(self->place_, self->phase_ == Phase::Connecting);
    });
}

/// What a packet says that came before the answer counted: whether it counts now.
/// Source: ClickHouse's hedged connections.
bool ReplicaAttempt::counts(const ShardEvent& event) {
    switch (event.kind) {
        case ServerPacket::Data:
            return event.block.rows > 0;
        case ServerPacket::Progress:
            if (event.progress.bytes == 0) return false;
            if (!settings()->allow_changing_replica_until_first_data_packet || timer_expired_) return true;
            startTimer(settings()->receive_data_timeout_ms);
            return false;
        case ServerPacket::EndOfStream:
        case ServerPacket::Exception:
            return true;
        default:
            return false;
    }
}

/// Until the replica's answer counts. False when another one's is taken, or nobody wants one.
ReplicaAttempt::Awaitable<bool> ReplicaAttempt::compete() {
    phase_ = Phase::Asked;
    bool chosen = task_->asked(place_);
    if (!chosen) startTimer(settings()->receive_data_timeout_ms);
    while (!chosen) {
        std::optional<ShardEvent> event = co_await nextEvent(settings()->receive_timeout);
        if (!event) co_return false;
        if (counts(*event)) {
            chosen = task_->choose(place_);
            over_ = over_ || !chosen;
            if (!chosen) co_return false;
        } else if (kept_.size() >= kMostKept) {
            continue;
        }
        kept_.push_back(std::move(*event));
    }
    phase_ = Phase::Chosen;
    task_->note([&](storage::ShardAnswer& answer) {
        answer.state = storage::ShardAnswer::State::Answering;
        answer.address = address();
        answer.is_shardd = client().isShardd();
    });
    ++timer_turn_;
    timer_.reset();
    co_return true;
}

/// Waits when more has come or gone than the bandwidth allows: the other side then waits too.
ReplicaAttempt::Awaitable<void> ReplicaAttempt::countNetwork(uint64_t bytes) {
    const bool refused = std::exchange(refused_, true);  // another replica would not do better
    const net::Clock::time_point resume = task_->group()->network.count(bytes);
    refused_ = refused;
    while (!over_ && net::Clock::now() < resume) co_await client().wait(resume);
}

/// A packet, or nothing when the answer is not wanted any more. Meanwhile the queue may fill and empty.
/// `timeout` is for silence: a slow trickle is no timeout.
ReplicaAttempt::Awaitable<std::optional<ShardEvent>> ReplicaAttempt::nextEvent(
    std::chrono::microseconds timeout) {
    net::Clock::time_point deadline = net::Clock::now() + timeout;
    while (!over_) {
        if (const uint64_t received = client().connection().receivedBytes(); received != counted_) {
            co_await countNetwork(received - std::exchange(counted_, received));
            if (over_) break;
            deadline = net::Clock::now() + timeout;
        }
        {
            const MemoryScope scope(task_->group()->budget);
            std::optional<ShardEvent> event = client().tryNext();
            if (event) co_return event;
        }
        if (net::Clock::now() >= deadline)
            throw Error(ErrorCode::SOCKET_TIMEOUT,
                        "Timeout exceeded while reading from socket ({}, receive timeout {} ms)",
                        client().address(), toMilliseconds(timeout).count());
        co_await client().wait(deadline);
    }
    co_return std::nullopt;
}

/// Whether the shard is left out with what it said.
bool ReplicaAttempt::isIgnored(int code) const {
    using Mode = setting_types::SkipUnavailableShardsMode;
    if (!settings()->skip_unavailable_shards || code == static_cast<int>(ErrorCode::LOGICAL_ERROR))
        return false;
    switch (settings()->skip_unavailable_shards_mode) {
        case Mode::Unavailable:
            return false;
        case Mode::UnavailableOrTableMissing:
            return code == static_cast<int>(ErrorCode::UNKNOWN_TABLE) ||
                   code == static_cast<int>(ErrorCode::UNKNOWN_DATABASE);
        case Mode::UnavailableOrExceptionBeforeProcessing:
            return !got_rows_;
    }
    return false;
}

/// What a packet means besides its block.
void ReplicaAttempt::handle(ShardEvent& event) {
    switch (event.kind) {
        case ServerPacket::Progress:
            try {
                task_->group()->progress(event.progress.rows, event.progress.bytes);
            } catch (const Error& error) {
                throw ReceivedError(error);
            }
            task_->note([&](storage::ShardAnswer& answer) {
                answer.read_rows += event.progress.rows;
                answer.read_bytes += event.progress.bytes;
            });
            break;
        case ServerPacket::ProfileEvents:
            if (saysThatGroupsAreChecked(event.block)) task_->checks_groups = true;
            task_->note([&](storage::ShardAnswer& answer) { noteProfileEvents(event.block, answer); });
            break;
        case ServerPacket::Log:
            if (const auto& report = task_->group()->query.report)
                for (std::string& text : truthWarnings(event.block)) report->warn(std::move(text));
            break;
        case ServerPacket::ProfileInfo:
            if (event.profile.applied_limit) task_->rows_before_limit = event.profile.rows_before_limit;
            break;
        case ServerPacket::Totals:
            if (task_->has_totals) break;  // read already, perhaps: one is all there may be
            task_->totals = std::move(event.block);
            task_->has_totals = true;
            break;
        case ServerPacket::Extremes:
            task_->extremes = std::move(event.block);
            break;
        case ServerPacket::Exception: {
            const Error error = receivedError(event.exception, client().address());
            if (!isIgnored(error.code())) throw ReceivedError(error);
            task_->leaveOut(error);
            break;
        }
        default:
            break;
    }
}

/// One packet of the answer that counts; true when it was the last.
ReplicaAttempt::Awaitable<bool> ReplicaAttempt::take(ShardEvent event) {
    if (event.kind == ServerPacket::Data) {
        got_rows_ = got_rows_ || event.block.rows > 0;
        if (!event.block.columns.empty() || event.block.rows > 0) co_await push(std::move(event.block));
        co_return false;
    }
    handle(event);
    co_return event.kind == ServerPacket::EndOfStream || event.kind == ServerPacket::Exception;
}

ReplicaAttempt::Awaitable<void> ReplicaAttempt::receive() {
    std::vector<ShardEvent> kept = std::exchange(kept_, {});
    for (ShardEvent& event : kept) {
        const bool last = co_await take(std::move(event));
        if (last) co_return;
    }
    while (std::optional<ShardEvent> event = co_await nextEvent(settings()->receive_timeout)) {
        const bool last = co_await take(std::move(*event));
        if (last) co_return;
    }
}

ReplicaAttempt::Awaitable<void> ReplicaAttempt::push(Block block) {
    task_->note([&](storage::ShardAnswer& answer) {
        answer.rows += block.rows;
        answer.blocks += block.rows > 0;
        answer.received_bytes = client().connection().receivedBytes() - received_before_;
    });
    task_->is_shardd = client().isShardd();
    const size_t weight = block.allocatedBytes() + 1;
    while (task_->queue.tryPush(block, weight) == BoundedQueue<Block>::PushResult::Full)
        co_await client().wait(net::Clock::time_point::max());
}

/// Tells the shard to stop and reads up to its end, so that the connection can be used again.
ReplicaAttempt::Awaitable<void> ReplicaAttempt::cancelAndDrain() {
    if (!client().streaming()) co_return;
    const net::Clock::time_point deadline = net::Clock::now() + kDrainTimeout;
    try {
        client().putCancel();
        co_await client().flush(deadline);
        while (client().streaming() && net::Clock::now() < deadline) {
            const std::optional<ShardEvent> event = client().tryNext();
            if (!event) co_await client().wait(deadline);
        }
    } catch (const Error&) {
        co_return;  // it is closed then
    }
}

}  // namespace shardd::cluster
