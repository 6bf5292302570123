"""A PostgreSQL cluster of this test alone: no cluster of the system is touched."""
import asyncio
import contextlib
import getpass
import glob
import os
import pwd
import shutil
import signal
import subprocess

START_SECONDS = 30


def programs():
    """The folder of the newest installed PostgreSQL, or None."""
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda f: int(f.split("/")[-2]))
    folders = [f for f in folders if os.access(f + "/initdb", os.X_OK)]
    return folders[-1] if folders and shutil.which("psql") else None


def owner():
    """PostgreSQL refuses to be run by root."""
    if os.getuid() != 0:
        return getpass.getuser()
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            pass
    raise RuntimeError("this machine has no user `nobody`, as whom root could run PostgreSQL")


def as_owner():
    """Options of a subprocess that runs as owner()."""
    if os.getuid() != 0:
        return {}
    entry = pwd.getpwnam(owner())
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def make_template(folder):
    """What clusters are copied from, since initdb takes longer than a copy."""
    folder.mkdir(parents=True)
    if os.getuid() == 0:
        shutil.chown(folder, owner())
    subprocess.run([programs() + "/initdb", "-D", folder / "data", "-U", "postgres",
                    "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"],
                   check=True, stdout=subprocess.DEVNULL, cwd="/", **as_owner())


class Cluster:
    """One at a time uses it. It listens on a unix socket in its folder."""

    def __init__(self, template, folder):
        self.folder = folder
        self.process = None
        folder.mkdir(parents=True)
        if os.getuid() == 0:
            shutil.chown(folder, owner())
        subprocess.run(["cp", "-a", template / "data", folder / "data"], check=True)

    @property
    def socket(self):
        return str(self.folder / ".s.PGSQL.5432")

    @property
    def data(self):
        return self.folder / "data"

    async def start(self):
        """After a kill the memory of the former one may be in use for a moment."""
        end = asyncio.get_running_loop().time() + START_SECONDS
        while not await self._start_once():
            if asyncio.get_running_loop().time() > end:
                raise RuntimeError(f"PostgreSQL does not start: see {self.folder}/log")
            await asyncio.sleep(0.1)

    async def _start_once(self):
        with open(self.folder / "log", "ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                programs() + "/postgres", "-D", str(self.data), "-k", str(self.folder),
                "-c", "listen_addresses=", "-c", "max_connections=40", "-c", "shared_buffers=16MB",
                "-c", "autovacuum=off", "-c", "dynamic_shared_memory_type=mmap",
                stdout=log, stderr=log, cwd="/", start_new_session=True, **as_owner())
        while self.process.returncode is None:
            if self._is_ready():
                return True
            await asyncio.sleep(0.03)
        return False

    def _is_ready(self):
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(lines) > 7 and lines[0] == str(self.process.pid) and lines[7].strip() == "ready"

    async def stop(self, number=signal.SIGQUIT):
        """SIGQUIT: an immediate stop; SIGKILL: of the postmaster alone."""
        if self.process and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, number)
            await self.process.wait()

    async def sql(self, database, *statements):
        """Rows of text, or None if the database does not answer."""
        process = await asyncio.create_subprocess_exec(
            "psql", "-XqAt", "-h", str(self.folder), "-U", "postgres", database,
            *[part for each in statements for part in ("-c", each)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**os.environ, "PGCONNECT_TIMEOUT": "5"})
        out, _ = await process.communicate()
        if process.returncode != 0:
            return None
        return [line.split("|") for line in out.decode().splitlines()]

    async def must(self, database, *statements):
        rows = await self.sql(database, *statements)
        if rows is None:
            raise RuntimeError(f"{database}: refused: {statements}; see {self.folder}/log")
        return rows
