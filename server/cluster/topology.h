#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "config/config.h"
#include "server/cluster/replica_health.h"

namespace shardd::cluster {

/// One server of a shard, and how well it has been lately.
/// Threads: any.
class Replica {
public:
    Replica(ReplicaConfig config, bool is_local) : config_(std::move(config)), is_local_(is_local) {}

    const ReplicaConfig& config() const { return config_; }

    /// "host:port"
    std::string address() const;

    /// This very server: its port, and an address of this machine.
    bool isLocal() const { return is_local_; }

    void countError(uint64_t cap) { health_.countError(cap); }

    /// Whether it is there, where somebody watches (a formed cluster); nothing elsewhere.
    std::optional<bool> isActive() const {
        const Activity activity = activity_;
        if (activity == Activity::Unwatched) return std::nullopt;
        return activity == Activity::Active;
    }

    void setActive(bool active) { activity_ = active ? Activity::Active : Activity::Inactive; }

    ReplicaHealth& health() const { return health_; }

private:
    enum class Activity : uint8_t { Unwatched, Active, Inactive };

    const ReplicaConfig config_;
    const bool is_local_;
    std::atomic<Activity> activity_ = Activity::Unwatched;
    mutable ReplicaHealth health_;
};

struct Shard {
    /// From 1, in the order of the configuration.
    uint32_t number = 1;
    std::string name;
    uint64_t weight = 1;
    /// An insert goes to one replica, which passes it on; otherwise to all of them.
    bool internal_replication = false;
    std::vector<std::shared_ptr<Replica>> replicas;
    /// How many queries have chosen a replica by round_robin.
    std::shared_ptr<std::atomic<size_t>> turn = std::make_shared<std::atomic<size_t>>(0);
};

/// Immutable; a reload makes a new one.
struct Cluster {
    std::string name;
    /// Empty: users of the replicas are used.
    std::string secret;
    std::vector<Shard> shards;

    /// Of the shards, in their order: what storage::ShardSlots takes.
    std::vector<uint32_t> weights() const;
};

using ClusterPtr = std::shared_ptr<const Cluster>;

/// Where this server listens; 0 for nowhere.
struct OwnPorts {
    OwnPorts(uint16_t plain_port = 0,
             uint16_t secure_port = 0)  // NOLINT(google-explicit-constructor): a plain port
        : plain(plain_port), secure(secure_port) {}

    uint16_t of(const ReplicaConfig& replica) const { return replica.secure ? secure : plain; }

    uint16_t plain;
    uint16_t secure;
};

/// The clusters by name.
/// Threads: any; a query keeps the Cluster that it began with.
class Topology {
public:
    /// The ports tell which replicas are this server.
    Topology(const std::map<std::string, ClusterConfig>& clusters, OwnPorts own_ports);

    /// Clusters whose definition is the same keep their statistics.
    void reload(const std::map<std::string, ClusterConfig>& clusters);

    /// A cluster that no configuration lists: its nodes found each other. Replicas whose definition is the
    /// same stay what they are. Own shard: its position in the cluster, when this server holds one.
    ClusterPtr form(const ClusterConfig& config, std::optional<size_t> own_shard);

    /// From now on get() of this name fails with `why`, until it is formed.
    void withhold(const std::string& name, Error why);

    /// CLUSTER_DOESNT_EXIST (701), or why it is withheld.
    ClusterPtr get(const std::string& name) const;

    /// nullptr when there is none.
    ClusterPtr find(const std::string& name) const;

    std::vector<ClusterPtr> all() const;

    OwnPorts ownPorts() const { return own_ports_; }

private:
    const OwnPorts own_ports_;
    mutable std::mutex mutex_;  // guards the four below
    std::map<std::string, ClusterConfig> configs_;
    std::map<std::string, ClusterPtr> clusters_;
    std::map<std::string, ClusterPtr> formed_;
    std::map<std::string, Error> withheld_;
};

ClusterPtr makeCluster(const ClusterConfig& config, OwnPorts own_ports);

/// Every replica a shard of its own, for clusterAllReplicas().
ClusterPtr withEachReplicaAsShard(const Cluster& cluster);

struct AddressDefaults {
    std::string user = "default";
    std::string password;
    bool secure = false;
    OwnPorts own_ports = {};
};

/// The cluster that the first argument of remote() describes: "host:port,host{1..3}|replica".
/// Errors: BAD_ARGUMENTS (36) for what is no address, and for more than 1000 of them.
ClusterPtr clusterFromAddresses(const std::string& description, const AddressDefaults& defaults);

/// The patterns of such a description: "a{1..2}" and "{a,b}" written out, split at `separator`.
std::vector<std::string> expandAddresses(std::string_view description, char separator);

}  // namespace shardd::cluster
