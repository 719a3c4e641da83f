#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "common/protocol/peer.h"
#include "config/config.h"
#include "server/net/conversation.h"

namespace shardd::cluster {

/// Who we say we are towards a shard.
struct ShardLogin {
    std::string client_name = protocol::kOwnName;
    uint64_t version_major = 26;
    uint64_t version_minor = 7;
    uint64_t version_patch = 1;
    protocol::Revision revision = protocol::kInitiatorRevision;
    /// When the cluster has a secret, it stands for user and password.
    std::string cluster;
    std::string secret;
    /// For replicas that are `secure`; nullptr: the system's certificates are believed.
    std::shared_ptr<const net::Tls> tls = nullptr;
};

/// What a shard says: a packet with what it carries.
struct ShardEvent {
    protocol::ServerPacket kind = protocol::ServerPacket::EndOfStream;
    Block block;  // Data, Totals, Extremes, Log, ProfileEvents
    /// Stood before the block, where that was agreed.
    uint64_t rows = 0;
    std::optional<uint64_t> frames_bytes;
    protocol::Exception exception;
    protocol::Progress progress;
    protocol::ProfileInfo profile;
};

/// The Error of a shard's exception, as a client is told it: "Received from host:port. DB::Exception: …".
Error receivedError(const protocol::Exception& exception, const std::string& address);

/// A query for a shard, without the rows that go with it.
struct ShardQuery {
    protocol::Query packet;
    /// Nothing: the query's blocks travel plain.
    std::optional<FrameOptions> frames;
    /// Blocks remember the frames that they came in, for whoever passes them on.
    bool keep_frames = false;
    /// The revision whose form the answer's blocks have, each with its size before it: rows come as passedBlock()s. 0: as usual.
    protocol::Revision block_revision = 0;
};

/// The native protocol from the client's side, over one connection, one query at a time.
/// Threads: the connection's strand, but for notify().
/// Errors: NETWORK_ERROR, SOCKET_TIMEOUT, and what a shard must not say; the client is then no longer
/// reusable.
class ShardClient {
public:
    using Deadline = net::Clock::time_point;

    /// Connects and says hello.
    static boost::asio::awaitable<std::shared_ptr<ShardClient>> open(const ReplicaConfig& replica,
                                                                     ShardLogin login,
                                                                     Deadline deadline);

    protocol::Revision revision() const { return conversation_.revision(); }

    /// The other end is shardd too.
    bool isShardd() const { return hello_.server_name == protocol::kOwnName; }

    const std::string& serverTimeZone() const { return hello_.time_zone; }

    net::Connection& connection() { return conversation_.connection(); }

    const std::string& address() const { return address_; }

    /// Puts the query into the buffer of what flush() sends. The interserver hash is filled in here.
    void putQuery(ShardQuery query);

    /// A scalar of one UInt32, where the revision has them.
    void putScalar(const std::string& name, uint32_t value);

    void putData(const Block& block, const std::string& name = "");

    /// "Go" behind a query's tables; the end behind the rows of an INSERT.
    void putEndOfData() { putData(Block()); }

    void putCancel();

    boost::asio::awaitable<void> flush(Deadline deadline);

    size_t pendingBytes() const { return conversation_.pendingBytes(); }

    /// The next packet of the answer, if it has arrived whole; reads ahead otherwise.
    std::optional<ShardEvent> tryNext();

    /// Until something arrives, notify() is called, or the deadline passes.
    boost::asio::awaitable<void> wait(Deadline deadline);

    /// Whether the shard still answers; between two queries only.
    boost::asio::awaitable<void> ping(Deadline deadline);

    /// From any thread.
    void notify() { conversation_.connection().notify(); }

    /// From any thread.
    void closeLater();

    /// Gives memory back that was charged to the query's budget.
    void releaseMemory() { conversation_.releaseMemory(); }

    /// Between two queries, with nothing unread.
    bool reusable();

    ShardClient(std::shared_ptr<net::Connection> connection, ShardLogin login, std::string address);

private:
    enum class State { Idle, Streaming, Failed };

    boost::asio::awaitable<void> sayHello(const ReplicaConfig& replica, Deadline deadline);
    std::optional<ShardEvent> tryHead();
    std::optional<ShardEvent> tryBody();
    std::optional<Block> tryPassedBlock();
    bool framed(protocol::ServerPacket kind) const;

    net::Conversation conversation_;
    ShardLogin login_;
    std::string address_;
    std::string salt_;
    protocol::ServerHello hello_;
    std::optional<FrameOptions> frames_;
    /// Of the running query, see ShardQuery.
    protocol::Revision block_revision_ = 0;
    /// The head of a packet whose block has not arrived whole.
    std::optional<ShardEvent> head_;
    State state_ = State::Idle;
};

}  // namespace shardd::cluster
