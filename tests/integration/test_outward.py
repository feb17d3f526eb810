"""What is handed on to receivers outside: advisories to a webhook, evaluation results to an OpenTelemetry collector; and
headers that others understand."""

import base64
import collections
import contextlib
import hashlib
import hmac
import json
import os
import pathlib
import re
import sys
import time
import uuid

import pytest
import yaml

import certificates
import events
import pypi
import schema_registry
import wire
from openmetrics import Metrics, await_metrics
from receiver import Receiver, Reply
from test_cli import assayd, config_file, found  # noqa: F401 (a fixture)

SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "schemas"
DOUBTFUL = "SELECT FROM customers WHERE"  # no SQL


def secret():
    return "whsec_" + base64.b64encode(os.urandom(32)).decode()


def signature(secret_text, request):
    """As whoever receives it computes it, from the text of the specification."""
    key = base64.b64decode(secret_text.removeprefix("whsec_"))
    signed = b".".join((request.headers["webhook-id"].encode(), request.headers["webhook-timestamp"].encode(), request.body))
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


@pytest.fixture
def receiver():
    with contextlib.closing(Receiver()) as server:
        yield server


class Outward:
    """Topics, a receiver and a daemon that has nothing else."""

    def __init__(self, kafka, topics, make_daemon, receiver, folder):
        self.kafka, self.receiver, self._make_daemon = kafka, receiver, make_daemon
        self.topics = topics(partitions=2)
        self.secret_file = folder / "secret"
        self.secret = secret()
        self.secret_file.write_text(self.secret + "\n")

    def config(self, instance=1, **webhook):
        kafka = self.topics.settings(self.kafka, instance_id=f"{self.topics.name}-{instance}")
        return {"kafka": kafka, "advisories": {"max_per_minute": 1000000},
                "webhook": {"url": self.receiver.url, "secret_file": str(self.secret_file), **webhook}}

    def make(self, **changes):
        return self.make_with(self.config(**changes))

    def make_with(self, config):
        return self._make_daemon(config)

    def send(self, count=1, sql=DOUBTFUL, **fields):
        """So many events; their names."""
        sent = [events.event(sql, **fields) for _ in range(count)]
        self.kafka.produce(self.topics.input, [events.message(event) for event in sent])
        return {event["event_id"] for event in sent}

    def advise(self, **fields):
        """An advisory that somebody else has written into the topic, as JSON."""
        datum = {"advisory_id": str(uuid.uuid4()), "kind": "CALIBRATION_DRIFT", "kinds": ["CALIBRATION_DRIFT"],
                 "event_type": "CALIBRATION_DRIFT", "raised_at": events.now_ms(), "summary": "It drifts.",
                 "application": "shop-assistant", **fields}
        self.kafka.produce(self.topics.advisory, [json.dumps(datum).encode()])
        return datum

    def taken(self, count):
        """event_id (or advisory_id) → body of what was taken."""
        bodies = [json.loads(request.body) for request in self.receiver.taken(count)]
        return {body["data"]["event_id"] or body["data"]["advisory_id"]: body for body in bodies}


@pytest.fixture
def outward(kafka, topics, make_daemon, receiver, tmp_path):
    return Outward(kafka, topics, make_daemon, receiver, tmp_path)


def started(outward, **changes):
    """A daemon whose forwarder is where it begins: what is published from now on is sent."""
    daemon = outward.make(**changes).start()
    daemon.await_log("begins with what is published from now on")
    return daemon


def attention(daemon):
    return {item["code"] for item in json.loads(daemon.get("/status.json")[1])["attention"]}


def await_attention(daemon, code):
    deadline = time.monotonic() + 60
    while code not in attention(daemon):
        assert time.monotonic() < deadline, daemon.log_tail()
        time.sleep(0.1)


# ---- the description of topics and headers ----

def resolve(document, node):
    while "$ref" in node:
        reference, node = node["$ref"], document
        for part in reference[2:].split("/"):
            node = node[part]
    return node


def check_headers(document, name, message):
    """Whether the message has the headers that its description has, and no others."""
    schema = resolve(document, document["components"]["messages"][name]["headers"])
    headers = {key: value.decode() for key, value in message.headers() or ()}
    assert set(headers) <= set(schema["properties"]) and set(headers) >= set(schema.get("required", ())), headers
    for key, value in headers.items():
        rule = resolve(document, schema["properties"][key])
        assert value in rule.get("enum", [value]) and rule.get("const", value) == value, (key, value)
        assert re.search(rule.get("pattern", ""), value), (key, value)


def test_messages_are_as_described(outward):
    document = yaml.safe_load((SCHEMAS / "asyncapi.yaml").read_text(encoding="utf-8"))
    outward.make().start()
    good = events.event("SELECT 1 AS one")
    trace = [("traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), ("tracestate", b"a=1")]
    outward.kafka.produce(outward.topics.input, [events.message(good, headers=trace),
                                                 events.message(events.event(DOUBTFUL), headers=trace), b"no event"])
    scored = outward.kafka.read(outward.topics.scored, 2)
    for message in scored:
        check_headers(document, "scored", message)
        assert message.key().decode() == wire.SCORED_QUERY.decode(message.value())["event_id"]
    for message in outward.kafka.read(outward.topics.advisory, 1):
        check_headers(document, "advisory", message)
        assert message.key().decode() == wire.ADVISORY.decode(message.value())["event_id"]
    for message in outward.kafka.read(outward.topics.dead_letter, 1):
        check_headers(document, "deadLetter", message)


# ---- the webhook ----

def test_advisories_arrive_signed(outward):
    history = outward.send(3)
    first = outward.make()
    first.config.pop("webhook")
    first.start()
    outward.kafka.read(outward.topics.advisory, 3)
    first.terminate()
    daemon = started(outward)  # none of the history is sent
    sent = outward.send(2)
    drift = outward.advise()
    hostile = outward.advise(advisory_id="a\r\nInjected: yes")
    outward.kafka.produce(outward.topics.advisory, [b"no advisory"])
    bodies = outward.taken(4)
    assert set(bodies) == sent | {drift["advisory_id"], hostile["advisory_id"]} and not set(bodies) & history
    published = {datum["event_id"]: datum for datum in
                 (wire.ADVISORY.decode(message.value()) for message in outward.kafka.read(outward.topics.advisory, 8)
                  if message.value().startswith(wire.MARKER))}
    assert all(bodies[name]["type"] == "advisory.calibration_drift" for name in set(bodies) - set(published))
    for name in sent:
        datum, body = published[name], bodies[name]
        assert body["type"] == "advisory." + datum["kinds"][0].lower()
        assert body["timestamp"] == datum["raised_at"].strftime("%Y-%m-%dT%H:%M:%S.") + \
            f"{datum['raised_at'].microsecond // 1000:03d}Z"
        assert body["data"]["summary"] == datum["summary"] and body["data"]["kinds"] == datum["kinds"]
    for request in outward.receiver.taken():
        assert request.headers["webhook-signature"] == signature(outward.secret, request)
        assert abs(int(request.headers["webhook-timestamp"]) - time.time()) < 120
        assert request.headers["Content-Type"] == "application/json" and "Injected" not in request.headers
        advisory_id = json.loads(request.body)["data"]["advisory_id"]
        assert request.headers["webhook-id"] == advisory_id or advisory_id == hostile["advisory_id"]
    # a new secret, above the old one, and then alone: without a restart
    fresh = secret()
    for secrets in ([fresh, outward.secret], [fresh]):
        outward.secret_file.write_text("".join(f"{text}\n" for text in secrets))
        count = len(outward.receiver.taken())
        outward.send()
        request = outward.receiver.taken(count + 1)[-1]
        assert request.headers["webhook-signature"].split() == [signature(text, request) for text in secrets]
    metrics = await_metrics(daemon, lambda found: found.value("assayd_receiver_sent", receiver="webhook") == 6)
    assert metrics.value("assayd_receiver_unreadable", receiver="webhook") == 1
    assert metrics.value("assayd_receiver_up", receiver="webhook") == 1
    daemon.terminate()
    # what was taken is not sent again, and what comes meanwhile is
    missed = outward.advise()
    outward.make().start()
    request = outward.receiver.taken(7)[-1]
    assert request.headers["webhook-id"] == missed["advisory_id"]
    outward.advise()
    assert len(outward.receiver.taken(8)) == 8


def test_faults_delay_and_lose_nothing(outward):
    daemon = started(outward, timeout_ms=500)
    outward.receiver.script(Reply(500), Reply(429, {"Retry-After": "3"}), Reply(reset=True),
                            Reply(200, body=b"x" * 100, drip_s=0.1), Reply(302, {"Location": outward.receiver.url}))
    [name] = outward.send()
    await_attention(daemon, "receiver_away")
    later = outward.send(2)
    requests = outward.receiver.requests(8)  # five of the first that failed, and all three
    same = {request.headers["webhook-id"] for request, _ in requests[:6]}
    assert len(same) == 1 and json.loads(requests[0][0].body)["data"]["event_id"] == name
    assert requests[2][0].at - requests[1][0].at >= 3
    for request, _ in requests[:6]:  # each with a time of its own
        assert request.headers["webhook-signature"] == signature(outward.secret, request)
    assert {json.loads(request.body)["data"]["event_id"] for request, _ in requests[6:]} == later
    assert "no answer in time" in daemon.log() and "redirects are not followed" in daemon.log()
    # scoring went on all the time, and it is well again
    outward.kafka.read(outward.topics.scored, 3)
    assert "receiver_away" not in attention(daemon)
    # what is refused for good is given up; of a long answer the status is enough
    outward.receiver.script(Reply(400), Reply(200, body=b"x" * 1_000_000))
    refused = outward.send()
    outward.receiver.requests(9)
    sent = outward.send()
    requests = outward.receiver.requests(10)
    assert [json.loads(request.body)["data"]["event_id"] for request, _ in requests[8:]] == [*refused, *sent]
    metrics = await_metrics(daemon, lambda found: found.value("assayd_receiver_sent", receiver="webhook") == 4)
    assert metrics.value("assayd_receiver_given_up", receiver="webhook") == 1
    assert metrics.value("assayd_receiver_failures", receiver="webhook") >= 4  # curl tries a connection that was kept twice
    # one that is gone is left alone until the next start
    outward.receiver.script(Reply(410))
    gone = outward.send()
    outward.receiver.requests(11)
    await_attention(daemon, "receiver_gone")
    gone |= outward.send()
    outward.kafka.read(outward.topics.scored, 7)
    assert len(outward.receiver.requests()) == 11
    daemon.terminate()
    outward.make().start()
    requests = outward.receiver.requests(13)
    assert {json.loads(request.body)["data"]["event_id"] for request, _ in requests[11:]} == gone


def test_a_receiver_that_is_away_is_told_later(outward):
    daemon = started(outward)
    outward.receiver.halt()
    sent = outward.send(30)
    await_attention(daemon, "receiver_away")
    outward.kafka.read(outward.topics.scored, 30)  # whoever is away, scoring goes on
    daemon.kill()
    second = outward.make()
    second.start()
    await_attention(second, "receiver_away")
    outward.receiver.resume()
    assert set(outward.taken(30)) >= sent
    # a stop ends a request at once
    outward.receiver.script(Reply(delay_s=20))
    outward.send()
    outward.receiver.requests(len(outward.receiver.requests()) + 1)
    before = time.monotonic()
    second.terminate()
    assert time.monotonic() - before < 15


def test_instances_share_the_topic(outward):
    first = started(outward)
    second = outward.make(instance=2).start()
    second.await_log("the advisory webhook: assigned 1 partitions")
    sent = outward.send(40)
    assert set(outward.taken(40)) == sent
    deadline = time.monotonic() + 60  # until both have heard of their last answers: what is ended before that is sent again
    while sum(Metrics(daemon).value("assayd_receiver_sent", receiver="webhook") for daemon in (first, second)) < 40:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    first.terminate()
    more = outward.send(20)
    assert set(outward.taken(60)) == sent | more
    assert len(outward.receiver.taken()) == 60  # none twice: both went in order


def test_what_no_registry_explains_yet_waits(outward):
    """A message whose schema nobody gives just now is not passed by, and what comes before it is sent; one whose schema is not
    to be had is, which is told."""
    registry = schema_registry.ScriptedRegistry(lambda handler: handler.say(404, {"error_code": 40403, "message": "Schema 8 not found"}))
    config = {**outward.config(), "registry": {"urls": (registry.url,)}, "otlp": {"endpoint": outward.receiver.base}}
    daemon = outward.make_with(config).start()
    daemon.await_log("begins with what is published from now on", count=2)
    outward.kafka.produce(outward.topics.advisory, [{"value": b"\0\0\0\0\x08rest", "partition": number} for number in (0, 1)])
    first = outward.advise()
    assert set(outward.taken(1)) == {first["advisory_id"]}
    metrics = await_metrics(daemon, lambda found: found.value("assayd_receiver_unreadable", receiver="webhook") == 2)
    assert metrics.value("assayd_receiver_up", receiver="webhook") == 1
    assert re.search(r"the advisory webhook passes by partition \d of .*, offset 0, which cannot be read: schema 8 of the schema registry is not "
                     r"to be had: .*\(and 0 before it\)", daemon.log()), daemon.log_tail()
    registry.close()
    outward.kafka.produce(outward.topics.advisory, [{"value": b"\0\0\0\0\7rest", "partition": number} for number in (0, 1)])
    await_attention(daemon, "receiver_away")
    assert "the advisory webhook waits, and nothing else does: the schema registry has not given schema 7 yet: " in daemon.log()
    outward.send()
    outward.kafka.read(outward.topics.scored, 1)  # scoring does not wait, nor does the other forwarder
    assert [request.path for request in outward.receiver.taken(2)] == ["/hook", "/v1/logs"]
    metrics = await_metrics(daemon, lambda found: found.value("assayd_receiver_sent", receiver="otlp") == 1)
    assert metrics.value("assayd_receiver_unreadable", receiver="webhook") == 2
    assert metrics.value("assayd_receiver_up", receiver="webhook") == 0
    assert metrics.value("assayd_receiver_up", receiver="otlp") == 1


def test_selected_kinds_and_levels(outward):
    daemon = started(outward, kinds=("CALIBRATION_DRIFT", "UNSAFE_QUERY"), levels=("VERY_LOW_CONFIDENCE",))
    outward.send(2)
    unsafe = outward.send(sql="DELETE FROM customers")
    drift = outward.advise()
    assert set(outward.taken(2)) == {*unsafe, drift["advisory_id"]}
    await_metrics(daemon, lambda found: found.value("assayd_receiver_passed", receiver="webhook") == 2)


def test_check_says_what_is_wrong(outward, config_file):  # noqa: F811
    def check(*more, **webhook):
        return assayd("check", *more, "--config", config_file(outward.config(**webhook)))

    assert "webhook" in found(check(), "ok")
    outward.secret_file.write_text("swordfish\n")
    done = check("--offline")
    assert any("webhook.secret_file" in line and "openssl rand" in line for line in found(done, "error")), done.stdout
    assert "swordfish" not in done.stdout + done.stderr
    outward.secret_file.write_text(outward.secret)
    done = check("--offline", url="ftp://example.org/")
    assert "webhook.url: an address begins with http:// or https://" in done.stdout + done.stderr
    done = check("--offline", ca_file="/nowhere.pem")
    assert any("webhook.ca_file: /nowhere.pem" in line for line in found(done, "error")), done.stdout
    outward.receiver.halt()
    done = check()
    outward.receiver.resume()
    assert any("webhook.url: the receiver cannot be reached" in line and "; nothing listens there: start the receiver" in line
               for line in found(done, "error")), done.stdout


def test_certificates_are_verified(kafka, topics, make_daemon, config_file, tmp_path):  # noqa: F811
    folder = certificates.make(tmp_path)
    with contextlib.closing(Receiver(folder / "server.pem")) as receiver:
        outward = Outward(kafka, topics, make_daemon, receiver, tmp_path)
        done = assayd("check", "--config", config_file(outward.config(ca_file=str(folder / "other_ca.pem"))))
        assert any("webhook.url" in line and "certificate" in line for line in found(done, "error")), done.stdout
        daemon = started(outward, ca_file=str(folder / "other_ca.pem"))
        [name] = outward.send()
        await_attention(daemon, "receiver_away")
        daemon.terminate()
        assert receiver.requests() == []
        outward.make(ca_file=str(folder / "ca.pem")).start()
        assert set(outward.taken(1)) == {name}


# ---- OpenTelemetry ----

@pytest.fixture(scope="session")
def libraries():
    """What PyPI has and Debian has not; skipped by name where it cannot be fetched."""
    try:
        folder = str(pypi.fetch())
    except pypi.Unavailable as reason:
        pytest.skip(str(reason))
    sys.path.insert(0, folder)
    for name in [name for name in sys.modules if name.split(".")[0] in ("google", "opentelemetry", "cloudevents")]:
        del sys.modules[name]
    yield folder
    sys.path.remove(folder)


def log_records(body):
    """The log records of a request, by OpenTelemetry's own definition of it: {name of the evaluation: [record]}."""
    from google.protobuf import json_format  # pylint: disable=import-outside-toplevel
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest  # noqa: PLC0415

    request = json.loads(body)
    for scope in request["resourceLogs"][0]["scopeLogs"]:
        for record in scope["logRecords"]:  # OTLP has ids in hexadecimal, other JSON of protobuf has bytes in base 64
            for key in {"traceId", "spanId"} & set(record):
                record[key] = base64.b64encode(bytes.fromhex(record[key])).decode()
    parsed = json_format.Parse(json.dumps(request), ExportLogsServiceRequest())
    [resource] = parsed.resource_logs
    assert attributes(resource.resource)["service.name"] == "assayd"
    found = collections.defaultdict(list)
    for record in resource.scope_logs[0].log_records:
        assert record.event_name == "gen_ai.evaluation.result" and record.time_unix_nano > 1.7e18
        found[attributes(record)["gen_ai.evaluation.name"]].append(record)
    return found


def attributes(of):
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in of.attributes}


def test_evaluation_results_are_exported(outward, libraries, tmp_path):
    token = tmp_path / "token"
    token.write_text("Bearer one\n")
    config = outward.config()
    del config["webhook"]
    config["otlp"] = {"endpoint": outward.receiver.base, "authorization_file": str(token), "max_records": 10, "linger_ms": 200,
                      "timeout_ms": 500}
    daemon = outward.make_with(config).start()
    daemon.await_log("the export of evaluation results begins")
    trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    event = events.sure("SELECT 1 AS one", attributes={"gen_ai.response.id": "chatcmpl-7"})
    outward.kafka.produce(outward.topics.input,
                          [events.message(event, headers=[("traceparent", f"00-{trace}-{span}-01".encode())])])
    [request] = outward.receiver.taken(1)
    assert request.path == "/v1/logs" and request.headers["Authorization"] == "Bearer one"
    [record] = log_records(request.body)["confidence"]
    assert record.trace_id.hex() == trace and record.span_id.hex() == span and record.flags == 1
    [scored] = [wire.SCORED_QUERY.decode(message.value()) for message in outward.kafka.read(outward.topics.scored, 1)]
    found = attributes(record)
    assert found["gen_ai.evaluation.score.value"] == scored["confidence"]["overall"]
    assert found["gen_ai.evaluation.score.label"] == scored["confidence"]["level"]
    assert found["gen_ai.evaluation.explanation"] == scored["disposition"]["reasons"][0]["text"]
    assert found["gen_ai.response.id"] == "chatcmpl-7" and found["assayd.event_id"] == event["event_id"]
    # a collector that is away, is slow, takes a part and refuses: nothing is lost but what it refuses
    partial = json.dumps({"partialSuccess": {"rejectedLogRecords": "2", "errorMessage": "no"}}).encode()
    outward.receiver.script(Reply(503, {"Retry-After": "1"}), Reply(200, body=b"{}  ", drip_s=0.5), Reply(200, body=partial))
    token.write_text("Bearer two\n")
    sent = outward.send(25, "SELECT 1 AS one")
    outward.kafka.read(outward.topics.scored, 26)
    deadline, told = time.monotonic() + 60, set()
    while told != sent and time.monotonic() < deadline:
        time.sleep(0.1)
        told = {attributes(record)["assayd.event_id"] for request in outward.receiver.taken()[1:]
                for record in log_records(request.body)["confidence"]}
        assert all(len(log_records(request.body)["confidence"]) <= 10 for request in outward.receiver.taken())
    assert told == sent
    assert outward.receiver.taken()[-1].headers["Authorization"] == "Bearer two"
    metrics = await_metrics(daemon, lambda found: found.value("assayd_receiver_given_up", receiver="otlp") == 2)
    assert metrics.value("assayd_receiver_failures", receiver="otlp") >= 2
    outward.receiver.script(Reply(400))
    outward.send(1, "SELECT 1 AS one")
    await_metrics(daemon, lambda found: found.value("assayd_receiver_given_up", receiver="otlp") == 3)
    assert attention(daemon) == set()


def test_check_asks_the_collector(outward, config_file):  # noqa: F811
    def check(*more, **otlp):
        config = {**outward.config(), "otlp": {"endpoint": outward.receiver.base, **otlp}}
        return assayd("check", *more, "--config", config_file(config))

    assert "otlp" in found(check(), "ok")
    assert json.loads(outward.receiver.requests()[-1][0].body)["resourceLogs"][0]["scopeLogs"][0]["logRecords"] == []
    outward.receiver.script(Reply(401))
    assert any("otlp.endpoint" in line and "401; check the secret" in line for line in found(check(), "error"))
    done = check("--offline", endpoint=outward.receiver.base + "/v1/logs")
    assert "otlp.endpoint: the address ends with /v1/logs" in done.stdout + done.stderr


# ---- CloudEvents ----

def cloud_event(message):
    """The message as CloudEvents' own SDK reads it."""
    from cloudevents.core.bindings.kafka import KafkaMessage, from_binary  # pylint: disable=import-outside-toplevel
    from cloudevents.core.formats.json import JSONFormat  # noqa: PLC0415

    return from_binary(KafkaMessage(dict(message.headers()), message.key(), message.value()), JSONFormat())


def conclusions(record):
    return {part: record[part] for part in ("input", "disposition", "confidence", "safety", "structure", "rules")}


def test_outputs_are_cloud_events(outward, libraries):
    document = yaml.safe_load((SCHEMAS / "asyncapi.yaml").read_text(encoding="utf-8"))
    event = events.event(DOUBTFUL)
    config = outward.config()
    del config["webhook"]
    for number, changes in enumerate(({}, {"cloud_events": True}, {"cloud_events": True, "wire_format": "json"}), 1):
        config["kafka"] = {**config["kafka"], **changes}
        daemon = outward.make_with(config).start()
        outward.kafka.produce(outward.topics.input, [{**events.message(event), "partition": 0}])
        outward.kafka.read(outward.topics.advisory, number)
        daemon.terminate()
    scored, advisories = (sorted(outward.kafka.read(topic, 3), key=lambda message: (message.partition(), message.offset()))
                          for topic in (outward.topics.scored, outward.topics.advisory))
    for name, messages, kind in (("scored", scored, "ScoredQuery"), ("advisory", advisories, "Advisory")):
        assert not any(key.startswith("ce_") for key, _ in messages[0].headers() or ())
        for number, message in enumerate(messages[1:], 1):
            check_headers(document, name, message)
            found = cloud_event(message)
            assert found.get_type() == f"io.assayd.{kind}" and found.get_source() == f"/{message.topic()}"
            assert found.get_id() == f"{outward.topics.input}-0-{number}" and found.get_subject() == event["event_id"]
            assert abs(found.get_time().timestamp() - time.time()) < 600
    plain, avro, as_json = scored
    assert cloud_event(avro).get_datacontenttype() == "application/vnd.apache.avro"
    assert cloud_event(avro).get_data() == avro.value()  # nothing of it is wrapped or changed
    first, second = (wire.SCORED_QUERY.decode(message.value()) for message in (plain, avro))
    assert conclusions(first) == conclusions(second)
    assert cloud_event(as_json).get_datacontenttype() == "application/json"
    assert cloud_event(as_json).get_data() == json.loads(as_json.value())
