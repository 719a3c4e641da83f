"""Debian's clickhouse-server 18.16 as the initiator of our shards, and as a shard of ours."""
import shutil
import unittest

from tests.support.node import Node, client, has_clickhouse_client
from tests.support.old_server import Server

@unittest.skipUnless(has_clickhouse_client() and shutil.which("clickhouse-server"), "clickhouse-server is not installed")
class OldServerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shards = [Node().start(), Node().start()]
        for number, shard in enumerate(cls.shards):
            client(shard, "CREATE TABLE t (k String, v UInt64) ENGINE = MergeTree ORDER BY k")
            client(shard, f"INSERT INTO t SELECT toString(number % 3), number FROM numbers({10 * (number + 1)})")
        cls.server = Server(cls.shards).__enter__()
        client(cls.server, "CREATE TABLE d (k String, v UInt64) ENGINE = Distributed(ours, default, t, v)")
        client(cls.server, "CREATE TABLE t2 (k String, v UInt64) ENGINE = Memory")
        client(cls.server, "INSERT INTO t2 SELECT toString(number % 3), number FROM system.numbers LIMIT 10")

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()
        for shard in cls.shards:
            shard.__exit__()

    def test_it_merges_our_states(self):
        self.assertEqual(
            client(self.server, "SELECT k, count(), sum(v), avg(v), uniq(v), max(k), argMax(v, v) FROM d WHERE k != 'new' GROUP BY k ORDER BY k"),
            "0\t11\t81\t7.363636363636363\t7\t0\t18\n1\t10\t82\t8.2\t7\t1\t19\n2\t9\t72\t8\t6\t2\t17\n")

    def test_it_unites_our_finished_groups(self):
        rows = client(self.server, "SELECT k, count() FROM d WHERE k != 'new' GROUP BY k", "--distributed_group_by_no_merge=1").splitlines()
        self.assertEqual(sorted(rows), ["0\t4", "0\t7", "1\t3", "1\t7", "2\t3", "2\t6"])

    def test_it_sends_tables_and_rows(self):
        self.assertEqual(client(self.server, "SELECT count() FROM d WHERE v GLOBAL IN (SELECT number FROM system.numbers LIMIT 5)"), "10\n")
        client(self.server, "INSERT INTO d SELECT 'new', number + 100 FROM system.numbers LIMIT 4", "--insert_distributed_sync=1")
        for number, shard in enumerate(self.shards):
            self.assertEqual(client(shard, "SELECT v FROM t WHERE k = 'new' ORDER BY v"), f"{100 + number}\n{102 + number}\n")

    def test_we_merge_its_states(self):
        twice = f"remote('127.0.0.1:{self.server.port},127.0.0.1:{self.server.port}', default, t2)"
        self.assertEqual(
            client(self.shards[0], f"SELECT k, count(), sum(v + 1), avg(v), uniq(v), groupArray(v) FROM {twice} GROUP BY k ORDER BY k"),
            "0\t8\t44\t4.5\t4\t[0,3,6,9,0,3,6,9]\n1\t6\t30\t4\t3\t[1,4,7,1,4,7]\n2\t6\t36\t5\t3\t[2,5,8,2,5,8]\n")

    def test_we_insert_into_its_table(self):
        client(self.server, "CREATE TABLE t3 (k String, v UInt64) ENGINE = Memory")
        client(self.shards[0], f"INSERT INTO FUNCTION remote('127.0.0.1:{self.server.port}', default, t3) SELECT 'ours', number FROM numbers(3)")
        self.assertEqual(client(self.server, "SELECT k, sum(v) FROM t3 GROUP BY k"), "ours\t3\n")


if __name__ == "__main__":
    unittest.main()
