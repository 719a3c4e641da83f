#include "server/bootstrap/channels.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace shardd::bootstrap {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds kPingEvery{1000};
constexpr std::chrono::milliseconds kPatience{3000};
constexpr std::chrono::milliseconds kRetryAfter{300};

}  // namespace

struct Channels::Channel : std::enable_shared_from_this<Channels::Channel> {
    Channel(asio::io_context& context, Member to, ReplicaConfig where, cluster::ShardLogin as, Report tell)
        : member(std::move(to)),
          replica(std::move(where)),
          login(std::move(as)),
          report(std::move(tell)),
          pause(context) {}

    asio::awaitable<void> run(std::shared_ptr<Channel> kept);
    asio::awaitable<void> keepAsking();
    void stop();

    const Member member;
    const ReplicaConfig replica;
    const cluster::ShardLogin login;
    const Report report;
    asio::steady_timer pause;
    std::shared_ptr<cluster::ShardClient> client;
    bool stopped = false;
};

void Channels::Channel::stop() {
    stopped = true;
    pause.cancel();
    if (client) client->connection().close();
}

/// Until the channel fails: with an Error, or net::PeerLeft.
asio::awaitable<void> Channels::Channel::keepAsking() {
    client = co_await cluster::ShardClient::open(replica, login, Clock::now() + kPatience);
    while (!stopped) {
        co_await client->ping(Clock::now() + kPatience);
        if (stopped) co_return;
        report(member.rank, member.id, "");
        const Clock::time_point next = Clock::now() + kPingEvery;
        net::Connection& connection = client->connection();
        while (!stopped && Clock::now() < next) {
            connection.readAhead();  // the peer's end is seen at once
            if (connection.peerGone()) throw net::PeerLeft();
            co_await connection.waitForEvent(next);
        }
    }
}

asio::awaitable<void> Channels::Channel::run(std::shared_ptr<Channel> /*kept*/) {
    while (!stopped) {
        std::string problem;
        try {
            co_await keepAsking();
        } catch (const Error& error) {
            problem = error.message();
        } catch (const net::PeerLeft&) {
            problem = "the connection was closed";
        }
        if (client) client->connection().close();
        client.reset();
        if (stopped) co_return;
        report(member.rank, member.id, problem);
        pause.expires_after(kRetryAfter);
        boost::system::error_code ignored;
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
}

Channels::Channels(asio::io_context& context, ReplicaOf replica_of, cluster::ShardLogin login, Report report)
    : context_(context),
      replica_of_(std::move(replica_of)),
      login_(std::move(login)),
      report_(std::move(report)) {}

Channels::~Channels() {
    for (const auto& [rank, channel] : channels_) channel->stop();
}

void Channels::follow(const std::map<uint32_t, Record>& members, uint32_t own) {
    for (const auto& [rank, record] : members) {
        if (rank == own) continue;
        const Member& member = record.member;
        const auto found = channels_.find(rank);
        const bool same = found != channels_.end() && found->second->member.id == member.id;
        const bool left = member.state == MemberState::Left;
        if (same && !left) continue;
        if (found != channels_.end()) {
            found->second->stop();
            channels_.erase(found);
        }
        if (left) continue;
        auto channel = std::make_shared<Channel>(context_, member, replica_of_(member), login_, report_);
        channels_[rank] = channel;
        asio::co_spawn(asio::make_strand(context_), channel->run(channel), asio::detached);
    }
    std::erase_if(channels_, [&](const auto& entry) {
        if (members.contains(entry.first)) return false;
        entry.second->stop();
        return true;
    });
}

}  // namespace shardd::bootstrap
