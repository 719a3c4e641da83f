"""Clusters with a secret: queries run as their initial user, and a wrong secret opens nothing."""
import time
import unittest

from tests.support.node import Node, client, free_ports, has_clickhouse_client


def topology(port, secret, compression=1):
    return (f"users: {{default: {{password: ''}}, alice: {{password: wonder}}}}\n"
            f"remote_servers: {{sec: {{secret: {secret}, shard: {{replica: {{host: 127.0.0.1, port: {port}, compression: {compression}}}}}}}}}\n")


@unittest.skipUnless(has_clickhouse_client(), "clickhouse-client is not installed")
class SecretTest(unittest.TestCase):
    def test_the_initial_user_asks_the_shard(self):
        ports = free_ports(2)
        for compression in (0, 1):
            config = topology(ports[0], "topsecret", compression)
            with Node(config, port=ports[0], name="shard") as shard, Node(config, port=ports[1], name="initiator") as initiator:
                client(shard, "CREATE TABLE t (k UInt32) ENGINE = Memory")
                client(initiator, "INSERT INTO FUNCTION cluster('sec', default, t) SELECT number FROM numbers(5)")
                asked = client(initiator, "SELECT currentUser(), count() FROM cluster('sec', default, t) GROUP BY 1",
                               "--user=alice", "--password=wonder")
                self.assertEqual(asked, "alice\t5\n")

    def test_the_initial_user_inserts_on_the_shard(self):
        """Now and later: what waits on the disk remembers whose it is."""
        ports = free_ports(2)
        with Node(topology(ports[0], "topsecret"), port=ports[0], name="shard") as shard, \
                Node(topology(ports[0], "topsecret"), port=ports[1], name="initiator") as initiator:
            client(shard, "CREATE TABLE t (k UInt32, who String DEFAULT currentUser()) ENGINE = Memory")
            client(initiator, "CREATE TABLE d (k UInt32) ENGINE = Distributed(sec, default, t, k)")
            for number, options in enumerate((["--insert_distributed_sync=1"], [])):
                client(initiator, f"INSERT INTO d SELECT {number}", "--user=alice", "--password=wonder", *options)
            client(initiator, "INSERT INTO d SELECT 2")
            for _ in range(100):
                if client(shard, "SELECT count() FROM t") == "3\n":
                    break
                time.sleep(0.1)
            self.assertEqual(client(shard, "SELECT k, who FROM t ORDER BY k"), "0\talice\n1\talice\n2\tdefault\n")

    def test_another_secret_is_refused(self):
        ports = free_ports(2)
        with Node(topology(ports[0], "topsecret"), port=ports[0], name="shard") as shard, \
                Node(topology(ports[0], "guess"), port=ports[1], name="initiator") as initiator:
            client(shard, "CREATE TABLE t (k UInt32) ENGINE = Memory")
            done = client(initiator, "SELECT count() FROM cluster('sec', default, t)", check=False)
            self.assertEqual(done.returncode, 516 % 256, done.stderr)
            self.assertEqual(client(shard, "SELECT 1"), "1\n")


if __name__ == "__main__":
    unittest.main()
