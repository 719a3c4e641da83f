"""Clusters of our shards and of Debian's clickhouse-server 18.16, asked in one query; either may be the initiator."""
import shutil
import unittest

from tests.support.driver import ask, has_driver
from tests.support.node import Node, client, free_ports, has_clickhouse_client
from tests.support.old_server import Server

COLUMNS = "id UInt64, k String, v Int64, f Float64, d Date, n Nullable(Int32), a Array(UInt8)"
ROWS = ("SELECT toUInt64(number * 2 + {shard}), concat('key', toString(number % 7)), toInt64(number) - 50, number / 4, toDate('2020-01-01') + number % 30, "
        "if(number % 3 = 0, NULL, toInt32(number)), [toUInt8(number % 5), toUInt8(7)] FROM system.numbers LIMIT 200")

#: Answers in an order of their own, so that they can be compared as text.
QUERIES = [
    "SELECT k, count(), sum(v), min(d), max(f) FROM {t} GROUP BY k ORDER BY k",
    "SELECT k, count() AS c FROM {t} WHERE v BETWEEN -10 AND 60 AND k != 'key3' GROUP BY k HAVING c > 5 ORDER BY c DESC, k LIMIT 3",
    "SELECT count(), avg(v), uniq(k), uniqExact(id), sum(n), countIf(v > 0), sumIf(v, k = 'key1'), any(length(k)), argMax(k, id), argMin(id, id) FROM {t}",
    "SELECT quantileExact(0.9)(v), medianExact(f), groupBitOr(id), stddevPop(v) > 1, arraySort(groupUniqArray(k)) FROM {t}",
    "SELECT k, quantile(0.5)(v) > -100, uniqHLL12(id) > 0, groupArray(2)(k), length(groupArray(v)) FROM {t} GROUP BY k ORDER BY k",
    "SELECT v % 2 AS p, toYear(d) AS y, sum(v + 1), sum(toUInt64(5)) FROM {t} GROUP BY p, y ORDER BY p, y",
    "SELECT DISTINCT k FROM {t} ORDER BY k",
    "SELECT id, k FROM {t} ORDER BY id DESC LIMIT 5, 10",
    "SELECT id, k FROM {t} ORDER BY v, id LIMIT 7",
    "SELECT id FROM {t} WHERE id < 20 ORDER BY id",
    "SELECT k, id FROM {t} ORDER BY id LIMIT 1 BY k",
    "SELECT k, count() FROM {t} GROUP BY k WITH TOTALS ORDER BY k",
    "SELECT k, count() FROM {t} GROUP BY k WITH ROLLUP ORDER BY k",
    "SELECT n IS NULL AS is_null, count(), count(n) FROM {t} GROUP BY is_null ORDER BY is_null",
    "SELECT e, count() FROM {t} ARRAY JOIN a AS e GROUP BY e ORDER BY e",
    "SELECT count() FROM {t} WHERE k IN ('key1', 'key2') AND (k, v) NOT IN (('key1', -49), ('key2', -48))",
    "SELECT count() FROM {t} WHERE id GLOBAL IN (SELECT id FROM {t} WHERE v > 100)",
    "SELECT if(v > 0, 'plus', 'minus') AS sign, multiIf(v = 1, 'one', v = 2, 'two', 'many') AS word, count() FROM {t} GROUP BY sign, word ORDER BY sign, word",
    "SELECT count() FROM {t} WHERE d >= toDate('2020-01-15') AND d < '2020-01-20' AND k LIKE 'key%'",
    "SELECT max(c) FROM (SELECT k, count() AS c FROM {t} GROUP BY k)",
    "SELECT sum(x) FROM (SELECT v + 1 AS x FROM {t} WHERE v > 3)",
    "SELECT 1 AS one, count() FROM {t} GROUP BY one",
    "SELECT count() FROM {t} WHERE v = toInt64('17')",
    "SELECT k, max(v) AS m FROM {t} WHERE v > 10 GROUP BY k ORDER BY k",
    "SELECT v + 1 AS v FROM {t} WHERE v > 140 ORDER BY v, id LIMIT 4",
    "SELECT max(n), min(n), avg(n), uniqExact(n), groupArray(1)(id > 0), argMax(k, n) FROM {t} WHERE id > 390",
    "SELECT count() FROM {t}",
    "SELECT sum(v) FROM {t} WHERE 0",
]

#: Of modes 1 and 2, in which shards answer finished rows: the same number of rows from every cluster.
MODE_QUERIES = [
    "SELECT k, count() FROM {t} GROUP BY k",
    "SELECT v % 3 AS m, sum(v) FROM {t} GROUP BY m ORDER BY m",
    "SELECT v + 1 AS v FROM {t} WHERE v > 145 ORDER BY v",
    "SELECT k, count() AS c FROM {t} GROUP BY k HAVING c > 28 ORDER BY c DESC, k LIMIT 4",
    "SELECT k, id FROM {t} WHERE id > 390 ORDER BY id LIMIT 3, 2",
    "SELECT DISTINCT k FROM {t} ORDER BY k",
]


@unittest.skipUnless(has_clickhouse_client() and has_driver() and shutil.which("clickhouse-server"), "clickhouse-server is not installed")
class MixedClusterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.old = Server([]).__enter__()
        ports = free_ports(3)
        shard = "      - replica: {{host: 127.0.0.1, port: {}}}\n".format
        topology = ("remote_servers:\n  ours:\n    shard:\n" + shard(ports[0]) + shard(ports[1]) +
                    "  mixed:\n    shard:\n" + shard(ports[0]) + shard(cls.old.port) +
                    "  old:\n    shard:\n" + shard(cls.old.port))
        cls.shards = [Node(topology, port=port).start() for port in ports[:2]]
        cls.initiator = Node(topology, port=ports[2], name="initiator").start()
        for number, node in ((0, cls.shards[0]), (1, cls.shards[1]), (1, cls.old)):
            client(node, f"CREATE TABLE t ({COLUMNS}) ENGINE = MergeTree ORDER BY id")
            client(node, "INSERT INTO t " + ROWS.format(shard=number))
        for cluster in ("ours", "mixed", "old"):
            client(cls.initiator, f"CREATE TABLE {cluster} ({COLUMNS}) ENGINE = Distributed({cluster}, default, t, id)")

    @classmethod
    def tearDownClass(cls):
        for node in [*cls.shards, cls.initiator]:
            node.__exit__()
        cls.old.__exit__()

    def rows(self, query, table, *options):
        return client(self.initiator, query.format(t=table), *options)

    def test_one_answer_from_both(self):
        for query in QUERIES:
            with self.subTest(query=query):
                self.assertEqual(self.rows(query, "mixed"), self.rows(query, "ours"))

    def test_an_old_shard_alone(self):
        for query in QUERIES:
            with self.subTest(query=query):
                expected = client(self.initiator, query.format(t=f"remote('127.0.0.1:{self.shards[1].port}', default, t)"))
                self.assertEqual(self.rows(query, "old"), expected)

    def test_finished_groups_of_both(self):
        for mode in (1, 2):
            for query in MODE_QUERIES:
                with self.subTest(query=query, mode=mode):
                    option = f"--distributed_group_by_no_merge={mode}"
                    answers = [self.rows(query, table, option).splitlines() for table in ("mixed", "ours")]
                    if mode == 1 or "ORDER BY" not in query:
                        answers = [sorted(rows) for rows in answers]
                    self.assertEqual(*answers)

    def test_window_functions_run_on_the_initiator(self):
        query = "SELECT row_number() OVER (ORDER BY id) AS r, sum(v) OVER (PARTITION BY k ORDER BY id) AS s, id FROM {t} ORDER BY id LIMIT 30"
        self.assertEqual(ask(self.initiator, query.format(t="mixed")), ask(self.initiator, query.format(t="ours")))

    def test_inserts_into_both(self):
        for waits in (0, 1):
            ask(self.initiator, "INSERT INTO mixed (id, k) SELECT number + 1000, 'inserted' FROM numbers(10) "
                f"SETTINGS distributed_foreground_insert = {waits}")
            ask(self.initiator, "SYSTEM FLUSH DISTRIBUTED mixed")
            for number, node in enumerate((self.shards[0], self.old)):
                self.assertEqual(client(node, "SELECT count(), sum(id % 2) FROM t WHERE k = 'inserted'"), f"{5 * (waits + 1)}\t{5 * number * (waits + 1)}\n")
        for node in (self.shards[0], self.old):
            kept = client(node, "SELECT count() FROM t WHERE k != 'inserted'")
            self.assertEqual(kept, "200\n")
            client(node, "DROP TABLE t")
            client(node, f"CREATE TABLE t ({COLUMNS}) ENGINE = MergeTree ORDER BY id")
            client(node, "INSERT INTO t " + ROWS.format(shard=int(node is self.old)))

    def test_what_it_cannot_be_asked_is_told(self):
        failed = ask(self.initiator, "SELECT k, v, count() FROM mixed GROUP BY GROUPING SETS ((k), (v))", check=False)
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn("Code: 48.", failed.stderr.decode())
        self.assertIn("A shard older than 20.1 cannot be asked for GROUPING SETS", failed.stderr.decode())

    def test_the_old_initiator_merges_states_of_both(self):
        with Server([self.shards[0], self.old]) as initiator:
            client(initiator, f"CREATE TABLE d ({COLUMNS}) ENGINE = Distributed(ours, default, t, id)")
            for query in ("SELECT k, count(), sum(v), avg(f), uniq(id), max(d), argMax(k, id) FROM {t} GROUP BY k ORDER BY k",
                          "SELECT quantileExact(0.9)(v), uniqExact(k), groupBitXor(id), sum(n), arraySort(groupUniqArray(a)) FROM {t}"):
                self.assertEqual(client(initiator, query.format(t="d")), self.rows(query, "ours"))


if __name__ == "__main__":
    unittest.main()
