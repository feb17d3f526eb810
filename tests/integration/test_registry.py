"""Events in Confluent's framing, with a real schema registry and Confluent's own serializer, and registries that misbehave."""

import base64
import concurrent.futures
import json
import pathlib
import re
import struct
import subprocess
import time
import urllib.parse
import uuid

import pytest

import certificates
import conftest
import events
import lying_registry
import other_clients
import schema_registry
from daemon import BINARY, free_port
from network import Link
from servers import headers_of

FRAME = struct.Struct(">bI")
SCORED_QUERY, QUERY_FEEDBACK = (schema_registry.SCHEMAS / f"{name}.avsc" for name in ("scored_query", "query_feedback"))
EVENTS = "SELECT count(*)::int, count(DISTINCT event_key)::int FROM calibration_events"
FEEDBACK = """SELECT coalesce(sum(cases), 0)::int, coalesce(sum(weight_correct), 0)::int FROM calibration_rollups
              WHERE width_s = 3600 AND label_source = 'FEEDBACK'"""


def wait_for(what, text):
    deadline = time.monotonic() + 120
    while text not in (said := what()):
        assert time.monotonic() < deadline, f"no {text!r} in {said}"
        time.sleep(0.1)
    return said


def wait_for_status(daemon, text):
    return wait_for(daemon.status, text)


def wait_for_metric(daemon, line):
    return wait_for(lambda: daemon.get("/metrics")[1], line)


@pytest.fixture(scope="session")
def registry():
    server = conftest.required(schema_registry.Registry)
    yield server
    server.stop()


@pytest.fixture
def rig(kafka, topics, make_daemon):
    """No databases, no judge: events in, records out."""
    return conftest.Rig(kafka, topics, None, None, None, None, make_daemon)


def start(rig, url, partitions=1, **settings):
    urls = (url,) if isinstance(url, str) else url
    config = {"kafka": (topics := rig._make_topics(partitions)).settings(rig.kafka),
              "registry": {"urls": urls, **settings}, "pipeline": {"workers": 2}}
    rig.topics = topics
    return rig.make(config).start()


def registry_of(daemon):
    """What /status.json says of it."""
    return json.loads(daemon.get("/status.json")[1])["registry"]


def ids_of(records):
    return sorted(str(record["event_id"]) for _, record in records)


def framed(schema_id, event):
    return {"value": FRAME.pack(0, schema_id) + events.encode(event)[10:]}


def test_confluents_serializer_is_read(rig, registry):
    sent = [events.sure() for _ in range(20)]
    start(rig, registry.url)
    rig.send(registry.encode(rig.topics.input, sent))
    assert ids_of(rig.scored(20)) == sorted(event["event_id"] for event in sent)
    assert not rig.dead_letters()


def test_references_are_resolved(rig, registry):
    """The record of a chunk lies under a subject of its own."""
    schema = json.loads(schema_registry.GENERATED_QUERY.read_text())

    def cut(node, name):
        """Replaces the definition of a type by its name, and returns it."""
        children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, child in list(children):
            if isinstance(child, dict) and child.get("name") == name and "fields" in child:
                node[key] = name
                return child
            if found := cut(child, name):
                return found
        return None

    chunk = cut(schema, "RetrievedChunk")
    space = schema["namespace"]
    registry.register("chunk", {**chunk, "namespace": chunk.get("namespace", space)})
    schema_id = registry.register("whole", schema, [{"name": f"{space}.{chunk['name']}", "subject": "chunk", "version": 1}])
    start(rig, registry.url)
    sent = events.sure()
    rig.send([framed(schema_id, sent)])
    assert ids_of(rig.scored(1)) == [sent["event_id"]]


def test_what_cannot_be_read_says_so(rig, registry):
    start(rig, registry.url)
    foreign = registry.register("foreign", {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]})
    rig.send([framed(foreign, events.sure()), framed(99999, events.sure()), {"value": b"x", "headers": [("__value_schema_id", b"no")]}])
    letters = {headers_of(letter)["reason"].decode(): headers_of(letter)["detail"].decode() for letter in rig.dead_letters(3)}
    assert "event_id" in letters["incompatible_schema"]
    assert "schema 99999" in letters["unknown_schema"] and "redrive" in letters["unknown_schema"]
    assert "__value_schema_id" in letters["unknown_framing"]


def edition(schema, number):
    """That schema with one field more, of which a record takes no byte: another schema to a registry, which may overlook `doc`."""
    return {**schema, "fields": [*schema["fields"], {"name": f"edition_{time.time_ns()}_{number}", "type": "null", "default": None}]}


def test_an_outage_holds_up_nobody_else(rig, registry):
    """Events of unknown schemas wait, in the same partition as those of known ones; all are scored in the end, and after
    a restart in a second outage those schemas are known."""
    link = Link(int(registry.url.split(":")[2].split("/")[0]))
    url = registry.url.replace(f":{link.target}/", f":{link.port}/")
    schema = json.loads(schema_registry.GENERATED_QUERY.read_text())
    ids = [registry.register("input-value", edition(schema, n)) for n in range(5)]
    assert len(set(ids)) == 5
    daemon = start(rig, url)
    assert registry_of(daemon)["up"] and not registry_of(daemon)["since_ms"]
    link.refuse()
    waiting, others = [events.sure() for _ in range(20)], [events.sure() for _ in range(20)]
    rig.send([message for n in range(20) for message in (framed(ids[n % 5], waiting[n]), events.message(others[n]))])
    assert ids_of(rig.scored(20)) == sorted(event["event_id"] for event in others)
    wait_for_status(daemon, "schema registry cannot be asked, and 20 events wait")
    away = json.loads(wait_for(lambda: json.dumps(registry_of(daemon)), '"waiting": 20'))
    assert not away["up"] and "onnect to" in away["reason"] and away["schemas"] == 0
    assert re.search("Schema registry</h2>.*away</span>, since <time .*onnect to .*events that wait</dt><dd>20<", daemon.get("/status")[1])
    link.accept()
    assert ids_of(rig.scored(40)) == sorted(event["event_id"] for event in waiting + others)
    back = json.loads(wait_for(lambda: json.dumps(registry_of(daemon)), f'"schemas": {len(ids)}'))
    assert back["up"] and not back["reason"] and back["waiting"] == 0
    assert away["since_ms"] < back["since_ms"]
    daemon.terminate()
    link.refuse()
    daemon.start()
    again = events.sure()
    rig.send([framed(ids[4], again)])
    assert again["event_id"] in ids_of(rig.scored(41))
    assert not rig.dead_letters()
    link.close()


def test_a_stop_leaves_what_waits_to_the_next_start(rig, registry):
    schema_id = registry.register("late", schema_registry.GENERATED_QUERY.read_text())
    silent = schema_registry.ScriptedRegistry(lambda handler: time.sleep(60))
    daemon = start(rig, silent.url)
    sent = [events.sure() for _ in range(3)]
    rig.send([framed(schema_id, event) for event in sent])
    wait_for_metric(daemon, 'assayd_events_at_step{step="parked"} 3')
    began = time.monotonic()
    daemon.terminate()
    assert time.monotonic() - began < 15  # not what a drain may take
    silent.close()
    daemon.config["registry"]["urls"] = (registry.url,)
    daemon.start()
    assert ids_of(rig.scored(3)) == sorted(event["event_id"] for event in sent)


def test_limits_of_waiting(rig, registry):
    """Too many, and too long, are dead letters that redrive brings back."""
    schema_id = registry.register("late", schema_registry.GENERATED_QUERY.read_text())
    unwilling = schema_registry.ScriptedRegistry(lambda handler: handler.say(503, {"error_code": 50001, "message": "not now"}))
    start(rig, unwilling.url, max_waiting_events=2, wait_ms=3000)
    sent = [events.sure() for _ in range(5)]
    rig.send([framed(schema_id, event) for event in sent])
    letters = [headers_of(letter) for letter in rig.dead_letters(5)]
    assert {letter["reason"] for letter in letters} == {b"schema_unavailable"}
    details = sorted(letter["detail"].decode() for letter in letters)
    assert sum("max_waiting_events" in detail for detail in details) == 3
    assert sum("wait_ms" in detail and "not now" in detail for detail in details) == 2
    unwilling.close()


def test_a_first_answer_is_waited_for_beyond_the_limits(rig, registry):
    """A backlog whose only schema nobody has asked for yet loses nothing to the limits of waiting."""
    schema = schema_registry.GENERATED_QUERY.read_text()
    slow = schema_registry.ScriptedRegistry(lambda handler: (time.sleep(1), handler.say(200, {"schema": schema})))
    start(rig, slow.url, max_waiting_events=2)
    template = events.Template(events.sure())
    made = [template.message() for _ in range(1500)]
    rig.send([{**message, "value": FRAME.pack(0, 1) + message["value"][10:], "partition": 0} for _, message in made])
    assert ids_of(rig.scored(1500)) == sorted(event_id for event_id, _ in made)
    assert not rig.dead_letters()
    slow.close()


def test_lies_cost_what_needs_them(rig):
    """A part of the table of lies; tests/long/lies has it all. What names the honest one, and what names none, is scored meanwhile."""
    kinds = ["ten megabytes", "elsewhere", "a byte a second", "half", "a page", "bytes", "keys twice", "other fields", "backwards", "a cycle",
             "depth", "symbols"]
    lying = lying_registry.LyingRegistry(kinds)
    start(rig, lying.url, wait_ms=4000, timeout_ms=1000)
    sent = [events.sure() for _ in [*kinds, "honest"]]
    plain = [events.sure() for _ in kinds]
    rig.send([framed(n, event) for n, event in enumerate(sent)] + [events.message(event) for event in plain])
    assert ids_of(rig.scored(len(kinds) + 1)) == sorted(event["event_id"] for event in [sent[-1], *plain])
    letters = {FRAME.unpack_from(letter.value())[1]: headers_of(letter) for letter in rig.dead_letters(len(kinds))}
    assert not [text for n, kind in enumerate(kinds) if (text := lying_registry.difference(kind, n, letters[n]))]
    assert not lying.elsewhere.asked
    lying.close()


def test_slow_schemas_hold_up_no_others(rig):
    """More of them than are asked for at a time, each for 5 s, and at an address behind one that does not answer at all."""
    lying = lying_registry.LyingRegistry(["silence"] * 100)
    silent = schema_registry.ScriptedRegistry(lambda handler: time.sleep(60))
    start(rig, (silent.url, lying.url))
    sent = [events.sure() for _ in range(120)]
    rig.send([framed(n, event) for n, event in enumerate(sent)])
    began = time.monotonic()
    assert ids_of(rig.scored(20)) == sorted(event["event_id"] for event in sent[100:])
    assert time.monotonic() - began < 20  # mostly 1; eight at a time, each for 10 s, would be two minutes
    silent.close()
    lying.close()


def test_who_we_are_and_where_else_to_ask(rig, registry, tmp_path):
    """Basic authentication, with a password that is changed in its file; and the next address when one does not answer."""
    wanted = ["first"]

    def guarded(handler):
        if handler.headers.get("Authorization") != basic(wanted[0]):
            handler.say(401, {"error_code": 40101, "message": "Unauthorized"})
        else:
            handler.say(200, {"schema": lying_registry.EVENT})

    server = schema_registry.ScriptedRegistry(guarded)
    password = tmp_path / "password"
    password.write_text("first\n")
    daemon = start(rig, ("http://127.0.0.1:1", server.url), user="assayd", password_file=str(password))
    sent = [events.sure() for _ in range(2)]
    rig.send([framed(1, sent[0])])
    rig.scored(1)
    wanted[0] = "second"
    rig.send([framed(2, sent[1])])
    assert "registry.user" in wait_for_status(daemon, "HTTP 401")
    password.write_text("second\n")
    assert ids_of(rig.scored(2)) == sorted(event["event_id"] for event in sent)
    server.close()


def command(daemon, *arguments, stdin=""):
    done = subprocess.run([BINARY, *arguments, "--config", daemon.config_file], input=stdin, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def basic(password):
    return "Basic " + base64.b64encode(f"assayd:{password}".encode()).decode()


# ---- who the registry is, and who we are ----

# With TLS 1.3 the server's alert may come, or only the end of the connection.
REFUSED = r"alert certificate required|alert unknown ca|Broken pipe|reset by peer|not connected|SYSCALL"

# name: the front, the settings with files or secrets that are wrong, what is said of the reason and behind it of the mend, what is right
WRONG = {
    "authority": ({}, {"ca_file": "other_ca.pem"}, "SSL certificate problem", "set registry.ca_file", {"ca_file": "ca.pem"}),
    "expired": ({"name": "expired"}, {}, "certificate has expired", "have the registry's certificate renewed", {}),
    "host": ({"name": "elsewhere"}, {}, "subject name", "write the name that its certificate is for in registry.urls", {}),
    "no certificate": ({"clients": "ca.pem"}, {}, REFUSED, "registry.certificate_file",
                       {"certificate_file": "client.crt", "key_file": "client.key"}),
    "certificate": ({"clients": "ca.pem"}, {"certificate_file": "stranger.crt", "key_file": "stranger.key"}, REFUSED,
                    "registry.certificate_file", {"certificate_file": "client.crt", "key_file": "client.key"}),
    "locked key": ({"clients": "ca.pem"}, {"certificate_file": "client.crt", "key_file": "locked.key"}, "registry.key_file: .*the key is encrypted",
                   "write it unencrypted", {"key_file": "client.key"}),
    "token": ({"authorization": "Bearer right"}, {"token_file": b"wrong"}, "HTTP 401, Unauthorized", "token_file", {"token_file": b"right"}),
    "password": ({"authorization": basic("right")}, {"user": "assayd", "password_file": b"wrong"}, "HTTP 401, Unauthorized", "password_file",
                 {"password_file": b"right"}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = certificates.make(tmp_path_factory.mktemp("certificates"))
    for name, subject, days, authority in (("expired", "localhost", -1, "ca"), ("elsewhere", "elsewhere.test", 30, "ca"),
                                           ("stranger", "assayd", 30, "other_ca")):
        certificates.sign(made, name, subject, days, authority)
        certificates.together(made, name)
    certificates.lock(made, "client", "open")
    return made


def placed(settings, source, place):
    """The settings, with what the files among them name, or their secrets, in files of that place."""
    place.mkdir(exist_ok=True)
    for name, value in settings.items():
        if name.endswith("_file"):
            (place / "fresh").write_bytes(value if isinstance(value, bytes) else (source / value).read_bytes())
            (place / "fresh").rename(place / name)
    return {name: str(place / name) if name.endswith("_file") else value for name, value in settings.items()}


def test_what_is_wrong_with_tls_and_logins_is_told_and_mended(registry, kafka, topics, make_daemon, folder, tmp_path):
    """By the check, the journal and the status. What needs the registry waits until files are replaced, which takes no restart;
    what does not is scored."""
    schema_id = registry.register("secured", schema_registry.GENERATED_QUERY.read_text())

    def through(name):
        front, wrong, reason, mend, right = WRONG[name]
        server = schema_registry.SecureFront(registry, folder, **front)
        settings = placed({"ca_file": "ca.pem", **wrong}, folder, tmp_path / name)
        daemon = make_daemon({"kafka": (made := topics(1)).settings(kafka), "registry": {"urls": (server.url,), **settings}})
        daemon.start()
        waiting, other = events.sure(), events.sure()
        kafka.produce(made.input, [framed(schema_id, waiting), events.message(other)])
        assert kafka.read(made.scored, 1)[0].key().decode() == other["event_id"]
        told = re.compile(f"({reason}).*{mend}")
        wait_for(lambda: "told" if told.search(daemon.status()) else daemon.status(), "told")
        status, said = command(daemon, "check")
        seen = name == "locked key"  # in the file itself
        [line] = [line for line in said.splitlines() if line.startswith(f"error   schema registry {'files' if seen else server.url}")]
        assert status == (78 if seen else 69) and told.search(line) and ("ok      schema registry files" in said) != seen, said
        [line] = [line for line in daemon.log().splitlines() if "the schema registry cannot be asked" in line]
        assert told.search(line) and "wrong" not in line.replace(str(tmp_path), ""), line
        settings = {**settings, **placed(right, folder, tmp_path / name)}
        server.renew("server")
        if settings.keys() != daemon.config["registry"].keys() - {"urls"}:
            daemon.terminate()
            daemon.config["registry"].update(settings)
            daemon.start()
        assert {message.key().decode() for message in kafka.read(made.scored, 2)} == {waiting["event_id"], other["event_id"]}
        assert f"ok      schema registry {server.url}" in command(daemon, "check")[1]
        assert not kafka.read(made.dead_letter)
        server.close()

    with concurrent.futures.ThreadPoolExecutor(len(WRONG)) as pool:
        list(pool.map(through, WRONG))


def test_outputs_are_read_by_confluents_deserializer(rig, registry, topics):
    """Only once their schemas are registered, which the start waits for and `check` tells; commands read and write the form,
    and read on while the registry is away."""
    rig.topics = topics(1)
    settings = rig.topics.settings(rig.kafka, wire_format="confluent")
    parts = urllib.parse.urlsplit(registry.url)
    link = Link(parts.port)
    url = parts._replace(netloc=f"127.0.0.1:{link.port}").geturl()
    daemon = rig.make({"kafka": settings, "registry": {"urls": (url,)}, "pipeline": {"workers": 2}})
    daemon.start(ready_timeout=None)
    assert f"{rig.topics.scored}-value" in wait_for(lambda: daemon.status(), "registry.register")
    status, said = command(daemon, "check")
    assert status != 0 and f"subject {rig.topics.scored}-value: it does not have our schema" in said
    daemon.terminate()
    daemon.config["registry"]["register"] = True
    daemon.write_config()
    _, said = command(daemon, "check")
    assert "our schema is registered at the next start" in said
    daemon.start()
    sent = [events.sure("SELECT FROM WHERE") for _ in range(3)]
    rig.send(registry.encode(rig.topics.input, sent))
    scored = rig.kafka.read(rig.topics.scored, 3)
    assert all(message.value()[0] == 0 for message in scored)
    found = registry.decode(rig.topics.scored, [message.value() for message in scored])
    assert sorted(record["event_id"] for record in found) == sorted(event["event_id"] for event in sent)
    advised = registry.decode(rig.topics.advisory, [message.value() for message in rig.kafka.read(rig.topics.advisory, 3)])
    assert {record["event_id"] for record in advised} == {event["event_id"] for event in sent}
    assert command(daemon, "produce", stdin='{"sql": "SELECT 1", "event_id": "by-hand"}\n')[0] == 0
    assert rig.kafka.read(rig.topics.input, 4)[-1].value()[:1] == b"\0"
    # an event_id may be any text: nothing in the schemas makes their readers take it for a UUID
    found = registry.decode(rig.topics.scored, [message.value() for message in rig.kafka.read(rig.topics.scored, 4)])
    assert "by-hand" in {record["event_id"] for record in found}
    status, said = command(daemon, "show", "by-hand", "--since", "1h")
    assert status == 0 and "by-hand" in said
    status, said = command(daemon, "check")
    assert f"subject {rig.topics.input}-value" in said and f"ok      schema registry, subject {rig.topics.scored}-value" in said, said
    link.refuse()
    what_the_daemon_has_kept_is_read(daemon)
    nothing_is_called_damaged(rig, daemon)
    link.close()


def files_of(folder):
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes()) for path in pathlib.Path(folder).iterdir()}


def keep_in(daemon, folder):
    """Where commands look for what the daemon keeps; None: nobody says it."""
    daemon.config["pipeline"] = {**daemon.config["pipeline"], "state_directory": folder}
    daemon.write_config()


def what_the_daemon_has_kept_is_read(daemon):
    """By commands on its host, which change nothing there; not what was kept of another registry, nor what is damaged."""
    keep_in(daemon, daemon.state)
    kept = files_of(daemon.state)
    for arguments, text in ((("tail", "--once"), "by-hand"), (("tail", "advisories", "--once"), "WITHHOLD"), (("show", "by-hand"), "by-hand"),
                            (("audit", "recompute", "--topic"), "4 records"), (("calibration", "--replay-topic"), "4 records")):
        status, said = command(daemon, *arguments)
        assert status == 0 and text in said and "cannot be read" not in said, (arguments, status, said)
    assert files_of(daemon.state) == kept
    for change in (lambda text: text[:-1], lambda text: text.replace(b"-schema 1 ", b"-schema 2 ", 1), lambda text: b""):
        for name, (_, _, text) in kept.items():
            if "-id-" in name:
                pathlib.Path(daemon.state, name).write_bytes(change(text))
        damaged = files_of(daemon.state)
        status, said = command(daemon, "tail", "--once")
        assert status == 69 and f"the daemon has not kept it in {daemon.state}" in said, said
        assert files_of(daemon.state) == damaged
    for name, (_, _, text) in kept.items():
        pathlib.Path(daemon.state, name).write_bytes(text)
    urls = daemon.config["registry"]["urls"]
    daemon.config["registry"]["urls"] = (f"http://127.0.0.1:{free_port()}",)  # another one, whose ids mean other schemas
    keep_in(daemon, daemon.state)
    status, said = command(daemon, "tail", "--once")
    assert status == 69 and f"the daemon has not kept it in {daemon.state}" in said, said
    daemon.config["registry"]["urls"] = urls
    keep_in(daemon, None)


def nothing_is_called_damaged(rig, daemon):
    """What cannot be read while the registry is away is told once, with how much that is; what is damaged stays so."""
    for arguments, count in ((("tail", "--once"), "4 messages of"), (("show", "by-hand"), "1 of 1 messages"),
                             (("audit", "recompute", "--topic"), "4 messages"), (("calibration", "--replay-topic"), "4 records")):
        status, said = command(daemon, *arguments)
        assert status == 69 and said.count("the schema registry: ") == 1 and count in said and "cannot be read now: " in said, (arguments, said)
        assert "no such message" not in said and "no scored record" not in said, (arguments, said)
        assert "where the daemon runs, root and its user can read the schemas that it has kept" in said, (arguments, said)
    with subprocess.Popen([BINARY, "tail", "--config", daemon.config_file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as following:
        assert "cannot be read now" in following.stderr.readline()
        rig.kafka.produce(rig.topics.scored, [{"value": b"rubbish"}])
        assert "is no such message" in following.stderr.readline()
        following.terminate()
        assert following.wait(60) == 0
    status, said = command(daemon, "audit", "recompute", "--topic", "--json")
    assert status == 65 and '"unreadable":1,"unavailable":4' in said and said.count('"unreadable"') == 2 and "4 messages cannot be read now: " in said, said


def test_an_incompatible_subject_is_said(rig, registry, topics):
    """Unless the registry compares nothing there, whatever it answers when it is asked."""
    rig.topics = topics(1)
    subject = f"{rig.topics.scored}-value"
    registry.register(subject, {"type": "record", "name": "ScoredQuery", "namespace": "io.assayd", "fields": [{"name": "event_id", "type": "int"}]})
    daemon = rig.make({"kafka": rig.topics.settings(rig.kafka, wire_format="confluent"), "registry": {"urls": (registry.url,), "register": True}})
    daemon.write_config()
    registry.ask(f"/config/{subject}", {"compatibility": "BACKWARD"}, "PUT")
    status, said = command(daemon, "check")
    assert status != 0 and f"subject {subject}: our schema is not compatible" in said
    registry.ask(f"/config/{subject}", {"compatibility": "NONE"}, "PUT")
    daemon.start()
    assert registry.ask(f"/subjects/{subject}/versions") == [1, 2]
    daemon.terminate()
    daemon.config["registry"]["subject_name_strategy"] = "record_name"
    daemon.start()
    assert registry.ask("/subjects/io.assayd.ScoredQuery/versions") == [1]


def test_the_calibration_waits_for_schemas(kafka, topics, postgres, calibration_database, make_daemon, registry):
    """One partition of the records and one of the feedback wait, and the others are counted; killed meanwhile, the daemon
    has counted everything once in the end."""
    rig = conftest.Rig(kafka, topics, None, None, None, None, make_daemon)
    front = schema_registry.GuidFront(registry)
    link = Link(front.port)
    rig.topics = topics(2)
    daemon = rig.make({"kafka": rig.topics.settings(kafka), "registry": {"urls": (f"http://127.0.0.1:{link.port}",), "wait_ms": 3000},
                       "pipeline": {"workers": 2}, "calibration": {"dsn": postgres.dsn(calibration_database, "assayd"), "feedback_horizon_s": 86400}}).start()

    def counted():
        return [postgres.execute(sql, calibration_database)[0] for sql in (EVENTS, FEEDBACK)]

    def await_counted(*expected):
        wait_for(lambda: str(counted()), str(list(expected)))

    def copies(count, schema_id=None, partition=0):
        """Of a record, with event_ids of their own; the former of these."""
        names = [str(uuid.uuid4()) for _ in range(count)]
        texts = [record.value().replace(sent["event_id"].encode(), name.encode()) for name in names]
        kafka.produce(rig.topics.scored, [{"value": text if schema_id is None else FRAME.pack(0, schema_id) + text[10:], "partition": partition}
                                          for text in texts])
        return names

    sent = events.sure()
    rig.send([events.message(sent)])
    ((record, _),) = rig.scored(1)
    await_counted((1, 1), (0, 0))
    later = edition(json.loads(SCORED_QUERY.read_text()), 0)
    later_id = registry.register(f"{rig.topics.scored}-value", later)
    link.refuse()
    held, others = copies(6, later_id) + copies(2), copies(4, partition=1)
    said = registry.encode(rig.topics.feedback, [{"event_id": name, "correct": True, "source": "test", "note": None} for name in (held[0], others[0])],
                           "header", QUERY_FEEDBACK, url=front.url)
    kafka.produce(rig.topics.feedback, [{**message, "partition": 0} for message in said])
    kafka.produce(rig.topics.feedback, [{"value": json.dumps({"event_id": name, "correct": False, "source": "test"}), "partition": 1}
                                        for name in (held[1], held[7], others[1])])
    await_counted((5, 5), (1, 0))
    wait_for_metric(daemon, "assayd_calibration_waiting_partitions 2")
    daemon.await_log("the calibration waits for a schema of the registry")
    wait_for_status(daemon, "schema registry")
    daemon.kill()
    daemon.start()
    copies(3, partition=1)
    await_counted((8, 8), (1, 0))
    wait_for_metric(daemon, "assayd_calibration_waiting_partitions 2")
    link.accept()
    await_counted((16, 16), (5, 2))
    wait_for_metric(daemon, "assayd_calibration_waiting_partitions 0")
    assert "assayd_calibration_skipped_total 0" in daemon.get("/metrics")[1]
    status, verified = command(daemon, "calibration", "--verify")
    assert status == 0 and ", 0 differ" in verified and "0 records skipped" in verified, verified
    link.refuse()
    status, refused = command(daemon, "calibration", "--verify")
    assert status == 69 and "cannot be read now" in refused, refused
    keep_in(daemon, daemon.state)
    status, again = command(daemon, "calibration", "--verify")
    assert status == 0 and again.splitlines()[-1] == verified.splitlines()[-1] and "0 records skipped" in again, again
    keep_in(daemon, None)
    link.accept()
    honest, front.answer = front.answer, lambda handler: handler.say(404, b"")  # as a server without this API does: nobody waits for it for ever
    kafka.produce(rig.topics.feedback, [{"value": FRAME.pack(0, 12345) + b"?", "partition": 0},
                                        {"value": json.dumps({"event_id": held[2], "correct": True}), "partition": 0}])
    await_counted((16, 16), (6, 3))
    daemon.await_log("has not given schema 12345 within 3 s (registry.wait_ms)")
    assert "assayd_calibration_skipped_total 1" in daemon.get("/metrics")[1]
    kafka.produce(rig.topics.advisory, [{"value": FRAME.pack(0, 12344) + b"?"} for _ in range(5)])
    _, said = command(daemon, "tail", "advisories", "--once")  # which asks once for all
    assert said.count("is no such message: schema 12344 of the schema registry: ") == 5 and front.asked.count("/schemas/ids/12344") == 1, (said, front.asked)
    answers = {12346: (503, b""), 12347: (200, b" " * 3_000_000)}  # and others are answered
    wrong = {f"/schemas/ids/{schema_id}": answer for schema_id, answer in answers.items()}
    front.answer = lambda handler: handler.say(*wrong[handler.path]) if handler.path in wrong else honest(handler)
    kafka.produce(rig.topics.feedback, [message for partition, (schema_id, behind) in enumerate(zip(answers, (held[3], others[2]))) for message in (
        {"value": FRAME.pack(0, schema_id) + b"?", "partition": partition},
        {"value": json.dumps({"event_id": behind, "correct": True}), "partition": partition})])
    await_counted((16, 16), (8, 5))
    for schema_id, what in ((12346, "it answers HTTP 503"), (12347, "the answer has more than")):
        daemon.await_log(f"has not given schema {schema_id} within 3 s (registry.wait_ms): {what}")
    assert "assayd_calibration_skipped_total 3" in daemon.get("/metrics")[1]
    status, refused = command(daemon, "calibration", "--verify")
    assert status == 69 and "cannot be read now" in refused and "HTTP 503" in refused, refused
    link.refuse()
    status, refused = command(daemon, "calibration", "--rebuild")
    assert status == 69 and "cannot be read now" in refused, refused
    await_counted((16, 16), (8, 5))
    link.close()
    front.close()


def test_the_header_form_is_read(rig, registry):
    front = schema_registry.GuidFront(registry)
    sent = [events.sure() for _ in range(5)]
    start(rig, front.url)
    messages = registry.encode(rig.topics.input, sent, "header", url=front.url)
    assert all(len(dict(message["headers"])["__value_schema_id"]) == 17 for message in messages)
    rig.send(messages)
    assert ids_of(rig.scored(5)) == sorted(event["event_id"] for event in sent)
    front.close()


# ---- the example programs ----


@pytest.mark.parametrize("language", ["python", "java", "typescript"])
def test_examples_write_and_read(rig, registry, topics, language):
    """Of each language that can be had here; tests/long/clients has Go, and more. Events go in as JSON and as Avro."""
    try:
        command = (other_clients.python(registry.python) if language == "python" else getattr(other_clients, language)())["client"]
    except other_clients.Unavailable as reason:
        pytest.skip(str(reason))
    rig.topics = topics(1)
    rig.make({"kafka": rig.topics.settings(rig.kafka, wire_format="confluent"), "registry": {"urls": (registry.url,), "register": True},
              "pipeline": {"workers": 2}}).start()
    assert other_clients.try_example(command, rig.kafka, rig.topics, registry.url, "confluent") == []
