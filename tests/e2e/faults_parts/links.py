"""Relays, through which devices reach servers, and servers their database: a network with faults.

A Link is what is between two programs. It forwards, delays, holds (a partition: nothing arrives,
and nothing is refused) or cuts what goes through it. A watch sees the bytes of one connection, and
may hold or end it.
"""
import asyncio

CHUNK = 65536
SILENCE_SECONDS = 2.5  # for which a server may leave a device without an answer
COMMIT = b"COMMIT\0"   # the text of a simple query
OTHER_SHARE = 0.3      # of the connections that try another server first
LOCK = b"pg_try_advisory_lock"


class Link:
    def __init__(self, name):
        self.name = name
        self.delay = 0.0  # seconds
        self._open = asyncio.Event()
        self._open.set()
        self._writers = set()

    def hold(self):
        self._open.clear()

    def release(self):
        self._open.set()

    @property
    def is_held(self):
        return not self._open.is_set()

    def cut(self):
        """The connections of now end, with a reset; later ones go on."""
        for writer in list(self._writers):
            writer.transport.abort()

    def take(self, writers):
        """Cuts these, too."""
        self._writers |= writers

    async def passes(self):
        """Until what comes now arrives."""
        if self.delay:
            await asyncio.sleep(self.delay)
        await self._open.wait()

    async def join(self, near, far, watch):
        """Forwards between two (reader, writer), until one of them or the watch ends."""
        writers = {near[1], far[1]}
        self.take(writers)
        watch.writers = writers
        jobs = [asyncio.create_task(each) for each in (
            self._forward(near[0], far[1], watch, True),
            self._forward(far[0], near[1], watch, False), watch.ends())]
        try:
            await asyncio.wait(jobs, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in jobs:
                each.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)
            self._writers -= writers
            for writer in writers:
                writer.close()

    async def _forward(self, reader, writer, watch, is_question):
        while data := await reader.read(CHUNK):
            await watch.saw(data, is_question)
            await watch.passes()
            await self.passes()
            writer.write(data)
            await writer.drain()


class Silence:
    """Ends where a device asked and no answer came: as a device's own patience, but shorter."""

    def __init__(self):
        self._asked = None
        self.is_over = False

    async def saw(self, _, is_question):
        self._asked = (self._asked or asyncio.get_running_loop().time()) if is_question else None

    async def passes(self):
        pass

    async def ends(self):
        loop = asyncio.get_running_loop()
        while self._asked is None or loop.time() - self._asked < SILENCE_SECONDS:
            await asyncio.sleep(0.25)
        self.is_over = True


class Session:
    """Of a server in the database. Says so before a COMMIT goes on, and before its answer does.

        tell(what)  async, of "commit" or "answer"
        lock_link   that the session with the lock passes, too
    """

    def __init__(self, tell, lock_link):
        self._tell = tell
        self._lock_link = lock_link
        self._has_lock = False
        self._commits = False

    async def saw(self, data, is_question):
        if is_question and LOCK in data:
            self._has_lock = True
            self._lock_link.take(self.writers)
        elif is_question and COMMIT in data:
            self._commits = True
            await self._tell("commit")
        elif not is_question and self._commits:
            self._commits = False
            await self._tell("answer")

    async def passes(self):
        if self._has_lock:
            await self._lock_link.passes()

    async def ends(self):
        await asyncio.Event().wait()


class DatabaseRelay:
    """What one server knows as the database."""

    def __init__(self, link, database_socket, tell):
        self.link = link
        self.lock_link = Link(link.name + "-lock")
        self._database = database_socket
        self._tell = tell
        self._listener = None

    async def listen(self, folder, is_tcp):
        """Returns where it listens, as the options of a store's name."""
        if is_tcp:
            self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
            return f"host=127.0.0.1&port={self._listener.sockets[0].getsockname()[1]}"
        folder.mkdir(parents=True)
        self._listener = await asyncio.start_unix_server(self._serve, folder / ".s.PGSQL.5432")
        return f"host={folder}"

    async def _serve(self, reader, writer):
        try:
            await self.link.passes()
            far = await asyncio.open_unix_connection(self._database)
            await self.link.join((reader, writer), far,
                                 Session(self._tell, self.lock_link))
        except OSError:
            pass
        finally:
            writer.close()

    def close(self):
        self._listener.close()
        self.lock_link.release()
        self.link.release()
        self.link.cut()


class FrontRelay:
    """What devices know as the server: it leads to one that answers, most often to the last one.

        targets  [(link, port)], which may grow
        draws    which one it tries first
    """

    def __init__(self, targets, draws):
        self.targets = targets
        self._draws = draws
        self.port = 0
        self._first = 0
        self._listener = None

    async def listen(self):
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def _serve(self, reader, writer):
        try:
            await self._lead((reader, writer))
        except OSError:
            pass
        finally:
            writer.close()

    async def _lead(self, device):
        first = self._first
        if self._draws.random() < OTHER_SHARE:
            first += 1
        for step in range(len(self.targets)):
            at = (first + step) % len(self.targets)
            link, port = self.targets[at]
            if link.is_held:
                continue
            try:
                server = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                continue
            self._first = at
            silence = Silence()
            await link.join(device, server, silence)
            if silence.is_over and self._first == at:
                self._first = at + 1  # that one is stopped, or cut off
            return

    def close(self):
        self._listener.close()
        for link, _ in self.targets:
            link.release()
            link.cut()
