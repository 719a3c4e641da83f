#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace shardd {

/// `shardd.bootstrap` as it is written: how this node finds the others of its cluster.
struct BootstrapConfig {
    enum class Role : uint8_t { Shard, Initiator, Both };

    bool enabled = false;  ///< the section is there
    std::string cluster = "bootstrap";
    std::string init_method = "env://";
    std::optional<uint64_t> rank;
    std::optional<uint64_t> world_size;
    std::string advertise;  ///< host or host:port that the others shall use; empty: from listen_host
    bool secure = false;    ///< `backend: tls`: nodes ask each other over TLS
    Role role = Role::Both;
    int64_t timeout_us = 600'000'000;
    std::string secret;  ///< of the cluster, and of those who form it; empty: none
    std::string user = "default";
    std::string password;
};

/// What the configuration and the environment say together.
struct BootstrapPlan {
    enum class Method : uint8_t { Alone, Tcp, File };

    Method method = Method::Alone;
    std::string host;   ///< Tcp: where rank 0 listens
    uint16_t port = 0;  ///< Tcp
    std::string path;   ///< File
    uint64_t rank = 0;
    uint64_t world_size = 1;
    /// Of the processes that one launcher started on this machine.
    uint64_t local_rank = 0;
    uint64_t local_world_size = 1;
    std::string source;  ///< where the rank comes from, for the log
};

/// A variable of the environment; nothing when it is not set or empty.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;

/// The environment of this process.
std::optional<std::string> processEnvironment(std::string_view name);

/// More nodes than this do not form a cluster.
constexpr uint64_t kMaxWorldSize = 1024;

/// Rank, world size and meeting place: from the configuration, the query of the URL, or the launcher's
/// variables (torch, Open MPI, SLURM, PMI), in this order. No rank and no world size anywhere: the node is
/// alone. Errors: INVALID_CONFIG_PARAMETER (318) for what is there in part, or is no number, naming the
/// variable.
BootstrapPlan resolveBootstrap(const BootstrapConfig& config, const Environment& environment);

/// The first host of SLURM's list: "node07" of "node[07-09,12],gpu1". Empty when it is none.
std::string firstHost(std::string_view node_list);

/// "host", "host:port", "[::1]:port" to its parts; port 0 when there is none. Nothing for what is no address.
struct HostAndPort {
    std::string host;
    uint16_t port = 0;
};

std::optional<HostAndPort> parseHostAndPort(std::string_view text);

}  // namespace shardd
