#include "server/cluster/shard_task.h"

#include <algorithm>

#include "common/base/log.h"
#include "server/cluster/replica_attempt.h"
#include "server/cluster/replica_choice.h"

namespace shardd::cluster {

namespace {

constexpr Log kLog("cluster");

}  // namespace

ShardTask::ShardTask(std::shared_ptr<QueryGroup> group, size_t shard)
    : queue(group->queueBytes()), group_(std::move(group)), shard_(shard) {
    queue.onReadable([this] { readable(); });
}

void ShardTask::onReadable(std::function<void()> callback) {
    {
        const std::lock_guard lock(readable_mutex_);
        on_readable_ = callback;
    }
    if (callback) callback();
}

void ShardTask::readable() {
    std::function<void()> callback;
    {
        const std::lock_guard lock(readable_mutex_);
        callback = on_readable_;
    }
    if (callback) callback();
}

void ShardTask::start() {
    queue.onWritable([weak = weak_from_this()] {
        if (const std::shared_ptr<ShardTask> alive = weak.lock()) alive->wake();
    });
    if (group_->query.report) group_->query.report->asked(shard_);
    const Shard& shard = group_->cluster->shards.at(shard_);
    const Settings& settings = group_->settings;
    const uint64_t tries = std::min<uint64_t>(settings->connections_with_failover_max_tries,
                                              settings->distributed_replica_error_cap);
    {
        const std::lock_guard lock(mutex_);
        race_.emplace(orderReplicas(shard, settings, settings->use_hedged_requests), tries);
        attempts_.resize(race_->size());
    }
    goOn();
}

void ShardTask::stop() {
    stopped_ = true;
    queue.cancel();
    bool chosen = false;
    std::vector<std::shared_ptr<ReplicaAttempt>> attempts;
    {
        const std::lock_guard lock(mutex_);
        attempts = attempts_;
        if (race_ && race_->chosen()) chosen = true;
    }
    leavePlace();
    if (!chosen) noteEnd(std::nullopt);  // nobody else will
    for (const auto& attempt : attempts)
        if (attempt) attempt->giveUp();
}

void ShardTask::want() {
    if (wanted_.exchange(true)) return;
    std::vector<std::shared_ptr<ReplicaAttempt>> attempts;
    {
        const std::lock_guard lock(mutex_);
        attempts = attempts_;
    }
    for (const auto& attempt : attempts)
        if (attempt) attempt->insist();
}

bool ShardTask::tryBegin() {
    {
        const std::lock_guard lock(mutex_);
        if (asking_) return true;
    }
    std::optional<PlaceGate::Place> place =
        group_->places->tryEnter(group_->settings->max_distributed_connections);
    if (!place) return false;
    keepPlace(std::move(*place));
    return true;
}

boost::asio::awaitable<void> ShardTask::begin(net::Interrupt& interrupt, net::Interrupt& insisted) {
    if (tryBegin()) co_return;
    PlaceGate::Wish wish{
        .limit = group_->settings->max_distributed_connections, .interrupt = interrupt, .insist = &insisted};
    std::optional<PlaceGate::Place> place = co_await group_->places->enter(wish);
    keepPlace(std::move(*place));
}

void ShardTask::keepPlace(PlaceGate::Place place) {
    const std::lock_guard lock(mutex_);
    if (!stopped()) asking_ = std::move(place);
}

void ShardTask::leavePlace() {
    PlaceGate::Place left;
    const std::lock_guard lock(mutex_);
    left = std::move(asking_);
}

/// There is room in the queue again.
void ShardTask::wake() {
    std::shared_ptr<ReplicaAttempt> chosen;
    {
        const std::lock_guard lock(mutex_);
        if (race_ && race_->chosen()) chosen = attempts_[*race_->chosen()];
    }
    if (chosen) chosen->wake();
}

/// With the mutex held; the attempt is started without it.
std::shared_ptr<ReplicaAttempt> ShardTask::prepare(size_t place, bool accept_stale) {
    attempts_[place] =
        std::make_shared<ReplicaAttempt>(shared_from_this(), place, race_->replica(place), accept_stale);
    if (wanted_) attempts_[place]->insist();
    return attempts_[place];
}

/// Asks the next replica; when there is none to ask and none to wait for, the shard has not answered.
void ShardTask::goOn() {
    std::shared_ptr<ReplicaAttempt> attempt;
    {
        const std::lock_guard lock(mutex_);
        if (stopped() || race_->chosen()) return;
        if (const std::optional<size_t> next = race_->next())
            attempt = prepare(*next, false);
        else if (race_->busy())
            return;
        else if (group_->settings->fallback_to_stale_replicas_for_distributed_queries)
            if (const std::optional<size_t> least = race_->leastStale()) attempt = prepare(*least, true);
    }
    if (attempt)
        attempt->start();
    else
        giveUp();
}

/// No replica answered: the shard is left out when that is allowed.
void ShardTask::giveUp() {
    try {
        const bool may_skip = group_->settings->skip_unavailable_shards && !lost_;
        if (!may_skip) throw failureOfAll();
        leaveOut(Error(ErrorCode::ALL_CONNECTION_TRIES_FAILED, "{}", log_));
        finish(std::nullopt);
    } catch (const Error& error) {
        finish(error);
    }
}

void ShardTask::leaveOut(const Error& error) {
    kLog.warning("{} is left out: {}", group_->shardText(shard_), error.message());
    group_->skipShard();
    const std::lock_guard lock(mutex_);
    left_out_ = error.message();
}

Error ShardTask::failureOfAll() const {
    if (lost_) return *lost_;
    if (!group_->settings->fallback_to_stale_replicas_for_distributed_queries)
        return {ErrorCode::ALL_REPLICAS_ARE_STALE,
                "Could not find enough connections to up-to-date replicas. Got: 0, needed: 1 ({})\n{}",
                group_->shardText(shard_), log_};
    return {ErrorCode::ALL_CONNECTION_TRIES_FAILED, "All connection tries failed. Log: \n\n{}\n ({})", log_,
            group_->shardText(shard_)};
}

/// With the mutex held.
void ShardTask::logLine(const std::string& line) {
    kLog.warning("{}: {}", group_->shardText(shard_), line);
    log_ += line + "\n";
}

void ShardTask::unreachable(size_t place, const Error& error) {
    {
        const std::lock_guard lock(mutex_);
        race_->failed(place);
        race_->replica(place)->health().countError(group_->settings->distributed_replica_error_cap);
        logLine(fmt::format("Code: {}. DB::NetException: {}. ({})", error.code(), error.message(),
                            errorName(error.code())));
    }
    goOn();
}

void ShardTask::useless(size_t place, const std::string& reason) {
    {
        const std::lock_guard lock(mutex_);
        race_->spent(place);
        logLine(reason);
    }
    goOn();
}

void ShardTask::stale(size_t place, uint64_t delay) {
    {
        const std::lock_guard lock(mutex_);
        race_->stale(place, delay);
        logLine(fmt::format("Server {} has unacceptable replica delay: {}", race_->replica(place)->address(),
                            delay));
    }
    goOn();
}

bool ShardTask::asked(size_t place) {
    const std::lock_guard lock(mutex_);
    race_->asked(place);
    if (race_->chosen() || race_->hasSpare() || race_->othersBusy(place)) return false;
    return race_->choose(place);
}

void ShardTask::lost(size_t place, const Error& error) {
    {
        const std::lock_guard lock(mutex_);
        race_->spent(place);
        race_->replica(place)->health().countError(group_->settings->distributed_replica_error_cap);
        lost_ = error;
        logLine(error.message());
    }
    goOn();
}

void ShardTask::slow(size_t place, bool connecting) {
    std::shared_ptr<ReplicaAttempt> attempt;
    {
        const std::lock_guard lock(mutex_);
        if (stopped() || race_->chosen()) return;
        if (connecting) race_->replica(place)->health().countSlowdown();
        if (const std::optional<size_t> next = race_->next()) attempt = prepare(*next, false);
    }
    if (attempt) attempt->start();
}

bool ShardTask::choose(size_t place) {
    std::vector<std::shared_ptr<ReplicaAttempt>> others;
    {
        const std::lock_guard lock(mutex_);
        if (!race_->choose(place)) return false;
        others = attempts_;
    }
    for (size_t i = 0; i < others.size(); ++i)
        if (others[i] && i != place) others[i]->giveUp();
    return true;
}

void ShardTask::noteEnd(const std::optional<Error>& failure) {
    using State = storage::ShardAnswer::State;
    if (!group_->query.report) return;
    std::string reason;
    {
        const std::lock_guard lock(mutex_);
        reason = left_out_;
    }
    const State state = failure           ? State::Failed
                        : !reason.empty() ? State::LeftOut
                        : stopped()       ? State::Stopped
                                          : State::Answered;
    group_->query.report->ended(shard_, state, failure ? failure->message() : reason);
}

void ShardTask::finish(const std::optional<Error>& failure) {
    leavePlace();
    noteEnd(failure);
    if (failure) group_->fail(*failure);
    queue.close();
}

void ShardTask::gone(size_t place, const ReplicaAttempt* attempt) {
    const std::lock_guard lock(mutex_);
    if (attempts_[place].get() == attempt) attempts_[place] = nullptr;  // else there is a new one already
}

bool ShardTask::hasSpare() const {
    const std::lock_guard lock(mutex_);
    return race_->hasSpare();
}

}  // namespace shardd::cluster
