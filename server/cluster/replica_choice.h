#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/settings.h"
#include "server/cluster/topology.h"

namespace shardd::cluster {

/// What load_balancing looks at for one replica.
struct BalancingPlace {
    std::string own_host;
    std::string host;
    size_t position = 0;  // in the configuration
    size_t count = 1;     // of the shard's replicas
    size_t offset = 0;    // load_balancing_first_offset
    size_t turn = 0;      // how many queries chose by round_robin before
};

/// Lower is tried earlier, equal ones in random order.
/// Source: ClickHouse's load_balancing, mode by mode.
int64_t balancingPriority(setting_types::LoadBalancing mode, const BalancingPlace& place);

/// The replicas of a shard in the order in which they are to be tried: fewest recent errors first (less
/// distributed_replica_max_ignored_errors), with `use_slowdowns` then fewest slowdowns, then the lowest
/// `priority` of the configuration, then as load_balancing says.
std::vector<std::shared_ptr<Replica>> orderReplicas(const Shard& shard,
                                                    const Settings& settings,
                                                    bool use_slowdowns = false);

/// The whole seconds of distributed_replica_error_half_life.
std::chrono::seconds errorHalfLife(const Settings& settings);

}  // namespace shardd::cluster
