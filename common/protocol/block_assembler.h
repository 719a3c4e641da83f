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
        : reader_(nativeOptionsAt(revision), limits) {}

    /// The block when it is complete; otherwise nothing, and `wanted` more bytes make a new try useful. Used
    /// bytes leave the window. `compressed` stays the same from the first try to the last.
    std::optional<Block> tryAssemble(ByteWindow& window, bool compressed, size_t& wanted);

    /// Gives memory back between two queries, whose budgets it was charged to.
    void releaseMemory() { data_ = ByteWindow(); }

private:
    std::optional<Block> tryFrames(ByteWindow& window, size_t& wanted);

    BlockReader reader_;
    /// Decompressed and not used yet; empty between blocks.
    ByteWindow data_;
    /// So much must be in data_ for a new try.
    size_t data_wanted_ = 1;
};

}  // namespace shardd::protocol
