#include "server/cluster/remote_source.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>

#include "common/base/log.h"
#include "common/wire/passed_frames.h"
#include "server/cluster/legacy_name.h"
#include "server/cluster/replica_choice.h"
#include "server/cluster/shard_notes.h"
#include "server/cluster/shard_query.h"

namespace shardd::cluster {

namespace asio = boost::asio;
using protocol::ServerPacket;

namespace {

constexpr Log kLog("cluster");

/// How long a cancelled shard may take to end its answer before its connection is given up.
constexpr auto kDrainTimeout = std::chrono::seconds(5);

bool isTableMissing(int code) {
    return code == static_cast<int>(ErrorCode::UNKNOWN_TABLE) ||
           code == static_cast<int>(ErrorCode::UNKNOWN_DATABASE);
}

}  // namespace

QueryGroup::QueryGroup(ClusterServicePtr cluster_service, ClusterPtr asked, storage::RemoteQuery remote_query)
    : service(std::move(cluster_service)),
      cluster(std::move(asked)),
      query(std::move(remote_query)),
      settings(settingsOf(query.settings)),
      budget(currentMemoryBudget()),
      progress_(query.progress) {
    if (budget) budget->addReference();
}

QueryGroup::~QueryGroup() {
    if (budget) budget->dropReference();
}

void QueryGroup::setTasks(const std::vector<std::shared_ptr<ShardTask>>& tasks) {
    streams_ = tasks.size();
    {
        const std::lock_guard lock(mutex_);
        tasks_.assign(tasks.begin(), tasks.end());
    }
    on_stop_.emplace(query.stop, [weak = weak_from_this()] {
        if (const std::shared_ptr<QueryGroup> alive = weak.lock()) alive->stop();
    });
}

void QueryGroup::fail(const Error& error) {
    if (failed_.exchange(true)) return;
    stopped_ = true;
    const std::lock_guard lock(mutex_);
    for (const std::weak_ptr<ShardTask>& weak : tasks_) {
        const std::shared_ptr<ShardTask> task = weak.lock();
        if (!task) continue;
        task->queue.fail(std::make_exception_ptr(error));
        task->wake();
    }
}

void QueryGroup::stop() {
    stopped_ = true;
    std::vector<std::shared_ptr<ShardTask>> tasks;
    {
        const std::lock_guard lock(mutex_);
        for (const std::weak_ptr<ShardTask>& weak : tasks_)
            if (std::shared_ptr<ShardTask> task = weak.lock()) tasks.push_back(std::move(task));
    }
    for (const std::shared_ptr<ShardTask>& task : tasks) task->stop();
}

void QueryGroup::skipShard() {
    const size_t skipped = ++skipped_;
    const size_t asked = query.shards.size();
    const uint64_t most = settings->max_skip_unavailable_shards_num;
    const auto ratio = static_cast<double>(settings->max_skip_unavailable_shards_ratio);
    const bool too_many = (most != 0 && skipped > most) ||
                          (ratio > 0 && static_cast<double>(skipped) > ratio * static_cast<double>(asked));
    if (too_many)
        throw Error(ErrorCode::TOO_MANY_UNAVAILABLE_SHARDS,
                    "Too many unavailable shards: {} of {} were skipped", skipped, asked);
}

void QueryGroup::progress(uint64_t rows, uint64_t bytes) {
    const std::lock_guard lock(progress_mutex_);
    if (progress_) progress_(rows, bytes);
}

void QueryGroup::streamGone() {
    if (--streams_ > 0) return;
    const std::lock_guard lock(progress_mutex_);
    progress_ = nullptr;
}

ShardTask::ShardTask(std::shared_ptr<QueryGroup> group, size_t shard)
    : group_(std::move(group)), shard_(shard) {}

void ShardTask::start() {
    queue.onWritable([weak = weak_from_this()] {
        if (const std::shared_ptr<ShardTask> alive = weak.lock()) alive->wake();
    });
    const Shard& shard = group_->cluster->shards.at(shard_);
    if (group_->query.report) group_->query.report->asked(shard_);
    Replicas ordered = orderReplicas(shard, group_->settings);
    std::shared_ptr<ShardClient> warm;
    if (!ordered.empty())
        warm = group_->service->pool.take(
            ClientPool::key(ordered.front()->config(), group_->service->loginFor(*group_->cluster)));
    const asio::any_io_executor executor =
        warm ? warm->connection().executor()
             : asio::any_io_executor(asio::make_strand(group_->service->context));
    asio::co_spawn(executor, run(shared_from_this(), std::move(ordered), std::move(warm)), asio::detached);
}

void ShardTask::stop() {
    stopped_ = true;
    queue.cancel();
    wake();
}

void ShardTask::wake() {
    const std::lock_guard lock(client_mutex_);
    if (client_) client_->notify();
}

void ShardTask::useClient(std::shared_ptr<ShardClient> client, std::string pool_key) {
    const std::lock_guard lock(client_mutex_);
    client_ = std::move(client);
    pool_key_ = std::move(pool_key);
}

/// Back into the pool when it can be used again, else closed.
void ShardTask::releaseClient() {
    std::shared_ptr<ShardClient> client;
    {
        const std::lock_guard lock(client_mutex_);
        client = std::move(client_);
    }
    if (client) group_->service->pool.giveBack(pool_key_, std::move(client));
}

ShardTask::Awaitable<void> ShardTask::run(std::shared_ptr<ShardTask> self,
                                          Replicas ordered,
                                          std::shared_ptr<ShardClient> warm) {
    std::optional<Error> failure;
    try {
        co_await self->converse(std::move(ordered), std::move(warm));
    } catch (const Error& error) {
        failure = error;
    } catch (const std::exception& error) {
        failure = Error(ErrorCode::STD_EXCEPTION, "{}", error.what());
    }
    self->releaseClient();
    self->noteEnd(failure);
    if (failure) self->group_->fail(*failure);
    self->queue.close();
}

void ShardTask::noteEnd(const std::optional<Error>& failure) {
    using State = storage::ShardAnswer::State;
    if (!group_->query.report) return;
    const State state = failure ? State::Failed : left_out_ ? State::LeftOut : stopped() ? State::Stopped : State::Answered;
    group_->query.report->ended(shard_, state, failure ? failure->message() : left_out_ ? log_ : "");
}

ShardTask::Awaitable<void> ShardTask::converse(Replicas ordered, std::shared_ptr<ShardClient> warm) {
    const uint64_t rounds = std::max<uint64_t>(group_->settings->connections_with_failover_max_tries, 1);
    for (uint64_t round = 0; round < rounds; ++round) {
        bool all_missing = true;
        for (const std::shared_ptr<Replica>& replica : ordered) {
            if (stopped()) co_return;
            const Outcome outcome = co_await tryReplica(replica, std::exchange(warm, nullptr));
            if (outcome == Outcome::Done) co_return;
            all_missing = all_missing && outcome == Outcome::TableMissing;
        }
        if (all_missing) break;  // asking again does not make the table
    }
    giveUp();
}

/// No replica answered: the shard is left out when that is allowed.
void ShardTask::giveUp() {
    using Mode = setting_types::SkipUnavailableShardsMode;
    const Settings& settings = group_->settings;
    const bool may_miss_table = settings->skip_unavailable_shards_mode != Mode::Unavailable;
    if (settings->skip_unavailable_shards && (!missing_ || may_miss_table)) {
        left_out_ = true;
        if (missing_) log_ = missing_->message();
        return group_->skipShard();
    }
    throw missing_ ? *missing_ : unavailableError();
}

Error ShardTask::unavailableError() const {
    return Error(ErrorCode::ALL_CONNECTION_TRIES_FAILED, "All connection tries failed. Log: \n\n{}\n", log_);
}

/// One packet, or nothing when the query was stopped. While it waits, the queue may fill and empty.
ShardTask::Awaitable<std::optional<ShardEvent>> ShardTask::nextEvent() {
    const net::Clock::time_point deadline =
        net::Clock::now() +
        std::chrono::duration_cast<net::Clock::duration>(group_->settings->receive_timeout);
    while (!stopped()) {
        {
            const MemoryScope scope(group_->budget);
            std::optional<ShardEvent> event = client_->tryNext();
            if (event) co_return event;
        }
        if (net::Clock::now() >= deadline)
            throw Error(ErrorCode::SOCKET_TIMEOUT, "Timeout exceeded while receiving from {}",
                        client_->address());
        co_await client_->wait(deadline);
    }
    co_return std::nullopt;
}

void ShardTask::putQuery() {
    const storage::RemoteQuery& query = group_->query;
    client_->putQuery(
        makeShardQuery(query, group_->settings, *group_->service, client_->revision(), compresses_, client_->isShardd()));
    client_->putScalar("_shard_count", static_cast<uint32_t>(group_->cluster->shards.size()));
    client_->putScalar("_shard_num", group_->cluster->shards[shard_].number);
    for (const auto& [name, blocks] : query.external_tables)
        for (const Block& block : blocks) client_->putData(block, name);
    client_->putEndOfData();
}

ShardTask::Awaitable<std::optional<ShardEvent>> ShardTask::sendAndReadFirst(
    std::shared_ptr<Replica> replica) {
    compresses_ = replica->config().compression;
    checkPeer();
    received_before_ = client_->connection().receivedBytes();
    note([&](storage::ShardAnswer& answer) { answer.is_shardd = client_->isShardd(); });
    {
        const MemoryScope scope(group_->budget);
        putQuery();
    }
    const net::Clock::time_point deadline =
        net::Clock::now() + std::chrono::duration_cast<net::Clock::duration>(group_->settings->send_timeout);
    co_await client_->flush(deadline);
    std::optional<ShardEvent> first = co_await nextEvent();
    co_return first;
}

ShardTask::Awaitable<ShardTask::Outcome> ShardTask::tryReplica(std::shared_ptr<Replica> replica,
                                                               std::shared_ptr<ShardClient> warm) {
    note([&](storage::ShardAnswer& answer) { answer.address = replica->address(); });
    const ShardLogin login = group_->service->loginFor(*group_->cluster);
    const std::string key = ClientPool::key(replica->config(), login);
    std::optional<ShardEvent> first;
    std::optional<Error> failure;
    // A warm connection may have died while it was idle: that is no fault of the replica's.
    for (int attempt = warm && warm->reusable() ? 0 : 1; attempt < 2; ++attempt) {
        const bool reuse = attempt == 0;
        failure.reset();
        try {
            if (reuse) {
                useClient(std::move(warm), key);
            } else {
                const auto timeout = replica->config().secure
                                         ? group_->settings->connect_timeout_with_failover_secure_ms
                                         : group_->settings->connect_timeout_with_failover_ms;
                std::shared_ptr<ShardClient> opened =
                    co_await ShardClient::open(replica->config(), login, net::deadlineAfter(timeout));
                useClient(std::move(opened), key);
            }
            first = co_await sendAndReadFirst(replica);
        } catch (const Error& error) {
            if (error.is(ErrorCode::UNSUPPORTED_METHOD) && !group_->query.needs_own_for.empty()) throw;
            failure = error;
        } catch (const net::PeerLeft&) {
            failure =
                Error(ErrorCode::NETWORK_ERROR, "The server closed the connection ({})", replica->address());
        }
        if (!failure) break;
        releaseClient();
    }
    if (failure) {
        replica->countError();
        kLog.warning("{}: {}", replica->address(), failure->message());
        log_ += fmt::format("{}Code: {}. DB::NetException: {}", log_.empty() ? "" : "\n", failure->code(),
                            failure->message());
        co_return Outcome::Unavailable;
    }
    if (!first) {  // stopped
        co_await cancelAndDrain();
        co_return Outcome::Done;
    }
    if (isPassedOver(*first)) {
        missing_ = receivedError(first->exception, client_->address());
        releaseClient();
        co_return Outcome::TableMissing;
    }
    co_await receive(std::move(*first));
    co_return Outcome::Done;
}

/// An exception before any data for which another replica may be asked, or the shard be left out.
bool ShardTask::isPassedOver(const ShardEvent& first) const {
    using Mode = setting_types::SkipUnavailableShardsMode;
    if (first.kind != ServerPacket::Exception) return false;
    const Settings& settings = group_->settings;
    return isTableMissing(first.exception.chain.front().code) ||
           (settings->skip_unavailable_shards &&
            settings->skip_unavailable_shards_mode == Mode::UnavailableOrExceptionBeforeProcessing);
}

/// What was asked may need a shard that knows our own settings.
void ShardTask::checkPeer() const {
    const std::string& setting = group_->query.needs_own_for;
    if (setting.empty() || client_->isShardd()) return;
    throw Error(ErrorCode::UNSUPPORTED_METHOD,
                "{} needs shardd on every shard, but {} (shard {}) is another server: it cannot send what is merged here. Use "
                "the default of this setting for ClickHouse's own behaviour, or distributed_group_by_no_merge = 0",
                setting, client_->address(), group_->cluster->shards[shard_].number);
}

/// What a packet means besides its block.
void ShardTask::handle(ShardEvent& event) {
    switch (event.kind) {
        case ServerPacket::Exception:
            throw receivedError(event.exception, client_->address());
        case ServerPacket::Progress:
            group_->progress(event.progress.rows, event.progress.bytes);
            note([&](storage::ShardAnswer& answer) {
                answer.read_rows += event.progress.rows;
                answer.read_bytes += event.progress.bytes;
            });
            break;
        case ServerPacket::ProfileEvents:
            if (saysThatGroupsAreChecked(event.block)) checks_groups = true;
            note([&](storage::ShardAnswer& answer) { noteProfileEvents(event.block, answer); });
            break;
        case ServerPacket::Log:
            if (group_->query.report)
                for (std::string& text : truthWarnings(event.block)) group_->query.report->warn(std::move(text));
            break;
        case ServerPacket::ProfileInfo:
            if (event.profile.applied_limit) rows_before_limit = event.profile.rows_before_limit;
            break;
        case ServerPacket::Totals:
            if (has_totals) break;  // read already, perhaps: one is all there may be
            totals = std::move(event.block);
            has_totals = true;
            break;
        case ServerPacket::Extremes:
            extremes = std::move(event.block);
            break;
        default:
            break;
    }
}

ShardTask::Awaitable<void> ShardTask::receive(ShardEvent event) {
    while (event.kind != ServerPacket::EndOfStream) {
        if (event.kind == ServerPacket::Data) {
            if (!event.block.columns.empty() || event.block.rows > 0) co_await push(std::move(event.block));
        } else {
            handle(event);
        }
        std::optional<ShardEvent> next = co_await nextEvent();
        if (!next) {
            co_await cancelAndDrain();
            co_return;
        }
        event = std::move(*next);
    }
}

ShardTask::Awaitable<void> ShardTask::push(Block block) {
    note([&](storage::ShardAnswer& answer) {
        answer.state = storage::ShardAnswer::State::Answering;
        answer.rows += block.rows;
        answer.blocks += block.rows > 0;
        answer.received_bytes = client_->connection().receivedBytes() - received_before_;
    });
    const size_t weight = block.allocatedBytes() + 1;
    while (queue.tryPush(block, weight) == BoundedQueue<Block>::PushResult::Full)
        co_await client_->wait(net::Clock::time_point::max());
}

/// Tells the shard to stop and reads up to its end, so that the connection can be used again.
ShardTask::Awaitable<void> ShardTask::cancelAndDrain() {
    if (!client_) co_return;
    const net::Clock::time_point deadline = net::Clock::now() + kDrainTimeout;
    try {
        client_->putCancel();
        co_await client_->flush(deadline);
        while (net::Clock::now() < deadline) {
            const std::optional<ShardEvent> event = client_->tryNext();
            if (!event) {
                co_await client_->wait(deadline);
                continue;
            }
            if (event->kind == ServerPacket::EndOfStream || event->kind == ServerPacket::Exception) break;
        }
    } catch (const Error&) {
        co_return;  // it is closed then
    }
}

RemoteSource::~RemoteSource() {
    task_->stop();
    task_->group()->streamGone();
}

namespace {

/// A shard's column by the name that was asked for, or by the one that a server without the analyzer gives
/// it.
const NamedColumn& findColumn(const Block& block, const std::string& name) {
    if (const std::optional<size_t> found = block.find(name)) return block.columns[*found];
    if (const std::optional<size_t> found = block.find(legacyName(name))) return block.columns[*found];
    return block.get(name);  // says what there is
}

}  // namespace

Block RemoteSource::convert(Block block, const Block& wanted) const {
    const auto& convert = task_->group()->service->hooks.convert;
    Block result;
    result.rows = block.rows;
    result.bucket = block.bucket;
    result.is_overflows = block.is_overflows;
    for (const NamedColumn& column : wanted.columns) {
        const NamedColumn& found = findColumn(block, column.name);
        ColumnPtr values = found.column;
        if (!sameType(found.type, column.type)) {
            if (!convert)
                throw Error(ErrorCode::TYPE_MISMATCH, "Column {} came as {} instead of {}", column.name,
                            found.type->name(), column.type->name());
            values = convert(values, found.type, column.type);
        }
        result.columns.push_back({column.name, column.type, std::move(values)});
    }
    return result;
}

bool RemoteSource::isAsWanted(const Block& header) const {
    const Block& wanted = this->header();
    if (header.columns.size() != wanted.columns.size()) return false;
    for (size_t i = 0; i < wanted.columns.size(); ++i)
        if (header.columns[i].name != wanted.columns[i].name || !sameType(header.columns[i].type, wanted.columns[i].type)) return false;
    return true;
}

void RemoteSource::takeTotals() {
    const std::optional<Block>& own_header = task_->group()->query.totals_header;
    if (task_->has_totals && !totals_) totals_ = convert(*task_->totals, own_header ? *own_header : header());
}

std::optional<Block> RemoteSource::next() {
    while (std::optional<Block> block = task_->queue.pop()) {
        takeTotals();
        if (block->rows == 0) same_columns_ = isAsWanted(*block);
        if (same_columns_ && passedFrames(*block)) return block;
        *block = net::decoded(std::move(*block));
        Block converted = convert(std::move(*block), header());
        if (converted.rows > 0) return converted;
    }
    takeTotals();
    if (task_->extremes && !extremes_) extremes_ = convert(*task_->extremes, header());
    return std::nullopt;
}

}  // namespace shardd::cluster
