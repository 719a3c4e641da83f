#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/columns/block.h"

/// What one query does with other machines, told while it runs: the trailer of its answer, system.distributed_queries and
/// the proof that groups are disjoint read it here.
namespace shardd::storage {

/// What became of one shard's part of a distributed read. Counts are of the answer as it arrived; those that only the
/// shard knows (groups, memory) are 0 until it says them, and for ever with peers that do not.
struct ShardAnswer {
    enum class State : uint8_t {
        Unneeded,   ///< left out before anything was sent: `reason` says why
        Waiting,    ///< asked, no word yet
        Answering,  ///< rows come
        Answered,   ///< to the end
        LeftOut,    ///< not available, and skip_unavailable_shards allows that: `reason` is what was tried
        Failed,     ///< `reason` is the error
        Stopped,    ///< nobody wanted more rows, or another shard failed
    };

    /// From 1, as _shard_num.
    uint32_t number = 0;
    State state = State::Waiting;
    /// "host:port" of the replica asked last; empty before one was.
    std::string address;
    /// The replica is shardd itself: it checks its own groups and knows our settings.
    bool is_shardd = false;
    std::string reason;
    uint64_t rows = 0;
    uint64_t blocks = 0;
    uint64_t received_bytes = 0;  ///< of the wire
    uint64_t read_rows = 0;
    uint64_t read_bytes = 0;
    uint64_t groups = 0;
    uint64_t misplaced_groups = 0;  ///< that the shard itself found, under verify_disjoint_groups = 1
    uint64_t peak_memory_bytes = 0;
    uint64_t microseconds = 0;  ///< from asking to the last word
};

/// "answered", …
std::string_view nameOf(ShardAnswer::State state);

/// No more will be heard of the shard.
inline bool isFinal(ShardAnswer::State state) {
    return state != ShardAnswer::State::Waiting && state != ShardAnswer::State::Answering;
}

/// The shards of one read.
/// Threads: any.
class RemoteReport {
public:
    /// `shards` in all, none of them asked yet; `reason` is why those that stay so are not needed.
    RemoteReport(size_t shards, std::string reason);

    /// `position` is the shard's place in the cluster, from 0.
    template <typename Change>
    void update(size_t position, Change&& change) {
        const std::lock_guard lock(mutex_);
        if (position < answers_.size()) change(answers_[position]);
    }

    void asked(size_t position);

    /// The last word of a shard: the time is taken. A state that is final already stays.
    void ended(size_t position, ShardAnswer::State state, std::string reason = {});

    std::vector<ShardAnswer> answers() const;

    /// What shards had to say of the answer's truth, for whoever asked.
    void warn(std::string text);
    std::vector<std::string> warnings() const;

private:
    mutable std::mutex mutex_;  // guards what follows
    std::vector<ShardAnswer> answers_;
    std::vector<std::chrono::steady_clock::time_point> asked_at_;
    std::vector<std::string> warnings_;
};

/// One read of a sharded table: what was decided, and what the shards made of it.
struct ReadActivity {
    std::string cluster;
    /// "db.table", or the table function.
    std::string table;
    uint64_t mode = 0;
    uint8_t stage = 0;
    /// Why this stage, why these shards, why no shorter way.
    std::string reason;
    /// How groups are checked; empty when they are not.
    std::string proof;
    std::shared_ptr<RemoteReport> report;
};

/// Groups that are where their sharding key does not place them, or on more than one shard.
/// Threads: any.
class GroupFindings {
public:
    static constexpr size_t kMostSamples = 5;

    void countChecked(uint64_t groups);

    /// Whether another sample is wanted; `groups` were found.
    bool found(uint64_t groups);

    void addSample(std::string text);

    uint64_t checked() const;
    uint64_t misplaced() const;
    std::vector<std::string> samples() const;

private:
    mutable std::mutex mutex_;  // guards what follows
    uint64_t checked_ = 0;
    uint64_t misplaced_ = 0;
    std::vector<std::string> samples_;
};

/// All of one query.
/// Threads: any.
class DistributedActivity {
public:
    void add(ReadActivity read);
    std::vector<ReadActivity> reads() const;

    GroupFindings findings;

    /// As a shard: this node checks its groups itself; the initiator need not.
    void setChecksGroups() { checks_groups_ = true; }

    bool checksGroups() const { return checks_groups_; }

    /// As a shard under distributed_totals = 'exact': the states behind the totals, for the initiator to merge.
    void setTotalStates(Block states);
    std::optional<Block> totalStates() const;

private:
    mutable std::mutex mutex_;  // guards what follows
    std::vector<ReadActivity> reads_;
    std::optional<Block> total_states_;
    bool checks_groups_ = false;  // written while planning, before anything runs
};

using DistributedActivityPtr = std::shared_ptr<DistributedActivity>;

}  // namespace shardd::storage
