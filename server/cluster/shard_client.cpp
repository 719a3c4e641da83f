#include "server/cluster/shard_client.h"

#include <algorithm>

#include <boost/asio/post.hpp>

#include "common/base/host.h"
#include "common/columns/fixed_column.h"
#include "common/protocol/chunked.h"
#include "common/protocol/interserver.h"
#include "common/wire/frame.h"
#include "common/wire/passed_frames.h"

namespace shardd::cluster {

namespace asio = boost::asio;
using protocol::ClientPacket;
using protocol::ServerPacket;

namespace {

constexpr size_t kSaltBytes = 32;
/// Of one block's frames.
constexpr uint64_t kMostPassedBytes = uint64_t{4} << 30;

bool carriesBlock(ServerPacket kind) {
    switch (kind) {
        case ServerPacket::Data:
        case ServerPacket::Totals:
        case ServerPacket::Extremes:
        case ServerPacket::Log:
        case ServerPacket::ProfileEvents:
        case ServerPacket::PreviewData:
            return true;
        default:
            return false;
    }
}

protocol::DecodeLimits clientLimits() { return {}; }

}  // namespace

Error receivedError(const protocol::Exception& exception, const std::string& address) {
    const protocol::ExceptionRecord& record = exception.chain.front();
    std::string text = record.message;
    if (!text.starts_with("DB::")) text = "DB::Exception: " + text;
    return Error::foreign(record.code, fmt::format("Received from {}. {}", address, text));
}

ShardClient::ShardClient(std::shared_ptr<net::Connection> connection, ShardLogin login, std::string address)
    : conversation_(std::move(connection), clientLimits()),
      login_(std::move(login)),
      address_(std::move(address)) {}

namespace {

/// The sooner of the deadline that was given and `timeout` from now.
net::Clock::time_point atMost(net::Clock::time_point deadline, std::chrono::milliseconds timeout) {
    return std::min(deadline, net::deadlineAfter(timeout));
}

asio::awaitable<std::shared_ptr<net::Connection>> connectTo(const ReplicaConfig& replica,
                                                            std::shared_ptr<const net::Tls> tls,
                                                            net::Clock::time_point deadline,
                                                            net::Interrupt* interrupt) {
    net::Connection::Target target;
    target.host = replica.host;
    target.port = replica.port;
    target.secure = replica.secure;
    target.tls = std::move(tls);
    return net::Connection::connect(std::move(target), deadline, interrupt);
}

}  // namespace

asio::awaitable<std::shared_ptr<ShardClient>> ShardClient::open(const ReplicaConfig& replica,
                                                                ShardLogin login,
                                                                OpenLimits limits) {
    const Deadline never = Deadline::max();
    std::shared_ptr<net::Connection> connection =
        co_await connectTo(replica, login.tls, atMost(never, limits.connect_timeout), limits.interrupt);
    if (limits.keep_alive_after.count() > 0) connection->keepAliveAfter(limits.keep_alive_after);
    const net::Interrupt::Wait wait(limits.interrupt, connection->executor(),
                                    [connection] { connection->close(); });
    const Deadline deadline = atMost(never, limits.handshake_timeout);
    std::shared_ptr<ShardClient> client =
        co_await greet(std::move(connection), replica, std::move(login), deadline);
    co_return client;
}

asio::awaitable<std::shared_ptr<ShardClient>> ShardClient::open(const ReplicaConfig& replica,
                                                                ShardLogin login,
                                                                Deadline deadline) {
    std::shared_ptr<net::Connection> connection = co_await connectTo(replica, login.tls, deadline, nullptr);
    std::shared_ptr<ShardClient> client =
        co_await greet(std::move(connection), replica, std::move(login), deadline);
    co_return client;
}

asio::awaitable<std::shared_ptr<ShardClient>> ShardClient::greet(std::shared_ptr<net::Connection> connection,
                                                                 const ReplicaConfig& replica,
                                                                 ShardLogin login,
                                                                 Deadline deadline) {
    const auto client =
        std::make_shared<ShardClient>(connection, std::move(login), addressText(replica.host, replica.port));
    try {
        co_await client->sayHello(replica, deadline);
    } catch (...) {
        connection->close();  // a read is under way, which would keep it
        throw;
    }
    co_return client;
}

asio::awaitable<void> ShardClient::sayHello(const ReplicaConfig& replica, Deadline deadline) {
    state_ = State::Failed;  // until all is said
    protocol::ClientHello hello;
    hello.client_name = login_.client_name;
    hello.version_major = login_.version_major;
    hello.version_minor = login_.version_minor;
    hello.revision = login_.revision;
    hello.database = replica.default_database;
    hello.user = replica.user;
    hello.password = replica.password;
    if (!login_.secret.empty()) {
        salt_ = protocol::randomBytes(kSaltBytes);
        hello.user = protocol::kInterserverUser;
        hello.password.clear();
        hello.cluster = login_.cluster;
        hello.salt = salt_;
    }
    conversation_.packet([&](Writer& out) { protocol::encode(hello, out); });
    co_await conversation_.flush(deadline);
    const auto decode = [this](Reader& in) {
        const auto kind = static_cast<ServerPacket>(in.readVarUInt());
        if (kind == ServerPacket::Exception)
            throw ReceivedError(receivedError(protocol::decodeException(in), address_));
        if (kind != ServerPacket::Hello)
            throw Error(ErrorCode::UNEXPECTED_PACKET_FROM_SERVER,
                        "Unexpected packet from server {} (expected Hello, got {})", address_,
                        protocol::packetName(kind));
        return protocol::decodeServerHello(in, login_.revision);
    };
    hello_ = co_await conversation_.read(decode, deadline);
    const protocol::Revision revision = protocol::revisionInUse(login_.revision, hello_.revision);
    conversation_.agree(revision, NativeLimits());
    const std::optional<bool> send =
        protocol::agreeChunked(protocol::kNotChunkedOptional, hello_.chunked_receive);
    const std::optional<bool> receive =
        protocol::agreeChunked(protocol::kNotChunkedOptional, hello_.chunked_send);
    protocol::Addendum addendum;
    addendum.chunked_send = send.value_or(false) ? protocol::kChunked : protocol::kNotChunked;
    addendum.chunked_receive = receive.value_or(false) ? protocol::kChunked : protocol::kNotChunked;
    addendum.parallel_replicas_version = protocol::kParallelReplicasVersion;
    if (revision >= protocol::gate::kAddendum)
        conversation_.packet([&](Writer& out) { protocol::encode(addendum, revision, out); });
    if (revision >= protocol::gate::kChunkedPackets) {
        co_await conversation_.flush(deadline);  // not framed itself
        if (*send) conversation_.sendChunked();
        if (*receive) connection().receiveChunked();
    }
    state_ = State::Idle;
}

void ShardClient::putStatusRequest(const std::optional<protocol::TableName>& table) {
    SHARDD_CHECK(state_ == State::Idle);
    conversation_.packet([&](Writer& out) {
        if (table && revision() >= protocol::gate::kTablesStatus)
            protocol::encode(protocol::TablesStatusRequest{{*table}}, out);
        else
            protocol::encode(ClientPacket::Ping, out);
    });
}

void ShardClient::putQuery(ShardQuery query) {
    SHARDD_CHECK(state_ == State::Idle);
    state_ = State::Streaming;
    frames_ = query.frames;
    query.packet.compression = frames_.has_value();
    block_revision_ = query.block_revision;
    conversation_.readBlocksAt(block_revision_ ? block_revision_ : revision());
    conversation_.assembler().keepFrames(query.keep_frames);
    if (!login_.secret.empty())
        query.packet.interserver_hash = protocol::interserverHash(
            {.salt = salt_, .nonce = hello_.nonce, .secret = login_.secret}, query.packet, revision());
    conversation_.packet([&](Writer& out) { protocol::encode(query.packet, revision(), out); });
}

void ShardClient::putScalar(const std::string& name, uint32_t value) {
    if (revision() < protocol::gate::kScalars) return;
    Block block;
    block.add({name, types::simple(TypeKind::UInt32),
               std::make_shared<FixedColumn<uint32_t>>(PodVector<uint32_t>{value})});
    conversation_.dataPacket(ClientPacket::Scalar, block, frames_, name);
}

void ShardClient::putData(const Block& block, const std::string& name) {
    conversation_.dataPacket(ClientPacket::Data, block, frames_, name);
}

void ShardClient::putCancel() {
    conversation_.packet([](Writer& out) { protocol::encode(ClientPacket::Cancel, out); });
}

asio::awaitable<void> ShardClient::ping(Deadline deadline) {
    SHARDD_CHECK(state_ == State::Idle);
    state_ = State::Failed;  // until the answer is there
    conversation_.packet([](Writer& out) { protocol::encode(ClientPacket::Ping, out); });
    co_await conversation_.flush(deadline);
    const auto decode = [](Reader& in) { return static_cast<ServerPacket>(in.readVarUInt()); };
    const ServerPacket kind = co_await conversation_.read(decode, deadline);
    if (kind != ServerPacket::Pong)
        throw Error(ErrorCode::UNEXPECTED_PACKET_FROM_SERVER,
                    "Unexpected packet from server {} (expected Pong, got {})", address_,
                    protocol::packetName(kind));
    state_ = State::Idle;
}

asio::awaitable<void> ShardClient::flush(Deadline deadline) { return conversation_.flush(deadline); }

/// Whether the body of a packet goes through the query's compressed frames.
bool ShardClient::framed(ServerPacket kind) const {
    if (!frames_) return false;
    const bool is_log = kind == ServerPacket::Log || kind == ServerPacket::ProfileEvents ||
                        kind == ServerPacket::TableColumns;
    return !is_log || revision() >= protocol::gate::kCompressedLogs;
}

/// A packet without a block, or the head of one with a block (which then waits in head_).
std::optional<ShardEvent> ShardClient::tryHead() {
    const auto decode = [this](Reader& in) {
        ShardEvent event;
        event.kind = static_cast<ServerPacket>(in.readVarUInt());
        if (carriesBlock(event.kind)) {
            protocol::decodeDataHeader(in);
            if (block_revision_ == 0 || !framed(event.kind)) return event;
            event.rows = in.readFixed<uint64_t>();
            event.frames_bytes = in.readFixed<uint64_t>();
            if (*event.frames_bytes > kMostPassedBytes || event.rows > UINT32_MAX)
                throw Error(ErrorCode::INCORRECT_DATA, "A block of {} rows in {} bytes is announced by {}",
                            event.rows, *event.frames_bytes, address_);
            return event;
        }
        switch (event.kind) {
            case ServerPacket::Exception:
                event.exception = protocol::decodeException(in);
                break;
            case ServerPacket::Progress:
                event.progress = protocol::decodeProgress(in, revision());
                break;
            case ServerPacket::ProfileInfo:
                event.profile = protocol::decodeProfileInfo(in, revision());
                break;
            case ServerPacket::TimezoneUpdate:
                protocol::decodeTimezoneUpdate(in);
                break;
            case ServerPacket::TableColumns:
                if (framed(event.kind)) {
                    FrameReader frames(in);
                    protocol::decodeTableColumns(frames);
                } else {
                    protocol::decodeTableColumns(in);
                }
                break;
            case ServerPacket::TablesStatusResponse:
                event.tables = protocol::decodeTablesStatusResponse(in, revision());
                break;
            case ServerPacket::Pong:
            case ServerPacket::EndOfStream:
                break;
            default:
                throw Error(ErrorCode::UNKNOWN_PACKET_FROM_SERVER, "Unknown packet {} from server {}",
                            static_cast<uint64_t>(event.kind), address_);
        }
        return event;
    };
    size_t wanted = 1;
    std::optional<ShardEvent> event = conversation_.tryRead(decode, wanted);
    if (event && carriesBlock(event->kind)) {
        head_ = std::move(event);
        return std::nullopt;
    }
    return event;
}

/// Rows that nobody has to look into.
std::optional<Block> ShardClient::tryPassedBlock() {
    ByteWindow& window = connection().window();
    const uint64_t bytes = *head_->frames_bytes;
    if (window.size() < bytes) return std::nullopt;
    PodVector<char> frames;
    frames.append(window.view().data(), bytes);
    window.drop(bytes);
    return passedBlock(block_revision_, head_->rows, std::move(frames));
}

std::optional<ShardEvent> ShardClient::tryBody() {
    size_t wanted = 1;
    const bool passes = head_->frames_bytes && head_->kind == ServerPacket::Data && head_->rows > 0;
    std::optional<Block> block =
        passes ? tryPassedBlock()
               : conversation_.assembler().tryAssemble(connection().window(), framed(head_->kind), wanted);
    if (!block) return std::nullopt;
    std::optional<ShardEvent> event = std::exchange(head_, std::nullopt);
    event->block = std::move(*block);
    return event;
}

std::optional<ShardEvent> ShardClient::tryNext() {
    SHARDD_CHECK(state_ == State::Streaming);
    std::optional<ShardEvent> event;
    state_ = State::Failed;  // until this went well
    if (!head_ && !connection().window().empty()) event = tryHead();
    if (head_) event = tryBody();
    if (!event) {
        if (connection().peerGone()) throw lostError();
        connection().readAhead();
    }
    const bool last =
        event && (event->kind == ServerPacket::EndOfStream || event->kind == ServerPacket::Exception);
    state_ = last ? State::Idle : State::Streaming;
    return event;
}

Error ShardClient::lostError() {
    if (!connection().readFailure().empty())
        return {ErrorCode::NETWORK_ERROR, "{}, while reading from socket ({})", connection().readFailure(),
                address_};
    if (head_ || !connection().window().empty())
        return {ErrorCode::CANNOT_READ_ALL_DATA,
                "Cannot read all data: the stream ends in the middle of a packet ({})", address_};
    return {ErrorCode::ATTEMPT_TO_READ_AFTER_EOF, "Attempt to read after eof ({})", address_};
}

asio::awaitable<void> ShardClient::wait(Deadline deadline) { return connection().waitForEvent(deadline); }

void ShardClient::closeLater() {
    asio::post(connection().executor(), [kept = connection().shared_from_this()] { kept->close(); });
}

bool ShardClient::reusable() {
    return state_ == State::Idle && connection().window().empty() && !connection().peerGone() &&
           pendingBytes() == 0;
}

}  // namespace shardd::cluster
