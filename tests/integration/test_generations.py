"""Who may commit: nobody of a generation that is over, and everybody else however much there is to commit.

ASSAYD_TESTS_LONG=1: every combination, not only those that differ most.
"""

import collections
import contextlib
import os
import signal
import threading
import time

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, ConfigResource

import events
from group_offsets import GroupOffsets, full_map, without_maps
from judge_server import Answer
from network import KafkaLink
from openmetrics import Metrics, await_metrics
from servers import Kafka, Reader

SESSION_MS = 3000
ALL = os.environ.get("ASSAYD_TESTS_LONG")
BATCH = 20


@pytest.fixture(scope="module")
def link():
    made = KafkaLink()
    yield made
    made.close()


@pytest.fixture(scope="module")
def kafka(link, early_postgres):
    """A broker of our own: one of its listeners is behind the link."""
    if os.environ.get("KAFKA_BOOTSTRAP"):
        pytest.skip("KAFKA_BOOTSTRAP names a broker that has no listener behind our proxy")
    from conftest import required

    server = required(lambda: Kafka([link.port]))
    link.target = int(server.facts[f"behind_{link.port}"])
    yield server
    server.stop()


def kafka_settings(link, **changes):
    return {"bootstrap_servers": f"127.0.0.1:{link.port}", "session_timeout_ms": SESSION_MS, "heartbeat_ms": 200,
            "transaction_timeout_ms": 30_000, **changes}


def send(rig, count=BATCH, junk=()):
    """Sends events that need nobody, and behind them what is no event; the names of the events."""
    batch = [events.sure() for _ in range(count)]
    rig.send([events.message(event, partition=0) for event in batch] + [{"value": value, "partition": 0} for value in junk])
    return [event["event_id"] for event in batch]


class Topic:
    """The scored topic as both kinds of readers see it."""

    def __init__(self, rig):
        self._readers = {kind: Reader(rig.kafka, rig.topics.scored, kind)
                         for kind in ("read_committed", "read_uncommitted")}

    def committed(self, count, timeout=180, settle=0.0):
        return list(self._readers["read_committed"].until(count, timeout, settle))

    def committed_name(self, name):
        self._readers["read_committed"].until_match(lambda message: message.key() == name.encode())

    def written(self, count, timeout=180):
        return list(self._readers["read_uncommitted"].until(count, timeout))

    def close(self):
        for reader in self._readers.values():
            reader.close()


def awaited_log(daemon, text, timeout=180):
    deadline = time.monotonic() + timeout
    while text not in daemon.log():
        assert time.monotonic() < deadline, f"it never says {text!r}"
        time.sleep(0.1)


def names_of(messages):
    return collections.Counter(message.key().decode() for message in messages)


STOPS = {"before its offsets": KafkaLink.ADD_OFFSETS_TO_TXN, "with its offsets on the way": KafkaLink.TXN_OFFSET_COMMIT}
CASES = [("before its offsets", "itself"), ("with its offsets on the way", "a successor")]
if ALL:
    CASES = [(stop, heir) for stop in STOPS for heir in ("itself", "a successor")]


@pytest.mark.parametrize("stop, heir", CASES)
def test_a_generation_that_is_over_commits_nothing(rig, link, make_daemon, stop, heir):
    """An instance freezes when its outputs are in the topic and their offsets are not; somebody else does its events."""
    # one that slept through its session would join again, and take its name back from the successor
    session_ms = SESSION_MS if heir == "itself" else 60_000
    zombie = rig.start(partitions=1, kafka=kafka_settings(link, session_timeout_ms=session_ms), judge=None,
                       calibration=None, targets=None)
    config = {**zombie.config, "http": None, "kafka": {**zombie.config["kafka"], "bootstrap_servers": rig.kafka.bootstrap}}
    with contextlib.closing(Topic(rig)) as topic:
        trap = link.trap(STOPS[stop], lambda: zombie.signal(signal.SIGSTOP))
        names = send(rig, junk=[b"junk"])
        assert trap.sprung.wait(120)
        stillborn = topic.written(1)
        assert not topic.committed(0), "it is in the middle of its transaction"

        if heir == "itself":  # it comes back into a group in which another one has its partition
            config["kafka"]["instance_id"] += "-other"
        other = make_daemon(config)
        other.start()
        topic.written(len(stillborn) + len(names))
        zombie.signal(signal.SIGCONT)
        trap.release()

        visible = topic.committed(len(names))
        assert names_of(visible) == collections.Counter(names)
        assert not {message.offset() for message in stillborn} & {message.offset() for message in visible}
        if heir == "itself":
            time.sleep(SESSION_MS / 1000)
            assert zombie.running(), "it has only lost its partition"
        else:
            assert zombie.wait(180) == 75 and f'"{rig.topics.name}-1"' in zombie.log()
        names += send(rig)
        assert names_of(topic.committed(len(names), settle=0.5)) == collections.Counter(names)
        assert [letter.value() for letter in rig.dead_letters(1)] == [b"junk"], "it goes with the records"
        assert other.running()


@pytest.mark.skipif(not ALL, reason="waits until a rebalance has lost its patience; set ASSAYD_TESTS_LONG=1")
def test_a_transaction_commits_with_the_generation_of_its_events(rig, link, make_daemon):
    """Its outputs are still on their way when the instance has its partition again, by a later generation."""
    zombie = rig.start(partitions=1, kafka=kafka_settings(link, transaction_timeout_ms=90_000), judge=None, calibration=None,
                       targets=None)
    config = {**zombie.config, "kafka": {**zombie.config["kafka"], "bootstrap_servers": rig.kafka.bootstrap,
                                         "instance_id": f"{rig.topics.name}-1-other"}}  # sorts behind the first
    with contextlib.closing(Topic(rig)) as topic:
        trap = link.trap(KafkaLink.PRODUCE, lambda: zombie.signal(signal.SIGSTOP))
        names = send(rig)
        assert trap.sprung.wait(120)
        other = make_daemon(config)
        other.start()
        assert names_of(topic.committed(len(names))) == collections.Counter(names)
        zombie.signal(signal.SIGCONT)
        awaited_log(zombie, "has not ended the transaction of the former assignment yet")
        awaited_log(zombie, "lost; the next owner processes its events in flight")
        await_metrics(zombie, lambda metrics: zombie.log().count("assigned 1 partitions") == 2)
        trap.release()
        names += send(rig)
        assert names_of(topic.committed(len(names), settle=1)) == collections.Counter(names)
        assert zombie.running() and other.running()


class Fence:
    """Takes the instance's transactional id, as the broker does from a transaction that outlasts its timeout."""

    def __init__(self, rig):
        self._producer = confluent_kafka.Producer({"bootstrap.servers": rig.kafka.bootstrap, "log_level": 2,
                                                   "transactional.id": f"{rig.topics.name}-1"})
        self._producer.init_transactions(60)


TRANSACTION_MS = 3000
LOSSES = {
    # what is stopped, whether it reaches the broker, whether the broker is left to end the transaction by itself
    "outputs without offsets": (KafkaLink.ADD_OFFSETS_TO_TXN, False, True, "not committed"),
    "a commit that arrived": (KafkaLink.END_TXN, True, False, "was committed"),
    "a commit that did not": (KafkaLink.END_TXN, False, False, "not committed"),
}


@pytest.mark.parametrize("loss", LOSSES if ALL else ["a commit that arrived"])
def test_a_lost_producer_is_replaced_and_its_transaction_resolved(rig, link, loss):
    """The broker is out of reach for longer than it keeps a transaction."""
    api, arrives, alone, became = LOSSES[loss]
    daemon = rig.start(partitions=1, judge=None, calibration=None, targets=None,
                       kafka=kafka_settings(link, session_timeout_ms=10_000, transaction_timeout_ms=TRANSACTION_MS))
    with contextlib.closing(Topic(rig)) as topic:
        trap = link.trap(api, link.withhold, arrives)
        names = send(rig)
        assert trap.sprung.wait(120)
        steps = await_metrics(daemon, lambda metrics: metrics.value("assayd_events_at_step") == len(names) and
                              metrics.value("assayd_events_at_step", step="awaiting") == 0)
        assert steps.value("assayd_events_at_step", step="in_txn") > 0
        assert sum(steps.value("assayd_events_at_step", step=step) for step in ("in_txn", "ready")) == len(names)
        began = time.monotonic()
        fence = None if alone else Fence(rig)
        time.sleep(max(0.0, began + TRANSACTION_MS / 1000 + 1.0 - time.monotonic()))
        link.cut()
        link.release()
        trap.release()
        names += send(rig)
        assert names_of(topic.committed(len(names), settle=0.5)) == collections.Counter(names)
    assert daemon.running() and became in daemon.log()
    assert daemon.terminate() == 0, fence


def test_nothing_is_read_of_a_topic_before_it_is_known(rig, link):
    """The broker does not tell in time that the topic was made again, and the instance stops before it does: what would have
    been read at the former offset must not be committed as if all before it had been."""
    daemon = rig.start(partitions=1, kafka=kafka_settings(link), judge=None, calibration=None, targets=None)
    with contextlib.closing(Reader(rig.kafka, rig.topics.scored)) as topic:
        names = send(rig)
        topic.until(len(names), 120)
        assert daemon.terminate() == 0
        group = GroupOffsets(rig.kafka.bootstrap, rig.topics.name, rig.topics.input)
        former = group.fetch(1)
        rig.kafka.recreate_topic(rig.topics.input, 1)
        names += send(rig, 3 * BATCH)
        group.commit(former)  # a broker that is slow to clean up keeps them
        group.close()
        trap = link.trap(KafkaLink.LIST_OFFSETS, lambda: None)
        daemon.start()
        assert trap.sprung.wait(120)
        daemon.await_log("assigned 1 partitions", count=2)
        time.sleep(2)
        daemon.terminate()
        trap.release()
        daemon.start()
        assert names_of(topic.until(len(names), 120, settle=1)) == collections.Counter(names)
        daemon.await_log("was deleted and created again")


def test_at_least_once_commits_no_offset_before_its_outputs_are_taken(rig, link):
    daemon = rig.start(partitions=1, judge=None, calibration=None, targets=None,
                       kafka=kafka_settings(link, delivery="at_least_once"))
    with contextlib.closing(Topic(rig)) as topic:
        trap = link.trap(KafkaLink.PRODUCE, lambda: None)
        names = send(rig, junk=[b"junk"])
        assert trap.sprung.wait(120)
        time.sleep(1)  # in which it might commit
        daemon.kill()
        group = GroupOffsets(rig.kafka.bootstrap, rig.topics.name, rig.topics.input)
        assert group.fetch(1)[0][0] in (-1, 0)
        daemon.start()
        assert names_of(topic.committed(len(names), settle=0.5)) == collections.Counter(names), "nothing had got through"
        assert [letter.value() for letter in rig.dead_letters(1)] == [b"junk"]
        group.close()


PARTITIONS, EACH, MAP_BITS = 300, 8, 21_000
USUAL_BATCH = 1_048_588  # what a broker takes as one batch unless told otherwise; ours is told otherwise


def limit_offsets_topic(kafka):
    resource = ConfigResource("topic", "__consumer_offsets", {"max.message.bytes": str(USUAL_BATCH), "cleanup.policy": "compact"})
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.alter_configs([resource])[resource].result(20)


def test_full_maps_of_many_partitions_commit(rig, make_daemon):
    """Every other offset was finished by an earlier owner, far above what is in the topic: all maps together are more than
    the broker takes at once. The first event of each partition is slow, and the daemon dies before it is done."""
    config = rig.config(partitions=1, calibration=None, targets=None, judge={"timeout_ms": 300_000})
    rig.topics.input = config["kafka"]["input_topic"] = f"{rig.topics.name}.many"
    rig.kafka.create_topics([rig.topics.input], PARTITIONS)
    slow, go_on = "Is this slow?", threading.Event()
    rig.judge.answer = lambda prompt: Answer(status=200 if slow not in prompt or go_on.wait(280) else 500)
    group = GroupOffsets(rig.kafka.bootstrap, rig.topics.name, rig.topics.input)
    finished = [place % 2 for place in range(MAP_BITS)]
    metadata = full_map(0, finished)
    assert len(metadata) * PARTITIONS > USUAL_BATCH
    group.commit({number: (0, metadata) for number in range(PARTITIONS)})
    limit_offsets_topic(rig.kafka)

    expected, messages = collections.Counter(), []
    for place in range(EACH):
        for number in range(PARTITIONS):
            event = events.sure(**({"question": slow} if place == 0 else {}))
            messages.append(events.message(event, partition=number))
            expected[event["event_id"]] += not finished[place]
    rig.send(messages)
    daemon = make_daemon(config)
    daemon.start()
    quick = PARTITIONS * (EACH // 2 - 1)
    with contextlib.closing(Topic(rig)) as topic:
        topic.committed(quick, timeout=180)
        maps, deadline = group.fetch(PARTITIONS), time.monotonic() + 120
        while any(text == metadata for _, text in maps.values()):
            assert time.monotonic() < deadline, "the records of a transaction are seen a moment before its offsets"
            time.sleep(0.1)
            maps = group.fetch(PARTITIONS)
        assert {offset for offset, _ in maps.values()} == {0} and all(len(text) > 3000 for _, text in maps.values())
        daemon.kill()
        go_on.set()
        daemon.start()
        visible = names_of(topic.committed(quick + PARTITIONS, timeout=180, settle=0.5))
    assert visible == +expected
    assert "committed by another program" not in daemon.log()
    group.close()


@pytest.mark.skipif(not ALL, reason="needs a broker of its own; set ASSAYD_TESTS_LONG=1")
@pytest.mark.parametrize("delivery, limited", [("exactly_once", "limited to 256 bytes"), ("at_least_once", "limited to")])
def test_a_broker_that_takes_less_metadata_gets_less(rig, make_daemon, delivery, limited):
    """Every other event is slow: the map does not fit until some of them are done, and nothing more of their partition is
    read meanwhile. The other one goes on."""
    count, limit, slow, batch = 300, 300, "Is this slow?", []
    small = Kafka(properties=[f"offset.metadata.max.bytes={limit}"])
    try:
        rig.kafka = small
        go_on = threading.Event()
        rig.judge.answer = lambda prompt: Answer(status=200 if slow not in prompt or go_on.wait(280) else 500)
        config = rig.config(partitions=2, calibration=None, targets=None, kafka={"delivery": delivery},
                            judge={"max_in_flight": 16, "timeout_ms": 300_000, "when_saturated": "wait"},
                            pipeline={"max_in_flight": 100_000})
        topics = type(rig.topics)(small, 2)
        rig.topics = topics
        config["kafka"] = topics.settings(small, delivery=delivery)
        daemon = make_daemon(config)
        daemon.start()
        with contextlib.closing(Topic(rig)) as topic:
            deadline = time.monotonic() + 120
            while limited not in daemon.log() or "its completion map is nearly full" not in daemon.log():
                assert time.monotonic() < deadline, "the map has not come to its limit"
                more = [events.sure(**({"question": slow} if number % 2 == 0 else {})) for number in range(count)]
                rig.send([events.message(event, partition=0) for event in more])
                batch += more
                time.sleep(0.1)
            await_metrics(daemon, lambda metrics: metrics.value("assayd_partitions", state="paused") == 1)
            batch.append(events.sure())
            rig.send([events.message(batch[-1], partition=1)])
            topic.committed_name(batch[-1]["event_id"])
            go_on.set()
            visible = names_of(topic.committed(len(batch), timeout=180, settle=0.5))
        assert visible == collections.Counter(event["event_id"] for event in batch)
        assert daemon.terminate() == 0
        group = GroupOffsets(small.bootstrap, topics.name, topics.input)
        assert without_maps(group.fetch(2)) == {0: len(batch) - 1, 1: 1}
        group.close()
    finally:
        small.stop()


@pytest.mark.parametrize("metadata", ["", "by hand"] if ALL else [""])
def test_an_offset_that_an_admin_sets_is_obeyed(rig, metadata):
    """With the group stopped; the map that stood beside the offset is gone, which is said."""
    daemon = rig.start(partitions=1, judge=None, calibration=None, targets=None,
                       kafka={"session_timeout_ms": 1000, "heartbeat_ms": 200})
    with contextlib.closing(Topic(rig)) as topic:
        names = send(rig)
        topic.committed(len(names))
        assert daemon.terminate() == 0
        daemon.start()
        assert "committed by another program" not in daemon.log()
        assert daemon.terminate() == 0
        group = GroupOffsets(rig.kafka.bootstrap, rig.topics.name, rig.topics.input)
        assert without_maps(group.fetch(1)) == {0: BATCH}
        group.commit({0: (BATCH - 5, metadata)})
        daemon.start()
        again = names_of(topic.committed(len(names) + 5, settle=0.5))
    assert again == collections.Counter(names) + collections.Counter(names[-5:])
    assert daemon.log().count("committed by another program") == 1 and f"offset {BATCH - 5}" in daemon.log()
    group.close()


def test_an_offset_that_the_topic_does_not_have_stops_its_partition(rig, make_daemon):
    """Neither the beginning nor the end would be right: somebody has to say where it goes on."""
    config = rig.config(partitions=2, judge=None, calibration=None, targets=None,
                        kafka={"session_timeout_ms": 1000, "heartbeat_ms": 200})
    group = GroupOffsets(rig.kafka.bootstrap, rig.topics.name, rig.topics.input)
    group.commit({0: (1000, "a1:"), 1: (0, "a1:")})
    batch = [events.sure() for _ in range(4)]
    rig.send([events.message(event, partition=number % 2) for number, event in enumerate(batch)])
    daemon = make_daemon(config)
    daemon.start()
    with contextlib.closing(Topic(rig)) as topic:
        assert names_of(topic.committed(2, settle=0.5)) == collections.Counter(event["event_id"] for event in batch[1::2])
        assert daemon.log().count("partition 0 of") == 1 and "all offsets below 1000 were read, but the topic ends at 2;" in daemon.log()
        await_metrics(daemon, lambda metrics: metrics.value("assayd_partitions", state="stopped") == 1)
        assert daemon.terminate() == 0
        group.commit({0: (0, "")})
        daemon.start()
        assert names_of(topic.committed(4, settle=0.5)) == collections.Counter(event["event_id"] for event in batch)
    group.close()
