#include "server/session/connection_settings.h"

#include <algorithm>
#include <charconv>

#include "common/wire/frame_method.h"

namespace shardd::session {

namespace {

std::optional<double> numberOf(const std::optional<std::string>& text) {
    if (!text) return std::nullopt;
    constexpr double kMost = 1e9;  // thirty years of seconds
    double value = 0;
    const char* const last = text->data() + text->size();
    const auto [end, error] = std::from_chars(text->data(), last, value);
    if (error != std::errc() || end != last || !(value >= 0)) return std::nullopt;
    return std::min(value, kMost);
}

/// A time so short that it would round to "no limit" is still one.
void takeSeconds(const std::optional<std::string>& text, std::chrono::milliseconds& time) {
    const std::optional<double> seconds = numberOf(text);
    if (!seconds) return;
    time = std::chrono::milliseconds(static_cast<int64_t>(*seconds * 1000));
    if (*seconds > 0) time = std::max(time, std::chrono::milliseconds(1));
}

}  // namespace

void ConnectionSettings::take(const Lookup& setting) {
    takeSeconds(setting("receive_timeout"), receive_timeout);
    takeSeconds(setting("send_timeout"), send_timeout);
    takeSeconds(setting("idle_connection_timeout"), idle_timeout);
    constexpr int64_t kLeastDelay = 10000;  // more often than a person can see is work for nothing
    if (const std::optional<double> delay = numberOf(setting("interactive_delay")))
        interactive_delay = std::chrono::microseconds(std::max(static_cast<int64_t>(*delay), kLeastDelay));
    if (const std::optional<std::string> text = setting("network_compression_method"))
        compression.method = frameMethodNamed(*text).value_or(compression.method);
    if (const std::optional<double> level = numberOf(setting("network_zstd_compression_level")))
        compression.zstd_level = std::clamp(static_cast<int>(*level), 1, 15);
}

}  // namespace shardd::session
