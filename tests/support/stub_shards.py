"""Many shards in one process: they speak the minimum of the native protocol and answer from a table k, v of their own.

    with StubShards(500, rows=4) as stubs:
        stubs.ports    # shard i has the rows k = i * rows + 0 … rows - 1, each with v = k + 1

Each answer is a list of packets; `stubs.hold[i] = n` makes shard i fall silent before its packet n (0: before the status of
its table), until `stubs.release(i)`.
"""
import asyncio
import struct
import threading

REVISION = 54430  # settings as text, scalars; nothing newer
STATE, COMPLETE, SORTED = 1, 2, 4


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def text(value):
    data = value.encode()
    return varint(len(data)) + data


def block(columns, rows, bucket=-1):
    """`columns`: names, types, lists of numbers below 2**64."""
    info = varint(1) + b"\0" + varint(2) + struct.pack("<i", bucket) + varint(0)
    body = b"".join(text(name) + text(type_name) + struct.pack(f"<{len(values)}Q", *values)
                    for name, type_name, values in columns)
    return info + varint(len(columns)) + varint(rows) + body


def data_packet(columns, bucket=-1):
    return varint(1) + text("") + block(columns, len(columns[0][2]), bucket)


def bucket_of(key):
    """Of a UInt64, by the hash that is called packed_keys_1."""
    for shift, factor in ((33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53)):
        key = (key ^ key >> shift) * factor % 2**64
    return (key ^ key >> 33) >> 40 & 255


def progress_packet(rows):
    return varint(3) + varint(rows) + varint(8 * rows) + varint(0) + varint(0) + varint(0)


def exception_packet(code, message):
    return varint(2) + struct.pack("<i", code) + text("DB::Exception") + text(message) + text("") + b"\0"


END_OF_STREAM = varint(5)


class Input:
    """What a client says, read field by field."""

    def __init__(self, reader):
        self.reader = reader

    async def byte(self):
        return (await self.reader.readexactly(1))[0]

    async def number(self):
        value = shift = 0
        while True:
            byte = await self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    async def text(self):
        return (await self.reader.readexactly(await self.number())).decode(errors="replace")

    async def hello(self):
        await self.text()
        for _ in range(3):
            await self.number()
        return [await self.text() for _ in range(3)]

    async def query(self):
        await self.text()
        if await self.byte() != 0:  # client info
            for _ in range(3):
                await self.text()
            await self.byte()
            for _ in range(3):
                await self.text()
            for _ in range(3):
                await self.number()
            await self.text()
            await self.number()
        settings = {}
        while name := await self.text():
            await self.number()
            settings[name] = await self.text()
        stage = await self.number()
        if await self.number() != 0:
            raise ValueError("the stub knows no compression: say compression: false of its replica")
        return await self.text(), stage, settings

    async def block(self):
        """Of numbers of four bytes, or none at all; says whether there was a column."""
        await self.text()
        while field := await self.number():
            await self.reader.readexactly(1 if field == 1 else 4)
        columns, rows = await self.number(), await self.number()
        for _ in range(columns):
            await self.text()
            await self.text()
            await self.reader.readexactly(4 * rows)
        return columns > 0


class StubShards:
    """A context manager. Counters may be read from any thread; `hold` and `errors` be set before a query.

    `errors[i]`: (code, message) that shard i answers instead of its rows; `delays[i]`: it is a replica so many seconds behind; `blocks`: among how many blocks the rows of
    a shard are shared out; `alike`: all are replicas of the first one; `names[i]`: what shard i calls itself; `drops[i] = n`: it
    closes the connection before its packet n; `bucketed[i]`: what makes of its rows' keys a list of (bucket, keys), which it
    sends instead of states without buckets. `most_asked`: the most queries that were under way at once."""

    def __init__(self, count, rows=4, blocks=1, alike=False):
        self.count, self.rows, self.blocks, self.alike = count, rows, blocks, alike
        self.hold, self.errors, self.delays = {}, {}, {}
        self.asked, self.most_asked = 0, 0
        self.names, self.drops, self.bucketed = {}, {}, {}
        self.queries, self.cancels, self.open, self.most_open, self.greeting, self.most_greeting = 0, 0, 0, 0, 0, 0
        self.settings = {}
        self._released = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def answer(self, shard, stage):
        if shard in self.errors:
            return [exception_packet(*self.errors[shard])]
        first = 0 if self.alike else shard * self.rows
        keys = list(range(first, first + self.rows))
        names = ("k", "s") if stage == COMPLETE else ("__table1.k", "sum(__table1.v)")
        types = ("UInt64", "AggregateFunction(sum, UInt64)") if stage == STATE else ("UInt64", "UInt64")
        packets = [data_packet([(names[0], types[0], []), (names[1], types[1], [])])]
        step = max(1, -(-self.rows // self.blocks))
        pieces = [(-1, keys[begin:begin + step]) for begin in range(0, self.rows, step)]
        if stage == STATE and shard in self.bucketed:
            pieces = self.bucketed[shard](keys)
        for bucket, some in pieces:
            packets.append(progress_packet(len(some)))
            packets.append(data_packet([(names[0], types[0], some), (names[1], types[1], [key + 1 for key in some])], bucket))
        return [*packets, END_OF_STREAM]

    def release(self, shard):
        self._loop.call_soon_threadsafe(self._event(shard).set)

    def forget(self, shard):
        """What is held from now on waits for another release()."""
        self._loop.call_soon_threadsafe(lambda: self._released.pop(shard, None))

    def _event(self, shard):
        return self._released.setdefault(shard, asyncio.Event())

    async def _say(self, shard, writer, place, packet):
        if self.hold.get(shard) == place:
            await self._event(shard).wait()
        if self.drops.get(shard) == place:
            writer.transport.abort()
            raise ConnectionAbortedError
        writer.write(packet)
        await writer.drain()

    async def _serve(self, shard, reader, writer):
        client = Input(reader)
        self.open += 1
        self.greeting += 1
        self.most_open, self.most_greeting = max(self.most_open, self.open), max(self.most_greeting, self.greeting)
        greeting = True
        talking = None
        try:
            while True:
                kind = await client.number()
                if kind == 0:
                    await client.hello()
                    writer.write(varint(0) + text(self.names.get(shard, "Stub")) + varint(1) + varint(0) + varint(REVISION) + text("UTC")
                                 + text(f"stub{shard}") + varint(0))
                    self.greeting -= 1
                    greeting = False
                elif kind == 1:
                    _, stage, self.settings[shard] = await client.query()
                    self.queries += 1
                    self.asked += 1
                    self.most_asked = max(self.most_asked, self.asked)
                    packets = self.answer(shard, stage)
                elif kind in (2, 7):
                    if not await client.block() and kind == 2:
                        talking = asyncio.ensure_future(self._answer(shard, writer, packets))
                elif kind == 3:
                    self.cancels += 1
                    if talking and not talking.done():
                        talking.cancel()
                        self.asked -= 1
                        writer.write(END_OF_STREAM)
                elif kind == 4:
                    await self._say(shard, writer, 0, varint(4))
                elif kind == 5:
                    tables = [(await client.text(), await client.text()) for _ in range(await client.number())]
                    delay = b"\1" + varint(self.delays[shard]) if shard in self.delays else b"\0"
                    status = b"".join(text(database) + text(table) + delay for database, table in tables)
                    await self._say(shard, writer, 0, varint(9) + varint(len(tables)) + status)
                else:
                    raise ValueError(f"packet {kind}")
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.open -= 1
            self.greeting -= greeting
            if talking and not talking.done():
                talking.cancel()
                self.asked -= 1
            writer.close()

    async def _answer(self, shard, writer, packets):
        for place, packet in enumerate(packets[:-1]):
            await self._say(shard, writer, place + 1, packet)
        if self.hold.get(shard) == len(packets):
            await self._event(shard).wait()
        self.asked -= 1  # whoever has read the end may ask the next one
        writer.write(packets[-1])

    async def _listen(self):
        def serve(shard):
            return lambda reader, writer: self._serve(shard, reader, writer)

        return [await asyncio.start_server(serve(shard), "127.0.0.1", 0, backlog=16) for shard in range(self.count)]

    def __enter__(self):
        self._thread.start()
        self._servers = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(30)
        self.ports = [server.sockets[0].getsockname()[1] for server in self._servers]
        return self

    def __exit__(self, *_):
        async def end():
            for server in self._servers:
                server.close()
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()
