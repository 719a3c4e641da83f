"""INSERT into Distributed tables that is acknowledged before the shards have the rows: nothing of it is lost."""
import functools
import signal
import subprocess
import threading
import time
import unittest

from tests.support.driver import ask as client, has_driver
from tests.support.node import Node, free_ports
from tests.support.waiting import wait_until

wait_for = functools.partial(wait_until, seconds=30)

#: Queues are looked at often, so that tests take seconds.
QUICK = "profiles: {default: {distributed_background_insert_sleep_time_ms: 20, distributed_background_insert_max_sleep_time_ms: 200, connections_with_failover_max_tries: 1}}\n"


def topology(ports, internal_replication=0, replicas=1, extra=""):
    shards = []
    for i in range(0, len(ports), replicas):
        members = ", ".join(f"{{host: 127.0.0.1, port: {port}}}" for port in ports[i:i + replicas])
        shards.append(f"      - internal_replication: {internal_replication}\n        replica: [{members}]")
    return QUICK + "remote_servers:\n  c:\n    shard:\n" + "\n".join(shards) + "\n" + extra


def queued(node, column="data_files"):
    return int(client(node, f"SELECT sum({column}) FROM system.distribution_queue"))


class Cluster:
    """Two shards and an initiator; a context manager."""

    def __init__(self, engine="MergeTree ORDER BY id", shards=2, internal_replication=0, replicas=1, settings=""):
        self.ports = free_ports(shards + 1)
        config = topology(self.ports[:shards], internal_replication, replicas)
        self.shards = [Node(config, port=self.ports[i], name=f"shard{i + 1}") for i in range(shards)]
        self.initiator = Node(config, port=self.ports[shards], name="initiator")
        self.engine = engine
        self.settings = settings

    def __enter__(self):
        for node in [*self.shards, self.initiator]:
            node.start()
        for shard in self.shards:
            client(shard, f"CREATE TABLE t (id UInt64, v String) ENGINE = {self.engine}")
        client(self.initiator, f"CREATE TABLE d (id UInt64, v String) ENGINE = Distributed(c, default, t, id){self.settings}")
        return self

    def __exit__(self, *details):
        for node in [*self.shards, self.initiator]:
            node.__exit__(*details)

    def total(self, query="SELECT count() FROM t"):
        return sum(int(client(shard, query)) for shard in self.shards)


@unittest.skipUnless(has_driver(), "python3-clickhouse-driver is not installed")
class AsyncInsertTest(unittest.TestCase):
    def test_rows_reach_their_shards_behind_the_insert(self):
        with Cluster() as cluster:
            client(cluster.initiator, "SYSTEM STOP DISTRIBUTED SENDS d")
            client(cluster.initiator, "INSERT INTO d SELECT number, 'x' FROM numbers(1000)")
            self.assertEqual(cluster.total(), 0)
            self.assertEqual(
                client(cluster.initiator, "SELECT database, table, is_blocked, error_count, data_files, data_compressed_bytes > 0, broken_data_files, "
                       "broken_data_compressed_bytes, last_exception, extract(data_path, '[^/]*/$') FROM system.distribution_queue ORDER BY data_path"),
                "default\td\t1\t0\t1\t1\t0\t0\t\tshard1_replica1/\ndefault\td\t1\t0\t1\t1\t0\t0\t\tshard2_replica1/\n")
            client(cluster.initiator, "SYSTEM FLUSH DISTRIBUTED d")
            self.assertEqual([client(shard, "SELECT count(), sum(id % 2) FROM t") for shard in cluster.shards], ["500\t0\n", "500\t500\n"])
            client(cluster.initiator, "SYSTEM START DISTRIBUTED SENDS")
            client(cluster.initiator, "INSERT INTO d SELECT number, 'y' FROM numbers(10)")
            self.assertTrue(wait_for(lambda: queued(cluster.initiator) == 0))
            self.assertEqual(cluster.total("SELECT count() FROM t WHERE v = 'y'"), 10)

    def test_a_shard_that_is_away_gets_its_rows_when_it_is_back(self):
        with Cluster() as cluster:
            cluster.shards[1].stop(signal.SIGKILL)
            client(cluster.initiator, "INSERT INTO d SELECT number, '' FROM numbers(100)")
            self.assertTrue(wait_for(lambda: queued(cluster.initiator, "error_count") > 1))
            self.assertEqual(client(cluster.shards[0], "SELECT count() FROM t"), "50\n")
            self.assertEqual(client(cluster.initiator, "SELECT last_exception LIKE 'Code: 279.%', last_exception_time > now() - 60 FROM "
                                    "system.distribution_queue WHERE data_files > 0"), "1\t1\n")
            failed = client(cluster.initiator, "SYSTEM FLUSH DISTRIBUTED d", check=False)
            self.assertEqual(failed.returncode, 279 % 256, failed.stderr)
            cluster.shards[1].start()
            self.assertTrue(wait_for(lambda: queued(cluster.initiator) == 0))
            self.assertEqual(client(cluster.shards[1], "SELECT count() FROM t"), "50\n")

    def test_the_initiator_is_killed_while_rows_come(self):
        """Every acknowledged row is there in the end; twice only what was being sent when the initiator died."""
        self.stream_with_kills(lambda cluster, _: cluster.initiator)

    def test_shards_are_killed_while_rows_come(self):
        self.stream_with_kills(lambda cluster, round_: cluster.shards[round_ % 2])

    def stream_with_kills(self, victim, rounds=4, rows_each=50):
        with Cluster() as cluster:
            acknowledged, tried, stopping = [], [], threading.Event()

            def insert():
                batch = 0
                while not stopping.is_set():
                    tried.append(batch)
                    done = client(cluster.initiator, f"INSERT INTO d SELECT {batch} * {rows_each} + number, 'b{batch}' FROM numbers({rows_each})", check=False)
                    if done.returncode == 0:
                        acknowledged.append(batch)
                    else:
                        time.sleep(0.05)
                    batch += 1

            writer = threading.Thread(target=insert)
            writer.start()
            try:
                for round_ in range(rounds):
                    so_far = len(acknowledged)
                    self.assertTrue(wait_for(lambda: len(acknowledged) > so_far + 4))
                    node = victim(cluster, round_)
                    node.stop(signal.SIGKILL)
                    node.start()
            finally:
                stopping.set()
                writer.join()
            self.assertTrue(wait_for(lambda: queued(cluster.initiator) == 0, seconds=60))
            counted = {}
            for shard in cluster.shards:
                for line in client(shard, "SELECT v, id, count() FROM t GROUP BY v, id").splitlines():
                    batch, row, count = line.split("\t")
                    counted.setdefault(int(batch[1:]), {})[int(row)] = int(count)
            for batch in acknowledged:
                self.assertEqual(sorted(counted.get(batch, {})), list(range(batch * rows_each, (batch + 1) * rows_each)), batch)
            self.assertLessEqual(set(counted), set(tried))
            # A file is sent again when its acknowledgement was lost: at most one of each queue a kill.
            twice = [(batch, rows) for batch, rows in counted.items() if max(rows.values()) > 1]
            self.assertLessEqual(len(twice), 2 * rounds, twice)
            self.assertEqual(queued(cluster.initiator, "broken_data_files"), 0)

    def test_no_internal_replication_writes_to_every_replica(self):
        for internal, expected in ((0, ["20\n", "20\n"]), (1, ["0\n", "20\n"])):
            with self.subTest(internal_replication=internal), Cluster(internal_replication=internal, replicas=2) as cluster:
                client(cluster.initiator, "INSERT INTO d SELECT number, '' FROM numbers(20)")
                client(cluster.initiator, "SYSTEM FLUSH DISTRIBUTED d")
                self.assertEqual(sorted(client(shard, "SELECT count() FROM t") for shard in cluster.shards), expected)

    def test_a_broken_file_is_put_aside_and_told(self):
        with Cluster() as cluster:
            client(cluster.initiator, "SYSTEM STOP DISTRIBUTED SENDS d")
            for number in range(3):
                client(cluster.initiator, f"INSERT INTO d SELECT {2 * number}, 'x'")
            files = sorted((cluster.initiator.home / "data/store").glob("*/*/shard1_replica1/*.bin"))
            self.assertEqual(len(files), 3)
            bytes_ = bytearray(files[1].read_bytes())
            bytes_[len(bytes_) // 2] ^= 0xFF
            files[1].write_bytes(bytes_)
            files[2].write_bytes(files[2].read_bytes()[:-3])
            client(cluster.initiator, "SYSTEM FLUSH DISTRIBUTED d")
            self.assertEqual(client(cluster.shards[0], "SELECT id FROM t"), "0\n")
            self.assertEqual(client(cluster.initiator, "SELECT data_files, broken_data_files, broken_data_compressed_bytes > 0 FROM system.distribution_queue"),
                             "0\t2\t1\n")
            self.assertTrue((files[1].parent / "broken" / files[1].name).exists())
            self.assertIn("its rows cannot be sent, the file is kept as", (cluster.initiator.home / "shardd.err.log").read_text())

    def test_drop_detach_truncate_rename(self):
        with Cluster(settings=" SETTINGS flush_on_detach = 0") as cluster:
            ask = lambda query: client(cluster.initiator, query)
            ask("SYSTEM STOP DISTRIBUTED SENDS d")
            ask("INSERT INTO d SELECT number, '' FROM numbers(10)")
            ask("TRUNCATE TABLE d")
            self.assertEqual(queued(cluster.initiator), 0)
            ask("INSERT INTO d SELECT number, '' FROM numbers(20)")
            ask("RENAME TABLE d TO e")
            self.assertEqual(ask("SELECT DISTINCT table FROM system.distribution_queue"), "e\n")
            ask("DETACH TABLE e")
            self.assertEqual(ask("SELECT count() FROM system.distribution_queue"), "0\n")
            ask("ATTACH TABLE e")
            self.assertTrue(wait_for(lambda: queued(cluster.initiator) == 0))
            self.assertEqual(cluster.total(), 20)
            ask("SYSTEM STOP DISTRIBUTED SENDS")
            ask("INSERT INTO e SELECT number, '' FROM numbers(30)")
            folder = next((cluster.initiator.home / "data/store").glob("*/*/shard1_replica1")).parent
            ask("DROP TABLE e")
            self.assertFalse(folder.exists())
            self.assertEqual(cluster.total(), 20)

    def test_what_is_queued_is_sent_before_detach_and_the_end(self):
        with Cluster() as cluster:
            client(cluster.initiator, "SYSTEM STOP DISTRIBUTED SENDS d")
            client(cluster.initiator, "INSERT INTO d SELECT number, '' FROM numbers(10)")
            client(cluster.initiator, "DETACH TABLE d")
            self.assertEqual(cluster.total(), 10)
            client(cluster.initiator, "ATTACH TABLE d")
            client(cluster.initiator, "SYSTEM STOP DISTRIBUTED SENDS d")
            client(cluster.initiator, "INSERT INTO d SELECT number, '' FROM numbers(10)")
            self.assertEqual(cluster.initiator.stop(), 0)
            self.assertEqual(cluster.total(), 20)
            cluster.initiator.start()

    def test_too_much_that_waits_is_refused(self):
        with Cluster(settings=" SETTINGS bytes_to_throw_insert = 10") as cluster:
            client(cluster.initiator, "SYSTEM STOP DISTRIBUTED SENDS d")
            client(cluster.initiator, "INSERT INTO d SELECT 1, 'x'")
            refused = client(cluster.initiator, "INSERT INTO d SELECT 2, 'y'", check=False)
            self.assertEqual(refused.returncode, 574 % 256)
            self.assertRegex(refused.stderr.decode(), r"Too many bytes pending for async INSERT: [\d.]+ B \(bytes_to_throw_insert=10.00 B\)")

    def test_a_full_disk_is_told_and_nothing_is_acknowledged(self):
        """A file may not grow beyond a limit (RLIMIT_FSIZE), as when the disk is full."""
        with Cluster() as cluster:
            pid = cluster.initiator.process.pid
            client(cluster.initiator, "SYSTEM STOP DISTRIBUTED SENDS d")
            limited = subprocess.run(["prlimit", f"--pid={pid}", "--fsize=200000:"], capture_output=True, check=False)
            if limited.returncode != 0:
                self.skipTest("prlimit is refused here")
            failed = client(cluster.initiator, "INSERT INTO d SELECT number, randomPrintableASCII(100) FROM numbers(100000)", check=False)
            self.assertNotEqual(failed.returncode, 0)
            self.assertIn("Cannot write file", failed.stderr.decode())
            self.assertEqual(queued(cluster.initiator), 0)
            client(cluster.initiator, "INSERT INTO d SELECT number, '' FROM numbers(10)")
            client(cluster.initiator, "SYSTEM FLUSH DISTRIBUTED d")
            self.assertEqual(cluster.total(), 10)


@unittest.skipUnless(has_driver(), "python3-clickhouse-driver is not installed")
class InsertRoutingTest(unittest.TestCase):
    def test_settings_that_choose_the_shard(self):
        with Cluster() as cluster:
            ask = lambda query, **more: client(cluster.initiator, query, **more)
            ask("INSERT INTO d SELECT 0, 'z' SETTINGS insert_shard_id = 2")
            self.assertEqual(client(cluster.shards[1], "SELECT * FROM t"), "0\tz\n")
            self.assertEqual(ask("INSERT INTO d SELECT 0, 'z' SETTINGS insert_shard_id = 3", check=False).returncode, 577 % 256)
            ask("CREATE TABLE keyless (id UInt64, v String) ENGINE = Distributed(c, default, t)")
            self.assertEqual(ask("INSERT INTO keyless SELECT 1, ''", check=False).returncode, 55)
            ask("INSERT INTO keyless SELECT number, 'r' FROM numbers(7) SETTINGS insert_distributed_one_random_shard = 1, distributed_foreground_insert = 1")
            self.assertEqual(cluster.total("SELECT count() FROM t WHERE v = 'r'"), 7)

    def test_the_local_replica_is_written_without_a_queue(self):
        port = free_ports(1)[0]
        with Node(topology([port]), port=port) as node:
            client(node, "CREATE TABLE t (id UInt64, m UInt64 MATERIALIZED id + 1) ENGINE = MergeTree ORDER BY id")
            client(node, "CREATE TABLE d (id UInt64, m UInt64 MATERIALIZED id + 1) ENGINE = Distributed(c, default, t, id)")
            client(node, "INSERT INTO d SELECT number FROM numbers(5)")
            self.assertEqual(client(node, "SELECT count(), sum(m) FROM t"), "5\t15\n")
            self.assertEqual(client(node, "SELECT count() FROM system.distribution_queue"), "0\n")
            client(node, "INSERT INTO d SELECT number FROM numbers(5) SETTINGS prefer_localhost_replica = 0")
            self.assertEqual(client(node, "SELECT count() FROM system.distribution_queue"), "1\n")
            client(node, "SYSTEM FLUSH DISTRIBUTED d")
            self.assertEqual(client(node, "SELECT count(), sum(m) FROM t"), "10\t30\n")
            self.assertEqual(client(node, "INSERT INTO d (id, m) SELECT 1, 100", check=False).returncode, 44)
            client(node, "INSERT INTO d (id, m) SELECT 1, 100 SETTINGS insert_allow_materialized_columns = 1")
            self.assertEqual(client(node, "SELECT count(), max(m) FROM t"), "11\t100\n")

    def test_shards_insert_what_they_select(self):
        with Cluster() as cluster:
            topology_ = "ENGINE = Distributed(c, default, {}, id)"
            for node in cluster.shards:
                client(node, "CREATE TABLE s (id UInt64, v String) ENGINE = MergeTree ORDER BY id")
                client(node, "CREATE TABLE d (id UInt64, v String) " + topology_.format("t"))
            ask = lambda query: client(cluster.initiator, query)
            ask("CREATE TABLE source (id UInt64, v String) " + topology_.format("s"))
            ask("INSERT INTO source SELECT number, 'x' FROM numbers(10) SETTINGS distributed_foreground_insert = 1")

            def rows_by_shard(name, query):
                ask(query)
                for node in [cluster.initiator, *cluster.shards]:
                    client(node, "SYSTEM FLUSH DISTRIBUTED d")
                return [client(shard, f"SELECT count(), sum(id % 2) FROM t WHERE v = '{name}'") for shard in cluster.shards]

            # Each shard has its own rows, whatever the key says; 1 and 0 obey the key.
            self.assertEqual(rows_by_shard("two", "INSERT INTO d SELECT id + 1, 'two' FROM source"), ["5\t5\n", "5\t0\n"])
            self.assertEqual(rows_by_shard("one", "INSERT INTO d SELECT source.id + 1, 'one' FROM source SETTINGS parallel_distributed_insert_select = 1"),
                             ["5\t0\n", "5\t5\n"])
            self.assertEqual(rows_by_shard("none", "INSERT INTO d SELECT id + 1, 'none' FROM source SETTINGS parallel_distributed_insert_select = 0"),
                             ["5\t0\n", "5\t5\n"])
            self.assertEqual(rows_by_shard("limit", "INSERT INTO d (v, id) SELECT 'limit', id FROM source ORDER BY id LIMIT 1"), ["1\t0\n", "1\t1\n"])
            # What needs the initiator takes the usual way.
            for name, query in (("in", "INSERT INTO d SELECT id + 1, 'in' FROM source WHERE id IN (SELECT number FROM numbers(4))"),
                                ("num", "INSERT INTO d SELECT id + 1, 'num' FROM source WHERE id < 4 AND _shard_num > 0"),
                                ("from", "INSERT INTO d SELECT number + 1, 'from' FROM numbers(4)")):
                self.assertEqual(rows_by_shard(name, query), ["2\t0\n", "2\t2\n"], query)
            failed = client(cluster.initiator, "INSERT INTO d SELECT throwIf(id = 3), '' FROM source", check=False)
            self.assertEqual(failed.returncode, 395 % 256, failed.stderr)

    def test_a_table_over_itself_ends(self):
        port = free_ports(1)[0]
        with Node(topology([port]), port=port) as node:
            client(node, "CREATE TABLE d (id UInt64) ENGINE = Distributed(c, default, d, id)")
            self.assertEqual(client(node, "INSERT INTO d SELECT 1", check=False).returncode, 581 % 256)


if __name__ == "__main__":
    unittest.main()
