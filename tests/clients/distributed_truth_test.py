"""What is proved, merged and told of distributed queries: disjoint groups, totals over all shards, which shard answered what."""
import shutil
import threading
import time
import unittest

from tests.support.cluster import Cluster
from tests.support.node import client, has_clickhouse_client

try:
    from clickhouse_driver.errors import ServerException

    from tests.support.packets import ask
except ImportError:
    ask = None

SHARDS = 3
needs = unittest.skipIf(ask is None or not has_clickhouse_client(), "clickhouse-client or its Python driver is not installed")


class Shards(unittest.TestCase):
    """Three shards with rows (k, v), k = 0..29 on shard k % 3 + 1, v = k / 10; and what Distributed tables make of them."""

    extra = ""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(SHARDS, cls.extra).__enter__()
        for number, shard in enumerate(cls.cluster.shards):
            client(shard, "CREATE TABLE t (k UInt32, v UInt32) ENGINE = MergeTree ORDER BY k")
            client(shard, "CREATE TABLE moved (k UInt32, v UInt32) ENGINE = MergeTree ORDER BY k")
            client(shard, f"INSERT INTO moved SELECT number, 0 FROM numbers(30) WHERE number % 3 = {number} OR (number = 3 AND {number} = 1)")
            client(shard, f"INSERT INTO t SELECT number, intDiv(number, 10) FROM numbers(30) WHERE number % 3 = {number}")
        cls.cluster.ask("CREATE TABLE past (k UInt32, v UInt32) ENGINE = Distributed(test, default, moved, k)")
        for name, key in (("d", ", k"), ("plain", ""), ("hashed", ", intHash64(k) + v")):
            cls.cluster.ask(f"CREATE TABLE {name} (k UInt32, v UInt32) ENGINE = Distributed(test, default, t{key})")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__()

    def ask(self, query):
        return ask(self.cluster.initiator, query)

    def error(self, query):
        with self.assertRaises(ServerException) as caught:
            self.ask(query)
        return caught.exception.code, caught.exception.message

    def explain(self, query):
        return [line for line, in self.ask("EXPLAIN DISTRIBUTED " + query).rows]


@needs
class DisjointGroups(Shards):
    MODES = ("1", "2")

    def test_groups_in_their_place_are_no_news(self):
        for mode in self.MODES:
            answer = self.ask(f"SELECT k, count() FROM d GROUP BY k SETTINGS distributed_group_by_no_merge = {mode}, verify_disjoint_groups = 2")
            self.assertEqual(sorted(answer.rows), [(k, 1) for k in range(30)])
            self.assertEqual(answer.event("DistributedGroupsNotDisjoint"), 0)

    def test_a_group_past_the_sharding_key(self):
        query = "SELECT k, count() FROM past GROUP BY k HAVING k = 3 ORDER BY k SETTINGS distributed_group_by_no_merge = {}, verify_disjoint_groups = {}, send_logs_level = 'warning'"
        for mode in self.MODES:
            self.assertEqual(self.ask(query.format(mode, 0)).rows, [(3, 1), (3, 1)])
            warned = self.ask(query.format(mode, 1))
            self.assertEqual(warned.rows, [(3, 1), (3, 1)])
            self.assertEqual(warned.event("DistributedGroupsNotDisjoint"), 1)
            (priority, source, text), = warned.logs
            self.assertEqual((priority, source), (4, "verify_disjoint_groups"))
            self.assertIn("1 of 11 groups are where they do not belong: (k = 3) is on shard 2 and belongs to shard 1.", text)
            code, text = self.error(query.format(mode, 2))
            self.assertEqual(code, 469)
            self.assertIn("the sharding key k places some elsewhere: (k = 3) is on shard 2 and belongs to shard 1.", text)
            self.assertIn("distributed_group_by_no_merge = 0", text)

    def test_groups_without_the_sharding_key_are_compared(self):
        for mode in self.MODES:
            for table in ("plain", "d", "hashed"):
                settings = f"SETTINGS distributed_group_by_no_merge = {mode}, verify_disjoint_groups = "
                warned = self.ask(f"SELECT count() FROM {table} GROUP BY v {settings} 1")
                self.assertEqual((warned.columns, sorted(warned.rows)), (["count()"], [(3,)] * 6 + [(4,)] * 3))
                self.assertEqual(warned.event("DistributedGroupsNotDisjoint"), 6)
                self.assertEqual(warned.event("DistributedGroupsCompared"), 9)
                code, text = self.error(f"SELECT v AS x, count() FROM {table} GROUP BY v {settings} 2")
                self.assertEqual(code, 469)
                self.assertRegex(text, r"shards share some: \(v = [012]\) is on shards [12] and [23]")
                fine = self.ask(f"SELECT k + 1 AS x, count() FROM {table} GROUP BY x {settings} 2")
                self.assertEqual(sorted(fine.rows), [(k + 1, 1) for k in range(30)])

    def test_no_keys_are_one_group(self):
        code, text = self.error("SELECT count() FROM d SETTINGS distributed_group_by_no_merge = 1, verify_disjoint_groups = 2")
        self.assertEqual(code, 469)
        self.assertIn("the one group of all rows", text)

    def test_several_keys_and_weights(self):
        answer = self.ask("SELECT v, k, count() FROM d GROUP BY k, v ORDER BY k LIMIT 2 SETTINGS distributed_group_by_no_merge = 2, verify_disjoint_groups = 2")
        self.assertEqual(answer.rows, [(0, 0, 1), (0, 1, 1)])
        code, text = self.error("SELECT k, v, count() FROM hashed GROUP BY k, v SETTINGS distributed_group_by_no_merge = 1, verify_disjoint_groups = 2")
        self.assertEqual(code, 469)
        self.assertRegex(text, r"the sharding key intHash64\(k\) \+ v places some elsewhere: \(k = \d+, v = \d\) is on shard \d and belongs to shard \d")

    def test_what_distinct_hides_is_said(self):
        query = "SELECT DISTINCT count() FROM plain GROUP BY k SETTINGS distributed_group_by_no_merge = 1, verify_disjoint_groups = "
        code, text = self.error(query + "2")
        self.assertEqual(code, 48)
        self.assertIn("k is not selected", text)
        self.assertEqual(self.ask(query + "1").rows, [(1,)] * 3)
        # Shards that are shardd look themselves when the sharding key tells.
        self.assertEqual(self.ask(query.replace("plain", "d") + "2").rows, [(1,)] * 3)

    def test_states_that_are_merged_need_no_proof(self):
        self.assertEqual(self.ask("SELECT v, count() FROM d GROUP BY v ORDER BY v SETTINGS verify_disjoint_groups = 2").rows,
                         [(0, 10), (1, 10), (2, 10)])


@needs
class ExactTotals(Shards):
    EXACT = "distributed_totals = 'exact'"

    def test_with_totals(self):
        for mode in (1, 2):
            query = f"SELECT k, sum(v) AS s, avg(k) FROM d GROUP BY k WITH TOTALS {{}} SETTINGS distributed_group_by_no_merge = {mode}"
            self.assertEqual(self.ask(query.format("")).totals, (0, 9, 13.5))
            exact = self.ask(query.format("") + ", " + self.EXACT)
            self.assertEqual((len(exact.rows), exact.totals), (30, (0, 30, 14.5)))
            self.assertEqual(self.ask(query.format("HAVING s = 2") + ", " + self.EXACT).totals, (0, 20, 24.5))
            self.assertEqual(self.ask(query.format("HAVING s = 2") + ", totals_mode = 'before_having', " + self.EXACT).totals, (0, 30, 14.5))
            self.assertEqual(self.ask(query.format("HAVING s > 9") + ", " + self.EXACT).totals[:2], (0, 0))
            self.assertEqual(self.ask(query.format("ORDER BY k LIMIT 1") + ", " + self.EXACT).totals, (0, 30, 14.5))

    def test_rollup_and_cube(self):
        for what in ("ROLLUP", "CUBE"):
            one = self.ask(f"SELECT k, count(), sum(v) FROM d GROUP BY k WITH {what} SETTINGS distributed_group_by_no_merge = 1, {self.EXACT}")
            self.assertEqual(sorted(one.rows), sorted([(k, 1, k // 10) for k in range(30)] + [(0, 30, 30)]))
            two = self.ask(f"SELECT k, count() AS c, sum(v) FROM d GROUP BY k WITH {what} ORDER BY c DESC, k LIMIT 3 SETTINGS distributed_group_by_no_merge = 2, {self.EXACT}")
            self.assertEqual(two.rows, [(0, 30, 30), (0, 1, 0), (1, 1, 0)])
            self.assertEqual(two.rows_before_limit, 31)
            having = self.ask(f"SELECT k, count() AS c FROM d GROUP BY k WITH {what} HAVING c = 1 SETTINGS distributed_group_by_no_merge = 1, {self.EXACT}")
            self.assertEqual(len(having.rows), 30)
        both = self.ask(f"SELECT k, count(), grouping(k) FROM d GROUP BY k WITH ROLLUP WITH TOTALS SETTINGS distributed_group_by_no_merge = 1, {self.EXACT}")
        self.assertEqual((both.totals[1], sorted(both.rows)[0:2]), (30, [(0, 1, 0), (0, 30, 1)]))
        # As ClickHouse: every shard has one of its own.
        self.assertEqual(len(self.ask("SELECT k, count() FROM d GROUP BY k WITH ROLLUP SETTINGS distributed_group_by_no_merge = 1").rows), 33)

    def test_no_rows(self):
        empty = self.ask(f"SELECT k, count() FROM d WHERE k > 99 GROUP BY k WITH TOTALS SETTINGS distributed_group_by_no_merge = 1, {self.EXACT}")
        self.assertEqual((empty.rows, empty.totals), ([], (0, 0)))
        self.assertEqual(self.ask(f"SELECT k, count() FROM d WHERE k > 99 GROUP BY k WITH ROLLUP SETTINGS distributed_group_by_no_merge = 2, {self.EXACT}").rows, [])

    def test_rows_before_limit(self):
        for order in ("", "ORDER BY k"):
            query = f"SELECT k, count() FROM d GROUP BY k {order} LIMIT 2 SETTINGS distributed_group_by_no_merge = 2, {self.EXACT}"
            answer = self.ask(query)
            self.assertEqual((len(answer.rows), answer.rows_before_limit), (2, 30))

    def test_extremes(self):
        for mode in (1, 2):
            answer = self.ask(f"SELECT k, sum(v) FROM d GROUP BY k SETTINGS distributed_group_by_no_merge = {mode}, extremes = 1, {self.EXACT}")
            self.assertEqual(answer.extremes, [(0, 0), (29, 2)])

    def test_totals_of_a_subquery_are_its_own_affair(self):
        inner = "(SELECT k, count() AS c FROM d GROUP BY k WITH TOTALS SETTINGS distributed_group_by_no_merge = 1)"
        self.assertEqual(self.ask(f"SELECT sum(c) FROM {inner} SETTINGS {self.EXACT}").rows, [(30,)])

    @unittest.skipUnless(shutil.which("clickhouse-server"), "clickhouse-server is not installed")
    def test_another_server_is_refused_before_anything_runs(self):
        from tests.clients.clickhouse_server_test import Server
        with Server([]) as foreign:
            client(foreign, "CREATE TABLE t (k UInt32, v UInt32) ENGINE = Memory")
            table = f"remote('127.0.0.1:{self.cluster.shards[0].port},127.0.0.1:{foreign.port}', default, t)"
            query = f"SELECT k, count() FROM {table} GROUP BY k WITH TOTALS SETTINGS distributed_group_by_no_merge = 1"
            self.assertEqual(len(self.ask(query).rows), 10)
            code, text = self.error(query + ", " + self.EXACT)
            self.assertEqual(code, 1)
            self.assertIn(f"distributed_totals = 'exact' needs shardd on every shard, but 127.0.0.1:{foreign.port} (shard 2) is another server", text)
            # What it cannot be asked is looked at here.
            client(foreign, "INSERT INTO t VALUES (3, 0)")
            code, text = self.error(f"SELECT k, count() FROM {table} GROUP BY k SETTINGS distributed_group_by_no_merge = 1, verify_disjoint_groups = 2")
            self.assertEqual(code, 469)
            self.assertIn("(k = 3) is on shards 1 and 2", text)
            keyed = f"remote('127.0.0.1:{self.cluster.shards[0].port},127.0.0.1:{foreign.port}', default, t, k)"
            code, text = self.error(f"SELECT count() FROM {keyed} WHERE k = 4 OR k = 3 GROUP BY k SETTINGS distributed_group_by_no_merge = 1, verify_disjoint_groups = 2")
            self.assertEqual(code, 469)
            self.assertIn("(k = 3) is on shard 1 and belongs to shard 2", text)


@needs
class PassedOn(Shards):
    """Rows that need nothing done go from the shards to the client as they come, whatever form it reads."""

    QUERY = "SELECT number, toString(number) AS text FROM cluster('test', numbers(70000)) {} SETTINGS max_block_size = 9000"

    def check(self, rows):
        self.assertEqual(len(rows), SHARDS * 70000)
        self.assertEqual(sorted(rows), sorted([(n, str(n)) for n in range(70000)] * SHARDS))

    def test_compressed_to_an_old_client(self):
        lines = client(self.cluster.initiator, self.QUERY.format("")).splitlines()
        self.check([(int(number), text) for number, text in (line.split("\t") for line in lines)])

    def test_plain_to_a_driver(self):
        self.check(self.ask(self.QUERY.format("")).rows)

    def test_limits_still_count(self):
        code, text = self.error(self.QUERY.format("") + ", max_result_rows = 100000")
        self.assertEqual(code, 396)
        self.assertIn("max rows: 100", text)

    def test_through_two_initiators(self):
        middle = f"remote('127.0.0.1:{self.cluster.shards[0].port}', default, via)"
        client(self.cluster.shards[0], "CREATE TABLE via (k UInt32, v UInt32) ENGINE = Distributed(test, default, t, k)")
        rows = client(self.cluster.initiator, f"SELECT k, v FROM {middle}").splitlines()
        self.assertEqual(sorted(rows), sorted(f"{k}\t{k // 10}" for k in range(30)))


@needs
class Trailer(Shards):
    def test_events_by_host(self):
        answer = self.ask("SELECT k, count() FROM d GROUP BY k SETTINGS distributed_group_by_no_merge = 1")
        for shard in self.cluster.shards:
            host = f"127.0.0.1:{shard.port}"
            self.assertEqual(answer.events[host, "ShardRows"], 10)
            self.assertEqual(answer.events[host, "ShardGroups"], 10)
            self.assertEqual(answer.events[host, "SelectedRows"], 10)
            for name in ("NetworkReceiveBytes", "RealTimeMicroseconds", "MemoryTrackerPeakUsage"):
                self.assertGreater(answer.events[host, name], 0)
        self.assertEqual(answer.event("DistributedShardsAnswered"), SHARDS)
        silent = self.ask("SELECT k, count() FROM d GROUP BY k SETTINGS send_profile_events = 0")
        self.assertEqual(silent.events, {})
        self.assertEqual(self.ask("SELECT 1").events, {})

    def test_lines_for_whoever_listens(self):
        answer = self.ask("SELECT count() FROM d WHERE k = 4 SETTINGS optimize_skip_unused_shards = 1, send_logs_level = 'debug'")
        texts = [text for priority, source, text in answer.logs if (priority, source) == (7, "distributed")]
        self.assertEqual(len(texts), SHARDS)
        self.assertIn("shard 1 not needed: the filter pins the sharding key k to other shards", texts[0])
        self.assertIn(f"shard 2 at 127.0.0.1:{self.cluster.shards[1].port} answered; 1 rows", texts[1])

    def test_history(self):
        mark = "SELECT 'history', v, count() FROM d WHERE k IN (0, 1) GROUP BY v SETTINGS optimize_skip_unused_shards = 1"
        self.ask(mark)
        rows = self.ask("SELECT shard_num, state, rows, groups, is_shardd, mode, stage, is_running, exception FROM system.distributed_queries "
                        "WHERE startsWith(query, 'SELECT ''history''') ORDER BY shard_num").rows
        self.assertEqual(rows, [(1, "answered", 1, 1, 1, 0, "1 (WithMergeableState)", 0, ""),
                                (2, "answered", 1, 1, 1, 0, "1 (WithMergeableState)", 0, ""),
                                (3, "not needed", 0, 0, 0, 0, "1 (WithMergeableState)", 0, "")])
        self.error("SELECT 'history of a failure', throwIf(k = 4) FROM d")
        rows = self.ask("SELECT state, state_reason, exception FROM system.distributed_queries WHERE query LIKE '%of a failure%' "
                        "AND state = 'failed'").rows
        self.assertEqual(len(rows), 1)
        self.assertIn("Value passed to 'throwIf' function is non-zero", rows[0][1])
        self.assertIn("Value passed to 'throwIf' function is non-zero", rows[0][2])

    def test_while_it_runs(self):
        mark = "SELECT 'slow', sleepEachRow(1) FROM d SETTINGS max_block_size = 1"
        running = threading.Thread(target=lambda: self.assertRaises(ServerException, self.ask, mark))
        running.start()
        try:
            for _ in range(200):
                rows = self.ask("SELECT query_id, state, is_running FROM system.distributed_queries WHERE is_running AND query LIKE 'SELECT ''slow''%'").rows
                if len(rows) == SHARDS:
                    break
                time.sleep(0.05)
            self.assertEqual({(is_running, state in ("waiting", "answering")) for _, state, is_running in rows}, {(1, True)})
        finally:
            client(self.cluster.initiator, "KILL QUERY WHERE query LIKE 'SELECT ''slow''%'")
            running.join(30)
        self.assertFalse(running.is_alive())
        self.assertEqual(self.ask("SELECT DISTINCT state, is_running FROM system.distributed_queries WHERE query LIKE 'SELECT ''slow''%'").rows,
                         [("stopped", 0)])

    def test_a_shard_that_is_away(self):
        addresses = ",".join(f"127.0.0.1:{node.port}" for node in self.cluster.shards[:2]) + ",127.0.0.1:1"
        answer = self.ask(f"SELECT count() FROM remote('{addresses}', default, t) SETTINGS skip_unavailable_shards = 1, send_logs_level = 'debug'")
        self.assertEqual((answer.rows, answer.event("DistributedShardsLeftOut")), ([(20,)], 1))
        self.assertTrue(any("shard 3 at 127.0.0.1:1 left out: " in text for _, _, text in answer.logs), answer.logs)

    def test_explain(self):
        lines = self.explain("SELECT k, count() FROM d WHERE k = 4 GROUP BY k SETTINGS optimize_skip_unused_shards = 1")
        self.assertIn("  Shard 1 (127.0.0.1:%d): not asked, the filter pins the sharding key k to other shards" % self.cluster.shards[0].port, lines)
        self.assertIn("  Shard 2 (127.0.0.1:%d):" % self.cluster.shards[1].port, lines)
        self.assertIn("  Reason: one shard answers alone", lines)

    def test_explain_says_why_not(self):
        skip = " SETTINGS optimize_skip_unused_shards = 1"
        for query, reason in (
                ("SELECT v, count() FROM d GROUP BY v" + skip, "GROUP BY lacks column k of k"),
                ("SELECT k, count() FROM hashed GROUP BY k" + skip, "GROUP BY lacks column v of intHash64(k) + v"),
                ("SELECT k % 2, count() FROM d GROUP BY k % 2" + skip, "GROUP BY lacks column k (modulo(k, 2) does not tell it) of k"),
                ("SELECT k, count() FROM d GROUP BY k", "every group has all of the sharding key k, but optimize_skip_unused_shards = 0"),
                ("SELECT k, count() FROM plain GROUP BY k" + skip, "the table has no sharding key"),
                ("SELECT DISTINCT v FROM d" + skip, "DISTINCT lacks column k of k"),
                ("SELECT k, v FROM d LIMIT 1 BY v" + skip, "LIMIT BY lacks column k of k"),
                ("SELECT count() FROM d" + skip, "there is no GROUP BY: all rows are one group")):
            self.assertIn("  Reason: a group may live on several shards: " + reason, self.explain(query))

    def test_explain_proof(self):
        lines = self.explain("SELECT count() FROM d GROUP BY k SETTINGS distributed_group_by_no_merge = 1, verify_disjoint_groups = 1")
        self.assertIn("    Setting, if it is shardd: distributed_group_key = k", lines)
        self.assertIn("    Setting, if it is shardd: distributed_shard_weights = 1,1,1", lines)
        self.assertTrue(any(line.startswith("  Proof: every group is held against the place that k gives it") for line in lines), lines)


if __name__ == "__main__":
    unittest.main()
