"""What the benchmarks of the whole share: topics and daemons, CPU and memory of processes, one drained backlog."""

import contextlib
import dataclasses
import os
import pathlib
import platform
import statistics
import time

from confluent_kafka import Consumer, KafkaException, TopicPartition

import rooms  # noqa: F401
from daemon import Daemon
from openmetrics import Metrics
from samples import PARTITIONS

STEADY_FROM, STEADY_TO = 0.08, 0.97  # the parts of the records between which everybody has its full speed


def cpu_seconds(pid):
    """User and system time of a process that is still there, to the nanosecond."""
    return time.clock_gettime((~pid << 3) | 2)  # the clock that clock_getcpuclockid names


def peak_mib(pid):
    """The most memory that it has had."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def machine():
    """A line about it; the load tells whether others use it, too, and what that does."""
    models = [line.partition(":")[2].strip() for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if line.startswith("model name")]
    load, busy = os.getloadavg()[0], ""
    if load > os.cpu_count() / 2:
        busy = ": OTHERS USE THEM, which costs a bare copy more than anybody else, so that ratios to it look too good, and makes rates chance"
    return f"{os.cpu_count()} processors ({models[0] if models else platform.machine()}), the broker on them, too; load {load:.1f}{busy}"


def fill(kafka, topic, count, message):
    """The topic, with `message(number)` of each."""
    kafka.create_topics([topic], PARTITIONS)
    kafka.produce(topic, (message(number) for number in range(count)))


def outputs(kafka, name):
    """Settings of new topics for a daemon's outputs."""
    topics = {f"{kind}_topic": f"{name}.{kind}" for kind in ("scored", "advisory", "dead_letter")}
    kafka.create_topics(list(topics.values()), PARTITIONS)
    return topics


def make_daemon(kafka, name, number="", properties=(), topics=None, kafka_more=None, **groups):
    """Reads NAME.input unless told otherwise; without `topics` its outputs go to new ones."""
    topics = topics or outputs(kafka, name + number)
    return Daemon({"kafka": {"bootstrap_servers": kafka.bootstrap, "group_id": name + number, "instance_id": name + number,
                             "input_topic": f"{name}.input", "properties": tuple(properties), **topics, **(kafka_more or {})},
                   **{"log": {"level": "warning"}, **groups}})


class Watcher:
    """How many records a topic has, the ends of transactions included."""

    def __init__(self, kafka, topic):
        self._consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "watcher", "log_level": 2})
        self._partitions = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]

    def count(self):
        return sum(self._consumer.get_watermark_offsets(partition, timeout=20)[1] for partition in self._partitions)

    def until(self, count, timeout=600):
        """Waits until there are so many; how many there are."""
        deadline = time.monotonic() + timeout
        found = -1
        while found < count:
            assert time.monotonic() < deadline, f"{found} of {count} after {timeout} s"
            time.sleep(0.02)
            with contextlib.suppress(KafkaException):  # a new topic has no leader for a moment
                found = self.count()
        return found

    def close(self):
        self._consumer.close()


class Commits:
    """How many events of an input without transactions a group has committed: exact where few records come, and one request each time."""

    def __init__(self, kafka, topic, group):
        self._consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group, "log_level": 2})
        self._partitions = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]

    def until(self, count, timeout=600):
        """Waits until there are so many; how many there are."""
        deadline = time.monotonic() + timeout
        done = -1
        while done < count:
            assert time.monotonic() < deadline, f"{done} of {count} after {timeout} s"
            time.sleep(0.05)
            with contextlib.suppress(KafkaException):  # a new broker coordinates no group for a moment
                done = sum(max(entry.offset, 0) for entry in self._consumer.committed(self._partitions, timeout=20))
        return done

    def close(self):
        self._consumer.close()


def published(kafka, topic, count, timeout=600):
    """Waits until so many records are in the topic; how many are."""
    with contextlib.closing(Watcher(kafka, topic)) as watcher:
        return watcher.until(count, timeout)


def wait_for(kafka, name, count, timeout=600, group=None):
    """Until the group has committed all of the input."""
    with contextlib.closing(Commits(kafka, f"{name}.input", group or name)) as watcher:
        watcher.until(count, timeout)


@dataclasses.dataclass
class Drained:
    rate: float  # events a second
    cpu_us: float  # of the processes, an event
    memory_mib: float  # of all of them together, at most


def drain(kafka, topic, count, *pids, counting=None):
    """Watches processes fill a topic, from their full speed on until it has nearly all records; the CPU of `counting`, a daemon
    with calibration, until it has counted all of them."""
    return drain_watched(Watcher(kafka, topic), count, *pids, counting=counting)


def drain_watched(watcher, count, *pids, counting=None):
    with contextlib.closing(watcher):
        first = watcher.until(count * STEADY_FROM)
        started, spent = time.monotonic(), sum(map(cpu_seconds, pids))
        last = watcher.until(count * STEADY_TO)
        elapsed, cpu, events = time.monotonic() - started, sum(map(cpu_seconds, pids)) - spent, last - first
    if counting:
        while Metrics(counting).value("assayd_calibration_records") < count:
            time.sleep(0.2)
        cpu, counted = sum(map(cpu_seconds, pids)) - spent, count - first
        return Drained(events / elapsed, cpu / counted * 1e6, sum(map(peak_mib, pids)))
    return Drained(events / elapsed, cpu / events * 1e6, sum(map(peak_mib, pids)))


def show(number, what, result):
    print(f"round {number + 1}  {what:10} {result[0]:10,.0f} events/s  {result[1]:8.1f} µs CPU an event", flush=True)


def spread(values, form="{:,.1f}"):
    """The median, and from where to where they go."""
    return " ".join([form.format(statistics.median(values)), f"({form.format(min(values))} to {form.format(max(values))})"])


def ratios(over, under):
    """Round by round."""
    return [one / other for one, other in zip(over, under)]


class Bars:
    """What was to be held, and whether it was."""

    def __init__(self):
        self.kept = True

    def hold(self, what, values, most=None, least=None, judged=True):
        """Holds the median of the rounds' ratios against its bar; one that cannot be judged here is shown."""
        value = statistics.median(values)
        self._tell(what, spread(values, "{:,.2f}"), value, most, least, judged)

    def hold_cost(self, what, over, under, most):
        """Of CPU, the median of the rounds' ratios or the ratio of their lowest, whichever is worse: other programs only ever add to it, and most to
        who needs little."""
        rounds, lowest = ratios(over, under), min(over) / min(under)
        self._tell(what, f"{spread(rounds, '{:,.2f}')}, lowest {lowest:,.2f}", max(statistics.median(rounds), lowest), most, None, True)

    def _tell(self, what, found, value, most, least, judged):
        held = (most is None or value <= most) and (least is None or value >= least)
        bar = f"at most {most:g}" if most is not None else f"at least {least:g}"
        self.kept = self.kept and (held or not judged)
        said = ("held" if held else "MISSED") if judged else "not judged here"
        print(f"bar      {what:50} {found:40} {bar:15} {said}", flush=True)
