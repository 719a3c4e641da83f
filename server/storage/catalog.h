#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "server/storage/engine.h"

namespace shardd::storage {

struct DatabaseInfo {
    std::string name;
    std::string engine = "Atomic";
    std::string uuid = {};
    std::string comment = {};
    /// Nothing of it is on the disk (system, information_schema, ENGINE = Memory).
    bool in_memory = false;
};

/// A stored definition: what a loader parses and hands back to attachTable().
struct StoredTable {
    std::string database;
    std::string name;
    std::string uuid;
    /// "ATTACH TABLE _ UUID '…' (…) ENGINE = …".
    std::string query;
};

struct CatalogOptions {
    /// Where everything lies; empty keeps all of it in memory, without MergeTree tables.
    std::string path = {};
    std::shared_ptr<DecodedCache> decoded_cache = nullptr;
    std::shared_ptr<MergeScheduler> merges = nullptr;
    /// What fsync_after_insert is in tables that do not say it.
    bool durable_inserts = true;
};

/// The databases and their tables, and the engines and table functions by name.
/// On the disk: metadata/<db>.sql, metadata/<db>/<table>.sql, and the data in store/<3 hex>/<uuid>/, so that
/// renaming never moves data. Source: docs/storage-format.md. Threads: all members may be called from any
/// thread; changes exclude one another, look-ups do not wait for disks.
class Catalog {
public:
    explicit Catalog(FileSystem& files, CatalogOptions options = {});
    ~Catalog();

    // -- engines and table functions --------------------------------------------------------------
    void addEngine(EngineInfo engine);
    void addTableFunction(TableFunctionInfo function);
    /// nullptr when there is none.
    const EngineInfo* findEngine(std::string_view name) const;
    const TableFunctionInfo* findTableFunction(std::string_view name) const;
    /// UNKNOWN_FUNCTION (46) when there is none.
    TablePtr createTableFunction(std::string_view name, TableFunctionRequest request) const;
    std::vector<const EngineInfo*> engines() const;
    std::vector<const TableFunctionInfo*> tableFunctions() const;

    // -- databases --------------------------------------------------------------------------------
    bool hasDatabase(std::string_view name) const;
    std::vector<DatabaseInfo> databases() const;
    /// UNKNOWN_DATABASE (81), with a near name.
    DatabaseInfo database(std::string_view name) const;
    /// DATABASE_ALREADY_EXISTS (82) unless `if_not_exists`.
    void createDatabase(DatabaseInfo info, bool if_not_exists = false);
    /// With its tables. UNKNOWN_DATABASE (81) unless `if_exists`.
    void dropDatabase(const std::string& name, bool if_exists = false);
    void renameDatabase(const std::string& name, const std::string& new_name);

    // -- tables -----------------------------------------------------------------------------------
    /// nullptr when the database or the table is not there.
    TablePtr find(std::string_view database, std::string_view table) const;
    /// UNKNOWN_DATABASE (81), UNKNOWN_TABLE (60) with a near name.
    TablePtr get(std::string_view database, std::string_view table) const;
    /// By name.
    std::vector<std::pair<std::string, TablePtr>> tables(std::string_view database) const;
    /// " Maybe you meant db.t?" or nothing: the end of an UNKNOWN_TABLE message.
    std::string hint(std::string_view database, std::string_view table) const;

    /// Makes the table and stores its definition. UNKNOWN_DATABASE, TABLE_ALREADY_EXISTS (57),
    /// UNKNOWN_STORAGE (56), and what engines refuse. nullptr when it is there already and `if_not_exists`.
    /// `attach_query` is what gets stored, complete but for the UUID, which it says itself.
    TablePtr createTable(TableDefinition definition,
                         const std::string& attach_query,
                         bool if_not_exists = false);
    /// A table without a stored definition: system tables, temporary tables, tests.
    void addTable(const std::string& database, TablePtr table);
    /// Its data goes once running queries have let go of it. UNKNOWN_TABLE (60).
    void dropTable(const std::string& database, const std::string& name);
    /// Forgets the table until attachDetached(); its definition and its data stay.
    void detachTable(const std::string& database, const std::string& name, bool permanently);
    /// The definition of a detached table, for ATTACH TABLE name.
    std::optional<StoredTable> detachedTable(const std::string& database, const std::string& name) const;
    /// The stored text stays: it names no table.
    void renameTable(const std::string& database,
                     const std::string& name,
                     const std::string& new_database,
                     const std::string& new_name);
    void exchangeTables(const std::string& database,
                        const std::string& name,
                        const std::string& other_database,
                        const std::string& other_name);
    /// ALTER: the definition is stored before the table changes.
    void alterTable(const std::string& database,
                    const std::string& name,
                    const TableSchema& schema,
                    const std::string& attach_query);

    // -- start and end ----------------------------------------------------------------------------
    /// Reads the stored databases and answers the stored tables, and finishes interrupted drops. Once, before
    /// queries.
    std::vector<StoredTable> load();
    /// A stored table back in its place.
    void attachTable(TableDefinition definition);
    /// Where a new table's data would be.
    std::string dataPath(const std::string& uuid) const;
    /// A table of the definition, without putting it anywhere.
    TablePtr makeTable(const TableDefinition& definition) const;
    /// Hands on what tables hold for others, and ends the background work of all.
    void shutdown();

    FileSystem& files() const { return files_; }

    const std::string& path() const { return path_; }

private:
    struct Database {
        DatabaseInfo info;
        std::map<std::string, TablePtr, std::less<>> tables;
    };

    /// Under mutex_ (any mode). UNKNOWN_DATABASE.
    const Database& databaseOrFail(std::string_view name) const;
    Database& databaseOrFail(std::string_view name);
    /// Under mutex_. UNKNOWN_TABLE.
    TablePtr tableOrFail(std::string_view database, std::string_view name) const;
    std::string hintLocked(std::string_view database, std::string_view table) const;

    bool onDisk(const Database& database) const { return !path_.empty() && !database.info.in_memory; }

    std::string databaseFile(std::string_view database) const;
    std::string tableFile(std::string_view database, std::string_view table) const;
    std::string droppedFile(const std::string& uuid) const;
    /// Removes what is left of dropped tables, except for data that queries still read.
    void finishDrops(bool remove_data);

    FileSystem& files_;
    CatalogOptions options_;
    std::string path_;  // options_.path without a slash at its end
    std::map<std::string, EngineInfo, std::less<>> engines_;
    std::map<std::string, TableFunctionInfo, std::less<>> table_functions_;
    /// One change at a time; taken before mutex_.
    mutable std::mutex changes_;
    /// Guards databases_, engines_, table_functions_.
    mutable std::shared_mutex mutex_;
    std::map<std::string, Database, std::less<>> databases_;
    /// Detached tables by database and name.
    std::map<std::pair<std::string, std::string>, StoredTable> detached_;
};

/// 36 characters, random.
std::string makeUuid();

}  // namespace shardd::storage
