"""Slow things wait beside each other and delay nobody else."""

import collections
import contextlib
import threading
import time

import events
from judge_server import Answer
from servers import Reader

SLOW_JUDGE = "take your time"
COUNT = "SELECT city, count(*) AS customers FROM customers WHERE id > -{} GROUP BY city"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'assayd_ro' AND wait_event_type = 'Lock'"


class Gate:
    """A lock that queries of customers wait for until it is opened."""

    def __init__(self, postgres):
        self.postgres, self.holder = postgres, None

    def shut(self):
        self.holder = self.postgres.connect("shop")
        self.holder.autocommit = False
        self.holder.cursor().execute("LOCK TABLE customers IN ACCESS EXCLUSIVE MODE")

    def open(self):
        if self.holder:
            self.holder.close()
        self.holder = None

    def await_waiting(self, count, timeout=60):
        """Whether so many queries wait at it, sooner or later."""
        deadline = time.monotonic() + timeout
        while self.postgres.execute(WAITING)[0][0] < count:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True


@contextlib.contextmanager
def gate_of(rig):
    gate = Gate(rig.postgres)
    try:
        yield gate
    finally:
        gate.open()


def patient(target):
    """A target whose queries may wait at a gate."""
    return ({**target, "lock_timeout_ms": 200_000, "statement_timeout_ms": 200_000},)


def test_judge_and_target_work_at_the_same_time(rig, shop_target):
    """The judge answers while the target's query runs, and that ends when the judge has been asked."""
    asked, together = [], []
    with gate_of(rig) as gate:
        def answer(prompt):
            if "slow" in prompt:
                asked.append(prompt)
                if len(asked) == 1:  # of two questions about it
                    together.append(gate.await_waiting(1))
                    gate.open()
            return Answer()

        rig.judge.answer = answer
        rig.start(partitions=1, targets=patient(shop_target), judge={"timeout_ms": 120_000})
        reader = Reader(rig.kafka, rig.topics.scored)
        rig.send([events.message(events.event(question="warm", target="shop", ground_truth={"sql": events.CITY_COUNT}))])
        reader.until(1)
        gate.shut()
        event = events.event(COUNT.format(1), question="slow", target="shop", ground_truth={"sql": events.CITY_COUNT})
        rig.send([events.message(event)])
        message = reader.until_match(lambda message: message.key() == event["event_id"].encode())
        record = rig.decode(message)
        reader.close()
    assert together == [True]
    assert record["result_validation"]["score"] == 1.0, record["result_validation"]
    assert record["judge"]["relevance"]["score"] == 92
    assert not record["judge"]["relevance"]["cached"]


def test_a_slow_event_delays_itself_alone(rig):
    partitions, quick_each = 4, 150
    decided = threading.Event()

    def answer(prompt):
        if SLOW_JUDGE in prompt:
            decided.wait(100)
        return Answer()

    rig.judge.answer = answer
    rig.start(partitions=partitions, judge={"timeout_ms": 120_000})
    slow = [events.sure(question=f"{SLOW_JUDGE}, partition {partition}") for partition in range(partitions)]
    rig.send([events.message(event, partition=partition) for partition, event in enumerate(slow)])
    deadline = time.monotonic() + 120
    while rig.judge.calls(SLOW_JUDGE) < partitions and time.monotonic() < deadline:
        time.sleep(0.02)
    assert rig.judge.calls(SLOW_JUDGE) == partitions

    quick = events.Template(events.sure(target="shop"))
    names, messages = zip(*(quick.message(partition=number % partitions)
                            for number in range(quick_each * partitions)))
    rig.send(messages)
    keys = collections.Counter(message.key().decode() for message, _ in rig.scored(len(names)))
    assert keys == dict.fromkeys(names, 1), "they have to be out while the judge is still thinking"

    # Everything above the prefix is remembered beyond the process.
    rig.daemon.kill()
    decided.set()
    rig.daemon.start()
    everything = {*names, *(event["event_id"] for event in slow)}
    keys = collections.Counter(message.key().decode()
                               for message, _ in rig.scored(len(everything), settle=3))
    assert keys == dict.fromkeys(everything, 1)
    assert rig.judge.calls(SLOW_JUDGE) == 2 * partitions


def test_slow_targets_do_not_hold_up_events_without_one(rig, shop_target):
    rig.start(partitions=1, targets=patient(shop_target))
    slow = [events.event(COUNT.format(number + 1), target="shop", ground_truth={"sql": events.CITY_COUNT})
            for number in range(4)]
    with gate_of(rig) as gate:
        gate.shut()
        rig.send([events.message(event) for event in slow])
        assert gate.await_waiting(shop_target["connections"])
        quick = [events.sure() for _ in range(100)]
        rig.send([events.message(event) for event in quick])
        names = {event["event_id"] for event in quick}
        first = rig.scored(len(quick), settle=0)
        assert {str(record["event_id"]) for _, record in first} == names
    assert len(rig.scored(len(quick) + len(slow))) == len(quick) + len(slow)
