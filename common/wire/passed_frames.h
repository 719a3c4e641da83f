#pragma once

#include <cstdint>

#include "common/base/pod_vector.h"
#include "common/columns/block.h"

namespace shardd {

/// The compressed frames of a block that nobody here looks into, and how many rows they hold: what an initiator hands from a
/// shard to a client when nothing has to be done to it.
struct PassedFrames {
    /// Of the protocol: the form of the block.
    uint64_t revision = 0;
    uint64_t rows = 0;
    /// As the frames' headers say.
    uint64_t data_bytes = 0;
    PodVector<char> frames;
};

/// A block of `rows` rows with one column that stands for all: it can be counted, moved and sent, and nothing else
/// (LOGICAL_ERROR). Errors: INCORRECT_DATA (117) when `frames` are not whole frames.
Block passedBlock(uint64_t revision, uint64_t rows, PodVector<char> frames);

/// The frames of such a block; nullptr for any other. Valid as long as the block's column.
const PassedFrames* passedFrames(const Block& block);

}  // namespace shardd
