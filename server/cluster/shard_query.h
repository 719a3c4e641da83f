#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "server/cluster/cluster_service.h"
#include "server/storage/distributed.h"

namespace shardd::cluster {

/// The settings of a query by their types. Names that we do not know are left out: they are the shard's
/// affair.
Settings settingsOf(const std::vector<std::pair<std::string, std::string>>& settings);

/// Who is asked.
struct AskedServer {
    size_t shard = 0;  // position in the cluster
    protocol::Revision revision = 0;
    bool compresses = true;
    bool is_shardd = false;
};

/// The Query packet for a shard: secondary, on behalf of the initial user. `deadline`: max_execution_time is
/// what is left until then, at least a millisecond. Our own settings go to our own kind only.
ShardQuery makeShardQuery(const storage::RemoteQuery& query,
                          const Settings& settings,
                          const ClusterService& service,
                          const AskedServer& server,
                          std::optional<net::Clock::time_point> deadline = std::nullopt);

/// The frames that the settings ask for; nothing when `compresses` is false.
std::optional<FrameOptions> framesOf(const Settings& settings, bool compresses);

}  // namespace shardd::cluster
