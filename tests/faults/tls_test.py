"""TLS: clients through tcp_port_secure, and an initiator to replicas with secure: 1."""
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import types
import unittest

from tests.support.driver import ask as client, has_driver
from tests.support.node import Node, free_ports

EXTENSIONS = "subjectAltName=DNS:localhost,IP:127.0.0.1"


class Authority:
    """A certificate authority in a folder of its own."""

    def __init__(self, folder, name="authority"):
        self.folder = pathlib.Path(folder)
        self.certificate = self.folder / f"{name}.crt"
        self.key = self.folder / f"{name}.key"
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj", f"/CN={name}",
                     "-keyout", self.key, "-out", self.certificate)

    @staticmethod
    def openssl(*words):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)

    def issue(self, name, extensions=EXTENSIONS):
        """The paths of a certificate and its key; an older one of the name is replaced."""
        certificate, key, request, config = (self.folder / f"{name}.{ending}" for ending in ("crt", "key", "csr", "ext"))
        config.write_text(extensions)
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        self.openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial", "-days", "1", "-out", certificate,
                     "-extfile", config)
        return certificate, key


def server_section(certificate, key, more=""):
    return f"server: {{certificateFile: {certificate}, privateKeyFile: {key}{more}}}"


@unittest.skipUnless(shutil.which("openssl") and has_driver(), "openssl or python3-clickhouse-driver is not installed")
class TlsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="shardd_test_")
        cls.authority = Authority(cls.folder)
        cls.certificate, cls.key = cls.authority.issue("shard")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def secure_node(self, more="", name="shard"):
        plain, secure = free_ports(2)
        node = Node(f"tcp_port_secure: {secure}\nopenSSL: {{{server_section(self.certificate, self.key, more)}}}\n", port=plain, name=name)
        node.secure_port = secure
        return node

    def initiator(self, shard, client_section, host="127.0.0.1"):
        return Node(f"openSSL: {{client: {{{client_section}}}}}\nremote_servers: {{c: {{shard: {{replica: {{host: {host}, port: {shard.secure_port}, secure: 1}}}}}}}}\n"
                    "profiles: {default: {connections_with_failover_max_tries: 1}}\n", name="initiator")

    def test_nodes_that_form_their_cluster_ask_each_other_by_tls(self):
        meeting, *ports = free_ports(5)
        nodes = []
        for rank in range(2):
            bootstrap = f"{{cluster: band, init_method: 'tcp://127.0.0.1:{meeting}', rank: {rank}, world_size: 2, backend: tls, secret: tune}}"
            client_section = f"client: {{caConfig: {self.authority.certificate}, loadDefaultCAFile: false}}"
            node = Node(f"tcp_port_secure: {ports[2 * rank + 1]}\nshardd: {{bootstrap: {bootstrap}}}\n"
                        f"openSSL: {{{server_section(self.certificate, self.key)}, {client_section}}}\n", port=ports[2 * rank], name=f"rank{rank}")
            self.addCleanup(node.__exit__)
            nodes.append(node.start())
        query = "SELECT count() FROM cluster('band', system.one)"
        deadline = time.monotonic() + 30
        while (answer := client(nodes[1], query, check=False)).returncode != 0 and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(client(nodes[1], query), "2\n")
        shown = client(nodes[0], "SELECT port, is_active FROM system.clusters WHERE cluster = 'band' ORDER BY shard_num")
        self.assertEqual(shown, f"{ports[1]}\t1\n{ports[3]}\t1\n")

    @staticmethod
    def connection_to(port):
        """The port over TLS may open a moment after the plain one, which is what a start waits for."""
        deadline = time.monotonic() + 10
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=10)
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def certificate_of(self, port, **options):
        context = ssl.create_default_context(cafile=str(self.authority.certificate))
        for name, value in options.items():
            setattr(context, name, value)
        with self.connection_to(port) as plain, context.wrap_socket(plain, server_hostname="localhost") as secure:
            return secure.getpeercert()["serialNumber"]

    def test_queries_and_inserts_through_tls(self):
        with self.secure_node() as shard, self.initiator(shard, f"caConfig: {self.authority.certificate}") as initiator:
            client(shard, "CREATE TABLE t (id UInt64, v String) ENGINE = MergeTree ORDER BY id")
            client(initiator, "CREATE TABLE d (id UInt64, v String) ENGINE = Distributed(c, default, t, id)")
            client(initiator, "INSERT INTO d SELECT number, 'queued' FROM numbers(100000)")
            client(initiator, "SYSTEM FLUSH DISTRIBUTED d")
            client(initiator, "INSERT INTO d SELECT number, 'waited' FROM numbers(100000) SETTINGS distributed_foreground_insert = 1")
            self.assertEqual(client(initiator, "SELECT v, count(), sum(id) FROM d GROUP BY v ORDER BY v"),
                             "queued\t100000\t4999950000\nwaited\t100000\t4999950000\n")
            self.assertEqual(client(initiator, f"SELECT count() FROM remoteSecure('127.0.0.1:{shard.secure_port}', default, t)"), "200000\n")

    def test_an_unknown_authority_is_refused(self):
        with self.secure_node() as shard:
            for section, words in (("loadDefaultCAFile: false", "certificate verify failed"),
                                   (f"caConfig: {Authority(self.folder, 'other').certificate}", "certificate verify failed (")):
                with self.initiator(shard, section) as initiator:
                    failed = client(initiator, "SELECT count() FROM cluster('c', system, one)", check=False)
                    self.assertIn(words, failed.stderr.decode())
            for section in ("verificationMode: none", "invalidCertificateHandler: {name: AcceptCertificateHandler}"):
                with self.initiator(shard, section) as initiator:
                    self.assertEqual(client(initiator, "SELECT count() FROM cluster('c', system, one)"), "1\n")

    def test_the_name_of_the_host_is_checked_on_demand(self):
        certificate, key = self.authority.issue("elsewhere", "subjectAltName=DNS:elsewhere.example")
        plain, secure = free_ports(2)
        with Node(f"tcp_port_secure: {secure}\nopenSSL: {{{server_section(certificate, key)}}}\n", port=plain, name="shard") as shard:
            shard.secure_port = secure
            believes = f"caConfig: {self.authority.certificate}"
            with self.initiator(shard, believes) as initiator:
                self.assertEqual(client(initiator, "SELECT count() FROM cluster('c', system, one)"), "1\n")
            with self.initiator(shard, believes + ", extendedVerification: true") as initiator:
                failed = client(initiator, "SELECT count() FROM cluster('c', system, one)", check=False)
                self.assertIn("IP address mismatch", failed.stderr.decode())

    def test_a_server_may_ask_for_a_certificate(self):
        strict = f", caConfig: {self.authority.certificate}, verificationMode: strict"
        own, own_key = self.authority.issue("initiator", "basicConstraints=CA:FALSE")
        with self.secure_node(strict) as shard:
            believes = f"caConfig: {self.authority.certificate}"
            with self.initiator(shard, f"{believes}, certificateFile: {own}, privateKeyFile: {own_key}") as initiator:
                self.assertEqual(client(initiator, "SELECT count() FROM cluster('c', system, one)"), "1\n")
            with self.initiator(shard, believes) as initiator:
                self.assertNotEqual(client(initiator, "SELECT count() FROM cluster('c', system, one)", check=False).returncode, 0)

    def test_hangup_takes_a_new_certificate(self):
        certificate, key = self.authority.issue("renewed")
        plain, secure = free_ports(2)
        with Node(f"tcp_port_secure: {secure}\nopenSSL: {{{server_section(certificate, key)}}}\n", port=plain) as node:
            before = self.certificate_of(secure)
            self.authority.issue("renewed")
            node.process.send_signal(signal.SIGHUP)
            for _ in range(100):
                after = self.certificate_of(secure)
                if after != before:
                    break
                time.sleep(0.05)
            self.assertNotEqual(after, before)
            # A broken one is told, and the last good one stays.
            pathlib.Path(certificate).write_text("no certificate")
            node.process.send_signal(signal.SIGHUP)
            log = node.home / "shardd.err.log"
            for _ in range(100):
                if log.exists() and "Cannot read the certificate" in log.read_text():
                    break
                time.sleep(0.05)
            self.assertIn(f"Cannot read the certificate {certificate}", log.read_text())
            self.assertEqual(self.certificate_of(secure), after)

    def test_protocols_can_be_closed(self):
        with self.secure_node(", disableProtocols: 'tlsv1,tlsv1_1,tlsv1_2'") as node:
            self.certificate_of(node.secure_port)
            with self.assertRaises((ssl.SSLError, ConnectionResetError)):
                self.certificate_of(node.secure_port, maximum_version=ssl.TLSVersion.TLSv1_2)

    def test_real_clients(self):
        with self.secure_node() as node:
            secure = types.SimpleNamespace(port=node.secure_port, name="secure")
            query = "SELECT sum(number), count() FROM numbers(1000000)"
            self.assertEqual(client(secure, query, connection={"secure": True, "ca_certs": str(self.authority.certificate)}), "499999500000\t1000000\n")
            # A plain conversation with the secure port ends, and harms nobody.
            self.assertNotEqual(client(secure, query, check=False).returncode, 0)
            self.assertEqual(client(node, "SELECT 1"), "1\n")
            said = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{node.secure_port}", "-CAfile", str(self.authority.certificate), "-verify_return_error"],
                                  input=b"", capture_output=True, check=False, timeout=60)
            self.assertIn(b"Verify return code: 0 (ok)", said.stdout)

    def test_mistakes_are_told_at_the_start(self):
        port, secure = free_ports(2)
        cases = (("", "tcp_port_secure: needs openSSL.server.certificateFile and openSSL.server.privateKeyFile"),
                 (f"openSSL: {{{server_section('/nowhere.crt', self.key)}}}\n", "Cannot read the certificate /nowhere.crt: No such file"),
                 (f"openSSL: {{{server_section(self.certificate, self.authority.key)}}}\n", "key values mismatch"),
                 (f"openSSL: {{{server_section(self.certificate, self.key, ', verificationMode: maybe')}}}\n", "wanted one of none, relaxed, strict, once"))
        for section, words in cases:
            with self.assertRaises(RuntimeError) as told:
                with Node(f"tcp_port_secure: {secure}\n{section}", port=port):
                    pass
            self.assertIn(words, str(told.exception))


if __name__ == "__main__":
    unittest.main()
