"""Rights that are missing at the start, or taken away later: named with what grants them, counted, waited for, and nothing
is lost or doubled meanwhile."""

import os
import shlex
import subprocess
import time

import pytest

import events
import manual
from daemon import BINARY, config_text
from openmetrics import Metrics, await_metrics
from permissions import DESCRIBE, GROUP, LITERAL, PREFIXED, READ, TOPIC, TRANSACTIONAL_ID, WRITE, Permissions
from servers import Kafka, headers_of

USER, OPERATOR = "assayd", "operator"
HOLD_S = 5  # a producer a second would show


@pytest.fixture(scope="module")
def kafka():
    """A broker of our own, that asks who one is."""
    if os.environ.get("KAFKA_BOOTSTRAP"):
        pytest.skip("KAFKA_BOOTSTRAP names a broker without our user")
    from conftest import required

    server = required(lambda: Kafka(users=[USER, OPERATOR]))
    yield server
    server.stop()


class Rights:
    """Those that scoring needs, by a short name: what is granted, how it is called, and how Kafka's tool calls it."""

    def __init__(self, kafka, made):
        self._permissions = Permissions(kafka.bootstrap)
        self.all = {
            "group": (GROUP, made.name, READ),
            "input": (TOPIC, made.input, READ),
            "scored": (TOPIC, made.scored, WRITE),
            "advisory": (TOPIC, made.advisory, WRITE),
            "dead_letter": (TOPIC, made.dead_letter, WRITE),
            "transactions": (TRANSACTIONAL_ID, f"{made.name}-1", WRITE),
        }
        # whoever reads an output, say, sees it also when it may not write it
        self._permissions.grant(USER, (GROUP, made.name, DESCRIBE), *(
            (TOPIC, getattr(made, kind), DESCRIBE) for kind in made.KINDS))

    def grant(self, *names):
        self._permissions.grant(USER, *(self.all[name] for name in names))

    def take(self, *names):
        self._permissions.take(USER, *(self.all[name] for name in names))

    def labels(self, name):
        kind, resource, operation = self.all[name]
        return {"operation": {READ: "READ", WRITE: "WRITE"}[operation], "name": resource,
                "resource": {GROUP: "group", TOPIC: "topic", TRANSACTIONAL_ID: "transactional id"}[kind]}

    def missing(self, name):
        labels = self.labels(name)
        return f'this client lacks {labels["operation"]} on {labels["resource"]} "{labels["name"]}"'

    def command(self, name):
        labels = self.labels(name)
        return (f"--add --allow-principal User:{USER} --operation {labels['operation'].capitalize()} "
                f"--{labels['resource'].replace(' ', '-')} {labels['name']}").replace("transactional-id-id", "transactional-id")

    def close(self):
        self._permissions.close()


class Scene:
    def __init__(self, kafka, made, daemon, rights):
        self.kafka, self.made, self.daemon, self.rights = kafka, made, daemon, rights
        self.sent, self.letters = [], 0

    def send(self, count):
        """Each time one that is scored alone, one with advisories, and one that becomes a dead letter."""
        for _ in range(count):
            self.sent += [events.sure(), events.sure("DELETE FROM orders")]
            self.kafka.produce(self.made.input, [*map(events.encode, self.sent[-2:]), f"junk {self.letters}".encode()])
            self.letters += 1

    def names(self, topic, count):
        return sorted(message.key().decode() for message in self.kafka.read(topic, count, settle=1))

    def check_all_once(self):
        names = sorted(event["event_id"] for event in self.sent)
        unsafe = {event["event_id"] for event in self.sent if event["sql"].startswith("DELETE")}
        assert self.names(self.made.scored, len(names)) == names
        advisories = [(message.key().decode(), headers_of(message)["kind"])
                      for message in self.kafka.read(self.made.advisory, len(unsafe), settle=1)]
        assert len(set(advisories)) == len(advisories) and {name for name, _ in advisories} == unsafe
        letters = self.kafka.read(self.made.dead_letter, self.letters, settle=1)
        assert sorted(letter.value() for letter in letters) == sorted(f"junk {n}".encode() for n in range(self.letters))

    def await_until(self, condition, what, timeout=120):
        deadline = time.monotonic() + timeout
        while not condition():
            assert self.daemon.running(), "it has ended"
            assert time.monotonic() < deadline, f"{what}: {self.daemon.status()}"
            time.sleep(0.1)

    def ready(self):
        return self.daemon.get("/readyz") == (200, "ready\n")


def as_user(kafka, made, folder, user=USER):
    password = folder / f"password-{user}"
    password.write_text(user)
    password.chmod(0o600)
    return made.settings(
        kafka, bootstrap_servers=f"127.0.0.1:{kafka.facts['users']}", secret_properties=(f"sasl.password={password}",),
        properties=("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", f"sasl.username={user}"))


@pytest.fixture
def scene(kafka, topics, make_daemon, tmp_path):
    made = topics(2)
    rights = Rights(kafka, made)
    yield Scene(kafka, made, make_daemon({"kafka": as_user(kafka, made, tmp_path)}), rights)
    rights.close()


KINDS = ["group", "input", "scored", "advisory", "dead_letter", "transactions"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_right_that_is_taken_is_named_and_waited_for(scene, kind):
    daemon, rights = scene.daemon, scene.rights
    rights.grant(*rights.all)
    daemon.start()
    scene.send(2)
    scene.kafka.read(scene.made.scored, len(scene.sent))
    scene.await_until(scene.ready, "ready")
    before = Metrics(daemon)
    assert before.value("assayd_kafka_right_missing") == 0 and before.value("assayd_kafka_refused_seconds") == 0

    rights.take(kind)
    scene.send(3)
    missing, command = rights.missing(kind), rights.command(kind)
    scene.await_until(lambda: missing in daemon.log(), "the journal")
    scene.await_until(lambda: missing in daemon.status(), "the status")
    status, page = daemon.get("/readyz")
    assert status == 503 and missing in page and command in page, page
    line = next(line for line in daemon.log().splitlines() if missing in line)
    assert "critical" in line and command in line
    now = await_metrics(daemon, lambda metrics: metrics.value("assayd_kafka_refused_seconds") > 1)
    assert now.value("assayd_ready") == 0
    assert now.value("assayd_kafka_right_missing") == now.value("assayd_kafka_right_missing", **rights.labels(kind)) == 1

    scene.send(1)
    time.sleep(HOLD_S)
    held = Metrics(daemon)
    assert held.value("assayd_kafka_refused_seconds") > now.value("assayd_kafka_refused_seconds")
    for counter in ("assayd_producers_replaced", "assayd_transactions"):
        assert held.value(counter) - now.value(counter) <= 3, "it goes on trying"

    rights.grant(kind)
    scene.await_until(scene.ready, "ready again")
    scene.check_all_once()
    after = Metrics(daemon)
    assert after.value("assayd_kafka_right_missing") == after.value("assayd_kafka_refused_seconds") == 0
    assert daemon.log().count("lacks ") == 1 and daemon.log().count(f"{missing.partition('lacks ')[2]} again") == 1
    assert daemon.terminate() == 0


def test_all_of_them_at_once(scene):
    """All that can be found out is named, and another start in the middle changes nothing."""
    daemon, rights = scene.daemon, scene.rights
    rights.grant(*rights.all)
    daemon.start()
    scene.send(1)
    scene.kafka.read(scene.made.scored, len(scene.sent))
    rights.take(*rights.all)
    scene.send(2)
    named = ("group", "scored", "advisory", "dead_letter")  # a group that may not be asked tells nothing of its topic
    scene.await_until(lambda: all(rights.missing(kind) in daemon.get("/readyz")[1] for kind in named), "all that is missing")
    assert daemon.terminate() == 0
    daemon.start(ready_timeout=None)
    scene.await_until(lambda: all(rights.missing(kind).partition("lacks ")[2] in daemon.status() for kind in named), "the start")
    rights.grant(*rights.all)
    daemon.wait_ready()
    scene.check_all_once()
    assert daemon.terminate() == 0


def test_a_start_waits_for_rights(scene):
    daemon, rights = scene.daemon, scene.rights
    granted = []
    daemon.start(ready_timeout=None)
    for kind in ("group", "input", "scored", "advisory", "dead_letter", "transactions"):
        asked = rights.missing(kind).partition("lacks ")[2]
        scene.await_until(lambda: asked in daemon.status() and f"User:{USER}" in daemon.status(), f"{kind} in the status")
        page = daemon.get("/readyz")
        assert page[0] == 503 and not [name for name in granted if rights.missing(name).partition("lacks ")[2] in page[1]]
        scene.send(1)
        rights.grant(kind)
        granted.append(kind)
        scene.await_until(lambda: asked not in daemon.status(), f"{kind} is there")
    daemon.wait_ready()
    scene.check_all_once()
    assert "the wait is over" in daemon.log() and daemon.terminate() == 0


def test_what_the_calibration_may_not_read_is_named_and_waited_for(kafka, topics, postgres, calibration_database, make_daemon,
                                                                   tmp_path):
    """Scoring goes on meanwhile, and whoever watches the calibration sees that it does not."""
    made = topics(2)
    rights = Rights(kafka, made)
    rights.grant(*rights.all)
    rights.all.update({"calibration": (GROUP, f"{made.name}.calibration", READ), "counted": (TOPIC, made.scored, READ)})
    daemon = make_daemon({"kafka": as_user(kafka, made, tmp_path),
                          "calibration": {"dsn": postgres.dsn(calibration_database, "assayd")}}).start()
    scene = Scene(kafka, made, daemon, rights)

    def stands_still(right, sent):
        scene.send(1)
        wanted = f"the calibration does not count: {rights.missing(right)}"
        scene.await_until(lambda: wanted in daemon.log() and rights.command(right) in daemon.log().partition(wanted)[2],
                          f"{right} in the journal")
        await_metrics(daemon, lambda metrics: metrics.value("assayd_calibration_lag_seconds") > 2, timeout=90)
        assert scene.ready(), "events are scored"
        assert Metrics(daemon).value("assayd_calibration_records") == sent

    def counts():
        await_metrics(daemon, lambda metrics: metrics.value("assayd_calibration_records") >= len(scene.sent) and
                      metrics.value("assayd_calibration_lag_seconds") == 0, timeout=180)

    stands_still("calibration", 0)
    rights.grant("calibration")
    stands_still("counted", 0)
    rights.grant("counted")
    counts()
    scene.check_all_once()
    rights.close()


def test_a_stop_does_not_wait_for_rights(scene):
    """What was in flight is done by the next start, once."""
    daemon, rights = scene.daemon, scene.rights
    daemon.config["pipeline"] = {"drain_timeout_ms": 1000}
    rights.grant(*rights.all)
    for kind in ("scored", "transactions"):
        daemon.start()
        scene.await_until(scene.ready, "ready")
        rights.take(kind)
        scene.send(2)
        scene.await_until(lambda: rights.missing(kind) in daemon.status(), "the status")
        assert daemon.terminate() == 0
        rights.grant(kind)
    daemon.start()
    scene.check_all_once()
    assert daemon.terminate() == 0


def manuals_rights(user, lines, made):
    """What commands of the manual grant to that user, with the names of this test in place of the default ones."""
    names = {"generated-queries": made.input, "scored-queries": made.scored, "confidence-advisories": made.advisory,
             "generated-queries.dlq": made.dead_letter, "assayd": made.name, "assayd-": f"{made.name}-",
             "generated-queries.dlq.redrive": f"{made.dead_letter}.redrive"}
    kinds = {"--topic": TOPIC, "--group": GROUP, "--transactional-id": TRANSACTIONAL_ID}
    for line in lines:
        words = shlex.split(line)
        assert words[:5] == ["kafka-acls.sh", "...", "--add", "--allow-principal", f"User:{user}"]
        options = list(zip(words[5::2], words[6::2]))
        [(kind, name)] = [(kinds[option], names[value]) for option, value in options if option in kinds]
        pattern = PREFIXED if ("--resource-pattern-type", "prefixed") in options else LITERAL
        for option, value in options:
            if option == "--operation":
                yield kind, name, {"Read": READ, "Write": WRITE}[value], pattern


def test_the_commands_of_the_manual_are_enough(kafka, topics, postgres, calibration_database, make_daemon, tmp_path):
    """With what they grant and nothing else, events are scored, counted and put back, and no right is missing."""
    made, permissions = topics(2), Permissions(kafka.bootstrap)
    daemons, operators = (list(manuals_rights(user, lines, made))
                          for user, lines in zip((USER, OPERATOR), manual.commands("PERMISSIONS IN KAFKA"), strict=True))
    assert (len(daemons), len(operators)) == (7, 4)
    permissions.grant(USER, *daemons)
    permissions.grant(OPERATOR, *operators)
    permissions.close()
    daemon = make_daemon({"kafka": as_user(kafka, made, tmp_path),
                          "calibration": {"dsn": postgres.dsn(calibration_database, "assayd")}})
    daemon.start()
    kafka.produce(made.input, [*map(events.encode, [events.sure(), events.sure("DELETE FROM orders")]), b"junk"])
    for topic, count in ((made.scored, 2), (made.advisory, 1), (made.dead_letter, 1)):
        assert len(kafka.read(topic, count, settle=1)) == count
    now = await_metrics(daemon, lambda metrics: metrics.value("assayd_calibration_records") == 2)
    assert now.value("assayd_kafka_right_missing") == 0 and "lacks " not in daemon.log()
    configuration = tmp_path / "operator.conf"
    configuration.write_text(config_text({"kafka": as_user(kafka, made, tmp_path, OPERATOR)}))
    event = '{"application": "a", "question": "?", "sql": "SELECT 1"}\n'
    for command, said in ((["redrive", "--all"], "1 put back"), (["produce"], "1 produced")):
        done = subprocess.run([BINARY, *command, "--config", str(configuration)], input=event, capture_output=True, text=True, timeout=120,
                              check=False)
        assert done.returncode == 0 and said in done.stdout, done
    assert len([letter for letter in kafka.read(made.dead_letter, 3, settle=1) if letter.value() == b"junk"]) == 2
    assert len(kafka.read(made.scored, 3, settle=1)) == 3
    assert daemon.terminate() == 0
