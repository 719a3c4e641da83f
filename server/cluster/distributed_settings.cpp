#include "server/cluster/distributed_settings.h"

#include <functional>
#include <string_view>

#include "common/base/error.h"
#include "config/settings.h"

namespace shardd::cluster {

namespace {

/// A value is read as that of the query setting of the same type.
template <typename Read>
auto readAs(std::string_view query_setting, const std::string& text, Read read) {
    Settings scratch;
    scratch.set(query_setting, text);
    return read(scratch);
}

bool readBool(const std::string& text) {
    return readAs("skip_unavailable_shards", text,
                  [](const Settings& s) -> bool { return s->skip_unavailable_shards; });
}

uint64_t readNumber(const std::string& text) {
    return readAs("max_rows_to_read", text,
                  [](const Settings& s) -> uint64_t { return s->max_rows_to_read; });
}

std::chrono::milliseconds readMilliseconds(const std::string& text) {
    return readAs("distributed_background_insert_sleep_time_ms", text, [](const Settings& s) {
        return std::chrono::duration_cast<std::chrono::milliseconds>(
            s->distributed_background_insert_sleep_time_ms);
    });
}

/// 0 means what the server's default is.
std::optional<std::chrono::milliseconds> readPause(const std::string& text) {
    const std::chrono::milliseconds pause = readMilliseconds(text);
    return pause.count() == 0 ? std::nullopt : std::optional(pause);
}

struct Row {
    std::string_view name;
    std::string_view alias;
    void (*set)(DistributedSettings& settings, const std::string& text);
};

constexpr Row kRows[] = {
    {"fsync_after_insert", "", [](auto& s, const auto& text) { s.fsync_after_insert = readBool(text); }},
    {"fsync_directories", "", [](auto& s, const auto& text) { s.fsync_directories = readBool(text); }},
    {"skip_unavailable_shards", "",
     [](auto& s, const auto& text) { s.skip_unavailable_shards = readBool(text); }},
    {"skip_unavailable_shards_mode", "",
     [](auto& s, const auto& text) {
         s.skip_unavailable_shards_mode = readAs("skip_unavailable_shards_mode", text, [](const Settings& q) {
             return q.get("skip_unavailable_shards_mode");
         });
     }},
    {"bytes_to_throw_insert", "",
     [](auto& s, const auto& text) { s.bytes_to_throw_insert = readNumber(text); }},
    {"bytes_to_delay_insert", "",
     [](auto& s, const auto& text) { s.bytes_to_delay_insert = readNumber(text); }},
    {"max_delay_to_insert", "",
     [](auto& s, const auto& text) {
         const uint64_t seconds = readNumber(text);
         if (seconds < 1)
             throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "max_delay_to_insert cannot be less then 1");
         constexpr uint64_t kMostSeconds = 1'000'000'000;
         s.max_delay_to_insert = std::chrono::seconds(seconds < kMostSeconds ? seconds : kMostSeconds);
     }},
    {"background_insert_batch", "monitor_batch_inserts",
     [](auto& s, const auto& text) { s.background_insert_batch = readNumber(text) != 0; }},
    {"background_insert_split_batch_on_failure", "monitor_split_batch_on_failure",
     [](auto& s, const auto& text) { s.background_insert_split_batch_on_failure = readNumber(text) != 0; }},
    {"background_insert_sleep_time_ms", "monitor_sleep_time_ms",
     [](auto& s, const auto& text) { s.background_insert_sleep_time = readPause(text); }},
    {"background_insert_max_sleep_time_ms", "monitor_max_sleep_time_ms",
     [](auto& s, const auto& text) { s.background_insert_max_sleep_time = readPause(text); }},
    {"flush_on_detach", "", [](auto& s, const auto& text) { s.flush_on_detach = readBool(text); }},
};

}  // namespace

DistributedSettings parseDistributedSettings(
    const std::vector<std::pair<std::string, std::string>>& settings) {
    DistributedSettings parsed;
    for (const auto& [name, text] : settings) {
        const Row* found = nullptr;
        for (const Row& row : kRows)
            if (row.name == name || (!row.alias.empty() && row.alias == name)) found = &row;
        if (!found)
            throw Error(ErrorCode::UNKNOWN_SETTING, "Unknown setting '{}': for storage Distributed", name);
        found->set(parsed, text);
    }
    if (parsed.bytes_to_throw_insert && parsed.bytes_to_delay_insert &&
        parsed.bytes_to_throw_insert <= parsed.bytes_to_delay_insert)
        throw Error(
            ErrorCode::ARGUMENT_OUT_OF_BOUND,
            "bytes_to_throw_insert cannot be less or equal to bytes_to_delay_insert (since it is handled "
            "first)");
    return parsed;
}

}  // namespace shardd::cluster
