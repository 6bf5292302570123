"""Plans whose runs have failed, with what was wrong. The suite runs them before others.

They are written out, since a seed draws another plan once a fault or a weight has changed. Each
has the number of the seed that drew it; that seed now means the plan here.
"""
from .plan import Fault
from .plan import Plan

PLANS = [
    # A server that was suspended while another one took over heard from a device of an
    # attempt that the other one had opened, and ended for good: its store is an older copy.
    Plan(172, "uniform", 0, 3, 5, is_tcp=True, faults=[
        Fault("cut database of leader", "release", 2, 0.090, 1.75, loses=True, device=4),
        Fault("terminate leader", "start", 0, 0.174, 2.35, loses=True, device=3),
        Fault("stop leader until takeover", "commit", 4, 0.000, 2.79, loses=False, device=4),
    ]),
    # A standby took the lock and lost it again, as its session was idle while it waited for a
    # writer to end; with nothing to write it did not notice, kept devices waiting, and ended so.
    Plan(242, "passes", 3, 3, 4, is_tcp=True, faults=[
        Fault("hold database of leader until takeover", "commit", 1, 0.000, 0.34, loses=True,
              device=0),
        Fault("hold devices", "commit", 8, 0.000, 0.84, loses=True, device=1),
    ]),
    # As the first, with devices that change their server at that moment.
    Plan(384, "uniform", 0, 2, 4, is_tcp=False, faults=[
        Fault("stop standby", "answer", 6, 0.000, 2.72, loses=False, device=5),
        Fault("stop leader until takeover", "open", 3, 0.530, 2.23, loses=True, device=4),
    ]),
]
