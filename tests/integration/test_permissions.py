"""What the daemon's user may not do: told by check, and nothing of it is lost or stuck in silence."""

import os
import subprocess
import time

import pytest

import events
from daemon import BINARY, config_text
from permissions import GROUP, READ, TOPIC, TRANSACTIONAL_ID, WRITE, Permissions
from servers import Kafka

USER = "assayd"


@pytest.fixture(scope="module")
def kafka():
    """A broker of our own, that asks who one is."""
    if os.environ.get("KAFKA_BOOTSTRAP"):
        pytest.skip("KAFKA_BOOTSTRAP names a broker without our user")
    from conftest import required

    server = required(lambda: Kafka(users=[USER]))
    yield server
    server.stop()


@pytest.fixture
def permissions(kafka):
    made = Permissions(kafka.bootstrap)
    yield made
    made.close()


def as_user(kafka, folder, settings):
    password = folder / "password"
    password.write_text(USER)
    password.chmod(0o600)
    return {**settings, "bootstrap_servers": f"127.0.0.1:{kafka.facts['users']}",
            "properties": ("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", f"sasl.username={USER}"),
            "secret_properties": (f"sasl.password={password}",)}


def rights_of(topics):
    """Everything that the daemon needs, by what check calls it."""
    return {
        f'READ on group "{topics.name}"': (GROUP, topics.name, READ),
        f'READ on topic "{topics.input}"': (TOPIC, topics.input, READ),
        f'READ on group "{topics.name}.calibration"': (GROUP, f"{topics.name}.calibration", READ),
        f'READ on topic "{topics.scored}"': (TOPIC, topics.scored, READ),
        f'READ on topic "{topics.feedback}"': (TOPIC, topics.feedback, READ),
        f'WRITE on topic "{topics.scored}"': (TOPIC, topics.scored, WRITE),
        f'WRITE on topic "{topics.advisory}"': (TOPIC, topics.advisory, WRITE),
        f'WRITE on topic "{topics.dead_letter}"': (TOPIC, topics.dead_letter, WRITE),
        f'WRITE on transactional id "{topics.name}-1"': (TRANSACTIONAL_ID, f"{topics.name}-1", WRITE),
    }


def check(config, folder):
    file = folder / "assayd.conf"
    file.write_text(config_text(config))
    return subprocess.run([BINARY, "check", "--config", str(file)], capture_output=True, text=True, timeout=60)


def awaited(attempt, wanted, timeout=10):
    """Lists of permissions take a moment until the broker goes by them."""
    deadline = time.monotonic() + timeout
    while not wanted(done := attempt()):
        assert time.monotonic() < deadline, done.stdout + done.stderr
        time.sleep(0.2)
    return done


def test_check_names_all_that_is_missing_and_leaves_no_trace(kafka, permissions, topics, postgres, calibration_database,
                                                             tmp_path):
    made = topics(1)
    rights = rights_of(made)
    calibration = {"dsn": postgres.dsn(calibration_database, "assayd"), "feedback_horizon_s": 3600}
    config = {"kafka": as_user(kafka, tmp_path, made.settings(kafka)), "calibration": calibration}

    # topics that one may write to are seen and may not be read, the others the other way round
    granted = [f'WRITE on topic "{made.scored}"', f'READ on topic "{made.input}"', f'READ on topic "{made.feedback}"',
               f'READ on group "{made.name}.calibration"']
    seen = [(TOPIC, made.advisory, READ), (TOPIC, made.dead_letter, READ)]
    permissions.grant(USER, *seen, *(rights[name] for name in granted))
    done = awaited(lambda: check(config, tmp_path), lambda done: "kafka permissions: this client lacks" in done.stdout)
    assert done.returncode == 69
    lacks = done.stdout.partition("lacks ")[2].partition("; grant")[0].split(", ")
    hidden = f'READ on topic "{made.input}"'  # asked of the group, which may not be asked
    assert sorted(lacks) == sorted(name for name in rights if name not in granted and name != hidden)

    permissions.grant(USER, *rights.values())
    done = awaited(lambda: check(config, tmp_path), lambda done: done.returncode == 0)
    assert "ok      kafka permissions" in done.stdout
    for kind in made.KINDS:
        assert not kafka.read(getattr(made, kind), isolation="read_uncommitted")


def test_check_shuts_out_nobody(rig, kafka, permissions, make_daemon, tmp_path):
    config = rig.config(partitions=1, judge=None, calibration=None, targets=None)
    config["kafka"] = as_user(kafka, tmp_path, config["kafka"])
    permissions.grant(USER, *rights_of(rig.topics).values())
    daemon = make_daemon(config)
    awaited(lambda: check(config, tmp_path), lambda done: done.returncode == 0)
    daemon.start()
    rig.send([events.message(events.sure())])
    rig.scored(1)
    done = check(config, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    rig.send([events.message(events.sure())])
    rig.scored(2)
    assert daemon.running() and daemon.terminate() == 0
