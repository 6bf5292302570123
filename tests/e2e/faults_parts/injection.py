"""The faults. Each is an asynchronous context: inside of it the fault is in effect.

To add a fault: its function here, and its row in KINDS.
"""
import asyncio
import contextlib
import signal

TAKEOVER_SECONDS = 12  # until another server leads, at most


@contextlib.asynccontextmanager
async def ended(fault, server, number):
    server.end(number, fault.length)
    yield


def kill_leader(run, fault):
    return ended(fault, run.leader(), signal.SIGKILL)


def kill_standby(run, fault):
    return ended(fault, run.standby(), signal.SIGKILL)


def terminate_leader(run, fault):
    """As `systemctl restart`."""
    return ended(fault, run.leader(), signal.SIGTERM)


@contextlib.asynccontextmanager
async def stopped(run, fault, server, until_takeover=False):
    server.stop()
    try:
        yield
        if until_takeover:
            await takeover(run, server)
        await asyncio.sleep(fault.length)
    finally:
        server.go_on()
        if until_takeover and fault.loses:
            run.leader().front_link.cut()  # some of its devices then try the former leader


async def takeover(run, former):
    end = run.now() + TAKEOVER_SECONDS
    while run.now() < end and run.leader() is former and not run.is_over():
        await asyncio.sleep(0.1)


def stop_leader(run, fault):
    return stopped(run, fault, run.leader())


def stop_leader_until_takeover(run, fault):
    """Both then believe that they lead."""
    return stopped(run, fault, run.leader(), until_takeover=True)


def stop_standby(run, fault):
    return stopped(run, fault, run.standby())


@contextlib.asynccontextmanager
async def database_down(run, fault, number):
    async with run.cluster_is_mine:
        await run.cluster.stop(number)
        try:
            yield
            await asyncio.sleep(fault.length / 2)
        finally:
            await run.cluster.start()


def restart_database(run, fault):
    return database_down(run, fault, signal.SIGQUIT)


def kill_postmaster(run, fault):
    return database_down(run, fault, signal.SIGKILL)


@contextlib.asynccontextmanager
async def kill_backend(run, fault):
    """PostgreSQL then ends all sessions and recovers."""
    await run.signal_session(fault.kind.split()[1], signal.SIGKILL)
    yield


@contextlib.asynccontextmanager
async def end_session(run, fault):
    await run.end_session(fault.kind.split()[1])
    yield


@contextlib.asynccontextmanager
async def held(run, fault, link, until_takeover_from=None):
    """A partition."""
    link.hold()
    try:
        yield
        if until_takeover_from:
            await takeover(run, until_takeover_from)
        await asyncio.sleep(fault.length)
    finally:
        if fault.loses:
            link.cut()
        link.release()


@contextlib.asynccontextmanager
async def cut(link):
    link.cut()
    yield


@contextlib.asynccontextmanager
async def slow(fault, link):
    link.delay = fault.length / 15
    try:
        yield
        await asyncio.sleep(2 * fault.length)
    finally:
        link.delay = 0.0


def hold_database(run, fault):
    return held(run, fault, run.leader().database_link)


def hold_database_until_takeover(run, fault):
    leader = run.leader()
    return held(run, fault, leader.database_link, leader)


def hold_lock_until_takeover(run, fault):
    """The leader still reads and writes, and cannot learn that it has lost the lock."""
    leader = run.leader()
    return held(run, fault, leader.lock_link, leader)


def hold_database_of_standby(run, fault):
    return held(run, fault, run.standby().database_link)


def cut_database(run, fault):
    return cut(run.leader().database_link)


def slow_database(run, fault):
    return slow(fault, run.leader().database_link)


def hold_devices(run, fault):
    return held(run, fault, run.leader().front_link)


def cut_devices(run, fault):
    return cut(run.leader().front_link)


def slow_devices(run, fault):
    return slow(fault, run.leader().front_link)


@contextlib.asynccontextmanager
async def kill_device(run, fault):
    run.devices[fault.device].kill()
    yield


@contextlib.asynccontextmanager
async def third_server(run, fault):
    await run.start_server("c")
    yield


# Weight, function.
KINDS = {
    "kill leader": (4, kill_leader),
    "kill standby": (1, kill_standby),
    "terminate leader": (1, terminate_leader),
    "stop leader": (3, stop_leader),
    "stop leader until takeover": (5, stop_leader_until_takeover),
    "stop standby": (1, stop_standby),
    "restart database": (3, restart_database),
    "kill postmaster": (2, kill_postmaster),
    "kill main backend": (2, kill_backend),
    "kill lock backend": (2, kill_backend),
    "end main session": (2, end_session),
    "end lock session": (3, end_session),
    "hold database of leader": (3, hold_database),
    "hold database of leader until takeover": (4, hold_database_until_takeover),
    "hold lock session of leader until takeover": (4, hold_lock_until_takeover),
    "hold database of standby": (1, hold_database_of_standby),
    "cut database of leader": (3, cut_database),
    "slow database of leader": (1, slow_database),
    "hold devices": (2, hold_devices),
    "cut devices": (1, cut_devices),
    "slow devices": (1, slow_devices),
    "kill device": (1, kill_device),
    "third server": (2, third_server),
}
