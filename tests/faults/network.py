"""TCP links that can be cut, slowed and held: a proxy on 127.0.0.1 for each connection that a daemon depends on."""

import asyncio
import contextlib
import threading

CHUNK = 65536
MOST_PIECES = 64  # on their way at a time


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


class _Connection:
    def __init__(self, client):
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
        self._loop = _the_loop()
        self.port = self._loop.run(self._listen())

    async def _listen(self):
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=CHUNK)
        return self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader, writer):
        connection = _Connection(writer)
        self._connections.add(connection)
        try:
            await self._flowing.wait()
            there, back = await asyncio.open_connection("127.0.0.1", self.target, limit=CHUNK)
            connection.writers.append(back)
            await asyncio.gather(self._pump(connection, reader, back), self._pump(connection, there, writer))
        except OSError:
            pass
        finally:
            connection.abort()
            self._connections.discard(connection)

    async def _pump(self, connection, reader, writer):
        """Carries bytes one way until that side ends, which ends the connection."""
        pieces = asyncio.Queue(MOST_PIECES)  # (when it may go on, bytes)
        deliverer = asyncio.create_task(self._deliver(connection, pieces, writer))
        try:
            while data := await reader.read(CHUNK):
                await pieces.put((self._loop.loop.time() + self._delay_s, data))
        finally:
            deliverer.cancel()
        raise ConnectionResetError

    async def _deliver(self, connection, pieces, writer):
        with contextlib.suppress(OSError):
            while True:
                due, data = await pieces.get()
                await asyncio.sleep(max(0.0, due - self._loop.loop.time()))
                while not self._flowing.is_set() or connection.abandoned:
                    await asyncio.sleep(0.05)
                writer.write(data)
                await writer.drain()

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

    def heal(self):
        self.slow(0)
        self.release()

    def close(self):
        def end():
            self._server.close()
            for connection in list(self._connections):
                connection.abort()

        with contextlib.suppress(Exception):
            self._tell(end)
