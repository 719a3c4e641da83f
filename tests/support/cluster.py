"""A cluster of daemons on loopback: shards, and an initiator that is none of them."""
from tests.support.node import Node, client, free_ports

NAME = "test"


class Cluster:
    """`shards` daemons and one initiator; a context manager."""

    def __init__(self, shards=3, extra="", name=NAME):
        ports = free_ports(shards + 1)
        replicas = "\n".join(f"      - replica: {{host: 127.0.0.1, port: {port}}}" for port in ports[:shards])
        topology = f"remote_servers:\n  {name}:\n    shard:\n{replicas}\n" + extra
        self.shards = [Node(topology, port=ports[i], name=f"shard{i + 1}") for i in range(shards)]
        self.initiator = Node(topology, port=ports[shards], name="initiator")

    @property
    def nodes(self):
        return [*self.shards, self.initiator]

    def __enter__(self):
        for node in self.nodes:
            node.__enter__()
        return self

    def __exit__(self, *details):
        for node in self.nodes:
            node.__exit__(*details)

    def everywhere(self, query):
        for shard in self.shards:
            client(shard, query)

    def ask(self, query, *options):
        return client(self.initiator, query, *options)
