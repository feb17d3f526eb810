"""`assayd produce`: JSON lines into the input topic, each checked before, and told of where it cannot be sent."""

import base64
import json
import os
import pty
import re
import signal
import subprocess
import time
import uuid

import pytest

import events
import wire
from daemon import BINARY, config_text
from servers import Reader

LINES = 100_000
DATA, NO_INPUT, UNAVAILABLE, TEMPORARY = 65, 66, 69, 75
HOSTILE = "evil\x1b]0;owned\x07\u202e"
BAD = {
    '{"event_id": "x"': "column",
    "[1]": "object",
    '{"event_id": "a", "question": "no SQL"}': "sql",
    '{"sql": 17}': "sql",
    '{"sqll": "SELECT 1"}': 'is "sql" meant?',
    '{"sql": "SELECT 1", "dialect": "POSTGRES"}': "dialect",
    '{"sql": "SELECT 1", "occurred_at": "yesterday"}': "occurred_at",
    '{"sql": "SELECT 1", "retrieval": {"chunks": [{"chunk_id": 3}]}}': "chunk_id",
}


@pytest.fixture
def made(kafka, topics, tmp_path):
    """made(partitions=…, wire_format=…): the topics and the path of a configuration for them."""

    def make(partitions=4, topic_config=None, **settings):
        of_test = topics(partitions, **(topic_config or {}))
        path = tmp_path / f"{of_test.name}.conf"
        path.write_text(config_text({"kafka": of_test.settings(kafka, **settings)}))
        return of_test, path

    return make


def produce(config, *arguments, lines="", expect=0):
    data = lines if isinstance(lines, bytes) else lines.encode()
    done = subprocess.run([BINARY, "produce", *map(str, arguments), "--config", config], input=data, capture_output=True, timeout=300,
                          check=False)
    said = done.stderr.decode()
    assert done.returncode == expect, (done.returncode, done.stdout, said[-2000:])
    return done.stdout.decode(), said


def line_of(**fields):
    return events.encode_json(events.event(**fields)).decode()


@pytest.mark.parametrize("wire_format", ["single_object", "json"])
def test_a_hundred_thousand_lines(kafka, made, wire_format):
    topics, config = made(wire_format=wire_format)
    placeholder = str(uuid.uuid4())
    template = line_of().replace(json.loads(line_of())["event_id"], "")
    template = json.dumps({**json.loads(template), "event_id": placeholder})
    ids, lines, bad = [], [], {}
    for number in range(1, LINES + 1):
        if number % 9973 == 0:
            bad[number] = list(BAD)[len(bad) % len(BAD)]
            lines.append(bad[number])
            continue
        ids.append(str(uuid.uuid4()))
        lines.append(template.replace(placeholder, ids[-1]))
    text = "\n".join(lines) + "\n\n"

    out, said = produce(config, "--dry-run", lines=text, expect=DATA)
    assert out.startswith(f"{LINES} lines read: {len(ids)} can be sent to {topics.input}, {len(bad)} cannot\n")
    assert kafka.read(topics.input) == []
    out, said_again = produce(config, "--json", lines=text, expect=DATA)
    assert said_again.replace("were not sent", "cannot be sent") == said
    summary = json.loads(out)
    assert (summary["read"], summary["produced"], summary["refused"], summary["lost"]) == (LINES, len(ids), len(bad), 0)
    told = {int(number): reason for number, reason in re.findall(r"^assayd: standard input, line (\d+): (.*)$", said, re.M)}
    assert set(told) == set(bad) == {entry["line"] for entry in summary["refusals"]}
    for number, line in bad.items():
        assert BAD[line] in told[number], told[number]

    messages = kafka.read(topics.input, len(ids), settle=1)
    assert sorted(message.key().decode() for message in messages) == sorted(ids)
    for message in messages[::997]:
        value = message.value()
        event = wire.GENERATED_QUERY.decode(value) if wire_format == "single_object" else json.loads(value)
        assert str(event["event_id"]) == message.key().decode()
        assert (event["sql"], event["application"], event["model"]) == (events.CITY_COUNT, "shop-assistant", "model-a")


def test_all_fields_arrive(kafka, made):
    event = {**events.sure("SELECT 'ä\t\"'", target="shop"), "attributes": {"tenant": "ü"}, "candidates": [{"sql": "SELECT 2", "model": "b"}],
             "ground_truth": {"sql": "SELECT 1", "results": [{"columns": ["a"], "rows": [["1"], [None]], "ordered": True}]}}
    sent = {}
    for wire_format in ("single_object", "json"):
        topics, config = made(wire_format=wire_format)
        produce(config, lines=events.encode_json(event))
        [message] = kafka.read(topics.input, 1)
        assert message.key().decode() == event["event_id"] and message.headers() is None
        sent[wire_format] = message.value()
    read = wire.GENERATED_QUERY.decode(sent["single_object"])
    for found in (read, json.loads(sent["json"])):
        assert found["sql"] == event["sql"] and found["attributes"] == {"tenant": "ü"}
        assert [chunk["rerank_score"] for chunk in found["retrieval"]["chunks"]] == [1.0, 0.9]
        assert found["ground_truth"]["results"][0]["rows"] == [["1"], [None]] and found["candidates"][0]["sql"] == "SELECT 2"
    assert read["occurred_at"] == event["occurred_at"]


def test_what_is_left_out_is_added(kafka, made, make_daemon):
    topics, config = made(partitions=1)
    produce(config, lines='{"sql": "SELECT 1 AS one"}\n{"sql": "SELECT 2 AS two"}')
    daemon = make_daemon({"kafka": topics.settings(kafka)}).start()
    records = [wire.SCORED_QUERY.decode(message.value()) for message in kafka.read(topics.scored, 2)]
    keys = [message.key().decode() for message in kafka.read(topics.input, 2)]
    assert sorted(str(record["event_id"]) for record in records) == sorted(keys)
    assert len(set(keys)) == 2 and all(uuid.UUID(key).version == 4 for key in keys)
    assert daemon.terminate() == 0


def test_files(kafka, made, tmp_path):
    topics, config = made(partitions=1)
    ids = []
    for name in ("first", "second"):
        event = events.event()
        ids.append(event["event_id"])
        (tmp_path / name).write_bytes(b"\n" + events.encode_json(event) + b"\r\nnothing\n")
    between = events.event()
    out, said = produce(config, tmp_path / "first", "-", tmp_path / "second", lines=events.encode_json(between), expect=DATA)
    assert out.startswith("5 lines read: 3 produced to ")
    assert [message.key().decode() for message in kafka.read(topics.input, 3)] == [ids[0], between["event_id"], ids[1]]
    assert [line.split(": ")[1] for line in said.splitlines()[:2]] == [f"{tmp_path}/first, line 3", f"{tmp_path}/second, line 3"]
    out, said = produce(config, tmp_path / "first", tmp_path / "nowhere", expect=NO_INPUT)
    assert out.startswith("2 lines read: 1 produced to ") and "nowhere: No such file" in said
    _, said = produce(config, tmp_path, expect=NO_INPUT)
    assert "Is a directory" in said
    assert len(kafka.read(topics.input, 4, settle=0.5)) == 4


def test_what_is_too_large(kafka, made):
    topics, config = made(partitions=1, topic_config={"max_message_bytes": 20_000}, max_message_bytes=50_000)
    lines, kept = [], []
    for number in range(200):
        size = 30_000 if number % 50 == 7 else 60_000 if number % 50 == 9 else 400_000 if number == 11 else 1_000
        event = events.event(base64.b64encode(os.urandom(size * 3 // 4)).decode())
        lines.append(events.encode_json(event).decode())
        if size == 1_000:
            kept.append(event["event_id"])
    out, said = produce(config, "--json", lines="\n".join(lines), expect=DATA)
    summary = json.loads(out)
    assert (summary["produced"], summary["refused"]) == (len(kept), 9)
    by_line = {entry["line"]: entry["message"] for entry in summary["refusals"]}
    assert all("does not take it" in by_line[line] for line in (8, 58, 108, 158))
    assert "longer than 300000 bytes" in by_line[12]
    assert sorted(message.key().decode() for message in kafka.read(topics.input, len(kept), settle=0.5)) == sorted(kept)


def test_a_target_that_is_not_configured(made):
    """Where the configuration has targets; one that has none may be of another machine than the daemon's."""
    _, config = made(partitions=1)
    lines = "".join(f'{{"sql": "SELECT 1", "target": "{target}"}}\n' for target in ("shopp", "shop")) + '{"sql": "SELECT 1"}\n'
    produce(config, "--dry-run", lines=lines)
    config.write_text(config.read_text() + 'targets = ( { name = "shop"; engine = "postgresql"; dsn = "host=192.0.2.1 user=a"; } );\n')
    _, said = produce(config, "--dry-run", lines=lines, expect=DATA)
    assert said == ('assayd: standard input, line 1: target: no target "shopp" is configured; did you mean "shop"?\n'
                    "assayd: 1 of 3 lines cannot be sent\n")


def test_nothing_of_a_line_moves_the_terminal(made, tmp_path):
    _, config = made(partitions=1)
    hostile = tmp_path / HOSTILE
    hostile.write_bytes(b'{"sql": "SELECT 1", "dialect": "\x1b[31m\xff"}\n{"' + HOSTILE.encode() + b'": 1}\n' +
                        json.dumps({"sql": "SELECT 1", "dialect": HOSTILE}).encode())
    for extra in ((), ("--json",)):
        ours, theirs = pty.openpty()
        with subprocess.Popen([BINARY, "produce", "--dry-run", *extra, str(hostile), "--config", config], stdin=subprocess.DEVNULL,
                              stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            written = b""
            try:
                while chunk := os.read(ours, 65536):
                    written += chunk
            except OSError:  # the other end is closed
                pass
            assert process.wait(60) == DATA
        os.close(ours)
        text = written.decode().replace("\r\n", "\n").replace("\r\x1b[K", "")
        assert "line 3" in text and not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text), text


def test_an_interruption_says_what_was_sent(kafka, made):
    topics, config = made()
    with subprocess.Popen([BINARY, "produce", "--config", config], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        process.stdin.write("\n".join(line_of() for _ in range(1000)) + "\n{")
        process.stdin.flush()
        assert len(kafka.read(topics.input, 1000)) == 1000
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == TEMPORARY
        assert process.stdout.read() == f"1000 lines read: 1000 produced to {topics.input}, 0 not\nread up to line 1000 of standard input\n"
        assert process.stderr.read() == "assayd: interrupted\n"


def test_a_broker_that_is_away_for_a_while(kafka, made):
    topics, config = made()
    lines = [line_of() for _ in range(30_000)]
    reader = Reader(kafka, topics.input)
    with subprocess.Popen([BINARY, "produce", "--config", config], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        process.stdin.write("\n".join(lines[:5_000]) + "\n")
        process.stdin.flush()
        reader.until(1)
        kafka.halt()
        try:
            process.stdin.write("\n".join(lines[5_000:10_000]) + "\n")
            time.sleep(4)
        finally:
            kafka.resume()
        out, said = process.communicate("\n".join(lines[10_000:]), timeout=120)
        assert (process.returncode, said) == (0, ""), (out, said)
    ids = sorted(json.loads(line)["event_id"] for line in lines)
    assert sorted(message.key().decode() for message in reader.until(len(ids), settle=0.5)) == ids
    reader.close()


def test_an_interruption_while_the_broker_is_away(kafka, made):
    topics, config = made()
    with subprocess.Popen([BINARY, "produce", "--json", "--config", config], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        process.stdin.write(line_of() + "\n")
        process.stdin.flush()
        kafka.read(topics.input, 1)
        kafka.halt()
        try:
            process.stdin.write("\n".join(line_of() for _ in range(50)) + "\n")
            process.stdin.flush()
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            out, said = process.communicate(timeout=60)
        finally:
            kafka.resume()
    summary = json.loads(out)
    assert process.returncode == TEMPORARY and said == "assayd: interrupted\n"
    assert summary["produced"] == 1 and summary["read"] == 51 and summary["lost"] + summary["doubtful"] == 50
    assert summary["interrupted"] and summary["next"]["line"] == 52 and summary["first_failed"] == {"file": "standard input", "line": 2}


def test_no_broker_and_no_topic(kafka, made, tmp_path):
    topics, config = made()
    text = config.read_text()
    elsewhere = tmp_path / "elsewhere.conf"
    elsewhere.write_text(text.replace(kafka.bootstrap, "127.0.0.1:1"))
    out, said = produce(elsewhere, lines=line_of(), expect=UNAVAILABLE)
    assert out == "" and "no answer from" in said and "Connection refused" in said
    elsewhere.write_text(text.replace(topics.input, "no-such-topic"))
    out, said = produce(elsewhere, lines=line_of(), expect=UNAVAILABLE)
    assert out == "" and 'kafka.input_topic: topic "no-such-topic" does not exist: create it' in said
    assert "no-such-topic" not in kafka.topics()
    out, _ = produce(elsewhere, "--dry-run", lines=line_of())
    assert out.startswith("1 lines read: 1 can be sent")
