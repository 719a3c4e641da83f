"""ClickHouse 26.7 as the initiator of our shards: the npm package chdb, in a process of its own."""
import json
import shutil
import subprocess
import unittest

from tests.support.node import CACHE, Node, client, has_clickhouse_client

SCRIPT = """
const { createRequire } = require('node:module');
const { Session } = createRequire(process.argv[1] + '/package.json')('chdb');
const session = new Session();
for (const sql of JSON.parse(process.argv[2])) console.log(JSON.stringify(session.query(sql, 'TSV').toString()));
session.close();
"""


def available():
    return (CACHE / "node_modules/chdb").is_dir() and shutil.which("node") and has_clickhouse_client()


@unittest.skipUnless(available(), "chdb is not installed (CI=true or SHARDD_WITH_CHDB=1 installs it)")
class InitiatorTest(unittest.TestCase):
    def ask(self, *queries):
        done = subprocess.run(["node", "-e", SCRIPT, str(CACHE), json.dumps(queries)], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_remote_over_one_and_two_shards(self):
        with Node() as one, Node() as two:
            for number, node in enumerate((one, two)):
                client(node, "CREATE TABLE t (k UInt32, s String, v Float64) ENGINE = MergeTree ORDER BY k")
                client(node, f"INSERT INTO t SELECT number % 10, toString(number % 7), number / 2 FROM numbers({1000 * (number + 1)})")
            both = f"remote('127.0.0.1:{one.port},127.0.0.1:{two.port}', default.t)"
            alone = f"remote('127.0.0.1:{one.port}', default.t)"
            answers = self.ask(
                f"SELECT count(), sum(v) FROM {alone}",
                f"SELECT k, count(), sum(v), uniqExact(s) FROM {both} GROUP BY k ORDER BY k LIMIT 2",
                f"SELECT sum(c) FROM (SELECT k, count() AS c FROM {both} GROUP BY k) SETTINGS distributed_group_by_no_merge = 1",
                f"SELECT s, avg(v) FROM {both} WHERE k < 5 GROUP BY s ORDER BY s LIMIT 1",
            )
            self.assertEqual(answers[0], "1000\t249750\n")
            self.assertEqual(answers[1], "0\t300\t124250\t7\n1\t300\t124400\t7\n")
            self.assertEqual(answers[2], "3000\n")
            self.assertEqual(answers[3].split("\t")[0], "0")


if __name__ == "__main__":
    unittest.main()
