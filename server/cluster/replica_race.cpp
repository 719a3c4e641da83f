#include "server/cluster/replica_race.h"

#include <algorithm>

namespace shardd::cluster {

ReplicaRace::ReplicaRace(std::vector<std::shared_ptr<Replica>> ordered, uint64_t max_tries)
    : max_tries_(std::max<uint64_t>(max_tries, 1)) {
    for (std::shared_ptr<Replica>& replica : ordered) runners_.push_back({.replica = std::move(replica)});
}

std::optional<size_t> ReplicaRace::next() {
    for (size_t step = 0; step < runners_.size(); ++step) {
        const size_t place = last_ ? (*last_ + 1 + step) % runners_.size() : step;
        if (runners_[place].state != State::Idle) continue;
        runners_[place].state = State::Connecting;
        last_ = place;
        return place;
    }
    return std::nullopt;
}

void ReplicaRace::failed(size_t place) {
    Runner& runner = runners_[place];
    runner.tries += 1;
    runner.state = runner.tries >= max_tries_ ? State::Spent : State::Idle;
}

void ReplicaRace::stale(size_t place, uint64_t delay) {
    runners_[place].state = State::Stale;
    runners_[place].delay = delay;
}

std::optional<size_t> ReplicaRace::leastStale() {
    std::optional<size_t> best;
    for (size_t place = 0; place < runners_.size(); ++place)
        if (runners_[place].state == State::Stale && (!best || runners_[place].delay < runners_[*best].delay))
            best = place;
    if (best) runners_[*best].state = State::Connecting;
    return best;
}

bool ReplicaRace::choose(size_t place) {
    if (chosen_) return *chosen_ == place;
    chosen_ = place;
    return true;
}

bool ReplicaRace::busy() const {
    return std::ranges::any_of(runners_, [](const Runner& runner) {
        return runner.state == State::Connecting || runner.state == State::Asked;
    });
}

bool ReplicaRace::othersBusy(size_t place) const {
    for (size_t i = 0; i < runners_.size(); ++i)
        if (i != place && (state(i) == State::Connecting || state(i) == State::Asked)) return true;
    return false;
}

bool ReplicaRace::hasSpare() const {
    return std::ranges::any_of(runners_, [](const Runner& runner) { return runner.state == State::Idle; });
}

}  // namespace shardd::cluster
