#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/columns/block_stream.h"

namespace shardd::storage {

class DistributedSource;

enum class DefaultKind : uint8_t { None, Default, Materialized, Alias, Ephemeral };

struct ColumnDefinition {
    std::string name;
    TypePtr type;
    DefaultKind default_kind = DefaultKind::None;
    /// SQL text; storage knows no SQL, the planner binds it.
    std::string default_expression = {};
    std::string comment = {};
    /// "CODEC(ZSTD(3))" as written; empty for the default.
    std::string codec = {};
    std::string ttl = {};
};

/// What a table is called and made of; also what system.tables and SHOW CREATE TABLE show.
struct TableSchema {
    std::string database;
    std::string name;
    std::string uuid;
    std::string engine;  // "MergeTree"
    std::vector<ColumnDefinition> columns;
    /// The statement that makes it: CREATE TABLE db.name (…) ENGINE = …, on one line.
    std::string create_query;
    std::string engine_full;
    std::string partition_key;
    std::string sorting_key;
    std::string primary_key;
    std::string sampling_key;
    std::string comment;
    /// CONSTRAINT name CHECK expression: names and SQL texts.
    std::vector<std::pair<std::string, std::string>> constraints;
    /// Of ENGINE = View: the SELECT, as SQL text. The planner reads it in the view's place.
    std::string view_query;

    const ColumnDefinition* find(std::string_view column) const;
};

/// Values that a column must have for a row to matter: closed or open bounds, and perhaps a list. Used to leave out
/// partitions, parts and granules; never trusted to filter rows.
struct ColumnRange {
    std::string column;
    std::optional<Value> lower;
    std::optional<Value> upper;
    bool lower_open = false;
    bool upper_open = false;
    /// When not empty, the only values that matter (physical, of the column's type).
    std::vector<Value> values;
};

/// A condition that the reader evaluates itself, so that it reads the other columns only where it holds.
struct Prewhere {
    std::vector<std::string> columns;
    /// From a block with (at least) these columns to bytes, one a row.
    std::function<Mask(const Block&)> condition;
};

struct ScanRequest {
    /// What blocks must hold, in this order; none at all means that only the number of rows is wanted.
    std::vector<std::string> columns;
    std::vector<ColumnRange> ranges;  // each must hold
    std::optional<Prewhere> prewhere;
    /// How many sources at most; they share the work among them while it lasts.
    size_t max_streams = 1;
    size_t max_block_rows = 65409;
    /// 0, or the number of rows after which nobody will read on (a LIMIT without filter): fewer granules are read ahead.
    uint64_t limit_rows = 0;
    std::stop_token stop;
    /// Told of rows and bytes read, from the threads that read; may throw (limits) to end the scan.
    std::function<void(uint64_t rows, uint64_t bytes)> progress;
};

/// Whose query it is that writes: other servers are told, and do it in that user's name.
struct QueryOrigin {
    std::string initial_user = "default";
    std::string initial_query_id;
    std::string initial_address;
    int64_t initial_start_microseconds = 0;
    uint64_t distributed_depth = 0;
};

struct WriteRequest {
    /// The columns that blocks will have; a subset of the table's, others get their type's default.
    std::vector<std::string> columns;
    std::stop_token stop;
    /// Settings by name for what an engine wants to know (fsync_after_insert, …); nothing when not set.
    std::function<std::optional<std::string>(std::string_view)> setting;
    /// Names and texts of what differs from the defaults, for engines that write on other servers.
    std::vector<std::pair<std::string, std::string>> changed_settings = {};
    QueryOrigin origin = {};
};

/// Rows with a schema: on disk, in memory, made up, or on other machines.
/// Threads: all members may be called from any thread; a scan sees the rows of the moment it was made.
class Table {
public:
    virtual ~Table() = default;

    /// A consistent copy; ALTER and RENAME replace it.
    virtual std::shared_ptr<const TableSchema> schema() const = 0;

    /// At most request.max_streams sources, perhaps none. NOT_FOUND_COLUMN_IN_BLOCK for unknown columns.
    virtual std::vector<BlockSourcePtr> scan(const ScanRequest& request) const = 0;

    /// Rows into the table; NOT_IMPLEMENTED (48) where it cannot be written.
    virtual BlockSinkPtr write(const WriteRequest& request);

    /// Rows and bytes on disk where they are known without reading.
    virtual std::optional<uint64_t> totalRows() const { return std::nullopt; }

    virtual std::optional<uint64_t> totalBytes() const { return std::nullopt; }

    virtual void truncate();

    /// Before DROP, DETACH and the daemon's end: what is still held for others (Distributed) is handed on as far
    /// as that goes until the deadline. Does not throw.
    virtual void flush(std::chrono::steady_clock::time_point /*deadline*/) {}

    /// The data goes; called once, when nothing refers to the table any longer but running queries.
    virtual void drop() {}

    /// The schema with another name.
    virtual void rename(const std::string& database, const std::string& name);

    /// ALTER of columns, comment, settings: rows that are there keep what fits. The keys stay.
    virtual void alter(const TableSchema& schema);

    /// The table's other side when its rows are on other machines (Distributed, remote(), cluster()).
    virtual const DistributedSource* distributed() const { return nullptr; }

    /// Whether scans come in the order of the sorting key within each source.
    virtual std::vector<std::string> sortingColumns() const { return {}; }

    virtual bool supportsPrewhere() const { return false; }

    /// Ends background work and waits for it; before the daemon stops.
    virtual void shutdown() {}
};

using TablePtr = std::shared_ptr<Table>;

}  // namespace shardd::storage
