#include "server/cluster/client_pool.h"

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
    const auto found = idle_.find(key);
    if (found == idle_.end() || found->second.empty()) return nullptr;
    std::shared_ptr<ShardClient> client = std::move(found->second.back().client);
    found->second.pop_back();
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
        std::deque<Idle>& clients = idle_[key];
        clients.push_back({std::move(client), net::Clock::now()});
        while (clients.size() > max_idle_ || net::Clock::now() - clients.front().since > idle_timeout_) {
            dropped.push_back(std::move(clients.front().client));
            clients.pop_front();
        }
    }
    for (const auto& old : dropped) old->closeLater();
}

void ClientPool::clear() {
    std::map<std::string, std::deque<Idle>> dropped;
    {
        const std::lock_guard lock(mutex_);
        dropped.swap(idle_);
    }
    for (auto& [key, clients] : dropped)
        for (const Idle& idle : clients) idle.client->closeLater();
}

size_t ClientPool::idleClients() const {
    const std::lock_guard lock(mutex_);
    size_t count = 0;
    for (const auto& [key, clients] : idle_) count += clients.size();
    return count;
}

}  // namespace shardd::cluster
