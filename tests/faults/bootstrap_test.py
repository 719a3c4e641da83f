"""Nodes that form their cluster by rank: who is let in, what a half-formed group answers, and what happens when ranks die."""
import functools
import os
import pathlib
import signal
import socket
import struct
import tempfile
import unittest

from tests.support.node import Node, client, free_ports, has_clickhouse_client
from tests.support.waiting import wait_until

wait_for = functools.partial(wait_until, seconds=60)

NAME = "band"
NOT_FORMED, TIMED_OUT, REFUSED, OTHER_CLUSTER, OTHER_SECRET = 667, 159, 318, 714, 516
LAUNCHERS = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS",
             "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE")


def member(meeting, rank, world_size=3, cluster=NAME, timeout=60, name=None, **more):
    """A node that is not started yet."""
    keys = {"cluster": cluster, "init_method": f"'{meeting}'", "rank": rank, "world_size": world_size, "timeout": timeout, **more}
    section = ", ".join(f"{key}: {value}" for key, value in keys.items())
    return Node(f"shardd: {{bootstrap: {{{section}}}}}\n", name=name or f"rank{rank}")


def ask(node, query):
    return client(node, query).strip()


def refusal(node, query=f"SELECT count() FROM cluster('{NAME}', system.one)"):
    """What a query on the cluster is told: the code and the words; code 0 and the answer when it is formed."""
    done = client(node, query, check=False)
    words = (done.stderr or done.stdout).decode(errors="replace")
    code = next((int(line.split()[1].rstrip(".")) for line in words.splitlines() if line.startswith("Code: ")), 0)
    return code, words


def activity(node):
    """host:port of the cluster's shards in their order, and whether each is active."""
    rows = ask(node, f"SELECT port, is_active FROM system.clusters WHERE cluster = '{NAME}' ORDER BY shard_num")
    return [tuple(int(field) for field in row.split("\t")) for row in rows.splitlines()]


@unittest.skipUnless(has_clickhouse_client(), "clickhouse-client is not installed")
class BootstrapTest(unittest.TestCase):
    def setUp(self):
        self.meeting_port = free_ports(1)[0]
        self.meeting = f"tcp://127.0.0.1:{self.meeting_port}"

    def member(self, rank, **options):
        node = member(options.pop("meeting", self.meeting), rank, **options)
        self.addCleanup(node.__exit__)
        return node

    def start(self, rank, **options):
        return self.member(rank, **options).start()

    def assert_formed(self, *nodes, shards=3):
        for node in nodes:
            query = f"SELECT count() FROM cluster('{NAME}', system.one)"
            answer = wait_for(lambda n=node: refusal(n)[0] == 0 and ask(n, query))
            self.assertEqual(answer, str(shards), f"{node.name}: {refusal(node)}")

    def assert_refused(self, node, code, *words):
        def told():  # what a node knows of the others comes a moment after it listens
            found, text = refusal(node)
            return found == code and all(word in text for word in words)

        self.assertTrue(wait_for(told), f"{node.name}: {refusal(node)}, not {words}")
        self.assertEqual(ask(node, "SELECT 1"), "1", "local queries are served all the same")

    def test_three_nodes_in_any_order_form_an_ordinary_cluster(self):
        two, zero = self.start(2), self.start(0)
        self.assert_refused(two, NOT_FORMED, "2 of 3 nodes are there, missing ranks: 1")
        self.assert_refused(zero, NOT_FORMED, "missing ranks: 1")
        self.assertEqual(activity(zero), [])
        one = self.start(1)
        nodes = [zero, one, two]
        self.assert_formed(*nodes)
        for node in nodes:
            self.assertEqual(activity(node), [(n.port, 1) for n in nodes])
        names = ask(two, f"SELECT shard_num, shard_name, is_local FROM system.clusters WHERE cluster = '{NAME}' ORDER BY 1")
        self.assertEqual(names, "1\trank_0\t0\n2\trank_1\t0\n3\trank_2\t1")
        for node in nodes:
            client(node, "CREATE TABLE t (k UInt64) ENGINE = MergeTree ORDER BY k")
        client(one, f"CREATE TABLE d (k UInt64) ENGINE = Distributed({NAME}, default, t, k)")
        client(one, "INSERT INTO d SELECT number FROM numbers(30)", "--insert_distributed_sync=1")
        self.assertEqual([ask(node, "SELECT groupArray(k % 3) = arrayWithConstant(10, any(k % 3)), any(k % 3) FROM t") for node in nodes],
                         ["1\t0", "1\t1", "1\t2"])
        self.assertEqual(ask(one, "SELECT sum(k), count() FROM d"), "435\t30")

    def test_an_initiator_holds_no_shard(self):
        nodes = [self.start(0, role="initiator"), self.start(1, role="shard"), self.start(2)]
        self.assert_formed(*nodes, shards=2)
        self.assertEqual(activity(nodes[0]), [(nodes[1].port, 1), (nodes[2].port, 1)])

    def test_a_duplicate_rank_is_refused_and_both_are_named(self):
        first = [self.start(0), self.start(1)]
        second = self.start(1, name="second")
        self.assert_refused(second, REFUSED, f"rank 1 (127.0.0.1:{second.port}", f"is taken by rank 1 (127.0.0.1:{first[1].port}")
        again = self.start(0, name="second zero")
        self.assert_refused(again, REFUSED, f"rank 0 (127.0.0.1:{again.port}", f"is taken by rank 0 (127.0.0.1:{first[0].port}")
        self.assert_formed(*first, self.start(2))
        # It comes in once the place is free.
        first[1].stop(signal.SIGKILL)
        self.assert_formed(second)

    def test_the_deadline_names_the_missing_rank(self):
        zero, one = self.start(0, timeout=2), self.start(1, timeout=2)
        for node in (zero, one):
            self.assert_refused(node, TIMED_OUT, "was not formed within 2 s", "missing ranks: 2")
        self.assert_formed(zero, one, self.start(2))

    def test_a_node_that_waits_can_be_stopped(self):
        for rank in (0, 1):
            node = self.start(rank)
            self.assert_refused(node, NOT_FORMED)
            self.assertEqual(node.stop(signal.SIGTERM), 0)

    def test_another_world_size_cluster_or_backend_is_refused(self):
        zero = self.start(0)
        wrong_size = self.start(1, world_size=4)
        self.assert_refused(wrong_size, REFUSED, f"rank 1 (127.0.0.1:{wrong_size.port}", "has world size 4",
                            f"rank 0 (127.0.0.1:{zero.port}", "has world size 3")
        wrong_name = self.start(1, cluster="other")
        code, words = refusal(wrong_name, "SELECT count() FROM cluster('other', system.one)")
        self.assertTrue(wait_for(lambda: refusal(wrong_name, "SELECT count() FROM cluster('other', system.one)")[0] == OTHER_CLUSTER), (code, words))
        words = refusal(wrong_name, "SELECT count() FROM cluster('other', system.one)")[1]
        self.assertIn("looks for cluster 'other'", words)
        self.assertIn(f"rank 0 (127.0.0.1:{zero.port}", words)
        self.assert_refused(zero, NOT_FORMED, "missing ranks: 1, 2")

    def test_a_node_that_restarts_has_its_rank_again(self):
        nodes = [self.start(rank) for rank in range(3)]
        self.assert_formed(*nodes)
        nodes[1].stop(signal.SIGKILL)
        for node in (nodes[0], nodes[2]):
            self.assertTrue(wait_for(lambda n=node: [active for _, active in activity(n)] == [1, 0, 1]), activity(node))
        self.assertEqual(refusal(nodes[0])[0], 279)
        # At another port: everyone learns it.
        nodes[1].port = free_ports(1)[0]
        nodes[1].config_file.write_text(nodes[1].config_file.read_text().replace("tcp_port: ", f"tcp_port: {nodes[1].port} # "))
        nodes[1].start()
        self.assert_formed(*nodes)
        for node in nodes:
            self.assertTrue(wait_for(lambda n=node: activity(n) == [(m.port, 1) for m in nodes]), activity(node))

    def test_the_group_outlives_rank_zero_and_takes_it_back(self):
        nodes = [self.start(rank) for rank in range(3)]
        self.assert_formed(*nodes)
        nodes[0].stop(signal.SIGKILL)
        self.assertTrue(wait_for(lambda: [active for _, active in activity(nodes[1])] == [0, 1, 1]))
        self.assertEqual(refusal(nodes[1])[0], 279)
        skip = f"SELECT count() FROM cluster('{NAME}', system.one) SETTINGS skip_unavailable_shards = 1"
        self.assertEqual(ask(nodes[1], skip), "2")
        # Ranks are seen to die and to come back without rank 0 too.
        nodes[2].stop(signal.SIGKILL)
        self.assertTrue(wait_for(lambda: [active for _, active in activity(nodes[1])] == [0, 1, 0]))
        nodes[0].start()
        self.assertTrue(wait_for(lambda: refusal(nodes[0])[0] == 279), refusal(nodes[0]))
        self.assertEqual([active for _, active in activity(nodes[0])], [1, 1, 0])
        nodes[2].start()
        self.assert_formed(*nodes)

    def test_a_hanging_node_is_seen(self):
        nodes = [self.start(rank, world_size=2) for rank in range(2)]
        self.assert_formed(*nodes, shards=2)
        nodes[1].process.send_signal(signal.SIGSTOP)
        try:
            self.assertTrue(wait_for(lambda: [active for _, active in activity(nodes[0])] == [1, 0]))
        finally:
            nodes[1].process.send_signal(signal.SIGCONT)
        self.assertTrue(wait_for(lambda: [active for _, active in activity(nodes[0])] == [1, 1]))

    def test_a_terminated_node_says_good_bye(self):
        nodes = [self.start(rank) for rank in range(3)]
        self.assert_formed(*nodes)
        self.assertEqual(nodes[2].stop(signal.SIGTERM), 0)
        for node in nodes[:2]:
            self.assertTrue(wait_for(lambda n=node: [active for _, active in activity(n)] == [1, 1, 0], seconds=5))
        self.assertEqual(nodes[0].stop(signal.SIGTERM), 0)
        self.assertTrue(wait_for(lambda: [active for _, active in activity(nodes[1])] == [0, 1, 0], seconds=5))

    def test_a_secret_is_proved(self):
        zero, one = self.start(0, world_size=2, secret="tune"), self.start(1, world_size=2, secret="tune")
        self.assert_formed(zero, one, shards=2)
        self.assertEqual(ask(one, f"SELECT any(currentUser()) FROM cluster('{NAME}', system.one)"), "default")
        for secret in ({"secret": "noise"}, {}):
            stranger = self.start(1, world_size=2, name="stranger", **secret)
            self.assert_refused(stranger, OTHER_SECRET, f"rank 0 at 127.0.0.1:{self.meeting_port}", "secret")
        self.assert_formed(zero, one, shards=2)

    def test_nonsense_at_the_meeting_place(self):
        zero = self.start(0, world_size=2)
        junk = [b"", b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 5000, struct.pack("<I", 2**32 - 1), struct.pack("<I", 0), os.urandom(3000),
                struct.pack("<I", 28) + b"\x01SHARDBTS\x09\x00\x00" + b"n" * 16]
        answers = []
        self.assert_refused(zero, NOT_FORMED, "missing ranks: 1")  # its door is open
        for bytes_ in junk:
            with socket.create_connection(("127.0.0.1", self.meeting_port), timeout=5) as one:
                one.settimeout(1)
                one.sendall(bytes_)
                received = b""
                try:
                    while chunk := one.recv(65536):
                        received += chunk
                except OSError:
                    pass
                answers.append(received)
        self.assertTrue(all(answer.startswith(b"SHARDBTS\x01\x00\x00") for answer in answers), answers)
        self.assertIn(b"version 9 of the bootstrap protocol", answers[-1])
        self.assert_formed(zero, self.start(1, world_size=2), shards=2)

    def test_a_shared_file(self):
        with tempfile.TemporaryDirectory(prefix="shardd_test_") as folder:
            path = pathlib.Path(folder) / "board"
            meeting = f"file://{path}"
            nodes = [self.start(rank, meeting=meeting, role="both" if rank else "initiator") for rank in range(3)]
            self.assert_formed(*nodes, shards=2)
            double = self.start(1, meeting=meeting, name="double")
            self.assert_refused(double, REFUSED, f"is taken by rank 1 (127.0.0.1:{nodes[1].port}")
            double.stop()
            wrong_size = self.start(1, meeting=meeting, world_size=4)
            self.assert_refused(wrong_size, REFUSED, "has world size 4", "has world size 3")
            wrong_size.stop()
            nodes[2].stop(signal.SIGKILL)
            self.assertTrue(wait_for(lambda: [active for _, active in activity(nodes[0])] == [1, 0]))
            nodes[2].start()
            self.assert_formed(*nodes, shards=2)
            # All are killed: what the file holds is of an earlier formation.
            for node in nodes:
                node.stop(signal.SIGKILL)
            self.assertTrue(path.exists())
            for node in nodes:
                node.start()
            self.assert_formed(*nodes, shards=2)
            for node in nodes:
                self.assertEqual(node.stop(signal.SIGTERM), 0)
            self.assertFalse(path.exists(), "the last one that leaves removes the file")

    def test_a_file_of_somebody_else_is_left_alone(self):
        with tempfile.TemporaryDirectory(prefix="shardd_test_") as folder:
            path = pathlib.Path(folder) / "letter"
            path.write_text("dear diary, this is not a bootstrap file, and it is long enough to have a head of its own " * 3)
            before = path.read_bytes()
            node = self.start(0, meeting=f"file://{path}", world_size=2)
            self.assert_refused(node, NOT_FORMED, "this is another kind of file")
            node.stop()
            self.assertEqual(path.read_bytes(), before)


@unittest.skipUnless(has_clickhouse_client(), "clickhouse-client is not installed")
class LaunchedTest(unittest.TestCase):
    """env://: rank and meeting place come from the launcher's variables."""

    def setUp(self):
        self.before = dict(os.environ)
        for name in LAUNCHERS:
            os.environ.pop(name, None)

        def restore():
            os.environ.clear()
            os.environ.update(self.before)
        self.addCleanup(restore)

    def start(self, node, **variables):
        self.addCleanup(node.__exit__)
        os.environ.update({name: str(value) for name, value in variables.items()})
        node.start()
        for name in variables:
            os.environ.pop(name)
        return node

    def test_nothing_set_is_a_node_alone(self):
        node = self.start(Node(f"shardd: {{bootstrap: {{cluster: {NAME}}}}}\n"))
        self.assertEqual(ask(node, f"SELECT count() FROM cluster('{NAME}', system.one)"), "1")
        self.assertIn("this node runs alone", (node.home / "shardd.log").read_text())

    def test_variables_of_torch_and_of_others(self):
        master = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_ports(1)[0]}
        config = f"shardd: {{bootstrap: {{cluster: {NAME}}}}}\n"
        nodes = [self.start(Node(config, name="torch"), RANK=0, WORLD_SIZE=3, **master),
                 self.start(Node(config, name="mpi"), OMPI_COMM_WORLD_RANK=1, OMPI_COMM_WORLD_SIZE=3, **master),
                 self.start(Node(config, name="slurm"), SLURM_PROCID=2, SLURM_NTASKS=3, **master)]
        for node in nodes:
            answer = wait_for(lambda n=node: refusal(n)[0] == 0 and ask(n, f"SELECT count() FROM cluster('{NAME}', system.one)"))
            self.assertEqual(answer, "3", refusal(node))

    def test_half_of_the_variables_stop_the_start(self):
        node = Node(f"shardd: {{bootstrap: {{cluster: {NAME}}}}}\n")
        with self.assertRaisesRegex(RuntimeError, "there is a rank and no world_size"):
            self.start(node, RANK=1)

    def test_several_on_one_machine_from_one_file(self):
        master = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_ports(1)[0], "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2}
        with tempfile.TemporaryDirectory(prefix="shardd_test_") as home:
            for _ in range(50):  # two ports beside each other that nobody has
                port = free_ports(1)[0]
                with socket.socket() as next_one:
                    try:
                        next_one.bind(("127.0.0.1", port + 1))
                        break
                    except OSError:
                        continue
            config = f"shardd: {{bootstrap: {{cluster: {NAME}}}}}\n"
            nodes = []
            for rank in range(2):
                node = Node(config, port=port, name=f"local{rank}", home=home)
                node.port = port + rank
                nodes.append(self.start(node, RANK=rank, LOCAL_RANK=rank, **master))
            for node in nodes:
                self.assertTrue(wait_for(lambda n=node: refusal(n)[0] == 0), refusal(node))
            self.assertEqual(activity(nodes[0]), [(port, 1), (port + 1, 1)])
            for node in nodes:
                node.stop()
            self.assertEqual(sorted(entry.name for entry in (pathlib.Path(home) / "data").iterdir()), ["rank_0", "rank_1"])
            self.assertTrue((pathlib.Path(home) / "shardd.log.rank_1").exists())


if __name__ == "__main__":
    unittest.main()
