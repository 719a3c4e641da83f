#include "server/sql/parser.h"

#include <chrono>
#include <fstream>

#include <gtest/gtest.h>

#include "common/base/error.h"
#include "server/sql/column_name.h"
#include "server/sql/printer.h"

namespace shardd::sql {
namespace {

/// Every form a tree is printed in must be read as the same tree.
void expectRoundTrip(const Statement& statement) {
    for (bool multi_line : {false, true}) {
        for (auto quoting : {PrintOptions::Quoting::WhenNeeded, PrintOptions::Quoting::Always}) {
            const std::string text = toText(statement, {multi_line, quoting});
            SCOPED_TRACE(text);
            EXPECT_TRUE(equals(statement, *parseStatement(text)));
        }
    }
}

struct PrintCase {
    std::string_view text, printed;

    friend void PrintTo(const PrintCase& row, std::ostream* out) { *out << row.text; }
};

class ExpressionTest : public testing::TestWithParam<PrintCase> {};

TEST_P(ExpressionTest, PrintsLikeClickHouse) {
    const auto statement = parseStatement("SELECT " + std::string(GetParam().text));
    EXPECT_EQ(toText(*statement), "SELECT " + std::string(GetParam().printed));
    expectRoundTrip(*statement);
}

// The right column is what formatQuerySingleLine of ClickHouse 26.7 answers.
INSTANTIATE_TEST_SUITE_P(
    Precedence,
    ExpressionTest,
    testing::Values(
        PrintCase{"a and b or c, a or b and c", "(a AND b) OR c, a OR (b AND c)"},
        PrintCase{"a + b * c, (a+b)*c, a - (b - c), a - b - c",
                  "a + (b * c), (a + b) * c, a - (b - c), (a - b) - c"},
        PrintCase{"a and b and c, (a and b) and c, a and (b and c)",
                  "a AND b AND c, (a AND b) AND c, a AND (b AND c)"},
        PrintCase{"not a = b, not a is null, not a in (1), not not a",
                  "NOT (a = b), NOT (a IS NULL), NOT (a IN (1)), NOT (NOT a)"},
        PrintCase{"- - a, -a.b, -a[1], -1.5, - 1, -1 + 2, -(1 + 2), 1 - -1",
                  "-(-a), -a.b, -(a[1]), -1.5, -1, -1 + 2, -(1 + 2), 1 - -1"},
        PrintCase{"a between b and c and d, a not between 1 and 2",
                  "((a >= b) AND (a <= c)) AND d, (a < 1) OR (a > 2)"},
        PrintCase{"a between 1 and 2 = 3", "(a >= 1) AND (a <= (2 = 3))"},
        PrintCase{"a = b = c, a < b > c, a is null = 1", "(a = b) = c, (a < b) > c, (a IS NULL) = 1"},
        PrintCase{"a || b + c, a || b || c, (a || b) || c",
                  "concat(a, b + c), concat(a, b, c), concat((concat(a, b)), c)"},
        PrintCase{"a div b + 1, a mod b, a * b div c", "intDiv(a, b) + 1, a % b, intDiv(a * b, c)"},
        PrintCase{"a or b ? c : d", "if(a OR b, c, d)"},
        PrintCase{"x -> x + 1, (x, y) -> x, () -> 1", "x -> (x + 1), (x, y) -> x, () -> 1"},
        PrintCase{"a::Int8::Int16, -a::Int8, a + b::Int8",
                  "CAST(CAST(a, 'Int8'), 'Int16'), -CAST(a, 'Int8'), a + CAST(b, 'Int8')"},
        PrintCase{"t.1.2, t.1, a[1][2], (1, 2).1, [1, 2][1]", "(t.1).2, t.1, (a[1])[2], (1, 2).1, [1, 2][1]"},
        PrintCase{"a <=> b, a is distinct from b, a is not distinct from b",
                  "a <=> b, a IS DISTINCT FROM b, a <=> b"},
        PrintCase{"a is true, a is unknown, a at time zone 'UTC'",
                  "a <=> true, a IS NULL, toTimeZone(a, 'UTC')"}));

INSTANTIATE_TEST_SUITE_P(
    Forms,
    ExpressionTest,
    testing::Values(
        PrintCase{"[1, 2], array(1, 2), (1, 2), tuple(1), (1,), (), [], [a]",
                  "[1, 2], array(1, 2), (1, 2), tuple(1), tuple(1), tuple(), [], [a]"},
        PrintCase{"1::String, -1::Int8, [1,2]::Array(String), null::Nullable(UInt8)",
                  "CAST('1', 'String'), CAST('-1', 'Int8'), CAST('[1,2]', 'Array(String)'), CAST(NULL, "
                  "'Nullable(UInt8)')"},
        PrintCase{"cast(1 as Enum8('a'=1,'b'=-2)), cast(x as Decimal(  9,2 )), cast(a, b)",
                  "CAST(1, 'Enum8(\\'a\\' = 1, \\'b\\' = -2)'), CAST(x, 'Decimal(9, 2)'), CAST(a, b)"},
        PrintCase{"case a when 1 then 2 else 3 end, case when a then b end",
                  "caseWithExpression(a, 1, 2, 3), multiIf(a, b, NULL)"},
        PrintCase{
            "interval 1 + 1 day, interval '1 day 2 hours', interval, a + interval 1 day",
            "toIntervalDay(1 + 1), (toIntervalDay(1), toIntervalHour(2)), interval, a + toIntervalDay(1)"},
        PrintCase{"extract(day from a), extract(a, 'b'), date '2020', timestamp '2020', date(a)",
                  "toDayOfMonth(a), extract(a, 'b'), toDate('2020'), toDateTime('2020'), date(a)"},
        PrintCase{
            "date_add(day, 1, a), dateadd(a, interval 1 day), datediff(day, a, b), dateDiff('day', a, b)",
            "plus(a, toIntervalDay(1)), plus(a, toIntervalDay(1)), dateDiff('day', a, b), dateDiff('day', a, "
            "b)"},
        PrintCase{
            "substring(a from 1 for 2), position(a in b), trim(both 'x' from y), ltrim(a), SUBSTRING(a, 1)",
            "substring(a, 1, 2), position(b, a), trimBoth(y, 'x'), trimLeft(a), substring(a, 1)"},
        PrintCase{"count(distinct a, b), sum(a) filter (where b), quantile(0.5)(a), count(*)",
                  "countDistinct(a, b), sumIf(a, b), quantile(0.5)(a), count(*)"},
        PrintCase{"sum(a) over (partition by b order by c rows between unbounded preceding and 1 following), "
                  "sum(a) over w",
                  "sum(a) OVER (PARTITION BY b ORDER BY c ASC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 "
                  "FOLLOWING), sum(a) OVER w"},
        PrintCase{"first_value(a) ignore nulls over (), first_value(a) respect nulls",
                  "first_value(a) IGNORE NULLS OVER (), first_value(a) RESPECT NULLS"},
        PrintCase{"* except (a, b) replace (c + 1 as c) apply toString, columns('x'), t.*",
                  "* EXCEPT (a, b) REPLACE (c + 1 AS c) APPLY toString, COLUMNS('x'), t.*"},
        PrintCase{"{x:UInt8}, exists(select 1), ((1 as a) + 2), (a + 1 as b)",
                  "{x:UInt8}, exists((SELECT 1)), ((1 AS a) + 2), (a + 1) AS b"},
        PrintCase{"a in (1, 2), a global not in t, a in (select 1), a in (), (a, b) in ((1, 2))",
                  "a IN (1, 2), a GLOBAL NOT IN (t), a IN (SELECT 1), a IN tuple(), (a, b) IN ((1, 2))"},
        PrintCase{"a = any (select 1), a > all (select 1)",
                  "a IN (SELECT 1), a > (SELECT max(*) FROM (SELECT 1))"},
        PrintCase{"1e10, 1.0, 0x10, 123456789012345678901234567890, .5, -0, 1e21, 1.5e-7, inf, -inf, nan",
                  "10000000000., 1., 16, 1.2345678901234568e29, 0.5, 0, 1e21, 1.5e-7, inf, -inf, nan"},
        PrintCase{"'a''b\\n', $$x'y$$, `a``b`, \"c\"", "'a\\'b\\n', 'x\\'y', `a\\`b`, c"},
        PrintCase{"a b, c as `d e`, from t", "a AS b, c AS `d e` FROM t"}));

class StatementTest : public testing::TestWithParam<PrintCase> {};

TEST_P(StatementTest, PrintsLikeClickHouse) {
    const auto statement = parseStatement(GetParam().text);
    EXPECT_EQ(toText(*statement), GetParam().printed);
    expectRoundTrip(*statement);
}

INSTANTIATE_TEST_SUITE_P(
    Select,
    StatementTest,
    testing::Values(
        PrintCase{"select * from t, t2 cross join t3 left join t4 using (a,b) right any join t5 on a=b asof "
                  "join t7 using a global left semi join t8 on 1",
                  "SELECT * FROM t, t2 CROSS JOIN t3 LEFT JOIN t4 USING (a, b) ANY RIGHT JOIN t5 ON a = b "
                  "ASOF INNER JOIN t7 USING (a) GLOBAL SEMI LEFT JOIN t8 ON 1"},
        PrintCase{"select * from t as a final sample 1/10 offset 1/2 array join x as y, z left array join q "
                  "prewhere a where b group by c with totals having d "
                  "window w as (partition by a) qualify e order by f desc nulls first collate 'en', g with "
                  "fill from 1 to 10 step 2 interpolate (a as a+1, b) "
                  "limit 1 by c limit 2 offset 3 settings a=1, b='x', c",
                  "SELECT * FROM t AS a FINAL SAMPLE 1 / 10 OFFSET 1 / 2 ARRAY JOIN x AS y, z LEFT ARRAY "
                  "JOIN q PREWHERE a WHERE b GROUP BY c WITH TOTALS HAVING d "
                  "WINDOW w AS (PARTITION BY a) QUALIFY e ORDER BY f DESC NULLS FIRST COLLATE 'en', g ASC "
                  "WITH FILL FROM 1 TO 10 STEP 2 INTERPOLATE (`a` AS a + 1, `b` AS b) "
                  "LIMIT 1 BY c LIMIT 3, 2 SETTINGS a = 1, b = 'x', c = true"},
        PrintCase{"select distinct on (a) b from t limit 1", "SELECT b FROM t LIMIT 1 BY a LIMIT 1"},
        PrintCase{"select a from t order by a offset 5 rows fetch first 3 rows with ties",
                  "SELECT a FROM t ORDER BY a ASC LIMIT 5, 3  WITH TIES"},
        PrintCase{"select a from t group by grouping sets ((a),(b),(), a) order by all desc limit -1",
                  "SELECT a FROM t GROUP BY GROUPING SETS ((a), (b), (), (a)) ORDER BY ALL DESC LIMIT -1"},
        PrintCase{"select a from t group by rollup(a,b)", "SELECT a FROM t GROUP BY a, b WITH ROLLUP"},
        PrintCase{"with recursive 1 as x, y(a) as materialized (select 1) select x from y",
                  "WITH RECURSIVE 1 AS x, y(a) AS MATERIALIZED (SELECT 1) SELECT x FROM y"},
        PrintCase{"select 1 union all select 2 intersect select 3",
                  "SELECT 1 UNION ALL SELECT 2 INTERSECT SELECT 3"},
        PrintCase{"select 1 union all (select 2 except select 3)",
                  "SELECT 1 UNION ALL ((SELECT 2) EXCEPT (SELECT 3))"},
        PrintCase{"(select 1 union all select 2) intersect select 3",
                  "(SELECT 1 UNION ALL SELECT 2) INTERSECT SELECT 3"},
        PrintCase{"select ((select 1) union all (select 2)), ((select 1) + 1)",
                  "SELECT (SELECT 1 UNION ALL SELECT 2), ((SELECT 1) + 1)"},
        PrintCase{"from t select a", "SELECT a FROM t"},
        PrintCase{"select 1 from remote('a', view(select 1)) as x, (select 2) y",
                  "SELECT 1 FROM remote('a', view(SELECT 1)) AS x, (SELECT 2) AS y"},
        PrintCase{"select 1 into outfile 'x' truncate format TSV settings a=1",
                  "SELECT 1 INTO OUTFILE 'x' TRUNCATE FORMAT TSV SETTINGS a = 1"}));

INSTANTIATE_TEST_SUITE_P(
    Others,
    StatementTest,
    testing::Values(
        PrintCase{"create table if not exists db.t on cluster c (a UInt8 default 1 comment 'x' codec(LZ4, "
                  "Delta(4)) ttl d + interval 1 day, b String materialized toString(a), "
                  "index i (a,b) type bloom_filter(0.01) granularity 3, constraint c1 check a > 1, "
                  "projection p (select a, count() group by a)) engine = MergeTree() "
                  "partition by toYYYYMM(d) order by (a, b) sample by a ttl d + interval 1 month delete "
                  "where a=1 settings index_granularity=1, x='y' comment 'foo'",
                  "CREATE TABLE IF NOT EXISTS db.t ON CLUSTER c (`a` UInt8 DEFAULT 1 COMMENT 'x' CODEC(LZ4, "
                  "Delta(4)) TTL d + toIntervalDay(1), `b` String MATERIALIZED toString(a), "
                  "INDEX i (a, b) TYPE bloom_filter(0.01) GRANULARITY 3, CONSTRAINT c1 CHECK a > 1, "
                  "PROJECTION p (SELECT a, count() GROUP BY a)) ENGINE = MergeTree() "
                  "PARTITION BY toYYYYMM(d) ORDER BY (a, b) SAMPLE BY a TTL d + toIntervalMonth(1) DELETE "
                  "WHERE a = 1 SETTINGS index_granularity = 1, x = 'y' COMMENT 'foo'"},
        PrintCase{"create table t engine=MergeTree order by tuple() as select 1 as a",
                  "CREATE TABLE t ENGINE = MergeTree ORDER BY tuple() AS SELECT 1 AS a"},
        PrintCase{"create table t as db.t2 engine = Memory", "CREATE TABLE t AS db.t2 ENGINE = Memory"},
        PrintCase{"create table t as numbers(10)", "CREATE TABLE t AS numbers(10)"},
        PrintCase{"create materialized view v to db.t (a UInt8) as select 1",
                  "CREATE MATERIALIZED VIEW v TO db.t (`a` UInt8) AS SELECT 1"},
        PrintCase{"create database if not exists d engine=Atomic comment 'x'",
                  "CREATE DATABASE IF NOT EXISTS d ENGINE = Atomic COMMENT 'x'"},
        PrintCase{"attach table t from 'path' (a UInt8) engine=Memory",
                  "ATTACH TABLE t FROM 'path' (`a` UInt8) ENGINE = Memory"},
        PrintCase{"drop table if exists a, b sync", "DROP TABLE IF EXISTS a, b SYNC"},
        PrintCase{"detach table t permanently", "DETACH TABLE t PERMANENTLY"},
        PrintCase{"truncate t", "TRUNCATE TABLE t"},
        PrintCase{"select t.-1, t.-0", "SELECT t.-1, t.0"},
        PrintCase{"select * from view(select 1 except select 2)",
                  "SELECT * FROM view((SELECT 1) EXCEPT (SELECT 2))"},
        PrintCase{"rename table a to b, c to d", "RENAME TABLE a TO b, c TO d"},
        PrintCase{"exchange tables a and b", "EXCHANGE TABLES a AND b"},
        PrintCase{"alter table t add column if not exists a UInt8 default 1 after b, drop column d, modify "
                  "column f String, rename column a to b, delete where a = 1",
                  "ALTER TABLE t (ADD COLUMN IF NOT EXISTS `a` UInt8 DEFAULT 1 AFTER b), (DROP COLUMN d), "
                  "(MODIFY COLUMN `f` String), (RENAME COLUMN a TO b), (DELETE WHERE a = 1)"},
        PrintCase{"alter table t drop partition 1, detach partition '2', attach partition tuple(1), drop "
                  "part 'x', replace partition 1 from t2, move partition 1 to table t2",
                  "ALTER TABLE t (DROP PARTITION 1), (DETACH PARTITION '2'), (ATTACH PARTITION tuple(1)), "
                  "(DROP PART 'x'), (REPLACE PARTITION 1 FROM t2), (MOVE PARTITION 1 TO TABLE t2)"},
        PrintCase{"alter table t update a=1, b=2 in partition 1 where c",
                  "ALTER TABLE t (UPDATE a = 1, b = 2 IN PARTITION 1 WHERE c)"},
        PrintCase{"insert into db.t (a, b) values (1,2)", "INSERT INTO db.t (a, b) FORMAT Values"},
        PrintCase{"insert into function remote('a', b, c) (x) select 1",
                  "INSERT INTO FUNCTION remote('a', b, c) (x) SELECT 1"},
        PrintCase{"desc db.t", "DESCRIBE TABLE db.t"},
        PrintCase{"select * from viewIfPermitted(select name from system.x else null('name String'))",
                  "SELECT * FROM viewIfPermitted(SELECT name FROM system.x ELSE null('name String'))"},
        PrintCase{"desc table view(select k from db.t)", "DESCRIBE TABLE view(SELECT k FROM db.t)"},
        PrintCase{"exists t", "EXISTS TABLE t"},
        PrintCase{"show tables from db not ilike 'x%' limit 3", "SHOW TABLES FROM db NOT ILIKE 'x%' LIMIT 3"},
        PrintCase{"show create t", "SHOW CREATE TABLE t"},
        PrintCase{"show processlist format TSV", "SHOW PROCESSLIST FORMAT TSV"},
        PrintCase{"set a=1, b='x', c=default", "SET a = 1, b = 'x', c = DEFAULT"},
        PrintCase{"use d", "USE d"},
        PrintCase{"kill query where query_id = 'x' sync", "KILL QUERY WHERE query_id = 'x' SYNC"},
        PrintCase{"explain plan header=1, actions=1 select 1", "EXPLAIN header = 1, actions = 1 SELECT 1"},
        PrintCase{"explain distributed select 1", "EXPLAIN DISTRIBUTED SELECT 1"},
        PrintCase{"system flush distributed db.t", "SYSTEM FLUSH DISTRIBUTED db.t"},
        PrintCase{"system drop mark cache", "SYSTEM CLEAR MARK CACHE"},
        PrintCase{"optimize table t partition 1 final deduplicate by a, b",
                  "OPTIMIZE TABLE t PARTITION 1 FINAL DEDUPLICATE BY a, b"},
        PrintCase{"check table t", "CHECK TABLE t"},
        PrintCase{"delete from t where a=1", "DELETE FROM t WHERE a = 1"}));

TEST(PrinterTest, SeveralLines) {
    const auto statement = parseStatement(
        "with y as (select 1) select distinct a, b+1 as c from t as x inner join (select 1 union all select "
        "2) as y on a=b where a in (select 1) "
        "group by a,b with totals order by a desc, b limit 1 by c limit 2");
    EXPECT_EQ(toText(*statement, {.multi_line = true}), R"(WITH y AS
    (
        SELECT 1
    )
SELECT DISTINCT
    a,
    b + 1 AS c
FROM t AS x
INNER JOIN
(
    SELECT 1
    UNION ALL
    SELECT 2
) AS y ON a = b
WHERE a IN (
    SELECT 1
)
GROUP BY
    a,
    b
    WITH TOTALS
ORDER BY
    a DESC,
    b ASC
LIMIT 1 BY c
LIMIT 2)");
    EXPECT_EQ(toText(*parseStatement("create table db.t (a UInt8, b String codec(LZ4)) engine = MergeTree "
                                     "order by (a, b) settings x=1"),
                     {.multi_line = true}),
              R"(CREATE TABLE db.t
(
    `a` UInt8,
    `b` String CODEC(LZ4)
)
ENGINE = MergeTree
ORDER BY (a, b)
SETTINGS x = 1)");
}

TEST(ParserTest, ShardQueriesArePrintedBack) {
    std::ifstream file(SHARDD_TESTS_DIR "/unit/server/sql/shard_queries.txt");
    std::string line;
    size_t queries = 0;
    while (std::getline(file, line)) {
        if (line.empty() || line[0] == '#') continue;
        SCOPED_TRACE(line);
        const auto statement = parseStatement(line);
        EXPECT_EQ(toText(*statement, {.multi_line = false, .quoting = PrintOptions::Quoting::Always}), line);
        expectRoundTrip(*statement);
        ++queries;
    }
    EXPECT_EQ(queries, 142u);
}

struct NameCase {
    std::string_view text, name;

    friend void PrintTo(const NameCase& row, std::ostream* out) { *out << row.text; }
};

class ColumnNameTest : public testing::TestWithParam<NameCase> {};

TEST_P(ColumnNameTest, Name) { EXPECT_EQ(columnName(*parseExpression(GetParam().text)), GetParam().name); }

INSTANTIATE_TEST_SUITE_P(Names,
                         ColumnNameTest,
                         testing::Values(NameCase{"a + 1", "plus(a, 1)"},
                                         NameCase{"count()", "count()"},
                                         NameCase{"count(*)", "count()"},
                                         NameCase{"count(DISTINCT k)", "countDistinct(k)"},
                                         NameCase{"[1, 2]", "[1, 2]"},
                                         NameCase{"array(a, 1)", "[a, 1]"},
                                         NameCase{"tuple(a)", "(a)"},
                                         NameCase{"tu.1", "tupleElement(tu, 1)"},
                                         NameCase{"arrayMap(x -> x + 1, arr)",
                                                  "arrayMap(lambda(tuple(x), plus(x, 1)), arr)"},
                                         NameCase{"CAST(v AS String)", "CAST(v, 'String')"},
                                         NameCase{"'it''s'", "'it\\'s'"},
                                         NameCase{"(a AS b) + 1", "plus(b, 1)"},
                                         NameCase{"a AS b", "b"},
                                         NameCase{"quantile(0.9)(f)", "quantile(0.9)(f)"},
                                         NameCase{"1e3", "1000."},
                                         NameCase{"a AND b AND c", "and(a, b, c)"},
                                         NameCase{"a IN (1)", "in(a, 1)"},
                                         NameCase{"INTERVAL 1 DAY", "toIntervalDay(1)"},
                                         NameCase{"row_number() OVER (PARTITION BY k ORDER BY v)",
                                                  "row_number() OVER (PARTITION BY k ORDER BY v ASC)"},
                                         NameCase{"CASE WHEN a THEN 1 END", "multiIf(a, 1, NULL)"}));

TEST(ColumnNameTest, BeforeTheAnalyzer) {
    ColumnNaming naming;
    naming.brackets = false;
    EXPECT_EQ(columnName(*parseExpression("[a, 1]"), naming), "array(a, 1)");
    EXPECT_EQ(columnName(*parseExpression("[1, 2]"), naming), "[1, 2]");
    EXPECT_EQ(columnName(*parseExpression("(a, 1)"), naming), "tuple(a, 1)");
}

struct ErrorCase {
    std::string text;
    ErrorCode code;
    std::string message;

    friend void PrintTo(const ErrorCase& row, std::ostream* out) { *out << row.text.substr(0, 60); }
};

class ParserErrorTest : public testing::TestWithParam<ErrorCase> {};

TEST_P(ParserErrorTest, Refuses) {
    try {
        parseStatement(GetParam().text);
        FAIL() << "was accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), static_cast<int>(GetParam().code)) << error.message();
        EXPECT_TRUE(error.message().starts_with(GetParam().message)) << error.message();
    }
}

std::string repeat(std::string_view text, size_t times) {
    std::string all;
    for (size_t i = 0; i < times; ++i) all += text;
    return all;
}

INSTANTIATE_TEST_SUITE_P(
    Errors,
    ParserErrorTest,
    testing::Values(
        ErrorCase{"", ErrorCode::SYNTAX_ERROR, "Syntax error: failed at position 1 (end of query): "},
        ErrorCase{"SELECT f(SELECT 1)", ErrorCode::SYNTAX_ERROR, "Syntax error: failed at position 17 (1): 1). "},
        ErrorCase{"TRUNCATE TABLE ''", ErrorCode::SYNTAX_ERROR, "Syntax error: failed at position 16 (''): ''. "},
        ErrorCase{"SELEC 1", ErrorCode::SYNTAX_ERROR,
                  "Syntax error: failed at position 1 (SELEC): SELEC 1. Expected one of: "},
        ErrorCase{"SELECT a b c", ErrorCode::SYNTAX_ERROR,
                  "Syntax error: failed at position 12 (c): c. Expected one of: "},
        ErrorCase{"SELECT 1\nFROM t\nWHERE a b", ErrorCode::SYNTAX_ERROR,
                  "Syntax error: failed at position 25 (b) (line 3, col 9): b. Expected"},
        ErrorCase{"SELECT (1", ErrorCode::SYNTAX_ERROR,
                  "Syntax error: failed at position 8 ((): (1. Unmatched parentheses: ("},
        ErrorCase{"SELECT 'abc", ErrorCode::SYNTAX_ERROR,
                  "Single quoted string is not closed: Syntax error: failed at position 8 ('abc): 'abc. "},
        ErrorCase{"SELECT 1;; SELECT 2", ErrorCode::SYNTAX_ERROR,
                  "Syntax error (Multi-statements are not allowed): failed at position 9 (end of query)"},
        ErrorCase{"SELECT * FROM", ErrorCode::SYNTAX_ERROR,
                  "Syntax error: failed at position 14 (end of query): . Expected one of: "},
        ErrorCase{"SELECT 1 FROM t JOIN t2", ErrorCode::SYNTAX_ERROR,
                  "Syntax error: failed at position 24 (end of query)"},
        ErrorCase{"SELECT 1 FROM t LIMIT 1 WITH TIES", ErrorCode::WITH_TIES_WITHOUT_ORDER_BY,
                  "Can not use WITH TIES"},
        ErrorCase{"SELECT a FROM t FETCH FIRST 1 ROWS ONLY", ErrorCode::OFFSET_FETCH_WITHOUT_ORDER_BY,
                  "Can not use OFFSET FETCH"},
        ErrorCase{"SELECT 1 & 2", ErrorCode::SYNTAX_ERROR, "Unrecognized token: "},
        ErrorCase{"SELECT " + repeat("(", 100000), ErrorCode::TOO_DEEP_RECURSION,
                  "Maximum parse depth (1000) exceeded"},
        ErrorCase{"SELECT " + repeat("[", 100000), ErrorCode::TOO_DEEP_RECURSION, "Maximum parse depth"},
        ErrorCase{"SELECT " + repeat("- ", 100000) + "a", ErrorCode::TOO_DEEP_RECURSION,
                  "Maximum parse depth"},
        ErrorCase{"SELECT " + repeat("NOT ", 60000) + "a", ErrorCode::TOO_DEEP_RECURSION,
                  "Maximum parse depth"},
        ErrorCase{"SELECT " + repeat("interval(", 20000), ErrorCode::TOO_DEEP_RECURSION,
                  "Maximum parse depth"},
        ErrorCase{"SELECT CAST(1 AS " + repeat("Array(", 20000), ErrorCode::TOO_DEEP_RECURSION,
                  "Maximum parse depth"},
        ErrorCase{"SELECT 1" + repeat("+1", 2000), ErrorCode::TOO_DEEP_AST,
                  "AST is too deep. Maximum: 1000."},
        ErrorCase{"SELECT a" + repeat("[1]", 2000), ErrorCode::TOO_DEEP_AST, "AST is too deep"},
        ErrorCase{"SELECT a" + repeat(" BETWEEN 1 AND 2", 100), ErrorCode::TOO_BIG_AST, "AST is too big"},
        ErrorCase{"SELECT '" + repeat("x", 300000) + "'", ErrorCode::SYNTAX_ERROR,
                  "Syntax error: failed at position 262144: Max query size"}));

TEST(ParserTest, EveryPrefixIsAnswered) {
    const std::string text =
        "WITH 1 AS x, y AS (SELECT [1, 'a'][1]) SELECT DISTINCT a.b, count(*) FILTER (WHERE a > 1) OVER "
        "(PARTITION BY b), CAST(1 AS Enum8('a' = 1)), "
        "CASE WHEN a THEN b END, INTERVAL 1 DAY FROM t AS x ARRAY JOIN z LEFT JOIN (SELECT 1) USING (a) "
        "WHERE a BETWEEN 1 AND 2 GROUP BY GROUPING SETS ((a), b) "
        "ORDER BY a WITH FILL FROM 1 LIMIT 1 BY a LIMIT 2 SETTINGS a = 1 FORMAT TSV";
    parseStatement(text);
    for (size_t length = 0; length < text.size(); ++length) {
        try {
            parseStatement(std::string_view(text).substr(0, length));
        } catch (const Error& error) {
            EXPECT_TRUE(error.is(ErrorCode::SYNTAX_ERROR)) << error.message();
        }
    }
}

TEST(ParserTest, NestedAttemptsStayLinear) {
    const auto begin = std::chrono::steady_clock::now();
    for (const std::string& nested : {repeat("interval(", 150) + "1" + repeat(")", 150),
                                      repeat("(interval ", 150) + "1" + repeat(")", 150),
                                      repeat("CAST(", 150) + "1" + repeat(" AS T)", 150),
                                      repeat("((SELECT ", 80) + "1" + repeat("))", 80)}) {
        try {
            parseStatement("SELECT " + nested);
        } catch (const Error&) {
        }
    }
    // Exponential work would take years, not seconds.
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(ParserTest, InlineDataBeginsBehindTheFormat) {
    struct Row {
        std::string_view text, data;
        bool has_data;
    };

    for (const Row& row :
         {Row{"INSERT INTO t VALUES (1, 'a;b'), (2, 'c')", " (1, 'a;b'), (2, 'c')", true},
          Row{"INSERT INTO t FORMAT CSV\n1,2\n", "1,2\n", true},
          Row{"INSERT INTO t FORMAT TSV  \r\n\n1", "\n1", true},
          Row{"INSERT INTO t (k, v) VALUES", "", false}, Row{"INSERT INTO t FORMAT Native", "", false},
          Row{"INSERT INTO t FORMAT JSONEachRow {\"a\": '}", "{\"a\": '}", true}}) {
        SCOPED_TRACE(row.text);
        const auto statement = parseStatement(row.text);
        const auto* insert = as<Insert>(statement);
        ASSERT_TRUE(insert);
        EXPECT_EQ(row.text.substr(insert->data_begin), row.data);
        EXPECT_EQ(insert->has_data, row.has_data);
    }
}

TEST(ParserTest, SplitsStatements) {
    const auto statements =
        parseStatements(" SELECT 1; ;SELECT ';' ;\n-- end\n INSERT INTO t VALUES (1); (2)");
    ASSERT_EQ(statements.size(), 3u);
    EXPECT_EQ(toText(*statements[1]), "SELECT ';'");
    EXPECT_EQ(as<Insert>(statements[2])->has_data, true);
    EXPECT_TRUE(parseStatements(" ; -- nothing").empty());
}

TEST(ParserTest, ReadsPieces) {
    EXPECT_EQ(toText(*parseExpression("cityHash64(a, b) % 4")), "cityHash64(a, b) % 4");
    EXPECT_EQ(parseExpressionList("a, b + 1").size(), 2u);
    const auto columns = parseColumns("a UInt8, b Array(Tuple(x Int8, y String)) DEFAULT [], c.d String");
    ASSERT_EQ(columns.size(), 3u);
    EXPECT_EQ(columns[1].type, "Array(Tuple(x Int8, y String))");
    EXPECT_EQ(columns[2].name, "c.d");
    EXPECT_THROW(parseExpression("a b"), Error);
    EXPECT_THROW(parseColumns("a UInt8,"), Error);
}

TEST(EqualityTest, SpellingDoesNotMatter) {
    EXPECT_TRUE(equals(parseExpression("(a + 1)"), parseExpression("plus(a, 1)")));
    EXPECT_TRUE(equals(parseExpression("`a` == 'x'"), parseExpression("equals(a, 'x')")));
    EXPECT_FALSE(equals(parseExpression("a + 1"), parseExpression("a + 1.")));
    EXPECT_FALSE(equals(parseExpression("a AS b"), parseExpression("a")));
    EXPECT_TRUE(equals(parseExpression("nan"), parseExpression("NaN")));
}

}  // namespace
}  // namespace shardd::sql
