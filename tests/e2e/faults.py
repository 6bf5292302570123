#!/usr/bin/python3
"""Two servers on a PostgreSQL database, devices, and faults drawn from a seed.

A run is a job of a few short rounds on a fresh database, with two `sotto serve`, six
`sotto-client` behind relays, and one to three faults: processes are killed or suspended, PostgreSQL
is stopped, sessions end, the network loses, holds or delays what goes through it, before a COMMIT,
between it and its answer, in an upload, at a takeover. Afterwards the store, the logs, the models
on the devices and samples of the ledger are compared: faults_parts/invariants.py.

A seed says which faults come, not to the millisecond when: a run that failed may pass the next
time. The folder of a run that failed is left, with one log of all its programs.

Exit status: 0 all runs passed, 1 one failed, 2 bad usage, 77 there is no PostgreSQL.
One thousand runs: faults.py --bin build/host/bin --work DIR --runs 1..1000 --jobs 4
"""
import argparse
import asyncio
import os
import pathlib
import resource
import shutil
import signal
import sys
import tempfile
import time

from faults_parts import cluster as clusters
from faults_parts import found
from faults_parts import run as runs
from faults_parts import schedule

ROOM_BYTES = 1 << 30


def seeds(text):
    numbers = []
    for part in text.split(","):
        first, _, last = part.partition("..")
        numbers += range(int(first), int(last or first) + 1)
    return list(dict.fromkeys(numbers))  # a run has the folder of its seed


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=seeds, metavar="FIRST..LAST",
                        default=[], help="seeds, one for each run; also 3,7,20..29")
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the programs")
    parser.add_argument("--work", type=pathlib.Path, required=True,
                        help="folder of the runs, made anew")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="runs at a time")
    parser.add_argument("--times", type=int, default=1, metavar="N", help="runs of each seed")
    parser.add_argument("--found", action="store_true",
                        help="first the plans of found.py, which failed once")
    parser.add_argument("--keep", action="store_true", help="leave the folders of all runs")
    parser.add_argument("--dry-run", action="store_true", help="print what the seeds say")
    return parser.parse_args()


class Test:
    def __init__(self, options, sockets):
        self.options = options
        self.sockets = sockets
        self.left = options.runs
        if options.found:
            first = [plan.seed for plan in found.PLANS]
            self.left = first + [seed for seed in self.left if seed not in first]
        self.left = [(seed, time_) for seed in self.left for time_ in range(options.times)]
        self.count = len(self.left)
        self.failed = []
        self.seconds = []
        self.reached = 0

    async def lane(self, number):
        """Runs one after the other, in one cluster, which they may stop."""
        cluster = clusters.Cluster(self.sockets / "template", self.sockets / f"pg{number}")
        await cluster.start()
        try:
            await cluster.must("postgres", "CREATE ROLE sotto LOGIN")
            while self.left:
                await self._run(*self.left.pop(0), cluster, self.sockets / f"net{number}")
        finally:
            await cluster.stop()

    async def _run(self, seed, time_, cluster, sockets):
        folder = self.options.work / f"seed-{seed}{f'.{time_ + 1}' if time_ else ''}"
        log = cluster.folder / "log"
        logged = log.stat().st_size
        run, failures, seconds = await runs.play(seed, self.options.bin, cluster, folder, sockets,
                                                 self.options.work / "data.csv")
        self.seconds.append(seconds)
        self.reached += run.reached
        print(f"{run.plan}: {'FAILED' if failures else 'passed'}, {seconds:.1f} s", flush=True)
        for each in failures:
            print(f"  {each}", flush=True)
        if failures:
            self.failed.append(seed)
            (folder / "postgresql.log").write_bytes(log.read_bytes()[logged:])
            print(f"  see {folder}/run.log", flush=True)
        elif not self.options.keep:
            shutil.rmtree(folder)

    async def run(self):
        await asyncio.gather(*(self.lane(each) for each in range(self.options.jobs)))

    def summary(self, began):
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        cpu = [each.ru_utime + each.ru_stime for each in used]
        print(f"{self.count} runs, {self.reached} faults, {len(self.failed)} failed"
              f"{': seeds ' + ', '.join(map(str, self.failed)) if self.failed else ''}; a run "
              f"{sum(self.seconds) / max(len(self.seconds), 1):.1f} s, at most "
              f"{max(self.seconds, default=0):.1f} s; all {time.monotonic() - began:.0f} s, "
              f"processors {sum(cpu):.0f} s, "
              f"{cpu[0]:.0f} s of them this program's")


def memory():
    """Where clusters lie: in memory, if there is enough, so that they do not wait for a disk."""
    place = "/dev/shm"
    if os.access(place, os.W_OK) and shutil.disk_usage(place).free >= ROOM_BYTES:
        return place
    return None


def main():
    options = arguments()
    if options.dry_run:
        print("\n".join(str(schedule.plan_of(each)) for each in options.runs))
        return 0
    if not clusters.programs():
        print("faults.py: skipped: there is no PostgreSQL here (packages postgresql, "
              "postgresql-client)", file=sys.stderr)
        return 77
    options.bin, options.work = options.bin.resolve(), options.work.resolve()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends what runs, as Ctrl-C does
    began = time.monotonic()
    shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True)
    runs.write_data(options.work / "data.csv")
    # Unix sockets have short names, and the owner of the cluster has to reach its folder.
    with tempfile.TemporaryDirectory(prefix="sotto-faults-", dir=memory()) as folder:
        os.chmod(folder, 0o755)
        sockets = pathlib.Path(folder)
        clusters.make_template(sockets / "template")
        test = Test(options, sockets)
        asyncio.run(test.run())
        test.summary(began)
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
