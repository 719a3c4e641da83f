#include "server/cluster/shard_query.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "common/base/host.h"
#include "common/wire/frame_method.h"

namespace shardd::cluster {

namespace {

std::string environmentOr(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value ? value : otherwise;
}

std::string lowerCase(std::string text) {
    std::ranges::transform(text, text.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

protocol::ClientInfo makeClientInfo(const storage::RemoteQuery& query, const ClusterService& service) {
    static const std::string own_user = environmentOr("USER", "shardd");
    protocol::ClientInfo info;
    info.kind = protocol::QueryKind::Secondary;
    info.initial_user = query.initial_user;
    info.initial_query_id = query.initial_query_id;
    if (!query.initial_address.empty()) info.initial_address = query.initial_address;
    info.initial_start_time_us = query.initial_start_microseconds;
    info.os_user = own_user;
    info.host_name = hostName();
    info.client_name = service.login.client_name;
    info.version_major = service.login.version_major;
    info.version_minor = service.login.version_minor;
    info.version_patch = service.login.version_patch;
    info.revision = service.login.revision;
    info.distributed_depth = query.distributed_depth + 1;
    return info;
}

/// The seconds that are left, in whole ones for servers that know no others.
std::string remainingSeconds(net::Clock::time_point deadline, bool whole) {
    using Milliseconds = std::chrono::milliseconds;
    const auto left = std::chrono::ceil<Milliseconds>(deadline - net::Clock::now());
    const auto at_least = std::max(left, Milliseconds(1));
    if (whole) return fmt::format("{}", std::chrono::ceil<std::chrono::seconds>(at_least).count());
    return fmt::format("{}.{:03}", at_least.count() / 1000, at_least.count() % 1000);
}

}  // namespace

Settings settingsOf(const std::vector<std::pair<std::string, std::string>>& settings) {
    Settings typed;
    for (const auto& [name, value] : settings)
        if (Settings::knows(name)) typed.set(name, value);
    return typed;
}

std::optional<FrameOptions> framesOf(const Settings& settings, bool compresses) {
    if (!compresses) return std::nullopt;
    FrameOptions frames;
    frames.method = frameMethodNamed(settings->network_compression_method).value_or(frames.method);
    frames.zstd_level = static_cast<int>(settings->network_zstd_compression_level);
    return frames;
}

ShardQuery makeShardQuery(const storage::RemoteQuery& query,
                          const Settings& settings,
                          const ClusterService& service,
                          const AskedServer& server,
                          std::optional<net::Clock::time_point> deadline) {
    ShardQuery made;
    const protocol::Revision revision = server.revision;
    // With a limit of its own for leaves, that one counts there from the start of each.
    if (settings->max_execution_time_leaf.count() > 0) deadline.reset();
    const bool old = revision < protocol::gate::kSettingsAsText;
    made.frames = framesOf(settings, server.compresses);
    // Only finished rows are passed on as they are.
    made.keep_frames = query.stage == storage::Stage::Complete;
    made.packet.client_info = makeClientInfo(query, service);
    storage::LegacyQuery asked{query.textFor(server.shard), query.stage};
    if (old && query.legacy) asked = query.legacy(server.shard);
    made.packet.stage = static_cast<uint64_t>(asked.stage);
    made.packet.text = std::move(asked.text);
    for (const auto& [name, value] : query.settings) {
        // Sent to every shard, also when nobody set it: servers of that time refuse names that they do not
        // know.
        if (old && name == "skip_unavailable_shards_mode") continue;
        // An important setting that an older shard does not know would be refused; the two below change the
        // answer.
        const bool important = name == "extremes" || name == "allow_experimental_analyzer";
        const bool is_time = name == "max_execution_time" && deadline;
        made.packet.settings.push_back({name, important ? protocol::setting_flag::kImportant : 0,
                                        is_time ? remainingSeconds(*deadline, old) : value});
    }
    if (server.is_shardd) {
        for (const auto& [name, value] : query.own_settings) made.packet.settings.push_back({name, 0, value});
        if (!query.group_buckets.empty())
            made.packet.settings.push_back({"distributed_group_buckets", 0, std::string(query.group_buckets)});
        if (query.block_revision) {
            made.packet.settings.push_back(
                {"distributed_block_revision", 0, std::to_string(query.block_revision)});
            made.block_revision = std::min<protocol::Revision>(query.block_revision, revision);
        }
    }
    if (old) {
        // Servers of that time know the names of methods in lower case only.
        for (protocol::SettingChange& setting : made.packet.settings)
            if (setting.name == "network_compression_method") setting.value = lowerCase(setting.value);
    }
    if (revision < protocol::gate::kDistributedDepth) {
        // Such a peer would count on two-level blocks of its own kind.
        made.packet.settings.push_back({"group_by_two_level_threshold", 0, "0"});
        made.packet.settings.push_back({"group_by_two_level_threshold_bytes", 0, "0"});
    }
    return made;
}

}  // namespace shardd::cluster
