#include "server/cluster/replica_health.h"

#include <algorithm>
#include <bit>

namespace shardd::cluster {

ReplicaHealth::Seconds ReplicaHealth::now() {
    return std::chrono::duration_cast<Seconds>(std::chrono::steady_clock::now().time_since_epoch());
}

void ReplicaHealth::countError(uint64_t cap) {
    const std::lock_guard lock(mutex_);
    errors_ = std::min(errors_ + 1, cap);
}

void ReplicaHealth::countSlowdown() {
    const std::lock_guard lock(mutex_);
    slowdowns_ += 1;
}

ReplicaHealth::Counts ReplicaHealth::counts(Seconds half_life, Seconds at) {
    constexpr int64_t kAllBits = 64;
    const std::lock_guard lock(mutex_);
    if (!halved_at_) halved_at_ = at;
    const int64_t halvings = half_life.count() > 0 ? (at - *halved_at_) / half_life : kAllBits;
    // Not more often than once a period: else whoever looks often would keep the counts from fading.
    if (halvings > 0) halved_at_ = at;
    errors_ = halvings >= kAllBits ? 0 : errors_ >> halvings;
    slowdowns_ = halvings >= kAllBits ? 0 : slowdowns_ >> halvings;
    const auto rounds = static_cast<int64_t>(std::bit_width(std::max(errors_, slowdowns_)));
    const Seconds left = rounds * half_life - (at - *halved_at_);
    return {.errors = errors_, .slowdowns = slowdowns_, .recovery = std::max(left, Seconds(0))};
}

}  // namespace shardd::cluster
