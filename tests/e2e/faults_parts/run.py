"""One run: a job of a few rounds on a fresh database, two servers, devices, a seed's faults."""
import asyncio
import collections
import contextlib
import hashlib
import os
import random
import shutil
import signal
import time

from . import injection
from . import invariants
from . import schedule
from .links import DatabaseRelay
from .links import FrontRelay
from .links import Link
from .plan import DEVICES
from .programs import Device
from .programs import Record
from .programs import Server

IDLE_SECONDS = 75    # without an attempt, a release or a takeover: the job does not go on
LIMIT_SECONDS = 600  # for a job of a few seconds, with all its faults, on a busy machine
LAST_SECONDS = 3     # for devices, once the servers have ended
SAMPLE_SECONDS = 1
LOOK_SECONDS = 0.1
MODEL = "softmax-64-10"
SAMPLES = 10  # on each device


def write_data(path):
    """Samples of the model's 64 inputs, which no run needs to be hard."""
    draws = random.Random(1)
    with open(path, "w", encoding="ascii") as file:
        for row in range(SAMPLES * DEVICES):
            features = [draws.random() * 0.3 + 0.7 * (i % 10 == row % 10) for i in range(64)]
            file.write(",".join(f"{x:.3f}" for x in features) + f",{row % 10}\n")


class Moment:
    """When a fault comes. Who brings it about may wait until the fault is in effect."""

    def __init__(self):
        self.is_reached = asyncio.Event()
        self.may_go_on = asyncio.Event()

    async def pass_through(self):
        self.is_reached.set()
        await self.may_go_on.wait()


class Run:
    """
    programs  folder of sotto and sotto-client
    cluster   of this run alone, while it lasts
    folder    of the run, made anew; it is left if the run fails
    sockets   folder whose name is short, for unix sockets
    data      what write_data() wrote
    """

    def __init__(self, plan, programs, cluster, folder, sockets, data):
        self.plan = plan
        self.programs = programs
        self.cluster = cluster
        self.cluster_is_mine = asyncio.Lock()
        self.folder = folder
        self.database = f"seed_{plan.seed}"
        self.servers = []
        self.devices = []
        self.models = collections.defaultdict(set)  # digests, and where they were seen
        self.ledgers = []  # as sampled
        self.reached = 0   # faults that came about
        self.failures = []
        self._heard_at = 0.0
        self._sockets = sockets
        self._data = data
        self._relays = []
        self._tasks = []
        self._moments = collections.defaultdict(Moment)
        self._commits = 0
        self._front = None
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.record = Record(folder / "run.log")

    # What happens.

    def now(self):
        return asyncio.get_running_loop().time()

    def leader(self):
        """Who began to lead last, whatever became of it; before that the first server."""
        return max(self.servers, key=lambda each: each.leads_since)

    def standby(self):
        return next(each for each in self.servers if each is not self.leader())

    def is_over(self):
        return all(each.is_done.is_set() for each in self.servers)

    def _heard(self, _, what, number):
        self._heard_at = self.now()
        self._moments[(what, number)].is_reached.set()

    async def _committed(self, server, what):
        if not server.leads:
            return
        self._commits += what == "commit"
        moment = self._moments.get((what, self._commits))
        if moment:
            await moment.pass_through()

    async def _inject(self, fault):
        moment = self._moments[(fault.phase, fault.number)]
        try:
            await moment.is_reached.wait()
            await asyncio.sleep(fault.after)
            if self.is_over():
                return
            self.record.say("FAULT", f"begins: {fault}")
            self.reached += 1
            async with injection.KINDS[fault.kind][1](self, fault):
                moment.may_go_on.set()
            self.record.say("FAULT", f"is over: {fault.kind}")
        finally:
            moment.may_go_on.set()

    # Sessions of the leader.

    async def _session(self, which):
        """The process of the leader's session, or None. It holds the lock, or reads and writes."""
        lock = ("EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND locktype = 'advisory' AND "
                "objid = 2 AND granted)")
        name = f"application_name = 'server {self.leader().name}'"
        rows = await self.cluster.sql(
            self.database, f"SELECT pid FROM pg_stat_activity a WHERE datname = current_database() "
            f"AND {name} AND {'' if which == 'lock' else 'NOT '}{lock}")
        return int(rows[0][0]) if rows else None

    async def signal_session(self, which, number):
        process = await self._session(which)
        if process:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    async def end_session(self, which):
        process = await self._session(which)
        if process:
            await self.cluster.sql(self.database, f"SELECT pg_terminate_backend({process})")

    # Programs.

    def store(self, where=None):
        where = where or f"host={self.cluster.folder}"
        return f"postgresql:///{self.database}?{where}&user=sotto&key={self.folder}/store.key"

    async def tool(self, *command):
        """Status and output of a `sotto` that reads the store, beside the network with faults."""
        process = await asyncio.create_subprocess_exec(
            self.programs / "sotto", *command, cwd=self.folder, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        out, errors = await process.communicate()
        return process.returncode, out.decode(), errors.decode()

    def _serve_options(self):
        plan = self.plan
        options = ["--once", "--sampling", plan.sampling, "--cohort", plan.cohort, "--rounds",
                   plan.rounds, "--noise-multiplier", 1, "--round-timeout", schedule.ROUND_SECONDS,
                   "--poll-interval", 0.2, "--farewell", 1, "--release-allowance", 0.1, "--model",
                   MODEL, "--threads", 1, "--model-out", "model.f32"]
        if plan.participations:
            options += ["--participations", plan.participations]
        return [str(each) for each in options]

    async def start_server(self, name):
        link = Link(f"database-{name}")
        server = None

        async def tell(what):
            await self._committed(server, what)

        relay = DatabaseRelay(link, self.cluster.socket, tell)
        self._relays.append(relay)
        where = await relay.listen(self._sockets / name, self.plan.is_tcp)
        store = self.store(f"{where}&application_name=server%20{name}")
        server = Server(name, [self.programs / "sotto", "serve", store] + self._serve_options(),
                        self.folder / name, self.record, self._heard)
        server.database_link, server.lock_link = link, relay.lock_link
        server.front_link = Link(f"devices-{name}")
        self.servers.append(server)
        self._front.targets.append((server.front_link, server.port))
        self._begin(server.serve())

    def _start_device(self, number):
        name = f"device-{number:06}"
        device = Device(name[-1], [
            str(each) for each in (
                self.programs / "sotto-client", "--once", "--hold", 1, "--server",
                f"127.0.0.1:{self._front.port}", "--key", self.folder / "keys" / f"{name}.key",
                "--data", self._data, "--samples", f"{SAMPLES * number}:{SAMPLES}", "--model",
                MODEL, "--keep-model", ".")], self.folder / name, self.record)
        self.devices.append(device)
        self._begin(device.take_part())

    def _begin(self, job):
        self._tasks.append(asyncio.create_task(job))

    # What is seen from outside.

    async def _look_for_models(self):
        seen = {}
        while True:
            for each in self.devices:
                self._look_at(each.folder / "model.bin", seen)
            await asyncio.sleep(LOOK_SECONDS)

    def _look_at(self, path, seen):
        try:
            state = path.stat()
            if seen.get(path) == (state.st_mtime_ns, state.st_ino):
                return
            self.models[hashlib.sha256(path.read_bytes()).hexdigest()].add(str(path))
            seen[path] = (state.st_mtime_ns, state.st_ino)
        except FileNotFoundError:
            pass

    async def _sample_ledger(self):
        while True:
            await asyncio.sleep(SAMPLE_SECONDS)
            status, out, errors = await self.tool("account", "ledger", self.store(), "--json", "-")
            if status == 0:
                self.ledgers.append(out)
            elif "check that PostgreSQL runs" not in errors:
                self.failures.append(f"the ledger is not readable: {errors.strip()}")

    # The run.

    async def play(self):
        """Returns what is wrong; empty: nothing."""
        self.record.say("RUN", str(self.plan))
        try:
            await self._set_up()
            if await self._ends():
                await self._end_devices()
                self._look_once_more()
                self.failures += await invariants.check(self)
        except (OSError, RuntimeError) as error:
            self.failures.append(f"the run broke off: {error}")
        finally:
            await self._tidy_up()
        for each in self.failures:
            self.record.say("WRONG", each)
        self.record.close()
        return self.failures

    async def _set_up(self):
        await self.cluster.must("postgres", f"CREATE DATABASE {self.database} OWNER sotto")
        status, _, errors = await self.tool("keys", "new", self.store(), "--count",
                                            str(DEVICES), "--out", "keys")
        if status != 0:
            raise RuntimeError(f"sotto keys new: {errors}")
        self._front = FrontRelay([], random.Random(f"sotto faults, ways {self.plan.seed}"))
        self._relays.append(self._front)
        await self._front.listen()
        for fault in self.plan.faults:
            self._begin(self._inject(fault))
        await self.start_server("a")
        await self.start_server("b")
        for number in range(DEVICES):
            self._start_device(number)
        self._begin(self._look_for_models())
        self._begin(self._sample_ledger())
        self._heard(None, "start", 0)

    async def _ends(self):
        begun = self.now()
        while not self.is_over():
            for task in self._tasks:
                if task.done() and task.exception():
                    raise task.exception()
            if self.now() > min(self._heard_at + IDLE_SECONDS, begun + LIMIT_SECONDS):
                self.failures.append("the job does not end")
                await self._record_sessions()
                return False
            await asyncio.sleep(0.1)
        return True

    async def _record_sessions(self):
        rows = await self.cluster.sql(
            self.database, "SELECT pid, application_name, state, wait_event, left(query, 60) "
            "FROM pg_stat_activity WHERE datname = current_database()",
            "SELECT pid, objid, granted FROM pg_locks WHERE locktype = 'advisory'")
        for row in rows or [["PostgreSQL does not answer"]]:
            self.record.say("SESSIONS", " | ".join(row))

    async def _end_devices(self):
        """Those that heard no end of the job wait for a server that is gone."""
        end = self.now() + LAST_SECONDS
        while any(each.runs for each in self.devices) and self.now() < end:
            if not any(each.runs and "keeps the newest" in "".join(each.lines[-2:])
                       for each in self.devices):
                break
            await asyncio.sleep(0.1)
        for each in self.devices:
            each.send(signal.SIGTERM)

    def _look_once_more(self):
        seen = {}
        for each in self.devices:
            self._look_at(each.folder / "model.bin", seen)
        for each in self.servers:
            self._look_at(each.folder / "model.f32", seen)  # not written as a whole, so not before

    async def _tidy_up(self):
        for each in self._tasks:
            each.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for each in [*self.servers, *self.devices]:
            if each.runs:
                each.send(signal.SIGKILL)
                await each.process.wait()
        for each in self._relays:
            each.close()
        shutil.rmtree(self._sockets, ignore_errors=True)
        await self.cluster.sql("postgres", f"DROP DATABASE IF EXISTS {self.database} (FORCE)")


async def play(seed, programs, cluster, folder, sockets, data):
    """Returns (run, failures, seconds)."""
    begun = time.monotonic()
    run = Run(schedule.plan_of(seed), programs, cluster, folder, sockets, data)
    failures = await run.play()
    return run, failures, time.monotonic() - begun
