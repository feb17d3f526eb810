"""The unit as it is installed, under a real systemd: start, reload, stop, and what the service manager does about faults."""

import base64
import json
import os
import pathlib
import re
import sqlite3
import time

import pytest

import events
import manual
import schema_registry
from conftest import required
from machine import ETC, Machine, Service
from servers import Kafka

# systemd-analyze's sum of what the unit leaves open, 10 at most.
EXPOSURE_LIMIT = 1.5
# One warning (no LIMIT) and nothing else: overall 0.95.
WARNED = "SELECT id, name FROM customers"


USER = "assayd"


@pytest.fixture(scope="module")
def kafka():
    """A broker of our own, with a listener that asks who one is and lets our user do everything."""
    if os.environ.get("KAFKA_BOOTSTRAP"):
        pytest.skip("KAFKA_BOOTSTRAP names a broker without our user")
    server = required(lambda: Kafka(users=[USER], properties=[f"super.users=User:ANONYMOUS;User:{USER}"]))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def machine():
    made = required(Machine)
    yield made
    made.stop()


@pytest.fixture
def service(rig, machine):
    """service(setting=…, start=True): the unit with the rig's configuration."""
    made = []

    def make(start=True, drop_in=None, **changes):
        made.append(Service(machine, rig.config(partitions=1, **changes)))
        if drop_in:
            made[-1].drop_in(drop_in)
        if start:
            made[-1].systemctl("start")
        return made[-1]

    yield make
    print(f"--- journal of the unit\n{machine.journal(60)}")
    for unit in made:
        unit.remove()


def score_one(rig, count):
    """Sends an event and waits until there are `count` records in all."""
    event = events.event(WARNED, target="shop", question=f"Question {count}?", ground_truth={"sql": WARNED})
    rig.send([events.message(event)])
    records = {record["input"]["event_id"]: record for _, record in rig.scored(count)}
    assert len(records) == count
    return records[event["event_id"]]


def test_the_unit_is_right_and_confined(machine):
    assert machine.run("systemd-analyze", "verify", "--man=no", "assayd.service") == ""
    assessment = machine.run("systemd-analyze", "security", "--no-pager", "assayd.service")
    exposure = re.search(r"Overall exposure level for assayd.service: ([0-9.]+)", assessment)
    print(exposure[0])
    assert float(exposure[1]) <= EXPOSURE_LIMIT


def test_start_score_stop(rig, machine, service):
    """Once the registry that has named the records' schemas is away, root reads them by what the unit's directory has."""

    def know_all(handler):
        handler.rfile.read(int(handler.headers["Content-Length"]))
        handler.say(200, {"id": 1 + (rig.topics.advisory in handler.path)})

    registry = schema_registry.ScriptedRegistry(know_all)
    unit = service(kafka={"wire_format": "confluent"}, registry={"urls": (registry.url,)})
    assert unit.show("ActiveState") == "active"
    unit.wait(lambda: unit.show("StatusText").startswith("Scored 0"), "its status line")
    assert machine.run("ps", "-o", "user=", "-p", str(unit.pid())) == "assayd"
    rig.send([events.message(events.event(WARNED, target="shop", ground_truth={"sql": WARNED}))])
    rig.kafka.read(rig.topics.scored, 1)
    registry.close()
    tail = ("assayd", "tail", "--once", "--json", "--config", f"{ETC}/assayd.conf")
    assert json.loads(machine.run(*tail))["result_validation"]["score"] == 1.0, "its target was reached"
    said = machine.run("setpriv", "--reuid=nobody", "--regid=assayd", "--clear-groups", *tail, expect=69)
    assert "run as root or as the daemon's user to read the schemas that it has kept in /var/lib/assayd" in said
    unit.systemctl("stop")
    assert (unit.show("ActiveState"), unit.show("Result"), unit.show("ExecMainStatus")) == ("inactive", "success", "0")
    assert machine.run("pgrep", "-u", "assayd", expect=1) == "", "nothing is left behind"


def test_worker_processes_are_confined(rig, machine, service):
    """The unit's own filter lets them take more from themselves, and says nothing that it could not."""

    def status(pid):
        return dict(line.split(":\t", 1) for line in machine.run("cat", f"/proc/{pid}/status").splitlines() if ":\t" in line)

    unit = service()
    assert score_one(rig, 1)["result_validation"]["score"] == 1.0
    daemon = status(unit.pid())
    for name in ("assayd-target", "assayd-cancel"):
        for pid in machine.run("pgrep", "-x", name).split():
            process = status(pid)
            assert (process["Seccomp"], process["NoNewPrivs"], process["Uid"]) == ("2", "1", daemon["Uid"])
            assert int(process["Seccomp_filters"]) > int(daemon["Seccomp_filters"])
    assert "than they need" not in machine.journal()


def test_reload_takes_over_or_fails(rig, service):
    unit = service()
    unit.write_config(confidence={"thresholds": {"high": 0.97}})
    unit.systemctl("reload")
    assert score_one(rig, 1)["confidence"]["level"] == "MEDIUM_CONFIDENCE"
    pid = unit.pid()
    for wrong in ({"advisories": {"low_confidence_below": 7.0}}, {"judge": {"prompt_directory": "/no/such"}}):
        kept = dict(unit.config)
        unit.write_config(**wrong)
        unit.systemctl("reload", expect=1)
        unit.wait(lambda: " was refused: " in unit.show("StatusText"), "the refusal in its status")
        assert (unit.show("ActiveState"), unit.pid()) == ("active", pid)
        unit.config = kept
        unit.write_config()
        unit.systemctl("reload")
        unit.wait(lambda: "refused" not in unit.show("StatusText"), "its end in the status")
    assert score_one(rig, 2)["confidence"]["level"] == "MEDIUM_CONFIDENCE"
    assert "low_confidence_below" in unit.machine.journal()


def test_a_start_that_waits_for_a_topic_outlives_its_limits(rig, machine, service):
    """Neither TimeoutStartSec nor the start limit ends it, and systemctl says what it waits for."""
    unit = service(start=False, drop_in="[Service]\nTimeoutStartSec=10\n", judge=None, calibration=None, targets=None)
    missing = f"{rig.topics.name}.late"
    unit.write_config(kafka={"scored_topic": missing})
    machine.run("systemctl", "start", "--no-block", "assayd.service")
    unit.wait(lambda: f'topic "{missing}" does not exist: create it' in unit.show("StatusText"), "the topic in its status")
    pid = unit.pid()
    time.sleep(13)
    assert (unit.show("ActiveState"), unit.pid()) == ("activating", pid)
    rig.kafka.create_topics([missing])
    unit.wait(lambda: unit.show("ActiveState") == "active", "its start")
    assert (unit.show("NRestarts"), unit.pid()) == ("0", pid)


def test_killed_or_frozen_it_is_started_again(rig, service):
    unit = service(drop_in="[Service]\nWatchdogSec=5\nRestartSec=1\n")
    for number, fault in enumerate(["KILL", "STOP"], 1):
        score_one(rig, number)
        pid = unit.pid()
        unit.machine.run("kill", "-s", fault, str(pid))
        unit.wait(lambda before=pid: unit.pid() not in (0, before) and unit.show("ActiveState") == "active",
                  f"a new start after {fault}")
        assert unit.show("NRestarts") == str(number)
    assert "Watchdog timeout" in unit.machine.journal()
    score_one(rig, 3)


# ---- secrets ----


class Secrets:
    """The passwords of everything that the daemon reaches, on the servers and in its credentials."""

    ROLE = "rotated"

    def __init__(self, rig, machine, database):
        self._rig, self._machine, self._current = rig, machine, USER
        rig.postgres.execute(f"CREATE ROLE {self.ROLE} LOGIN PASSWORD '{USER}'; ALTER DATABASE {database} OWNER TO {self.ROLE}")
        rig.postgres.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {self.ROLE}", "shop")
        rig.postgres.require_password(self.ROLE)
        rig.judge.require_key(USER)
        for name in ("target", "calibration", "judge", "kafka"):
            machine.write(f"{ETC}/credentials/{name}", f"{USER}\n")

    def settings(self):
        def dsn(name):
            return f"host=127.0.0.1 port={self._rig.postgres.port} dbname={name} user={self.ROLE}"

        return {"kafka": {"bootstrap_servers": f"127.0.0.1:{self._rig.kafka.facts['users']}",
                          "properties": ("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", f"sasl.username={USER}"),
                          "secret_properties": ("sasl.password=credentials_kafka",)},
                "targets": ({"name": "shop", "engine": "postgresql", "dsn": dsn("shop"),
                             "password_file": "credentials_target"},),
                "calibration": {"dsn": dsn(self._rig.calibration_database), "password_file": "credentials_calibration"},
                "judge": {"api_key_file": "credentials_judge"}}

    def change(self, to):
        """By the manual's commands. Nobody is let in with the old one, and nobody stays who came in by it."""
        [replace] = manual.commands("CREDENTIALS")
        for name in ("target", "calibration", "judge", "kafka"):
            for line in replace:
                self._machine.run("sh", "-c", line.replace("sales-password", name), text=f"{to}\n")
        self._rig.judge.require_key(to)
        self._rig.postgres.execute(f"ALTER ROLE {self.ROLE} PASSWORD '{to}'; SELECT pg_terminate_backend(pid) "
                                   f"FROM pg_stat_activity WHERE usename = '{self.ROLE}'")
        properties = pathlib.Path(self._rig.kafka.dir) / "server.properties"
        properties.write_text(properties.read_text().replace(f'user_{USER}="{self._current}"', f'user_{USER}="{to}"'))
        self._rig.kafka.restart()
        self._current = to


def test_passwords_are_changed_while_it_runs(rig, machine, service, calibration_database):
    secrets = Secrets(rig, machine, calibration_database)
    unit = service(start=False, **secrets.settings())
    machine.run("chown", "root:root", f"{ETC}/credentials/judge")
    machine.run("chmod", "600", f"{ETC}/credentials/judge")
    unit.systemctl("start", expect=1)
    assert "chgrp assayd" in machine.journal(), "how to mend what it may not read"
    machine.run("systemd-tmpfiles", "--create")
    unit.systemctl("start")
    pid = unit.pid()
    records = [score_one(rig, 1)]
    rig.await_calibration(records)
    secrets.change("another-one")
    records.append(score_one(rig, 2))
    for record in records:
        assert record["result_validation"]["score"] == 1.0, "the target was reached"
        assert record["judge"]["decision"] == "ACCEPT_HIGH", "the judge was reached"
    rig.await_calibration(records)
    assert unit.pid() == pid, "without a restart"
    assert "the login to Kafka was read again" in machine.journal()

def checked(machine, *flags):
    """What check says on the machine as root: the lines on the unit without its name, by kind."""
    said = machine.run("assayd", "check", "--config", f"{ETC}/assayd.conf", *flags, expect=None)
    lines = [(line[:8].strip(), line[8:]) for line in said.splitlines()]
    about = "assayd.service: "
    return said, [text.removeprefix(about) for kind, text in lines if kind == "warning" and text.startswith(about)]


def test_check_knows_what_the_unit_forbids(machine, service):
    """Root reaches it all; the daemon, within its unit, does not."""
    unit = service(start=False, targets=tuple({"name": place.replace("/", "-"), "engine": "sqlite", "path": f"/{place}/shop.db"}
                                              for place in ("home/shop", "tmp", "srv", "opt/private", "srv/link")),
                   kafka={"secret_properties": [f"ssl.key.password={ETC}/key"]},
                   registry={"urls": ("http://127.0.0.1:1",), "token_file": f"{ETC}/key"},
                   pipeline={"state_directory": "/srv/state", "drain_timeout_ms": 120000, "max_in_flight_bytes": 2**31})
    machine.run("sh", "-c", "mkdir -p /home/shop /opt/private /srv/state && chmod 700 /opt/private && echo secret >/etc/assayd/key && "
                "chmod 600 /etc/assayd/key && for at in home/shop tmp srv opt/private; do : >/$at/shop.db; done && "
                "mkdir /srv/link && ln -s /home/shop/shop.db /srv/link/shop.db")
    said, warnings = checked(machine)
    for at, part in enumerate(("kafka.secret_properties: the user assayd may not read /etc/assayd/key: Permission denied",
                               'target "home-shop": the daemon does not see /home/shop/shop.db (ProtectHome of the unit)',
                               'target "tmp": the daemon does not see /tmp/shop.db (PrivateTmp of the unit)',
                               'target "opt-private": the user assayd may not read /opt/private/shop.db: Permission denied',
                               'target "srv-link": the daemon does not see /srv/link/shop.db (ProtectHome of the unit)',
                               "registry.token_file: the user assayd may not read /etc/assayd/key: Permission denied",
                               "pipeline.state_directory: the daemon cannot write to /srv/state (ProtectSystem of the unit)",
                               "a stop may take 125 s (pipeline.drain_timeout_ms and 5 s for the end), and is killed after 90;",
                               "MemoryMax is 2048 MiB, and at most ")):
        assert part in warnings[at], said
    assert len(warnings) == 9, said
    unit.drop_in("""[Service]
# what an administrator would add
BindReadOnlyPaths=-/home/shop:/home/shop
ReadWritePaths=/srv/state \\
  /srv/more
TimeoutStopSec=2min 10s
MemoryMax=8G
PrivateTmp=no
""")
    machine.run("sh", "-c", "chgrp assayd /etc/assayd/key && chmod 640 /etc/assayd/key && chmod 755 /opt/private && chown assayd /srv/state")
    said, warnings = checked(machine)
    assert not warnings and "ok      assayd.service" in said.splitlines(), said
    machine.run("sh", "-c", "chown root /srv/state; chmod 700 /srv/state")
    said, warnings = checked(machine)
    assert len(warnings) == 1 and "the user assayd may not write to /srv/state: Permission denied" in warnings[0], said


def test_check_knows_that_the_unit_cannot_make_the_log_of_a_database(machine, service, tmp_path):
    """A database in WAL mode can be read there as long as somebody has it open, or the folder is writable."""
    unit = service(start=False, targets=({"name": "shop", "engine": "sqlite", "path": "/srv/shop/shop.db"},))
    writer = sqlite3.connect(tmp_path / "shop.db")
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("CREATE TABLE orders (id INTEGER)")
    writer.close()
    machine.run("sh", "-c", "rm -rf /srv/shop && mkdir -m 777 /srv/shop && base64 -d >/srv/shop/shop.db && cd /srv/shop && "
                "touch shop.db-wal shop.db-shm", text=base64.b64encode((tmp_path / "shop.db").read_bytes()).decode())
    told = 'target "shop": /srv/shop/shop.db is in WAL mode'
    said, warnings = checked(machine)
    assert len(warnings) == 1 and told in warnings[0] and "name the folder in ReadWritePaths of a drop-in" in warnings[0], said
    machine.run("sh", "-c", "rm -f /srv/shop/shop.db-*")
    said, warnings = checked(machine)
    errors = [line for line in said.splitlines() if line.startswith("error")]
    assert not warnings and len(errors) == 1 and f"assayd.service: {told}" in errors[0], said
    assert "cannot be read now; name the folder in ReadWritePaths" in errors[0] and "PRAGMA journal_mode = DELETE" in errors[0]
    assert machine.run("ls", "/srv/shop") == "shop.db", "nothing was left"
    unit.drop_in("[Service]\nReadWritePaths=/srv/shop\n")
    said, warnings = checked(machine)
    assert not warnings and "ok      assayd.service" in said.splitlines(), said


def test_check_of_what_is_installed(machine, service):
    service(start=False)
    said, warnings = checked(machine)
    assert not warnings and "ok      assayd.service" in said.splitlines(), said
