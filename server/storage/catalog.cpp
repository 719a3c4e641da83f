#include "server/storage/catalog.h"

#include <algorithm>
#include <random>
#include <set>

#include "common/base/error.h"
#include "common/base/file_system.h"
#include "server/storage/file_names.h"
#include "server/storage/generated_table.h"

namespace shardd::storage {

namespace {

constexpr std::string_view kSqlEnding = ".sql";
constexpr std::string_view kDetachedEnding = ".sql.detached";
constexpr auto kNoDeadline = std::chrono::steady_clock::time_point::max();
/// How long the end of the daemon waits for all tables to hand on what they hold for others.
constexpr std::chrono::seconds kFlushPatience{5};

bool equalIgnoringCase(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// Levenshtein distance, for hints.
size_t editDistance(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t above = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
            diagonal = above;
        }
    }
    return row[b.size()];
}

/// The UUID that a stored definition says: "ATTACH TABLE _ UUID '…'"; empty when it says none.
std::string uuidInQuery(std::string_view query) {
    const std::string_view before = "UUID '";
    const size_t at = query.find(before);
    if (at == std::string_view::npos || at > 64 || query.size() < at + before.size() + 36) return {};
    return std::string(query.substr(at + before.size(), 36));
}

Error tableExists(const std::string& database, const std::string& name) {
    return Error(ErrorCode::TABLE_ALREADY_EXISTS, "Table {}.{} already exists",
                 quoteIdentifierIfNeeded(database), quoteIdentifierIfNeeded(name));
}

}  // namespace

std::string makeUuid() {
    std::random_device random;
    std::string text;
    for (int i = 0; i < 32; ++i) {
        static constexpr char kDigits[] = "0123456789abcdef";
        unsigned digit = random() & 15U;
        if (i == 12) digit = 4;                  // version: random
        if (i == 16) digit = 8U | (digit & 3U);  // variant
        if (i == 8 || i == 12 || i == 16 || i == 20) text += '-';
        text += kDigits[digit];
    }
    return text;
}

Catalog::Catalog(FileSystem& files, CatalogOptions options)
    : files_(files), options_(std::move(options)), path_(options_.path) {
    while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
    for (EngineInfo& engine : storageEngines()) addEngine(std::move(engine));
    for (TableFunctionInfo& function : storageTableFunctions()) addTableFunction(std::move(function));
    for (const char* name : {"system", "information_schema", "INFORMATION_SCHEMA"})
        databases_[name].info = {.name = name,
                                 .engine = "Memory",
                                 .uuid = "00000000-0000-0000-0000-000000000000",
                                 .in_memory = true};
    databases_["system"].info.engine = "Atomic";
    for (TablePtr& table : generatedSystemTables()) addTable("system", std::move(table));
    if (path_.empty())
        databases_["default"].info = {.name = "default", .uuid = makeUuid(), .in_memory = true};
}

Catalog::~Catalog() = default;

// -- engines and table functions ------------------------------------------------------------------

void Catalog::addEngine(EngineInfo engine) {
    const std::unique_lock lock(mutex_);
    std::string name = engine.name;
    engines_.insert_or_assign(std::move(name), std::move(engine));
}

void Catalog::addTableFunction(TableFunctionInfo function) {
    const std::unique_lock lock(mutex_);
    std::string name = function.name;
    table_functions_.insert_or_assign(std::move(name), std::move(function));
}

const EngineInfo* Catalog::findEngine(std::string_view name) const {
    const std::shared_lock lock(mutex_);
    const auto found = engines_.find(name);
    return found == engines_.end() ? nullptr : &found->second;
}

const TableFunctionInfo* Catalog::findTableFunction(std::string_view name) const {
    const std::shared_lock lock(mutex_);
    if (const auto found = table_functions_.find(name); found != table_functions_.end())
        return &found->second;
    for (const auto& [known, info] : table_functions_)
        if (info.case_insensitive && equalIgnoringCase(known, name)) return &info;
    return nullptr;
}

TablePtr Catalog::createTableFunction(std::string_view name, TableFunctionRequest request) const {
    const TableFunctionInfo* info = findTableFunction(name);
    if (!info) throw Error(ErrorCode::UNKNOWN_FUNCTION, "Unknown table function {}", name);
    request.name = info->name;
    return info->create(request);
}

std::vector<const EngineInfo*> Catalog::engines() const {
    const std::shared_lock lock(mutex_);
    std::vector<const EngineInfo*> all;
    for (const auto& [name, info] : engines_) all.push_back(&info);
    return all;
}

std::vector<const TableFunctionInfo*> Catalog::tableFunctions() const {
    const std::shared_lock lock(mutex_);
    std::vector<const TableFunctionInfo*> all;
    for (const auto& [name, info] : table_functions_) all.push_back(&info);
    return all;
}

// -- look-up --------------------------------------------------------------------------------------

const Catalog::Database& Catalog::databaseOrFail(std::string_view name) const {
    const auto found = databases_.find(name);
    if (found == databases_.end())
        throw Error(ErrorCode::UNKNOWN_DATABASE, "Database {} does not exist", quoteIdentifierIfNeeded(name));
    return found->second;
}

Catalog::Database& Catalog::databaseOrFail(std::string_view name) {
    return const_cast<Database&>(std::as_const(*this).databaseOrFail(name));
}

TablePtr Catalog::tableOrFail(std::string_view database, std::string_view name) const {
    const Database& place = databaseOrFail(database);
    const auto found = place.tables.find(name);
    if (found == place.tables.end())
        throw Error(ErrorCode::UNKNOWN_TABLE, "Table {}.{} does not exist{}",
                    quoteIdentifierIfNeeded(database), quoteIdentifierIfNeeded(name),
                    hintLocked(database, name));
    return found->second;
}

bool Catalog::hasDatabase(std::string_view name) const {
    const std::shared_lock lock(mutex_);
    return databases_.contains(name);
}

std::vector<DatabaseInfo> Catalog::databases() const {
    const std::shared_lock lock(mutex_);
    std::vector<DatabaseInfo> all;
    for (const auto& [name, database] : databases_) all.push_back(database.info);
    return all;
}

DatabaseInfo Catalog::database(std::string_view name) const {
    const std::shared_lock lock(mutex_);
    return databaseOrFail(name).info;
}

TablePtr Catalog::find(std::string_view database, std::string_view table) const {
    const std::shared_lock lock(mutex_);
    const auto place = databases_.find(database);
    if (place == databases_.end()) return nullptr;
    const auto found = place->second.tables.find(table);
    return found == place->second.tables.end() ? nullptr : found->second;
}

TablePtr Catalog::get(std::string_view database, std::string_view table) const {
    const std::shared_lock lock(mutex_);
    return tableOrFail(database, table);
}

std::vector<std::pair<std::string, TablePtr>> Catalog::tables(std::string_view database) const {
    const std::shared_lock lock(mutex_);
    const auto& all = databaseOrFail(database).tables;
    return {all.begin(), all.end()};
}

std::string Catalog::hint(std::string_view database, std::string_view table) const {
    const std::shared_lock lock(mutex_);
    return hintLocked(database, table);
}

std::string Catalog::hintLocked(std::string_view database, std::string_view table) const {
    std::string best_database;
    std::string best_table;
    size_t best_distance = table.size() / 3 + 2;
    for (const auto& [name, place] : databases_)
        for (const auto& [known, unused] : place.tables) {
            const size_t distance = editDistance(known, table) + (name == database ? 0 : 1);
            if (distance < best_distance) {
                best_distance = distance;
                best_database = name;
                best_table = known;
            }
        }
    if (best_table.empty()) return {};
    return fmt::format(". Maybe you meant {}.{}?", quoteIdentifierIfNeeded(best_database),
                       quoteIdentifierIfNeeded(best_table));
}

// -- names on the disk ----------------------------------------------------------------------------

std::string Catalog::databaseFile(std::string_view database) const {
    return path_ + "/metadata/" + escapeFileName(database) + std::string(kSqlEnding);
}

std::string Catalog::tableFile(std::string_view database, std::string_view table) const {
    return path_ + "/metadata/" + escapeFileName(database) + "/" + escapeFileName(table) +
           std::string(kSqlEnding);
}

std::string Catalog::droppedFile(const std::string& uuid) const {
    return path_ + "/metadata_dropped/" + uuid + std::string(kSqlEnding);
}

std::string Catalog::dataPath(const std::string& uuid) const {
    return path_.empty() ? std::string() : path_ + "/store/" + uuid.substr(0, 3) + "/" + uuid;
}

// -- databases ------------------------------------------------------------------------------------

void Catalog::createDatabase(DatabaseInfo info, bool if_not_exists) {
    const std::lock_guard change(changes_);
    if (hasDatabase(info.name)) {
        if (if_not_exists) return;
        throw Error(ErrorCode::DATABASE_ALREADY_EXISTS, "Database {} already exists",
                    quoteIdentifierIfNeeded(info.name));
    }
    if (info.engine != "Atomic" && info.engine != "Ordinary" && info.engine != "Memory")
        throw Error(ErrorCode::UNKNOWN_DATABASE_ENGINE, "Unknown database engine: {}", info.engine);
    if (info.engine == "Memory") info.in_memory = true;
    if (info.uuid.empty()) info.uuid = makeUuid();
    if (path_.empty()) info.in_memory = true;
    if (!info.in_memory) {
        files_.createDirectories(path_ + "/metadata/" + escapeFileName(info.name));
        files_.syncDirectory(path_ + "/metadata");
        std::string text = fmt::format("ATTACH DATABASE _ UUID '{}'\nENGINE = {}\n", info.uuid, info.engine);
        if (!info.comment.empty()) text += fmt::format("COMMENT {}\n", quoteString(info.comment));
        files_.replaceFile(databaseFile(info.name), text);
    }
    const std::unique_lock lock(mutex_);
    std::string name = info.name;
    databases_[name].info = std::move(info);
}

void Catalog::dropDatabase(const std::string& name, bool if_exists) {
    std::vector<std::string> names;
    {
        const std::shared_lock lock(mutex_);
        const auto found = databases_.find(name);
        if (found == databases_.end() && if_exists) return;
        for (const auto& [table, unused] : databaseOrFail(name).tables) names.push_back(table);
    }
    for (const std::string& table : names) dropTable(name, table);
    const std::lock_guard change(changes_);
    bool on_disk = false;
    {
        const std::unique_lock lock(mutex_);
        const Database& database = databaseOrFail(name);
        if (!database.tables.empty())
            throw Error(ErrorCode::DATABASE_NOT_EMPTY, "Database {} is not empty: a table was made meanwhile",
                        name);
        on_disk = onDisk(database);
        databases_.erase(name);
    }
    if (!on_disk) return;
    files_.removeFile(databaseFile(name));
    files_.removeRecursively(path_ + "/metadata/" + escapeFileName(name));
    files_.syncDirectory(path_ + "/metadata");
}

void Catalog::renameDatabase(const std::string& name, const std::string& new_name) {
    const std::lock_guard change(changes_);
    const std::unique_lock lock(mutex_);
    if (databases_.contains(new_name))
        throw Error(ErrorCode::DATABASE_ALREADY_EXISTS, "Database {} already exists",
                    quoteIdentifierIfNeeded(new_name));
    const Database& database = databaseOrFail(name);
    if (onDisk(database)) {
        const std::string metadata = path_ + "/metadata/";
        files_.rename(metadata + escapeFileName(name), metadata + escapeFileName(new_name));
        files_.rename(databaseFile(name), databaseFile(new_name));
        files_.syncDirectory(path_ + "/metadata");
    }
    auto node = databases_.extract(name);
    node.key() = new_name;
    node.mapped().info.name = new_name;
    for (auto& [table, object] : node.mapped().tables) object->rename(new_name, table);
    databases_.insert(std::move(node));
}

// -- tables ---------------------------------------------------------------------------------------

TablePtr Catalog::makeTable(const TableDefinition& definition) const {
    const EngineInfo* engine = findEngine(definition.schema.engine);
    if (!engine) throw Error(ErrorCode::UNKNOWN_STORAGE, "Unknown table engine {}", definition.schema.engine);
    if (!definition.attach) checkEngineTakes(*engine, definition);
    bool keeps_data = false;
    {
        const std::shared_lock lock(mutex_);
        const auto place = databases_.find(definition.schema.database);
        keeps_data = place != databases_.end() && onDisk(place->second);
    }
    const EngineContext context{.files = &files_,
                                .data_path = dataPath(definition.schema.uuid),
                                .keeps_data = keeps_data,
                                .decoded_cache = options_.decoded_cache,
                                .merges = options_.merges,
                                .durable_inserts = options_.durable_inserts};
    return engine->create(definition, context);
}

TablePtr Catalog::createTable(TableDefinition definition,
                              const std::string& attach_query,
                              bool if_not_exists) {
    const std::lock_guard change(changes_);
    const std::string database = definition.schema.database;
    const std::string name = definition.schema.name;
    bool on_disk = false;
    {
        const std::shared_lock lock(mutex_);
        const Database& place = databaseOrFail(database);
        if (place.tables.contains(name)) {
            if (if_not_exists) return nullptr;
            throw tableExists(database, name);
        }
        if (detached_.contains({database, name}))
            throw Error(ErrorCode::TABLE_ALREADY_EXISTS, "Table {}.{} already exists (detached)",
                        quoteIdentifierIfNeeded(database), quoteIdentifierIfNeeded(name));
        on_disk = onDisk(place);
    }
    if (definition.schema.uuid.empty()) definition.schema.uuid = makeUuid();
    TablePtr table = makeTable(definition);
    if (on_disk) {
        try {
            files_.replaceFile(tableFile(database, name), attach_query);
        } catch (...) {
            table->drop();
            throw;
        }
    }
    const std::unique_lock lock(mutex_);
    databaseOrFail(database).tables[name] = table;
    return table;
}

void Catalog::addTable(const std::string& database, TablePtr table) {
    const std::unique_lock lock(mutex_);
    databaseOrFail(database).tables[table->schema()->name] = std::move(table);
}

void Catalog::attachTable(TableDefinition definition) {
    const std::lock_guard change(changes_);
    definition.attach = true;
    const std::string database = definition.schema.database;
    const std::string name = definition.schema.name;
    TablePtr table = makeTable(definition);
    bool permanently = false;
    {
        const std::unique_lock lock(mutex_);
        Database& place = databaseOrFail(database);
        if (place.tables.contains(name)) throw tableExists(database, name);
        place.tables[name] = std::move(table);
        permanently = detached_.erase({database, name}) != 0 && onDisk(place);
    }
    if (!permanently) return;
    const std::string file = tableFile(database, name);
    if (!files_.exists(parentPath(file) + "/" + escapeFileName(name) + std::string(kDetachedEnding))) return;
    files_.rename(parentPath(file) + "/" + escapeFileName(name) + std::string(kDetachedEnding), file);
    files_.syncDirectory(parentPath(file));
}

void Catalog::dropTable(const std::string& database, const std::string& name) {
    // May take its time; nothing else waits for it.
    if (const TablePtr table = find(database, name)) table->flush(kNoDeadline);
    const std::lock_guard change(changes_);
    TablePtr table;
    bool on_disk = false;
    {
        const std::shared_lock lock(mutex_);
        table = tableOrFail(database, name);
        on_disk = onDisk(databaseOrFail(database));
    }
    if (on_disk && files_.exists(tableFile(database, name))) {
        // The rename is the moment of the drop. After a crash the data of a definition found there is removed
        // at the start.
        const std::string dropped = droppedFile(table->schema()->uuid);
        files_.createDirectories(parentPath(dropped));
        files_.rename(tableFile(database, name), dropped);
        files_.syncDirectory(parentPath(dropped));
        files_.syncDirectory(parentPath(tableFile(database, name)));
    }
    {
        const std::unique_lock lock(mutex_);
        databaseOrFail(database).tables.erase(name);
    }
    table->drop();
    table.reset();
    if (on_disk) finishDrops(false);
}

void Catalog::detachTable(const std::string& database, const std::string& name, bool permanently) {
    if (const TablePtr table = find(database, name)) table->flush(kNoDeadline);
    const std::lock_guard change(changes_);
    TablePtr table;
    bool on_disk = false;
    {
        const std::shared_lock lock(mutex_);
        table = tableOrFail(database, name);
        on_disk = onDisk(databaseOrFail(database));
    }
    StoredTable stored{.database = database, .name = name, .uuid = table->schema()->uuid, .query = {}};
    if (on_disk) {
        const std::string file = tableFile(database, name);
        stored.query = files_.readFile(file);
        if (permanently) {
            files_.rename(file, file + ".detached");
            files_.syncDirectory(parentPath(file));
        }
    } else {
        stored.query = table->schema()->create_query;
    }
    table->shutdown();
    const std::unique_lock lock(mutex_);
    databaseOrFail(database).tables.erase(name);
    detached_[{database, name}] = std::move(stored);
}

std::optional<StoredTable> Catalog::detachedTable(const std::string& database,
                                                  const std::string& name) const {
    const std::shared_lock lock(mutex_);
    const auto found = detached_.find({database, name});
    if (found == detached_.end()) return std::nullopt;
    return found->second;
}

void Catalog::renameTable(const std::string& database,
                          const std::string& name,
                          const std::string& new_database,
                          const std::string& new_name) {
    const std::lock_guard change(changes_);
    const std::unique_lock lock(mutex_);
    TablePtr table = tableOrFail(database, name);
    Database& from = databaseOrFail(database);
    Database& to = databaseOrFail(new_database);
    if (to.tables.contains(new_name)) throw tableExists(new_database, new_name);
    if (onDisk(from) != onDisk(to))
        throw Error(ErrorCode::NOT_IMPLEMENTED,
                    "Moving tables between databases of different engines is not supported");
    if (onDisk(from)) {
        files_.rename(tableFile(database, name), tableFile(new_database, new_name));
        files_.syncDirectory(parentPath(tableFile(new_database, new_name)));
        if (database != new_database) files_.syncDirectory(parentPath(tableFile(database, name)));
    }
    from.tables.erase(name);
    table->rename(new_database, new_name);
    to.tables[new_name] = std::move(table);
}

void Catalog::exchangeTables(const std::string& database,
                             const std::string& name,
                             const std::string& other_database,
                             const std::string& other_name) {
    const std::lock_guard change(changes_);
    const std::unique_lock lock(mutex_);
    TablePtr one = tableOrFail(database, name);
    TablePtr other = tableOrFail(other_database, other_name);
    Database& place = databaseOrFail(database);
    Database& other_place = databaseOrFail(other_database);
    if (onDisk(place) != onDisk(other_place))
        throw Error(ErrorCode::NOT_IMPLEMENTED,
                    "Moving tables between databases of different engines is not supported");
    if (onDisk(place)) {
        files_.exchange(tableFile(database, name), tableFile(other_database, other_name));
        files_.syncDirectory(parentPath(tableFile(database, name)));
        if (database != other_database)
            files_.syncDirectory(parentPath(tableFile(other_database, other_name)));
    }
    one->rename(other_database, other_name);
    other->rename(database, name);
    place.tables[name] = std::move(other);
    other_place.tables[other_name] = std::move(one);
}

void Catalog::alterTable(const std::string& database,
                         const std::string& name,
                         const TableSchema& schema,
                         const std::string& attach_query) {
    const std::lock_guard change(changes_);
    TablePtr table;
    bool on_disk = false;
    {
        const std::shared_lock lock(mutex_);
        table = tableOrFail(database, name);
        on_disk = onDisk(databaseOrFail(database));
    }
    if (on_disk) files_.replaceFile(tableFile(database, name), attach_query);
    table->alter(schema);
}

// -- start and end --------------------------------------------------------------------------------

void Catalog::finishDrops(bool remove_data) {
    const std::string directory = path_ + "/metadata_dropped";
    for (const auto& entry : files_.list(directory)) {
        const std::string uuid = entry.name.substr(0, entry.name.find('.'));
        if (remove_data) files_.removeRecursively(dataPath(uuid));
        if (!files_.exists(dataPath(uuid))) files_.removeFile(directory + "/" + entry.name);
    }
}

std::vector<StoredTable> Catalog::load() {
    const std::lock_guard change(changes_);
    std::vector<StoredTable> stored;
    if (path_.empty()) return stored;
    const std::string metadata = path_ + "/metadata";
    files_.createDirectories(metadata);
    files_.createDirectories(path_ + "/store");
    files_.syncDirectory(path_);
    const std::string parent = parentPath(path_);
    files_.syncDirectory(!parent.empty() ? parent : path_.starts_with('/') ? "/" : ".");
    finishDrops(true);
    for (const auto& entry : files_.list(metadata)) {
        if (entry.name.ends_with(".tmp")) files_.removeFile(metadata + "/" + entry.name);
        if (entry.is_directory || !entry.name.ends_with(kSqlEnding)) continue;
        const std::string text = files_.readFile(metadata + "/" + entry.name);
        DatabaseInfo info{.name =
                              unescapeFileName(entry.name.substr(0, entry.name.size() - kSqlEnding.size()))};
        info.uuid = uuidInQuery(text);
        if (const size_t at = text.find("ENGINE = "); at != std::string::npos)
            info.engine = text.substr(at + 9, text.find_first_of(" \n", at + 9) - at - 9);
        const std::unique_lock lock(mutex_);
        std::string name = info.name;
        databases_[name].info = std::move(info);
    }
    std::set<std::string> known;
    for (const DatabaseInfo& database : databases()) {
        if (database.in_memory) continue;
        const std::string directory = metadata + "/" + escapeFileName(database.name);
        for (const auto& entry : files_.list(directory)) {
            const std::string file = directory + "/" + entry.name;
            const bool detached = entry.name.ends_with(kDetachedEnding);
            if (entry.name.ends_with(".tmp")) files_.removeFile(file);
            if (!detached && !entry.name.ends_with(kSqlEnding)) continue;
            const size_t ending = detached ? kDetachedEnding.size() : kSqlEnding.size();
            StoredTable table{.database = database.name,
                              .name = unescapeFileName(entry.name.substr(0, entry.name.size() - ending)),
                              .uuid = {},
                              .query = files_.readFile(file)};
            table.uuid = uuidInQuery(table.query);
            known.insert(table.uuid);
            if (detached)
                detached_[{table.database, table.name}] = std::move(table);
            else
                stored.push_back(std::move(table));
        }
    }
    // A CREATE that was stopped before its definition was stored has left a directory without rows.
    for (const auto& group : files_.list(path_ + "/store"))
        for (const auto& table : files_.list(path_ + "/store/" + group.name))
            if (!known.contains(table.name) && !known.contains(""))
                files_.removeRecursively(path_ + "/store/" + group.name + "/" + table.name);
    return stored;
}

void Catalog::shutdown() {
    std::vector<TablePtr> all;
    {
        const std::shared_lock lock(mutex_);
        for (const auto& [name, database] : databases_)
            for (const auto& [table, object] : database.tables) all.push_back(object);
    }
    const auto deadline = std::chrono::steady_clock::now() + kFlushPatience;
    for (const TablePtr& table : all) table->flush(deadline);
    for (const TablePtr& table : all) table->shutdown();
}

}  // namespace shardd::storage
