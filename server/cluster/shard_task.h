#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/base/bounded_queue.h"
#include "server/cluster/query_group.h"
#include "server/cluster/replica_race.h"

namespace shardd::cluster {

class ReplicaAttempt;

/// One shard's part of a query: asks replicas until the answer of one is chosen, which then fills a bounded
/// queue. Threads: any; the attempts at its replicas call it from their strands.
class ShardTask : public std::enable_shared_from_this<ShardTask> {
public:
    ShardTask(std::shared_ptr<QueryGroup> group, size_t shard);

    void start();

    /// Nobody reads this answer any longer: the shard is told to stop.
    void stop();

    /// Somebody waits for this answer and no other: the shard is asked at once, however many there are
    /// already.
    void want();

    /// Called whenever the queue may have something new, and at once; see storage::PollableStream.
    void onReadable(std::function<void()> callback);

    const std::shared_ptr<QueryGroup>& group() const { return group_; }

    size_t shard() const { return shard_; }

    bool stopped() const { return stopped_ || group_->stopped(); }

    BoundedQueue<Block> queue;

    // Written by the chosen attempt before the queue is closed, read behind its end.
    std::optional<Block> totals;
    std::optional<Block> extremes;
    std::optional<uint64_t> rows_before_limit;
    /// `totals` is written: some shards know it before their first row.
    std::atomic<bool> has_totals = false;
    /// Said before the first block, see storage::RemoteStream.
    std::atomic<bool> checks_groups = false;
    /// Whoever answers is of our own kind; known with the first block.
    std::atomic<bool> is_shardd = false;

    /// Writes into the query's report, if somebody wants one.
    template <typename Change>
    void note(Change&& change) {
        if (group_->query.report) group_->query.report->update(shard_, change);
    }

    /// A place among the shards of the query that are asked at once (max_distributed_connections), which the
    /// task keeps until its end. False: it has none yet, see begin().
    bool tryBegin();

    /// Waits for that place. Errors: QUERY_WAS_CANCELLED (394) when it is interrupted.
    boost::asio::awaitable<void> begin(net::Interrupt& interrupt, net::Interrupt& insisted);

    // What an attempt says of the replica at `place`.

    /// It could not be connected, after `tries` may be tried again.
    void unreachable(size_t place, const Error& error);
    /// It has no such table.
    void useless(size_t place, const std::string& reason);
    /// It is `delay` seconds behind.
    void stale(size_t place, uint64_t delay);
    /// It has the query. True when there is no other that could answer: it is chosen then.
    bool asked(size_t place);
    /// It was lost before its answer counted.
    void lost(size_t place, const Error& error);
    /// It takes long: another one is asked too. `connecting`: to be connected.
    void slow(size_t place, bool connecting);
    /// Its answer counts from here on. False when another one's does.
    bool choose(size_t place);
    /// The chosen one said an error for which the shard is left out.
    void leaveOut(const Error& error);
    /// The chosen one's answer has ended, or the whole query has failed.
    void finish(const std::optional<Error>& failure);
    /// The attempt has ended in some way.
    void gone(size_t place, const ReplicaAttempt* attempt);

    /// There are others that could be asked.
    bool hasSpare() const;

private:
    void wake();
    void readable();
    std::shared_ptr<ReplicaAttempt> prepare(size_t place, bool accept_stale);
    void goOn();
    void giveUp();
    Error failureOfAll() const;
    void logLine(const std::string& line);
    void keepPlace(PlaceGate::Place place);
    void leavePlace();
    void noteEnd(const std::optional<Error>& failure);

    const std::shared_ptr<QueryGroup> group_;
    const size_t shard_;
    std::atomic<bool> stopped_ = false;
    std::atomic<bool> wanted_ = false;
    std::mutex readable_mutex_;  // guards on_readable_
    std::function<void()> on_readable_;
    mutable std::mutex mutex_;  // guards what follows
    PlaceGate::Place asking_;   // see tryBegin()
    std::optional<ReplicaRace> race_;
    std::vector<std::shared_ptr<ReplicaAttempt>> attempts_;  // by place; empty where there is none
    std::string log_;                                        // why replicas were passed over
    std::optional<Error> lost_;
    std::string left_out_;  // why, when it is
};

}  // namespace shardd::cluster
