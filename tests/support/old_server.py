"""Debian's clickhouse-server 18.16 for tests."""
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

from tests.support.node import free_ports

USERS = """<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default><password></password>
<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>"""


class Server:
    """One clickhouse-server whose cluster `ours` has the given shards."""

    def __init__(self, shards):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="shardd_test_"))
        self.port, http = free_ports(2)
        replicas = "".join(f"<shard><replica><host>127.0.0.1</host><port>{node.port}</port></replica></shard>" for node in shards)
        (self.home / "users.xml").write_text(USERS)
        (self.home / "config.xml").write_text(
            f"<yandex><logger><level>warning</level><log>{self.home}/log</log><errorlog>{self.home}/err</errorlog></logger>"
            f"<tcp_port>{self.port}</tcp_port><http_port>{http}</http_port><listen_host>127.0.0.1</listen_host>"
            f"<path>{self.home}/data/</path><tmp_path>{self.home}/tmp/</tmp_path><users_config>{self.home}/users.xml</users_config>"
            f"<default_profile>default</default_profile><default_database>default</default_database>"
            f"<mark_cache_size>100000000</mark_cache_size><remote_servers><ours>{replicas}</ours></remote_servers></yandex>")

    def __enter__(self):
        self.process = subprocess.Popen(["clickhouse-server", f"--config-file={self.home}/config.xml"], cwd=self.home,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("clickhouse-server does not listen")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)
