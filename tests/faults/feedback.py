"""Late truth: what people and other systems say about the events of a schedule, and what has to be counted of it."""

import dataclasses
import heapq
import itertools
import json
import random
import time
import zlib

import wire

HORIZON_S = 600
SHARE = 0.4  # of the events, about which something is said
LONGEST_WAIT_S = 15.0
QUERY_FEEDBACK = wire.load("query_feedback")

# How often each of them is said about an event; the functions below say what it is.
STORIES = {"once": 8, "repeated": 3, "corrected": 5, "beforehand": 3, "corrected_beforehand": 1, "overtaken": 2,
           "at_once": 2, "too_early": 1, "too_late": 1, "far_off": 1, "about_nobody": 2, "unreadable": 2}


@dataclasses.dataclass
class Remark:
    """One message; without `at`, its time is that of sending, and off by `shift_s`."""

    event_id: str
    correct: bool  # None: nobody can read it
    shift_s: float = 0.0
    at: float = None
    anywhere: bool = False  # not in the partition that belongs to its key


class Feedback:
    """Decides what is said and when; `send_due` sends it. Messages are found again by the number in their header."""

    def __init__(self, plan, produce):
        self._pick, self._partitions, self._produce = random.Random(f"feedback {plan.seed}"), plan.partitions, produce
        self._waiting = []  # heap of (due, place, remark)
        self._places = itertools.count()
        self.said = {}  # number: remark

    # ---- stories ----

    def about(self, event_id, now):
        """The event is about to be sent."""
        if self._pick.random() < SHARE:
            story = self._pick.choices(list(STORIES), STORIES.values())[0]
            getattr(self, "_" + story)(event_id, now)

    def _verdict(self):
        return self._pick.random() < 0.7

    def _later(self):
        return self._pick.uniform(0.05, LONGEST_WAIT_S)

    def _say(self, now, after_s, event_id, correct, **how):
        heapq.heappush(self._waiting, (now + after_s, next(self._places), Remark(event_id, correct, **how)))

    def _once(self, event_id, now):
        self._say(now, self._later(), event_id, self._verdict())

    def _repeated(self, event_id, now):
        verdict, after_s = self._verdict(), self._later()
        for _ in range(self._pick.randint(2, 4)):
            self._say(now, after_s, event_id, verdict)
            after_s += self._pick.choice((0.0, 0.0, 3.0))

    def _corrected(self, event_id, now):
        verdict = self._verdict()
        for after_s in sorted(self._later() for _ in range(self._pick.randint(2, 4))):
            self._say(now, after_s, event_id, verdict, anywhere=self._pick.random() < 0.3)
            verdict = not verdict

    def _beforehand(self, event_id, now):
        self._say(now, 0.0, event_id, self._verdict())

    def _corrected_beforehand(self, event_id, now):
        verdict = self._verdict()
        self._say(now, 0.0, event_id, verdict)
        self._say(now, 0.0, event_id, not verdict, shift_s=0.001)

    def _overtaken(self, event_id, now):
        """What was said first arrives last, and does not count."""
        verdict, after_s = self._verdict(), self._later()
        self._say(now, after_s, event_id, verdict)
        self._say(now, after_s + 1.0, event_id, not verdict, shift_s=-60.0, anywhere=True)

    def _at_once(self, event_id, now):
        """Two in the same millisecond, by the clock of their sender: partition and offset decide."""
        verdict, after_s = self._verdict(), self._later()
        at = time.time() + self._pick.uniform(-20.0, 20.0)
        for said in (verdict, not verdict):
            self._say(now, after_s, event_id, said, at=at, anywhere=True)

    def _too_early(self, event_id, now):
        self._say(now, self._later(), event_id, self._verdict(), shift_s=-HORIZON_S - 300.0)

    def _too_late(self, event_id, now):
        self._say(now, self._later(), event_id, self._verdict(), shift_s=HORIZON_S + 300.0)

    def _far_off(self, event_id, now):
        """Beyond everything that is remembered."""
        self._say(now, self._later(), event_id, self._verdict(), shift_s=30 * 86400.0)

    def _about_nobody(self, event_id, now):
        self._say(now, self._later(), event_id[::-1], self._verdict())

    def _unreadable(self, event_id, now):
        self._say(now, self._later(), event_id, None)

    # ---- messages ----

    def _value(self, remark):
        plain = {"event_id": remark.event_id, "correct": remark.correct, "source": "a test", "note": "…"}
        if remark.correct is None:
            broken = QUERY_FEEDBACK.encode({**plain, "correct": True})
            return self._pick.choice((None, b"", b"rubbish", broken[:-1], broken + b"\0", b"\xc3\x01" + bytes(8) + broken[10:],
                                      json.dumps(plain).encode(), b'{"correct": true}', b'{"event_id": "", "correct": true}'))
        if self._pick.random() < 0.5:
            return QUERY_FEEDBACK.encode(plain)
        return json.dumps(plain).encode()

    def _send(self, remark):
        number = len(self.said)
        self.said[number] = remark
        partition = zlib.crc32(remark.event_id.encode()) % self._partitions
        if remark.anywhere:
            partition = self._pick.randrange(self._partitions)
        at = time.time() + remark.shift_s if remark.at is None else remark.at
        self._produce(key=remark.event_id.encode(), value=self._value(remark), partition=partition,
                      timestamp=round(at * 1000), headers={"number": str(number)})

    def send_due(self, now):
        while self._waiting and self._waiting[0][0] <= now:
            self._send(heapq.heappop(self._waiting)[2])

    def send_all(self):
        """What still waits, in order: nobody waits for the last corrections."""
        self.send_due(float("inf"))


# ---- what has to be counted ----


def number_of(message):
    return int(message.header("number"))


def verdicts(said, messages):
    """{event_id: [(time in ms, partition, offset, verdict)]} of the topic's messages, the last one last."""
    found = {}
    for message in messages:
        remark = said[number_of(message)]
        if remark.correct is not None:
            found.setdefault(remark.event_id, []).append(
                (message.timestamp_ms, *message.place, remark.correct))
    for remarks in found.values():
        remarks.sort()
    return found


def late_truth(records, found):
    """The records about which something was said in time, labelled with it."""
    labelled = []
    for record in records:
        scored_ms = round(record["scored_at"].timestamp() * 1000)
        in_time = [correct for said_ms, _, _, correct in found.get(str(record["event_id"]), ())
                   if abs(said_ms - scored_ms) <= HORIZON_S * 1000]
        if in_time:
            labelled.append({**record, "label": {"source": "FEEDBACK", "weight": 1.0, "correct": in_time[-1]}})
    return labelled
