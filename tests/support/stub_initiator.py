"""A daemon that is the initiator over stub shards."""
import re

from tests.support.node import Node, client


def replica(port):
    return f"{{host: 127.0.0.1, port: {port}, compression: false}}"


def topology(clusters):
    """`clusters`: name to a list of shards, each a list of ports."""
    text = "remote_servers:\n"
    for name, shards in clusters.items():
        text += f"  {name}:\n    shard:\n"
        for ports in shards:
            text += "      - replica:\n" + "".join(f"          - {replica(port)}\n" for port in ports)
    return text


class Initiator(Node):
    def __init__(self, clusters):
        super().__init__(topology(clusters), name="initiator")
        self.clusters = clusters

    def __enter__(self):
        super().__enter__()
        for name in self.clusters:
            client(self, f"CREATE TABLE {name} (k UInt64, v UInt64) ENGINE = Distributed({name}, default, t, k)")
        return self

    def ask(self, table, settings="", mode=0):
        """The rows of all groups, sorted by their key; or the code of the error."""
        inner = f"SELECT k, sum(v) AS s FROM {table} GROUP BY k"
        query = f"SELECT count(), sum(k), sum(s) FROM ({inner}) SETTINGS distributed_group_by_no_merge = {mode}"
        done = client(self, query + (f", {settings}" if settings else ""), check=False, timeout=120)
        if done.returncode == 0:
            return tuple(int(field) for field in done.stdout.split())
        return int(re.search(rb"Code: (\d+)", done.stderr).group(1))


def rows_of(shards, rows):
    """What ask() answers when every shard does."""
    keys = range(shards * rows)
    return len(keys), sum(keys), sum(key + 1 for key in keys)
