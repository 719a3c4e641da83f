#include "server/cluster/replica_choice.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <random>
#include <tuple>

#include "server/cluster/own_address.h"

namespace shardd::cluster {

namespace {

/// Places where the two names differ, over the shorter one.
size_t hostNameDifference(const std::string& a, const std::string& b) {
    size_t difference = 0;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) difference += a[i] != b[i] ? 1 : 0;
    return difference;
}

/// Letters to insert, delete or replace; upper and lower case are the same.
size_t editDistance(const std::string& a, const std::string& b) {
    const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    std::vector<size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t replaced = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

int64_t commonPrefix(const std::string& a, const std::string& b) {
    return std::ranges::mismatch(a, b).in1 - a.begin();
}

int64_t commonSuffix(const std::string& a, const std::string& b) {
    return std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first - a.rbegin();
}

}  // namespace

int64_t balancingPriority(setting_types::LoadBalancing mode, const BalancingPlace& place) {
    using Balancing = setting_types::LoadBalancing;
    switch (mode) {
        case Balancing::Random:
            return 0;
        case Balancing::InOrder:
            return static_cast<int64_t>(place.position);
        case Balancing::FirstOrRandom:
            return place.position == place.offset % place.count ? 0 : 1;
        case Balancing::RoundRobin: {
            // The one behind the last that was first comes first; at the beginning, that is the second.
            const size_t last = place.turn % place.count;
            return static_cast<int64_t>((place.position + place.count - last - 1) % place.count);
        }
        case Balancing::NearestHostname:
            return static_cast<int64_t>(hostNameDifference(place.own_host, place.host));
        case Balancing::HostnameLevenshteinDistance:
            return static_cast<int64_t>(editDistance(place.own_host, place.host));
        case Balancing::HostnameLongestCommonPrefix:
            return -commonPrefix(place.own_host, place.host);
        case Balancing::HostnameLongestCommonSuffix:
            return -commonSuffix(place.own_host, place.host);
    }
    return 0;
}

std::chrono::seconds errorHalfLife(const Settings& settings) {
    return std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::microseconds(settings->distributed_replica_error_half_life));
}

std::vector<std::shared_ptr<Replica>> orderReplicas(const Shard& shard,
                                                    const Settings& settings,
                                                    bool use_slowdowns) {
    static thread_local std::mt19937_64 random{std::random_device()()};
    const bool by_turn = settings->load_balancing == setting_types::LoadBalancing::RoundRobin;
    BalancingPlace place;
    place.own_host = ownHostName();
    place.count = shard.replicas.size();
    place.offset = settings->load_balancing_first_offset;
    place.turn = by_turn ? shard.turn->fetch_add(1) : 0;
    using Rank = std::tuple<uint64_t, uint64_t, uint64_t, int64_t, uint64_t>;
    std::vector<std::pair<Rank, std::shared_ptr<Replica>>> ranked;
    const std::chrono::seconds half_life = errorHalfLife(settings);
    for (const std::shared_ptr<Replica>& replica : shard.replicas) {
        const ReplicaHealth::Counts counts = replica->health().counts(half_life);
        const uint64_t ignored = settings->distributed_replica_max_ignored_errors;
        place.host = replica->config().host;
        place.position = ranked.size();
        const Rank rank = {counts.errors > ignored ? counts.errors - ignored : 0,
                           use_slowdowns ? counts.slowdowns : 0, replica->config().priority,
                           balancingPriority(settings->load_balancing, place), random()};
        ranked.emplace_back(rank, replica);
    }
    std::ranges::sort(ranked, {}, [](const auto& entry) { return entry.first; });
    std::vector<std::shared_ptr<Replica>> ordered;
    for (auto& [rank, replica] : ranked) ordered.push_back(std::move(replica));
    return ordered;
}

}  // namespace shardd::cluster
