"""Debian's clickhouse-client against one daemon and against a cluster."""
import unittest

from tests.support.cluster import NAME, Cluster
from tests.support.node import Node, client, has_clickhouse_client


@unittest.skipUnless(has_clickhouse_client(), "clickhouse-client is not installed")
class OneNodeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = Node().start()

    @classmethod
    def tearDownClass(cls):
        cls.node.__exit__()

    def ask(self, query, *options, **more):
        return client(self.node, query, *options, **more)

    def code(self, query):
        done = client(self.node, query, check=False)
        return done.returncode

    def test_select(self):
        self.assertEqual(self.ask("SELECT 1"), "1\n")
        self.assertEqual(self.ask("SELECT number, toString(number) FROM numbers(3)"), "0\t0\n1\t1\n2\t2\n")
        self.assertEqual(self.ask("SELECT 'a' AS x WHERE 0"), "")

    def test_group_by(self):
        self.assertEqual(
            self.ask("SELECT number % 3 AS k, count(), sum(number), min(number), max(number), avg(number) FROM "
                     "numbers(100) GROUP BY k ORDER BY k"),
            "0\t34\t1683\t0\t99\t49.5\n1\t33\t1617\t1\t97\t49\n2\t33\t1650\t2\t98\t50\n")

    def test_errors_have_clickhouse_codes(self):
        self.assertEqual(self.code("SELEC 1"), 62)
        self.assertEqual(self.code("SELECT nosuch"), 47)
        self.assertEqual(self.code("SELECT * FROM nosuch"), 60)
        self.assertEqual(self.code("SELECT nosuch(1)"), 46)
        self.assertEqual(self.code("SELECT * FROM nodb.t"), 81)

    def test_tables_survive_a_restart(self):
        self.ask("CREATE TABLE kept (k UInt32, s String, d Date DEFAULT '2020-02-02') ENGINE = MergeTree ORDER BY k")
        self.ask("INSERT INTO kept (k, s) FORMAT TabSeparated", input_bytes=b"2\tb\n1\ta\n")
        self.ask("INSERT INTO kept SELECT number + 10, toString(number), '2021-01-01' FROM numbers(2)")
        rows = "1\ta\t2020-02-02\n2\tb\t2020-02-02\n10\t0\t2021-01-01\n11\t1\t2021-01-01\n"
        self.assertEqual(self.ask("SELECT * FROM kept ORDER BY k"), rows)
        self.assertEqual(self.node.stop(), 0)
        self.node.start()
        self.assertEqual(self.ask("SELECT * FROM kept ORDER BY k"), rows)
        self.assertIn("ENGINE = MergeTree", self.ask("SHOW CREATE TABLE kept"))
        self.ask("DROP TABLE kept")
        self.assertEqual(self.code("SELECT * FROM kept"), 60)

    def test_definitions(self):
        self.ask("CREATE DATABASE d1")
        self.assertEqual(self.code("CREATE DATABASE d1"), 82)
        self.ask("CREATE TABLE d1.t (a UInt8, b String) ENGINE = Memory")
        self.assertEqual(self.code("CREATE TABLE d1.t (a UInt8) ENGINE = Memory"), 57)
        self.assertEqual(self.code("CREATE TABLE d1.u (a UInt8) ENGINE = Nonsense"), 56)
        self.assertEqual(self.ask("SHOW TABLES FROM d1"), "t\n")
        self.assertEqual(self.ask("EXISTS TABLE d1.t"), "1\n")
        self.assertEqual(self.ask("DESCRIBE TABLE d1.t"), "a\tUInt8\t\t\t\t\t\nb\tString\t\t\t\t\t\n")
        self.ask("RENAME TABLE d1.t TO d1.v")
        self.assertEqual(self.ask("SHOW CREATE TABLE d1.v", "--format=TSVRaw"),
                         "CREATE TABLE d1.v\n(\n    `a` UInt8,\n    `b` String\n)\nENGINE = Memory\n")
        self.ask("DROP DATABASE d1")
        self.assertEqual(self.code("USE d1"), 81)

    def test_settings(self):
        self.assertEqual(self.ask("SELECT value, changed FROM system.settings WHERE name = 'max_block_size'",
                                  "--max_block_size=7"), "7\t1\n")
        self.assertEqual(self.code("SELECT 1 SETTINGS max_threads = 'abc'"), 27)
        self.assertEqual(self.ask("SELECT getSetting('max_block_size') SETTINGS max_block_size = 5"), "5\n")

    def test_system_tables_answer(self):
        self.assertEqual(self.ask("SELECT count() FROM system.one"), "1\n")
        self.assertEqual(self.ask("SELECT count() > 1000 FROM system.settings"), "1\n")
        self.assertEqual(self.ask("SELECT name FROM system.databases WHERE name IN ('default', 'system') ORDER BY name"),
                         "default\nsystem\n")
        names = self.ask("SELECT name FROM system.tables WHERE database = 'system'").split()
        for name in names:
            if name not in ("numbers", "numbers_mt", "zeros", "zeros_mt"):
                self.ask(f"SELECT count() FROM system.{name}")
        self.assertIn("SELECT query FROM system.processes", self.ask("SELECT query FROM system.processes"))

    def test_limits(self):
        done = client(self.node, "SELECT sum(number) FROM numbers(100000000000) SETTINGS max_execution_time = 0.2", check=False)
        self.assertEqual(done.returncode, 159)
        done = client(self.node, "SELECT groupArray(number) FROM numbers(100000000) SETTINGS max_memory_usage = '10M'", check=False)
        self.assertEqual(done.returncode, 241)
        self.assertEqual(self.ask("SELECT 1"), "1\n")


@unittest.skipUnless(has_clickhouse_client(), "clickhouse-client is not installed")
class ClusterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().__enter__()
        cls.cluster.everywhere("CREATE TABLE local (k UInt32, v UInt64) ENGINE = MergeTree ORDER BY k")
        cls.cluster.ask(f"CREATE TABLE dist (k UInt32, v UInt64) ENGINE = Distributed({NAME}, default, local, k)")
        rows = b"".join(b"%d\t%d\n" % (i % 100, i) for i in range(1000))
        client(cls.cluster.initiator, "INSERT INTO dist FORMAT TabSeparated", "--insert_distributed_sync=1", input_bytes=rows)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def test_rows_are_routed_by_the_sharding_key(self):
        for number, shard in enumerate(self.cluster.shards):
            self.assertEqual(client(shard, "SELECT DISTINCT k % 3 FROM local"), f"{number}\n")
        self.assertEqual(self.cluster.ask("SELECT count() FROM dist"), "1000\n")

    def test_the_three_modes(self):
        query = "SELECT k, count(), sum(v) FROM dist GROUP BY k ORDER BY k LIMIT 2"
        merged = "0\t10\t4500\n1\t10\t4510\n"
        self.assertEqual(self.cluster.ask(query), merged)
        self.assertEqual(self.cluster.ask(query, "--distributed_group_by_no_merge=2"), merged)
        outer = "SELECT count(), sum(c), sum(s) FROM (SELECT k, count() AS c, sum(v) AS s FROM dist GROUP BY k)"
        self.assertEqual(self.cluster.ask(outer, "--distributed_group_by_no_merge=1"), "100\t1000\t499500\n")

    def test_a_group_on_every_shard_is_answered_by_every_shard(self):
        rows = self.cluster.ask("SELECT count() FROM dist", "--distributed_group_by_no_merge=1").split()
        self.assertEqual(sorted(int(row) for row in rows), [330, 330, 340])

    def test_clusters_are_shown(self):
        self.assertEqual(self.cluster.ask(f"SELECT count() FROM system.clusters WHERE cluster = '{NAME}'"), "3\n")
        self.assertEqual(self.cluster.ask("SELECT count() FROM cluster('test', default.local)"), "1000\n")


if __name__ == "__main__":
    unittest.main()
