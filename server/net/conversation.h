#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/awaitable.hpp>

#include "common/protocol/block_assembler.h"
#include "common/protocol/packet_codec.h"
#include "common/wire/frame.h"
#include "server/net/connection.h"

namespace shardd::net {

/// The peer ended the stream between two packets: nothing more is to be said.
struct PeerLeft {};

/// The block itself, also when it came as frames to be passed on (common/wire/passed_frames.h).
/// Errors: INCORRECT_DATA, and what frames and blocks may have wrong with them.
Block decoded(Block block);

/// Packets in and out over one connection: for both roles, a server's session and a shard's client. Outgoing
/// packets collect in a buffer until flush(). Threads: the connection's strand.
class Conversation {
public:
    using Deadline = Clock::time_point;

    explicit Conversation(std::shared_ptr<Connection> connection, protocol::DecodeLimits limits)
        : connection_(std::move(connection)), limits_(limits) {}

    Connection& connection() { return *connection_; }

    std::weak_ptr<Connection> weakConnection() { return connection_->weak_from_this(); }

    protocol::Revision revision() const { return revision_; }

    const protocol::DecodeLimits& limits() const { return limits_; }

    /// After the hellos: from here on packets are as `revision` and the addendum say.
    void agree(protocol::Revision revision, NativeLimits block_limits);

    void sendChunked() { send_chunked_ = true; }

    /// Blocks take another revision's form than the connection's, until told otherwise, and the rows and bytes (UInt64 each) of
    /// framed ones stand before their frames, so that they can be passed on unread: both ends agreed on that.
    void writeSizedBlocksAt(protocol::Revision revision) {
        write_revision_ = revision;
        writes_sizes_ = true;
    }

    void writeBlocksAsAgreed() {
        write_revision_ = revision_;
        writes_sizes_ = false;
    }

    /// Between two queries.
    void readBlocksAt(protocol::Revision revision) {
        if (revision == read_revision_) return;
        read_revision_ = revision;
        assembler_.emplace(revision, block_limits_);
    }

    protocol::BlockAssembler& assembler() { return *assembler_; }

    /// What `decode` makes of the bytes that are there, or nothing; `wanted` then says how many more to wait
    /// for.
    template <typename Decode>
    auto tryRead(Decode& decode, size_t& wanted) -> std::optional<std::invoke_result_t<Decode&, Reader&>> {
        WindowReader in(connection_->window().view());
        try {
            auto result = decode(static_cast<Reader&>(in));
            connection_->window().drop(in.consumed());
            return result;
        } catch (const NeedMoreBytes& need) {
            wanted = need.at_least;
            return std::nullopt;
        }
    }

    /// As tryRead(), waiting for the bytes. PeerLeft when the stream ends before the first of them.
    template <typename Decode>
    auto read(Decode decode, Deadline deadline)
        -> boost::asio::awaitable<std::invoke_result_t<Decode&, Reader&>> {
        while (true) {
            size_t wanted = 1;
            auto result = tryRead(decode, wanted);
            if (result) co_return std::move(*result);
            co_await fill(wanted, deadline);
        }
    }

    /// The block behind a data packet's header.
    boost::asio::awaitable<Block> readBlock(bool compressed, Deadline deadline);

    /// `write` appends one packet; it is framed if that was agreed. When it throws, nothing of the packet stays.
    template <typename Write>
    void packet(Write write) {
        const size_t start = out_.size();
        try {
            if (send_chunked_) out_.writeFixed(uint32_t{0});
            write(out_);
        } catch (...) {
            out_.shrink(start);  // half a packet would be the last one that the peer understands
            throw;
        }
        if (send_chunked_) endChunk(start);
    }

    /// A packet with a block, of either role's numbers.
    template <typename Packet>
    void dataPacket(Packet kind,
                    const Block& block,
                    const std::optional<FrameOptions>& frames,
                    const std::string& name = "") {
        packet([&](Writer& out) {
            protocol::encode(kind, protocol::DataHeader{name}, out);
            writeFramedBlock(block, frames, out);
        });
    }

    /// The Exception packet of an error.
    void exceptionPacket(int code, const std::string& message);

    /// Gives memory back between two queries, whose budgets it was charged to. Nothing may be pending.
    void releaseMemory();

    size_t pendingBytes() const { return out_.size(); }

    boost::asio::awaitable<void> flush(Deadline deadline);

private:
    boost::asio::awaitable<void> fill(size_t wanted, Deadline deadline);
    void endChunk(size_t start);
    void writeFramedBlock(const Block& block, const std::optional<FrameOptions>& frames, Writer& out);
    void writeBody(const Block& block, const std::optional<FrameOptions>& frames, Writer& out);

    std::shared_ptr<Connection> connection_;
    protocol::DecodeLimits limits_;
    protocol::Revision revision_ = 0;
    protocol::Revision write_revision_ = 0;  // of blocks
    bool writes_sizes_ = false;
    protocol::Revision read_revision_ = 0;
    NativeLimits block_limits_;
    bool send_chunked_ = false;
    std::optional<protocol::BlockAssembler> assembler_;
    Writer out_;
    Writer block_;
};

}  // namespace shardd::net
