#include <boost/asio/io_context.hpp>

#include "common/base/host.h"
#include "common/base/log.h"
#include "common/protocol/interserver.h"
#include "server/bootstrap/rendezvous.h"
#include "server/bootstrap/tcp_host.h"
#include "server/net/connection.h"

namespace shardd::bootstrap {

namespace asio = boost::asio;

namespace {

constexpr Log kLog("bootstrap");

Refusal otherSecret(std::string text) {
    return {.kind = Refusal::Kind::Other,
            .code = static_cast<int>(ErrorCode::AUTHENTICATION_FAILED),
            .text = std::move(text)};
}

/// The host part of "192.0.2.1:40000" and "[::1]:40000".
std::string hostOf(std::string_view address) {
    std::string_view host = address.substr(0, address.rfind(':'));
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    return std::string(host);
}

/// A node's side of tcp://: one connection to rank 0, made again after every failure.
class TcpClient {
public:
    explicit TcpClient(const RendezvousOptions& options) : options_(options) {}

    ~TcpClient() { close(); }

    TcpClient(const TcpClient&) = delete;
    TcpClient& operator=(const TcpClient&) = delete;

    asio::awaitable<Answer> beat(Member& own, const std::vector<Member>& roster, Clock::time_point deadline) {
        std::optional<Error> failure;
        Answer answer;
        try {
            answer = co_await tryBeat(own, roster, deadline);
        } catch (const Error& error) {
            failure = error;
        }
        if (failure || answer.refusal) close();
        if (failure)
            throw Error(ErrorCode::NETWORK_ERROR, "rank 0 at {}:{} does not answer: {}", options_.plan.host,
                        options_.plan.port, failure->message());
        co_return answer;
    }

    void close() {
        if (connection_) connection_->close();
        connection_.reset();
    }

private:
    asio::awaitable<Answer> tryBeat(Member& own,
                                    const std::vector<Member>& roster,
                                    Clock::time_point deadline) {
        std::string frame;
        if (!connection_) {
            const std::string nonce = protocol::randomBytes(kNonceBytes);
            std::optional<Refusal> refusal = co_await connect(nonce, deadline);
            if (refusal) co_return Answer{.view = {}, .refusal = std::move(refusal)};
            if (own.host.empty()) own.host = hostOf(connection_->localAddress());
            frame = helloFrame(own, nonce);
            told_roster_ = false;
        } else {
            frame = beatFrame(own, roster);
        }
        co_await connection_->write(frame, deadline);
        const std::string reply = co_await readFrame(*connection_, kMaxFrameBytes, deadline);
        std::string_view payload;
        try {
            payload = theirs_->open(reply);
        } catch (const Error& error) {
            Answer answer;
            answer.refusal = otherSecret(
                fmt::format("rank 0 at {}:{} has another secret", options_.plan.host, options_.plan.port));
            co_return answer;
        }
        Reader in(payload);
        Answer answer = decodeAnswer(in);
        co_return answer;
    }

    /// Until the greeting is read; a refusal when the two do not agree whether there is a secret.
    asio::awaitable<std::optional<Refusal>> connect(const std::string& nonce, Clock::time_point deadline) {
        net::Connection::Target target{.host = options_.plan.host, .port = options_.plan.port};
        connection_ = co_await net::Connection::connect(std::move(target), deadline);
        const std::string bytes = co_await readExactly(*connection_, Greeting::kBytes, deadline);
        Reader in(bytes);
        const Greeting greeting = decodeGreeting(in);
        const std::string there = "rank 0 at " + addressText(options_.plan.host, options_.plan.port);
        if (greeting.protocol != kProtocol)
            co_return Refusal{
                .kind = Refusal::Kind::Other,
                .code = static_cast<int>(ErrorCode::INVALID_CONFIG_PARAMETER),
                .text = fmt::format("{} speaks version {} of the bootstrap protocol, this node version {}",
                                    there, greeting.protocol, kProtocol)};
        if (greeting.sealed != !options_.secret.empty())
            co_return otherSecret(fmt::format("{} has {} secret, this node has {}", there,
                                              greeting.sealed ? "a" : "no",
                                              greeting.sealed ? "none" : "one"));
        ours_.emplace(options_.secret, FrameSealer::Side::Node, greeting.nonce, nonce);
        theirs_.emplace(options_.secret, FrameSealer::Side::Host, greeting.nonce, nonce);
        co_return std::nullopt;
    }

    std::string helloFrame(const Member& own, const std::string& nonce) {
        Hello hello;
        hello.head = {.protocol = kProtocol, .sealed = !options_.secret.empty(), .nonce = nonce};
        hello.cluster = options_.group.cluster;
        hello.world_size = options_.group.world_size;
        hello.member = own;
        Writer out;
        encode(hello, out);
        return ours_->seal(out.view());
    }

    std::string beatFrame(const Member& own, const std::vector<Member>& roster) {
        Beat beat{.member = own, .roster = {}};
        if (!told_roster_) beat.roster = roster;
        told_roster_ |= !roster.empty();
        Writer out;
        encode(beat, out);
        return ours_->seal(out.view());
    }

    const RendezvousOptions& options_;
    std::shared_ptr<net::Connection> connection_;
    std::optional<FrameSealer> ours_;
    std::optional<FrameSealer> theirs_;
    bool told_roster_ = false;
};

class TcpRendezvous final : public Rendezvous {
public:
    TcpRendezvous(asio::io_context& context, RendezvousOptions options)
        : context_(context), options_(std::move(options)), client_(options_) {}

    asio::awaitable<Answer> beat(Member& own,
                                 const std::vector<Member>& roster,
                                 Clock::time_point deadline) override {
        std::string why;
        if (own.rank == 0) {
            if (own.host.empty()) own.host = options_.plan.host;
            if (!host_) why = openHost(own);
            if (host_) {
                host_->board().learn(roster);
                co_return host_->board().beat(own, Clock::now());
            }
        }
        std::optional<Error> failure;
        Answer answer;
        try {
            answer = co_await client_.beat(own, roster, deadline);
        } catch (const Error& error) {
            failure = error;
        }
        if (failure && !why.empty()) failure->append("; and this node cannot listen there: " + why);
        if (failure) throw Error(*failure);
        co_return answer;
    }

    void close() override {
        host_.reset();
        client_.close();
    }

private:
    /// Why not, when the door cannot be opened.
    std::string openHost(const Member& own) {
        try {
            host_.emplace(context_, options_, own);
            client_.close();
            return "";
        } catch (const Error& error) {
            return error.message();
        }
    }

    asio::io_context& context_;
    const RendezvousOptions options_;
    TcpClient client_;
    std::optional<TcpHost> host_;
};

}  // namespace

std::unique_ptr<Rendezvous> makeTcpRendezvous(asio::io_context& context, RendezvousOptions options) {
    return std::make_unique<TcpRendezvous>(context, std::move(options));
}

}  // namespace shardd::bootstrap
