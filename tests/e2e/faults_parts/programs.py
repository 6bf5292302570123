"""The programs of a run: servers, started again as systemd would, and devices."""
import asyncio
import contextlib
import os
import re
import signal
import socket
import time

RESTART_SECONDS = 0.5
OPENED = re.compile(r"round (\d+) attempt (\d+): \d+ devices? drawn")
RELEASED = re.compile(r"round (\d+)/\d+ released: ")
# Ends of a server that a later start mends: the database was away, or the devices were.
PASSING = re.compile(r"check that PostgreSQL runs and is reached|was given up after")


class Record:
    """What all programs of a run said, with the seconds since its begin."""

    def __init__(self, path):
        self._file = open(path, "w", encoding="utf-8", buffering=1)
        self._begun = time.monotonic()

    def say(self, who, line):
        self._file.write(f"{time.monotonic() - self._begun:8.3f} {who:<9} {line}\n")

    def close(self):
        self._file.close()


class Program:
    """A process whose lines are heard."""

    def __init__(self, name, command, folder, record):
        self.name = name
        self.command = command
        self.folder = folder
        self.lines = []
        self.process = None
        self.is_stopped = False  # by SIGSTOP
        self._record = record
        folder.mkdir(exist_ok=True)

    @property
    def runs(self):
        return self.process is not None and self.process.returncode is None

    async def run_once(self):
        """Returns the exit status; negative: the signal."""
        self.process = await asyncio.create_subprocess_exec(
            *self.command, cwd=self.folder, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
        self._record.say(self.name, f"-- starts, process {self.process.pid}")
        while line := await self.process.stdout.readline():
            self._hear(line.decode(errors="replace").rstrip())
        status = await self.process.wait()
        self._record.say(self.name, f"-- ends with {status}")
        return status

    def _hear(self, line):
        self._record.say(self.name, line)
        self.lines.append(line)
        self.heard(line)

    def heard(self, line):
        pass

    def send(self, number):
        # Not by send_signal(), which may take the status that asyncio waits for.
        with contextlib.suppress(ProcessLookupError):
            if self.runs:
                os.kill(self.process.pid, number)

    def stop(self):
        self.is_stopped = self.runs
        self.send(signal.SIGSTOP)

    def go_on(self):
        self.is_stopped = False
        self.send(signal.SIGCONT)


class Server(Program):
    """tell(server, what, number): "open" and "release" of a round, "takeover", of its log."""

    def __init__(self, name, command, folder, record, tell):
        super().__init__(name, command, folder, record)
        self.port = free_port()
        self.command = command + ["--listen", f"127.0.0.1:{self.port}"]
        self.leads = False
        self.leads_since = 0.0
        self.is_done = asyncio.Event()
        self.wrong_ends = []
        self.pause = None  # seconds until the next start, after a fault ended it
        self._tell = tell

    async def serve(self):
        while not self.is_done.is_set():
            said = len(self.lines)
            status = await self.run_once()
            self.leads = False
            if status == 0:
                self.is_done.set()
            elif self.pause is None and not any(map(PASSING.search, self.lines[said:])):
                self.wrong_ends.append(f"{self.name} ended with status {status}")
            pause, self.pause = self.pause, None
            await asyncio.sleep(pause or RESTART_SECONDS)

    def end(self, number, pause):
        """A fault: the process ends, and starts again."""
        if self.runs:
            self.pause = pause
            self.send(number)
            self.go_on()

    def heard(self, line):
        if "begins again from the store" in line or " standby: " in line:
            self.leads = False
        elif " listening on " in line:
            self._lead()
        elif "this server takes over" in line:
            self._lead()
            self._tell(self, "takeover", 0)
        elif match := OPENED.search(line):
            self._tell(self, "open", int(match[1]))
        elif match := RELEASED.search(line):
            self._tell(self, "release", int(match[1]))

    def _lead(self):
        self.leads = True
        self.leads_since = asyncio.get_running_loop().time()


class Device(Program):
    """Runs until the job is done; a fault may kill it, and it starts again."""

    def __init__(self, name, command, folder, record):
        super().__init__(name, command, folder, record)
        self.status = None
        self.is_killed = False

    async def take_part(self):
        while True:
            self.status = await self.run_once()
            if not self.is_killed:
                return
            self.is_killed = False
            await asyncio.sleep(RESTART_SECONDS)

    def kill(self):
        if self.runs:
            self.is_killed = True
            self.send(signal.SIGKILL)


def free_port():
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return each.getsockname()[1]
