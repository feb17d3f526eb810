"""Exactly once for read_committed readers, whatever dies when."""

import collections
import random
import re
import threading
import time

import pytest

import events
from judge_server import Answer
from openmetrics import Metrics, await_metrics
from servers import Reader

QUESTIONS = 50
TRY_AGAIN = 75  # EX_TEMPFAIL
TRUTH = {"sql": "SELECT c.city, count(c.id) AS n FROM customers AS c GROUP BY c.city"}


def templates():
    """Quick ones, judged ones, some that run on the target and some that cannot be read at all."""
    made = [events.Template(events.sure(question=f"Question {number}?", target="shop"))
            for number in range(QUESTIONS)]
    made += [events.Template(events.event(question=f"Question {number}?", target="shop", ground_truth=TRUTH))
             for number in range(5)]
    return made


def load(count, partitions, seed=7):
    """(messages, names that have to be scored, number of dead letters)"""
    pick = random.Random(seed)
    choices = templates()
    messages, names, letters = [], [], 0
    for number in range(count):
        name, message = pick.choice(choices).message(partition=number % partitions)
        if number % 97 == 0:
            message["value"] = b"\xc3\x01 not an event %d" % number
            letters += 1
        else:
            names.append(name)
        messages.append(message)
    return messages, names, letters


def assert_once(rig, names, letters, timeout=240):
    keys = collections.Counter(message.key().decode() for message, _ in
                               rig.scored(len(names), timeout=timeout, settle=3))
    doubled = [name for name, times in keys.items() if times > 1]
    assert not doubled, f"{len(doubled)} doubled"
    assert set(keys) == set(names)
    values = collections.Counter(letter.value() for letter in rig.dead_letters(letters))
    assert len(values) == letters and set(values.values()) <= {1}


def slow_judge(rig):
    """Answers take 5 to 400 ms: at every moment some events are done and some before them are not."""
    pick = random.Random(3)
    rig.judge.answer = lambda prompt: Answer(delay_s=pick.choice([0.005, 0.05, 0.4]))


def wait_for_some(rig, count, timeout=180):
    reader = Reader(rig.kafka, rig.topics.scored)
    try:
        reader.until(count, timeout)
    finally:
        reader.close()


def await_no_leftovers(daemon):
    deadline = time.monotonic() + 60
    while daemon.leftovers():
        assert time.monotonic() < deadline, "its workers outlive it"
        time.sleep(0.05)


def test_kill_in_the_middle_again_and_again(rig):
    count, partitions = 5_000, 4
    slow_judge(rig)
    # No cache: the judge keeps events waiting until the end.
    rig.start(partitions=partitions, judge={"cache_ttl_s": 1, "max_in_flight": 16})
    messages, names, letters = load(count, partitions)
    pick = random.Random(11)
    for part in range(5):
        rig.send(messages[part * count // 5:(part + 1) * count // 5])
        time.sleep(pick.uniform(0.1, 1.2))
        rig.daemon.kill()
        await_no_leftovers(rig.daemon)
        rig.daemon.start()
    assert_once(rig, names, letters)


def test_orderly_shutdown_in_the_middle(rig):
    count, partitions = 3_000, 2
    slow_judge(rig)
    rig.start(partitions=partitions, judge={"cache_ttl_s": 1, "max_in_flight": 16})
    messages, names, letters = load(count, partitions, seed=8)
    rig.send(messages)
    for _ in range(2):
        time.sleep(0.7)
        assert rig.daemon.terminate() == 0
        await_no_leftovers(rig.daemon)
        rig.daemon.start()
    assert_once(rig, names, letters)
    assert rig.daemon.terminate() == 0


def test_a_start_has_its_first_question_answered_at_once(rig):
    """The broker keeps a fetch of partitions that have nothing new for half a second, in which the others wait: some read their last record again."""
    partitions, waits = 12, 10
    rig.start(partitions=partitions, calibration=None, targets=None, judge=None, log={"level": "debug"}, kafka={"properties": ("debug=cgrp",)})
    sent = [events.sure() for _ in range(partitions + 1)]
    rig.send([events.message(event, partition=number) for number, event in enumerate(sent[:-1])])
    wait_for_some(rig, partitions)
    assert rig.daemon.terminate() == 0
    rig.send([events.message(sent[-1], partition=waits)])
    before = len(rig.daemon.log())
    rig.daemon.start()
    assert_once(rig, [event["event_id"] for event in sent], 0)
    begun = dict(re.findall(r"Starting pending assigned partition \S+ \[(\d+)\] at offset (\d+)", rig.daemon.log()[before:]))
    assert begun == {str(number): "1" if number < 4 or number == waits else "0" for number in range(partitions)}


def test_another_instance_takes_over(rig, make_daemon):
    count, partitions = 3_000, 4
    slow_judge(rig)
    first = rig.start(partitions=partitions, judge={"cache_ttl_s": 1, "max_in_flight": 16})
    messages, names, letters = load(count, partitions, seed=9)
    rig.send(messages[:count // 2])
    wait_for_some(rig, 50)
    second = make_daemon({**first.config, "http": None,
                          "kafka": {**first.config["kafka"], "instance_id": f"{rig.topics.name}-2"}})
    second.start()
    rig.send(messages[count // 2:])
    time.sleep(2)
    first.kill()  # and it never comes back: its session runs out
    assert_once(rig, names, letters, timeout=240)
    assert second.running()


def test_what_is_in_flight_is_finished_before_its_partition_goes(rig, make_daemon):
    """As long as a revoked partition may wait for it: nobody does it again."""
    asked, go_on = [], threading.Event()

    def answer(prompt):
        asked.append(prompt)
        go_on.wait(280)
        return Answer()

    rig.judge.answer = answer
    first = rig.start(partitions=2, calibration=None, targets=None, judge={"timeout_ms": 300_000},
                      kafka={"heartbeat_ms": 200, "drain_on_revoke_ms": 60_000})
    batch = [events.sure(question=f"Question {number}?") for number in range(8)]
    rig.send([events.message(event, partition=number % 2) for number, event in enumerate(batch)])
    await_metrics(first, lambda metrics: metrics.value("assayd_events_at_step", step="awaiting") == len(batch))
    second = make_daemon({**first.config, "kafka": {**first.config["kafka"], "instance_id": f"{rig.topics.name}-2"}})
    second.start(ready_timeout=None)
    await_metrics(first, lambda metrics: metrics.value("assayd_ready") == 0)  # it has to give its partitions back
    go_on.set()
    for daemon in (first, second):
        await_metrics(daemon, lambda metrics: metrics.value("assayd_partitions", state="assigned") == 1)
    assert_once(rig, [event["event_id"] for event in batch], 0)
    assert len(asked) == len(batch) and Metrics(first).value("assayd_events_discarded") == 0


def test_a_second_instance_of_one_name_fences_the_first(rig, make_daemon):
    first = rig.start(partitions=2)
    twin = make_daemon({**first.config, "http": None})
    twin.start()
    messages, names, letters = load(500, 2, seed=10)
    rig.send(messages)
    status = first.wait(timeout=180)
    assert status != 0
    assert rig.topics.settings(rig.kafka)["instance_id"] in first.log()
    assert_once(rig, names, letters)
    assert twin.running()


def supervise(rig, count, timeout):
    """Waits for so many records; starts the daemon again when it ends for a reason that a restart mends. To the
    broker's groups and transactions, an outage that lasts longer than their timeouts looks like another instance."""
    reader = Reader(rig.kafka, rig.topics.scored)
    deadline, restarts = time.monotonic() + timeout, 0
    try:
        while len(reader.messages) < count:
            assert time.monotonic() < deadline, f"{len(reader.messages)} of {count} after {timeout} s"
            reader.poll(0.2)
            if not rig.daemon.running():
                assert rig.daemon.wait(1) == TRY_AGAIN, rig.daemon.log_tail()
                restarts += 1
                assert restarts <= 3, "it ends again and again"
                rig.daemon.start(ready_timeout=None)
    finally:
        reader.close()


@pytest.mark.parametrize("how", ["kill", "halt"])
def test_broker_restart(rig, how):
    if not rig.kafka.own:
        pytest.skip("KAFKA_BOOTSTRAP names a broker that is not ours to restart")
    count, partitions = 2_000, 2
    slow_judge(rig)
    rig.start(partitions=partitions, judge={"cache_ttl_s": 1, "max_in_flight": 16})
    messages, names, letters = load(count, partitions, seed=12)
    rig.send(messages)
    wait_for_some(rig, 100)
    getattr(rig.kafka, how)()
    metrics = await_metrics(rig.daemon, lambda metrics: metrics.value("assayd_ready") == 0)
    status, reason = rig.daemon.get("/readyz")
    assert status == 503 and reason.startswith("waiting for ")
    assert rig.daemon.get("/healthz") == (200, "ok\n"), "waiting is alive"
    age = metrics.value("assayd_oldest_unfinished_event_age_seconds")
    await_metrics(rig.daemon, lambda later: later.value("assayd_oldest_unfinished_event_age_seconds") > age or
                  later.value("assayd_partitions", state="assigned") == 0)  # lost meanwhile
    rig.kafka.resume()
    supervise(rig, len(names), timeout=240)
    assert_once(rig, names, letters, timeout=180)
