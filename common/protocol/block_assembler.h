#pragma once

#include <optional>

#include "common/protocol/native_options.h"
#include "common/wire/byte_window.h"
#include "common/wire/native.h"

namespace shardd::protocol {

/// Puts the block of a packet together from what has arrived so far: plain bytes, or compressed frames, of
/// which each is decompressed once. One for a connection: type names are remembered from block to block.
/// Errors: of frames and of blocks; afterwards the connection cannot go on.
/// Threads: one at a time.
class BlockAssembler {
public:
    explicit BlockAssembler(Revision revision, NativeLimits limits = {})
        : options_(nativeOptionsAt(revision)), reader_(options_, limits) {}

    /// From the next block on: whether blocks with rows remember the frames that they came in
    /// (encoded_block.h).
    void keepFrames(bool keep) { keep_frames_ = keep; }

    /// The block when it is complete; otherwise nothing, and `wanted` more bytes make a new try useful. Used
    /// bytes leave the window. `compressed` stays the same from the first try to the last.
    std::optional<Block> tryAssemble(ByteWindow& window, bool compressed, size_t& wanted);

    /// Gives memory back between two queries, whose budgets it was charged to.
    void releaseMemory() {
        data_ = ByteWindow();
        frames_ = PodVector<char>();
    }

private:
    std::optional<Block> tryFrames(ByteWindow& window, size_t& wanted);

    const NativeOptions options_;
    BlockReader reader_;
    bool keep_frames_ = false;
    /// Of the block that is being put together, when frames are kept.
    PodVector<char> frames_;
    /// Decompressed and not used yet; empty between blocks.
    ByteWindow data_;
    /// So much must be in data_ for a new try.
    size_t data_wanted_ = 1;
};

}  // namespace shardd::protocol
