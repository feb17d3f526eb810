"""Mistakes in reaching Kafka, and what is not there yet: told in the broker's own words, and waited for until it is mended."""

import concurrent.futures
import os
import subprocess
import time

import pytest

import certificates
import events
from daemon import BINARY, Daemon, config_text, free_port
from permissions import READ, TOPIC, TRANSACTIONAL_ID, WRITE, GROUP, Permissions
from servers import Kafka

UNAVAILABLE = 69
USER = "assayd"


def wait_until(condition, what, timeout=90):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {timeout} s"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def kafka(tmp_path_factory):
    """A broker of our own with users and TLS."""
    if os.environ.get("KAFKA_BOOTSTRAP"):
        pytest.skip("KAFKA_BOOTSTRAP names a broker without our listeners")
    from conftest import required

    folder = certificates.make(tmp_path_factory.mktemp("certificates"))
    server = required(lambda: Kafka(users=[USER], tls=folder))
    server.folder = folder
    yield server
    server.stop()


@pytest.fixture
def permissions(kafka):
    made = Permissions(kafka.bootstrap)
    yield made
    made.close()


def sasl(kafka, listener, protocol, mechanism="SCRAM-SHA-256", password=USER, ca="ca.pem"):
    """Settings for a listener with SASL; the password is in a file."""
    file = kafka.folder / f"password-{password}"
    file.write_text(password)
    file.chmod(0o600)
    return {"bootstrap_servers": f"localhost:{kafka.facts[listener]}", "secret_properties": (f"sasl.password={file}",),
            "properties": ("broker.address.family=v4", f"security.protocol={protocol}", f"sasl.mechanism={mechanism}",
                           f"sasl.username={USER}", f"ssl.ca.location={kafka.folder / ca}")}


def tls(kafka, listener, host="localhost", ca="ca.pem"):
    return {"bootstrap_servers": f"{host}:{listener if isinstance(listener, int) else kafka.facts[listener]}",
            "properties": ("broker.address.family=v4", "security.protocol=SSL", f"ssl.ca.location={kafka.folder / ca}")}


def mistakes(kafka):
    """Name → settings, what has to be said of the reason, and of the mend."""
    plain = int(kafka.bootstrap.rpartition(":")[2])
    return {
        "port": ({"bootstrap_servers": f"127.0.0.1:{free_port()}"}, "Connection refused", "mend the port"),
        "name": ({"bootstrap_servers": "no-such-host.invalid:9092"}, "Failed to resolve 'no-such-host.invalid",
                 "kafka.bootstrap_servers"),
        "password": (sasl(kafka, "users", "SASL_PLAINTEXT", "PLAIN", "wrong"), "Invalid username or password", "sasl.password"),
        "password, SCRAM and TLS": (sasl(kafka, "scram", "SASL_SSL", password="wrong"), "invalid credentials", "sasl.password"),
        "mechanism": (sasl(kafka, "scram", "SASL_SSL", "PLAIN"), "supported mechanisms: SCRAM-SHA-256", "sasl.mechanism"),
        "SASL where there is none": (dict(sasl(kafka, "users", "SASL_PLAINTEXT", "PLAIN"), bootstrap_servers=kafka.bootstrap),
                                     "SASL", "security.protocol"),
        "no SASL": ({"bootstrap_servers": f"127.0.0.1:{kafka.facts['users']}"}, "require SASL", "security.protocol"),
        "no TLS": ({"bootstrap_servers": f"127.0.0.1:{kafka.facts['tls']}"}, "SSL listener", "security.protocol"),
        "TLS where there is none": (tls(kafka, plain), "unexpected eof", "security.protocol"),
        "authority": (tls(kafka, "tls", ca="other_ca.pem"), "certificate verify failed: unable to get local issuer certificate",
                      "; set ssl.ca.location"),
        "host name of the certificate": (tls(kafka, "tls", host="127.0.0.1"), "certificate verify failed: IP address mismatch",
                                         "; the broker's certificate is for a name, not for this address"),
        "certificate of the client": (tls(kafka, "mtls"), "SSL alert number", "ssl.certificate.location"),
    }


def at_once(work, items):
    with concurrent.futures.ThreadPoolExecutor(len(items)) as pool:
        return dict(zip(items, pool.map(work, items)))


def test_check_says_why_the_broker_cannot_be_reached(kafka, tmp_path):
    table = mistakes(kafka)

    def check(name):
        file = tmp_path / f"{abs(hash(name))}.conf"
        file.write_text(config_text({"kafka": table[name][0]}))
        return subprocess.run([BINARY, "check", "--config", str(file)], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120, check=False)

    for name, done in at_once(check, list(table)).items():
        line = next(line for line in done.stdout.splitlines() if line.startswith("error   kafka"))
        assert done.returncode == UNAVAILABLE, name
        assert table[name][1] in line and table[name][2] in line.partition(table[name][1])[2], f"{name}: {line}"


def test_run_says_why_and_waits(kafka):
    table = mistakes(kafka)
    daemons = {name: Daemon({"kafka": settings}) for name, (settings, _, _) in table.items()}

    def told(name):
        daemon, (_, reason, mend) = daemons[name], table[name]
        wait_until(lambda: f"{reason}" in daemon.log() and mend in daemon.log().partition(reason)[2], f"{name} in the journal")
        wait_until(lambda: reason in daemon.status(), f"{name} in the status")
        status, page = daemon.get("/readyz")
        assert status == 503 and reason in page, f"{name}: {page}"
        assert daemon.terminate(timeout=60) == 0, name

    try:
        for daemon in daemons.values():
            daemon.start(ready_timeout=None)
        at_once(told, list(daemons))
    finally:
        for daemon in daemons.values():
            daemon.close()


def test_a_password_that_is_mended_while_it_is_waited_for(kafka, topics, make_daemon):
    made = topics(1)
    settings = {**made.settings(kafka), **sasl(kafka, "scram", "SASL_SSL", password="stale")}
    daemon = make_daemon({"kafka": settings}).start(ready_timeout=None)
    wait_until(lambda: "invalid credentials" in daemon.log(), "the reason")
    (kafka.folder / "password-stale").write_text(USER)
    permissions = Permissions(kafka.bootstrap)
    permissions.grant(USER, (GROUP, made.name, READ), (TRANSACTIONAL_ID, f"{made.name}-1", WRITE),
                      *((TOPIC, getattr(made, kind), right) for kind in made.KINDS for right in (READ, WRITE)))
    permissions.close()
    daemon.wait_ready(90)
    assert "the wait is over" in daemon.log()
    kafka.produce(made.input, [events.encode(events.sure())])
    assert len(kafka.read(made.scored, 1, 60)) == 1
    assert daemon.terminate(timeout=60) == 0


@pytest.mark.parametrize("kind", ["input", "scored", "advisory", "dead_letter"])
def test_a_topic_that_is_made_while_it_is_waited_for(kafka, topics, make_daemon, kind):
    made = topics(1)
    missing = f"{made.name}.late"
    daemon = make_daemon({"kafka": made.settings(kafka, **{f"{kind}_topic": missing})}).start(ready_timeout=None)
    sentence = f'kafka.{kind}_topic: topic "{missing}" does not exist: create it'
    wait_until(lambda: sentence in daemon.log(), "the journal")
    wait_until(lambda: sentence in daemon.status(), "the status")
    assert daemon.get("/readyz")[0] == 503 and sentence in daemon.get("/readyz")[1]
    wait_until(lambda: any(line.startswith("EXTEND_TIMEOUT_USEC=") for _, line in daemon.notified()), "more time for the start")
    time.sleep(5)
    assert daemon.running() and daemon.log().count("does not exist") == 1, "once"
    kafka.create_topics([missing])
    daemon.wait_ready(90)
    assert "the wait is over" in daemon.log()
    assert daemon.terminate(timeout=60) == 0


def test_a_right_that_is_granted_while_it_is_waited_for(kafka, topics, permissions, make_daemon):
    made = topics(1)
    settings = {**made.settings(kafka), **sasl(kafka, "users", "SASL_PLAINTEXT", "PLAIN")}
    daemon = make_daemon({"kafka": settings}).start(ready_timeout=None)
    wait_until(lambda: f'no permission on topic "{made.input}"' in daemon.status(), "the right on the input")
    permissions.grant(USER, *((TOPIC, getattr(made, kind), right) for kind in made.KINDS for right in (READ, WRITE)))
    # The address that it is given leads to a broker of another name, which is asked for the group all the same.
    wait_until(lambda: f'READ on group "{made.name}"' in daemon.status(), "the right on the group")
    permissions.grant(USER, (GROUP, made.name, READ))
    wait_until(lambda: f'WRITE on transactional id "{made.name}-1"' in daemon.status(), "the right on the transactional id")
    permissions.grant(USER, (TRANSACTIONAL_ID, f"{made.name}-1", WRITE))
    daemon.wait_ready(90)
    kafka.produce(made.input, [events.encode(events.sure())])
    assert len(kafka.read(made.scored, 1, 60)) == 1
    assert daemon.terminate(timeout=60) == 0


def test_a_stop_ends_the_wait(kafka, topics, make_daemon):
    made = topics(1)
    daemon = make_daemon({"kafka": made.settings(kafka, scored_topic="no-such-topic")}).start(ready_timeout=None)
    wait_until(lambda: "does not exist" in daemon.status(), "the wait")
    assert daemon.terminate(timeout=30) == 0
