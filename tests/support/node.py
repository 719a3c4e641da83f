"""Daemons for tests: started from YAML on free loopback ports, stopped by their own number."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

BINARY = os.environ.get("SHARDD_BINARY", str(pathlib.Path(__file__).resolve().parents[2] / "build/dev/shardd"))
CACHE = pathlib.Path(os.environ.get("SHARDD_TEST_CACHE", pathlib.Path.home() / ".cache/shardd-tests"))


def free_ports(count):
    """Ports nobody listens on; held together so that they differ."""
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


class Node:
    """One daemon with a folder of its own; a context manager."""

    def __init__(self, config="", port=None, name="node", home=None):
        self.home = pathlib.Path(home or tempfile.mkdtemp(prefix="shardd_test_"))
        self.owns_home = home is None
        self.home.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.port = port or free_ports(1)[0]
        self.config_file = self.home / "config.yaml"
        self.write_config(config)
        self.process = None

    def write_config(self, config):
        self.config_file.write_text(
            f"logger: {{level: trace, log: {self.home}/shardd.log, errorlog: {self.home}/shardd.err.log}}\n"
            f"listen_host: 127.0.0.1\ntcp_port: {self.port}\npath: {self.home}/data/\ntimezone: UTC\n" + config,
            encoding="utf-8")

    def start(self, wait_seconds=20, arguments=()):
        self.output = open(self.home / "output.log", "ab")
        self.process = subprocess.Popen([BINARY, "server", "--config-file", str(self.config_file), *arguments],
                                        stdout=self.output, stderr=subprocess.STDOUT, cwd=self.home)
        deadline = time.monotonic() + wait_seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.name} ended with {self.process.returncode}: {self.last_words()}")
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except OSError:
                time.sleep(0.02)
        raise RuntimeError(f"{self.name} does not listen: {self.last_words()}")

    def last_words(self):
        texts = []
        for file in ("output.log", "shardd.log"):
            path = self.home / file
            if path.exists():
                texts.append(path.read_text(errors="replace")[-2000:])
        return "\n".join(texts)

    def stop(self, number=signal.SIGTERM, wait_seconds=30):
        """The exit code; a daemon that does not end in time is killed and that is an error."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            code = self.process.wait(wait_seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise RuntimeError(f"{self.name} did not end within {wait_seconds} s") from None
        finally:
            self.output.close()
        self.process = None
        return code

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        try:
            self.stop(signal.SIGKILL)
        finally:
            if self.owns_home:
                shutil.rmtree(self.home, ignore_errors=True)


def client(node, query, *options, input_bytes=None, check=True, timeout=60):
    """What clickhouse-client prints; RuntimeError with its words when it fails and `check` is set."""
    command = ["clickhouse-client", "--host", "127.0.0.1", "--port", str(node.port), "--query", query, *options]
    done = subprocess.run(command, input=input_bytes if input_bytes is not None else b"", capture_output=True,
                          timeout=timeout, check=False)
    if check and done.returncode != 0:
        raise RuntimeError(f"clickhouse-client ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done if not check else done.stdout.decode(errors="replace")


def has_clickhouse_client():
    return shutil.which("clickhouse-client") is not None


def sockets_to(process_id, port):
    """The states of the sockets that a process holds towards `port` of this machine, as /proc/net/tcp numbers them (1:
    established)."""
    return [int(fields[3], 16) for fields in socket_lines(process_id, port)]


def timers_to(process_id, port):
    """What those sockets wait for: the kind of the timer as /proc/net/tcp numbers it (1: to send again, 2: to try an idle
    connection), and hundredths of a second."""
    return [tuple(int(part, 16) for part in fields[5].split(":")) for fields in socket_lines(process_id, port)]


def socket_lines(process_id, port):
    held = set()
    for entry in pathlib.Path(f"/proc/{process_id}/fd").iterdir():
        try:
            target = os.readlink(entry)
        except OSError:
            continue  # closed meanwhile
        if target.startswith("socket:["):
            held.add(target[8:-1])
    lines = []
    for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        fields = line.split()
        if fields[9] in held and int(fields[2].rsplit(":", 1)[1], 16) == port:
            lines.append(fields)
    return lines
