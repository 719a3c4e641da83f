#include "server/session/query_pump.h"

#include <algorithm>

#include "common/base/plain_numbers.h"
#include "common/protocol/peer.h"

namespace shardd::session {

namespace asio = boost::asio;
using protocol::ClientPacket;
using protocol::ServerPacket;

namespace {

/// Enough is encoded: write it before more is taken from the query.
constexpr size_t kFlushBytes = size_t{1} << 20;
/// The client may send so much ahead while its blocks wait for the query.
constexpr size_t kReadAheadBytes = size_t{1} << 20;

/// A number that an initiator of our kind sent with the query; 0 for none.
uint64_t sentNumber(const protocol::Query& query, std::string_view name) {
    const auto sent = std::ranges::find(query.settings, name, &protocol::SettingChange::name);
    if (sent == query.settings.end()) return 0;
    return parseUnsigned(sent->value).value_or(0);
}

}  // namespace

QueryPump::QueryPump(net::Conversation& conversation,
                     std::shared_ptr<QueryChannel> channel,
                     ConnectionSettings& settings,
                     const protocol::Query& query)
    : conversation_(conversation),
      channel_(std::move(channel)),
      settings_(settings),
      query_(query) {
    next_progress_ = started_ + settings.interactive_delay;
    chooseFrames();
    // An initiator of our kind passes blocks on as they come: they have the form that its client reads.
    const bool for_initiator =
        query.client_info.kind == protocol::QueryKind::Secondary && query.client_info.client_name == protocol::kOwnName;
    const uint64_t wanted = for_initiator ? sentNumber(query, "distributed_block_revision") : 0;
    if (wanted > 0)
        conversation.writeSizedBlocksAt(static_cast<protocol::Revision>(std::min<uint64_t>(wanted, conversation.revision())));
    const std::weak_ptr<net::Connection> connection = conversation.weakConnection();
    const auto wake = [connection] {
        if (const std::shared_ptr<net::Connection> alive = connection.lock()) alive->notify();
    };
    channel_->output.onReadable(wake);
    channel_->input.onWritable(wake);
}

QueryPump::~QueryPump() {
    conversation_.writeBlocksAsAgreed();
    if (!ended_) abandon();
}

/// Nobody listens any longer: the query shall end, and never wait for us.
void QueryPump::abandon() {
    channel_->stop.request_stop();
    channel_->output.cancel();
    channel_->input.cancel();
}

bool QueryPump::waitsForClient() const { return input_ == Input::Expected && !pending_; }

/// Puts a block of the client before the query; false while the query has no room for it.
bool QueryPump::pushPending() {
    if (!pending_) return true;
    const size_t weight = pending_->allocatedBytes() + 256;
    const auto result = channel_->input.tryPush(*pending_, weight);
    if (result == BoundedQueue<Block>::PushResult::Full) return false;
    pending_.reset();  // taken, or of no interest any longer
    return true;
}

bool QueryPump::takeBlock() {
    const MemoryScope scope(channel_->budget.get());
    size_t wanted = 1;
    std::optional<Block> block = conversation_.assembler().tryAssemble(conversation_.connection().window(),
                                                                       query_.compression, wanted);
    if (!block) return false;
    in_block_ = false;
    if (input_ != Input::Expected) return true;
    if (block->columns.empty()) {
        input_ = Input::Ended;
        channel_->input.close();
    } else if (block->rows > 0) {
        pending_ = std::move(block);
    }
    return true;
}

/// One packet's number, and the name of a data packet; false when the bytes are not all there.
bool QueryPump::takePacket() {
    const auto decode = [this](Reader& in) {
        const auto number = static_cast<ClientPacket>(in.readVarUInt());
        if (number == ClientPacket::Data) protocol::decodeDataHeader(in, conversation_.limits());
        return number;
    };
    size_t wanted = 1;
    const std::optional<ClientPacket> number = conversation_.tryRead(decode, wanted);
    if (!number) return false;
    switch (*number) {
        case ClientPacket::Data:
            if (input_ == Input::NotExpected)
                throw Error(ErrorCode::UNEXPECTED_PACKET_FROM_CLIENT,
                            "Unexpected packet Data received from client");
            in_block_ = true;
            return true;
        case ClientPacket::Cancel:
            cancelled_ = true;
            channel_->stop.request_stop();
            if (input_ == Input::Expected) channel_->input.cancel();
            return true;
        case ClientPacket::Ping:
            conversation_.packet([](Writer& out) { encode(ServerPacket::Pong, out); });
            return true;
        case ClientPacket::KeepAlive:
            return true;
        default:
            throw Error(ErrorCode::UNEXPECTED_PACKET_FROM_CLIENT, "Unexpected packet {} received from client",
                        packetName(*number));
    }
}

/// All that the client has sent so far, as far as the query has room for it.
void QueryPump::takeIncoming() {
    net::Connection& connection = conversation_.connection();
    if (connection.receivedBytes() != bytes_seen_) {
        bytes_seen_ = connection.receivedBytes();
        last_bytes_ = net::Clock::now();
    }
    while (pushPending()) {
        if (in_block_ ? !takeBlock() : connection.window().empty() || !takePacket()) break;
    }
}

void QueryPump::sendInsertSample(const QueryOutput& output) {
    const bool tell_columns = query_.client_info.kind == protocol::QueryKind::Initial &&
                              conversation_.revision() >= protocol::gate::kTableColumns &&
                              !output.description.empty();
    if (tell_columns) {
        conversation_.packet([&](Writer& out) {
            out.writeVarUInt(static_cast<uint64_t>(ServerPacket::TableColumns));
            const protocol::TableColumns columns = {.table = "", .description = output.description};
            if (!log_frames_) return encodeBody(columns, out);
            Writer body;
            encodeBody(columns, body);
            encodeFrames(body.view(), *log_frames_, out);
        });
    }
    conversation_.dataPacket(ServerPacket::Data, output.block, frames_);
    input_ = Input::Expected;
}

/// Before anything whose form they decide. Logs may come before the query knows its settings.
void QueryPump::takeSettings() {
    if (settings_taken_ || !channel_->setting) return;
    settings_taken_ = true;
    settings_.take(channel_->setting);
    chooseFrames();
}

void QueryPump::chooseFrames() {
    if (query_.compression) frames_ = settings_.compression;
    if (conversation_.revision() >= protocol::gate::kCompressedLogs) log_frames_ = frames_;
}

void QueryPump::send(QueryOutput output) {
    const MemoryScope scope(channel_->budget.get());
    const auto& block = output.block;
    if (output.kind != QueryOutput::Kind::Log && output.kind != QueryOutput::Kind::ProfileEvents) takeSettings();
    switch (output.kind) {
        case QueryOutput::Kind::Header:
            header_sent_ = true;
            conversation_.dataPacket(ServerPacket::Data, block, frames_);
            break;
        case QueryOutput::Kind::Data:
            if (!cancelled_) conversation_.dataPacket(ServerPacket::Data, block, frames_);
            break;
        case QueryOutput::Kind::Totals:
            conversation_.dataPacket(ServerPacket::Totals, block, frames_);
            break;
        case QueryOutput::Kind::Extremes:
            conversation_.dataPacket(ServerPacket::Extremes, block, frames_);
            break;
        case QueryOutput::Kind::InsertSample:
            sendInsertSample(output);
            break;
        case QueryOutput::Kind::ProfileInfo:
            if (input_ != Input::NotExpected) break;  // clients expect nothing but the end of an INSERT
            conversation_.packet([&](Writer& out) { encode(output.profile, conversation_.revision(), out); });
            break;
        case QueryOutput::Kind::Log:
            if (conversation_.revision() >= protocol::gate::kServerLogs)
                conversation_.dataPacket(ServerPacket::Log, block, log_frames_);
            break;
        case QueryOutput::Kind::ProfileEvents:
            if (conversation_.revision() >= protocol::gate::kProfileEvents)
                conversation_.dataPacket(ServerPacket::ProfileEvents, block, log_frames_);
            break;
    }
}

void QueryPump::takeOutput() {
    try {
        while (conversation_.pendingBytes() < kFlushBytes) {
            auto popped = channel_->output.tryPop();
            if (popped.value) send(std::move(*popped.value));
            ended_ = popped.ended;
            if (!popped.value) return;
        }
    } catch (const Error& error) {
        failure_ = {error.code(), error.message()};
    } catch (const std::bad_alloc&) {
        failure_ = {static_cast<int>(ErrorCode::CANNOT_ALLOCATE_MEMORY), "Cannot allocate memory"};
    } catch (const std::exception& error) {
        failure_ = {static_cast<int>(ErrorCode::STD_EXCEPTION), error.what()};
    }
    if (!failure_) return;
    ended_ = true;
    abandon();  // it may have been the sending that failed, and the query would wait for room for ever
}

void QueryPump::sendProgress() {
    const ProgressCounters& now = channel_->progress;
    const auto grown = [](const std::atomic<uint64_t>& counter, uint64_t& sent) {
        const uint64_t value = counter.load(std::memory_order_relaxed);
        const uint64_t growth = value > sent ? value - sent : 0;
        sent += growth;
        return growth;
    };
    protocol::Progress growth;
    growth.rows = grown(now.rows, sent_.rows);
    growth.bytes = grown(now.bytes, sent_.bytes);
    growth.total_rows = grown(now.total_rows, sent_.total_rows);
    growth.total_bytes = grown(now.total_bytes, sent_.total_bytes);
    growth.written_rows = grown(now.written_rows, sent_.written_rows);
    growth.written_bytes = grown(now.written_bytes, sent_.written_bytes);
    next_progress_ = net::Clock::now() + settings_.interactive_delay;
    const bool takes_progress =
        input_ == Input::NotExpected || conversation_.revision() >= protocol::gate::kProgressInInsert;
    if (growth == protocol::Progress() || !takes_progress) return;
    const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(net::Clock::now() - started_);
    growth.elapsed_ns = static_cast<uint64_t>(elapsed.count()) - sent_.elapsed_ns;
    sent_.elapsed_ns += growth.elapsed_ns;
    conversation_.packet([&](Writer& out) { encode(growth, conversation_.revision(), out); });
}

void QueryPump::sendEnd() {
    if (failure_ && !cancelled_) {
        conversation_.exceptionPacket(failure_->first, failure_->second);
        return;
    }
    sendProgress();
    if (header_sent_) conversation_.dataPacket(ServerPacket::Data, Block(), frames_);
    conversation_.packet([](Writer& out) { encode(ServerPacket::EndOfStream, out); });
}

/// The client may be gone or silent for too long.
void QueryPump::checkPeer() {
    net::Connection& connection = conversation_.connection();
    if (connection.peerGone()) throw net::PeerLeft();
    if (waitsForClient() && settings_.receive_timeout.count() > 0 &&
        net::Clock::now() - last_bytes_ > settings_.receive_timeout)
        throw Error(ErrorCode::SOCKET_TIMEOUT, "Timeout exceeded while waiting for rows from {}",
                    connection.peerAddress());
}

asio::awaitable<QueryPump::End> QueryPump::run() {
    net::Connection& connection = conversation_.connection();
    while (true) {
        takeIncoming();
        takeOutput();
        if (!ended_ && net::Clock::now() >= next_progress_) sendProgress();
        if (ended_) sendEnd();
        const bool wrote = conversation_.pendingBytes() > 0;
        if (wrote) co_await conversation_.flush(net::deadlineAfter(settings_.send_timeout));
        if (ended_) break;
        checkPeer();
        if (wrote) continue;  // the query may have moved on meanwhile
        if (waitsForClient() || connection.window().size() < kReadAheadBytes) connection.readAhead();
        co_await connection.waitForEvent(next_progress_);
    }
    if (!failure_) co_return End::Done;
    co_return input_ == Input::Expected && !cancelled_ ? End::DrainData : End::Failed;
}

}  // namespace shardd::session
