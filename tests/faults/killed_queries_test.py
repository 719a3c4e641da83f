"""A query that ends at any moment, for any reason, gives everything back: memory, files, connections, its place."""
import os
import pathlib
import random
import socket
import threading
import time
import unittest

from tests.support.node import Node
from tests.support.waiting import wait_until

try:
    from clickhouse_driver import Client
    from clickhouse_driver.errors import Error
except ImportError:
    Client = None

ENDINGS = 1000
WORKERS = 4
LONGEST_SECONDS = 0.03

# What takes memory, threads and disk in different ways; {n} rows, some of them by way of the disk.
QUERIES = (
    "SELECT number, count(), sum(number) FROM numbers({n}) GROUP BY number",
    "SELECT toString(number), max(toString(number)) FROM numbers({n}) GROUP BY toString(number) WITH TOTALS",
    "SELECT number % 1000, uniqExact(number), groupArray(number) FROM numbers({n}) GROUP BY number % 1000",
    "SELECT number % 7, count(DISTINCT number) FROM numbers({n}) GROUP BY number % 7",
    "SELECT number % 100 AS a, number % 10000 AS b, uniq(number) FROM numbers({n}) GROUP BY ROLLUP(a, b)",
    "SELECT number % 100 AS a, number AS b, count() FROM numbers({n}) GROUP BY GROUPING SETS ((a), (b), (a, b))",
    "SELECT number FROM numbers({n}) ORDER BY cityHash64(number)",
    "SELECT DISTINCT intDiv(number, 2) FROM numbers({n})",
    "SELECT count() FROM numbers({n}) AS l INNER JOIN (SELECT number FROM numbers({n})) AS r ON l.number = r.number",
    "SELECT number, groupUniqArray(number) FROM remote('127.0.0.1:{port}', numbers({n})) GROUP BY number",
    "SELECT k, sum(n) FROM t GROUP BY k ORDER BY sum(n) DESC LIMIT 5",
)


def open_things(process):
    """What the process holds open: (connections to others, files without a name). Connections to itself are those
    of its pool of shards, kept warm on purpose."""
    inodes, nameless = set(), 0
    folder = f"/proc/{process.pid}/fd"
    for name in os.listdir(folder):
        try:
            target = os.readlink(f"{folder}/{name}")
        except FileNotFoundError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[len("socket:["):-1])
        nameless += "tmp_" in target and target.endswith("(deleted)")
    established = "01"
    ends = []
    for line in pathlib.Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[3] == established and words[9] in inodes:
            ends.append((words[1], words[2]))
    return len([end for end in ends if (end[1], end[0]) not in ends]), nameless


@unittest.skipIf(Client is None, "python3-clickhouse-driver is not installed")
class KilledQueriesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = Node("max_server_memory_usage: 2G\n").start()
        cls.client = Client("127.0.0.1", port=cls.node.port)
        cls.client.execute("CREATE TABLE t (k UInt32, n UInt64) ENGINE = MergeTree ORDER BY k")
        cls.client.execute("INSERT INTO t SELECT number * 7 % 50021, number FROM numbers(200000)")

    @classmethod
    def tearDownClass(cls):
        cls.client.disconnect()
        cls.node.__exit__()

    def setUp(self):
        self.unanswered = []

    def ask(self, query):
        return self.client.execute(query)[0][0]

    def settings(self, rng):
        settings = {"max_threads": rng.choice([1, 2, 4]), "max_block_size": rng.choice([1000, 65409])}
        if rng.random() < 0.6:
            settings |= {"max_bytes_before_external_group_by": rng.choice([1, 1000000]),
                         "group_by_two_level_threshold": rng.choice([1, 1000])}
        return settings

    def end_one(self, client, killer, rng, number):
        """One query, and one way to end it. An error is as good as an answer that came first."""
        query = rng.choice(QUERIES).format(n=rng.choice([1000, 50000, 300000]), port=self.node.port)
        settings = self.settings(rng)
        way = rng.choice(["kill", "leave", "memory", "time", "cancel"])
        if way == "memory":
            settings["max_memory_usage"] = rng.randrange(100000, 20000000)
        if way == "time":
            settings["max_execution_time"] = rng.uniform(0.001, LONGEST_SECONDS)
        query += " SETTINGS " + ", ".join(f"{name} = {value}" for name, value in settings.items())
        identifier = f"ended-{number}"
        try:
            if way in ("memory", "time"):
                client.execute(query, query_id=identifier)
                return
            client.establish_connection({})
            client.connection.send_query(query, query_id=identifier)
            client.connection.send_external_tables(None)
            time.sleep(rng.uniform(0, LONGEST_SECONDS))
            if way == "kill":
                killer.execute(f"KILL QUERY WHERE query_id = '{identifier}'")
            if way == "cancel":
                client.connection.send_cancel()
            if way != "leave":
                client.receive_result()
        except socket.timeout:
            self.unanswered.append((way, query))
        except (Error, OSError, EOFError):
            pass
        finally:
            if way != "memory" and way != "time":
                client.disconnect()  # a conversation that was cut in the middle cannot go on

    def end_many(self, seed, count):
        rng = random.Random(seed)
        client, killer = (Client("127.0.0.1", port=self.node.port, send_receive_timeout=30) for _ in range(2))
        for number in range(count):
            self.end_one(client, killer, rng, f"{seed}-{number}")
        client.disconnect()
        killer.disconnect()

    def wait_for(self, condition, what):
        if not wait_until(condition, seconds=20):
            self.fail(what())

    def test_everything_comes_back(self):
        # Twice: what is kept on purpose (decoded columns, threads) is there after the first time.
        self.end_many(0, 50)
        running = "SELECT count() FROM system.processes WHERE query NOT LIKE '%system.processes%'"
        memory = "SELECT value FROM system.metrics WHERE metric = 'MemoryTracking'"
        self.wait_for(lambda: self.ask(running) == 0, lambda: self.ask(running))
        memory_before = self.ask(memory)
        self.wait_for(lambda: open_things(self.node.process) == (1, 0), lambda: open_things(self.node.process))

        workers = [threading.Thread(target=self.end_many, args=(seed, ENDINGS // WORKERS)) for seed in range(1, WORKERS + 1)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

        self.assertEqual(self.unanswered, [])
        self.assertIsNone(self.node.process.poll(), self.node.last_words())
        self.wait_for(lambda: self.ask(running) == 0, lambda: f"{self.ask(running)} queries still run")
        self.wait_for(lambda: self.ask(memory) <= memory_before + (1 << 20),
                      lambda: f"{self.ask(memory)} bytes are taken, {memory_before} before")
        self.wait_for(lambda: open_things(self.node.process) == (1, 0),
                      lambda: f"{open_things(self.node.process)} connections and nameless files")
        self.assertEqual(os.listdir(self.node.home / "data" / "tmp"), [])
        self.assertEqual(self.ask("SELECT count() FROM (SELECT number FROM numbers(100000) GROUP BY number)"), 100000)
        self.assertEqual(self.ask("SELECT sum(c) FROM (SELECT k, count() AS c FROM t GROUP BY k)"), 200000)


class LeftoversTest(unittest.TestCase):
    def test_the_start_removes_what_a_killed_daemon_left_and_nothing_else(self):
        with Node() as node:
            folder = pathlib.Path(node.home / "data" / "tmp")
            node.stop(9)
            (folder / "tmp_1_1").write_bytes(b"groups of somebody who is gone")
            (folder / "other").write_bytes(b"not ours")
            node.start()
            self.assertEqual(os.listdir(folder), ["other"])


if __name__ == "__main__":
    unittest.main()
