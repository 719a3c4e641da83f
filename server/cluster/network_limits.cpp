#include "server/cluster/network_limits.h"

#include <algorithm>

#include "server/cluster/shard_client.h"

namespace shardd::cluster {

NetworkLimits::NetworkLimits(uint64_t most_bytes, uint64_t bytes_per_second)
    : most_bytes_(most_bytes),
      bytes_per_second_(static_cast<double>(bytes_per_second)),
      allowed_(bytes_per_second_) {}

net::Clock::time_point NetworkLimits::count(uint64_t bytes, net::Clock::time_point now) {
    const uint64_t total = total_ += bytes;
    if (most_bytes_ != 0 && total > most_bytes_)
        throw ReceivedError(Error(ErrorCode::LIMIT_EXCEEDED,
                                  "Limit for bytes to send or receive over network exceeded. Maximum: {}",
                                  most_bytes_));
    const net::Clock::time_point no_wait = net::Clock::time_point::min();
    if (bytes_per_second_ == 0) return no_wait;
    using Seconds = std::chrono::duration<double>;
    const std::lock_guard lock(mutex_);
    if (since_ != no_wait && now > since_)
        allowed_ = std::min(allowed_ + bytes_per_second_ * Seconds(now - since_).count(), bytes_per_second_);
    since_ = std::max(since_, now);
    allowed_ -= static_cast<double>(bytes);
    if (allowed_ >= 0) return no_wait;
    constexpr double kMostSeconds = 1e8;  // the clock ends somewhere
    const Seconds pause(std::min(-allowed_ / bytes_per_second_, kMostSeconds));
    return now + std::chrono::duration_cast<net::Clock::duration>(pause);
}

}  // namespace shardd::cluster
