"""An initiator over shards that send states bucket by bucket: rightly, wrongly, slowly, up to some point, or by hashes of their own."""
import unittest

from tests.support.node import client, has_clickhouse_client
from tests.support.stub_initiator import Initiator, rows_of
from tests.support.stub_shards import StubShards, bucket_of
from tests.support.waiting import running_queries, wait_until

SHARDS = 3
ROWS = 3000
INCORRECT_DATA = 117
WHOLE = rows_of(SHARDS, ROWS)


def ascending(keys):
    """As shardd sends them."""
    buckets = {}
    for key in keys:
        buckets.setdefault(bucket_of(key), []).append(key)
    return sorted(buckets.items())


def by_another_hash(keys):
    return [(bucket, keys[bucket::256]) for bucket in range(256)]


@unittest.skipUnless(has_clickhouse_client(), "clickhouse-client is not installed")
class BucketFaultsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stubs = StubShards(SHARDS, rows=ROWS).__enter__()
        cls.addClassCleanup(cls.stubs.__exit__)
        cls.initiator = Initiator({"whole": [[port] for port in cls.stubs.ports]}).__enter__()
        cls.addClassCleanup(cls.initiator.__exit__)

    def setUp(self):
        # What a shard is called is said once a connection: the same in all tests.
        self.stubs.names = {0: "shardd", 1: "shardd"}
        self.stubs.bucketed = {0: ascending, 1: ascending}
        self.stubs.hold, self.stubs.errors, self.stubs.drops = {}, {}, {}

    def ask(self, settings=""):
        return self.initiator.ask("whole", settings)

    def test_buckets_beside_a_shard_without(self):
        for threads in (1, 2, 5):
            self.assertEqual(self.ask(f"max_threads = {threads}"), WHOLE)
        for shard in (0, 1):
            self.assertEqual(self.stubs.settings[shard]["distributed_group_buckets"], "packed_keys_1")
        self.assertNotIn("distributed_group_buckets", self.stubs.settings[2])
        self.ask("distributed_aggregation_memory_efficient = 0")
        self.assertNotIn("distributed_group_buckets", self.stubs.settings[0])

    def test_shards_that_wait_for_their_turn(self):
        """One that has come to its buckets waits for the others, and these are not left waiting for its place."""
        for most in (1, 2):
            self.assertEqual(self.ask(f"max_distributed_connections = {most}"), WHOLE)

    def test_another_servers_buckets_are_not_ours(self):
        for other in (by_another_hash, ascending, lambda keys: by_another_hash(keys)[::-1]):
            self.stubs.bucketed[2] = other
            self.assertEqual(self.ask(), WHOLE)

    def test_all_keys_on_every_shard(self):
        self.stubs.alike = True
        self.addCleanup(setattr, self.stubs, "alike", False)
        count, keys, sums = rows_of(1, ROWS)
        self.assertEqual(self.ask(), (count, keys, SHARDS * sums))

    def test_buckets_that_are_none_of_ours(self):
        """A hash that is wrong from the first block on is noticed, and the blocks are merged without their numbers."""
        for wrong in (by_another_hash, lambda keys: [(bucket ^ 1, some) for bucket, some in ascending(keys)]):
            self.stubs.bucketed[1] = wrong
            self.assertEqual(self.ask(), WHOLE)

    def test_numbers_that_cannot_be(self):
        def spoiled(change):
            def answer(keys):
                buckets = ascending(keys)
                change(buckets)
                return buckets
            return answer

        def descends(buckets):
            buckets[100], buckets[101] = buckets[101], buckets[100]

        def out_of_range(buckets):
            buckets[77] = (256, buckets[77][1])

        def negative(buckets):
            buckets[0] = (-2, buckets[0][1])

        def ends_without_buckets(buckets):
            buckets[200] = (-1, buckets[200][1])

        def misplaced_key(buckets):
            buckets[150] = (buckets[150][0], buckets[150][1] + buckets[151][1][:1])

        for change in (descends, out_of_range, negative, ends_without_buckets, misplaced_key):
            with self.subTest(change=change.__name__):
                self.stubs.bucketed[1] = spoiled(change)
                self.assertEqual(self.ask(), INCORRECT_DATA)
        self.stubs.bucketed[1] = ascending
        self.assertEqual(self.ask(), WHOLE)

    def test_a_shard_that_stalls(self):
        """Wherever it does, the others wait for it and nothing is lost; a deadline ends the query."""
        for shard, place in ((0, 2), (1, 200), (2, 2), (0, 2 * len(ascending(range(ROWS))))):
            with self.subTest(shard=shard, place=place):
                self.stubs.hold = {shard: place}
                self.assertEqual(self.ask("max_execution_time = 1"), 159)
                self.stubs.release(shard)
                self.assertTrue(wait_until(lambda: running_queries(self.initiator) == 0))
                self.stubs.forget(shard)
                self.stubs.hold = {}
                self.assertEqual(self.ask(), WHOLE)

    def test_a_shard_that_dies(self):
        for shard, place in ((0, 3), (1, 300), (2, 2)):
            with self.subTest(shard=shard, place=place):
                self.stubs.drops = {shard: place}
                self.assertIn(self.ask(), (32, 210))
                self.assertTrue(wait_until(lambda: running_queries(self.initiator) == 0))
                self.stubs.drops = {}
                self.assertEqual(self.ask(), WHOLE)

    def test_enough_rows_end_the_shards(self):
        self.stubs.bucketed[2] = lambda keys: [(-1, keys[:3])]
        self.stubs.hold = {0: 500, 1: 500}
        before = self.stubs.cancels
        rows = client(self.initiator, "SELECT k, sum(v) FROM whole GROUP BY k LIMIT 5").splitlines()
        self.assertEqual(len(rows), 5)
        for row in rows:
            key, total = map(int, row.split())
            self.assertEqual(total, key + 1)
        self.assertTrue(wait_until(lambda: self.stubs.cancels >= before + 2))
        for shard in (0, 1):
            self.stubs.release(shard)
            self.stubs.forget(shard)


if __name__ == "__main__":
    unittest.main()
