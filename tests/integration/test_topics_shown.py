"""`assayd tail` and `assayd show`: what is in the topics, for people and for scripts."""

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
from daemon import BINARY, config_text

MISSPELT = "SELECT count(*) FROM ordrs"
HOSTILE = "evil\x1b]0;owned\x07\u202e"
ADVISED = "DELETE FROM orders"


@pytest.fixture
def shown(rig):
    """A daemon that has scored one event of each kind; (rig, {name: event_id})."""
    rig.start(partitions=6, calibration={"feedback_horizon_s": 3600})
    made = {"good": events.sure(target="shop"), "misspelt": events.event(MISSPELT, target="shop"),
            "unsafe": events.event(ADVISED, target="shop", application="other"),
            "hostile": events.event(f"SELECT {HOSTILE} FROM {HOSTILE}", target="shop", application=HOSTILE)}
    rig.send([events.message(event) for event in made.values()])
    rig.send([{"value": b"\xc3\x01nothing", "key": b"dead-\x1b[31m"}])
    rig.send([{"value": json.dumps({"event_id": made["good"]["event_id"], "correct": False, "source": "Ann"}).encode(),
               "key": made["good"]["event_id"].encode()}], rig.topics.feedback)
    rig.scored(4)
    rig.dead_letters(1)
    return rig, {name: event["event_id"] for name, event in made.items()}


def run(rig, *arguments, expect=0):
    done = subprocess.run([BINARY, *arguments, "--config", rig.daemon.config_file], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=120, check=False)
    assert done.returncode == expect, (done.returncode, done.stdout, done.stderr)
    return done.stdout.decode(), done.stderr.decode()


def lines(rig, *arguments):
    return run(rig, "tail", *arguments, "--once")[0].splitlines()


def on_terminal(rig, *arguments):
    """What it writes to a terminal."""
    ours, theirs = pty.openpty()
    environment = {**{name: value for name, value in os.environ.items() if name != "NO_COLOR"}, "TERM": "xterm"}
    with subprocess.Popen([BINARY, *arguments, "--config", rig.daemon.config_file], stdin=subprocess.DEVNULL, stdout=theirs,
                          env=environment) as process:
        os.close(theirs)
        written = b""
        try:
            while chunk := os.read(ours, 65536):
                written += chunk
        except OSError:  # the other end is closed
            pass
        assert process.wait(60) == 0
    os.close(ours)
    return written.decode()


def shows_each_topic(rig, ids):
    scored = lines(rig)
    assert len(scored) == 4 and all(sum(name in line for line in scored) == 1 for name in ids.values())
    misspelt = next(line for line in scored if ids["misspelt"] in line)
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ  WITHHOLD +VERY_LOW_CONFIDENCE  0\.00  shop-assistant  ", misspelt)
    assert 'relation "ordrs" does not exist' in misspelt
    assert sorted(lines(rig, rig.topics.scored, "--since", "1h")) == sorted(scored)
    advisories = lines(rig, "advisories")
    assert any("UNSAFE_QUERY" in line and ids["unsafe"] in line for line in advisories)
    dead, = lines(rig, "dead-letters")
    assert "unknown_framing" in dead and f"{rig.topics.input}/" in dead
    feedback, = lines(rig, "feedback")
    assert f"wrong  {ids['good']}  Ann" in feedback
    time.sleep(1.5)
    assert lines(rig, "feedback", "--since", "1s") == []


def chooses(rig, ids):

    def chosen(*arguments):
        return {name for name, event_id in ids.items() if any(event_id in line for line in lines(rig, *arguments))}

    assert chosen("--level", "high") == {"good"} == chosen("--level", "HIGH_CONFIDENCE")
    assert chosen("--level", "VERY_LOW") == {"misspelt", "unsafe", "hostile"}
    action = next(record["disposition"]["action"] for _, record in rig.scored(4) if record["event_id"] == ids["good"])
    assert action.startswith("USE") and chosen("--action", action.lower()) == {"good"}
    assert chosen("--action", "WITHHOLD", "--application", "other") == {"unsafe"}
    assert chosen("advisories", "--action", "WITHHOLD", "--application", "other") == {"unsafe"}


def writes_json(rig, ids):
    records = {record["event_id"]: record for record in map(json.loads, lines(rig, "--json"))}
    assert set(records) == set(ids.values())
    for _, record in rig.scored(4):
        assert records[record["event_id"]]["confidence"]["overall"] == record["confidence"]["overall"]
        assert records[record["event_id"]]["application"] == record["application"]
    advisories = [json.loads(line) for line in lines(rig, "advisories", "--json")]
    assert {advisory["event_id"] for advisory in advisories} >= {ids["unsafe"], ids["misspelt"]}
    dead, = map(json.loads, lines(rig, "dead-letters", "--json"))
    assert (dead["topic"], dead["key"], dead["value_base64"]) == (rig.topics.dead_letter, "dead-\x1b[31m", "wwFub3RoaW5n")
    assert {"name": "reason", "value": "unknown_framing"} in dead["headers"]
    feedback, = map(json.loads, lines(rig, "feedback", "--json"))
    assert (feedback["event_id"], feedback["correct"]) == (ids["good"], False)


def moves_no_terminal(rig, ids):
    shown_texts = [on_terminal(rig, "tail", topic, "--once", *json_too) for topic in ("scored", "advisories", "dead-letters")
                   for json_too in ((), ("--json",))]
    shown_texts += [on_terminal(rig, "show", ids["hostile"], *json_too) for json_too in ((), ("--json",))]
    for text in shown_texts:
        bare = re.sub(r"\x1b\[(3[1-6]|0)m", "", text).replace("\r\n", "\n")
        assert bare and not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", bare), text
    assert "\x1b[31mWITHHOLD" in shown_texts[0] and re.search("\x1b\\[3[26]mUSE", shown_texts[0]), "actions are told by their colours"
    piped = run(rig, "tail", "--once")[0]
    assert "\x1b" not in piped, "no colours where nobody sees them"


def test_tail_follows(shown):
    rig, _ = shown
    with subprocess.Popen([BINARY, "tail", "--config", rig.daemon.config_file], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True) as process:
        for _ in range(4):
            assert process.stdout.readline()
        rig.kafka.add_partitions(rig.topics.scored, 9)
        late = [events.event(target="shop") for _ in range(20)]
        for event in late:
            rig.send([events.message(event)])
        seen = [process.stdout.readline() for _ in late]
        assert all(sum(event["event_id"] in line for line in seen) == 1 for event in late)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    with subprocess.Popen([BINARY, "tail", "--config", rig.daemon.config_file], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline()
        process.stdout.close()
        rig.send([events.message(events.event(target="shop")) for _ in range(5)])
        assert process.wait(60) == 0, "whoever closes the output has seen enough"
        assert process.stderr.read() == ""


def shows_all_of_an_event(rig, ids):
    text, _ = run(rig, "show", ids["good"])
    assert "scored  partition" in text and "feedback  partition" in text and "How many customers live in each city?" in text
    text, _ = run(rig, "show", ids["unsafe"])
    assert "UNSAFE_QUERY" in text and "remedy" in text and ADVISED in text
    found = [json.loads(line) for line in run(rig, "show", ids["misspelt"], "--json")[0].splitlines()]
    assert [entry["kind"] for entry in found] == ["scored", "advisories"]
    assert found[0]["message"]["disposition"]["reasons"][0]["code"] == "unknown_table"
    text, _ = run(rig, "show", "dead-\x1b[31m")
    assert text.startswith("dead-letters  partition") and "unknown_framing" in text


def finds_what_lies_elsewhere(rig, ids):
    """Whoever filled the topic before may have put keys into other partitions; an id that nobody has is told."""
    record = next(message for message, record in rig.scored(4) if record["event_id"] == ids["good"])
    for partition in range(6):
        rig.send([{"value": record.value(), "key": f"elsewhere-{partition}".encode(), "partition": partition}], rig.topics.scored)
        found = [json.loads(line) for line in run(rig, "show", f"elsewhere-{partition}", "--json")[0].splitlines()]
        assert [(entry["kind"], entry["partition"]) for entry in found] == [("scored", partition)]
    _, said = run(rig, "show", "nobody", expect=66)
    assert 'no message has the key "nobody": ' in said and "comes after some seconds: ask again" in said
    run(rig, "show", ids["good"], "--since", "1000000h")
    time.sleep(1.5)
    _, said = run(rig, "show", ids["misspelt"], "--since", "1s", expect=66)
    assert "--since leaves older ones out" in said


@pytest.mark.parametrize("arguments", [("tail", "--once", "--since", "1h"), ("show", "nobody")])
def test_what_is_deleted_meanwhile_is_not_missed(kafka, topics, tmp_path, arguments):
    """More than is read ahead, most of which goes before it is read; the last one stays."""
    made, config, count = topics(1), tmp_path / "assayd.conf", 150
    config.write_text(config_text({"kafka": made.settings(kafka)}))
    kafka.produce(made.scored, [os.urandom(900_000) for _ in range(count)])
    with subprocess.Popen([BINARY, *arguments, "--config", config], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        if arguments[0] == "tail":
            first = process.stderr.readline()
            assert "offset 0 is no such message" in first
        else:
            time.sleep(0.2)
        process.send_signal(signal.SIGSTOP)
        kafka.delete_records(made.scored, 0, count - 1)
        process.send_signal(signal.SIGCONT)
        _, said = process.communicate(timeout=60)
        if arguments[0] == "tail":
            assert process.returncode == 0 and f"offset {count - 1} is no such message" in said, said[-500:]
        else:
            assert process.returncode == 66 and 'no message has the key "nobody"' in said, said[-500:]


def looks_where_the_database_says(rig, ids):
    """It is asked first; what it says is believed only where the topic has it."""
    value, name = rig.scored(4)[0][0].value(), f"twice-{uuid.uuid4()}"
    rig.send([{"value": value, "key": name.encode()}], rig.topics.scored)
    ours = json.loads(run(rig, "show", name, "--json")[0].splitlines()[0])["partition"]
    theirs = (ours + 1) % 6
    rig.send([{"value": value, "key": name.encode(), "partition": theirs}], rig.topics.scored)
    offset = max(message.offset() for message in rig.kafka.read(rig.topics.scored) if message.partition() == theirs)
    remember = ("INSERT INTO calibration_events (event_key, scored_at, partition, record_offset, application, model, prompt_version, level, confidence) "
                "SELECT left(encode(sha256(%s::bytea), 'hex'), 32)::uuid, now() + %s * interval '1 millisecond', %s, %s, '', '', '', "
                "'HIGH_CONFIDENCE', 1")
    later, found = 0, []
    for place in ((theirs, offset), (theirs, offset + 1000), (99, 0), (ours, 0)):
        later += 1
        rig.postgres.execute(remember, rig.calibration_database, arguments=(name, later, *place))
        found.append([json.loads(line)["partition"] for line in run(rig, "show", name, "--json")[0].splitlines()])
    assert found == [[theirs]] * 4, found


def finds_ids_that_tell_their_time(rig, ids):
    """Whether or not it is the time of the record."""
    value = rig.scored(4)[0][0].value()
    for made_ms in (int(time.time() * 1000), 1577836800000, int(time.time() * 1000) + 86400000):
        name = f"{made_ms >> 16:08x}-{made_ms & 0xffff:04x}-7{uuid.uuid4().hex[:3]}-8000-{uuid.uuid4().hex[:12]}"
        rig.send([{"value": value, "key": name.encode()}], rig.topics.scored)
        assert "scored  partition" in run(rig, "show", name)[0]


def finds_few_among_many(rig, ids):
    """What is chosen lies behind many that are not."""
    value = next(message.value() for message, record in rig.scored(4) if record["event_id"] == ids["good"])
    rig.send([{"value": value, "key": b"more", "partition": number % 6} for number in range(600)], rig.topics.scored)
    assert len(lines(rig)) == 10 and len(lines(rig, "--level", "HIGH")) == 10
    assert any(ids["unsafe"] in line for line in lines(rig, "--application", "other"))
    assert lines(rig, "--application", "nobody") == []


def test_what_is_there(shown):
    for part in (shows_each_topic, chooses, writes_json, moves_no_terminal, shows_all_of_an_event, finds_what_lies_elsewhere,
                 looks_where_the_database_says, finds_ids_that_tell_their_time, finds_few_among_many):
        part(*shown)


@pytest.mark.parametrize("arguments, said", [
    (("tail", "nothing"), '"nothing" is none of the topics scored (scored-queries), advisories'),
    (("tail", "--level", "HI"), '--level "HI" is none of HIGH, MEDIUM, LOW and VERY_LOW'),
    (("tail", "--action", "stop"), '--action "stop" is none of USE'),
    (("tail", "--since", "yesterday"), '--since "yesterday" is no time span; write for example 90s, 15m, 24h or 7d'),
    (("show", "x", "--since", "0h"), '--since "0h" is no time span'),
    (("tail", "dead-letters", "--level", "HIGH"), "messages of dead-letters have no level, action or application"),
    (("show",), "assayd show needs EVENT_ID"),
    (("show", ""), "EVENT_ID is empty"),
    (("tail", "--since", " 5m"), '--since " 5m" is no time span'),
    (("show", "a", "b"), '"b" is too much'),
    (("audit", "list"), 'assayd audit has no "list", it has: show, recompute, key'),
    (("audit",), "assayd audit needs one of: show, recompute"),
    (("tail", "--catalog", "x"), "assayd tail has no option --catalog"),
])
def test_what_is_wrong_is_said(tmp_path, arguments, said):
    config = tmp_path / "assayd.conf"
    config.write_text('kafka: { bootstrap_servers = "127.0.0.1:1"; };')
    done = subprocess.run([BINARY, *arguments, "--config", config], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, check=False)
    assert (done.returncode, done.stdout) == (64, "") and said in done.stderr


@pytest.mark.parametrize("operands, code, said", [(("-a",), 69, "no answer from"), (("-a", "b"), 64, '"b" is too much'), ((), 64, "needs EVENT_ID")])
def test_an_operand_may_begin_with_a_dash(tmp_path, operands, code, said):
    config = tmp_path / "assayd.conf"
    config.write_text('kafka: { bootstrap_servers = "127.0.0.1:1"; };')
    done = subprocess.run([BINARY, "show", "--config", config, "--", *operands], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == code and said in done.stderr, done
