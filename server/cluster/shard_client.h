#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "common/protocol/peer.h"
#include "config/config.h"
#include "server/net/conversation.h"
#include "server/net/interrupt.h"

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
    protocol::TablesStatusResponse tables;
};

/// The Error of a shard's exception, as a client is told it: "Received from host:port. DB::Exception: …".
Error receivedError(const protocol::Exception& exception, const std::string& address);

/// An error that is nobody's but its sender's: what a server said instead of an answer. Its text is complete.
class ReceivedError : public Error {
public:
    explicit ReceivedError(const Error& error) : Error(error) {}
};

/// A query for a shard, without the rows that go with it.
struct ShardQuery {
    protocol::Query packet;
    /// Nothing: the query's blocks travel plain.
    std::optional<FrameOptions> frames;
    /// Blocks remember the frames that they came in, for whoever passes them on.
    bool keep_frames = false;
    /// The revision whose form the answer's blocks have, each with its size before it: rows come as
    /// passedBlock()s. 0: as usual.
    protocol::Revision block_revision = 0;
};

/// The native protocol from the client's side, over one connection, one query at a time.
/// Threads: the connection's strand, but for notify().
/// Errors: NETWORK_ERROR, SOCKET_TIMEOUT, and what a shard must not say; the client is then no longer
/// reusable.
class ShardClient {
public:
    using Deadline = net::Clock::time_point;

    /// Zero: no limit.
    struct OpenLimits {
        std::chrono::milliseconds connect_timeout{0};
        /// From the connection to the other side's hello.
        std::chrono::milliseconds handshake_timeout{0};
        /// Without traffic for so long the system tries the connection; zero: when the system likes to.
        std::chrono::seconds keep_alive_after{0};
        /// Ends it early, with QUERY_WAS_CANCELLED (394) or PeerLeft; may be missing.
        net::Interrupt* interrupt = nullptr;
    };

    /// Connects and says hello.
    static boost::asio::awaitable<std::shared_ptr<ShardClient>> open(const ReplicaConfig& replica,
                                                                     ShardLogin login,
                                                                     OpenLimits limits);
    static boost::asio::awaitable<std::shared_ptr<ShardClient>> open(const ReplicaConfig& replica,
                                                                     ShardLogin login,
                                                                     Deadline deadline);

    protocol::Revision revision() const { return conversation_.revision(); }

    /// The other end is shardd too.
    bool isShardd() const { return hello_.server_name == protocol::kOwnName; }

    const std::string& serverTimeZone() const { return hello_.time_zone; }

    net::Connection& connection() { return conversation_.connection(); }

    const std::string& address() const { return address_; }

    /// Before a query: whether the other side lives, and has `table` where its revision lets us ask for that.
    /// Its answer, a Pong or a TablesStatusResponse, comes before anything of the query's.
    void putStatusRequest(const std::optional<protocol::TableName>& table);

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

    /// Of the packet that is on its way: where it stopped, when the stream ends here.
    Error lostError();

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

    /// A query's answer is not at its end.
    bool streaming() const { return state_ == State::Streaming; }

    /// Between two queries, with nothing unread.
    bool reusable();

    ShardClient(std::shared_ptr<net::Connection> connection, ShardLogin login, std::string address);

private:
    enum class State { Idle, Streaming, Failed };

    static boost::asio::awaitable<std::shared_ptr<ShardClient>> greet(
        std::shared_ptr<net::Connection> connection,
        const ReplicaConfig& replica,
        ShardLogin login,
        Deadline deadline);
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
