#include "server/cluster/replica_choice.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <tuple>

#include <unistd.h>

namespace shardd::cluster {

namespace {

std::string ownHostName() {
    char name[256] = {};
    if (::gethostname(name, sizeof(name) - 1) != 0) return "";
    return name;
}

/// ClickHouse's: the number of places where the two names differ, over the shorter one.
size_t hostNameDifference(const std::string& a, const std::string& b) {
    size_t difference = 0;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) difference += a[i] != b[i] ? 1 : 0;
    return difference;
}

/// Lower is tried earlier; `position` is the replica's place in the configuration.
size_t balancingRank(
    const Replica& replica, size_t position, size_t count, const Settings& settings, size_t turn) {
    using Balancing = setting_types::LoadBalancing;
    static const std::string own_name = ownHostName();
    static thread_local std::mt19937_64 random{std::random_device()()};
    const size_t offset = settings->load_balancing_first_offset;
    switch (settings->load_balancing) {
        case Balancing::InOrder:
            return position;
        case Balancing::FirstOrRandom:
            return position == offset ? 0 : 1 + (random() >> 1);
        case Balancing::RoundRobin:
            return (position + count - turn % count) % count;
        case Balancing::NearestHostname:
        case Balancing::HostnameLevenshteinDistance:
        case Balancing::HostnameLongestCommonPrefix:
        case Balancing::HostnameLongestCommonSuffix:
            return hostNameDifference(own_name, replica.config().host);
        case Balancing::Random:
            break;
    }
    return random();
}

}  // namespace

std::vector<std::shared_ptr<Replica>> orderReplicas(const Shard& shard, const Settings& settings) {
    static std::atomic<size_t> turns = 0;
    const size_t turn = settings->load_balancing == setting_types::LoadBalancing::RoundRobin ? turns++ : 0;
    using Rank = std::tuple<uint64_t, uint64_t, size_t>;
    std::vector<std::pair<Rank, std::shared_ptr<Replica>>> ranked;
    for (size_t i = 0; i < shard.replicas.size(); ++i) {
        const Replica& replica = *shard.replicas[i];
        const uint64_t errors = replica.recentErrors(settings->distributed_replica_error_half_life,
                                                     settings->distributed_replica_error_cap);
        const uint64_t ignored = settings->distributed_replica_max_ignored_errors;
        const Rank rank = {errors > ignored ? errors - ignored : 0, replica.config().priority,
                           balancingRank(replica, i, shard.replicas.size(), settings, turn)};
        ranked.emplace_back(rank, shard.replicas[i]);
    }
    std::ranges::stable_sort(ranked, {}, [](const auto& entry) { return entry.first; });
    std::vector<std::shared_ptr<Replica>> ordered;
    for (auto& [rank, replica] : ranked) ordered.push_back(std::move(replica));
    return ordered;
}

}  // namespace shardd::cluster
