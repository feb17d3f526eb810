"""A stop ends in its time whatever hangs, and nothing of it is lost or doubled."""

import contextlib
import os
import pathlib
import signal
import threading
import time

import pytest

import events
from judge_server import Answer
from network import Link
from servers import Kafka, Postgres

DRAIN_S, GRACE_S = 2, 5  # assayd(8): the drain limit and five seconds
NOTICED_S = 0.5  # what it may take until this process sees the end
SLOW = "SELECT count(*) AS n FROM slow_orders(60)"


def wait_until(condition, what, timeout=40):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {timeout} s"
        time.sleep(0.02)


def children_of(pid):
    return [int(child) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()]


@contextlib.contextmanager
def frozen(*pids):
    """These processes stand still; their connections stay open."""
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def frozen_postgres(server):
    postmaster = int(pathlib.Path(server.dir, "data", "postmaster.pid").read_text().split()[0])
    return frozen(postmaster, *children_of(postmaster))


@pytest.fixture
def own_postgres():
    server = Postgres()
    server.new_database("shop", events.SHOP)
    server.execute("CREATE ROLE assayd LOGIN")
    server.execute("CREATE DATABASE calibration OWNER assayd")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def linked():
    """A broker of our own that the daemon reaches by a link: (broker, link)."""
    if os.environ.get("KAFKA_BOOTSTRAP"):
        pytest.skip("KAFKA_BOOTSTRAP names a broker that is not ours to stop")
    from conftest import required

    link = Link()
    server = required(lambda: Kafka(behind=[link.port]))
    link.target = int(server.facts[f"behind_{link.port}"])
    yield server, link
    link.close()
    server.stop()


@pytest.fixture
def kafka(linked):
    return linked[0]


class Processor:
    """How long the threads of a process, together, have used a processor or waited for one since this began: what a busy or
    slow machine adds to the times that a process has set itself."""

    def __init__(self, pid):
        self._tasks, self._first, self._last = pathlib.Path(f"/proc/{pid}/task"), {}, {}
        self._look()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _look(self):
        with contextlib.suppress(OSError):
            for task in self._tasks.iterdir():
                with contextlib.suppress(OSError, ValueError, IndexError):
                    used, waited = (task / "schedstat").read_text().split()[:2]
                    self._last[task.name] = int(used) + int(waited)
                    self._first.setdefault(task.name, self._last[task.name])

    def _watch(self):
        while not self._ended.wait(0.02):
            self._look()

    def end(self):
        self._ended.set()
        self._thread.join()
        return sum(last - self._first[name] for name, last in self._last.items()) / 1e9


def stop(daemon):
    """SIGTERM; it ends with status 0 and in its time, and leaves no process behind."""
    processors = Processor(daemon.pid), Processor(os.getpid())
    started = time.monotonic()
    status = daemon.terminate(timeout=120)
    seconds = time.monotonic() - started
    machine_s = sum(processor.end() for processor in processors)
    assert status == 0, daemon.log_tail()
    print(f"stopped after {seconds:.2f} s, {machine_s:.2f} s of them the machine's")
    assert seconds <= DRAIN_S + GRACE_S + NOTICED_S + machine_s, f"{seconds:.1f} s, {machine_s:.1f} s of them the machine's\n{daemon.log_tail()}"
    wait_until(lambda: not daemon.leftovers(), "the end of its worker processes")


def assert_once(rig, names):
    """All of these have come out once, when another start has had its turn."""
    rig.daemon.start()
    found = [message.key().decode() for message, _ in rig.scored(len(names), settle=2)]
    assert sorted(found) == sorted(names)
    assert rig.daemon.terminate() == 0


def make(rig, linked, **changes):
    pipeline = {"workers": 2, "drain_timeout_ms": DRAIN_S * 1000}
    config = rig.config(partitions=2, pipeline=pipeline, **changes)
    config["kafka"]["bootstrap_servers"] = f"127.0.0.1:{linked[1].port}"
    config["kafka"].update(session_timeout_ms=6000, heartbeat_ms=500)
    return rig.make(config).start()


def send(rig, count, sql="SELECT id FROM customers ORDER BY id LIMIT 3", **fields):
    made = [events.event(sql, target="shop", question=f"Question {number} of {time.monotonic_ns()}?", **fields)
            for number in range(count)]
    rig.send([events.message(event, partition=number % 2) for number, event in enumerate(made)])
    return [event["event_id"] for event in made]


@contextlib.contextmanager
def broker_refuses(linked):
    """As one that is down: connections end and new ones are not taken."""
    server, link = linked
    server.kill()
    link.cut()
    try:
        yield
    finally:
        server.resume()


def broker_frozen(linked):
    return frozen(int(pathlib.Path(linked[0].dir, "pid").read_text()))


@pytest.mark.parametrize(("away", "busy"), [(broker_refuses, True), (broker_refuses, False), (broker_frozen, True)],
                         ids=["refuses, busy", "refuses, idle", "frozen"])
def test_a_broker_that_is_away(rig, linked, away, busy):
    make(rig, linked, calibration=None)
    names = send(rig, 20)
    rig.scored(20)
    if busy:  # what becomes ready meanwhile cannot be published
        rig.judge.answer = lambda prompt: Answer(delay_s=1.5)
        names += send(rig, 20)
        wait_until(lambda: rig.judge.calls() == 40, "their calls")
    with away(linked):
        time.sleep(2)
        stop(rig.daemon)
    assert_once(rig, names)


def test_a_database_of_calibration_and_cache_that_is_silent(rig, linked, own_postgres):
    rig.calibration_server, rig.calibration_database = own_postgres, "calibration"
    make(rig, linked)
    names = send(rig, 50)
    rig.scored(50)
    with frozen_postgres(own_postgres):
        names += send(rig, 50)
        rig.scored(100)
        time.sleep(2)
        stop(rig.daemon)
    assert_once(rig, names)


def test_a_target_that_is_silent(rig, linked, own_postgres):
    truth = {"sql": events.CITY_COUNT}
    make(rig, linked, judge=None, calibration=None,
         targets=({"name": "shop", "engine": "postgresql", "dsn": own_postgres.dsn("shop", "assayd_ro"), "connections": 2},))
    names = send(rig, 4, events.CITY_COUNT, ground_truth=truth)
    rig.scored(4)
    with frozen_postgres(own_postgres):
        names += send(rig, 4, events.CITY_COUNT + " ORDER BY 1", ground_truth=truth)
        wait_until(lambda: "in flight 4" in rig.daemon.status(), "its queries")
        stop(rig.daemon)
    assert_once(rig, names)


def test_a_query_that_does_not_end_is_cancelled(rig, linked, own_postgres):
    make(rig, linked, judge=None, calibration=None,
         targets=({"name": "shop", "engine": "postgresql", "dsn": own_postgres.dsn("shop", "assayd_ro"), "connections": 2,
                   "statement_timeout_ms": 60000},))
    running = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'assayd_ro' AND state = 'active'"
    send(rig, 2, SLOW, ground_truth={"sql": SLOW})
    wait_until(lambda: own_postgres.execute(running)[0][0] > 0, "its queries")
    stop(rig.daemon)
    wait_until(lambda: own_postgres.execute(running)[0][0] == 0, "the end of its queries")


def test_a_judge_that_is_silent(rig, linked):
    rig.judge.answer = lambda prompt: Answer(delay_s=100)
    make(rig, linked, calibration=None)
    names = send(rig, 4)
    wait_until(lambda: rig.judge.calls() == 4, "its calls")
    stop(rig.daemon)
    rig.judge.answer = lambda prompt: Answer()
    assert_once(rig, names)
