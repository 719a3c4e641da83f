#include "server/storage/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/forgetful_file_system.h"

namespace shardd::storage {
namespace {

using tests::ForgetfulFileSystem;

TableDefinition definition(const std::string& name, const std::string& engine = "MergeTree") {
    TableDefinition made;
    made.schema.database = "default";
    made.schema.name = name;
    made.schema.engine = engine;
    made.schema.uuid = makeUuid();
    made.schema.columns.push_back({.name = "k", .type = types::uint64()});
    made.schema.create_query = "CREATE TABLE default." + name + " (`k` UInt64) ENGINE = " + engine;
    return made;
}

std::string attachQuery(const TableDefinition& made) {
    return "ATTACH TABLE _ UUID '" + made.schema.uuid + "' (`k` UInt64) ENGINE = " + made.schema.engine +
           " COMMENT '" + made.schema.name + "'\n";
}

void create(Catalog& catalog, const std::string& name, const std::string& engine = "MergeTree") {
    TableDefinition made = definition(name, engine);
    const std::string query = attachQuery(made);
    catalog.createTable(std::move(made), query);
}

/// A catalog whose stored tables are back, as the loader makes them.
class Opened {
public:
    explicit Opened(ForgetfulFileSystem& disk) : catalog(disk, {.path = "/d"}) {
        for (const StoredTable& stored : catalog.load()) {
            TableDefinition made = definition(
                stored.name, stored.query.find("Memory") != std::string::npos ? "Memory" : "MergeTree");
            made.schema.database = stored.database;
            made.schema.uuid = stored.uuid;
            // Which table it was when it was made.
            made.schema.comment = stored.query.substr(stored.query.find("COMMENT '") + 9, 1);
            catalog.attachTable(std::move(made));
        }
        catalog.createDatabase({.name = "default"}, true);
    }

    /// "a=a b=a": names of tables, with the name under which each was made.
    std::string tables() {
        std::string text;
        for (const auto& [name, table] : catalog.tables("default"))
            text += (text.empty() ? "" : " ") + name + "=" + table->schema()->comment;
        return text;
    }

    Catalog catalog;
};

int codeOf(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.code();
    }
    return 0;
}

TEST(CatalogTest, SaysWhatClickHouseSays) {
    ForgetfulFileSystem disk;
    Opened opened(disk);
    Catalog& catalog = opened.catalog;
    create(catalog, "a", "Memory");
    EXPECT_EQ(codeOf([&] { create(catalog, "a", "Memory"); }), 57);
    EXPECT_EQ(codeOf([&] { create(catalog, "b", "Nothing"); }), 56);
    EXPECT_EQ(codeOf([&] { catalog.get("default", "x"); }), 60);
    EXPECT_EQ(codeOf([&] { catalog.get("nowhere", "x"); }), 81);
    EXPECT_EQ(codeOf([&] { catalog.dropTable("default", "x"); }), 60);
    EXPECT_EQ(codeOf([&] { catalog.dropDatabase("nowhere"); }), 81);
    EXPECT_EQ(codeOf([&] { catalog.createDatabase({.name = "default"}); }), 82);
    EXPECT_EQ(codeOf([&] { catalog.createDatabase({.name = "d", .engine = "Nothing"}); }), 336);
    EXPECT_EQ(codeOf([&] { catalog.renameTable("default", "a", "nowhere", "a"); }), 81);
    EXPECT_EQ(codeOf([&] { catalog.createTableFunction("nothing", {}); }), 46);
    EXPECT_EQ(catalog.hint("default", "aa"), ". Maybe you meant default.a?");
    EXPECT_EQ(catalog.find("system", "one")->schema()->columns[0].name, "dummy");
    TableDefinition keyed = definition("m", "Memory");
    keyed.schema.sorting_key = "k";
    EXPECT_EQ(codeOf([&] { catalog.createTable(keyed, ""); }), 36);
    TableDefinition argued = definition("m", "Memory");
    argued.arguments.push_back({.text = "1"});
    EXPECT_EQ(codeOf([&] { catalog.createTable(argued, ""); }), 42);
    TableDefinition set = definition("m");
    set.settings = {{"foo", "1"}};
    EXPECT_EQ(codeOf([&] { catalog.createTable(set, ""); }), 115);
}

TEST(CatalogTest, NamesOfAllKindsComeBack) {
    ForgetfulFileSystem disk;
    {
        Opened opened(disk);
        opened.catalog.createDatabase({.name = "a b/ä"});
        TableDefinition made = definition("x.y");
        made.schema.database = "a b/ä";
        const std::string query = attachQuery(made);
        opened.catalog.createTable(std::move(made), query);
        opened.catalog.renameTable("a b/ä", "x.y", "default", "%20");
    }
    disk.crash(ForgetfulFileSystem::Crash::LosePower);
    Opened opened(disk);
    EXPECT_TRUE(opened.catalog.hasDatabase("a b/ä"));
    EXPECT_EQ(opened.tables(), "%20=x");
}

TEST(CatalogTest, ADetachedTableWaitsToBeAttached) {
    ForgetfulFileSystem disk;
    Opened opened(disk);
    create(opened.catalog, "a");
    opened.catalog.detachTable("default", "a", true);
    EXPECT_EQ(codeOf([&] { create(opened.catalog, "a"); }), 57);
    EXPECT_EQ(Opened(disk).tables(), "");
    ASSERT_TRUE(opened.catalog.detachedTable("default", "a"));
    TableDefinition made = definition("a");
    made.schema.uuid = opened.catalog.detachedTable("default", "a")->uuid;
    opened.catalog.attachTable(made);
    EXPECT_EQ(Opened(disk).tables(), "a=a");
}

/// Each statement stopped at each of its changes of the disk: afterwards it has happened, or not at all.
TEST(CatalogTest, AStoppedStatementHasHappenedOrNot) {
    const struct {
        const char* what;
        void (*run)(Catalog&);
        const char* before;
        const char* after;
    } cases[] = {
        {"create", [](Catalog& catalog) { create(catalog, "c"); }, "a=a b=b", "a=a b=b c=c"},
        {"drop", [](Catalog& catalog) { catalog.dropTable("default", "a"); }, "a=a b=b", "b=b"},
        {"rename", [](Catalog& catalog) { catalog.renameTable("default", "a", "default", "z"); }, "a=a b=b",
         "b=b z=a"},
        {"exchange", [](Catalog& catalog) { catalog.exchangeTables("default", "a", "default", "b"); },
         "a=a b=b", "a=b b=a"},
    };

    for (const auto& [what, run, before, after] : cases) {
        for (const auto crash : {ForgetfulFileSystem::Crash::Kill, ForgetfulFileSystem::Crash::LosePower}) {
            for (size_t stop = 1;; ++stop) {
                ForgetfulFileSystem disk;
                bool done = false;
                {
                    Opened opened(disk);
                    create(opened.catalog, "a");
                    create(opened.catalog, "b");
                    disk.stopAt(stop);
                    try {
                        run(opened.catalog);
                        done = true;
                    } catch (const ForgetfulFileSystem::Stopped&) {
                        // as if the power went
                    }
                }
                disk.crash(crash);
                const std::string found = Opened(disk).tables();
                if (done)
                    EXPECT_EQ(found, after) << what << " stopped at " << stop;
                else
                    EXPECT_THAT(found, testing::AnyOf(before, after)) << what << " stopped at " << stop;
                // No data without a table, whenever it stopped.
                size_t directories = 0;
                for (const auto& group : disk.list("/d/store"))
                    directories += disk.list("/d/store/" + group.name).size();
                EXPECT_EQ(directories, static_cast<size_t>(std::count(found.begin(), found.end(), '=')))
                    << what << " stopped at " << stop;
                if (done) break;
            }
        }
    }
}

}  // namespace
}  // namespace shardd::storage
