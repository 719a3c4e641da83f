"""Shards that die, hang, reset, talk nonsense or crawl: each ends in the right answer or in one error that names the shard and
the replica, at once, and nothing of it stays behind on any node."""
import re
import signal
import time
import unittest

from tests.support.fault_proxy import Fault, FaultProxy
from tests.support.node import Node, client, free_ports, has_clickhouse_client, sockets_to
from tests.support.waiting import running_queries, wait_until

ROWS = 1000
QUERY = "SELECT count(), sum(k) FROM dist"
BOTH = f"{2 * ROWS}\t{ROWS * (ROWS - 1)}\n"
ONE = f"{ROWS}\t{ROWS * (ROWS - 1) // 2}\n"
# Errors that were counted fade at once, so that every test finds the proxy's replica first.
BASE = "load_balancing = 'in_order', distributed_replica_error_half_life = 0, "
# So that a test does not take ClickHouse's ten seconds for each try.
PATIENCE = "handshake_timeout_ms = 300, connections_with_failover_max_tries = 2"


class Failed(Exception):
    def __init__(self, code, words):
        super().__init__(f"{code}: {words}")
        self.code, self.words = code, words


def ask(node, query, settings="", timeout=30):
    """Rows as text; Failed with ClickHouse's code."""
    whole = query + (f" SETTINGS {settings.strip(', ')}" if settings else "")
    done = client(node, whole, check=False, timeout=timeout)
    if done.returncode == 0:
        return done.stdout.decode()
    words = done.stderr.decode(errors="replace")
    code = re.search(r"Code: (\d+)", words)
    raise Failed(int(code.group(1)) if code else None, words)


class ProxiedCluster:
    """Two shards. The first is behind a proxy and, in cluster "pair", has a second replica, which is another daemon with the
    same rows; in cluster "alone" it has none."""

    def __init__(self):
        ports = free_ports(4)
        self.proxy = FaultProxy(ports[0], garbage=b"HTTP/1.1 400 Bad Request\r\n\r\n" * 100)
        self.proxy.__enter__()

        def shard(*replicas, user="default"):
            lines = "".join(f"          - {{host: 127.0.0.1, port: {port}, user: {user}}}\n" for port in replicas)
            return f"      - replica:\n{lines}"

        proxied, direct, dead = self.proxy.port, ports[2], free_ports(1)[0]
        clusters = {"alone": shard(proxied) + shard(direct), "pair": shard(proxied, ports[1]) + shard(direct),
                    "stranger": shard(ports[0], user="nobody") + shard(direct),
                    "stranger_pair": shard(ports[0], ports[1], user="nobody") + shard(direct),
                    "dead": shard(dead) + shard(dead)}
        self.names = list(clusters)
        self.topology = "remote_servers:\n" + "".join(f"  {name}:\n    shard:\n{text}" for name, text in clusters.items())
        self.first, self.twin, self.second, self.initiator = self.nodes = [
            Node(self.topology, port=port, name=name)
            for port, name in zip(ports, ("first", "twin", "second", "initiator"))]

    def __enter__(self):
        for node in self.nodes:
            node.start()
        for node in self.nodes[:3]:
            client(node, "CREATE TABLE local (k UInt64) ENGINE = MergeTree ORDER BY k")
            client(node, f"INSERT INTO local SELECT number FROM numbers({ROWS})")
        for name in self.names:
            client(self.initiator, f"CREATE TABLE {name} (k UInt64) ENGINE = Distributed({name}, default, local)")
        return self

    def __exit__(self, *details):
        for node in self.nodes:
            node.__exit__(*details)
        self.proxy.__exit__()


@unittest.skipUnless(has_clickhouse_client(), "clickhouse-client is not installed")
class ShardFaultsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = ProxiedCluster().__enter__()
        cls.addClassCleanup(cls.cluster.__exit__)

    def setUp(self):
        self.proxy.fault = Fault()
        self.proxy.drop()

    def tearDown(self):
        self.proxy.fault = Fault()
        for node in self.cluster.nodes:
            self.assertTrue(wait_until(lambda: running_queries(node) == 0), f"a query stays behind on {node.name}")

    @property
    def proxy(self):
        return self.cluster.proxy

    def ask(self, table, query=QUERY, settings=""):
        return ask(self.cluster.initiator, query.replace("dist", table), BASE + settings)

    def fails(self, codes, *words, table="alone", settings="", query=QUERY, seconds=4, kept=0):
        """One error, soon, with its words; and no connection to the faulty replica is kept, but for `kept` good ones."""
        began = time.monotonic()
        with self.assertRaises(Failed) as caught:
            self.ask(table, query, settings)
        self.assertIn(caught.exception.code, codes, caught.exception.words)
        self.assertLess(time.monotonic() - began, seconds)
        for word in words:
            self.assertIn(word, caught.exception.words)
        self.nothing_open(kept)

    def held(self):
        return sockets_to(self.cluster.initiator.process.pid, self.proxy.port)

    def nothing_open(self, kept=0):
        self.assertTrue(wait_until(lambda: len(self.held()) <= kept, seconds=7), f"sockets are kept: {self.held()}")

    def test_faults_before_the_shard_has_said_a_word(self):
        for kind in ("reset", "close", "garbage", "stall"):
            with self.subTest(kind):
                self.proxy.fault = Fault(kind)
                before = self.proxy.accepted
                self.fails((279,), "All connection tries failed", f"127.0.0.1:{self.proxy.port}", "shard 1 of cluster alone",
                           settings=PATIENCE)
                self.assertEqual(self.proxy.accepted - before, 2, "tries")
                self.assertEqual(self.ask("alone", settings=PATIENCE + ", skip_unavailable_shards = 1"), ONE)
                self.assertEqual(self.ask("pair", settings=PATIENCE), BOTH)
                self.assertEqual(self.ask("pair", settings=PATIENCE + ", use_hedged_requests = 0"), BOTH)
                self.nothing_open()

    def test_faults_at_any_byte_of_the_answer(self):
        """Never a row too many or too few: all of them, or an error."""
        query, settings = "SELECT k FROM dist ORDER BY k", f"{PATIENCE}, receive_timeout = 1, receive_data_timeout_ms = 100"
        self.proxy.count_from_here()
        whole = self.ask("pair", query)
        self.assertEqual(whole, "".join(f"{k}\n{k}\n" for k in range(ROWS)))
        length = self.proxy.forwarded[1]
        self.assertGreater(length, 8 * ROWS // 10)
        endings = {"answer": 0, "error": 0}
        for place in [*range(0, 400, 31), *range(400, length, length // 12), length - 1]:
            for kind in ("reset", "close", "garbage", "stall"):
                for table in ("pair", "alone"):
                    if kind == "stall" and (place < 400 or place % 2):
                        continue  # each takes seconds
                    self.proxy.fault = Fault()
                    self.proxy.drop()
                    self.proxy.fault = Fault(kind, answer_bytes=place)
                    try:
                        self.assertEqual(self.ask(table, query, settings), whole, f"{kind} after {place} bytes of {length}")
                        endings["answer"] += 1
                    except Failed as failed:
                        self.assertIn(f"127.0.0.1:{self.proxy.port}", failed.words, f"{kind} after {place} bytes of {length}")
                        endings["error"] += 1
        self.assertGreater(endings["answer"], 20)
        self.assertGreater(endings["error"], 20)
        self.nothing_open(kept=2)  # an answer that was shorter than the fault's place leaves a good connection of either cluster

    def test_a_shard_that_crawls(self):
        for fault in (Fault("drip", seconds=0.0005), Fault("delay", seconds=0.05)):
            for table in ("alone", "pair"):
                self.proxy.fault = fault
                self.assertEqual(self.ask(table), BOTH)

    def test_a_stopped_process(self):
        """Its kernel still accepts connections; those that were warm are seen to be dead too."""
        for warm in (False, True):
            self.proxy.fault = Fault()
            if warm:
                self.assertEqual(self.ask("alone"), BOTH)
            self.cluster.first.process.send_signal(signal.SIGSTOP)
            try:
                self.assertEqual(self.ask("pair", settings=PATIENCE), BOTH)
                self.fails((279,), "shard 1 of cluster alone", settings=PATIENCE, seconds=10)
                self.assertEqual(self.ask("alone", settings=PATIENCE + ", skip_unavailable_shards = 1"), ONE)
            finally:
                self.cluster.first.process.send_signal(signal.SIGCONT)
            self.assertEqual(self.ask("alone"), BOTH)

    def test_a_shard_that_refuses_us(self):
        """At once, whatever may be skipped: other tries would not be welcome either. As ClickHouse does."""
        for table in ("stranger", "stranger_pair"):
            for skip in ("", ", skip_unavailable_shards = 1"):
                self.fails((516,), f"Received from 127.0.0.1:{self.cluster.first.port}", "Authentication failed", table=table,
                           settings=PATIENCE + skip)

    def test_a_shard_without_the_table(self):
        first, initiator = self.cluster.first, self.cluster.initiator
        client(first, "RENAME TABLE local TO away")
        try:
            self.fails((279,), f"There is no table `default`.`local` on server: 127.0.0.1:{self.proxy.port}",
                       "shard 1 of cluster alone", kept=1)
            self.assertEqual(self.ask("pair"), BOTH)
            for mode in ("unavailable", "unavailable_or_table_missing", "unavailable_or_exception_before_processing"):
                self.assertEqual(self.ask("alone", settings=f"skip_unavailable_shards = 1, skip_unavailable_shards_mode = '{mode}'"),
                                 ONE)
        finally:
            client(first, "RENAME TABLE away TO local")
        self.assertEqual(running_queries(initiator), 0)

    def test_an_exception_before_the_first_row(self):
        client(self.cluster.first, "RENAME TABLE local TO away")
        client(self.cluster.first, "CREATE TABLE local (k UInt64, w UInt64) ENGINE = MergeTree ORDER BY k")
        client(self.cluster.first, "INSERT INTO local SELECT number + 5000, number FROM numbers(10)")
        query = "SELECT count(), sum(k) FROM dist WHERE throwIf(k >= 5000) = 0"
        skip = "skip_unavailable_shards = 1, skip_unavailable_shards_mode = "
        try:
            self.fails((395,), f"Received from 127.0.0.1:{self.proxy.port}", query=query, kept=1)
            self.fails((395,), query=query, settings=skip + "'unavailable_or_table_missing'", kept=1)
            self.assertEqual(self.ask("alone", query, skip + "'unavailable_or_exception_before_processing'"), ONE)
        finally:
            client(self.cluster.first, "DROP TABLE local")
            client(self.cluster.first, "RENAME TABLE away TO local")
        self.assertEqual(self.ask("alone"), BOTH)

    def test_limits_of_what_may_be_skipped(self):
        self.proxy.fault = Fault("reset")
        skip = PATIENCE + ", skip_unavailable_shards = 1, max_skip_unavailable_shards_"
        for limit, ok in (("num = 1", True), ("ratio = 0.5", True), ("ratio = 0.4", False)):
            if ok:
                self.assertEqual(self.ask("alone", settings=skip + limit), ONE)
            else:
                self.fails((904,), "Too many unavailable shards: 1 out of 2 total shards are unavailable (50.0%)",
                           settings=skip + limit)
        self.assertEqual(self.ask("dead", settings=skip + "num = 2"), "")
        self.fails((904,), "Too many unavailable shards: 2 out of 2", "max_skip_unavailable_shards_num is set to 1", table="dead",
                   settings=skip + "num = 1")

    def test_a_deadline_ends_the_wait_for_a_stalled_shard(self):
        self.proxy.fault = Fault("stall")
        self.fails((159,), settings="max_execution_time = 1", seconds=6)

    def test_an_error_of_one_shard_ends_the_others(self):
        self.proxy.fault = Fault("reset", answer_bytes=2000)
        query = "SELECT max(sipHash64(number)) FROM cluster('dist', numbers(1000000000000))"
        self.fails((32, 33, 210), "while receiving packet from", query=query, seconds=15)
        self.assertTrue(wait_until(lambda: running_queries(self.cluster.second) == 0, seconds=3))


if __name__ == "__main__":
    unittest.main()
