#pragma once

#include <memory>
#include <vector>

#include "config/settings.h"
#include "server/cluster/topology.h"

namespace shardd::cluster {

/// The replicas of a shard in the order in which they are to be tried: fewest recent errors first, then the
/// lowest `priority`, then as load_balancing says.
std::vector<std::shared_ptr<Replica>> orderReplicas(const Shard& shard, const Settings& settings);

}  // namespace shardd::cluster
