"""The in-memory broker that the quickstart starts."""

import json
import os
import pathlib
import signal
import subprocess
import time

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient

from daemon import BINARY as ASSAYD, config_text

BINARY = os.environ.get("ASSAYD_TRIAL_BROKER", str(
    pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "tests" / "harness" / "trial_broker"))
QUIET = {"log_level": 0}


@pytest.fixture
def broker():
    process = subprocess.Popen([BINARY, "events:3", "scored.records:1"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def test_topics_and_messages(broker):
    bootstrap = broker.stdout.readline().strip()
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    topics = admin.list_topics(timeout=60).topics
    assert {name: len(topic.partitions) for name, topic in topics.items()} == {"events": 3, "scored.records": 1}
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, **QUIET})
    producer.produce("events", b"one", partition=2, headers=[("kind", b"x")])
    assert producer.flush(10) == 0
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": "g", **QUIET,
                                         "auto.offset.reset": "earliest"})
    consumer.subscribe(["events"])
    message = consumer.poll(20)
    assert (message.value(), message.partition(), message.headers()) == (b"one", 2, [("kind", b"x")])
    consumer.close()


def test_ends_with_its_input(broker):
    broker.stdout.readline()
    broker.stdin.close()
    assert broker.wait(10) == 0


def test_ends_on_sigterm_and_runs_without_input():
    with subprocess.Popen([BINARY, "events:1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_check_comes_to_its_end(tmp_path):
    """It cannot tell who is in a group, which librdkafka does not survive when it is asked for by the group's name."""
    names = ("generated-queries", "scored-queries", "confidence-advisories", "generated-queries.dlq")
    with subprocess.Popen([BINARY, *(f"{name}:1" for name in names)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            bootstrap = process.stdout.readline().strip()
            file = tmp_path / "assayd.conf"
            file.write_text(config_text({"kafka": {"bootstrap_servers": bootstrap}}))
            done = subprocess.run([ASSAYD, "check", "--config", str(file)], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=120, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
            assert "ok      kafka permissions" in done.stdout
        finally:
            process.kill()


def test_it_knows_no_offsets_by_time(tmp_path):
    """It answers that nothing is as young, whatever is there: what commands read is told by timestamps then."""
    names = ("generated-queries", "scored-queries", "confidence-advisories", "generated-queries.dlq")
    with subprocess.Popen([BINARY, *(f"{name}:2" for name in names)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            bootstrap = process.stdout.readline().strip()
            file = tmp_path / "assayd.conf"
            file.write_text(config_text({"kafka": {"bootstrap_servers": bootstrap}}))
            producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, **QUIET})
            for key, age_s in (("old", 7200), ("young", 60)):
                headers = {"reason": "unknown_framing", "detail": "?", "topic": names[0], "partition": "0", "offset": str(age_s)}
                producer.produce(names[3], b"x", key, partition=0, headers=headers, timestamp=int((time.time() - age_s) * 1000))
            assert producer.flush(10) == 0

            def run(*arguments):
                done = subprocess.run([ASSAYD, *arguments, "--config", str(file)], stdin=subprocess.DEVNULL, capture_output=True,
                                      text=True, timeout=120, check=False)
                assert done.returncode == 0, (arguments, done)
                return done.stdout

            for chosen, keys in ([], {"old", "young"}), (["--since", "1h"], {"young"}), (["--since", "3h"], {"old", "young"}):
                shown = run("tail", "dead-letters", "--once", "--json", *chosen).splitlines()
                assert {json.loads(line)["key"] for line in shown} == keys
                redriven = json.loads(run("redrive", "--dry-run", "--all", "--json", *chosen))
                assert redriven["chosen"] == len(keys), redriven
            assert "partition 0, offset 1" in run("show", "young", "--since", "1h")
        finally:
            process.kill()


@pytest.mark.parametrize("arguments", [[], ["events"], ["events:0"], ["events:x"], [":3"], ["x:"]])
def test_wrong_usage(arguments):
    done = subprocess.run([BINARY, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          check=False)
    assert done.returncode == 64 and done.stdout == "" and done.stderr
