#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bounded_queue.h"
#include "common/base/byte_source.h"
#include "common/base/memory_budget.h"
#include "common/columns/block.h"
#include "common/protocol/packets.h"
#include "common/protocol/revision.h"

namespace shardd::session {

/// The border between a conversation (a coroutine on the network's threads) and the queries in it (worker
/// threads). Whoever runs queries implements SessionHost; sockets, HTTP and tests are its callers.

/// What lives as long as a client's session: who it is, its database, its settings. Made by
/// SessionHost::login, which knows what is inside; the conversation only carries it. One query at a time uses
/// it.
class ClientSession {
public:
    virtual ~ClientSession() = default;

    virtual const std::string& user() const = 0;

    /// The text of a setting in force between two queries; nothing where it is not known. Not during a query.
    virtual std::optional<std::string> setting(std::string_view name) const = 0;
};

struct LoginRequest {
    std::string user;
    std::string password;
    /// As the client asked; empty for the user's own.
    std::string database;
    /// "192.0.2.1:40000"
    std::string peer_address;
    std::string quota_key;
    /// The peer has proved itself by its cluster's secret: `user` asks without a password.
    bool trusted = false;
};

/// Rows that came with a query under a name: an external table, or a scalar (one row of one column).
struct NamedBlocks {
    std::string name;
    std::vector<Block> blocks;
};

struct QueryRequest {
    std::shared_ptr<ClientSession> session;
    /// Never empty: made here when the client gave none.
    std::string query_id;
    std::string text;
    protocol::Stage stage = protocol::Stage::Complete;
    std::vector<protocol::SettingChange> settings;
    std::vector<protocol::SettingChange> parameters;
    /// Of an initial query too: then the initial user, address and id are this client's.
    protocol::ClientInfo client_info;
    protocol::Revision client_revision = 0;
    std::vector<NamedBlocks> external_tables;
    std::vector<NamedBlocks> scalars;
    std::string peer_address;
    /// What follows the text where rows come as bytes (HTTP): the text's own inline data and then this are the rows of an
    /// INSERT. Nothing where they come as blocks.
    std::shared_ptr<ByteSource> body;
};

/// What a query sends to its client.
struct QueryOutput {
    enum class Kind {
        Header,         ///< once, before all data: the columns without rows
        Data,           ///< rows
        Totals,         ///< after the data
        Extremes,       ///< after the data
        InsertSample,   ///< once, instead of a header: the columns that the rows of an INSERT shall have
        ProfileInfo,    ///< once, at the end
        Log,            ///< any time
        ProfileEvents,  ///< any time
    };

    Kind kind = Kind::Data;
    Block block;
    protocol::ProfileInfo profile;
    /// InsertSample: the text of the TableColumns packet; may be empty.
    std::string description;

    /// For the queue: bytes, so that a slow client costs a bounded amount of memory.
    size_t weight() const { return block.allocatedBytes() + 256; }
};

/// Counted by those who work, read by the conversation, which sends the growth from time to time.
struct ProgressCounters {
    std::atomic<uint64_t> rows = 0;
    std::atomic<uint64_t> bytes = 0;
    std::atomic<uint64_t> total_rows = 0;
    std::atomic<uint64_t> total_bytes = 0;
    std::atomic<uint64_t> written_rows = 0;
    std::atomic<uint64_t> written_bytes = 0;
};

/// The two ways between a query and its conversation. Held by both; either may go first.
/// Ends:   the query closes `output` when all is done, or fails it with the Error to be told (also while rows
/// of an
///         INSERT still come). `output` ended is the sign that the session object is free again.
/// Input:  blocks of an INSERT, after InsertSample was sent; closed by the conversation at the client's end
/// of data,
///         cancelled when the client is gone.
/// Cancel: stop is requested when the client says Cancel or is gone; the query then ends `output` soon.
struct QueryChannel {
    static constexpr size_t kOutputBytes = size_t{16} << 20;
    static constexpr size_t kInputBytes = size_t{16} << 20;

    BoundedQueue<QueryOutput> output{kOutputBytes};
    BoundedQueue<Block> input{kInputBytes};
    std::stop_source stop;
    ProgressCounters progress;
    /// Pays for blocks while they are decoded and encoded; set before the first output, may stay empty.
    std::shared_ptr<MemoryBudget> budget;
    /// What stands behind FORMAT; set before the first output, for whoever writes texts.
    std::string format;
    /// The text of a setting in force; set before the first output but logs and events, may stay empty.
    std::function<std::optional<std::string>(std::string_view name)> setting;
};

/// Answers conversations. All members are called on the network's threads and must return at once.
class SessionHost {
public:
    virtual ~SessionHost() = default;

    /// Errors: AUTHENTICATION_FAILED (516) without saying which part was wrong.
    virtual std::shared_ptr<ClientSession> login(const LoginRequest& request) = 0;

    /// The secret of a cluster that has one.
    virtual std::optional<std::string> clusterSecret(std::string_view cluster) = 0;

    /// Tables that do not exist (or that the user may not see) are left out.
    virtual protocol::TablesStatusResponse tablesStatus(ClientSession& session,
                                                        const protocol::TablesStatusRequest& request) = 0;

    /// Starts the query on worker threads. Errors go through channel->output, never out of here.
    virtual void start(QueryRequest request, std::shared_ptr<QueryChannel> channel) = 0;
};

}  // namespace shardd::session
