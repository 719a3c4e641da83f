#include "server/cluster/client_pool.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace shardd::cluster {

std::string ClientPool::key(const ReplicaConfig& replica, const ShardLogin& login) {
    // Length-prefixed parts, so that no two different logins share a key.
    std::string key;
    const auto add = [&](const std::string& part) { key += fmt::format("{}:{},", part.size(), part); };
    add(replica.host);
    add(fmt::format("{}{}", replica.port, replica.secure ? "s" : ""));
    add(replica.user);
    add(replica.password);
    add(replica.default_database);
    add(login.cluster);
    add(login.secret);
    add(fmt::format("{}", login.revision));
    return key;
}

std::shared_ptr<ShardClient> ClientPool::take(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = lanes_.find(key);
    if (found == lanes_.end() || found->second.idle.empty()) return nullptr;
    std::shared_ptr<ShardClient> client = std::move(found->second.idle.back().client);
    found->second.idle.pop_back();
    return client;
}

void ClientPool::giveBack(const std::string& key, std::shared_ptr<ShardClient> client) {
    if (!client->reusable()) {
        client->connection().close();
        return;
    }
    client->releaseMemory();
    client->connection().readAhead();  // so that the peer's end is noticed
    std::vector<std::shared_ptr<ShardClient>> dropped;
    {
        const std::lock_guard lock(mutex_);
        std::deque<Idle>& clients = lanes_[key].idle;
        clients.push_back({std::move(client), net::Clock::now()});
        while (clients.size() > max_idle_ || net::Clock::now() - clients.front().since > idle_timeout_) {
            dropped.push_back(std::move(clients.front().client));
            clients.pop_front();
        }
    }
    for (const auto& old : dropped) old->closeLater();
}

std::shared_ptr<PlaceGate> ClientPool::places(const std::string& key) {
    const std::lock_guard lock(mutex_);
    if (lanes_.size() >= many_lanes_ && !lanes_.contains(key)) forgetUnused();
    return lanes_[key].places;
}

/// Of addresses that were asked once (remote()). With the mutex held.
void ClientPool::forgetUnused() {
    std::erase_if(lanes_, [](const auto& entry) {
        return entry.second.idle.empty() && entry.second.places.use_count() == 1;
    });
    many_lanes_ = std::max(kFewLanes, 2 * lanes_.size());
}

void ClientPool::clear() {
    std::vector<std::shared_ptr<ShardClient>> dropped;
    {
        const std::lock_guard lock(mutex_);
        for (auto& [key, lane] : lanes_) {
            for (Idle& idle : lane.idle) dropped.push_back(std::move(idle.client));
            lane.idle.clear();
        }
    }
    for (const auto& client : dropped) client->closeLater();
}

size_t ClientPool::idleClients() const {
    const std::lock_guard lock(mutex_);
    size_t count = 0;
    for (const auto& [key, lane] : lanes_) count += lane.idle.size();
    return count;
}

}  // namespace shardd::cluster
