#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/bootstrap_config.h"
#include "server/cluster/topology.h"

namespace shardd::net {
class Tls;
}

namespace shardd::bootstrap {

struct BootstrapOptions {
    BootstrapConfig config;
    BootstrapPlan plan;
    std::vector<std::string> listen_hosts;  ///< of the native protocol
    std::string version;                    ///< of the program; all members have the same
    /// With backend tls: how this node asks the others; nullptr: the system's certificates are believed.
    std::shared_ptr<const net::Tls> tls;
};

/// Forms this node's cluster with the other ranks and keeps it in the topology: withheld (queries on it get
/// an error that says why) until every rank is there and has reached every other; then an ordinary cluster,
/// shards in the order of the ranks, whose replicas are marked active as long as they answer. Threads: a
/// thread of its own for sockets and files; the members below from the one that owns it.
class Bootstrap {
public:
    /// The cluster is withheld from now on.
    Bootstrap(BootstrapOptions options, std::shared_ptr<cluster::Topology> topology);
    ~Bootstrap();
    Bootstrap(const Bootstrap&) = delete;
    Bootstrap& operator=(const Bootstrap&) = delete;

    /// Once this node answers the native protocol at `port` (by TLS, with backend tls).
    void start(uint16_t port);

    /// Says good-bye to the others, for a second at most; the thread ends. Harmless when not started.
    void leave();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace shardd::bootstrap
