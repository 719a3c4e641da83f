#include "server/plan/remote_settings.h"

namespace shardd::plan {

namespace {

/// A setting that is in force on so many levels of sharded tables over sharded tables (0: on all): one level
/// less.
void stepDown(Settings& sent, const char* name, const char* nesting_name, uint64_t nesting) {
    if (nesting == 1) sent.reset(name);
    if (nesting > 1) sent.set(nesting_name, std::to_string(nesting - 1));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> remoteSettings(const Settings& settings,
                                                                const RemoteSettingsPlace& place) {
    Settings sent = settings;
    // Part of the text already.
    sent.reset("limit");
    sent.reset("offset");
    if (settings->optimize_skip_unused_shards)
        stepDown(sent, "optimize_skip_unused_shards", "optimize_skip_unused_shards_nesting",
                 settings->optimize_skip_unused_shards_nesting);
    if (settings->force_optimize_skip_unused_shards)
        stepDown(sent, "force_optimize_skip_unused_shards", "force_optimize_skip_unused_shards_nesting",
                 settings->force_optimize_skip_unused_shards_nesting);
    if (settings->max_execution_time_leaf.count() > 0) {
        sent.set("max_execution_time", settings.get("max_execution_time_leaf"));
        sent.set("timeout_overflow_mode", settings.get("timeout_overflow_mode_leaf"));
    }
    if (!place.same_user) {
        sent.reset("max_memory_usage_for_user");
        sent.reset("max_concurrent_queries_for_user");
    }
    if (!place.outermost)
        for (const char* name : {"max_result_rows", "max_result_bytes", "extremes"}) sent.set(name, "0");
    // A shard's own profile must not decide these.
    for (const char* name : {"skip_unavailable_shards", "skip_unavailable_shards_mode"})
        sent.set(name, settings.get(name));
    std::vector<std::pair<std::string, std::string>> result;
    for (SettingChange& change : sent.changed())
        result.emplace_back(std::move(change.name), std::move(change.value));
    return result;
}

}  // namespace shardd::plan
