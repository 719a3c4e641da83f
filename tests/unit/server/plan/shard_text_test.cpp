#include "server/plan/shard_text.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "server/plan/binder.h"
#include "server/plan/planner.h"
#include "tests/unit/server/plan/fake_tables.h"

namespace shardd::plan {
namespace {

struct Entry {
    std::string name, query, stage, text, columns;
};

std::vector<Entry> readEntries() {
    std::ifstream file(SHARDD_TESTS_DIR "/unit/server/plan/shard_texts.txt");
    std::vector<Entry> entries;
    std::vector<std::string> lines;
    std::string line;
    while (std::getline(file, line)) {
        if (!line.empty() && line[0] == '#') continue;
        if (!line.empty()) lines.push_back(line);
        if (lines.size() < 5) continue;
        entries.push_back({lines[0], lines[1], lines[2], lines[3], lines[4]});
        lines.clear();
    }
    return entries;
}

std::string describe(const Block& header) {
    std::string text;
    for (const NamedColumn& column : header.columns) {
        if (!text.empty()) text += "; ";
        text += "`" + column.name + " " + column.type->name() + "`";
    }
    return text;
}

/// A shard's columns are found by their names: their order is not ours to promise.
std::vector<std::string> sorted(const std::string& description) {
    std::vector<std::string> columns;
    for (size_t begin = 0; begin < description.size();) {
        const size_t end = std::min(description.find("; ", begin), description.size());
        columns.push_back(description.substr(begin, end - begin));
        begin = end + 2;
    }
    std::sort(columns.begin(), columns.end());
    return columns;
}

/// Entries that are not compared, and why.
constexpr std::string_view kLeftOut[] = {
    // Another text of the same meaning: no subcolumns, no optimisations that the shard makes itself, names of
    // ARRAY JOIN, IS NULL for isNull(), tuples in parentheses, NULL and Bool written with their types.
    "lambda",
    "arrjoin",
    "neg",
    "negagg",
    "dtexpr",
    "nullsafe",
    "tuplein",
    // The file escapes backquotes and backslashes of names once more than a block does.
    "emoji",
    "regexp",
    // The tables of these tests have no table functions, no samples, and nobody who runs subqueries.
    "gin",
    "join_g",
    "join_l",
    "sample",
    "scalar",
    "exists",
    // Without ORDER BY and LIMIT mode 2 leaves nothing to the initiator: stage 2, the same rows.
    "m2",
    // A constant of WITH inside a later query of the same WITH is not found yet.
    "withcte",
};

PlannerContext context() {
    const std::vector<uint32_t> two = {1, 1};
    return fakeContext(
        {{"t", FakeTable("t", "k String, v UInt64").sharded(two)},
         {"wide",
          FakeTable(
              "wide",
              "id UInt64, k String, v UInt64, f Float64, d Date, dt DateTime, dt64 DateTime64(3, 'UTC'), "
              "lc LowCardinality(String), n Nullable(Int32), arr Array(UInt32), e Enum8('a' = 1, 'b' = 2), "
              "dec Decimal(18, 4), u UUID, ip IPv4, fs FixedString(4), m Map(String, UInt64), i Int32, b "
              "Bool, "
              "tu Tuple(a UInt8, b String)")
              .sharded(two)}});
}

TEST(ShardTextTest, WhatAnInitiatorSends) {
    const auto entries = readEntries();
    EXPECT_FALSE(entries.empty());
    for (const Entry& entry : entries) {
        SCOPED_TRACE(entry.name + ": " + entry.query);
        if (std::find(std::begin(kLeftOut), std::end(kLeftOut), entry.name) != std::end(kLeftOut)) continue;
        try {
            const PlannerContext planner = context();
            const QueryPlan plan = planTopLevel(bindQuery(*sql::parseQuery(entry.query), planner), planner);
            ASSERT_GE(plan.distributed.size(), 1U);  // each branch of a UNION has its own
            const storage::RemoteQuery& sent = plan.distributed[0].query;
            EXPECT_EQ(sent.text, entry.text);
            EXPECT_EQ(std::to_string(static_cast<int>(sent.stage)), entry.stage);
            EXPECT_EQ(sorted(describe(sent.header)), sorted(entry.columns));
        } catch (const Error& error) {
            ADD_FAILURE() << error.code() << " " << error.message();
        }
    }
}

/// The text for shards of a query over d (of which shards have t) and another sharded table inside.
std::string textUnder(const std::string& mode, const std::string& query) {
    PlannerContext planner = fakeContext({{"d", FakeTable("d", "k String, v UInt64").remoteName("t").sharded({1, 1})}});
    planner.settings.set("distributed_product_mode", mode);
    return planTopLevel(bindQuery(*sql::parseQuery(query), planner), planner).distributed.back().query.text;
}

TEST(ShardTextTest, ProductModes) {
    const std::string query = "SELECT count() FROM d WHERE k IN (SELECT k FROM d)";
    const std::string begin = "SELECT count() AS `count()` FROM `db`.`t` AS `__table1` WHERE `__table1`.`k` ";
    EXPECT_EQ(textUnder("local", query), begin + "IN (SELECT `__table2`.`k` AS `k` FROM `db`.`t` AS `__table2`)");
    // The shard has a table d of its own.
    EXPECT_EQ(textUnder("allow", query), begin + "IN (SELECT `__table2`.`k` AS `k` FROM `db`.`d` AS `__table2`)");
    EXPECT_TRUE(textUnder("global", query).starts_with(begin + "GLOBAL IN (`_data_")) << textUnder("global", query);
    try {
        textUnder("deny", query);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), 288);
    }
}

/// The WHERE of what each of two shards is sent of a table with sharding key `key`.
std::vector<std::string> filtersOf(const std::string& key, const std::string& query, const std::string& settings = "") {
    const PlannerContext planner = fakeContext({{"d", FakeTable("d", "k UInt64, v UInt64").sharded({1, 1}, key)}});
    const std::string text = query + " SETTINGS optimize_skip_unused_shards = 1" + settings;
    const QueryPlan plan = planTopLevel(bindQuery(*sql::parseQuery(text), planner), planner);
    std::vector<std::string> filters;
    for (size_t shard = 0; shard < 2; ++shard) {
        const std::string& sent = plan.distributed.at(0).query.textFor(shard);
        const size_t where = sent.find("WHERE ");
        const size_t end = sent.find(" GROUP BY");
        filters.push_back(where == std::string::npos ? "" : sent.substr(where + 6, end - where - 6));
    }
    return filters;
}

TEST(ShardTextTest, ListsAreCut) {
    struct Row {
        const char* key;
        const char* filter;
        const char* first;
        const char* second;
    };

    const Row rows[] = {
        {"k", "k IN (1, 2, 3)", "`__table1`.`k` IN (2)", "`__table1`.`k` IN (1, 3)"},
        {"k", "k IN (1, 3) OR k = 2", "(`__table1`.`k` IN (3)) OR (`__table1`.`k` = 2)", "(`__table1`.`k` IN (1, 3)) OR (`__table1`.`k` = 2)"},
        {"k", "k IN (1, 2, 3) AND NOT (k IN (1, 2))", "(`__table1`.`k` IN (2)) AND (NOT (`__table1`.`k` IN (2)))",
         "(`__table1`.`k` IN (1, 3)) AND (NOT (`__table1`.`k` IN (1)))"},
        {"intDiv(k, 2)", "k IN (1, 2, 3, 4)", "`__table1`.`k` IN (1, 4)", "`__table1`.`k` IN (2, 3)"},
        {"k", "k IN (1, 2) AND v IN (1, 2)", "(`__table1`.`k` IN (2)) AND (`__table1`.`v` IN (1, 2))",
         "(`__table1`.`k` IN (1)) AND (`__table1`.`v` IN (1, 2))"},
        // Not the key alone, not IN, or nothing that pins the key.
        {"k + v", "k IN (1, 2) AND v = 1", "(`__table1`.`k` IN (1, 2)) AND (`__table1`.`v` = 1)", "(`__table1`.`k` IN (1, 2)) AND (`__table1`.`v` = 1)"},
        {"k", "k IN (1, 2) AND k NOT IN (1, 2)", "(`__table1`.`k` IN (2)) AND (`__table1`.`k` NOT IN (1, 2))",
         "(`__table1`.`k` IN (1)) AND (`__table1`.`k` NOT IN (1, 2))"},
        {"k", "k IN (1, 2) OR v = 1", "(`__table1`.`k` IN (1, 2)) OR (`__table1`.`v` = 1)", "(`__table1`.`k` IN (1, 2)) OR (`__table1`.`v` = 1)"},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.filter);
        const std::string query = std::string("SELECT v, count() FROM d WHERE ") + row.filter + " GROUP BY v";
        EXPECT_EQ(filtersOf(row.key, query), (std::vector<std::string>{row.first, row.second}));
    }
    const std::vector<std::string> whole(2, "`__table1`.`k` IN (1, 2)");
    const std::string query = "SELECT v, count() FROM d WHERE k IN (1, 2) GROUP BY v";
    EXPECT_EQ(filtersOf("k", query, ", optimize_skip_unused_shards_rewrite_in = 0"), whole);
    EXPECT_EQ(filtersOf("k", query, ", optimize_skip_unused_shards_limit = 1"), whole);
}

/// For servers of 18.16's time: a whole query whose columns are what the stage asks for.
TEST(ShardTextTest, WhatAnOldShardIsSent) {
    struct Row {
        const char* query;
        const char* text;
    };

    const Row rows[] = {
        {"SELECT k, sum(v + 1) AS s FROM t WHERE v > toUInt64(300) GROUP BY k HAVING s > 2 ORDER BY s LIMIT "
         "3",
         "SELECT `__table1`.`k` AS `__table1.k`, sumState(`__table1`.`v` + 1) AS `sum(plus(__table1.v, "
         "1_UInt8))` "
         "FROM `db`.`t` AS `__table1` WHERE `__table1`.`v` > CAST(300, 'UInt64') GROUP BY `__table1`.`k`"},
        {"SELECT quantile(0.9)(v), count() FROM t",
         "SELECT quantileState(0.9)(`__table1`.`v`) AS `quantile(0.9_Float64)(__table1.v)`, countState() AS "
         "`count()` "
         "FROM `db`.`t` AS `__table1`"},
        {"SELECT k FROM t ORDER BY v DESC LIMIT 2, 5",
         "SELECT `__table1`.`k` AS `__table1.k`, `__table1`.`v` AS `__table1.v` FROM `db`.`t` AS `__table1` "
         "ORDER BY `__table1`.`v` DESC LIMIT 7"},
        {"SELECT v + 1 AS v FROM t WHERE v > 3 LIMIT 2, 5 SETTINGS distributed_group_by_no_merge = 1",
         "SELECT `__column1` AS `v` FROM (SELECT `__table1`.`v` + 1 AS `__column1` FROM `db`.`t` AS "
         "`__table1` "
         "WHERE (`__table1`.`v` + 1) > 3 LIMIT 2, 5)"},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.query);
        const PlannerContext planner = context();
        const QueryPlan plan = planTopLevel(bindQuery(*sql::parseQuery(row.query), planner), planner);
        EXPECT_EQ(plan.distributed.at(0).query.legacy(0).text, row.text);
    }
    const PlannerContext planner = context();
    const QueryPlan plan = planTopLevel(
        bindQuery(*sql::parseQuery("SELECT k, v FROM t GROUP BY GROUPING SETS ((k), (v))"), planner),
        planner);
    EXPECT_THROW(plan.distributed.at(0).query.legacy(0), Error);
}

}  // namespace
}  // namespace shardd::plan
