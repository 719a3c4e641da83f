#include "server/cluster/topology.h"

#include <algorithm>
#include <optional>

#include "common/base/error.h"
#include "common/base/host.h"
#include "common/base/plain_numbers.h"
#include "server/cluster/own_address.h"

namespace shardd::cluster {

namespace {

constexpr size_t kMaxAddresses = 1000;  // table_function_remote_max_addresses
constexpr uint16_t kDefaultPort = 9000;
constexpr uint16_t kDefaultSecurePort = 9440;

/// A replica with a default database is not local: the query would have to be rewritten for it.
bool isThisServer(const ReplicaConfig& replica, uint16_t own_port) {
    return own_port != 0 && replica.port == own_port && replica.default_database.empty() &&
           isOwnHost(replica.host);
}

void checkCount(size_t count) {
    if (count > kMaxAddresses)
        throw Error(ErrorCode::BAD_ARGUMENTS,
                    "Table function 'remote': first argument generates too many result addresses, at most {} "
                    "are taken",
                    kMaxAddresses);
}

/// "01..03" to 01, 02, 03; nothing when it is no range.
std::optional<std::vector<std::string>> expandRange(std::string_view text) {
    const size_t dots = text.find("..");
    if (dots == std::string_view::npos) return std::nullopt;
    const std::string_view left = text.substr(0, dots);
    const std::string_view right = text.substr(dots + 2);
    const std::optional<uint64_t> first = parseUnsigned(left);
    const std::optional<uint64_t> last = parseUnsigned(right);
    if (!first || !last) return std::nullopt;
    if (*first > *last || *last - *first >= kMaxAddresses)
        throw Error(ErrorCode::BAD_ARGUMENTS, "Table function 'remote': incorrect argument in braces: {}",
                    text);
    const bool padded = left.size() > 1 && left[0] == '0';
    std::vector<std::string> numbers;
    for (uint64_t number = *first; number <= *last; ++number)
        numbers.push_back(padded ? fmt::format("{:0{}}", number, left.size()) : fmt::format("{}", number));
    return numbers;
}

size_t findClosing(std::string_view text, size_t open) {
    size_t depth = 0;
    for (size_t i = open; i < text.size(); ++i) {
        if (text[i] == '{') ++depth;
        if (text[i] == '}' && --depth == 0) return i;
    }
    throw Error(ErrorCode::BAD_ARGUMENTS,
                "Table function 'remote': incorrect brace sequence in first argument");
}

bool splitsAt(std::string_view text, char separator) {
    size_t depth = 0;
    for (const char c : text) {
        if (c == '{') ++depth;
        if (c == '}') --depth;
        if (c == separator && depth == 0) return true;
    }
    return false;
}

std::vector<std::string> expandBraces(std::string_view content, char separator) {
    if (auto range = expandRange(content)) return *std::move(range);
    if (splitsAt(content, separator)) return expandAddresses(content, separator);
    return {"{" + std::string(content) + "}"};  // perhaps of the other separator: left for the next pass
}

ReplicaConfig parseAddress(const std::string& address, const AddressDefaults& defaults) {
    ReplicaConfig replica;
    replica.user = defaults.user;
    replica.password = defaults.password;
    replica.secure = defaults.secure;
    replica.port = defaults.secure ? kDefaultSecurePort : kDefaultPort;
    std::string_view host = address;
    std::string_view port;
    if (host.starts_with('[')) {
        const size_t end = host.find(']');
        if (end != std::string_view::npos) {
            if (end + 1 < host.size() && host[end + 1] == ':') port = host.substr(end + 2);
            host = host.substr(1, end - 1);
        }
    } else if (const size_t colon = host.rfind(':'); colon != std::string_view::npos) {
        port = host.substr(colon + 1);
        host = host.substr(0, colon);
    }
    if (!port.empty()) {
        const std::optional<uint64_t> number = parseUnsigned(port);
        if (!number || *number == 0 || *number > UINT16_MAX)
            throw Error(ErrorCode::BAD_ARGUMENTS, "Not a port: {} in address {}", port, address);
        replica.port = static_cast<uint16_t>(*number);
    }
    if (host.empty()) throw Error(ErrorCode::BAD_ARGUMENTS, "An address without a host: '{}'", address);
    replica.host = host;
    return replica;
}

}  // namespace

std::string Replica::address() const {
    return addressText(config_.host, config_.port);
}

std::vector<uint32_t> Cluster::weights() const {
    std::vector<uint32_t> weights;
    for (const Shard& shard : shards) weights.push_back(static_cast<uint32_t>(shard.weight));
    return weights;
}

ClusterPtr makeCluster(const ClusterConfig& config, OwnPorts own_ports) {
    auto cluster = std::make_shared<Cluster>();
    cluster->name = config.name;
    cluster->secret = config.secret;
    for (const ShardConfig& shard_config : config.shards) {
        Shard& shard = cluster->shards.emplace_back();
        shard.number = static_cast<uint32_t>(cluster->shards.size());
        shard.name = shard_config.name;
        shard.weight = shard_config.weight;
        shard.internal_replication = shard_config.internal_replication;
        for (const ReplicaConfig& replica : shard_config.replicas) {
            shard.replicas.push_back(std::make_shared<Replica>(replica, isThisServer(replica, own_ports.of(replica))));
        }
    }
    return cluster;
}

ClusterPtr withEachReplicaAsShard(const Cluster& cluster) {
    auto result = std::make_shared<Cluster>();
    result->name = cluster.name;
    result->secret = cluster.secret;
    for (const Shard& shard : cluster.shards) {
        for (const std::shared_ptr<Replica>& replica : shard.replicas) {
            Shard& own = result->shards.emplace_back();
            own.number = static_cast<uint32_t>(result->shards.size());
            own.replicas = {std::make_shared<Replica>(replica->config(), replica->isLocal())};
        }
    }
    return result;
}

Topology::Topology(const std::map<std::string, ClusterConfig>& clusters, OwnPorts own_ports)
    : own_ports_(own_ports) {
    reload(clusters);
}

void Topology::reload(const std::map<std::string, ClusterConfig>& clusters) {
    const std::lock_guard lock(mutex_);
    std::map<std::string, ClusterPtr> made;
    for (const auto& [name, config] : clusters) {
        const auto before = configs_.find(name);
        const bool same = before != configs_.end() && before->second == config;
        made[name] = same ? clusters_[name] : makeCluster(config, own_ports_);
    }
    configs_ = clusters;
    clusters_ = std::move(made);
}

ClusterPtr Topology::form(const ClusterConfig& config, std::optional<size_t> own_shard) {
    auto made = std::make_shared<Cluster>();
    const std::lock_guard lock(mutex_);
    const auto before = formed_.find(config.name);
    made->name = config.name;
    made->secret = config.secret;
    for (size_t i = 0; i < config.shards.size(); ++i) {
        Shard& shard = made->shards.emplace_back();
        shard.number = static_cast<uint32_t>(i + 1);
        shard.name = config.shards[i].name;
        const ReplicaConfig& replica = config.shards[i].replicas.front();
        const Shard* old = before != formed_.end() && i < before->second->shards.size()
                               ? &before->second->shards[i]
                               : nullptr;
        if (old && old->replicas.front()->config() == replica)
            shard.replicas = old->replicas;
        else
            shard.replicas = {std::make_shared<Replica>(replica, own_shard == i)};
    }
    withheld_.erase(config.name);
    return formed_[config.name] = std::move(made);
}

void Topology::withhold(const std::string& name, Error why) {
    const std::lock_guard lock(mutex_);
    formed_.erase(name);
    withheld_.insert_or_assign(name, std::move(why));
}

ClusterPtr Topology::find(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    for (const auto* clusters : {&clusters_, &formed_})
        if (const auto found = clusters->find(name); found != clusters->end()) return found->second;
    return nullptr;
}

ClusterPtr Topology::get(const std::string& name) const {
    if (ClusterPtr found = find(name)) return found;
    const std::lock_guard lock(mutex_);
    if (const auto why = withheld_.find(name); why != withheld_.end()) throw Error(why->second);
    throw Error(ErrorCode::CLUSTER_DOESNT_EXIST, "Requested cluster '{}' not found", name);
}

std::vector<ClusterPtr> Topology::all() const {
    const std::lock_guard lock(mutex_);
    std::map<std::string, ClusterPtr> by_name = clusters_;
    by_name.insert(formed_.begin(), formed_.end());
    std::vector<ClusterPtr> clusters;
    for (const auto& [name, cluster] : by_name) clusters.push_back(cluster);
    return clusters;
}

std::vector<std::string> expandAddresses(std::string_view description, char separator) {
    std::vector<std::string> done;
    std::vector<std::string> current = {""};
    const auto append = [&](const std::vector<std::string>& tails) {
        checkCount(current.size() * tails.size());
        std::vector<std::string> longer;
        for (const std::string& head : current)
            for (const std::string& tail : tails) longer.push_back(head + tail);
        current = std::move(longer);
    };
    const auto endCurrent = [&] {
        done.insert(done.end(), current.begin(), current.end());
        checkCount(done.size());
        current = {""};
    };
    for (size_t i = 0; i < description.size(); ++i) {
        if (description[i] == separator) {
            endCurrent();
        } else if (description[i] == '{') {
            const size_t closing = findClosing(description, i);
            append(expandBraces(description.substr(i + 1, closing - i - 1), separator));
            i = closing;
        } else {
            for (std::string& text : current) text += description[i];
        }
    }
    endCurrent();
    return done;
}

ClusterPtr clusterFromAddresses(const std::string& description, const AddressDefaults& defaults) {
    ClusterConfig config;
    for (const std::string& shard_text : expandAddresses(description, ',')) {
        ShardConfig& shard = config.shards.emplace_back();
        for (const std::string& address : expandAddresses(shard_text, '|'))
            shard.replicas.push_back(parseAddress(address, defaults));
    }
    return makeCluster(config, defaults.own_ports);
}

}  // namespace shardd::cluster
