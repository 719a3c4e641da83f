#pragma once

#include <memory>
#include <optional>

#include <boost/asio/awaitable.hpp>

#include "server/net/conversation.h"
#include "server/session/query.h"
#include "server/session/session.h"

namespace shardd::session {

/// Carries one running query's output to the client and the client's words (rows, Cancel, Ping) to the query,
/// until the query has ended. Everything that does not wait is plain code; run() is the only coroutine.
class QueryPump {
public:
    enum class End {
        Done,       ///< EndOfStream was sent
        Failed,     ///< an Exception was sent; the connection can go on
        DrainData,  ///< as Failed, and the client is still sending rows
    };

    QueryPump(net::Conversation& conversation,
              std::shared_ptr<QueryChannel> channel,
              const SessionOptions& options,
              const protocol::Query& query);
    ~QueryPump();

    /// Errors: net::PeerLeft, and Error for what ends the connection; the query is cancelled then.
    boost::asio::awaitable<End> run();

private:
    enum class Input { NotExpected, Expected, Ended };

    void takeIncoming();
    bool takePacket();
    bool takeBlock();
    bool pushPending();
    void takeOutput();
    void send(QueryOutput output);
    void sendInsertSample(const QueryOutput& output);
    void sendProgress();
    void sendEnd();
    bool waitsForClient() const;
    void checkPeer();
    void abandon();

    net::Conversation& conversation_;
    std::shared_ptr<QueryChannel> channel_;
    const SessionOptions& options_;
    const protocol::Query& query_;
    std::optional<FrameOptions> frames_;
    std::optional<FrameOptions> log_frames_;
    std::chrono::microseconds interactive_delay_;
    net::Clock::time_point started_ = net::Clock::now();
    net::Clock::time_point next_progress_;
    net::Clock::time_point last_bytes_ = net::Clock::now();
    uint64_t bytes_seen_ = 0;
    protocol::Progress sent_;
    Input input_ = Input::NotExpected;
    bool in_block_ = false;
    std::optional<Block> pending_;
    bool header_sent_ = false;
    bool cancelled_ = false;
    bool ended_ = false;
    std::optional<std::pair<int, std::string>> failure_;
};

}  // namespace shardd::session
