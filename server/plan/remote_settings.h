#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"

namespace shardd::plan {

/// Where a read of a sharded table stands.
struct RemoteSettingsPlace {
    /// Not in a subquery: what it answers is the result of the whole query.
    bool outermost = true;
    /// Shards know the user who asks (the cluster has a secret): limits of a user count there too.
    bool same_user = false;
};

/// The settings that go with a query to shards, names and texts: what was changed, less what is the
/// initiator's alone. Source: docs/distribution.md, "What a shard receives".
std::vector<std::pair<std::string, std::string>> remoteSettings(const Settings& settings,
                                                                const RemoteSettingsPlace& place);

}  // namespace shardd::plan
