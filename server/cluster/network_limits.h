#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "server/net/connection.h"

namespace shardd::cluster {

/// What one query may move between its nodes: max_network_bytes in all, max_network_bandwidth bytes a second. A second's
/// worth may come at once. Source: ClickHouse's Throttler. Threads: any.
class NetworkLimits {
public:
    /// Zero: no limit.
    NetworkLimits(uint64_t most_bytes, uint64_t bytes_per_second);

    /// Bytes that came or went. The time until which no more shall move; long ago when there is nothing to wait for.
    /// Errors: LIMIT_EXCEEDED (290).
    net::Clock::time_point count(uint64_t bytes, net::Clock::time_point now = net::Clock::now());

private:
    const uint64_t most_bytes_;
    const double bytes_per_second_;
    std::atomic<uint64_t> total_ = 0;
    std::mutex mutex_;  // guards what follows
    double allowed_;    // bytes that may move at `since_`; below zero when too many have moved
    net::Clock::time_point since_ = net::Clock::time_point::min();
};

}  // namespace shardd::cluster
