#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/storage/key.h"
#include "server/storage/table.h"

namespace shardd {
class FileSystem;
}

namespace shardd::storage {

class DecodedCache;
class MergeScheduler;

/// An argument of an engine or of a table function, as a layer that knows SQL prepared it: storage knows
/// none.
struct Argument {
    /// SQL text, in the canonical print.
    std::string text;
    /// Its value and type when it is a constant expression.
    std::optional<Value> value;
    TypePtr type;
    /// The parts of a (dotted) name, unquoted; empty for anything else.
    std::vector<std::string> identifier;

    /// A string or a name as a word (`remote(addr, default, t)`); BAD_ARGUMENTS (36) naming `what` for
    /// anything else.
    std::string word(const char* what) const;
    /// A number that fits; BAD_ARGUMENTS naming `what`.
    uint64_t unsignedNumber(const char* what) const;
};

/// A table as CREATE or a stored definition says it.
struct TableDefinition {
    TableSchema schema;
    std::vector<Argument> arguments;
    KeyDescription partition_key;
    KeyDescription sorting_key;
    /// A prefix of the sorting key; the whole of it when none is written.
    KeyDescription primary_key;
    bool has_sampling_key = false;
    bool has_ttl = false;
    bool has_indices = false;
    /// SETTINGS of the engine: names and values as text.
    std::vector<std::pair<std::string, std::string>> settings;
    /// Loaded from a stored definition: the data is there already, and limits for new tables do not apply.
    bool attach = false;
};

/// What engines are given besides the definition.
struct EngineContext {
    FileSystem* files = nullptr;
    /// The table's own directory, without a slash at the end; empty when the catalog has no disk (tests).
    std::string data_path;
    /// The directory is found again by the next start: not that of a temporary table or of a database in memory.
    bool keeps_data = true;
    std::shared_ptr<DecodedCache> decoded_cache = nullptr;
    /// Merges parts behind the scenes; nullptr: nobody does.
    std::shared_ptr<MergeScheduler> merges = nullptr;
    /// What fsync_after_insert is where the table does not say it.
    bool durable_inserts = true;
};

/// One row of system.table_engines. A new engine is its own file and one line where the daemon collects them.
struct EngineInfo {
    std::string name;
    std::function<TablePtr(const TableDefinition&, const EngineContext&)> create;
    /// ENGINE = Name(…) may have arguments.
    bool takes_arguments = false;
    bool takes_settings = false;
    /// PARTITION BY, ORDER BY, PRIMARY KEY, SAMPLE BY.
    bool takes_keys = false;
    bool takes_ttl = false;
    bool takes_indices = false;
    /// Has rows on the disk, below EngineContext::data_path.
    bool stores_data = false;
};

struct TableFunctionRequest {
    std::string name;  // as registered
    std::vector<Argument> arguments;
    std::string current_database;
    std::string current_user;
    /// The `structure` of functions that take columns as text goes through this: it is SQL.
    std::function<std::vector<ColumnDefinition>(const std::string&)> parse_structure;
};

/// One row of system.table_functions.
struct TableFunctionInfo {
    std::string name;
    std::function<TablePtr(const TableFunctionRequest&)> create;
    bool case_insensitive = false;
};

/// The engines of this layer: Memory, Null, MergeTree (and its family).
std::vector<EngineInfo> storageEngines();
/// The table functions of this layer: numbers, zeros, generate_series, null, values …
std::vector<TableFunctionInfo> storageTableFunctions();

/// Refuses what the engine cannot take, as ClickHouse does: 36, 42, 115.
void checkEngineTakes(const EngineInfo& engine, const TableDefinition& definition);

}  // namespace shardd::storage
