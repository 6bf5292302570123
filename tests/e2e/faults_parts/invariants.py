"""What holds after a run, whatever happened in it; looked at from outside.

Each check yields sentences about what is wrong.
"""
import json
import re

from .programs import OPENED
from .programs import RELEASED

DRAWN = re.compile(r"drawn for round (\d+), attempt (\d+)")
HEARD_OF_END = "the job is done"


class Evidence:
    """What the store holds at the end: rounds and attempts from 1, as the logs count them."""

    def __init__(self, run):
        self.run = run
        self.plan = run.plan

    async def read(self):
        run = self.run
        self.ledger = await self._json("account", "ledger", run.store(), "--json", "-")
        self.status = await self._json("status", run.store(), "--turns", "--json", "-") \
            if self.plan.participations else None
        self.verified = await self._json("status", run.store(), "--verify", "--json", "-")
        rows = run.cluster.must
        self.attempts = await rows(run.database, "SELECT job, round + 1, attempt + 1 FROM attempts")
        self.releases = await rows(run.database, "SELECT round + 1, attempt + 1 FROM releases "
                                   "ORDER BY round")
        self.models = dict(await rows(
            run.database, "SELECT encode(sha256(parameters), 'hex'), round + 1 FROM models"))
        self.last_halt = (await rows(run.database, "SELECT kind, reason FROM halts "
                                     "ORDER BY job DESC, number DESC LIMIT 1"))[0]

    async def _json(self, *command):
        status, out, errors = await self.run.tool(*command)
        if status != 0:
            raise RuntimeError(f"sotto {command[0]} {command[1]}: status {status}: {errors}")
        return json.loads(out)


def job_ended(of):
    kind, reason = of.last_halt
    if len(of.ledger["jobs"]) != 1:
        yield f"the store has {len(of.ledger['jobs'])} jobs"
    if kind == "no-turns" and of.status:
        left = of.status["job"]["turns"]["with_a_turn_left"]
        if left >= of.plan.cohort:
            yield f"the job ended for want of turns, and {left} devices have one"
    elif kind != "all-rounds":
        yield f"the job ended as {kind}: {reason}"
    elif len(of.releases) != of.plan.rounds:
        yield f"the job ended with {len(of.releases)} of {of.plan.rounds} rounds released"
    for server in of.run.servers:
        yield from server.wrong_ends


def each_round_once(of):
    rounds = [int(row[0]) for row in of.releases]
    if rounds != list(range(1, len(rounds) + 1)):
        yield f"rounds released: {rounds}"
    if [each["round"] for each in of.ledger["releases"]] != rounds:
        yield "the ledger has other releases than the table"
    if of.verified["releases"] != len(rounds) or of.verified["attempts"] != len(of.attempts):
        yield f"verified: {of.verified['releases']} releases, {of.verified['attempts']} attempts"


def models_are_released(of):
    """Also that no two releases of a round were seen: the store has one model for each."""
    for digest, places in of.run.models.items():
        if digest not in of.models:
            yield f"a model that the store does not have: {digest[:16]} in {', '.join(places)}"


def logs_claim_what_is_stored(of):
    stored = {(int(row[1]), int(row[2])) for row in of.attempts}
    released = dict((int(round_), int(attempt)) for round_, attempt in of.releases)
    opened_by = {}
    released_by = {}
    for server in of.run.servers:
        now = None
        for line in server.lines:
            if match := OPENED.search(line):
                now = int(match[1]), int(match[2])
                if now not in stored:
                    yield f"{server.name} opened round {now[0]} attempt {now[1]}: not in the store"
                if now in opened_by:
                    yield f"round {now[0]} attempt {now[1]} opened twice"
                opened_by[now] = server.name
            elif match := RELEASED.search(line):
                round_ = int(match[1])
                if round_ in released_by:
                    yield f"round {round_} released twice, by {released_by[round_]}, {server.name}"
                released_by[round_] = server.name
                if now is None or (round_, released.get(round_)) != now:
                    yield (f"{server.name} says that it released round {round_}, attempt "
                           f"{now and now[1]}; in the store {released.get(round_)}")


def devices_were_told_what_is_stored(of):
    stored = {(int(row[1]), int(row[2])) for row in of.attempts}
    for device in of.run.devices:
        for line in device.lines:
            match = DRAWN.search(line)
            if match and (int(match[1]), int(match[2])) not in stored:
                yield f"device {device.name} took part in an attempt that is not stored: {line}"
        if device.status not in (None, 0, 143, -15):
            yield f"device {device.name} ended with status {device.status}"
        is_over = of.last_halt[0] != "waiting"
        if HEARD_OF_END in "".join(device.lines[-1:]) and not is_over:
            yield f"device {device.name} was told that the job is done, and it is not"


def turns_are_limited(of):
    if not of.status:
        return
    for each in of.status["job"]["turns"]["devices"]:
        if each["used"] > of.plan.participations:
            yield f"{each['id']} took part {each['used']} times"


def kept(release):
    """Without `pairs`, which the ledger computes for the newest release alone."""
    claims = [{**claim, "pairs": None} for claim in release["claims"]]
    return {**release, "claims": claims}


def spent(ledger):
    """What may never fall, by name."""
    figures = {name: ledger["total"][name] for name in ("attempts", "rounds_released")}
    claims = [("total", ledger["total"]["claims"])]
    claims += [("after attempts", job["claims_after_attempts"]) for job in ledger["jobs"]]
    for what, each in claims:
        figures.update({f"epsilon, {what}, {claim['adversary']}": claim["epsilon"]
                        for claim in each})
    return figures


def nothing_is_taken_back(of):
    """From sample to sample releases stay as they are, and what was spent does not fall."""
    ledgers = [json.loads(text) for text in of.run.ledgers] + [of.ledger]
    for former, now in zip(ledgers, ledgers[1:]):
        if len(now["releases"]) < len(former["releases"]):
            yield "a release of the ledger is gone"
        for was, is_ in zip(former["releases"], now["releases"]):
            if kept(was) != kept(is_):
                yield f"the ledger's round {was['round']} changed"
        figures = spent(now)
        for name, was in spent(former).items():
            if name in figures and figures[name] < was:
                yield f"{name} fell from {was} to {figures[name]}"
    for name in ("epsilon", "epsilon_network"):
        rounds = [each[name] for each in of.ledger["releases"]]
        if rounds != sorted(rounds):
            yield f"{name} of the rounds falls: {rounds}"


CHECKS = (job_ended, each_round_once, models_are_released, logs_claim_what_is_stored,
          devices_were_told_what_is_stored, turns_are_limited, nothing_is_taken_back)


async def check(run):
    of = Evidence(run)
    try:
        await of.read()
    except RuntimeError as error:
        return [str(error)]
    return [f"{each.__name__}: {wrong}" for each in CHECKS for wrong in each(of)]
