"""The tables of server/INGEST.md: what one server's update costs, what a coordinator's round would cost, and
what follows for larger fleets.

ingest.py BUILD_DIR FOLDER [--small]
Writes served.md, coordinator.md, reach.md and rounds.md into FOLDER, which it also works in. ingest.sh runs it.

An update costs a server processor time, measured from its second release on, with two fleets of devices (sotto-lab swarm)
that are in every round. The difference is free of releases and handshakes, which do not grow with the updates.
"""

import json
import os
import signal
import subprocess
import sys
import time

# A net of one layer: inputs, outputs; devices of the smaller fleet, rounds that are measured.
NETS = [(100, 10, 400, 21), (1000, 100, 40, 7), (1000, 1000, 10, 4), (3000, 4000, 2, 4)]
SMALL = [(100, 10, 4, 2), (100, 100, 2, 2)]
LARGER = 4  # times as many devices in the larger fleet

POOL = 4  # threads that decode, beside the loop's: server/src/net/server.cc
WINDOW = 1 / 6  # of a round in which devices upload: from two thirds to five sixths of it
ROUNDS = [("a minute", 60), ("ten minutes", 600), ("an hour", 3600)]
SERVERS = 10
BANDWIDTH = 1.25e9  # bytes a second into the coordinator
UNMEASURED = 1000  # rounds of the job beyond these: the server must not end before it is measured
TICKS = os.sysconf("SC_CLK_TCK")


def seconds(stat):
    with open(stat, encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def cpu(pid):
    """Processor seconds of the server's loop, and of the whole process, threads that have ended included."""
    return seconds(f"/proc/{pid}/task/{pid}/stat"), seconds(f"/proc/{pid}/stat")


def most_memory(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return 1024 * int(next(line for line in file if line.startswith("VmHWM")).split()[1])


def fail(what, log):
    with open(log, encoding="utf-8") as file:
        sys.exit(f"{file.read()}{what}")


def wait_for(condition, server, log):
    while not condition():
        if server.poll() is not None:
            fail("the server ended", log)
        time.sleep(0.002)


def port_in(path):
    """What the server has written there; empty while it has not, or not all of it."""
    try:
        with open(path, encoding="ascii") as file:
            text = file.read()
    except FileNotFoundError:
        return ""
    return text.strip() if text.endswith("\n") and text.strip().isdigit() else ""


def released(log):
    with open(log, encoding="utf-8") as file:
        return file.read().count(" reported, ")


def serve(build, model, devices, rounds):
    """Loop and pool seconds of a round, bytes of a participation up and down, and the most memory."""
    store = f"{model}-{devices}-{time.monotonic_ns()}.db"
    sotto = f"{build}/bin/sotto"
    subprocess.run([sotto, "keys", "new", store, "--count", str(devices), "--seed", "1", "--insecure-seed"],
                   check=True, stdout=subprocess.DEVNULL)
    log, port = f"{store}.log", f"{store}.port"
    with open(log, "w", encoding="utf-8") as output:
        server = subprocess.Popen(
            [sotto, "serve", store, "--close-early", "--sampling", "full", "--rounds", str(rounds + UNMEASURED),
             "--noise-multiplier", "1", "--round-timeout", "600", "--min-devices", str(devices), "--model",
             f"{model}.toml", "--max-handshakes-per-address", "64", "--listen", "127.0.0.1:0", "--port-file", port],
            stdout=output, stderr=output)
    swarm = None
    try:
        wait_for(lambda: port_in(port), server, log)
        address = f"127.0.0.1:{port_in(port)}"
        with open(f"{store}.swarm", "w", encoding="utf-8") as output:
            swarm = subprocess.Popen(
                [f"{build}/bin/sotto-lab", "swarm", store, "--model", f"{model}.toml", "--server", address, "--json",
                 f"{store}.json"], stdout=output, stderr=output)
        wait_for(lambda: released(log) >= 2, server, log)
        begin, first = cpu(server.pid), released(log)
        wait_for(lambda: released(log) >= first + rounds, server, log)
        end, last, memory = cpu(server.pid), released(log), most_memory(server.pid)
        swarm.send_signal(signal.SIGINT)
        if swarm.wait() != 0:
            fail("sotto-lab swarm failed", f"{store}.swarm")
    finally:
        for process in filter(None, (server, swarm)):
            process.terminate()
            process.wait()
    loop = (end[0] - begin[0]) / (last - first)
    pool = (end[1] - begin[1]) / (last - first) - loop
    with open(f"{store}.json", encoding="utf-8") as file:
        figures = json.load(file)
    return loop, pool, figures["update_bytes_up"], figures["update_bytes_down"], memory


def write_net(inputs, outputs):
    name = f"net-{inputs * outputs + outputs}"
    with open(f"{name}.toml", "w", encoding="utf-8") as file:
        file.write(f'name = "{name}"\ninput = [{inputs}]\n\n[[layer]]\nkind = "dense"\noutputs = {outputs}\n')
    return name


def least(build, name, devices, rounds, runs):
    """Of several runs the least of each figure: other work on the machine only adds."""
    return [min(figures) for figures in zip(*(serve(build, name, devices, rounds) for _ in range(runs)))]


def measure_update(build, net, runs):
    inputs, outputs, devices, rounds = net
    name = write_net(inputs, outputs)
    few = least(build, name, devices, rounds, runs)
    many = least(build, name, LARGER * devices, rounds, runs)
    more = (LARGER - 1) * devices
    return {
        "parameters": inputs * outputs + outputs,
        "loop": max((many[0] - few[0]) / more, 1e-9),  # below a tick of the clock it may be anything
        "pool": max((many[1] - few[1]) / more, 1e-9),
        "up": many[2],
        "down": many[3],
        "devices": LARGER * devices,
        "memory": many[4],
    }


def rate(update):
    return min(1 / update["loop"], POOL / update["pool"])


def number(value):
    """Three digits are what a measurement on a busy machine is good for, and two of small ones."""
    if value >= 1000:
        digits = len(str(int(value))) - 3
        return f"{int(round(value, -digits)):,}"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def table(name, head, rows):
    lines = ["| " + " | ".join(row) + " |" for row in [head, *rows]]
    lines.insert(1, "|" + "---|" * len(head))
    text = "\n".join(lines) + "\n"
    with open(f"{name}.md", "w", encoding="utf-8") as file:
        file.write(text)
    print(text)


def coordinator(build, small):
    cost = {}
    fleets = []
    devices = 10_000 if small else 1_000_000
    run = subprocess.run([f"{build}/bin/sotto-bench-ingest", ".", str(devices)], check=True, capture_output=True,
                         text=True)
    for line in run.stdout.splitlines():
        what, size, ms = line.split()
        if what == "open":
            fleets.append((int(size), float(ms)))
        else:
            cost.setdefault(int(size), {})[what] = float(ms)
    return cost, fleets


def main():
    build, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    small = "--small" in sys.argv
    os.chdir(folder)
    updates = [measure_update(build, net, 1 if small else 3) for net in (SMALL if small else NETS)]
    cost, fleets = coordinator(build, small)

    table("served", ["parameters", "ms an update, loop", "ms an update, pool", "bytes up", "bytes down",
                     "devices", "MB of memory"],
          [[f"{u['parameters']:,}", number(1e3 * u["loop"]), number(1e3 * u["pool"]), number(u["up"]),
            number(u["down"]), f"{u['devices']:,}", number(u["memory"] / 1e6)]
           for u in updates])

    table("reach", ["parameters", "updates/s", "of the loop alone"] + [f"devices, {name}" for name, _ in ROUNDS],
          [[f"{u['parameters']:,}", number(rate(u)), number(1 / u["loop"])] +
           [number(rate(u) * WINDOW * seconds) for _, seconds in ROUNDS] for u in updates])

    table("coordinator",
          ["parameters", "ms to merge a part", "ms of a release", "ms of its commit", "ms of a zero update"],
          [[f"{n:,}"] + [f"{cost[n][what]:.3g}" for what in ("merge", "release", "commit", "zero")] for n in sorted(cost)] +
          [[f"a draw of {n:,} devices", "", f"{ms:.3g}", "", ""] for n, ms in fleets])

    rows = []
    for update in updates:
        n = update["parameters"]
        travel = 1e3 * SERVERS * 8 * n / BANDWIDTH
        whole = travel + SERVERS * cost[n]["merge"] + cost[n]["release"] + cost[n]["commit"]
        rows.append([f"{n:,}", number(travel), number(whole), number(SERVERS * rate(update)),
                     number(8 * n * (SERVERS + 1) / 1e6)])
    table("rounds", ["parameters", "ms in which the parts travel", "ms from the deadline to the model",
                     "updates/s of all", "MB of parts and total"], rows)


main()
