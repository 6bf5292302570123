"""What a seed says. The same seed, the same plan."""
import random

from . import found
from .injection import KINDS
from .plan import DEVICES
from .plan import Fault
from .plan import Plan

ROUND_SECONDS = 0.8

# (participations, cohort, most rounds): two attempts that release nothing still leave turns enough.
PASSES = ((3, 3, 4), (3, 2, 6), (2, 2, 4))


def plan_of(seed):
    return next((plan for plan in found.PLANS if plan.seed == seed), None) or draw(seed)


def draw(seed):
    random_ = random.Random(f"sotto faults {seed}")
    if random_.random() < 0.65:
        participations, cohort, most = random_.choice(PASSES)
        sampling, rounds = "passes", random_.randint(4, most)
    else:
        participations, cohort = 0, random_.randint(2, 4)
        sampling, rounds = "uniform", random_.randint(4, 6)
    is_tcp = random_.random() < 0.5
    count = random_.choice((1, 2, 2, 3))
    faults = [draw_fault(random_, rounds, number) for number in range(count)]
    return Plan(seed, sampling, participations, cohort, rounds, is_tcp, faults)


def draw_fault(random_, rounds, number):
    kind = random_.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
    phases = ["start", "open", "open", "open", "release", "commit", "commit", "answer", "answer"]
    phase = random_.choice(phases + ["takeover"] * (2 if number else 0))
    after = {
        "start": random_.uniform(0, 2),
        # The attempt, its uploads and its deadline.
        "open": random_.choice((random_.uniform(0, 0.1), random_.uniform(0.6, 0.75),
                                random_.uniform(0.78, 0.9))) * ROUND_SECONDS,
        "release": random_.uniform(0, 0.1),
        "takeover": random_.choice((0, random_.uniform(0, 1.5))),
        "commit": 0,
        "answer": 0,
    }[phase]
    round_or_commit = {
        "open": random_.randint(1, rounds),
        "release": random_.randint(1, rounds - 1),
        "commit": random_.randint(1, 4 * rounds),
        "answer": random_.randint(1, 4 * rounds),
    }
    length = random_.choice((random_.uniform(0.2, 1), random_.uniform(1, 3)))
    return Fault(kind, phase, round_or_commit.get(phase, 0), after, length,
                 random_.random() < 0.5, random_.randrange(DEVICES))
