"""Logging in to Kafka: every mechanism with all that is right, with each thing that can be wrong, and with what changes while the
daemon runs. One broker with a listener for each."""

import concurrent.futures
import json
import os
import re
import signal
import subprocess
import time

import pytest

import certificates
import events
from daemon import BINARY, Daemon, config_text, free_port
from openmetrics import Metrics
from permissions import GROUP, READ, TOPIC, TRANSACTIONAL_ID, WRITE
from secured import PRINCIPALS, Secured
from token_server import Issuer, TokenServer

UNAVAILABLE, CONFIG = 69, 78
MECHANISMS = list(PRINCIPALS)


def wait_until(condition, what, timeout=90):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {timeout} s"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    if os.environ.get("KAFKA_BOOTSTRAP"):
        pytest.skip("KAFKA_BOOTSTRAP names a broker without our listeners")
    from conftest import required

    made = required(lambda: Secured(tmp_path_factory.mktemp("certificates")))
    yield made
    made.close()


@pytest.fixture(scope="module")
def kafka(secured):
    return secured.kafka


@pytest.fixture(autouse=True)
def usual_tokens(secured):
    yield
    secured.tokens.answer, secured.tokens.lifetime_s = None, 300


def at_once(work, items):
    with concurrent.futures.ThreadPoolExecutor(len(items)) as pool:
        return dict(zip(items, pool.map(work, items)))


def run(file, *command, text=None, status=0):
    done = subprocess.run([BINARY, *command, "--config", str(file)], input=text, capture_output=True, text=True, timeout=120,
                          check=False, **({} if text else {"stdin": subprocess.DEVNULL}))
    assert done.returncode == status, done
    return done.stdout


def test_every_mechanism_from_check_to_show(secured, topics, make_daemon, tmp_path):
    """Check, daemon and commands, all by the same settings."""
    made = {mechanism: topics(1) for mechanism in MECHANISMS}

    def through(mechanism):
        secured.grant(PRINCIPALS[mechanism], made[mechanism])
        config = {"kafka": {**made[mechanism].settings(secured.kafka), **secured.right(mechanism)}}
        file = tmp_path / f"{mechanism}.conf"
        file.write_text(config_text(config))
        said = run(file, "check")
        assert "ok      kafka permissions" in said and "error" not in said, said
        if mechanism == "OAUTHBEARER":
            assert re.search(r'note    kafka token: lives (300|2[0-9][0-9]) s, subject "assayd-svc", audience "kafka", scope "kafka"', said), said
        daemon = make_daemon(config).start()
        event = events.sure()
        run(file, "produce", text=events.encode_json(event).decode() + "\n")
        assert secured.kafka.read(made[mechanism].scored, 1, 90)[0].key().decode() == event["event_id"]
        shown = run(file, "show", event["event_id"], "--json")
        assert event["event_id"] in shown
        tailed = run(file, "tail", "--since", "1h", "--once", "--json")
        assert json.loads(tailed.splitlines()[0])["event_id"] == event["event_id"]
        run(file, "redrive", "--dry-run")
        assert daemon.terminate(timeout=60) == 0

    at_once(through, MECHANISMS)


# ---- what can be wrong ----

def mistakes(secured):
    """Name → settings, what has to be said of the reason, and behind it of the mend."""
    folder, tokens = secured.folder, secured.tokens
    certificates.sign(folder, "stranger", "assayd", authority="other_ca")
    stranger = TokenServer(Issuer(folder, "strange-issuer"), folder / "server.pem")

    def answering(server=None, **attributes):
        """A token server of its own that answers so."""
        made = server or TokenServer(secured.issuer, folder / "server.pem")
        for name, value in attributes.items():
            setattr(made, name, value)
        return secured.token(made)

    def odd(**changes):
        return answering(answer=(200, lambda: tokens.success(tokens.token(), **changes)))

    return {
        **{f"{mechanism}, password": (secured.password(mechanism, "wrong"), said, "mend sasl.username and sasl.password")
           for mechanism, said in (("PLAIN", "Invalid username or password"), ("SCRAM-SHA-256", "invalid credentials"),
                                   ("SCRAM-SHA-512", "invalid credentials"))},
        **{f"{mechanism} where there is {enabled}": (settings, f"supported mechanisms: {enabled}", "set sasl.mechanism")
           for mechanism, enabled, settings in (
               ("PLAIN", "SCRAM-SHA-512", secured.password("PLAIN", listener="scram512")),
               ("SCRAM-SHA-256", "PLAIN", secured.password("SCRAM-SHA-256", listener="plain")),
               ("OAUTHBEARER", "PLAIN", secured.token(listener="plain")))},
        "no certificate": (secured.tls("mtls"), "SSL alert number", "the broker wants a certificate of ours"),
        "certificate of another authority": (secured.certificate("stranger"), "SSL alert number",
                                             "the broker does not trust our certificate"),
        "expired certificate of the broker": (secured.tls("expired"), "certificate has expired",
                                              "have the broker's certificate, or its authority's, renewed"),
        "certificate for another host": (secured.tls("elsewhere"), "hostname mismatch", "kafka.bootstrap_servers"),
        "login where there is none": (secured.password("PLAIN", listener="tls"), "SASL", "security.protocol"),
        "no login where there has to be one": (secured.tls("plain"), "might require SASL", "security.protocol"),
        "client's secret": (secured.token(secret="another", file="wrong-secret"), "HTTP 401, invalid_client: the client is not known",
                            "mend kafka.oauth.client_id or the secret"),
        "token server away": (secured.token(token_url=f"https://localhost:{free_port()}/token"), "Failed to connect to localhost",
                              "start the server, or mend kafka.oauth.token_url"),
        "token server's name": (secured.token(token_url="https://no-such-host.invalid/token"), "Could not resolve host",
                                "mend the name in kafka.oauth.token_url"),
        "token server's authority": (secured.token(ca_file=f"{folder}/other_ca.pem"), "unable to get local issuer certificate",
                                     "set kafka.oauth.ca_file"),
        "token server's host name": (secured.token(token_url=tokens.url.replace("localhost", "127.0.0.1")),
                                     "certificate subject name", "write the name that its certificate is for"),
        "http for https": (secured.token(token_url=tokens.url.replace("https", "http")), "no token from http://", "kafka.oauth.token_url"),
        "scope refused": (answering(answer=(400, b'{"error": "invalid_scope"}')), "invalid_scope", "mend kafka.oauth.scope"),
        "grant refused": (answering(answer=(400, b'{"error": "unauthorized_client", "error_description": "no \\u001b[2J grant"}')),
                          "unauthorized_client", "let this client use the grant"),
        "token server refuses": (answering(answer=(503, b"away")), "HTTP 503", "it is asked again"),
        "no such endpoint": (answering(answer=(404, b"<html>")), "HTTP 404", "mend kafka.oauth.token_url"),
        "a page": (answering(answer=(200, b"<html>welcome</html>")), "is no JSON object", "kafka.oauth.token_url"),
        "no token": (answering(answer=(200, b"{}")), "no access_token", "kafka.oauth.token_url"),
        "a token of lines": (odd(access_token="a\r\nb"), "characters that no bearer token has", "kafka.oauth.token_url"),
        "too much": (answering(answer=(200, b" " * 100_000 + b"{}")), "larger than allowed", "kafka.oauth.token_url"),
        "a lifetime below nothing": (odd(expires_in=-5), "less than a second", "kafka.oauth.token_url"),
        "a lifetime that is none": (odd(expires_in={"s": 3}), "no number of seconds", "kafka.oauth.token_url"),
        "another kind of token": (odd(token_type="mac"), "token_type is not Bearer", "kafka.oauth.token_url"),
        "token for others": (answering(claims={"sub": "assayd-svc", "aud": "others"}), 'invalid_token', "audience"),
        "expired token": (odd(access_token=tokens.token(exp=int(time.time()) - 600)), "invalid_token", "the broker does not take the token"),
        "token of another issuer": (secured.token(stranger), "invalid_token", "the broker does not take the token"),
    }


def test_check_says_the_reason_and_the_mend(secured, tmp_path):
    table = mistakes(secured)

    def check(name):
        file = tmp_path / f"{abs(hash(name))}.conf"
        file.write_text(config_text({"kafka": table[name][0]}))
        said = run(file, "check", status=UNAVAILABLE)
        assert "s3cret" not in said
        return next(line for line in said.splitlines() if line.startswith("error   kafka"))

    said = at_once(check, list(table))
    wrong = [f"{name}: {said[name]}" for name, (_, reason, mend) in table.items()
             if mend not in said[name].partition(reason)[2] or not said[name].isprintable()]
    assert not wrong, "\n".join(wrong)
    certificates.sign(secured.folder, "expired-client", "assayd", days=-1)
    file = tmp_path / "expired.conf"
    file.write_text(config_text({"kafka": secured.certificate("expired-client")}))
    assert "the certificate has expired; have it renewed" in run(file, "check", status=CONFIG)


def test_run_says_so_too_and_goes_on_once_it_is_mended(secured, topics):
    """What the journal, the status and the readiness page say while it waits."""
    made = {name: topics(1) for name in ("secret", "audience", "password")}
    strict = TokenServer(secured.issuer, secured.folder / "server.pem")
    strict.claims["aud"] = "others"
    cases = {
        "secret": (secured.token(secret="another", file="stale-secret"), "HTTP 401, invalid_client", "assayd-svc"),
        "audience": (secured.token(strict, file="strict-secret"), "invalid_token", "assayd-svc"),
        "password": (secured.password("SCRAM-SHA-512", "wrong", file="stale"), "invalid credentials", "assayd"),
    }
    mend = {
        "secret": lambda: secured.file("stale-secret", secured.tokens.secret),
        "audience": lambda: strict.claims.update(aud="kafka"),
        "password": lambda: secured.file("stale-wrong", "assayd"),
    }
    daemons = {name: Daemon({"kafka": {**made[name].settings(secured.kafka), **settings}}) for name, (settings, _, _) in cases.items()}

    def through(name):
        daemon, (_, reason, principal) = daemons[name], cases[name]
        wait_until(lambda: reason in daemon.log(), f"{name} in the journal")
        wait_until(lambda: reason in daemon.status(), f"{name} in the status")
        status, page = daemon.get("/readyz")
        assert status == 503 and reason in page, f"{name}: {page}"
        secured.grant(principal, made[name])
        mend[name]()
        daemon.wait_ready(90)
        secured.kafka.produce(made[name].input, [events.encode(events.sure())])
        assert len(secured.kafka.read(made[name].scored, 1, 90)) == 1
        if name == "audience":
            assert 'a broker refuses the token, which says of itself: subject "assayd-svc", audience "others"' in daemon.log()
        assert daemon.terminate(timeout=60) == 0

    try:
        for daemon in daemons.values():
            daemon.start(ready_timeout=None)
        at_once(through, list(daemons))
    finally:
        for daemon in daemons.values():
            print(daemon.log_tail())
            daemon.close()
        strict.close()


def test_permissions_that_are_missing_are_named_with_whom_they_are_for(secured, topics, tmp_path):
    """Whoever logs in by a certificate or a token is found out, too."""
    made = topics(1)
    lacks = {"group": (GROUP, made.name, READ), "transactional id": (TRANSACTIONAL_ID, f"{made.name}-1", WRITE),
             "input": (TOPIC, made.input, READ), "scored": (TOPIC, made.scored, WRITE)}

    def check(mechanism):
        file = tmp_path / f"{mechanism}.conf"
        file.write_text(config_text({"kafka": {**made.settings(secured.kafka), **secured.right(mechanism)}}))
        said = run(file, "check", status=UNAVAILABLE)
        line = next(line for line in said.splitlines() if "kafka permissions" in line)
        principal = PRINCIPALS[mechanism]
        quoted = f"'User:{principal}'" if "=" in principal else f"User:{principal}"
        assert f"--allow-principal {quoted}" in line, line
        for kind, (_, name, _) in lacks.items():
            assert name in line, f"{kind}: {line}"

    mechanisms = ("SCRAM-SHA-256", "mTLS", "OAUTHBEARER")
    for mechanism in mechanisms:
        secured.grant(PRINCIPALS[mechanism], made)
        secured.take(PRINCIPALS[mechanism], *lacks.values())
    at_once(check, mechanisms)


# ---- what changes ----

def attention(daemon):
    return [item["code"] for item in json.loads(daemon.get("/status.json")[1])["attention"]]


def test_tokens_that_end_and_secrets_that_change_under_traffic(secured, topics, make_daemon):
    """Brokers close the connections of tokens that have come to their end; meanwhile the client's secret is changed, and for a
    while nobody hands out tokens."""
    made = topics(2)
    secured.grant("assayd-svc", made)
    server = TokenServer(secured.issuer, secured.folder / "server.pem")
    server.lifetime_s = 4
    daemon = make_daemon({"kafka": {**made.settings(secured.kafka), **secured.token(server, file="changing")}}).start()
    sent = []

    def send_until(moment):
        while time.monotonic() < moment:
            batch = [events.sure() for _ in range(10)]
            sent.extend(event["event_id"] for event in batch)
            secured.kafka.produce(made.input, [events.encode(event) for event in batch])
            time.sleep(0.1)

    began, fetched = time.monotonic(), len(server.requests)
    send_until(began + 8)
    server.secret = "another"  # the file follows later
    wait_until(lambda: "invalid_client" in daemon.log(), "the refusal")
    wait_until(lambda: "kafka_token_failing" in attention(daemon), "the status page")
    assert "; the one in use expires in" in daemon.log()
    metrics = Metrics(daemon)
    assert metrics.value("assayd_kafka_token_fetches", outcome="failed") > 0
    send_until(time.monotonic() + 3)
    secured.file("changing", "another")
    send_until(time.monotonic() + 8)
    wait_until(lambda: "tokens for Kafka are fetched again" in daemon.log(), "the journal")
    wait_until(lambda: attention(daemon) == [], "that all is well")
    names = [message.key().decode() for message in secured.kafka.read(made.scored, len(sent), 120, settle=2)]
    assert sorted(names) == sorted(sent), "each once"
    metrics = Metrics(daemon)
    assert metrics.value("assayd_kafka_token_expiry_timestamp_seconds") > time.time() - 5
    good = metrics.value("assayd_kafka_token_fetches", outcome="fetched")
    ends = (time.monotonic() - began) / server.lifetime_s
    assert ends > 4 and good >= ends - 3, f"{good} tokens in {ends} lifetimes"
    assert len(server.requests) - fetched < 6 * ends + 20, "one token is for all clients"
    assert daemon.terminate(timeout=60) == 0
    server.close()


def test_a_certificate_that_is_replaced_is_told_and_in_use_after_a_restart(secured, topics, make_daemon):
    made = topics(1)
    secured.grant("CN=assayd", made)
    certificates.sign(secured.folder, "ending", "assayd", days=3)
    daemon = make_daemon({"kafka": {**made.settings(secured.kafka), **secured.certificate("ending")}}).start()
    assert attention(daemon) == ["kafka_certificate_ends"]
    left_s = Metrics(daemon).value("assayd_kafka_certificate_expiry_timestamp_seconds") - time.time()
    assert 2.9 * 86400 < left_s < 3.1 * 86400
    certificates.sign(secured.folder, "ending", "assayd", days=90)
    daemon.await_log("the file of the Kafka property ssl.certificate.location has changed")
    assert "kafka_restart_needed" in attention(daemon)
    told = daemon.log().count("restart the daemon, a reload does not do it")
    daemon.signal(signal.SIGHUP)
    daemon.await_log("the configuration was loaded again")
    wait_until(lambda: daemon.log().count("restart the daemon, a reload does not do it") > told, "that the reload says so, too")
    secured.kafka.produce(made.input, [events.encode(events.sure())])
    assert daemon.terminate(timeout=60) == 0
    daemon.start()
    assert attention(daemon) == [] and len(secured.kafka.read(made.scored, 1, 60)) == 1
    assert daemon.terminate(timeout=60) == 0
