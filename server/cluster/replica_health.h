#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

namespace shardd::cluster {

/// How a replica has been lately: the errors and slowdowns that were counted, fading with time.
/// Threads: any.
/// Source:  docs/distribution.md, "Which replica is asked"; the counts are those of ClickHouse's
/// system.clusters.
class ReplicaHealth {
public:
    using Seconds = std::chrono::seconds;

    static constexpr uint64_t kDefaultErrorCap = 1000;  // distributed_replica_error_cap

    struct Counts {
        uint64_t errors = 0;
        /// How often another replica was asked because this one was slow to connect.
        uint64_t slowdowns = 0;
        /// Until both are zero, if nothing more happens.
        Seconds recovery{0};
    };

    /// Whole seconds of a clock that never goes back.
    static Seconds now();

    void countError(uint64_t cap = kDefaultErrorCap);
    void countSlowdown();

    /// Counts are halved (rounding down) once for every whole `half_life` since they were first looked at.
    Counts counts(Seconds half_life, Seconds at = now());

private:
    std::mutex mutex_;  // guards what follows
    uint64_t errors_ = 0;
    uint64_t slowdowns_ = 0;
    std::optional<Seconds> halved_at_;
};

}  // namespace shardd::cluster
