#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/reader.h"
#include "common/base/writer.h"
#include "common/columns/block.h"
#include "common/wire/byte_window.h"

namespace shardd {

/// ClickHouse's Native form of blocks and columns, by walking their types.
/// Source: docs/protocol.md, "Blocks".

/// Which parts of the form are in use; protocol/revision says it for a connection. The defaults are those of
/// the Native format in files and over HTTP.
struct NativeOptions {
    /// The info before a block (overflow flag, bucket number).
    bool block_info = false;
    /// The info lists buckets that come out of order.
    bool out_of_order_buckets = false;
    /// A byte before each column that says whether it has a kind of its own (sparse …).
    bool column_kinds = false;
    /// LowCardinality travels; otherwise T in its stead, name and data.
    bool low_cardinality = true;
    /// `DateTime('tz')` keeps its zone.
    bool time_zones = true;
    /// AggregateFunction(1, sumMap, …) keeps its number.
    bool aggregate_versions = true;

    friend bool operator==(const NativeOptions&, const NativeOptions&) = default;
};

/// What a reader takes, so that a peer's word costs no memory.
struct NativeLimits {
    size_t columns = size_t{1} << 16;
    size_t rows = size_t{1} << 28;
    size_t name_bytes = size_t{1} << 20;
    /// Of one string.
    size_t string_bytes = size_t{1} << 30;
    /// Of one column that few bytes can make large (sparse, replicated).
    size_t expanded_rows = size_t{1} << 24;
    size_t expanded_bytes = size_t{1} << 30;
};

/// Appends `block` (constants are written out).
void writeBlock(const Block& block, const NativeOptions& options, Writer& out);

/// Prefixes and data of one column of `rows` > 0; nothing for an empty one.
void writeColumn(const Type& type, const Column& column, Writer& out);

/// The twin of writeColumn.
ColumnPtr readColumn(const TypePtr& type, size_t rows, Reader& in, const NativeLimits& limits = {});

/// The name that a type has on the wire.
std::string wireTypeName(const Type& type, const NativeOptions& options);

/// Reads blocks one after another, step by step: bytes that were used once are not read again when more have
/// come. Errors: what no honest writer sends is INCORRECT_DATA (117), an unknown type UNKNOWN_TYPE (50), and
/// so on. Threads: one at a time.
class BlockReader {
public:
    explicit BlockReader(NativeOptions options, NativeLimits limits = {});
    ~BlockReader();
    BlockReader(const BlockReader&) = delete;
    BlockReader& operator=(const BlockReader&) = delete;

    /// A whole block from a reader that waits for its bytes.
    Block read(Reader& in);

    /// A block from what the window holds, or nothing; `wanted` then says how many more bytes make a new try
    /// useful. Bytes that are used leave the window.
    std::optional<Block> tryRead(ByteWindow& window, size_t& wanted);

    /// In the middle of a block: the end of the stream would cut it.
    bool inBlock() const;

    /// The last block had columns of kinds of their own, which not every reader of its revision need know.
    bool lastHadKinds() const { return last_had_kinds_; }

private:
    struct State;

    /// One step (the head, or one column); true when the block is complete.
    bool step(Reader& in);
    void readHead(Reader& in);
    void readColumnHead(Reader& in);
    Block takeBlock();

    NativeOptions options_;
    NativeLimits limits_;
    std::unique_ptr<State> state_;
    bool last_had_kinds_ = false;
    /// Type names of the last block by position: blocks of one answer have the same.
    std::vector<std::pair<std::string, TypePtr>> known_types_;
};

}  // namespace shardd
