#pragma once

#include <memory>
#include <optional>

#include "common/columns/block.h"

namespace shardd {

/// Where blocks come from: a table's rows, a shard's answer, an operator.
/// Threads: one caller at a time; different sources of one scan run on different threads.
class BlockSource {
public:
    virtual ~BlockSource() = default;

    /// The columns of every block, without rows.
    virtual const Block& header() const = 0;

    /// The next block (never empty of rows), or nothing at the end. May block the thread; watches cancellation.
    virtual std::optional<Block> next() = 0;
};

using BlockSourcePtr = std::unique_ptr<BlockSource>;

/// Where blocks go: a table, a client, a shard.
class BlockSink {
public:
    virtual ~BlockSink() = default;

    virtual void write(Block block) = 0;

    /// All is written: only now an INSERT is acknowledged. A sink destroyed without finish() undoes what it can.
    virtual void finish() = 0;
};

using BlockSinkPtr = std::unique_ptr<BlockSink>;

}  // namespace shardd
