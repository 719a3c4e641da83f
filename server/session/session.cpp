#include "server/session/session.h"

#include <array>

#include <boost/asio/awaitable.hpp>

#include "common/base/log.h"
#include "common/protocol/chunked.h"
#include "common/protocol/interserver.h"
#include "common/protocol/peer.h"
#include "server/net/connection.h"
#include "server/net/conversation.h"
#include "server/session/query_pump.h"

namespace shardd::session {

namespace asio = boost::asio;
using protocol::ClientPacket;
using protocol::ServerPacket;

namespace {

constexpr Log kLog("session");

uint64_t makeNonce() {
    uint64_t nonce = 0;
    const std::string bytes = protocol::randomBytes(sizeof(nonce));
    std::memcpy(&nonce, bytes.data(), sizeof(nonce));
    return nonce;
}

protocol::Stage toStage(uint64_t number) {
    if (number == static_cast<uint64_t>(protocol::Stage::QueryPlan))
        throw Error(ErrorCode::NOT_IMPLEMENTED,
                    "Serialized query plans are not supported (serialize_query_plan = 1)");
    if (number > static_cast<uint64_t>(protocol::Stage::WithMergeableStateAfterAggregationAndLimit))
        throw Error(ErrorCode::INCORRECT_DATA, "Unknown query processing stage {}", number);
    return static_cast<protocol::Stage>(number);
}

}  // namespace

struct Session::Impl {
    Impl(std::shared_ptr<net::Connection> socket,
         std::shared_ptr<SessionHost> session_host,
         std::shared_ptr<const SessionOptions> session_options)
        : connection(std::move(socket)),
          host(std::move(session_host)),
          options(std::move(session_options)),
          settings(options->connection),
          conversation(connection, options->packet_limits) {}

    asio::awaitable<void> converse();
    asio::awaitable<void> handshake();
    asio::awaitable<void> refuseHttp();
    asio::awaitable<void> serveHellos(net::Clock::time_point deadline);
    void login();
    asio::awaitable<void> servePackets();
    asio::awaitable<void> serveQuery();
    asio::awaitable<void> readTables(QueryRequest& request);
    asio::awaitable<void> dropData();
    asio::awaitable<void> serveTablesStatus();
    asio::awaitable<ClientPacket> nextPacket();
    void checkSecret();
    std::optional<std::string> settingOf(std::string_view name) const;
    QueryRequest makeRequest();

    net::Clock::time_point receiveDeadline() const { return net::deadlineAfter(settings.receive_timeout); }

    net::Clock::time_point sendDeadline() const { return net::deadlineAfter(settings.send_timeout); }

    std::shared_ptr<net::Connection> connection;
    std::shared_ptr<SessionHost> host;
    std::shared_ptr<const SessionOptions> options;
    ConnectionSettings settings;
    net::Conversation conversation;

    protocol::ClientHello hello;
    uint64_t nonce = 0;
    std::string secret;  // of the cluster, on interserver connections
    bool interserver = false;
    std::shared_ptr<ClientSession> client;
    protocol::Query query;  // the one that runs, or the last
    bool draining = false;  // the client may still be sending rows of an INSERT that failed

    std::atomic<bool> stopping = false;
    std::atomic<bool> stop_now = false;
    std::mutex channel_mutex;
    std::shared_ptr<QueryChannel> channel;  // guarded by channel_mutex
};

asio::awaitable<void> Session::Impl::refuseHttp() {
    const std::string text = fmt::format(
        "HTTP/1.0 400 Bad Request\r\n\r\nThis port speaks the native protocol of ClickHouse.\r\nUse port {} "
        "for HTTP.\r\n",
        options->http_port);
    co_await connection->write(text, sendDeadline());
}

void Session::Impl::login() {
    if (hello.user.starts_with(protocol::kSshUserPrefix) || hello.user == protocol::kJwtUser)
        throw Error(ErrorCode::AUTHENTICATION_FAILED,
                    "Authentication by SSH keys and by tokens is not supported: use a password");
    if (hello.user == protocol::kInterserverUser) {
        std::optional<std::string> found = host->clusterSecret(hello.cluster);
        if (!found)
            throw Error(ErrorCode::AUTHENTICATION_FAILED,
                        "Interserver authentication failed: no secret for cluster {}", hello.cluster);
        interserver = true;
        secret = *std::move(found);
        return;
    }
    client = host->login({.user = hello.user.empty() ? "default" : hello.user,
                          .password = hello.password,
                          .database = hello.database,
                          .peer_address = connection->peerAddress(),
                          .quota_key = "",
                          .trusted = false});
    settings.take([this](std::string_view name) { return client->setting(name); });
}

asio::awaitable<void> Session::Impl::serveHellos(net::Clock::time_point deadline) {
    hello = co_await conversation.read(
        [this](Reader& in) { return protocol::decodeClientHello(in, options->packet_limits); }, deadline);
    login();
    const protocol::Revision revision = protocol::revisionInUse(protocol::kServerRevision, hello.revision);
    nonce = makeNonce();
    protocol::ServerHello answer;
    answer.server_name = hello.client_name == protocol::kOwnName ? protocol::kOwnName : options->server_name;
    answer.version_major = options->version_major;
    answer.version_minor = options->version_minor;
    answer.version_patch = options->version_patch;
    answer.revision = protocol::kServerRevision;
    answer.parallel_replicas_version = protocol::kParallelReplicasVersion;
    answer.time_zone = options->time_zone;
    answer.display_name = options->display_name;
    answer.chunked_send = protocol::kNotChunkedOptional;
    answer.chunked_receive = protocol::kNotChunkedOptional;
    answer.nonce = nonce;
    answer.query_plan_version = protocol::kQueryPlanVersion;
    answer.cluster_function_version = protocol::kClusterFunctionVersion;
    conversation.packet([&](Writer& out) { protocol::encode(answer, hello.revision, out); });
    co_await conversation.flush(deadline);
    conversation.agree(revision, options->block_limits);
    kLog.debug("{}: {} {}.{} as user '{}', revision {}", connection->peerAddress(), hello.client_name,
               hello.version_major, hello.version_minor, hello.user, revision);
    if (revision < protocol::gate::kAddendum) co_return;
    const protocol::Addendum addendum = co_await conversation.read(
        [&](Reader& in) { return protocol::decodeAddendum(in, revision, options->packet_limits); }, deadline);
    if (addendum.chunked_send == protocol::kChunked) connection->receiveChunked();
    if (addendum.chunked_receive == protocol::kChunked) conversation.sendChunked();
}

asio::awaitable<void> Session::Impl::handshake() {
    const net::Clock::time_point deadline = net::deadlineAfter(options->handshake_timeout);
    const uint64_t first = co_await conversation.read([](Reader& in) { return in.readVarUInt(); }, deadline);
    if (first == 'G' || first == 'P') {
        co_await refuseHttp();
        throw net::PeerLeft();
    }
    if (first != static_cast<uint64_t>(ClientPacket::Hello))
        throw Error(ErrorCode::UNEXPECTED_PACKET_FROM_CLIENT,
                    "Unexpected packet from client: {} instead of Hello",
                    protocol::packetName(static_cast<ClientPacket>(first)));
    co_await serveHellos(deadline);
}

/// Waits for the next packet as long as an idle connection may live.
asio::awaitable<ClientPacket> Session::Impl::nextPacket() {
    const net::Clock::time_point deadline = net::deadlineAfter(settings.idle_timeout);
    const auto decode = [](Reader& in) { return static_cast<ClientPacket>(in.readVarUInt()); };
    while (true) {
        if (stopping) throw net::PeerLeft();
        size_t wanted = 1;
        const std::optional<ClientPacket> packet = conversation.tryRead(decode, wanted);
        if (packet) co_return *packet;
        if (connection->peerGone() || net::Clock::now() >= deadline) throw net::PeerLeft();
        connection->readAhead();
        co_await connection->waitForEvent(deadline);
    }
}

asio::awaitable<void> Session::Impl::serveTablesStatus() {
    const protocol::TablesStatusRequest request = co_await conversation.read(
        [this](Reader& in) { return protocol::decodeTablesStatusRequest(in, options->packet_limits); },
        receiveDeadline());
    protocol::TablesStatusResponse response;
    // An interserver connection has no user before its first query; what exists is no secret among servers.
    std::shared_ptr<ClientSession> asker = client;
    if (!asker) {
        LoginRequest trusted;
        trusted.user = "default";
        trusted.peer_address = connection->peerAddress();
        trusted.trusted = true;
        asker = host->login(trusted);
    }
    response = host->tablesStatus(*asker, request);
    conversation.packet([&](Writer& out) { protocol::encode(response, conversation.revision(), out); });
    co_await conversation.flush(sendDeadline());
}

/// A Data packet that belongs to no query: the rest of an INSERT that failed.
asio::awaitable<void> Session::Impl::dropData() {
    co_await conversation.read(
        [this](Reader& in) { return protocol::decodeDataHeader(in, options->packet_limits); },
        receiveDeadline());
    const Block block = co_await conversation.readBlock(query.compression, receiveDeadline());
    if (block.columns.empty()) draining = false;
}

/// On interserver connections every query proves the secret, and asks for its initial user.
void Session::Impl::checkSecret() {
    if (!interserver) return;
    const protocol::InterserverSecret known = {.salt = hello.salt, .nonce = nonce, .secret = secret};
    const std::string expected = protocol::interserverHash(known, query, conversation.revision());
    if (!protocol::equalInConstantTime(expected, query.interserver_hash))
        throw Error(ErrorCode::AUTHENTICATION_FAILED,
                    "Interserver authentication failed: the hash of the query does not match");
    const std::string& user = query.client_info.initial_user;
    if (client && client->user() == user) return;
    client = host->login({.user = user.empty() ? "default" : user,
                          .password = "",
                          .database = hello.database,
                          .peer_address = connection->peerAddress(),
                          .quota_key = query.client_info.quota_key,
                          .trusted = true});
}

QueryRequest Session::Impl::makeRequest() {
    checkSecret();
    QueryRequest request;
    request.session = client;
    request.query_id = query.query_id.empty() ? protocol::makeQueryId() : query.query_id;
    request.text = query.text;
    request.stage = toStage(query.stage);
    request.settings = query.settings;
    request.parameters = query.parameters;
    request.client_info = query.client_info;
    request.client_revision = conversation.revision();
    request.peer_address = connection->peerAddress();
    if (request.client_info.kind != protocol::QueryKind::Secondary) {
        request.client_info.kind = protocol::QueryKind::Initial;
        request.client_info.initial_user = client->user();
        request.client_info.initial_query_id = request.query_id;
        request.client_info.initial_address = request.peer_address;
    }
    return request;
}

/// As far as it is known before the query's text is read.
std::optional<std::string> Session::Impl::settingOf(std::string_view name) const {
    for (const protocol::SettingChange& change : query.settings)
        if (change.name == name) return change.value;
    return client->setting(name);
}

/// The packets between a Query and its "go", the empty block without a name.
asio::awaitable<void> Session::Impl::readTables(QueryRequest& request) {
    size_t total_bytes = 0;
    const auto decode = [this](Reader& in) {
        const auto number = static_cast<ClientPacket>(in.readVarUInt());
        if (number != ClientPacket::Data && number != ClientPacket::Scalar)
            throw Error(ErrorCode::UNEXPECTED_PACKET_FROM_CLIENT,
                        "Unexpected packet {} received from client, expected Data",
                        protocol::packetName(number));
        return std::pair(number, protocol::decodeDataHeader(in, options->packet_limits).name);
    };
    while (true) {
        std::pair<ClientPacket, std::string> head = co_await conversation.read(decode, receiveDeadline());
        Block block = co_await conversation.readBlock(query.compression, receiveDeadline());
        if (head.first == ClientPacket::Data && head.second.empty() && block.columns.empty()) co_return;
        total_bytes += block.allocatedBytes();
        if (total_bytes > options->max_external_bytes)
            throw Error(ErrorCode::MEMORY_LIMIT_EXCEEDED, "The tables sent with a query exceed {} bytes",
                        options->max_external_bytes);
        std::vector<NamedBlocks>& tables =
            head.first == ClientPacket::Scalar ? request.scalars : request.external_tables;
        if (tables.empty() || tables.back().name != head.second)
            tables.push_back({std::move(head.second), {}});
        tables.back().blocks.push_back(std::move(block));
    }
}

asio::awaitable<void> Session::Impl::serveQuery() {
    query = co_await conversation.read(
        [this](Reader& in) {
            return protocol::decodeQuery(in, conversation.revision(), options->packet_limits);
        },
        receiveDeadline());
    // A query that is refused is read to its "go" all the same: the connection stays usable.
    QueryRequest request;
    std::optional<Error> refusal;
    try {
        request = makeRequest();
    } catch (const Error& error) {
        refusal = error;
    }
    co_await readTables(request);
    if (refusal) {
        conversation.exceptionPacket(refusal->code(), refusal->message());
        co_await conversation.flush(sendDeadline());
        if (refusal->is(ErrorCode::AUTHENTICATION_FAILED)) throw net::PeerLeft();
        co_return;
    }
    auto running = std::make_shared<QueryChannel>();
    settings.take([this](std::string_view name) { return settingOf(name); });
    QueryPump pump(conversation, running, settings, query);
    {
        const std::lock_guard lock(channel_mutex);
        channel = running;
        if (stop_now) running->stop.request_stop();
    }
    host->start(std::move(request), running);
    const QueryPump::End end = co_await pump.run();
    draining = end == QueryPump::End::DrainData;
    conversation.releaseMemory();
    const std::lock_guard lock(channel_mutex);
    channel.reset();
}

asio::awaitable<void> Session::Impl::servePackets() {
    while (true) {
        const ClientPacket packet = co_await nextPacket();
        switch (packet) {
            case ClientPacket::Query:
                draining = false;
                co_await serveQuery();
                break;
            case ClientPacket::Data:
                if (!draining)
                    throw Error(ErrorCode::UNEXPECTED_PACKET_FROM_CLIENT,
                                "Unexpected packet Data received from client");
                co_await dropData();
                break;
            case ClientPacket::Ping:
                conversation.packet([](Writer& out) { encode(ServerPacket::Pong, out); });
                co_await conversation.flush(sendDeadline());
                break;
            case ClientPacket::TablesStatusRequest:
                co_await serveTablesStatus();
                break;
            case ClientPacket::Cancel:  // of a query that has just ended
            case ClientPacket::KeepAlive:
                break;
            default:
                // The body cannot be skipped, so this is the end.
                throw Error(ErrorCode::UNEXPECTED_PACKET_FROM_CLIENT,
                            "Unexpected packet {} received from client", protocol::packetName(packet));
        }
    }
}

asio::awaitable<void> Session::Impl::converse() {
    std::optional<Error> failure;
    try {
        co_await handshake();
        co_await servePackets();
    } catch (const Error& error) {
        failure = error;
    } catch (const net::PeerLeft&) {
        co_return;
    }
    if (!failure) co_return;
    kLog.warning("{}: {}", connection->peerAddress(), failure->message());
    if (connection->peerGone()) co_return;
    conversation.exceptionPacket(failure->code(), failure->message());
    try {
        co_await conversation.flush(net::deadlineAfter(std::chrono::seconds(1)));
    } catch (const Error&) {
        co_return;  // it cannot even be told
    }
}

Session::Session(std::shared_ptr<net::Connection> connection,
                 std::shared_ptr<SessionHost> host,
                 std::shared_ptr<const SessionOptions> options)
    : impl_(std::make_unique<Impl>(std::move(connection), std::move(host), std::move(options))) {}

Session::~Session() = default;

asio::awaitable<void> Session::run() {
    const std::shared_ptr<Session> self = shared_from_this();
    try {
        co_await impl_->converse();
    } catch (const std::exception& error) {
        kLog.error("{}: {}", impl_->connection->peerAddress(), error.what());
        // Out of memory, or a fault of ours: the connection is beyond saving, the server is not.
    }
    impl_->connection->close();
}

void Session::stopWhenIdle() {
    impl_->stopping = true;
    impl_->connection->notify();
}

void Session::stopNow() {
    impl_->stop_now = true;
    {
        const std::lock_guard lock(impl_->channel_mutex);
        if (impl_->channel) impl_->channel->stop.request_stop();
    }
    stopWhenIdle();
}

}  // namespace shardd::session
