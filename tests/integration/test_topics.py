"""Topics that change while their events are read: more partitions, other records, another topic of the same name."""

import collections
import contextlib
import signal
import time

import confluent_kafka
import pytest

import events
from group_offsets import GroupOffsets
from openmetrics import Metrics, await_metrics
from servers import Reader


def send(rig, count, partitions):
    """Sends events that need nobody, to these partitions in turn; their names."""
    batch = [events.sure() for _ in range(count)]
    rig.send([events.message(event, partition=partitions[number % len(partitions)]) for number, event in enumerate(batch)])
    return [event["event_id"] for event in batch]


def names_of(messages):
    return collections.Counter(message.key().decode() for message in messages)


def test_new_partitions_are_read_from_their_first_offset(rig):
    """Of the input, under traffic, and of the scored topic, which the calibration reads."""
    daemon = rig.start(partitions=2, judge=None)
    with contextlib.closing(Reader(rig.kafka, rig.topics.scored)) as old:
        names = send(rig, 20, [0, 1])
        old.until(len(names))
    rig.kafka.add_partitions(rig.topics.input, 5)
    rig.kafka.add_partitions(rig.topics.scored, 4)
    names += send(rig, 50, range(5))
    await_metrics(daemon, lambda metrics: metrics.value("assayd_partitions", state="assigned") == 5, timeout=180)
    deadline = time.monotonic() + 180
    with contextlib.closing(Reader(rig.kafka, rig.topics.scored)) as topic:
        while max((message.partition() for message in topic.messages), default=0) < 2:
            assert time.monotonic() < deadline, "new partitions of the scored topic are not written"
            names += send(rig, 10, range(5))
            topic.until(len(names), 90)
        assert names_of(topic.until(len(names), 90, settle=0.5)) == collections.Counter(names)
    await_metrics(daemon, lambda metrics: metrics.value("assayd_calibration_records") == len(names), timeout=180)
    assert Metrics(daemon).value("assayd_partitions", state="paused") == 0


def test_partitions_that_the_input_gets_during_a_restart_are_read(rig):
    """The broker takes who comes back within its session for the member that it was, with the partitions that it had."""
    daemon = rig.start(partitions=2, judge=None, calibration=None, targets=None, kafka={"session_timeout_ms": 240000})
    names = send(rig, 20, [0, 1])
    with contextlib.closing(Reader(rig.kafka, rig.topics.scored)) as topic:
        topic.until(len(names))
        assert daemon.terminate() == 0
        rig.kafka.add_partitions(rig.topics.input, 5)
        names += send(rig, 50, range(5))
        daemon.start()
        assert names_of(topic.until(len(names), 180, settle=0.5)) == collections.Counter(names)
    assert Metrics(daemon).value("assayd_partitions", state="assigned") == 5


SESSION = {"session_timeout_ms": 1000, "heartbeat_ms": 200}


def finished(daemon, count):
    """Waits until so many events are finished since its start."""
    return await_metrics(daemon, lambda metrics: metrics.value("assayd_events_finished") == count, timeout=90)


def stopped(daemon, count):
    return await_metrics(daemon, lambda metrics: metrics.value("assayd_partitions", state="stopped") == count, timeout=90)


def mend(rig, line):
    """Does what the command in that line does: no tool of Kafka's own is here."""
    words = line.split("run: ", 1)[1].split(" --execute, start them", 1)[0].split()
    place = f"{rig.topics.input}:0"
    assert words == ["kafka-consumer-groups.sh", "--bootstrap-server", rig.kafka.bootstrap, "--group", rig.topics.name,
                     "--topic", place, "--reset-offsets", "--to-earliest"]
    group = GroupOffsets(rig.kafka.bootstrap, rig.topics.name, rig.topics.input)
    consumer = confluent_kafka.Consumer({"bootstrap.servers": rig.kafka.bootstrap, "group.id": "mend", "log_level": 2})
    low, _ = consumer.get_watermark_offsets(confluent_kafka.TopicPartition(rig.topics.input, 0), 20)
    group.commit({0: (low, "")})
    group.close()
    consumer.close()


def test_a_partition_whose_unread_events_were_deleted_says_so_everywhere_until_it_is_mended(rig):
    daemon = rig.start(partitions=2, judge=None, calibration=None, targets=None, kafka=SESSION)
    with contextlib.closing(Reader(rig.kafka, rig.topics.scored)) as topic:
        names = send(rig, 40, [0, 1])
        topic.until(len(names), 60)
        assert daemon.terminate() == 0
        lost = send(rig, 30, [0])
        left = send(rig, 10, [0])
        other = send(rig, 5, [1])
        rig.kafka.delete_records(rig.topics.input, 0, 50)
        daemon.start()
        topic.until(len(names) + len(other), 60)
        # All of it at one time: on a busy machine the group may be joined once more, and what was published of the
        # other partition is committed a little later.
        await_metrics(daemon, lambda metrics: metrics.value("assayd_partitions", state="stopped") == 1 and
                      metrics.value("assayd_ready") == 0 and metrics.value("assayd_partitions", state="assigned") == 2 and
                      metrics.value("assayd_oldest_unfinished_event_age_seconds") > 2 and
                      metrics.value("assayd_input_unread_offsets") == metrics.value("assayd_input_lag_offsets") == len(left))
        code, text = daemon.get("/readyz")
        assert code == 503 and f"partition 0 of {rig.topics.input} is stopped" in text
        assert "the events from offset 20 to 49 were deleted before they were read" in text
        assert text.splitlines()[0] in daemon.log()
        deadline = time.monotonic() + 30
        while "1 partitions stopped: partition 0 of" not in daemon.status():
            assert time.monotonic() < deadline, daemon.status()
            time.sleep(0.1)
        assert daemon.terminate() == 0
        time.sleep(SESSION["session_timeout_ms"] / 1000 + 1)
        mend(rig, text)
        daemon.start()
        expected = collections.Counter(names + left + other)
        assert names_of(topic.until(sum(expected.values()), 60, settle=0.5)) == expected
        assert not set(lost) & set(expected)
        stopped(daemon, 0)
        code, text = daemon.get("/readyz")
        assert code == 200, text


MADE_AGAIN = ("running", "asleep", "stopped", "killed")
REST_S = 30  # the looks in full have come to an end by then


@pytest.mark.parametrize("how", MADE_AGAIN)
def test_a_topic_that_was_made_again_is_read_from_its_start(rig, how):
    """Filled beyond what was read of the former one, so that its offsets tell nothing."""
    daemon = rig.start(partitions=2, judge=None, calibration=None, targets=None,
                       kafka={"session_timeout_ms": 30_000 if how == "asleep" else 1000, "heartbeat_ms": 200})
    with contextlib.closing(Reader(rig.kafka, rig.topics.scored)) as topic:
        names = send(rig, 200, [0, 1])
        topic.until(len(names), 60)
        await_metrics(daemon, lambda metrics: metrics.value("assayd_input_lag_offsets") == 0)
        time.sleep(1)
        if how == "asleep":
            daemon.signal(signal.SIGSTOP)
        elif how == "killed":
            daemon.kill()
        elif how == "stopped":
            assert daemon.terminate() == 0
        group = GroupOffsets(rig.kafka.bootstrap, rig.topics.name, rig.topics.input)
        former = None if how in ("running", "asleep") else group.fetch(2)
        rig.kafka.recreate_topic(rig.topics.input, 2)
        names += send(rig, 500, [0, 1])
        if how == "asleep":
            daemon.signal(signal.SIGCONT)
        elif former:
            group.commit(former)  # a broker that is slow to clean up keeps them
            daemon.start()
        group.close()
        assert names_of(topic.until(len(names), 90, settle=1)) == collections.Counter(names)
        names += send(rig, 20, [0, 1])
        assert names_of(topic.until(len(names), 90, settle=1)) == collections.Counter(names)
        daemon.await_log("was deleted and created again")
        assert Metrics(daemon).value("assayd_recreated_partitions") >= 2, "more where a rebalance came between"
        assert daemon.get("/readyz")[0] == 200


@pytest.mark.parametrize("how", ["unseen", "away"])
def test_a_topic_that_was_made_again_at_rest_with_as_many_events_is_read(rig, how):
    """Its offsets tell nothing, and nothing of it reaches the reader; or it is away for so long that the group's offsets are gone."""
    daemon = rig.start(partitions=2, judge=None, calibration=None, targets=None,
                       kafka={"session_timeout_ms": 30_000, "heartbeat_ms": 200})
    with contextlib.closing(Reader(rig.kafka, rig.topics.scored)) as topic:
        names = send(rig, 20, [0, 1])
        topic.until(len(names), 60)
        await_metrics(daemon, lambda metrics: metrics.value("assayd_input_lag_offsets") == 0)
        time.sleep(REST_S)
        if how == "unseen":
            daemon.signal(signal.SIGSTOP)
        rig.kafka.recreate_topic(rig.topics.input, 2, away_s=15 if how == "away" else 0)
        names += send(rig, 20, [0, 1])
        if how == "unseen":
            daemon.signal(signal.SIGCONT)
        assert names_of(topic.until(len(names), 90, settle=1)) == collections.Counter(names)
        daemon.await_log("was deleted and created again")
        await_metrics(daemon, lambda metrics: metrics.value("assayd_recreated_partitions") >= 2)
        assert daemon.get("/readyz")[0] == 200


class Writer:
    """A producer of transactions."""

    def __init__(self, rig):
        self._topic = rig.topics.input
        self._producer = confluent_kafka.Producer({"bootstrap.servers": rig.kafka.bootstrap, "log_level": 2,
                                                   "transactional.id": f"{rig.topics.name}-writer"})
        self._producer.init_transactions(90)

    def send(self, count, partitions, commit=True):
        """One transaction of events that need nobody; their names, if they are to be scored."""
        batch = [events.sure() for _ in range(count)]
        self._producer.begin_transaction()
        for number, event in enumerate(batch):
            self._producer.produce(self._topic, **events.message(event, partition=partitions[number % len(partitions)]))
        assert self._producer.flush(90) == 0
        if commit:
            self._producer.commit_transaction(90)
        else:
            self._producer.abort_transaction(90)
        return [event["event_id"] for event in batch] if commit else []


def ends_of(rig, partitions):
    """{partition: the offset behind its last record, marks of transactions among them}, when no transaction is open: the
    broker writes the marks after it has told the producer that the transaction is over"""
    def ends(isolation):
        consumer = confluent_kafka.Consumer({"bootstrap.servers": rig.kafka.bootstrap, "group.id": "ends", "log_level": 2,
                                             "isolation.level": isolation})
        with contextlib.closing(consumer):
            return {number: consumer.get_watermark_offsets(confluent_kafka.TopicPartition(rig.topics.input, number),
                                                           timeout=90)[1] for number in range(partitions)}

    deadline = time.monotonic() + 90
    while (stable := ends("read_committed")) != (written := ends("read_uncommitted")):
        assert time.monotonic() < deadline, (stable, written)
        time.sleep(0.1)
    return stable


def await_no_lag(rig, group, ends):
    found, deadline = {}, time.monotonic() + 90
    while found != ends:
        assert time.monotonic() < deadline, (found, ends)
        time.sleep(0.2)
        found = {number: offset for number, (offset, _) in group.fetch(len(ends)).items()}
    return await_metrics(rig.daemon, lambda metrics: metrics.value("assayd_input_lag_offsets") == 0 and
                         metrics.value("assayd_input_unread_offsets") == 0, timeout=90)


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_what_is_no_event_at_the_end_of_a_partition_is_no_lag(rig, delivery):
    """Marks of the writers' transactions and what they aborted: passed by once, by the last instance and by the next, and
    not taken for unread events when they are deleted."""
    partitions, silence_s = 2, 7
    daemon = rig.start(partitions=partitions, judge=None, calibration=None, targets=None,
                       kafka={**SESSION, "delivery": delivery})
    group, writer = GroupOffsets(rig.kafka.bootstrap, rig.topics.name, rig.topics.input), Writer(rig)
    with contextlib.closing(Reader(rig.kafka, rig.topics.scored)) as topic, contextlib.closing(group):
        names = [name for _ in range(3) for name in writer.send(10, range(partitions))]
        names += writer.send(200, [0], commit=False)
        topic.until(len(names), 90)
        ends = ends_of(rig, partitions)
        assert ends[0] > 200 and ends[1] > len(names) / partitions, "there are marks behind the events"
        before = await_no_lag(rig, group, ends)
        time.sleep(silence_s)
        after = Metrics(daemon)
        assert after.value("assayd_transactions") == before.value("assayd_transactions"), "it goes on for ever"
        assert after.value("assayd_events_finished") == before.value("assayd_events_finished") == len(names)

        daemon.kill()
        daemon.start()
        await_no_lag(rig, group, ends)
        time.sleep(1)
        assert Metrics(daemon).value("assayd_transactions") == 0, "there was nothing to commit"
        names += writer.send(10, range(partitions))
        if delivery == "exactly_once":  # in the middle of it
            daemon.kill()
            daemon.start()
        ends = ends_of(rig, partitions)
        topic.until(len(names), 90)
        await_no_lag(rig, group, ends)

        daemon.kill()
        for number, end in ends.items():
            rig.kafka.delete_records(rig.topics.input, number, end)
        daemon.start()
        names += writer.send(10, range(partitions))
        topic.until(len(names), 90)
        await_no_lag(rig, group, ends_of(rig, partitions))
        assert names_of(topic.until(len(names), 90, settle=1)) == collections.Counter(names)
        metrics = Metrics(daemon)
        assert metrics.value("assayd_partitions", state="stopped") == 0
        assert metrics.value("assayd_recreated_partitions") == 0
