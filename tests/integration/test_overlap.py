"""Slow things wait beside each other and delay nobody else."""

import collections
import threading
import time

import events
from judge_server import Answer
from servers import Reader

SLOW_JUDGE = "take your time"
SLOW_COUNT = "SELECT city, count(*) AS customers FROM customers WHERE (SELECT count(*) FROM slow_orders({})) > 0 GROUP BY city"


def test_judge_and_target_work_at_the_same_time(rig):
    rig.judge.answer = lambda prompt: Answer(delay_s=1.0 if "slow" in prompt else 0.0)
    rig.start(partitions=1)
    warm = [events.event(question=f"warm {n}", target="shop", ground_truth={"sql": events.CITY_COUNT})
            for n in range(8)]
    rig.send([events.message(event) for event in warm])
    reader = Reader(rig.kafka, rig.topics.scored)
    reader.until(len(warm), 60)

    took, seen = [], []
    for number in range(5):
        # The query differs each time, so that no cached result of the truth or verdict shortens it.
        event = events.event(SLOW_COUNT.format(f"1.0 + {number} * 0.0001"), question=f"slow {number}",
                             target="shop", ground_truth={"sql": events.CITY_COUNT})
        sent = time.monotonic()
        sent_ms = events.now_ms()
        rig.send([events.message(event)])
        message = reader.until_match(lambda message, name=event["event_id"]: message.key() == name.encode())
        seen.append(time.monotonic() - sent)
        record = rig.decode(message)
        took.append(record["scored_at"].timestamp() * 1000 - sent_ms)
        assert record["result_validation"]["score"] == 1.0, record["result_validation"]
        assert record["judge"]["relevance"]["score"] == 92
        assert not record["judge"]["relevance"]["cached"]
    reader.close()
    # A second each: one behind the other they take two, whatever else the machine has to do meanwhile.
    assert min(took) >= 990, f"the test itself is not slow: {took}"
    assert sorted(took)[len(took) // 2] < 1600, took
    assert sorted(seen)[len(seen) // 2] < 1.9, seen


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
    deadline = time.monotonic() + 15
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
                               for message, _ in rig.scored(len(everything), timeout=60, settle=3))
    assert keys == dict.fromkeys(everything, 1)
    assert rig.judge.calls(SLOW_JUDGE) == 2 * partitions


def test_slow_targets_do_not_hold_up_events_without_one(rig):
    rig.start(partitions=1)
    slow = [events.event(SLOW_COUNT.format(4 + number / 1000), target="shop",
                         ground_truth={"sql": events.CITY_COUNT}) for number in range(4)]
    rig.send([events.message(event) for event in slow])
    quick = [events.sure() for _ in range(100)]
    rig.send([events.message(event) for event in quick])
    names = {event["event_id"] for event in quick}
    first = rig.scored(len(quick), timeout=30, settle=0)[:len(quick)]
    assert {str(record["event_id"]) for _, record in first} == names
    assert len(rig.scored(len(quick) + len(slow), timeout=40)) == len(quick) + len(slow)
