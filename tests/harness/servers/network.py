"""TCP links that can be cut, slowed, held and set with traps: a proxy on 127.0.0.1 for each connection that a daemon
depends on."""

import asyncio
import contextlib
import socket
import threading

CHUNK = 65536
MAX_PIECES = 64  # on their way at a time


class _Loop:
    """One event loop in a thread of its own serves all links."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(20)


_LOOP = None


def _the_loop():
    global _LOOP
    _LOOP = _LOOP or _Loop()
    return _LOOP


async def _read(reader):
    return await reader.read(CHUNK)


async def _carry(writer, data):
    writer.write(data)
    await writer.drain()


class _Connection:
    def __init__(self, client):
        self.task = asyncio.current_task()  # which asyncio itself holds weakly: it might be collected with all that it carries
        self.writers = [client]
        self.abandoned = False

    def abort(self):
        for writer in self.writers:
            writer.transport.abort()


class Link:
    """Listens on `port` and leads to `target`, a port that may still change."""

    def __init__(self, target=None):
        self.target = target
        self._delay_s = 0.0
        self._connections = set()
        self._closed_door = None  # a socket that keeps the port while nobody listens
        self._loop = _the_loop()
        self.port = self._loop.run(self._listen())

    async def _listen(self):
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=CHUNK)
        return self._server.sockets[0].getsockname()[1]

    async def _shut(self):
        if self._closed_door:
            return
        self._server.close()
        self._closed_door = socket.socket()
        self._closed_door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._closed_door.bind(("127.0.0.1", self.port))
        for connection in list(self._connections):
            connection.abort()

    async def _open(self):
        if self._closed_door:
            door, self._closed_door = self._closed_door, None
            self._server = await asyncio.start_server(self._serve, sock=door, limit=CHUNK)

    async def _serve(self, reader, writer):
        connection = _Connection(writer)
        if self._closed_door:
            return connection.abort()
        self._connections.add(connection)
        try:
            await self._flowing.wait()
            there, back = await asyncio.open_connection("127.0.0.1", self.target, limit=CHUNK)
            connection.writers.append(back)
            pumps = [asyncio.create_task(self._pump(connection, self._read_request, reader, back, self._carry_request)),
                     asyncio.create_task(self._pump(connection, _read, there, writer, _carry))]
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
        except OSError:
            pass
        finally:
            connection.abort()
            self._connections.discard(connection)

    async def _read_request(self, reader):
        return await _read(reader)

    async def _carry_request(self, writer, data):
        await _carry(writer, data)

    async def _pump(self, connection, read, reader, writer, carry):
        """Carries bytes one way until that side ends."""
        pieces = asyncio.Queue(MAX_PIECES)  # (when it may go on, bytes)
        deliverer = asyncio.create_task(self._deliver(connection, pieces, writer, carry))
        try:
            while data := await read(reader):
                await pieces.put((self._loop.loop.time() + self._delay_s, data))
        finally:
            deliverer.cancel()
            await asyncio.gather(deliverer, return_exceptions=True)

    async def _deliver(self, connection, pieces, writer, carry):
        with contextlib.suppress(OSError):
            while True:
                due, data = await pieces.get()
                await asyncio.sleep(max(0.0, due - self._loop.loop.time()))
                while not self._flowing.is_set() or connection.abandoned:
                    await asyncio.sleep(0.05)
                await carry(writer, data)

    async def _do(self, function):
        function()

    def _tell(self, function):
        self._loop.run(self._do(function))

    def cut(self):
        """Resets all connections; new ones are served."""
        self._tell(lambda: [connection.abort() for connection in list(self._connections)])

    def slow(self, delay_s):
        """Every piece of data takes so much longer, in both directions; 0: no more."""
        self._delay_s = delay_s

    def hold(self):
        """Nothing passes any more and nobody is told, until `release` lets all of it through."""
        self._tell(self._flowing.clear)

    def release(self):
        self._tell(self._flowing.set)

    def forget(self):
        """Open connections stay open and never carry anything again, as behind a router that lost its state."""

        def abandon():
            for connection in self._connections:
                connection.abandoned = True

        self._tell(abandon)

    def refuse(self):
        """Resets all connections and refuses new ones, until `accept`: as where nobody listens."""
        self._loop.run(self._shut())

    def accept(self):
        self._loop.run(self._open())

    def heal(self):
        self.accept()
        self.slow(0)
        self.release()

    def close(self):
        def end():
            self._server.close()
            for connection in list(self._connections):
                connection.abort()

        with contextlib.suppress(Exception):
            self._tell(end)


class Trap:
    """Waits for one request of a kind; `sprung` is set when it has come."""

    def __init__(self, link, api, act, passes):
        self._link, self._api, self._act, self._passes = link, api, act, passes
        self._held = asyncio.Event()
        self.sprung = threading.Event()

    def wants(self, request):
        return not self.sprung.is_set() and int.from_bytes(request[4:6], "big") == self._api

    async def spring(self, writer, request):
        if self._passes:
            await _carry(writer, request)
        self._act()
        self.sprung.set()
        if not self._passes:
            await self._held.wait()
            await _carry(writer, request)

    def release(self):
        """The request may go on."""
        self._link._tell(self._held.set)


class KafkaLink(Link):
    """A link to a broker that knows where requests begin and of what kind they are."""

    PRODUCE, LIST_OFFSETS, ADD_OFFSETS_TO_TXN, END_TXN, TXN_OFFSET_COMMIT = 0, 2, 25, 26, 28  # Kafka's numbers of its requests

    def __init__(self, target=None):
        self._trap = None
        super().__init__(target)

    def trap(self, api, act, passes=False):
        """At the next request of this kind: calls `act` (in another thread; brief), and holds the request with all that
        comes after it on its connection until the trap is released. With `passes` it goes through before the act."""
        self._trap = Trap(self, api, act, passes)
        return self._trap

    async def _read_request(self, reader):
        try:
            size = await reader.readexactly(4)
            return size + await reader.readexactly(int.from_bytes(size, "big"))
        except asyncio.IncompleteReadError:
            return b""

    async def _carry_request(self, writer, data):
        if self._trap and self._trap.wants(data):
            await self._trap.spring(writer, data)
        else:
            await _carry(writer, data)

    def withhold(self):
        """Like `hold`, for a trap's act."""
        self._flowing.clear()
