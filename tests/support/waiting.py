"""What tests wait for."""
import time

from tests.support.node import client


def running_queries(node):
    return int(client(node, "SELECT count() FROM system.processes WHERE query NOT LIKE '%system.processes%'"))


def wait_until(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False
