"""The HTTP interface: by Python's own client, and by the npm package @clickhouse/client."""
import base64
import gzip
import http.client
import json
import shutil
import socket
import subprocess
import time
import unittest
import urllib.parse

from tests.support.node import CACHE, Node, free_ports
from tests.support.waiting import wait_until

SCRIPT = """
const { createRequire } = require('node:module');
const { createClient } = createRequire(process.argv[1] + '/package.json')('@clickhouse/client');
const url = process.argv[2];
const results = {};
(async () => {
  const client = createClient({ url, compression: { request: true, response: true } });
  results.ping = (await client.ping()).success;
  await client.command({ query: 'CREATE TABLE js (id UInt64, name String, sku Array(UInt8) DEFAULT [7]) ENGINE = MergeTree ORDER BY id' });
  await client.insert({ table: 'js', format: 'JSONEachRow', values: [{ id: '42', name: 'hello', sku: [0, 1] }, { id: '43', name: 'wörld' }] });
  const rows = await client.query({ query: 'SELECT * FROM js ORDER BY id', format: 'JSONEachRow' });
  results.rows = await rows.json();
  const whole = await client.query({ query: 'SELECT count() AS c FROM js WHERE id > {least: UInt64}', query_params: { least: 42 } });
  results.whole = await whole.json();
  await client.insert({ table: 'js', format: 'CSV', values: (await import('node:stream')).Readable.from(['44,"a, b",[1]\\n', '45,c,[]\\n'], { objectMode: false }) });
  const stream = (await client.query({ query: 'SELECT number FROM numbers(100000)', format: 'JSONEachRow' })).stream();
  let seen = 0;
  for await (const part of stream) seen += part.length;
  results.seen = seen;
  try { await client.query({ query: 'SELECT * FROM nowhere' }); } catch (error) { results.error = [error.code, error.type]; }
  const plain = createClient({ url });
  results.late = [];
  for (const asking of [plain, client]) {
    const late = await asking.query({ query: 'SELECT throwIf(number = 3000000) AS t, number FROM numbers(4000000)', format: 'JSONEachRow' });
    try { for await (const part of late.stream()) ; results.late.push('no error'); } catch (error) { results.late.push(error.code || String(error)); }
  }
  await plain.close();
  const exec = await client.exec({ query: 'SELECT 1 FORMAT CSV' });
  let text = '';
  for await (const part of exec.stream) text += part;
  results.exec = text;
  const session = createClient({ url, session_id: 'one' });
  await session.command({ query: 'CREATE TEMPORARY TABLE tt (x UInt8)' });
  await session.insert({ table: 'tt', values: [{ x: 5 }], format: 'JSONEachRow' });
  results.session = await (await session.query({ query: 'SELECT x FROM tt', format: 'JSONEachRow' })).json();
  await session.close();
  await client.close();
  console.log(JSON.stringify(results));
})().catch((error) => { console.error(error); process.exit(1); });
"""


class Door:
    """A node with an HTTP port, and requests to it."""

    def __init__(self, config=""):
        self.http_port = free_ports(1)[0]
        self.node = Node(f"http_port: {self.http_port}\n" + config).start()
        for _ in range(200):  # the native port opens first
            try:
                socket.create_connection(("127.0.0.1", self.http_port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.02)

    def request(self, query=None, body=None, method=None, headers=None, path="/", **parameters):
        """Status, headers and body of one request."""
        if query is not None:
            parameters["query"] = query
        url = path + ("?" + urllib.parse.urlencode(parameters) if parameters else "")
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=30)
        try:
            connection.request(method or ("GET" if body is None else "POST"), url, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def ask(self, query, **parameters):
        status, _, body = self.request(body=query.encode(), **parameters)
        if status != 200:
            raise RuntimeError(body.decode(errors="replace"))
        return body.decode()

    def close(self):
        self.node.__exit__()


class HttpTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.door = Door("users: {default: {password: ''}, alice: {password: wonder}}\n")

    @classmethod
    def tearDownClass(cls):
        cls.door.close()

    def fails(self, code, status, *words, **options):
        got, headers, body = self.door.request(**options)
        self.assertEqual((got, headers.get("X-ClickHouse-Exception-Code")), (status, str(code)), body)
        self.assertRegex(body.decode(), rf"^Code: {code}\. DB::Exception: .*\([A-Z_]+\) \(version 26\.7")
        for word in words:
            self.assertIn(word, body.decode())

    def test_health_checks(self):
        for path in ("/ping", "/", "/replicas_status"):
            status, headers, body = self.door.request(path=path)
            self.assertEqual((status, body), (200, b"Ok.\n"))
            self.assertTrue(headers["X-ClickHouse-Server-Display-Name"])
        self.assertEqual(self.door.request(path="/nowhere")[0], 404)
        self.assertEqual(self.door.request("SELECT 1", method="DELETE")[0], 501)

    def test_the_query_stands_in_the_url_or_in_the_body(self):
        self.assertEqual(self.door.request("SELECT 1")[2], b"1\n")
        self.assertEqual(self.door.request(body=b"SELECT 2")[2], b"2\n")
        self.assertEqual(self.door.request("SELECT 3", body=b"")[2], b"3\n")
        status, headers, body = self.door.request("SELECT 1", method="HEAD")
        self.assertEqual((status, body), (200, b""))

    def test_headers_of_an_answer(self):
        status, headers, body = self.door.request("SELECT number FROM numbers(3)", query_id="my-id", default_format="JSONEachRow")
        self.assertEqual(status, 200)
        self.assertEqual(body, b'{"number":0}\n{"number":1}\n{"number":2}\n')
        self.assertEqual(headers["X-ClickHouse-Query-Id"], "my-id")
        self.assertEqual(headers["X-ClickHouse-Format"], "JSONEachRow")
        self.assertEqual(headers["X-ClickHouse-Timezone"], "UTC")
        self.assertEqual(headers["Content-Type"], "application/x-ndjson; charset=UTF-8")
        summary = json.loads(headers["X-ClickHouse-Summary"])
        self.assertEqual((summary["read_rows"], summary["result_rows"]), ("3", "3"))
        self.assertGreater(int(summary["elapsed_ns"]), 0)

    def test_who_asks(self):
        query = "SELECT currentUser()"
        basic = "Basic " + base64.b64encode(b"alice:wonder").decode()
        self.assertEqual(self.door.request(query)[2], b"default\n")
        self.assertEqual(self.door.request(query, user="alice", password="wonder")[2], b"alice\n")
        self.assertEqual(self.door.request(query, headers={"Authorization": basic})[2], b"alice\n")
        self.assertEqual(self.door.request(query, headers={"X-ClickHouse-User": "alice", "X-ClickHouse-Key": "wonder"})[2], b"alice\n")
        self.fails(516, 403, query=query, user="alice", password="wrong")
        self.fails(516, 403, query=query, user="alice", headers={"Authorization": basic})
        self.fails(516, 403, query=query, headers={"Authorization": "Bearer x"})

    def test_settings_database_and_parameters(self):
        self.assertEqual(self.door.ask("SELECT getSetting('max_threads')", max_threads=3), "3\n")
        self.assertEqual(self.door.ask("SELECT currentDatabase()", database="system"), "system\n")
        self.assertEqual(self.door.request("SELECT currentDatabase()", headers={"X-ClickHouse-Database": "system"})[2], b"system\n")
        self.assertEqual(self.door.ask("SELECT {a: UInt8} + 1, {b: String}", param_a=5, param_b="it's"), "6\tit\\'s\n")
        self.fails(115, 404, "max_treads", query="SELECT 1", max_treads=1)
        self.fails(81, 404, query="SELECT 1", database="nowhere")

    def test_get_only_reads(self):
        self.fails(164, 500, query="CREATE TABLE nothing (a UInt8) ENGINE = Memory")
        self.assertEqual(self.door.request("CREATE TABLE something (a UInt8) ENGINE = Memory", body=b"")[0], 200)

    def test_errors(self):
        self.fails(62, 400, body=b"SELEKT 1")
        self.fails(60, 404, "nowhere", body=b"SELECT * FROM nowhere")
        self.fails(46, 404, body=b"SELECT nothing_like_it(1)")
        self.fails(73, 404, body=b"SELECT 1 FORMAT NoSuchFormat")
        self.fails(159, 408, body=b"SELECT count() FROM numbers(1000000000000)", max_execution_time=1)
        self.assertEqual(self.door.ask("SELECT 1"), "1\n")

    def test_an_error_behind_the_first_rows(self):
        query = b"SELECT throwIf(number = 3000000), number FROM numbers(4000000)"
        connection = http.client.HTTPConnection("127.0.0.1", self.door.http_port, timeout=60)
        connection.request("POST", "/", body=query)
        answer = connection.getresponse()
        tag = answer.headers["X-ClickHouse-Exception-Tag"]
        self.assertEqual((answer.status, len(tag)), (200, 16))
        with self.assertRaises(http.client.IncompleteRead) as cut:
            answer.read()
        tail = cut.exception.partial[-400:].decode()
        self.assertRegex(tail, rf"\r\n__exception__\r\n{tag}\r\nCode: 395\. (.|\n)*\n\d+ {tag}\r\n__exception__\r\n$")
        connection.close()
        self.fails(395, 500, body=query, wait_end_of_query=1)

    def test_formats(self):
        self.door.ask("CREATE TABLE f (a UInt8, b Nullable(String), c Array(UInt8)) ENGINE = Memory")
        self.door.ask("INSERT INTO f VALUES (1, 'x\ty', [1, 2]), (2, NULL, [])")
        expected = {
            "TabSeparated": "1\tx\\ty\t[1,2]\n2\t\\N\t[]\n",
            "TabSeparatedWithNamesAndTypes": "a\tb\tc\nUInt8\tNullable(String)\tArray(UInt8)\n1\tx\\ty\t[1,2]\n2\t\\N\t[]\n",
            "CSVWithNames": '"a","b","c"\n1,"x\ty","[1,2]"\n2,\\N,"[]"\n',
            "JSONEachRow": '{"a":1,"b":"x\\ty","c":[1,2]}\n{"a":2,"b":null,"c":[]}\n',
            "JSONCompactEachRow": '[1, "x\\ty", [1,2]]\n[2, null, []]\n',
            "Values": "(1,'x\\ty',[1,2]),(2,NULL,[])",
            "Null": "",
        }
        for name, text in expected.items():
            self.assertEqual(self.door.ask(f"SELECT * FROM f ORDER BY a FORMAT {name}"), text, name)
            self.assertEqual(self.door.ask("SELECT * FROM f ORDER BY a", default_format=name), text, name)
        document = json.loads(self.door.ask("SELECT * FROM f ORDER BY a LIMIT 1 FORMAT JSON"))
        self.assertEqual(document["meta"][1], {"name": "b", "type": "Nullable(String)"})
        self.assertEqual(document["data"], [{"a": 1, "b": "x\ty", "c": [1, 2]}])
        self.assertEqual((document["rows"], document["rows_before_limit_at_least"]), (1, 2))
        compact = json.loads(self.door.ask("SELECT a, count() FROM f GROUP BY a WITH TOTALS ORDER BY a FORMAT JSONCompact"))
        self.assertEqual((compact["data"], compact["totals"]), ([[1, 1], [2, 1]], [0, 2]))

    def test_rows_come_in_many_formats(self):
        rows = {
            "Values": b"(1, 'x', DEFAULT), (1 + 1, concat('y', 'z'), 5)",
            "TabSeparated": b"1\tx\t0\n2\tyz\t5\n",
            "CSV": b'1,"x",\n2,yz,5\n',
            "CSVWithNames": b'"b","a"\n"x",1\n',
            "JSONEachRow": b'{"a": 1, "b": "x"} {"a": 2, "b": "yz", "c": 5, "unknown": [1, {}]}',
            "JSONCompactEachRow": b'[1, "x", 0]\n[2, "yz", 5]',
        }
        expected = {"Values": "1\tx\t10\n2\tyz\t5\n", "TabSeparated": "1\tx\t0\n2\tyz\t5\n", "CSV": "1\tx\t10\n2\tyz\t5\n",
                    "CSVWithNames": "1\tx\t10\n", "JSONEachRow": "1\tx\t10\n2\tyz\t5\n", "JSONCompactEachRow": "1\tx\t0\n2\tyz\t5\n"}
        for name, body in rows.items():
            for way in ("url", "body"):
                self.door.ask("DROP TABLE IF EXISTS r")
                self.door.ask("CREATE TABLE r (a UInt32, b String, c UInt32 DEFAULT a * 10) ENGINE = MergeTree ORDER BY a")
                insert = "INSERT INTO r VALUES" if name == "Values" else f"INSERT INTO r FORMAT {name}"
                if way == "url":
                    status, headers, text = self.door.request(insert, body=body)
                else:
                    status, headers, text = self.door.request(body=insert.encode() + b"\n" + body)
                self.assertEqual((status, text), (200, b""), name)
                written = json.loads(headers["X-ClickHouse-Summary"])["written_rows"]
                self.assertEqual(self.door.ask("SELECT * FROM r ORDER BY a"), expected[name], (name, way))
                self.assertEqual(int(written), expected[name].count("\n"))

    def test_a_wrong_row_is_named_and_nothing_of_it_stays(self):
        self.door.ask("CREATE TABLE w (a UInt32, b String) ENGINE = MergeTree ORDER BY a")
        self.fails(27, 400, "(at row 3)", query="INSERT INTO w FORMAT TabSeparated", body=b"1\tx\n2\ty\nnine\tz\n")
        self.fails(117, 400, "(at row 2)", query="INSERT INTO w FORMAT JSONEachRow", body=b'{"a": 1}\n["b"]\n')
        self.fails(73, 404, query="INSERT INTO w FORMAT NoSuchFormat", body=b"1")
        self.assertEqual(self.door.ask("SELECT count() FROM w"), "0\n")

    def test_a_body_that_is_cut_inserts_nothing(self):
        self.door.ask("CREATE TABLE cut (a UInt32) ENGINE = MergeTree ORDER BY a")
        for head in (b"Content-Length: 100\r\n\r\n1\n2\n", b"Transfer-Encoding: chunked\r\n\r\n4\r\n1\n2\n\r\n"):
            with socket.create_connection(("127.0.0.1", self.door.http_port)) as one:
                one.sendall(b"POST /?query=INSERT+INTO+cut+FORMAT+TabSeparated HTTP/1.1\r\nHost: x\r\n" + head)
                time.sleep(0.2)
        time.sleep(0.5)
        self.assertEqual(self.door.ask("SELECT count() FROM cut"), "0\n")
        self.assertEqual(self.door.ask("SELECT count() FROM system.processes WHERE query LIKE 'INSERT%'"), "0\n")

    def test_large_bodies_and_answers(self):
        self.door.ask("CREATE TABLE large (a UInt64, s String) ENGINE = MergeTree ORDER BY a")
        body = b"".join(b"%d\t%s\n" % (i, b"s" * (i % 50)) for i in range(300000))
        self.assertEqual(self.door.request("INSERT INTO large FORMAT TSV", body=body)[0], 200)
        self.assertEqual(self.door.ask("SELECT count(), sum(a), sum(length(s)) FROM large"), "300000\t44999850000\t7350000\n")
        self.assertEqual(self.door.ask("SELECT a, s FROM large ORDER BY a FORMAT TSV").encode(), body)

    def test_compression(self):
        body = gzip.compress(b"SELECT number FROM numbers(1000)")
        status, headers, text = self.door.request(body=body, headers={"Content-Encoding": "gzip", "Accept-Encoding": "gzip"})
        self.assertEqual((status, headers["Content-Encoding"]), (200, "gzip"))
        self.assertEqual(gzip.decompress(text), b"".join(b"%d\n" % i for i in range(1000)))
        status, headers, text = self.door.request("SELECT 1", headers={"Accept-Encoding": "gzip"}, enable_http_compression=0)
        self.assertEqual((headers.get("Content-Encoding"), text), (None, b"1\n"))
        self.fails(48, 501, body=b"x", headers={"Content-Encoding": "br"})
        frames = self.door.request("SELECT 'frames' FORMAT TSV", compress=1)[2]
        self.assertEqual(frames[16], 0x82)
        self.assertEqual(self.door.request(body=self.door.request("SELECT 'SELECT 5' FORMAT TSVRaw", compress=1)[2], decompress=1)[2], b"5\n")

    def test_progress_in_headers(self):
        status, headers, body = self.door.request("SELECT sum(sleepEachRow(0.1)) FROM numbers(6) SETTINGS max_block_size = 1",
                                                  send_progress_in_http_headers=1)
        self.assertEqual((status, body), (200, b"0\n"))
        progress = [json.loads(value) for value in headers.get_all("X-ClickHouse-Progress")]
        self.assertGreater(len(progress), 1)
        self.assertIn("read_rows", progress[0])

    def test_sessions(self):
        self.door.ask("CREATE TEMPORARY TABLE tmp (a UInt8)", session_id="s1")
        self.door.ask("INSERT INTO tmp VALUES (9)", session_id="s1")
        self.assertEqual(self.door.ask("SELECT a FROM tmp", session_id="s1"), "9\n")
        self.fails(60, 404, body=b"SELECT a FROM tmp", session_id="s2")
        self.fails(372, 500, body=b"SELECT 1", session_id="s3", session_check=1)

    def test_keep_alive(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.door.http_port, timeout=30)
        for number in range(3):
            connection.request("POST", "/", body=f"SELECT {number}".encode())
            self.assertEqual(connection.getresponse().read(), b"%d\n" % number)
        used = connection.sock.getsockname()
        connection.request("POST", "/", body=b"SELECT * FROM nowhere")
        self.assertEqual(connection.getresponse().read()[:9], b"Code: 60.")
        connection.request("POST", "/", body=b"SELECT 4")
        self.assertEqual(connection.getresponse().read(), b"4\n")
        self.assertEqual(connection.sock.getsockname(), used)
        connection.close()

    def test_a_client_that_goes_away_ends_its_query(self):
        with socket.create_connection(("127.0.0.1", self.door.http_port)) as one:
            one.sendall(b"GET /?query=SELECT+count()+FROM+numbers(1000000000000) HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertTrue(self.wait_for("1\n"))
        self.assertTrue(self.wait_for("0\n"))

    def wait_for(self, count):
        query = "SELECT count() FROM system.processes WHERE query LIKE '%1000000000000%' AND query NOT LIKE '%processes%'"
        return wait_until(lambda: self.door.ask(query) == count, seconds=5)

    def test_nonsense(self):
        for junk in (b"", b"\x00" * 100, b"GET\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n", b"\xff" * 100000,
                     b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"GET /?query=%zz HTTP/1.1\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", self.door.http_port), timeout=5) as one:
                one.settimeout(0.3)
                try:
                    one.sendall(junk)
                    one.recv(65536)
                except OSError:
                    pass
        self.assertEqual(self.door.ask("SELECT 1"), "1\n")

    @unittest.skipUnless((CACHE / "node_modules/@clickhouse/client").is_dir() and shutil.which("node"), "@clickhouse/client is not installed")
    def test_the_official_client_of_javascript(self):
        done = subprocess.run(["node", "-e", SCRIPT, str(CACHE), f"http://127.0.0.1:{self.door.http_port}"], capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        results = json.loads(done.stdout)
        self.assertTrue(results["ping"])
        self.assertEqual(results["rows"], [{"id": 42, "name": "hello", "sku": [0, 1]}, {"id": 43, "name": "wörld", "sku": [7]}])
        self.assertEqual(results["whole"]["data"], [{"c": 1}])
        self.assertEqual(results["seen"], 100000)
        self.assertEqual(results["error"], ["60", "UNKNOWN_TABLE"])
        self.assertEqual(results["late"][0], "395")
        self.assertIn(results["late"][1], ("395", "ECONNRESET"))  # the body has no end, which its unpacker may see first
        self.assertEqual(results["exec"], "1\n")
        self.assertEqual(results["session"], [{"x": 5}])
        self.assertEqual(self.door.ask("SELECT * FROM js WHERE id > 43 ORDER BY id"), "44\ta, b\t[1]\n45\tc\t[]\n")


if __name__ == "__main__":
    unittest.main()
