#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardd::cluster {

/// The SETTINGS of ENGINE = Distributed. Those without a value are what the server's default profile says.
struct DistributedSettings {
    /// A file of the queue is on the disk before the INSERT is acknowledged; else as the server writes parts.
    std::optional<bool> fsync_after_insert;
    std::optional<bool> fsync_directories;
    bool skip_unavailable_shards = false;
    std::string skip_unavailable_shards_mode;
    /// Of what waits in the queues, compressed; 0 is no limit.
    uint64_t bytes_to_throw_insert = 0;
    uint64_t bytes_to_delay_insert = 0;
    std::chrono::seconds max_delay_to_insert{60};
    std::optional<bool> background_insert_batch;
    std::optional<bool> background_insert_split_batch_on_failure;
    std::optional<std::chrono::milliseconds> background_insert_sleep_time;
    std::optional<std::chrono::milliseconds> background_insert_max_sleep_time;
    /// DROP, DETACH and the daemon's end send what waits.
    bool flush_on_detach = true;
};

/// Errors: UNKNOWN_SETTING (115), what a bad value gives, ARGUMENT_OUT_OF_BOUND (69) for limits that make no
/// sense together.
DistributedSettings parseDistributedSettings(
    const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace shardd::cluster
