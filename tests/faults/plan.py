"""What happens in one schedule: settings, load and faults, all from a seed. The same seed is the same plan."""

import dataclasses
import random

GUEST = "guest"  # an instance that joins and leaves


@dataclasses.dataclass
class Fault:
    at_s: float
    kind: str
    who: object = None  # number of a daemon, GUEST or None
    for_s: float = 0.0
    delay_s: float = 0.0

    def __str__(self):
        who = "" if self.who is None else f" {self.who}"
        delay = f", {self.delay_s * 1000:.0f} ms" if self.delay_s else ""
        return f"{self.at_s:6.2f} s  {self.kind}{who} for {self.for_s:.2f} s{delay}"


@dataclasses.dataclass
class Plan:
    seed: int
    seconds: float
    daemons: int
    partitions: int
    rate: int  # events a second
    delivery: str
    wire_format: str
    kafka: dict  # settings of the daemons
    pipeline: dict
    judge: dict
    judge_delays_s: tuple
    faults: list
    model: str  # what the calibration learns
    audits: bool  # whether there is a log of the scored topic
    input_partitions: int = 0  # as of now; all topics begin with as many

    def __post_init__(self):
        self.input_partitions = self.partitions

    @property
    def session_s(self):
        return self.kafka["session_timeout_ms"] / 1000

    @property
    def transaction_s(self):
        return self.kafka["transaction_timeout_ms"] / 1000

    def __str__(self):
        lines = [f"seed {self.seed}: {self.daemons} daemons, {self.partitions} partitions, {self.rate} events/s, "
                 f"{self.delivery}, {self.wire_format}, model {self.model}{', audit log' if self.audits else ''}", f"kafka {self.kafka}", f"pipeline {self.pipeline}",
                 f"judge {self.judge}, answers after {self.judge_delays_s} s"]
        return "\n".join(lines + [str(fault) for fault in self.faults])


# kind: (how often, what it keeps busy, how long in seconds). A duration of (session, a, b) is the session timeout plus
# something between a and b; (transaction, a, b) likewise.
FIRST_KINDS = {
    "kill": (8, "daemon", (0.0, 4.0)),
    "kill, away": (3, "daemon", ("session", 0.5, 3.0)),
    "terminate": (5, "daemon", (0.0, 3.0)),
    "terminate, away": (2, "daemon", ("session", 0.5, 3.0)),
    "freeze": (4, "daemon", (0.3, 2.5)),
    "freeze, outlast": (6, "daemon", ("session", 0.5, 6.0)),
    "zombie": (5, "daemon", ("transaction", 0.5, 4.0)),
    "reload": (2, "daemon", (0.0, 0.0)),
    "guest": (4, "guest", (3.0, 12.0)),
    "guest, killed": (2, "guest", (3.0, 12.0)),
    "kafka cut": (5, "kafka", (0.0, 0.0)),
    "kafka cut again and again": (3, "kafka", (2.0, 6.0)),
    "kafka slow": (4, "kafka", (2.0, 8.0)),
    "kafka held": (5, "kafka", (0.5, 12.0)),
    "kafka forgotten": (3, "kafka", (0.0, 0.0)),
    "broker kill": (4, "broker", (0.2, 4.0)),
    "broker halt": (3, "broker", (0.2, 4.0)),
    "broker kill, away": (3, "broker", ("transaction", 1.0, 4.0)),
    "broker full": (2, "broker", (1.0, 4.0)),
    "topic away": (4, "topic", (2.0, 20.0)),
    "topic small": (2, "topic", (1.0, 6.0)),
    "postgres kill": (3, "postgres", (0.5, 8.0)),
    "database cut": (2, "database", (0.0, 0.0)),
    "database held": (3, "database", (1.0, 10.0)),
    "database slow": (2, "database", (2.0, 8.0)),
    "target cut": (2, "target", (0.0, 0.0)),
    "target held": (3, "target", (1.0, 8.0)),
    "judge errors": (2, "judge", (1.0, 8.0)),
    "judge hangs": (3, "judge", (1.0, 10.0)),
    "judge cut": (2, "judge", (0.0, 0.0)),
}

# Those that came later, drawn apart from them: a seed keeps the faults that it has had.
LATER_KINDS = {
    "target kill": (5, "targets", (0.5, 8.0)),
    "target halt": (3, "targets", (0.5, 6.0)),
    "target hung": (3, "targets", (1.0, 10.0)),
    "target slow": (2, "target", (2.0, 8.0)),
    "postgres halt": (2, "postgres", (0.5, 8.0)),
    "postgres hung": (3, "postgres", (1.0, 12.0)),
    "judge away": (3, "judge", (1.0, 8.0)),
}
# What happens to the input topic, drawn apart once more.
TOPIC_KINDS = {
    "new partitions": (1, "input", (0.0, 0.0)),
}
# What needs all daemons at once, or a stop; likewise. At most one of them, in a share of the schedules.
UPHEAVALS = {
    "deleted records": (3, "input", ("session", 0.5, 3.0)),
    "deleted records, killed": (2, "input", ("session", 0.5, 3.0)),
    "deleted records, asleep": (2, "input", ("session", 0.5, 3.0)),
    "recreated topic": (3, "input", (0.0, 0.0)),
    "recreated topic, stopped": (2, "input", ("session", 0.5, 3.0)),
    "recreated topic, killed": (2, "input", (0.5, 8.0)),
    "recreated topic, asleep": (3, "input", (0.5, 12.0)),
}
STOP_KINDS = {
    "refused stop": (1, "daemon", (0.0, 6.0)),
}
# The daemons' login to the broker; likewise.
LOGIN_KINDS = {
    "rotated password": (3, "login", (0.5, 12.0)),
    "rotated password, file first": (2, "login", (0.5, 6.0)),
}
# The input gets partitions while all daemons are down; likewise.
RESTART_KINDS = {
    "new partitions, stopped": (2, "input", (0.0, 3.0)),
    "new partitions, killed": (1, "input", (0.0, 3.0)),
}
# A right that the daemons' user loses for some time; likewise.
RIGHT_KINDS = {
    "no right on input": (3, "right", (0.5, 15.0)),
    "no right on group": (3, "right", (0.5, 15.0)),
    "no right on advisory": (2, "right", (0.5, 15.0)),
    "no right on dead letter": (2, "right", (0.5, 15.0)),
    "no right on transactional id": (3, "right", (0.5, 15.0)),
}
KINDS = {**FIRST_KINDS, **LATER_KINDS, **TOPIC_KINDS, **UPHEAVALS, **STOP_KINDS, **LOGIN_KINDS, **RESTART_KINDS, **RIGHT_KINDS}
MAX_LATER = 3
SHARES = ((TOPIC_KINDS, "topic faults {}", 0.3), (UPHEAVALS, "upheaval of {}", 0.3), (STOP_KINDS, "stops {}", 0.3),
          (LOGIN_KINDS, "logins {}", 0.3), (RESTART_KINDS, "restarts {}", 0.2),
          (RIGHT_KINDS, "rights {}", 0.3))

PER_DAEMON = ("daemon", "kafka", "database", "target")
MARGIN_S = {"daemon": 2.0, "broker": 8.0, "input": 20.0}


def _duration(pick, span, plan):
    if span[0] == "session":
        return plan.session_s + pick.uniform(*span[1:])
    if span[0] == "transaction":
        return max(plan.session_s, plan.transaction_s) + pick.uniform(*span[1:])
    return pick.uniform(*span)


def _free(busy, lane, begin, end):
    return all(end <= other_begin or begin >= other_end for other_begin, other_end in busy.get(lane, ()))


def _add_fault(pick, plan, busy, kinds):
    kind = pick.choices(list(kinds), [KINDS[name][0] for name in kinds])[0]
    _, lane, span = KINDS[kind]
    who = pick.randrange(plan.daemons) if lane in PER_DAEMON else None
    fault = Fault(pick.uniform(1.0, plan.seconds - 1.0), kind, GUEST if lane == "guest" else who,
                  _duration(pick, span, plan), pick.choice((0.03, 0.1, 0.3)))
    if "slow" not in kind and kind != "zombie":
        fault.delay_s = 0.0
    fault.for_s = min(fault.for_s, plan.seconds + 4.0)
    begin, end = fault.at_s, fault.at_s + fault.for_s + MARGIN_S.get(lane, 0.5)
    key = (lane, who) if lane in PER_DAEMON else lane
    if _free(busy, key, begin, end):
        busy.setdefault(key, []).append((begin, end))
        plan.faults.append(fault)


def _settings(pick):
    session, transaction = pick.choice(((4000, 8000), (6000, 10000), (10000, 6000), (10000, 15000)))
    kafka = {"session_timeout_ms": session, "heartbeat_ms": session // 10, "transaction_timeout_ms": transaction,
             "transaction_linger_ms": pick.choice((5, 50, 50, 300)),
             "transaction_max_events": pick.choice((300, 1000, 5000)),
             "drain_on_revoke_ms": pick.choice((0, 300, 2000))}
    pipeline = {"workers": 2, "max_in_flight": pick.choice((128, 512, 4096)),
                "drain_timeout_ms": pick.choice((500, 3000, 8000))}
    judge = {"cache_ttl_s": 1, "max_in_flight": 32, "timeout_ms": pick.choice((2000, 6000)),
             "sample_rate": pick.choice((0.1, 0.4)), "always_below": "VERY_LOW_CONFIDENCE"}
    return kafka, pipeline, judge


def _tables(seed):
    """What else is kept in PostgreSQL."""
    pick = random.Random(f"tables {seed}")
    return pick.choices(("off", "map", "features"), (1, 1, 3))[0], pick.random() < 0.7


def make(seed, seconds, only=None):
    """The plan of a seed; `only` (a list of kinds) leaves out all other faults."""
    pick = random.Random(f"faults {seed}")
    kafka, pipeline, judge = _settings(pick)
    plan = Plan(seed, seconds, pick.choice((2, 2, 3)), pick.choice((1, 3, 6, 12)), pick.choice((40, 80, 120)),
                pick.choices(("exactly_once", "at_least_once"), (4, 1))[0],
                pick.choices(("json", "single_object"), (5, 1))[0], kafka, pipeline, judge,
                pick.choice(((0.005,), (0.005, 0.05, 0.4), (0.02,) * 19 + (2.5,))), [], *_tables(seed))
    busy, wanted = {}, pick.randint(4, 9)
    for _ in range(60):
        if len(plan.faults) < wanted:
            _add_fault(pick, plan, busy, only or FIRST_KINDS)
    pick_later = random.Random(f"later faults {seed}")
    for _ in range(0 if only else pick_later.randint(0, MAX_LATER)):
        _add_fault(pick_later, plan, busy, LATER_KINDS)
    for kinds, name, share in SHARES:
        pick_one = random.Random(name.format(seed))
        if not only and pick_one.random() < share:
            _add_fault(pick_one, plan, busy, kinds)
    plan.faults.sort(key=lambda fault: fault.at_s)
    return plan
