#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/cluster/topology.h"

namespace shardd::cluster {

/// Which replica of a shard is asked next, and which one's answer is taken: the rules alone, no sockets.
/// Replicas take turns in the order that was given, each at most `max_tries` times; the first one whose
/// answer counts is chosen, and nobody after it. Threads: one at a time. Source:  ClickHouse's hedged
/// connections.
class ReplicaRace {
public:
    enum class State {
        Idle,        // may be tried
        Connecting,  // up to its word that it is there and has the table
        Asked,       // has the query
        Stale,       // too far behind, and told to stop; may still be better than nothing
        Spent,       // of no use for this query any more
    };

    ReplicaRace(std::vector<std::shared_ptr<Replica>> ordered, uint64_t max_tries);

    /// The place of the next one to ask, Connecting from here on. Nothing when all are busy or spent.
    std::optional<size_t> next();

    void asked(size_t place) { runners_[place].state = State::Asked; }

    /// Could not be connected: may be tried again as long as tries are left.
    void failed(size_t place);

    /// Lost after it was asked, or without the table: not tried again.
    void spent(size_t place) { runners_[place].state = State::Spent; }

    void stale(size_t place, uint64_t delay);

    /// When no other is left: the one that is least behind, Connecting from here on.
    std::optional<size_t> leastStale();

    /// True for one place, once.
    bool choose(size_t place);

    std::optional<size_t> chosen() const { return chosen_; }

    /// Somebody is Connecting or Asked.
    bool busy() const;

    bool othersBusy(size_t place) const;

    /// Somebody is Idle.
    bool hasSpare() const;

    State state(size_t place) const { return runners_[place].state; }

    uint64_t tries(size_t place) const { return runners_[place].tries; }

    const std::shared_ptr<Replica>& replica(size_t place) const { return runners_[place].replica; }

    size_t size() const { return runners_.size(); }

private:
    struct Runner {
        std::shared_ptr<Replica> replica;
        State state = State::Idle;
        uint64_t tries = 0;
        uint64_t delay = 0;
    };

    std::vector<Runner> runners_;
    const uint64_t max_tries_;
    std::optional<size_t> last_;
    std::optional<size_t> chosen_;
};

}  // namespace shardd::cluster
