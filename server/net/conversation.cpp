#include "server/net/conversation.h"

#include "common/wire/encoded_block.h"
#include "common/wire/passed_frames.h"

namespace shardd::net {

namespace asio = boost::asio;

void Conversation::agree(protocol::Revision revision, NativeLimits block_limits) {
    revision_ = write_revision_ = read_revision_ = revision;
    block_limits_ = block_limits;
    assembler_.emplace(revision, block_limits);
}

asio::awaitable<void> Conversation::fill(size_t wanted, Deadline deadline) {
    const size_t target = connection_->window().size() + wanted;
    while (connection_->window().size() < target) {
        const bool more = co_await connection_->readMore(deadline);
        if (more) continue;
        if (connection_->window().empty()) throw PeerLeft();
        throw Error(ErrorCode::ATTEMPT_TO_READ_AFTER_EOF, "The peer {} ended in the middle of a packet",
                    connection_->peerAddress());
    }
}

asio::awaitable<Block> Conversation::readBlock(bool compressed, Deadline deadline) {
    while (true) {
        size_t wanted = 1;
        std::optional<Block> block = assembler_->tryAssemble(connection_->window(), compressed, wanted);
        if (block) co_return std::move(*block);
        co_await fill(wanted, deadline);
    }
}

void Conversation::releaseMemory() {
    out_ = Writer();
    block_ = Writer();
    if (assembler_) assembler_->releaseMemory();
}

void Conversation::endChunk(size_t start) {
    const size_t size = out_.size() - start - sizeof(uint32_t);
    if (size > UINT32_MAX)
        throw Error(ErrorCode::TOO_LARGE_ARRAY_SIZE, "A packet of {} bytes does not fit into a chunk", size);
    const auto size32 = static_cast<uint32_t>(size);
    std::memcpy(out_.data() + start, &size32, sizeof(size32));
    out_.writeFixed(uint32_t{0});
}

namespace {

/// A block that was to be passed on, after all looked into.
Block decodePassed(const PassedFrames& passed) {
    protocol::BlockAssembler assembler(passed.revision);
    ByteWindow window;
    window.append({passed.frames.data(), passed.frames.size()});
    size_t wanted = 1;
    std::optional<Block> block = assembler.tryAssemble(window, true, wanted);
    if (!block || !window.empty()) throw Error(ErrorCode::INCORRECT_DATA, "A shard's frames do not hold one block");
    return std::move(*block);
}

}  // namespace

Block decoded(Block block) {
    const PassedFrames* passed = passedFrames(block);
    return passed ? decodePassed(*passed) : std::move(block);
}

void Conversation::writeFramedBlock(const Block& block,
                                    const std::optional<FrameOptions>& frames,
                                    Writer& out) {
    if (!writes_sizes_ || !frames) return writeBody(block, frames, out);
    out.writeFixed(uint64_t{block.rows});
    const size_t at = out.size();
    out.writeFixed(uint64_t{0});
    writeBody(block, frames, out);
    const uint64_t bytes = out.size() - at - sizeof(uint64_t);
    std::memcpy(out.data() + at, &bytes, sizeof(bytes));
}

void Conversation::writeBody(const Block& block, const std::optional<FrameOptions>& frames, Writer& out) {
    if (const PassedFrames* passed = passedFrames(block)) {
        const bool same_form = protocol::nativeOptionsAt(passed->revision) == protocol::nativeOptionsAt(write_revision_);
        if (!frames || !same_form) return writeBody(decodePassed(*passed), frames, out);
        return out.writeBytes(passed->frames.data(), passed->frames.size());
    }
    const NativeOptions options = protocol::nativeOptionsAt(write_revision_);
    if (!frames) return writeBlock(block, options, out);
    if (const EncodedBlock* encoded = findEncoded(block, options))
        return out.writeBytes(encoded->frames.data(), encoded->frames.size());
    block_.clear();
    writeBlock(block, options, block_);
    encodeFrames(block_.view(), *frames, out);
    // One giant block must not keep its memory for the life of the connection.
    constexpr size_t kKeptBytes = size_t{8} << 20;
    if (block_.size() > kKeptBytes) block_ = Writer();
}

void Conversation::exceptionPacket(int code, const std::string& message) {
    protocol::Exception exception;
    protocol::ExceptionRecord& record = exception.chain.emplace_back();
    record.code = code;
    record.message = "DB::Exception: " + message;
    packet([&](Writer& out) { protocol::encode(exception, out); });
}

asio::awaitable<void> Conversation::flush(Deadline deadline) {
    if (out_.empty()) co_return;
    Writer sending = std::exchange(out_, Writer());
    co_await connection_->write(sending.view(), deadline);
    sending.clear();
    constexpr size_t kKeptBytes = size_t{4} << 20;
    if (out_.empty() && sending.capacity() <= kKeptBytes) out_ = std::move(sending);
}

}  // namespace shardd::net
