"""The *.test files of this folder against three shards and an initiator: what ClickHouse answers is what we answer.

Each file gets a fresh database `golden`, each case a connection. The cases of unsupported.txt must fail: one that passes
has to leave that list.
"""
import pathlib
import re
import unittest

from tests.support.cluster import Cluster
from tests.support.sql_file import read_sql_file
from tests.support.sql_values import NotLiteral, for_driver, literal_rows, same, shown

try:
    from clickhouse_driver import Client
    from clickhouse_driver.errors import ServerException
except ImportError:
    Client = None

FOLDER = pathlib.Path(__file__).resolve().parent
INSERT = re.compile(r"(?is)(insert\s+into\s+(?:table\s+)?[\w.`]+\s*(?:\((?:[^()]|\([^()]*\))*\))?\s*(?:settings\s[^()']*?)?\s*values)\s*(.*)")

WITH_DATA = re.compile(r"(?is)insert\s.*\sformat\s+(?!values)\w+\s")


def unsupported():
    """{"10-limit:41": "why"} of unsupported.txt."""
    lines = (FOLDER / "unsupported.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split(None, 1) for line in lines if line and not line.startswith("#"))


def connect(node, database="golden"):
    return Client("127.0.0.1", port=node.port, database=database, connect_timeout=10, send_receive_timeout=60)


def execute(connection, statement):
    """(columns, rows). VALUES go as clients send them: as a block of the literals."""
    if WITH_DATA.match(statement):
        raise NotLiteral("data in a format, which a client would have to read")
    insert = INSERT.fullmatch(statement)
    if not insert:
        rows, columns = connection.execute(statement, with_column_types=True)
        return columns, rows
    rows = literal_rows(insert[2])
    connection.connection.force_connect()
    connection.connection.send_query(insert[1])
    connection.connection.send_external_tables(None)
    sample = connection.receive_sample_block()
    types = [kind for _, kind in sample.columns_with_types]
    connection.send_data(sample, [[for_driver(kind, one) for kind, one in zip(types, row, strict=True)] for row in rows])
    connection.receive_end_of_query()
    return [], []


@unittest.skipIf(Client is None, "python3-clickhouse-driver is not installed")
class SqlFileTest(unittest.TestCase):
    """One file; its cases become test methods below."""

    file = None
    cluster = None

    @classmethod
    def setUpClass(cls):
        if SqlFileTest.cluster is None:
            SqlFileTest.cluster = Cluster(shards=3, name="accept")
            SqlFileTest.cluster.__enter__()
            unittest.addModuleCleanup(SqlFileTest.cluster.__exit__)
        cls.prepare()

    @classmethod
    def prepare(cls):
        for node in cls.cluster.nodes if cls.file.uses_shards else [cls.cluster.initiator]:
            cls.run_all(node, ["DROP DATABASE IF EXISTS golden", "CREATE DATABASE golden"], "default")
        for where, statements in cls.file.sections:
            for node in cls.nodes_of(where):
                cls.run_all(node, statements)

    @classmethod
    def nodes_of(cls, where):
        if where == "shards":
            return cls.cluster.shards
        return [cls.cluster.shards[int(where.split()[1]) - 1]] if where.startswith("shard ") else [cls.cluster.initiator]

    @classmethod
    def run_all(cls, node, statements, database="golden"):
        """Settings of one statement do not reach the next. What cannot be prepared makes its cases fail, not the file."""
        for statement in statements:
            connection = connect(node, database)
            try:
                execute(connection, statement)
            except (ServerException, NotLiteral) as error:
                print(f"{cls.file.name}: {node.name} was not prepared: {statement[:200]}: {str(error)[:200]}")
            finally:
                connection.disconnect()

    def check(self, case):
        connection = connect(self.cluster.initiator)
        self.addCleanup(self.revive)
        self.addCleanup(connection.disconnect)
        columns, rows = [], []
        try:
            for statement in case.statements:
                columns, rows = execute(connection, statement)
        except ServerException as error:
            if case.kind == "error" and error.code == case.code:
                return
            self.fail(f"error {error.code}: {str(error)[:1000]}\n{case.statements[-1]}")
        self.assertNotEqual(case.kind, "error", f"no error {case.code}, but {len(rows)} rows")
        if case.kind == "rows":
            self.compare(case, columns, rows)
        else:
            self.assertEqual(rows, [])

    def compare(self, case, columns, rows):
        types = [kind for _, kind in columns]
        self.assertEqual([name for name, _ in columns], case.names)
        self.assertEqual(types, case.types)
        got = [[shown(kind, one) for kind, one in zip(types, row)] for row in rows]
        want = case.rows + case.tail
        self.assertEqual(len(got), len(want), f"rows: {got[:5]}")

        def equal(left, right):
            return all(same(kind, a, b) for kind, a, b in zip(types, left, right, strict=True))

        if not case.ordered:
            body, found = got[:len(case.rows)], []
            for row in case.rows:
                at = next((i for i, one in enumerate(body) if equal(one, row)), None)
                self.assertIsNotNone(at, f"no row {row} among {body[:5]}")
                found.append(body.pop(at))
            got = found + got[len(case.rows):]
        for at, (left, right) in enumerate(zip(got, want)):
            self.assertTrue(equal(left, right), f"row {at}: {left}, not {right}")

    def revive(self):
        """A daemon that ended has failed its case, not those that follow."""
        dead = [node for node in self.cluster.nodes if node.process.poll() is not None]
        for node in dead:
            node.process = None
            node.start()
        if dead:
            self.prepare()
            self.fail(f"{', '.join(node.name for node in dead)} ended")


def load_tests(loader, _, __):
    suite, listed = unittest.TestSuite(), unsupported()
    for path in sorted(FOLDER.glob("*.test")):
        file = read_sql_file(path)
        methods = {}
        for case in file.cases:
            def method(self, case=case):
                self.check(case)
            name = f"{file.name}:{case.number}"
            methods[f"test_{case.number:03d}"] = unittest.expectedFailure(method) if listed.pop(name, None) else method
        suite.addTests(loader.loadTestsFromTestCase(type(f"{file.name}", (SqlFileTest,), {"file": file, **methods})))
    if listed:
        raise ValueError(f"unsupported.txt names cases that are not there: {sorted(listed)}")
    return suite
