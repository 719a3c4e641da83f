"""What tests wait for."""
import time

from tests.support.node import client


def running_queries(node):
    return int(client(node, "SELECT count() FROM system.processes WHERE query NOT LIKE '%system.processes%'"))


def wait_until(condition, seconds=10):
    """What `condition` gives once it is true, or gave last when the time is up."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)
