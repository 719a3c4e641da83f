"""Debian's python3-clickhouse-driver: native protocol, no compression."""
import unittest

from tests.support.node import Node

try:
    from clickhouse_driver import Client
    from clickhouse_driver.errors import ServerException
except ImportError:
    Client = None


@unittest.skipIf(Client is None, "python3-clickhouse-driver is not installed")
class DriverTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = Node().start()

    @classmethod
    def tearDownClass(cls):
        cls.node.__exit__()

    def setUp(self):
        self.client = Client("127.0.0.1", port=self.node.port)
        self.addCleanup(self.client.disconnect)

    def test_values_of_many_types(self):
        rows, columns = self.client.execute(
            "SELECT toInt8(-1), toFloat64(0.5), 'text', [1, 2], (1, 'a'), NULL, toDate('2020-01-02'), toDateTime(0, 'UTC')",
            with_column_types=True)
        self.assertEqual([kind for _, kind in columns],
                         ["Int8", "Float64", "String", "Array(UInt8)", "Tuple(UInt8, String)", "Nullable(Nothing)",
                          "Date", "DateTime('UTC')"])
        self.assertEqual(rows[0][:6], (-1, 0.5, "text", [1, 2], (1, "a"), None))

    def test_insert_and_read_back(self):
        self.client.execute("CREATE TABLE t (a UInt32, b String, c Nullable(Float64), d Array(String)) ENGINE = Memory")
        rows = [(1, "x", None, []), (2, "y", 1.5, ["p", "q"])]
        self.client.execute("INSERT INTO t VALUES", rows)
        self.assertEqual(self.client.execute("SELECT * FROM t ORDER BY a"), rows)

    def test_a_large_answer_in_blocks(self):
        total = sum(row[0] for row in self.client.execute_iter("SELECT number FROM numbers(300000)"))
        self.assertEqual(total, 300000 * 299999 // 2)

    def test_errors_have_codes(self):
        with self.assertRaises(ServerException) as caught:
            self.client.execute("SELECT nosuch")
        self.assertEqual(caught.exception.code, 47)
        self.assertEqual(self.client.execute("SELECT 1"), [(1,)])

    def test_wrong_password(self):
        # A user without a password is let in with any, as in ClickHouse.
        with Node("users: {default: {password: right}}\n") as node:
            right = Client("127.0.0.1", port=node.port, user="default", password="right")
            self.assertEqual(right.execute("SELECT 1"), [(1,)])
            right.disconnect()
            with self.assertRaises(ServerException) as caught:
                Client("127.0.0.1", port=node.port, user="default", password="wrong").execute("SELECT 1")
            self.assertEqual(caught.exception.code, 516)

    def test_settings_travel(self):
        self.assertEqual(self.client.execute("SELECT getSetting('max_block_size')", settings={"max_block_size": 3}), [(3,)])


if __name__ == "__main__":
    unittest.main()
