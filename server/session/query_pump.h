#pragma once

#include <memory>
#include <optional>

#include <boost/asio/awaitable.hpp>

#include "server/net/conversation.h"
#include "server/session/connection_settings.h"
#include "server/session/query.h"

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

    /// `settings` become those of the query when it knows them.
    QueryPump(net::Conversation& conversation,
              std::shared_ptr<QueryChannel> channel,
              ConnectionSettings& settings,
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
    void takeSettings();
    void chooseFrames();
    void send(QueryOutput output);
    void sendInsertSample(const QueryOutput& output);
    void sendProgress();
    void sendEnd();
    bool waitsForClient() const;
    void checkPeer();
    void abandon();

    net::Conversation& conversation_;
    std::shared_ptr<QueryChannel> channel_;
    ConnectionSettings& settings_;
    const protocol::Query& query_;
    std::optional<FrameOptions> frames_;
    std::optional<FrameOptions> log_frames_;
    net::Clock::time_point started_ = net::Clock::now();
    net::Clock::time_point next_progress_;
    net::Clock::time_point last_bytes_ = net::Clock::now();
    uint64_t bytes_seen_ = 0;
    protocol::Progress sent_;
    Input input_ = Input::NotExpected;
    bool in_block_ = false;
    std::optional<Block> pending_;
    bool settings_taken_ = false;
    bool header_sent_ = false;
    bool cancelled_ = false;
    bool ended_ = false;
    std::optional<std::pair<int, std::string>> failure_;
};

}  // namespace shardd::session
