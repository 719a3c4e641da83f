"""A proxy in front of a shard that does, on command, what networks and dying machines do.

    with FaultProxy(shard.port) as proxy:
        proxy.fault = Fault("stall", answer_bytes=100)    # forwards 100 bytes of each answer, then falls silent

A fault holds for connections that are open and for those to come; it begins when the server has said
`answer_bytes` and the client `request_bytes` on that connection, counted from the fault's command on.
"""
import asyncio
import dataclasses
import os
import socket
import struct
import threading

KINDS = ("none", "stall", "reset", "close", "garbage", "drip", "delay")


@dataclasses.dataclass(frozen=True)
class Fault:
    """`kind`: "stall" says and passes on nothing more; "reset" ends with RST, "close" with FIN; "garbage" sends
    bytes that mean nothing and then nothing; "drip" passes the answer on byte by byte, "delay" piece by piece,
    each after `seconds`. Without a byte count, a stall is one from the very start: the shard is never reached."""
    kind: str = "none"
    answer_bytes: int = 0
    request_bytes: int = 0
    seconds: float = 0.01

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ValueError(self.kind)


class Link:
    """One client's connection and the one to the shard behind it."""

    def __init__(self, proxy, reader, writer):
        self.proxy, self.reader, self.writer = proxy, reader, writer
        self.upstream = None
        self.changed = asyncio.Event()
        self.begin()

    def begin(self):
        """A new command: counts start again."""
        self.answered = self.asked = 0
        self.changed.set()

    def is_due(self):
        fault = self.proxy.fault
        return fault.kind != "none" and self.answered >= fault.answer_bytes and self.asked >= fault.request_bytes

    async def run(self):
        try:
            while self.is_due() and self.proxy.fault.kind in ("stall", "reset", "close", "garbage"):
                if not await self.misbehave():
                    return
            reader, self.upstream = await asyncio.open_connection("127.0.0.1", self.proxy.target)
            await asyncio.gather(self.pump(self.reader, self.upstream, False), self.pump(reader, self.writer, True))
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            for writer in (self.writer, self.upstream):
                if writer:
                    writer.transport.abort() if writer.transport.is_closing() else writer.close()

    async def pump(self, reader, writer, is_answer):
        while data := await self.read(reader):
            while data:
                if self.is_due() and not (self.proxy.fault.kind in ("drip", "delay") and not is_answer):
                    if not await self.misbehave():
                        return
                size = self.piece(data, is_answer)
                await self.wait_turn(is_answer)
                writer.write(data[:size])
                await writer.drain()
                data = data[size:]
                if is_answer:
                    self.answered += size
                else:
                    self.asked += size
                self.proxy.forwarded[is_answer] += size
        if self.is_due() and self.proxy.fault.kind == "stall":
            await self.misbehave()
        writer.close()

    async def read(self, reader):
        try:
            return await reader.read(65536)
        except ConnectionError:
            return b""

    def piece(self, data, is_answer):
        """How much may pass before the fault begins."""
        fault = self.proxy.fault
        if fault.kind == "none":
            return len(data)
        if is_answer and fault.kind == "drip" and self.is_due():
            return 1
        left = fault.answer_bytes - self.answered if is_answer else fault.request_bytes - self.asked
        return min(len(data), left) if left > 0 else len(data)

    async def wait_turn(self, is_answer):
        if is_answer and self.is_due() and self.proxy.fault.kind in ("drip", "delay"):
            await asyncio.sleep(self.proxy.fault.seconds)

    async def misbehave(self):
        """True when there is a new command and forwarding goes on."""
        fault = self.proxy.fault
        if fault.kind in ("drip", "delay"):
            return True
        if fault.kind == "garbage":
            self.writer.write(self.proxy.garbage)
            await self.writer.drain()
        if fault.kind in ("stall", "garbage"):
            return await self.silence()
        self.end(fault.kind == "reset")
        return False

    def end(self, reset):
        try:
            if reset:
                linger = struct.pack("ii", 1, 0)
                self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        except OSError:
            pass  # closed already
        for writer in (self.writer, self.upstream):
            if writer:
                writer.transport.abort()

    async def silence(self):
        """Until another command, or until the client has gone (which only an idle reader sees)."""
        self.changed.clear()
        await self.changed.wait()
        return True


class FaultProxy:
    """A context manager; `port` is where it listens. Attributes may be read and `fault` be set from any thread."""

    def __init__(self, target, garbage=None):
        self.target = target
        self.garbage = garbage or os.urandom(4096)
        self.accepted = 0
        self.forwarded = [0, 0]  # requests, answers
        self._fault = Fault()
        self._links = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def fault(self):
        return self._fault

    @fault.setter
    def fault(self, value):
        def change():
            self._fault = value
            for link in self._links:
                link.begin()

        self._call(change)

    @property
    def open(self):
        """Connections that clients hold."""
        return len(self._links)

    def count_from_here(self):
        self.forwarded = [0, 0]

    def drop(self, kind="reset"):
        """Ends all connections now; new ones are forwarded as before."""
        before = self._fault
        self.fault = Fault(kind)

        def end():
            for link in list(self._links):
                link.end(kind == "reset")

        self._call(end)
        self.fault = before

    def _call(self, function):
        if threading.current_thread() is self._thread:
            function()
            return
        done = threading.Event()

        def run():
            function()
            done.set()

        self._loop.call_soon_threadsafe(run)
        done.wait(5)

    async def _serve(self, reader, writer):
        self.accepted += 1
        link = Link(self, reader, writer)
        self._links.add(link)
        try:
            await link.run()
        finally:
            self._links.discard(link)

    def __enter__(self):
        self._thread.start()
        listening = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop)
        self._server = listening.result(5)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_):
        async def end():
            self._server.close()
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()
