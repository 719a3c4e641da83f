"""prefer_localhost_replica: a shard that the asked server is itself a replica of is answered in its process, and nobody can tell
by the answer."""
import re
import unittest

from tests.support.node import Node, client, free_ports, has_clickhouse_client, sockets_to

ROWS = 1000
QUERIES = [
    "SELECT count(), sum(k), uniq(g) FROM dist",
    "SELECT g, count() AS c, sum(k) FROM dist GROUP BY g ORDER BY g",
    "SELECT g, count() AS c FROM dist GROUP BY g WITH TOTALS ORDER BY g",
    "SELECT g, count() AS c FROM dist GROUP BY g HAVING c > 100 ORDER BY c DESC, g LIMIT 3",
    "SELECT k FROM dist ORDER BY k DESC LIMIT 5",
    "SELECT DISTINCT g FROM dist ORDER BY g",
    "SELECT shardNum() AS s, shardCount() AS n, count() FROM dist GROUP BY s, n ORDER BY s",
    "SELECT _shard_num, count() FROM dist GROUP BY _shard_num ORDER BY _shard_num",
    "SELECT count() FROM dist WHERE k IN (SELECT number FROM numbers(10))",
    "SELECT count() FROM dist WHERE k GLOBAL IN (SELECT k FROM dist WHERE k < 7)",
    "SELECT sum(s) FROM (SELECT g, sum(k) AS s FROM dist GROUP BY g)",
    "SELECT quantile(0.5)(k), any(toTypeName(g)) FROM dist",
    "SELECT currentDatabase(), count() FROM dist",
    "SELECT number % 3 AS r, count() FROM cluster('both', numbers(10)) GROUP BY r ORDER BY r",
    "SELECT count() FROM dist WHERE k = -1",
]


@unittest.skipUnless(has_clickhouse_client(), "clickhouse-client is not installed")
class LocalReplicaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ports = free_ports(2)

        def shard(*some):
            return "      - replica:\n" + "".join(f"          - {{host: 127.0.0.1, port: {port}}}\n" for port in some)

        topology = ("remote_servers:\n  both:\n    shard:\n" + shard(ports[0]) + shard(ports[1]) +
                    "  pair:\n    shard:\n" + shard(ports[0], ports[1]))
        cls.asked, cls.other = [Node(topology, port=port).start() for port in ports]
        cls.addClassCleanup(cls.other.__exit__)
        cls.addClassCleanup(cls.asked.__exit__)
        for i, node in enumerate((cls.asked, cls.other)):
            client(node, "CREATE TABLE local (k UInt64, g String) ENGINE = MergeTree ORDER BY k")
            client(node, f"INSERT INTO local SELECT number * 2 + {i}, toString(number % 7) FROM numbers({ROWS})")
        client(cls.asked, "CREATE TABLE dist (k UInt64, g String) ENGINE = Distributed(both, default, local, k)")
        client(cls.other, "CREATE TABLE lonely (k UInt64) ENGINE = MergeTree ORDER BY k")
        client(cls.other, "INSERT INTO lonely VALUES (42)")

    def ask(self, query, *settings):
        text = query + (" SETTINGS " + ", ".join(settings) if settings else "")
        done = client(self.asked, text, check=False)
        if done.returncode == 0:
            return done.stdout.decode()
        return int(re.search(rb"Code: (\d+)", done.stderr).group(1))

    def own_connections(self):
        return len(sockets_to(self.asked.process.pid, self.asked.port))

    def test_the_answers_are_the_same(self):
        for query in QUERIES:
            for mode in (0, 1, 2):
                with self.subTest(query=query, mode=mode):
                    setting = f"distributed_group_by_no_merge = {mode}"
                    here = self.ask(query, setting)
                    there = self.ask(query, setting, "prefer_localhost_replica = 0")
                    if mode != 0 and isinstance(here, str):  # the shards' answers follow one another in any order
                        here, there = sorted(here.split("\n")), sorted(there.split("\n"))
                    self.assertEqual(here, there)
                    self.assertNotEqual(here, "")

    def test_what_holds_on_one_level_only(self):
        """A table over a table over shards: skipping is asked of the outer one, whose shard is here; the inner one has no key in WHERE."""
        for node in (self.asked, self.other):
            client(node, "CREATE TABLE inner (k UInt64, g String) ENGINE = Distributed(both, default, local, sipHash64(g))")
            self.addCleanup(client, node, "DROP TABLE inner")
        client(self.asked, "CREATE TABLE outer (k UInt64, g String) ENGINE = Distributed(both, default, inner, k)")
        self.addCleanup(client, self.asked, "DROP TABLE outer")
        skip = ["optimize_skip_unused_shards = 1", "force_optimize_skip_unused_shards = 1"]
        one = ["optimize_skip_unused_shards_nesting = 1", "force_optimize_skip_unused_shards_nesting = 1"]
        for place in ("prefer_localhost_replica = 1", "prefer_localhost_replica = 0"):
            self.assertEqual(self.ask("SELECT count() FROM outer WHERE k = 4", *skip, *one, place), "1\n")
            self.assertEqual(self.ask("SELECT count() FROM outer WHERE k = 4", *skip, place), 507)

    def test_a_table_over_a_table_over_shards(self):
        """The mode counts on every level: finished groups of the innermost shards are handed on as they are."""
        for node in (self.asked, self.other):
            client(node, "CREATE TABLE middle (k UInt64, g String) ENGINE = Distributed(both, default, local, k)")
            self.addCleanup(client, node, "DROP TABLE middle")
        client(self.asked, "CREATE TABLE top (k UInt64, g String) ENGINE = Distributed(both, default, middle, k)")
        self.addCleanup(client, self.asked, "DROP TABLE top")
        even, odd = sum(range(0, 2 * ROWS, 2)), sum(range(1, 2 * ROWS, 2))
        for place in ("prefer_localhost_replica = 1", "prefer_localhost_replica = 0"):
            for mode, expected in ((0, [2 * (even + odd)]), (1, [even, even, odd, odd]), (2, [even, even, odd, odd])):
                setting = f"distributed_group_by_no_merge = {mode}"
                rows = self.ask("SELECT sum(k) FROM top", setting, place)
                self.assertEqual(sorted(map(int, rows.split())), sorted(expected), f"{mode} {place}")
            groups = self.ask("SELECT g, count() FROM top GROUP BY g ORDER BY g LIMIT 5", "distributed_group_by_no_merge = 2", place)
            self.assertEqual(groups, "0\t143\n" * 4 + "1\t143\n")

    def test_what_travels_with_a_query(self):
        """GLOBAL IN and JOIN, written or by setting."""
        inside = "SELECT count() FROM dist WHERE k {}IN (SELECT number FROM numbers(10))"
        self.assertEqual(self.ask(inside.format("GLOBAL "), "max_rows_to_transfer = 10", "max_bytes_to_transfer = 80"), "10\n")
        for limit in ("max_rows_to_transfer = 9", "max_bytes_to_transfer = 79"):
            self.assertEqual(self.ask(inside.format("GLOBAL "), limit), 191)
            self.assertEqual(self.ask(inside.format(""), limit), "10\n")
            self.assertEqual(self.ask(inside.format(""), limit, "prefer_global_in_and_join = 1"), 191)
        first_block = ["max_rows_to_transfer = 1", "max_block_size = 5", "transfer_overflow_mode = 'break'"]
        self.assertEqual(self.ask(inside.format("GLOBAL "), *first_block), "5\n")
        client(self.asked, "CREATE TABLE beside (k UInt64) ENGINE = MergeTree ORDER BY k")
        self.addCleanup(client, self.asked, "DROP TABLE beside")
        client(self.asked, "INSERT INTO beside VALUES (3), (4)")
        joined = "SELECT count() FROM dist JOIN beside ON dist.k = beside.k"
        far = ["prefer_localhost_replica = 0"]  # the other server has no such table
        self.assertEqual(self.ask(joined, "prefer_global_in_and_join = 1", *far), "2\n")
        self.assertEqual(self.ask(joined, *far), 60)
        sharded = "SELECT count() FROM dist WHERE k IN (SELECT k FROM dist WHERE k < 7)"
        self.assertEqual(self.ask(sharded), 288)
        for mode in ("deny", "allow", "global"):
            self.assertEqual(self.ask(sharded, "prefer_global_in_and_join = 1", f"distributed_product_mode = '{mode}'"), "7\n")

    def test_limits_of_what_is_read_on_one_server(self):
        query = "SELECT count() FROM dist WHERE NOT ignore(k)"
        for place in ("prefer_localhost_replica = 1", "prefer_localhost_replica = 0"):
            self.assertEqual(self.ask(query, f"max_rows_to_read_leaf = {ROWS}", place), f"{2 * ROWS}\n")
            self.assertEqual(self.ask(query, f"max_rows_to_read_leaf = {ROWS - 1}", place), 158)
            self.assertEqual(self.ask(query, f"max_bytes_to_read_leaf = {8 * ROWS}", place), f"{2 * ROWS}\n")
            self.assertEqual(self.ask(query, f"max_bytes_to_read_leaf = {8 * ROWS - 1}", place), 307)
        self.assertEqual(self.ask("SELECT sum(k) FROM local", f"max_rows_to_read_leaf = {ROWS - 1}"), 158)

    def test_lists_are_cut_for_each_shard(self):
        """A row in the wrong place is found where its value is asked for, as in ClickHouse."""
        client(self.other, "CREATE TABLE strays (k UInt64) ENGINE = MergeTree ORDER BY k")
        client(self.asked, "CREATE TABLE strays (k UInt64) ENGINE = MergeTree ORDER BY k")
        client(self.other, "INSERT INTO strays VALUES (1), (2)")  # shard 2 has the odd ones
        client(self.asked, "CREATE TABLE found (k UInt64) ENGINE = Distributed(both, default, strays, k)")
        query = "SELECT groupArray(k) FROM (SELECT k FROM found WHERE k IN (1, 2, 3) ORDER BY k)"
        for place in ("prefer_localhost_replica = 1", "prefer_localhost_replica = 0"):
            self.assertEqual(self.ask(query, place), "[1,2]\n")
            self.assertEqual(self.ask(query, "optimize_skip_unused_shards = 1", place), "[1]\n")
            whole = ["optimize_skip_unused_shards = 1", "optimize_skip_unused_shards_rewrite_in = 0"]
            self.assertEqual(self.ask(query, *whole, place), "[1,2]\n")

    def test_no_connection_is_made_to_itself(self):
        self.asked.stop()
        self.asked.start()
        self.assertEqual(self.ask("SELECT count() FROM dist"), f"{2 * ROWS}\n")
        self.assertEqual(self.own_connections(), 0)
        self.assertEqual(self.ask("SELECT count() FROM dist", "prefer_localhost_replica = 0"), f"{2 * ROWS}\n")
        self.assertEqual(self.own_connections(), 1)

    def test_it_is_one_query(self):
        """In the list of queries, and for the limits of reading."""
        running = ("SELECT count() FROM cluster('both', system.processes) WHERE query LIKE '%system.processes%' AND "
                   "is_initial_query = {} AND hostName() != ''")
        self.assertEqual(self.ask(running.format(1), "prefer_localhost_replica = 1"), "1\n")
        self.assertEqual(self.ask(running.format(0), "prefer_localhost_replica = 1"), "1\n")
        self.assertEqual(self.ask(running.format(0), "prefer_localhost_replica = 0"), "2\n")
        self.assertEqual(self.ask("SELECT count() FROM dist WHERE NOT ignore(k)", f"max_rows_to_read = {2 * ROWS - 1}"), 158)
        self.assertEqual(self.ask("SELECT count() FROM dist WHERE NOT ignore(k)", f"max_rows_to_read = {2 * ROWS}"), f"{2 * ROWS}\n")
        self.assertEqual(self.ask("SELECT count() FROM cluster('both', numbers(1000000000000))", "max_execution_time = 1"), 159)

    def test_a_table_that_is_not_here(self):
        """Another replica has it; where there is none, that is the error."""
        client(self.asked, "CREATE TABLE IF NOT EXISTS far (k UInt64) ENGINE = Distributed(pair, default, lonely)")
        self.assertEqual(self.ask("SELECT k FROM far", "load_balancing = 'in_order'"), "42\n")
        client(self.asked, "CREATE TABLE IF NOT EXISTS nowhere (k UInt64) ENGINE = Distributed(both, default, lonely)")
        self.assertEqual(self.ask("SELECT k FROM nowhere"), 60)

    def test_which_replicas_are_here(self):
        self.assertEqual(self.ask("SELECT shard_num, is_local FROM system.clusters WHERE cluster = 'both' ORDER BY shard_num"),
                         "1\t1\n2\t0\n")

    def test_how_deep_tables_may_lie(self):
        client(self.asked, "CREATE TABLE IF NOT EXISTS loop (k UInt64) ENGINE = Distributed(pair, default, loop)")
        for prefer in (0, 1):
            self.assertEqual(self.ask("SELECT count() FROM loop", f"prefer_localhost_replica = {prefer}",
                                      "load_balancing = 'in_order'"), 581)


if __name__ == "__main__":
    unittest.main()
