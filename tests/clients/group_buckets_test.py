"""Mode 0 between our own nodes: many groups travel bucket by bucket, and the initiator never holds them all."""
import unittest

from tests.support.cluster import Cluster
from tests.support.node import Node, client, free_ports, has_clickhouse_client

try:
    from clickhouse_driver.errors import ServerException

    from tests.support.packets import ask
except ImportError:
    ask = None

SHARDS = 3
ROWS = 300_000  # of each shard; half of its groups are on the next shard too
BUCKETS = 256
MEMORY = 30_000_000
KEYS = [
    ["k"],
    ["toString(k)"],
    ["toLowCardinality(toString(k))"],
    ["if(k % 1000 = 0, NULL, k)"],
    ["k % 1000", "toString(intDiv(k, 1000))"],
    ["toUInt8(k % 251)", "toUInt64(intDiv(k, 251))"],
    ["if(k % 7 = 0, -0., if(k % 7 = 1, nan, k / 3))"],
    ["[toString(k)]"],
    ["k", "k + 1"],
]
ONE_BY_ONE = "distributed_aggregation_memory_efficient = 1"
ALL_AT_ONCE = "distributed_aggregation_memory_efficient = 0"


@unittest.skipIf(ask is None or not has_clickhouse_client(), "clickhouse-client or its Python driver is not installed")
class GroupBucketsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(SHARDS).__enter__()
        cls.addClassCleanup(cls.cluster.__exit__)
        for number, shard in enumerate(cls.cluster.shards):
            client(shard, "CREATE TABLE t (k UInt64, v UInt32) ENGINE = MergeTree ORDER BY k")
            client(shard, f"INSERT INTO t SELECT number + {number * ROWS // 2}, number % 10 FROM numbers({ROWS})")
            # A table over the same shards, on every shard: what asks it is an initiator and a shard.
            client(shard, "CREATE TABLE between (k UInt64, v UInt32) ENGINE = Distributed(test, default, t)")
        cls.cluster.ask("CREATE TABLE d (k UInt64, v UInt32) ENGINE = Distributed(test, default, t)")
        cls.cluster.ask("CREATE TABLE nested (k UInt64, v UInt32) ENGINE = Distributed(test, default, between)")

    def ask(self, query, *settings):
        return ask(self.cluster.initiator, query + (" SETTINGS " + ", ".join(settings) if settings else ""))

    def groups(self, keys, table, *settings):
        """All groups as a few numbers, and the blocks that the shards sent."""
        columns = ", ".join(f"{key} AS key{i}" for i, key in enumerate(keys))
        names = ", ".join(f"key{i}" for i in range(len(keys)))
        texts = ", ".join(f"toString(key{i})" for i in range(len(keys)))
        inner = f"SELECT {columns}, count() AS c, sum(v) AS s, uniqExact(v) AS u FROM {table} GROUP BY {names}"
        answer = self.ask(f"SELECT count(), sum(c), sum(s), sum(u), sum(cityHash64({texts})) FROM ({inner})", *settings)
        return answer.rows[0], answer.event("ShardBlocks")

    def test_the_groups_are_the_same(self):
        for keys in KEYS:
            with self.subTest(keys=keys):
                at_once, few = self.groups(keys, "d", ALL_AT_ONCE)
                self.assertEqual(at_once[1], SHARDS * ROWS)
                for threads in (1, 3):
                    one_by_one, many = self.groups(keys, "d", ONE_BY_ONE, f"max_threads = {threads}")
                    self.assertEqual(one_by_one, at_once)
                if keys[-1] != "k + 1":  # keys that follow from others have no buckets
                    self.assertEqual(many, SHARDS * BUCKETS)
                self.assertNotEqual(few, SHARDS * BUCKETS)

    def test_finished_groups_united_here(self):
        """Mode 1, and the groups of all shards grouped again."""
        united = self.ask("SELECT count(), sum(c), sum(s) FROM (SELECT k, sum(c) AS c, sum(s) AS s FROM (SELECT k, count() AS c, sum(v) AS s "
                          "FROM d GROUP BY k SETTINGS distributed_group_by_no_merge = 1) GROUP BY k)").rows
        merged = self.ask("SELECT count(), sum(c), sum(s) FROM (SELECT k, count() AS c, sum(v) AS s FROM d GROUP BY k)").rows
        self.assertEqual(merged, united)
        self.assertEqual(merged[0][0], ROWS * (SHARDS + 1) // 2)

    def test_few_groups_have_no_buckets(self):
        few, blocks = self.groups(["k % 50000"], "d", "max_threads = 1")
        self.assertEqual(few[0], 50000)
        self.assertLess(blocks, SHARDS * BUCKETS)
        _, blocks = self.groups(["k % 50000"], "d", "group_by_two_level_threshold = 40000")
        self.assertEqual(blocks, SHARDS * BUCKETS)
        _, blocks = self.groups(["k"], "d", "group_by_two_level_threshold = 0", "group_by_two_level_threshold_bytes = 0")
        self.assertNotEqual(blocks, SHARDS * BUCKETS)

    def test_clauses_over_the_groups(self):
        for query in ("SELECT k, count() AS c FROM d GROUP BY k HAVING c > 1 AND k % 1000 = 7 ORDER BY k",
                      "SELECT k, sum(v) AS s, count() FROM d GROUP BY k ORDER BY s DESC, k LIMIT 10",
                      "SELECT k % 150000 AS m, uniq(v) FROM d GROUP BY m WITH TOTALS HAVING m < 5 ORDER BY m",
                      "SELECT k % 150000 AS m, v % 2 AS o, count() FROM d GROUP BY m, o WITH ROLLUP HAVING m < 2 ORDER BY m, o",
                      "SELECT count() FROM (SELECT k, v, count() FROM d GROUP BY GROUPING SETS ((k), (v), (k, v)))",
                      "SELECT DISTINCT c FROM (SELECT k, count() AS c FROM d GROUP BY k) ORDER BY c"):
            with self.subTest(query=query):
                one_by_one, at_once = self.ask(query, ONE_BY_ONE), self.ask(query, ALL_AT_ONCE)
                self.assertEqual((one_by_one.rows, one_by_one.totals), (at_once.rows, at_once.totals))
                self.assertTrue(one_by_one.rows)

    def test_rows_of_keys_beyond_the_maximum(self):
        """Every shard keeps some groups and one row of the others: all rows are in the totals."""
        settings = ("max_rows_to_group_by = 120000", "group_by_overflow_mode = 'any'", "totals_mode = 'after_having_inclusive'")
        answer = self.ask("SELECT k, count() AS c FROM d GROUP BY k WITH TOTALS", *settings)
        self.assertEqual(answer.totals, (0, SHARDS * ROWS))
        self.assertLess(sum(c for _, c in answer.rows), SHARDS * ROWS)
        self.assertEqual(len({k for k, _ in answer.rows}), len(answer.rows))

    def test_nested(self):
        """A shard that is an initiator passes states on as it gets them."""
        groups, blocks = self.groups(["k"], "nested", "max_distributed_depth = 5")
        expected, _ = self.groups(["k"], "d")
        self.assertEqual(groups[:3], (expected[0], SHARDS * expected[1], SHARDS * expected[2]))
        self.assertEqual(blocks, SHARDS * BUCKETS)

    def test_from_the_disk(self):
        spilling = ("max_bytes_before_external_group_by = 4000000", "max_bytes_ratio_before_external_group_by = 0")
        expected, _ = self.groups(["toString(k)"], "d")
        self.assertEqual(self.groups(["toString(k)"], "d", *spilling), (expected, SHARDS * BUCKETS))

    def test_the_initiators_memory(self):
        """What it may take is not enough for all groups, and plenty for a few buckets."""
        replicas = "".join(f"      - replica: {{host: 127.0.0.1, port: {shard.port}}}\n" for shard in self.cluster.shards)
        topology = "remote_servers:\n  test:\n    shard:\n" + replicas
        query = ("SELECT count() FROM (SELECT toString(k) AS t, count(), sum(v), avg(v) FROM cluster('test', default.t) GROUP BY t) "
                 "SETTINGS max_bytes_ratio_before_external_group_by = 0, max_threads = 2, ")
        with Node(topology + f"max_server_memory_usage: {MEMORY}\n", name="small") as small:
            self.assertEqual(ask(small, query + ONE_BY_ONE).rows, [(ROWS * (SHARDS + 1) // 2,)])
            with self.assertRaises(ServerException) as caught:
                ask(small, query + ALL_AT_ONCE)
            self.assertEqual(caught.exception.code, 241)


@unittest.skipIf(ask is None or not has_clickhouse_client(), "clickhouse-client or its Python driver is not installed")
class OwnPartTest(unittest.TestCase):
    """A node that is one of the shards itself: its part needs no socket and comes by bucket all the same."""

    def test_a_replica_in_the_process(self):
        ports = free_ports(2)
        replicas = "".join(f"      - replica: {{host: 127.0.0.1, port: {port}}}\n" for port in ports)
        nodes = [Node("remote_servers:\n  both:\n    shard:\n" + replicas, port=port) for port in ports]
        with nodes[0] as asked, nodes[1] as other:
            for number, node in enumerate((asked, other)):
                client(node, "CREATE TABLE t (k UInt64) ENGINE = MergeTree ORDER BY k")
                client(node, f"INSERT INTO t SELECT number * 2 + {number} FROM numbers(300000)")
            query = "SELECT count(), sum(c), sum(k) FROM (SELECT k, count() AS c FROM cluster('both', default.t) GROUP BY k)"
            for local in (0, 1):
                answer = ask(asked, f"{query} SETTINGS prefer_localhost_replica = {local}")
                self.assertEqual(answer.rows, [(600000, 600000, sum(range(600000)))])
                self.assertEqual(answer.event("ShardBlocks"), 2 * BUCKETS)


if __name__ == "__main__":
    unittest.main()
