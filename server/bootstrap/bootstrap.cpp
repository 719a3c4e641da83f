#include "server/bootstrap/bootstrap.h"

#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "common/base/log.h"
#include "server/bootstrap/channels.h"
#include "server/bootstrap/rendezvous.h"

namespace shardd::bootstrap {

namespace asio = boost::asio;

namespace {

constexpr Log kLog("bootstrap");
constexpr std::chrono::milliseconds kBeatWhileForming{200};
constexpr std::chrono::milliseconds kBeatAfterwards{1000};
constexpr std::chrono::milliseconds kBeatPatience{3000};
constexpr std::chrono::milliseconds kGoodByePatience{1000};

bool isWildcard(const std::string& host) { return host == "::" || host == "0.0.0.0"; }

/// Where others find this node, as far as the configuration tells; empty: the rendezvous knows.
HostAndPort advertised(const BootstrapOptions& options) {
    if (!options.config.advertise.empty()) {
        if (auto given = parseHostAndPort(options.config.advertise)) return *given;
    }
    HostAndPort result;
    for (const std::string& host : options.listen_hosts) {
        if (isWildcard(host)) return {};
        // An IPv4 address first: not every machine can reach itself by "::1".
        const bool is_v6 = host.find(':') != std::string::npos;
        if (result.host.empty() || (!is_v6 && result.host.find(':') != std::string::npos)) result.host = host;
    }
    return result;
}

}  // namespace

struct Bootstrap::Impl {
    Impl(BootstrapOptions given, std::shared_ptr<cluster::Topology> clusters)
        : options(std::move(given)), topology(std::move(clusters)), wake(context) {}

    void prepare(uint16_t port);
    asio::awaitable<void> run();
    asio::awaitable<void> beat(std::chrono::milliseconds patience);
    asio::awaitable<void> rest();
    ReplicaConfig replicaOf(const Member& member) const;
    void publish();
    void publishFormed();
    void tell(const std::string& text, bool is_good);

    const BootstrapOptions options;
    const std::shared_ptr<cluster::Topology> topology;
    asio::io_context context{1};
    asio::steady_timer wake;
    bool leaving = false;
    std::optional<Group> group;
    std::unique_ptr<Rendezvous> rendezvous;
    std::optional<Channels> channels;
    ClusterConfig published;
    std::string told;
    std::thread thread;
};

void Bootstrap::Impl::prepare(uint16_t port) {
    const BootstrapConfig& config = options.config;
    const HostAndPort address = advertised(options);
    Member own;
    own.rank = static_cast<uint32_t>(options.plan.rank);
    own.id = makeMemberId();
    own.role = config.role;
    own.host = address.host;
    own.port = address.port != 0 ? address.port : port;
    own.secure = config.secure;
    own.version = options.version;
    group.emplace(Group::Options{.cluster = config.cluster,
                                 .world_size = static_cast<uint32_t>(options.plan.world_size),
                                 .own = own,
                                 .deadline = Clock::now() + std::chrono::microseconds(config.timeout_us),
                                 .timeout_seconds = static_cast<double>(config.timeout_us) / 1e6});
    RendezvousOptions meeting{
        .group = {config.cluster, static_cast<uint32_t>(options.plan.world_size), own.version},
        .secret = config.secret,
        .plan = options.plan};
    if (options.plan.method == BootstrapPlan::Method::Tcp)
        rendezvous = makeTcpRendezvous(context, std::move(meeting));
    if (options.plan.method == BootstrapPlan::Method::File)
        rendezvous = makeFileRendezvous(std::move(meeting));
    if (!rendezvous && own.host.empty()) group->setHost("127.0.0.1");
    cluster::ShardLogin login;
    login.tls = options.tls;
    if (!config.secret.empty()) {
        login.cluster = config.cluster;
        login.secret = config.secret;
    }
    channels.emplace(
        context, [this](const Member& member) { return replicaOf(member); }, login,
        [this](uint32_t rank, const std::string& id, const std::string& problem) {
            group->reached(rank, id, problem);
            publish();
        });
}

ReplicaConfig Bootstrap::Impl::replicaOf(const Member& member) const {
    ReplicaConfig replica;
    replica.host = member.host;
    replica.port = member.port;
    replica.secure = member.secure;
    replica.user = options.config.user;
    replica.password = options.config.password;
    return replica;
}

void Bootstrap::Impl::tell(const std::string& text, bool is_good) {
    if (text == told) return;
    told = text;
    if (is_good)
        kLog.info("{}", text);
    else
        kLog.warning("{}", text);
}

/// What the group has become, to the topology and the log.
void Bootstrap::Impl::publish() {
    if (group->own().state == MemberState::Left) return;
    if (const std::optional<Error> why = group->whyNot()) {
        published = {};
        topology->withhold(options.config.cluster, *why);
        return tell(why->message(), group->phase() == Group::Phase::Forming);
    }
    publishFormed();
}

void Bootstrap::Impl::publishFormed() {
    ClusterConfig cluster;
    cluster.name = options.config.cluster;
    cluster.secret = options.config.secret;
    std::vector<uint32_t> ranks;
    std::optional<size_t> own_shard;
    for (const auto& [rank, record] : group->members()) {
        if (!record.member.holdsShard()) continue;
        if (rank == group->own().rank) own_shard = cluster.shards.size();
        ShardConfig& shard = cluster.shards.emplace_back();
        shard.name = fmt::format("rank_{}", rank);
        shard.replicas.push_back(replicaOf(record.member));
        ranks.push_back(rank);
    }
    if (cluster.shards.empty()) {
        const Error none(ErrorCode::NO_ELEMENTS_IN_CONFIG,
                         "Cluster '{}' has no shard: all {} nodes have the role initiator", cluster.name,
                         group->members().size());
        topology->withhold(cluster.name, none);
        return tell(none.message(), false);
    }
    cluster::ClusterPtr formed = topology->find(cluster.name);
    if (!formed || cluster != published) {
        formed = topology->form(cluster, own_shard);
        published = cluster;
        tell(fmt::format("cluster '{}' is formed: {} nodes, {} shards; this is rank {}{}", cluster.name,
                         group->members().size(), cluster.shards.size(), group->own().rank,
                         own_shard ? fmt::format(", shard {}", *own_shard + 1) : ", no shard"),
             true);
    }
    for (size_t i = 0; i < ranks.size(); ++i) {
        cluster::Replica& replica = *formed->shards[i].replicas.front();
        const bool active = group->isActive(ranks[i]);
        if (replica.isActive() == active) continue;
        if (!active) kLog.warning("{} does not answer", describe(group->members().at(ranks[i]).member));
        replica.setActive(active);
    }
}

asio::awaitable<void> Bootstrap::Impl::beat(std::chrono::milliseconds patience) {
    Member own = group->own();
    const std::vector<Member> roster =
        group->phase() == Group::Phase::Formed ? group->roster() : std::vector<Member>();
    std::optional<std::string> failure;
    Answer answer;
    try {
        answer = co_await rendezvous->beat(own, roster, Clock::now() + patience);
    } catch (const Error& error) {
        failure = error.message();
    }
    group->setHost(own.host);
    if (failure)
        group->lose(*failure);
    else if (answer.refusal)
        group->refuse(*answer.refusal);
    else
        group->see(answer.view);
}

asio::awaitable<void> Bootstrap::Impl::rest() {
    const bool is_forming = group->phase() == Group::Phase::Forming;
    wake.expires_after(is_forming ? kBeatWhileForming : kBeatAfterwards);
    boost::system::error_code ignored;
    co_await wake.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

asio::awaitable<void> Bootstrap::Impl::run() {
    while (!leaving) {
        co_await beat(kBeatPatience);
        group->tick(Clock::now());
        channels->follow(group->members(), group->own().rank);
        publish();
        if (!leaving) co_await rest();
    }
    group->leave();
    co_await beat(kGoodByePatience);
    channels.reset();
    rendezvous->close();
    context.stop();
}

Bootstrap::Bootstrap(BootstrapOptions options, std::shared_ptr<cluster::Topology> topology)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(topology))) {
    const std::string& cluster = impl_->options.config.cluster;
    impl_->topology->withhold(cluster, Error(ErrorCode::NOT_INITIALIZED,
                                             "Cluster '{}' is not formed yet: the server starts", cluster));
}

Bootstrap::~Bootstrap() { leave(); }

void Bootstrap::start(uint16_t port) {
    Impl& own = *impl_;
    own.prepare(port);
    const BootstrapPlan& plan = own.options.plan;
    if (plan.source.empty())
        kLog.info("no rank and no world size, not here and not in the environment: this node runs alone");
    else
        kLog.info("rank {} of {}, by {}", plan.rank, plan.world_size, plan.source);
    if (!own.rendezvous) return own.publish();
    asio::co_spawn(own.context, own.run(), asio::detached);
    own.thread = std::thread([&own] { own.context.run(); });
}

void Bootstrap::leave() {
    Impl& own = *impl_;
    if (!own.thread.joinable()) return;
    asio::post(own.context, [&own] {
        own.leaving = true;
        own.wake.cancel();
    });
    own.thread.join();
}

}  // namespace shardd::bootstrap
