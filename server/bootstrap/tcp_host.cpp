#include "server/bootstrap/tcp_host.h"

#include <set>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "common/base/host.h"
#include "common/base/log.h"
#include "common/protocol/interserver.h"
#include "server/net/connection.h"

namespace shardd::bootstrap {

namespace asio = boost::asio;

namespace {

constexpr Log kLog("bootstrap");
/// Somebody who has connected must say who it is within this time, and then never be silent for longer than
/// that.
constexpr std::chrono::milliseconds kSilence{10000};

/// The host's name as an address to listen on.
std::string addressToListenOn(asio::io_context& context, const BootstrapPlan& plan) {
    boost::system::error_code error;
    asio::ip::make_address(plan.host, error);
    if (!error) return plan.host;
    asio::ip::tcp::resolver resolver(context);
    const auto found = resolver.resolve(plan.host, fmt::format("{}", plan.port), error);
    if (error || found.empty()) throw Error(ErrorCode::DNS_ERROR, "Not found address of host: {}", plan.host);
    return found.begin()->endpoint().address().to_string();
}

bool isLoopback(std::string_view host) {
    return host.starts_with("127.") || host.starts_with("[::1]") || host == "::1" || host == "localhost" ||
           host.starts_with("[::ffff:127.");
}

std::string payloadOf(const Answer& answer) {
    Writer out;
    encode(answer, out);
    return std::string(out.view());
}

}  // namespace

asio::awaitable<std::string> readExactly(net::Connection& connection,
                                         size_t size,
                                         Clock::time_point deadline) {
    while (connection.window().size() < size) {
        const bool more = co_await connection.readMore(deadline);
        if (!more)
            throw Error(ErrorCode::ATTEMPT_TO_READ_AFTER_EOF, "{} has closed the connection",
                        connection.peerAddress());
    }
    std::string bytes(connection.window().view().substr(0, size));
    connection.window().drop(size);
    co_return bytes;
}

asio::awaitable<std::string> readFrame(net::Connection& connection,
                                       size_t limit,
                                       Clock::time_point deadline) {
    const std::string head = co_await readExactly(connection, sizeof(uint32_t), deadline);
    uint32_t size = 0;
    std::memcpy(&size, head.data(), sizeof(size));
    if (size > limit)
        throw Error(ErrorCode::TOO_LARGE_ARRAY_SIZE, "Bootstrap: a frame of {} bytes, at most {} are taken",
                    size, limit);
    std::string frame = co_await readExactly(connection, size, deadline);
    co_return frame;
}

struct TcpHost::Impl : std::enable_shared_from_this<Impl> {
    Impl(const RendezvousOptions& given, const Member& own)
        : options(given), board(given.group, own), host(own) {}

    using ConnectionPtr = std::shared_ptr<net::Connection>;

    asio::awaitable<void> serve(std::shared_ptr<Impl> self, ConnectionPtr connection);
    asio::awaitable<void> converse(net::Connection& connection, std::optional<Member>& joined);
    std::optional<Refusal> check(const Hello& hello, const net::Connection& connection) const;
    Answer join(FrameSealer& theirs,
                const std::string& frame,
                const net::Connection& connection,
                std::optional<Member>& joined);

    const RendezvousOptions options;
    Board board;
    const Member host;
    std::unique_ptr<net::Listener> listener;
    std::set<ConnectionPtr> open;
};

std::optional<Refusal> TcpHost::Impl::check(const Hello& hello, const net::Connection& connection) const {
    if (auto refusal = board.check(hello.cluster, hello.world_size, hello.member)) return refusal;
    if (!isLoopback(hello.member.host) || isLoopback(connection.peerAddress())) return std::nullopt;
    return Refusal{.kind = Refusal::Kind::Other,
                   .code = static_cast<int>(ErrorCode::INVALID_CONFIG_PARAMETER),
                   .text = fmt::format("{} comes from {}, where others cannot find a loopback address: set "
                                       "shardd.bootstrap.advertise or listen_host",
                                       describe(hello.member), connection.peerAddress())};
}

Answer TcpHost::Impl::join(FrameSealer& theirs,
                           const std::string& frame,
                           const net::Connection& connection,
                           std::optional<Member>& joined) {
    Answer answer;
    std::string_view payload;
    try {
        payload = theirs.open(frame);
    } catch (const Error& error) {
        // Sealed with our secret, the other one cannot read it: that tells it as much.
        answer.refusal = Refusal{.kind = Refusal::Kind::Other,
                                 .code = error.code(),
                                 .text = fmt::format("{}: {}", connection.peerAddress(), error.message())};
        return answer;
    }
    Reader in(payload);
    const Hello hello = decodeHello(in);
    answer.refusal = check(hello, connection);
    if (answer.refusal) return answer;
    answer = board.beat(hello.member, Clock::now());
    if (!answer.refusal) joined = hello.member;
    return answer;
}

asio::awaitable<void> TcpHost::Impl::converse(net::Connection& connection, std::optional<Member>& joined) {
    const Greeting greeting{.protocol = kProtocol,
                            .sealed = !options.secret.empty(),
                            .nonce = protocol::randomBytes(kNonceBytes)};
    Writer first;
    encode(greeting, first);
    auto deadline = [] { return Clock::now() + kSilence; };
    co_await connection.write(first.view(), deadline());

    std::string frame = co_await readFrame(connection, kMaxHelloBytes, deadline());
    Reader head_bytes(frame);
    const HelloHead head = decodeHelloHead(head_bytes);
    FrameSealer theirs(options.secret, FrameSealer::Side::Node, greeting.nonce, head.nonce);
    FrameSealer ours(options.secret, FrameSealer::Side::Host, greeting.nonce, head.nonce);
    std::string reply;
    if (head.protocol != kProtocol) {
        Answer answer;
        answer.refusal =
            Refusal{.kind = Refusal::Kind::Other,
                    .code = static_cast<int>(ErrorCode::INVALID_CONFIG_PARAMETER),
                    .text = fmt::format("version {} of the bootstrap protocol, {} speaks version {}",
                                        head.protocol, describe(host), kProtocol)};
        reply = ours.seal(payloadOf(answer));
        co_await connection.write(reply, deadline());
        co_return;
    }
    Answer answer = join(theirs, frame, connection, joined);
    while (true) {
        if (answer.refusal) kLog.warning("refused: {}", answer.refusal->text);
        reply = ours.seal(payloadOf(answer));
        co_await connection.write(reply, deadline());
        if (answer.refusal) co_return;
        frame = co_await readFrame(connection, kMaxFrameBytes, deadline());
        Reader in(theirs.open(frame));
        const Beat beat = decodeBeat(in);
        if (beat.member.rank != joined->rank || beat.member.id != joined->id)
            throw Error(ErrorCode::INCORRECT_DATA, "Bootstrap: {} calls itself {}", describe(*joined),
                        describe(beat.member));
        answer = board.beat(beat.member, Clock::now());
        if (!answer.refusal) board.learn(beat.roster);
    }
}

asio::awaitable<void> TcpHost::Impl::serve(std::shared_ptr<Impl> self, ConnectionPtr connection) {
    std::optional<Member> joined;
    try {
        co_await self->converse(*connection, joined);
    } catch (const Error& error) {
        const std::string who = joined ? describe(*joined) : connection->peerAddress();
        kLog.info("{}: {}", who, error.message());
    }
    if (joined) self->board.lose(joined->rank, joined->id);
    connection->close();
    self->open.erase(connection);
}

TcpHost::TcpHost(asio::io_context& context, const RendezvousOptions& options, const Member& own)
    : impl_(std::make_shared<Impl>(options, own)) {
    const std::weak_ptr<Impl> weak = impl_;
    const auto serve = [weak](std::shared_ptr<net::Connection> connection) {
        const std::shared_ptr<Impl> impl = weak.lock();
        if (!impl) return;
        impl->open.insert(connection);
        const asio::any_io_executor executor = connection->executor();
        asio::co_spawn(executor, impl->serve(impl, std::move(connection)), asio::detached);
    };
    // Each member has one; a few more are for those who come again before the old one is seen to be dead.
    const size_t most = 2 * size_t{options.group.world_size} + 16;
    impl_->listener =
        std::make_unique<net::Listener>(context,
                                        net::ListenerOptions{.host = addressToListenOn(context, options.plan),
                                                             .port = options.plan.port,
                                                             .backlog = 1024,
                                                             .max_connections = most,
                                                             .tls = {}},
                                        serve);
    impl_->listener->start();
    kLog.info("rank 0 waits for {} others at {}", options.group.world_size - 1,
              addressText(options.plan.host, impl_->listener->port()));
}

TcpHost::~TcpHost() {
    impl_->listener->stopAccepting();
    for (const auto& connection : impl_->open) connection->close();
}

Board& TcpHost::board() { return impl_->board; }

}  // namespace shardd::bootstrap
