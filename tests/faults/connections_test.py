"""Peers that vanish, hang, or send nonsense: the daemon stays well, and nothing of theirs stays behind."""
import pathlib
import random
import signal
import socket
import subprocess
import time
import unittest

from tests.support.cluster import NAME, Cluster
from tests.support.node import Node, client, has_clickhouse_client
from tests.support.waiting import running_queries, wait_until

CAPTURES = pathlib.Path(__file__).resolve().parents[1] / "wire"


def start_client(node, query, *options):
    return subprocess.Popen(["clickhouse-client", "--host", "127.0.0.1", "--port", str(node.port), "--query", query, *options],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def conversations():
    """What captured clients sent: lists of packets."""
    found = []
    for path in sorted(CAPTURES.glob("*.c2s.hex")):
        lines = path.read_text().splitlines()
        found.append([bytes.fromhex(line) for line in lines if line and not line.startswith("#")])
    return found


def mutate(packet, rng):
    changed = bytearray(packet)
    for _ in range(rng.choice([1, 1, 2, 5])):
        if not changed:
            break
        place = rng.randrange(len(changed))
        kind = rng.randrange(4)
        if kind == 0:
            changed[place] = rng.randrange(256)
        elif kind == 1:
            del changed[place:place + rng.randrange(1, 9)]
        elif kind == 2:
            changed[place:place] = rng.randbytes(rng.randrange(1, 9))
        else:
            changed[place] = 0xFF
    return bytes(changed)


def talk(port, packets, patience=0.02):
    with socket.create_connection(("127.0.0.1", port), timeout=5) as one:
        one.settimeout(patience)
        try:
            for packet in packets:
                one.sendall(packet)
            while one.recv(65536):
                pass
        except OSError:
            pass


@unittest.skipUnless(has_clickhouse_client(), "clickhouse-client is not installed")
class ClientFaultsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = Node().start()

    @classmethod
    def tearDownClass(cls):
        cls.node.__exit__()

    def tearDown(self):
        self.assertTrue(wait_until(lambda: running_queries(self.node) == 0), "a query outlives its client")

    def test_a_client_killed_while_the_query_computes(self):
        asking = start_client(self.node, "SELECT count() FROM numbers(1000000000000)")
        self.assertTrue(wait_until(lambda: running_queries(self.node) == 1))
        asking.kill()
        asking.communicate()
        self.assertTrue(wait_until(lambda: running_queries(self.node) == 0, seconds=2))

    def test_a_client_that_cancels(self):
        asking = start_client(self.node, "SELECT count() FROM numbers(1000000000000)")
        self.assertTrue(wait_until(lambda: running_queries(self.node) == 1))
        asking.send_signal(signal.SIGINT)
        asking.communicate(timeout=10)
        self.assertTrue(wait_until(lambda: running_queries(self.node) == 0, seconds=2))

    def test_a_client_that_does_not_read(self):
        asking = start_client(self.node, "SELECT number, toString(number) FROM numbers(1000000000000)")
        self.assertTrue(wait_until(lambda: running_queries(self.node) == 1))
        asking.send_signal(signal.SIGSTOP)
        time.sleep(1)
        resident = next(int(line.split()[1]) for line in
                        pathlib.Path(f"/proc/{self.node.process.pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
        self.assertLess(resident, 1_000_000, "a slow client costs memory without bounds")
        asking.kill()
        asking.communicate()

    def test_a_client_killed_while_it_inserts(self):
        client(self.node, "CREATE TABLE rows (a UInt64) ENGINE = MergeTree ORDER BY a")
        inserting = subprocess.Popen(["clickhouse-client", "--host", "127.0.0.1", "--port", str(self.node.port), "--query",
                                      "INSERT INTO rows FORMAT TabSeparated"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        inserting.stdin.write(b"1\n" * 10)
        inserting.stdin.flush()
        self.assertTrue(wait_until(lambda: running_queries(self.node) == 1))
        inserting.kill()
        inserting.wait()
        inserting.stdin.close()
        self.assertTrue(wait_until(lambda: running_queries(self.node) == 0))
        self.assertEqual(client(self.node, "SELECT count() FROM rows"), "0\n")

    def test_nonsense_on_the_wire(self):
        rng = random.Random(7)
        known = conversations()
        self.assertTrue(known)
        for _ in range(300):
            packets = list(rng.choice(known))
            place = rng.randrange(len(packets))
            packets[place] = mutate(packets[place], rng)
            talk(self.node.port, packets)
        for junk in (b"", b"GET / HTTP/1.0\r\n\r\n", b"\xff" * 100, rng.randbytes(100000)):
            talk(self.node.port, [junk])
        self.assertEqual(client(self.node, "SELECT 1"), "1\n")


@unittest.skipUnless(has_clickhouse_client(), "clickhouse-client is not installed")
class ShardFaultsTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(shards=2)
        self.cluster.__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)
        self.cluster.everywhere("CREATE TABLE local (k UInt32) ENGINE = MergeTree ORDER BY k")
        self.cluster.everywhere("INSERT INTO local SELECT number FROM numbers(10)")
        self.cluster.ask(f"CREATE TABLE dist (k UInt32) ENGINE = Distributed({NAME}, default, local, k)")

    def code(self, query, *options):
        return client(self.cluster.initiator, query, *options, check=False).returncode

    def test_a_shard_that_is_down(self):
        self.cluster.shards[1].stop(signal.SIGKILL)
        self.assertEqual(self.code("SELECT count() FROM dist"), 279 % 256)
        self.assertEqual(self.cluster.ask("SELECT count() FROM dist", "--skip_unavailable_shards=1"), "10\n")
        self.cluster.shards[1].start()
        self.assertEqual(self.cluster.ask("SELECT count() FROM dist"), "20\n")

    def test_a_shard_killed_in_the_middle(self):
        query = f"SELECT count() FROM cluster('{NAME}', numbers(1000000000000))"
        asking = start_client(self.cluster.initiator, query)
        self.assertTrue(wait_until(lambda: running_queries(self.cluster.shards[1]) == 1))
        self.cluster.shards[1].stop(signal.SIGKILL)
        _, words = asking.communicate(timeout=20)
        self.assertIn(asking.returncode, (32, 210), words)
        self.assertTrue(wait_until(lambda: running_queries(self.cluster.shards[0]) == 0), "the other shard still computes")
        self.assertEqual(running_queries(self.cluster.initiator), 0)

    def test_a_shard_that_hangs(self):
        shard = self.cluster.shards[1]
        self.cluster.ask("SELECT count() FROM dist")
        shard.process.send_signal(signal.SIGSTOP)
        try:
            began = time.monotonic()
            self.assertEqual(self.code("SELECT count() FROM dist", "--max_execution_time=1"), 159)
            self.assertLess(time.monotonic() - began, 5)
        finally:
            shard.process.send_signal(signal.SIGCONT)
        self.assertEqual(self.cluster.ask("SELECT count() FROM dist"), "20\n")

    def test_cancel_reaches_the_shards(self):
        asking = start_client(self.cluster.initiator, f"SELECT count() FROM cluster('{NAME}', numbers(1000000000000))")
        self.assertTrue(wait_until(lambda: all(running_queries(shard) == 1 for shard in self.cluster.shards)))
        asking.kill()
        asking.communicate()
        self.assertTrue(wait_until(lambda: all(running_queries(shard) == 0 for shard in self.cluster.shards), seconds=3))


if __name__ == "__main__":
    unittest.main()
