#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "config/config.h"
#include "server/cluster/place_gate.h"
#include "server/cluster/shard_client.h"

namespace shardd::cluster {

/// Warm connections by where they lead to and as whom.
/// Threads: any. A client that is taken is used on its own strand; whether it is still alive is seen only
/// there.
class ClientPool {
public:
    explicit ClientPool(size_t max_idle_per_replica = 64,
                        std::chrono::seconds idle_timeout = std::chrono::seconds(3600))
        : max_idle_(max_idle_per_replica), idle_timeout_(idle_timeout) {}

    /// Every difference that a connection remembers is in the key.
    static std::string key(const ReplicaConfig& replica, const ShardLogin& login);

    /// The one used last; nullptr when there is none.
    std::shared_ptr<ShardClient> take(const std::string& key);

    /// On the client's strand. Clients that cannot be used again are closed.
    void giveBack(const std::string& key, std::shared_ptr<ShardClient> client);

    /// Who uses a connection of this key, idle ones left out.
    std::shared_ptr<PlaceGate> places(const std::string& key);

    /// Forgets all idle clients.
    void clear();

    size_t idleClients() const;

private:
    struct Idle {
        std::shared_ptr<ShardClient> client;
        net::Clock::time_point since;
    };

    static constexpr size_t kFewLanes = 1024;

    const size_t max_idle_;
    const std::chrono::seconds idle_timeout_;

    /// All of one key.
    struct Lane {
        std::deque<Idle> idle;
        std::shared_ptr<PlaceGate> places = std::make_shared<PlaceGate>();
    };

    void forgetUnused();

    mutable std::mutex mutex_;  // guards what follows
    std::map<std::string, Lane> lanes_;
    size_t many_lanes_ = kFewLanes;  // from so many on, unused ones are looked for
};

}  // namespace shardd::cluster
