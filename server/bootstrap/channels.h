#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "server/bootstrap/group.h"
#include "server/cluster/shard_client.h"

namespace boost::asio {
class io_context;
}

namespace shardd::bootstrap {

/// One conversation of the native protocol with each other member, the very way that queries take: made as
/// soon as a member is known, asked every second whether it answers, made again when it fails. Threads: the
/// one of the bootstrap.
class Channels {
public:
    /// `problem` is empty when the process `id` of that rank has just answered.
    using Report = std::function<void(uint32_t rank, const std::string& id, const std::string& problem)>;
    using ReplicaOf = std::function<ReplicaConfig(const Member& member)>;

    Channels(boost::asio::io_context& context,
             ReplicaOf replica_of,
             cluster::ShardLogin login,
             Report report);
    ~Channels();
    Channels(const Channels&) = delete;
    Channels& operator=(const Channels&) = delete;

    /// Keeps a channel to each of `members` but `own`; those to processes that are not among them any more
    /// end.
    void follow(const std::map<uint32_t, Record>& members, uint32_t own);

private:
    struct Channel;

    boost::asio::io_context& context_;
    const ReplicaOf replica_of_;
    const cluster::ShardLogin login_;
    const Report report_;
    std::map<uint32_t, std::shared_ptr<Channel>> channels_;
};

}  // namespace shardd::bootstrap
