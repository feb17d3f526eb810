"""The daemon as a service: what the service manager hears, reloads, orderly ends, the watchdog, exit statuses."""

import contextlib
import ctypes
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time

import confluent_kafka
import pytest

import events
from daemon import BINARY, config_text, free_port
from judge_server import Answer

PROMPTS = pathlib.Path(__file__).resolve().parents[2] / "conf" / "prompts"
NO_INPUT, UNAVAILABLE, TRY_AGAIN, CONFIG = 66, 69, 75, 78
# One warning (no LIMIT) and nothing else: technical 95, overall 0.95.
WARNED = "SELECT id, name FROM customers"


def wait_until(condition, what, timeout=180):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {timeout} s"
        time.sleep(0.02)


def lines(daemon):
    return [line for _, line in daemon.notified()]


def own_broker(rig):
    if not rig.kafka.own:
        pytest.skip("KAFKA_BOOTSTRAP names a broker that is not ours to stop")


@contextlib.contextmanager
def broker_away(rig):
    rig.kafka.halt()
    try:
        yield
    finally:
        rig.kafka.resume()


def scored_by_name(rig, count, settle=0.5):
    """{event_id: record}, each of them once."""
    records = {message.key().decode(): record for message, record in rig.scored(count, settle=settle)}
    assert len(records) == count
    return records


def send_one(rig, sql=WARNED, **fields):
    event = events.event(sql, **{"target": "shop", "question": f"Question {time.monotonic_ns()}?", **fields})
    rig.send([events.message(event)])
    return event["event_id"]


def slow_judge(rig, is_slow=lambda prompt: True):
    """A judge that does not answer before the event is set that this returns."""
    gate = threading.Event()

    def answer(prompt):
        if is_slow(prompt):
            gate.wait(300)
        return Answer()

    rig.judge.answer = answer
    return gate


# ---- readiness and status ----


def test_ready_when_everything_runs(rig, make_daemon):
    own_broker(rig)
    rig.daemon = make_daemon(rig.config(partitions=1))
    with broker_away(rig):
        rig.daemon.start(ready_timeout=None)
        wait_until(lambda: "waiting for the Kafka broker" in rig.daemon.status(), "the dependency in its status")
        time.sleep(2)
        assert "READY=1" not in lines(rig.daemon)
    rig.daemon.wait_ready()
    name = send_one(rig)
    assert list(scored_by_name(rig, 1)) == [name]
    assert lines(rig.daemon).count("READY=1") == 1


def test_status_says_what_is_in_flight_and_what_is_waited_for(rig):
    own_broker(rig)
    gate = slow_judge(rig)
    rig.start(partitions=1, judge={"timeout_ms": 300_000})
    for _ in range(3):
        send_one(rig)
    wait_until(lambda: rig.judge.calls() == 3, "their calls")
    wait_until(lambda: "in flight 3" in rig.daemon.status(), "its events in the status")
    gate.set()
    wait_until(lambda: "in flight 0" in rig.daemon.status(), "their end in the status")
    assert "Scored 3, dead letters 0" in rig.daemon.status()
    gate.clear()
    send_one(rig)
    wait_until(lambda: rig.judge.calls() == 4, "its call")
    with broker_away(rig):  # nothing can be published
        wait_until(lambda: "in flight 1; waiting for Kafka" in rig.daemon.status(), "the broker in the status")
        gate.set()
        wait_until(lambda: "ready 0, in a transaction 1" in rig.daemon.status(), "its step in the status")


def test_status_tells_how_far_behind_the_slowest_event_is(rig):
    """The committed offset stays where it is, however much is done behind it."""
    gate = slow_judge(rig, lambda prompt: "slow" in prompt)
    rig.start(partitions=1, judge={"timeout_ms": 300_000})
    slow = events.event(question="Is this slow?")
    rig.send([events.message(slow, timestamp=events.now_ms() - 100_000)])
    wait_until(lambda: rig.judge.calls() == 1, "its call")
    rig.send([events.message(events.event()) for _ in range(50)])
    wait_until(lambda: re.search("Scored 50, .* in flight 1;.* oldest [1-4][0-9][0-9] s, ready 0, in a transaction 0, map 1 %$",
                                 rig.daemon.status()), "its lag in the status")
    gate.set()
    rig.scored(51)
    wait_until(lambda: rig.daemon.status().endswith("in flight 0"), "its end in the status")


# ---- reload ----


def reload(daemon, timeout=120):
    """SIGHUP; the lines that the service manager hears until it is over, and what is logged meanwhile."""
    before, logged = len(lines(daemon)), len(daemon.log())
    daemon.signal(signal.SIGHUP)
    wait_until(lambda: "READY=1" in lines(daemon)[before:], "the end of the reload", timeout)
    return [line for line in lines(daemon)[before:] if "STATUS" not in line and "WATCHDOG" not in line], \
        daemon.log()[logged:]


def reload_with(daemon, **changes):
    for group, settings in changes.items():
        daemon.config[group] = {**daemon.config.get(group, {}), **settings}
    daemon.write_config()
    return reload(daemon)


def test_reload_tells_the_service_manager(rig):
    rig.start(partitions=1)
    before_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    heard, logged = reload(rig.daemon)
    after_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    assert heard[0] == "RELOADING=1" and heard[2] == "READY=1"
    name, _, value = heard[1].partition("=")
    assert name == "MONOTONIC_USEC" and before_us <= int(value) <= after_us
    assert logged.count("the configuration was loaded again") == 1
    assert "error" not in logged and "warning" not in logged


def test_reload_changes_thresholds_for_what_comes_next(rig):
    """An event in flight goes on with the settings and the prompts that it began with, and is not lost."""
    rig.judge.answer = lambda prompt: Answer(delay_s=3)
    rig.start(partitions=1)
    early = send_one(rig)
    wait_until(lambda: rig.judge.calls() == 1, "its judge call")
    prompts = shutil.copytree(PROMPTS, os.path.join(rig.daemon.folder, "prompts"))
    with open(os.path.join(prompts, "relevance.txt"), "a", encoding="utf-8") as file:
        file.write("Think twice.\n")
    reload_with(rig.daemon, confidence={"thresholds": {"high": 0.99, "medium": 0.97}}, advisories={"low_confidence_below": 0.96},
                judge={"prompt_directory": prompts, "model": "of the next start"})
    late = send_one(rig)
    records = scored_by_name(rig, 2)
    levels = {name: record["confidence"]["level"] for name, record in records.items()}
    assert levels == {early: "MEDIUM_CONFIDENCE", late: "LOW_CONFIDENCE"}
    for digest in ("config_digest", "prompt_digest"):
        assert records[early]["provenance"][digest] != records[late]["provenance"][digest]
    assert {record["judge"]["model"] for record in records.values()} == {"judge-model"}, "who was asked"
    (advisory,) = rig.kafka.read(rig.topics.advisory, 1, settle=0.5)
    assert dict(advisory.headers())["kind"] == b"LOW_CONFIDENCE" and advisory.key() == late.encode()


def reloads(daemon):
    """What its metrics say of them."""
    _, text = daemon.get("/metrics")
    found = re.findall(r"^assayd_reload(_last_accepted|s_total{outcome=\"(\w+)\"}) (\d+)", text, re.MULTILINE)
    return {outcome or "last": int(value) for _, outcome, value in found}


BAD_FILES = {
    "unknown setting": ('advisories:\n{\n  low_confidence_under = 0.1;\n};\n', ["low_confidence_under", ":3"]),
    "out of range": ('advisories:\n{\n\n  low_confidence_below = 7.0;\n};\n', ["low_confidence_below", ":4"]),
    "syntax": ('advisories:\n{\n  low_confidence_below = ;\n};\n', [":3"]),
    "no file": (None, ["assayd.conf"]),
    "no prompts": ('judge: { base_url = "http://127.0.0.1:1/v1"; model = "m"; prompt_directory = "/no/such"; };\n',
                   ["/no/such"]),
}


def test_reload_of_a_bad_file_changes_nothing(rig):
    rig.start(partitions=1, confidence={"thresholds": {"high": 0.94}})
    for number, (wrong, (text, mentioned)) in enumerate(BAD_FILES.items(), 1):
        os.unlink(rig.daemon.config_file)
        if text:
            with open(rig.daemon.config_file, "w", encoding="utf-8") as file:
                file.write(text)
        else:
            rig.daemon.config_file += ".gone"
        heard, logged = reload(rig.daemon)
        if not text:
            rig.daemon.config_file = rig.daemon.config_file.removesuffix(".gone")
        assert heard[-1] == "READY=1", wrong
        assert reloads(rig.daemon) == {"last": 0, "accepted": 0, "refused": number}, wrong
        wait_until(lambda: " was refused: " in rig.daemon.status(), "the refusal in the status")
        for word in mentioned:
            assert word in rig.daemon.status(), wrong
        (sentence,) = [line for line in logged.splitlines() if " error: " in line]
        for word in ["stays as it was", "assayd.conf" if wrong != "no prompts" else "", *mentioned]:
            assert word in sentence, wrong
        name = send_one(rig)
        record = scored_by_name(rig, number)[name]
        assert record["confidence"]["level"] == "MEDIUM_CONFIDENCE", wrong
        assert record["judge"]["decision"] == "ACCEPT_HIGH", wrong
        rig.daemon.write_config()
    reload(rig.daemon)
    assert reloads(rig.daemon) == {"last": 1, "accepted": 1, "refused": len(BAD_FILES)}
    wait_until(lambda: "refused" not in rig.daemon.status(), "its end in the status")


def test_reload_names_what_needs_a_restart(rig):
    rig.start(partitions=1)
    _, logged = reload_with(rig.daemon, pipeline={"workers": 3}, kafka={"heartbeat_ms": 900},
                            confidence={"thresholds": {"high": 0.97}})
    warning = next(line for line in logged.splitlines() if "next start" in line)
    for name in ("pipeline.workers", "kafka.heartbeat_ms"):
        assert name in warning
    assert "thresholds" not in warning
    name = send_one(rig)
    assert scored_by_name(rig, 1)[name]["confidence"]["level"] == "MEDIUM_CONFIDENCE", "the rest is taken over"
    judge = rig.daemon.config.pop("judge")
    _, logged = reload_with(rig.daemon)
    assert "judge" in next(line for line in logged.splitlines() if "next start" in line)
    rig.daemon.config["judge"] = judge
    _, logged = reload_with(rig.daemon, pipeline={"workers": 2}, kafka={"heartbeat_ms": 1000})
    assert "next start" not in logged, "back to what runs"


PROMPT = """[system]
Version {version}. Reply with one JSON object: "reason" and "score".
[user]
{{{{nonce}}}} {{{{dialect}}}}
<{{{{nonce}}}}>{{{{question}}}}</{{{{nonce}}}}>
<{{{{nonce}}}}>{{{{sql}}}}</{{{{nonce}}}}>
Version {version}.
"""
CORRECTNESS = PROMPT.replace('"score"', '"verdict"') + "<{{{{nonce}}}}>{{{{truth_sql}}}}</{{{{nonce}}}}>\n"


def test_reload_of_prompts_and_limits_of_the_judge(rig, tmp_path):
    def write_prompts(version):
        (tmp_path / "relevance.txt").write_text(PROMPT.format(version=version))
        (tmp_path / "correctness.txt").write_text(CORRECTNESS.format(version=version))

    write_prompts("one")
    rig.start(partitions=1, judge={"prompt_directory": str(tmp_path), "cache_ttl_s": 86400})
    first = send_one(rig, question="The same?")
    wait_until(lambda: rig.judge.calls("Version one") == 1, "a call with the first prompts")
    before = scored_by_name(rig, 1)[first]
    write_prompts("two")
    reload(rig.daemon)
    second = send_one(rig, question="The same?")
    after = scored_by_name(rig, 2)[second]
    assert rig.judge.calls("Version two") == 1, "verdicts of other prompts are none of these"
    assert before["provenance"]["prompt_digest"] != after["provenance"]["prompt_digest"]

    rig.judge.answer = lambda prompt: Answer(delay_s=2)
    reload_with(rig.daemon, judge={"timeout_ms": 300, "max_attempts": 1})
    hasty = send_one(rig)
    record = scored_by_name(rig, 3)[hasty]
    assert record["judge"]["decision"] == "UNJUDGED"
    assert "LLM judge timeout" in [error["message"] for error in record["errors"]]
    rig.judge.answer = lambda prompt: Answer()
    calls = rig.judge.calls()
    reload_with(rig.daemon, judge={"sample_rate": 0.0, "always_below": "VERY_LOW_CONFIDENCE"})
    unsampled = send_one(rig)
    assert scored_by_name(rig, 4)[unsampled]["judge"]["decision"] == "UNJUDGED"
    assert rig.judge.calls() == calls


def test_reload_shortens_the_drain(rig):
    slow_judge(rig)
    rig.start(partitions=1, judge={"timeout_ms": 300_000}, pipeline={"drain_timeout_ms": 600_000})
    send_one(rig)
    wait_until(lambda: rig.judge.calls() == 1, "its judge call")
    reload_with(rig.daemon, pipeline={"drain_timeout_ms": 500})
    assert rig.daemon.terminate() == 0, "neither the judge nor the drain as it was is waited for"


# ---- orderly ends ----


def committed_offsets(rig):
    consumer = confluent_kafka.Consumer({"bootstrap.servers": rig.kafka.bootstrap, "group.id": rig.topics.name,
                                         "log_level": 2})
    try:
        partitions = consumer.committed([confluent_kafka.TopicPartition(rig.topics.input, partition)
                                         for partition in range(rig.topics.partitions)], timeout=20)
        return {entry.partition: entry.offset for entry in partitions}
    finally:
        consumer.close()


def no_leftovers(daemon):
    wait_until(lambda: not daemon.leftovers(), "the end of its worker processes")


def questions(count, partitions):
    made = [events.sure(question=f"Question number {number}.", target="shop") for number in range(count)]
    return [event["event_id"] for event in made], [events.message(event, partition=number % partitions)
                                                   for number, event in enumerate(made)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_an_end_finishes_what_is_in_flight(rig, number):
    gate = slow_judge(rig)
    rig.start(partitions=2, judge={"timeout_ms": 300_000, "max_in_flight": 64}, pipeline={"drain_timeout_ms": 100_000})
    names, messages = questions(50, 2)
    rig.send(messages)
    wait_until(lambda: rig.judge.calls() == 50, "all calls of the judge")
    rig.daemon.signal(number)
    wait_until(lambda: "STOPPING=1" in lines(rig.daemon), "its end")
    gate.set()
    assert rig.daemon.wait() == 0
    heard = lines(rig.daemon)
    assert heard.index("STOPPING=1") > heard.index("READY=1")
    assert any(line.startswith("STATUS=Stopping, in flight") for line in heard)
    no_leftovers(rig.daemon)
    assert set(scored_by_name(rig, 50)) == set(names)
    assert committed_offsets(rig) == {0: 25, 1: 25}
    rig.judge.answer = lambda prompt: Answer()
    rig.daemon.start()
    marker = send_one(rig)
    assert set(scored_by_name(rig, 51, settle=2)) == {*names, marker}
    assert rig.judge.calls("Question number") == 50, "nothing is done again"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_an_end_in_time_leaves_the_rest_to_the_next_start(rig, number):
    slow_ones = {f"Question number {number}." for number in range(0, 40, 4)}
    slow_judge(rig, lambda prompt: any(slow in prompt for slow in slow_ones))
    rig.start(partitions=2, judge={"timeout_ms": 300_000, "max_in_flight": 64}, pipeline={"drain_timeout_ms": 1500})
    names, messages = questions(40, 2)
    rig.send(messages)
    wait_until(lambda: rig.judge.calls() == 40, "all calls of the judge")
    quick = {name for index, name in enumerate(names) if index % 4}
    assert set(scored_by_name(rig, 30)) == quick
    started = time.monotonic()
    rig.daemon.signal(number)
    assert rig.daemon.wait() == 0, "the judge is not waited for"
    assert time.monotonic() - started > 1.4
    no_leftovers(rig.daemon)
    assert "10 events are left uncommitted" in rig.daemon.log()
    assert set(scored_by_name(rig, 30)) == quick
    rig.judge.answer = lambda prompt: Answer()
    rig.daemon.start()
    assert set(scored_by_name(rig, 40, settle=2)) == set(names)
    for index in range(40):
        assert rig.judge.calls(f"Question number {index}.") == (1 if index % 4 else 2)
    assert committed_offsets(rig) == {0: 20, 1: 20}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_an_end_while_it_still_starts(rig, make_daemon, number):
    config = rig.config(partitions=1)
    config["kafka"]["bootstrap_servers"] = f"127.0.0.1:{free_port()}"
    daemon = make_daemon(config).start(ready_timeout=None)
    wait_until(lambda: "waiting for the Kafka broker" in daemon.status(), "the wait")
    daemon.signal(number)
    assert daemon.wait() == 0
    assert "STOPPING=1" in lines(daemon) and "READY=1" not in lines(daemon)
    no_leftovers(daemon)


# ---- watchdog ----

INTERVAL_S = 2


class Lateness:
    """How much later than asked for somebody else wakes up on this machine: the measure of what may be demanded of it."""

    STEP_S = 0.02

    def __init__(self):
        self._late = []  # (when, by how much)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._measure, daemon=True)

    def _measure(self):
        while not self._ended.is_set():
            asleep = time.monotonic()
            time.sleep(self.STEP_S)
            self._late.append((time.monotonic(), time.monotonic() - asleep - self.STEP_S))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    def since(self, start):
        return max((late for when, late in self._late if when >= start), default=0.0)


def assert_fed(daemon, since, phase, lateness):
    fed = [when for when, line in daemon.notified() if line == "WATCHDOG=1" and when >= since] + [time.monotonic()]
    gaps = [later - earlier for earlier, later in zip([since, *fed], fed)]
    patience = INTERVAL_S / 2 + 20 * lateness.since(since)
    assert max(gaps) <= patience, f"{phase}: {max(gaps):.2f} s without a sign of life, of {patience:.2f}"


@pytest.fixture
def lateness():
    with Lateness() as measured:
        yield measured


def test_watchdog_is_fed_whatever_happens(rig, make_daemon, lateness):
    own_broker(rig)
    rig.daemon = make_daemon(rig.config(partitions=2), WATCHDOG_USEC=str(INTERVAL_S * 1_000_000))
    template = events.Template(events.sure(target="shop"))

    def phase(name, seconds):
        started = time.monotonic()
        yield started
        while time.monotonic() - started < seconds:
            time.sleep(0.1)
        assert_fed(rig.daemon, started, name, lateness)

    with broker_away(rig):
        rig.daemon.start(ready_timeout=None)
        wait_until(lambda: rig.daemon.notified(), "a first word")
        for _ in phase("waiting for the broker at the start", 3):
            pass
    since = time.monotonic()
    rig.daemon.wait_ready()
    assert_fed(rig.daemon, since, "starting", lateness)
    for _ in phase("idle", 3):
        pass
    for _ in phase("under load", 3):
        rig.send([template.message(partition=number % 2)[1] for number in range(5_000)])
    for _ in phase("reloading", 1):
        reload(rig.daemon)
    rig.scored(5_000)
    with broker_away(rig):
        for _ in phase("broker away", 6):
            pass
    for _ in phase("broker back", 3):
        pass
    gate = slow_judge(rig)
    send_one(rig)
    wait_until(lambda: rig.daemon.running() and "in flight 1" in rig.daemon.status(), "the event")
    since = time.monotonic()
    rig.daemon.signal(signal.SIGTERM)
    threading.Timer(3, gate.set).start()
    while rig.daemon.running():
        time.sleep(0.1)
    assert_fed(rig.daemon, since, "stopping", lateness)
    assert rig.daemon.wait() == 0


PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 17, 0x4206, 0x4207, 0x40000000


@contextlib.contextmanager
def frozen(pid, name):
    """One thread of the process stands still."""
    libc = ctypes.CDLL(None, use_errno=True)

    def ptrace(request, thread):
        if libc.ptrace(ctypes.c_long(request), ctypes.c_long(thread), None, None):
            pytest.skip(f"threads cannot be stopped here: {os.strerror(ctypes.get_errno())}")

    def name_of(thread):
        with open(f"/proc/{pid}/task/{thread}/comm", encoding="utf-8") as file:
            return file.read().strip()

    (thread,) = [int(thread) for thread in os.listdir(f"/proc/{pid}/task") if name in name_of(thread)]
    ptrace(PTRACE_SEIZE, thread)
    ptrace(PTRACE_INTERRUPT, thread)
    os.waitpid(thread, WALL)
    try:
        yield
    finally:
        ptrace(PTRACE_DETACH, thread)


@pytest.mark.parametrize("thread", ["source", "publisher"])
def test_watchdog_is_not_fed_when_a_thread_is_stuck(rig, make_daemon, thread):
    rig.daemon = make_daemon(rig.config(partitions=1), WATCHDOG_USEC=str(INTERVAL_S * 1_000_000)).start()
    rig.send([events.message(events.event())])
    rig.scored(1)  # while it joins its group it waits for Kafka, and may for longer
    with frozen(rig.daemon.pid, thread):
        time.sleep(INTERVAL_S + 1)
        since = time.monotonic()
        time.sleep(INTERVAL_S + 0.5)
        assert not [when for when, line in rig.daemon.notified() if line == "WATCHDOG=1" and when > since]
        complaints = [line for line in rig.daemon.log().splitlines() if "critical" in line]
        assert len(complaints) == 1 and thread in complaints[0] and "stuck" in complaints[0]
    since = time.monotonic()
    wait_until(lambda: [when for when, line in rig.daemon.notified() if line == "WATCHDOG=1" and when > since],
               "a sign of life when it moves again")


# ---- exit statuses ----


def ends(config, tmp_path, timeout=300):
    """Runs the daemon with a configuration until it ends by itself: (status, its one sentence, seconds)."""
    file = tmp_path / "assayd.conf"
    file.write_text(config if isinstance(config, str) else config_text(config))
    started = time.monotonic()
    done = subprocess.run([BINARY, "run", "--config", str(file)], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=timeout, cwd=tmp_path, check=False,
                          env={"PATH": os.environ["PATH"], "STATE_DIRECTORY": str(tmp_path), "TZ": "UTC"})
    said = done.stderr.splitlines()
    assert said, "it ends without a word"
    assert len(said) == 1, done.stderr
    assert said[0].startswith("assayd: critical: ")
    return done.returncode, said[0], time.monotonic() - started


def test_ends_without_the_key_of_the_judge(kafka, topics, judge, tmp_path):
    config = {"kafka": topics(1).settings(kafka), "judge": judge.settings(api_key_file="/no/such/key")}
    status, sentence, _ = ends(config, tmp_path)
    assert status == NO_INPUT
    assert "/no/such/key" in sentence and "judge.api_key_file" in sentence


def test_ends_with_a_property_that_the_client_does_not_know(kafka, topics, tmp_path):
    status, sentence, _ = ends({"kafka": topics(1).settings(kafka, properties=["fetch.wait=5"])}, tmp_path)
    assert status == CONFIG
    assert "fetch.wait" in sentence


def test_ends_when_another_one_has_its_name(rig, make_daemon):
    first = rig.start(partitions=1)
    twin = make_daemon({**first.config, "http": None})
    twin.start()
    send_one(rig)
    assert first.wait() == TRY_AGAIN
    sentence = first.log_tail(1)
    assert f'"{rig.topics.name}-1"' in sentence and "kafka.instance_id" in sentence
    no_leftovers(first)
    scored_by_name(rig, 1, settle=1)
    assert twin.running()


def test_the_service_manager_starts_again_what_may_help_but_not_for_ever():
    unit = (pathlib.Path(__file__).resolve().parents[2] / "systemd" / "assayd.service").read_text()
    setting = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line and not line.startswith("#"))
    assert setting["Restart"] == "on-failure"
    kept_down = {int(status) for status in setting["RestartPreventExitStatus"].split()}
    assert not {TRY_AGAIN, UNAVAILABLE} & kept_down and {NO_INPUT, CONFIG} <= kept_down
    # two of one name take turns: each is fenced when the other one has come up, within a quarter of a minute
    turns_s = int(setting["StartLimitBurst"]) * (int(setting["RestartSec"]) + 15)
    assert 0 < turns_s < int(setting["StartLimitIntervalSec"])
