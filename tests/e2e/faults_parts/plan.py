"""A run as it is planned: the job, the network, the faults and when they come."""
import dataclasses
import re

DEVICES = 6
ENDS_WITH_CUT = re.compile("hold|until takeover")


@dataclasses.dataclass
class Fault:
    kind: str
    phase: str    # "start", "open", "release", "takeover", "commit", "answer"
    number: int   # of the round, or of the commit
    after: float  # seconds
    length: float  # seconds
    loses: bool    # at its end connections are cut
    device: int

    def __str__(self):
        when = self.phase + (f" {self.number}" if self.number else "")
        ending = ", then cut" if self.loses and ENDS_WITH_CUT.search(self.kind) else ""
        return f"{self.kind} at {when} +{self.after:.2f} s for {self.length:.2f} s{ending}"


@dataclasses.dataclass
class Plan:
    seed: int
    sampling: str
    participations: int  # 0: not of passes
    cohort: int
    rounds: int
    is_tcp: bool  # the servers reach the database by TCP, not by a unix socket
    faults: list

    def __str__(self):
        job = f"{self.sampling} {self.cohort} of {DEVICES}, {self.rounds} rounds"
        if self.participations:
            job += f", {self.participations} participations"
        network = "TCP" if self.is_tcp else "unix socket"
        return f"seed {self.seed}: {job}, {network}; " + "; ".join(map(str, self.faults))
