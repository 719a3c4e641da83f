"""An initiator over stub shards: replicas that stall at every boundary between two packets, and clusters of hundreds of shards."""
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from tests.support.node import client, free_ports, has_clickhouse_client, sockets_to, timers_to
from tests.support.stub_initiator import Initiator, rows_of
from tests.support.stub_shards import StubShards
from tests.support.waiting import running_queries, wait_until

ROWS = 4
# Long enough for a busy machine not to be taken for a slow replica.
BASE = ("load_balancing = 'in_order', distributed_replica_error_half_life = 0, hedged_connection_timeout_ms = 300, "
        "receive_data_timeout_ms = 400, receive_timeout = 2")


def sorted_rows(initiator, table, settings):
    """Mode 2: the streams of all shards are merged."""
    query = f"SELECT k, sum(v) AS s FROM {table} GROUP BY k ORDER BY k SETTINGS distributed_group_by_no_merge = 2, {settings}"
    return [tuple(map(int, line.split())) for line in client(initiator, query, timeout=120).splitlines()]


def sorted_rows_of(shards):
    return sorted((key, key + 1) for shard in shards for key in range(shard * ROWS, (shard + 1) * ROWS))


@unittest.skipUnless(has_clickhouse_client(), "clickhouse-client is not installed")
class HedgedTest(unittest.TestCase):
    """One shard of two replicas; the first one falls silent before its packet n.

    0: status of the table, 1: header, 2: progress, 3: half of the rows, 4: progress, 5: the other half, 6: end."""

    def setUp(self):
        self.stubs = StubShards(2, rows=ROWS, blocks=2, alike=True)
        self.stubs.__enter__()
        self.addCleanup(self.stubs.__exit__)
        self.initiator = Initiator({"pair": [self.stubs.ports], "alone": [self.stubs.ports[:1]]})
        self.initiator.__enter__()
        self.addCleanup(self.initiator.__exit__)

    def check(self, settings, expected, queries, table="pair"):
        for place, wanted in enumerate(expected):
            with self.subTest(place=place, settings=settings):
                self.stubs.hold = {0: place}
                before = self.stubs.queries
                self.assertEqual(self.initiator.ask(table, f"{BASE}, {settings}", mode=1), wanted)
                self.assertEqual(self.stubs.queries - before, queries[place])
                self.stubs.release(0)
                self.assertTrue(wait_until(lambda: running_queries(self.initiator) == 0))
                self.stubs.forget(0)

    def test_a_replica_that_stalls_before_each_packet(self):
        """What it had said decides: rows read, or rows sent, bind the query to it."""
        right, timeout = rows_of(1, ROWS), 209
        self.check("use_hedged_requests = 1", [right] * 3 + [timeout] * 4, [1] + [2] * 2 + [1] * 4)

    def test_progress_does_not_bind_when_that_is_allowed(self):
        right, timeout = rows_of(1, ROWS), 209
        self.check("allow_changing_replica_until_first_data_packet = 1", [right] * 4 + [timeout] * 3, [1] + [2] * 3 + [1] * 3)

    def test_without_hedged_requests_one_waits(self):
        right, timeout = rows_of(1, ROWS), 209
        self.check("use_hedged_requests = 0", [right] * 3 + [timeout] * 4, [1] + [2] * 2 + [1] * 4)

    def test_replicas_that_are_behind(self):
        """From max_replica_delay_for_distributed_queries (300 s) on another one is asked; the least stale one as the last resort."""
        rows, stale = rows_of(1, ROWS), 369
        for delays, settings, expected in (({0: 299}, "", rows), ({0: 300}, "", rows), ({0: 400, 1: 350}, "", rows),
                                           ({0: 400, 1: 350}, ", fallback_to_stale_replicas_for_distributed_queries = 0", stale),
                                           ({0: 400, 1: 0}, ", fallback_to_stale_replicas_for_distributed_queries = 0", rows),
                                           ({0: 400, 1: 350}, ", max_replica_delay_for_distributed_queries = 0", rows)):
            for hedged in (0, 1):
                self.stubs.delays = delays
                self.assertEqual(self.initiator.ask("pair", f"{BASE}, use_hedged_requests = {hedged}{settings}"), expected,
                                 f"{delays} {settings}")

    def test_the_time_that_is_left_is_sent(self):
        self.assertEqual(self.initiator.ask("alone", BASE + ", max_execution_time = 50"), rows_of(1, ROWS))
        sent = float(self.stubs.settings[0]["max_execution_time"])
        self.assertTrue(30 < sent < 50, sent)
        self.initiator.ask("alone", BASE + ", max_execution_time = 50, max_execution_time_leaf = 7")
        self.assertEqual(self.stubs.settings[0]["max_execution_time"], "7")

    def test_the_loser_is_cancelled(self):
        self.stubs.hold = {0: 1}
        self.assertEqual(self.initiator.ask("pair", BASE, mode=1), rows_of(1, ROWS))
        self.assertTrue(wait_until(lambda: self.stubs.cancels == 1))
        self.assertEqual(self.initiator.ask("pair", BASE, mode=1), rows_of(1, ROWS))
        shown = client(self.initiator, "SELECT replica_num, errors_count, slowdowns_count, estimated_recovery_time FROM "
                                       "system.clusters WHERE cluster = 'pair' ORDER BY replica_num")
        self.assertEqual(shown, "1\t0\t0\t0\n2\t0\t0\t0\n")


@unittest.skipUnless(has_clickhouse_client(), "clickhouse-client is not installed")
class ManyShardsTest(unittest.TestCase):
    SHARDS = 500

    @classmethod
    def setUpClass(cls):
        cls.stubs = StubShards(cls.SHARDS, rows=ROWS).__enter__()
        cls.addClassCleanup(cls.stubs.__exit__)
        dead = free_ports(3)
        ports = cls.stubs.ports
        cls.initiator = Initiator({"whole": [[port] for port in ports],
                                   "wounded": [[port] for port in ports[:-3] + dead]}).__enter__()
        cls.addClassCleanup(cls.initiator.__exit__)

    def test_all_answer(self):
        for mode in (0, 1):
            self.assertEqual(self.initiator.ask("whole", mode=mode), rows_of(self.SHARDS, ROWS))
        self.assertLessEqual(self.stubs.most_greeting, 200, "connections are opened in a storm")
        held = sum(len(sockets_to(self.initiator.process.pid, port)) for port in self.stubs.ports[:20])
        self.assertEqual(held, 20, "one warm connection a shard")

    def test_few_of_them_dead(self):
        skip = "skip_unavailable_shards = 1, max_skip_unavailable_shards_num = "
        self.assertEqual(self.initiator.ask("wounded"), 279)
        self.assertEqual(self.initiator.ask("wounded", skip + "2"), 904)
        for mode in (0, 1):
            self.assertEqual(self.initiator.ask("wounded", skip + "3", mode=mode), rows_of(self.SHARDS - 3, ROWS))

    def test_one_error_ends_all(self):
        self.stubs.errors = {250: (395, "DB::Exception: enough")}
        self.assertEqual(self.initiator.ask("whole"), 395)
        self.stubs.errors = {}
        self.assertEqual(self.initiator.ask("whole"), rows_of(self.SHARDS, ROWS))

    def test_a_stalled_one_and_a_deadline(self):
        self.stubs.hold = {77: 3}
        self.assertEqual(self.initiator.ask("whole", "max_execution_time = 1"), 159)
        self.stubs.hold = {}
        self.stubs.release(77)
        self.assertTrue(wait_until(lambda: running_queries(self.initiator) == 0))
        self.assertEqual(self.initiator.ask("whole"), rows_of(self.SHARDS, ROWS))

    def test_so_many_are_asked_at_once(self):
        for mode in (0, 1):
            self.stubs.most_asked = 0
            self.stubs.hold = {shard: 1 for shard in range(self.SHARDS)}
            with ThreadPoolExecutor(1) as thread:
                answer = thread.submit(self.initiator.ask, "whole", "max_distributed_connections = 7", mode=mode)
                self.assertTrue(wait_until(lambda: self.stubs.asked == 7))
                for shard in range(self.SHARDS):
                    self.stubs.release(shard)
                self.assertEqual(answer.result(), rows_of(self.SHARDS, ROWS))
            self.assertEqual(self.stubs.most_asked, 7)
            self.stubs.hold = {}
            for shard in range(self.SHARDS):
                self.stubs.forget(shard)
        self.assertEqual(sorted_rows(self.initiator, "whole", "max_distributed_connections = 7"), sorted_rows_of(range(self.SHARDS)))


@unittest.skipUnless(has_clickhouse_client(), "clickhouse-client is not installed")
class PoolTest(unittest.TestCase):
    """Six shards on one server: connections to it are counted together."""
    SHARDS = 6

    def setUp(self):
        self.stubs = StubShards(1, rows=ROWS)
        self.stubs.__enter__()
        self.addCleanup(self.stubs.__exit__)
        self.initiator = Initiator({"same": [self.stubs.ports] * self.SHARDS})
        self.initiator.__enter__()
        self.addCleanup(self.initiator.__exit__)
        self.right = tuple(self.SHARDS * number for number in rows_of(1, ROWS))

    def test_a_pool_that_is_smaller_than_the_query(self):
        for size in (1, 2, 4):
            self.stubs.most_asked = 0
            self.stubs.hold = {0: 1}
            with ThreadPoolExecutor(1) as thread:
                answer = thread.submit(self.initiator.ask, "same", f"distributed_connections_pool_size = {size}", mode=1)
                self.assertTrue(wait_until(lambda: self.stubs.asked == size))
                self.stubs.release(0)
                self.assertEqual(answer.result(), self.right)
            self.assertEqual(self.stubs.most_asked, size)
            self.stubs.forget(0)

    def test_queries_take_turns(self):
        self.stubs.most_asked = 0
        self.stubs.hold = {0: 1}
        with ThreadPoolExecutor(8) as threads:
            asks = [threads.submit(self.initiator.ask, "same", "distributed_connections_pool_size = 2", mode=1) for _ in range(8)]
            self.assertTrue(wait_until(lambda: self.stubs.asked == 2))
            self.stubs.release(0)
            self.assertEqual([ask.result() for ask in asks], [self.right] * 8)
        self.assertEqual(self.stubs.most_asked, 2)

    def test_sorted_streams_need_all_at_once(self):
        """The first shard has not ended, and no row can be told before every shard has sent one."""
        for setting in ("distributed_connections_pool_size", "max_distributed_connections"):
            with self.subTest(setting=setting), ThreadPoolExecutor(1) as thread:
                self.stubs.hold = {0: 4}
                before = self.stubs.queries
                rows = thread.submit(sorted_rows, self.initiator, "same", f"{setting} = 1")
                self.assertTrue(wait_until(lambda: self.stubs.queries - before == self.SHARDS))
                self.stubs.release(0)
                self.assertEqual(rows.result(), sorted_rows_of([0] * self.SHARDS))
                self.stubs.forget(0)

    def test_how_much_may_travel(self):
        self.assertEqual(self.initiator.ask("same", "max_network_bytes = 1000000", mode=1), self.right)
        for most in (100, 4000):  # less than a question, less than all the answers
            self.assertEqual(self.initiator.ask("same", f"max_network_bytes = {most}", mode=1), 290)

    def test_how_much_may_travel_in_a_second(self):
        """More than 4000 bytes travel (see above), of which a second's worth may at once."""
        begun = time.monotonic()
        self.assertEqual(self.initiator.ask("same", "max_network_bandwidth = 2000", mode=1), self.right)
        self.assertGreater(time.monotonic() - begun, 1)
        self.assertEqual(self.initiator.ask("same", "max_network_bandwidth = 1, max_execution_time = 1", mode=1), 159)
        self.assertTrue(wait_until(lambda: running_queries(self.initiator) == 0))

    def test_idle_connections_are_tried(self):
        self.assertEqual(self.initiator.ask("same", "tcp_keep_alive_timeout = 7", mode=1), self.right)
        timers = timers_to(self.initiator.process.pid, self.stubs.ports[0])
        self.assertNotEqual(timers, [])
        for kind, hundredths in timers:
            self.assertEqual(kind, 2)  # a probe is due
            self.assertLessEqual(hundredths, 700)

    def test_nobody_leaves_in_time(self):
        self.stubs.hold = {0: 1}
        with ThreadPoolExecutor(1) as thread:
            first = thread.submit(self.initiator.ask, "same", "distributed_connections_pool_size = 6", mode=1)
            self.assertTrue(wait_until(lambda: self.stubs.asked == self.SHARDS))
            self.assertEqual(self.initiator.ask("same", "distributed_connections_pool_size = 6, connection_pool_max_wait_ms = 50"), 203)
            # Whoever waits without end can still be cancelled.
            self.assertEqual(self.initiator.ask("same", "distributed_connections_pool_size = 6, max_execution_time = 1"), 159)
            self.stubs.release(0)
            self.assertEqual(first.result(), self.right)
        self.assertEqual(self.initiator.ask("same", "distributed_connections_pool_size = 1, connection_pool_max_wait_ms = 60000", mode=1), self.right)


if __name__ == "__main__":
    unittest.main()
