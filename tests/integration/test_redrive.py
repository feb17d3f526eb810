"""`assayd redrive`: dead letters come back into the input topic, each exactly once, whatever is killed when."""

import contextlib
import datetime
import json
import os
import pty
import re
import signal
import subprocess
import time
import uuid

import confluent_kafka
import pytest

import events
import wire
from daemon import BINARY, config_text
from permissions import DESCRIBE, READ, TOPIC, TRANSACTIONAL_ID, WRITE, Permissions
from servers import Kafka, Reader, headers_of

USAGE, DATA, UNAVAILABLE, TEMPORARY = 64, 65, 69, 75
LETTERS = int(os.environ.get("ASSAYD_REDRIVE_LETTERS", "1000"))
REASONS = ("unknown_schema", "event_too_large", "json_syntax", "avro_truncated", "unknown_framing")
TRACEPARENT = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
HOSTILE = "evil\x1b]0;owned\x07\u202e\n"


def letter(number, topics, reason=None, value=None, key=None, headers=(), **of_place):
    """A dead letter as the daemon writes it, of an event that lay at offset `number` of the input."""
    reason = reason or REASONS[number % len(REASONS)]
    place = {"reason": reason, "detail": f"for the reason {reason}", "topic": topics.input, "partition": number % topics.partitions,
             "offset": number, **of_place}
    return {"value": f"event {number}".encode() if value is None else value, "key": f"key-{number}".encode() if key is None else key,
            "headers": [("traceparent", TRACEPARENT), *headers, *((name, str(text).encode()) for name, text in place.items())]}


class Dead:
    """Topics with dead letters, and what a redrive does with them."""

    def __init__(self, kafka, topics, folder, partitions=3, **settings):
        self.kafka, self.topics = kafka, topics(partitions)
        self.config = folder / f"{self.topics.name}.conf"
        self.write_config(**settings)

    def write_config(self, **settings):
        self.config.write_text(config_text({"kafka": self.topics.settings(self.kafka, **settings)}))

    def send(self, letters):
        """In transactions, as the daemon does, whose marks lie between the letters."""
        producer = confluent_kafka.Producer({"bootstrap.servers": self.kafka.bootstrap, "transactional.id": f"{self.topics.name}.test",
                                             "log_level": 2})
        producer.init_transactions()
        for start in range(0, len(letters), 97):
            producer.begin_transaction()
            for message in letters[start:start + 97]:
                producer.produce(self.topics.dead_letter, **message)
            producer.commit_transaction()

    def fill(self, count=LETTERS):
        self.send([letter(number, self.topics) for number in range(count)])

    def start(self, *arguments):
        return subprocess.Popen([BINARY, "redrive", *arguments, "--config", self.config], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *arguments, expect=0):
        with self.start(*arguments) as process:
            out, said = process.communicate(timeout=180)
        assert process.returncode == expect, (process.returncode, out, said)
        return out, said

    def summary(self, *arguments, expect=0):
        return json.loads(self.run(*arguments, "--json", expect=expect)[0])

    def ends(self, isolation):
        """Where the logs of both topics end, with what is still open or without."""
        consumer = confluent_kafka.Consumer({"bootstrap.servers": self.kafka.bootstrap, "group.id": "ends", "isolation.level": isolation,
                                             "log_level": 2})
        found = [consumer.get_watermark_offsets(confluent_kafka.TopicPartition(topic, partition), timeout=60)[1]
                 for topic in (self.topics.input, self.topics.dead_letter) for partition in range(self.topics.partitions)]
        consumer.close()
        return found

    def settle(self):
        """A commit is answered before all partitions have its mark: until then some of it is not seen."""
        deadline = time.monotonic() + 60
        while self.ends("read_committed") != self.ends("read_uncommitted"):
            assert time.monotonic() < deadline, "a transaction stays open"
            time.sleep(0.05)

    def back(self, settles=True):
        """What is committed in the input: {number of the event: its message}; none twice."""
        found = {}
        if settles:
            self.settle()
        for message in self.kafka.read(self.topics.input):
            number = int(message.value().split()[1])
            assert number not in found, f"{number} came back twice"
            assert message.partition() == number % self.topics.partitions
            found[number] = message
        return found

    def letters(self):
        """The dead letters, without receipts."""
        self.settle()
        return [message for message in self.kafka.read(self.topics.dead_letter) if "reason" in dict(message.headers())]


@pytest.fixture
def dead(kafka, topics, tmp_path):
    """dead(partitions=…, setting=…)"""
    return lambda **settings: Dead(kafka, topics, tmp_path, **settings)


def kill_in_a_transaction(of_test, topic):
    """kill -9 of a redrive that has put some back, while `topic` has a part of a transaction that is not committed."""
    kafka, before = of_test.kafka, len(of_test.back(settles=False))
    committed = Reader(kafka, of_test.topics.input)
    process = of_test.start("--all")
    committed.until(before + 1)
    committed.close()
    while True:
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.2)  # the broker answers what it has
        assert process.poll() is None, "it was over before it was caught"
        if len(kafka.read(topic, isolation="read_uncommitted")) > len(kafka.read(topic)):
            break
        process.send_signal(signal.SIGCONT)
        time.sleep(0.01)
    process.kill()
    process.communicate()
    after = len(of_test.back(settles=False))
    assert before < after < LETTERS, (before, after)
    return after


def test_killed_in_the_midst_and_again(kafka, dead):
    of_test = dead(transaction_max_events=max(1, LETTERS // 200))
    of_test.fill()
    first = kill_in_a_transaction(of_test, of_test.topics.input)
    second = kill_in_a_transaction(of_test, of_test.topics.dead_letter)
    assert first < second
    of_test.settle()
    planned = of_test.summary("--dry-run")
    assert planned["chosen"] + planned["done"] == LETTERS and second <= planned["done"] < LETTERS
    of_test.write_config()
    started = time.monotonic()
    done = of_test.summary("--all")
    print(f"{done['put_back']} letters in {time.monotonic() - started:.1f} s")
    assert done["put_back"] == done["chosen"] == LETTERS - done["done"] and done["complete"]
    assert sorted(of_test.back()) == list(range(LETTERS))
    again = of_test.summary("--all")
    assert (again["put_back"], again["chosen"], again["done"]) == (0, 0, LETTERS)
    assert len(of_test.back()) == LETTERS and len(of_test.letters()) == LETTERS


def test_two_at_once(kafka, dead):
    of_test = dead(transaction_max_events=10)
    of_test.fill()
    reader = Reader(kafka, of_test.topics.input)
    first = of_test.start("--all")
    reader.until(1)
    reader.close()
    second = of_test.start("--all")
    out, said = first.communicate(timeout=120)
    assert first.returncode == TEMPORARY and "another redrive of" in said, (first.returncode, out, said)
    out, said = second.communicate(timeout=120)
    assert second.returncode == 0, (out, said)
    assert sorted(of_test.back()) == list(range(LETTERS))


def test_what_others_have_open_hides_no_receipt(kafka, dead):
    """A transaction that stays open holds back what is committed behind it, for all who read up to there."""
    of_test = dead(partitions=1)
    of_test.send([letter(number, of_test.topics) for number in range(10)])
    other = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": f"{of_test.topics.name}.other",
                                      "transaction.timeout.ms": 60_000, "log_level": 2})
    other.init_transactions()
    other.begin_transaction()
    other.produce(of_test.topics.dead_letter, **letter(10, of_test.topics))
    assert other.flush(30) == 0
    second = of_test.start("--all", "--json")
    time.sleep(3)
    assert second.poll() is None, "it waits for what is open"
    other.commit_transaction()
    assert json.loads(second.communicate(timeout=60)[0])["put_back"] == 11
    other.begin_transaction()
    other.produce(of_test.topics.dead_letter, **letter(11, of_test.topics))
    assert other.flush(30) == 0
    # its receipt is committed, and lies behind the open one: as a redrive writes it that has read before
    kafka.produce(of_test.topics.dead_letter, [letter(12, of_test.topics)])
    behind = kafka.read(of_test.topics.dead_letter, isolation="read_uncommitted")[-1].offset()
    kafka.produce(of_test.topics.dead_letter, [{"value": str(behind).encode(), "headers": [("redrive_receipt", b"1")]}])
    third = of_test.start("--all", "--json")
    time.sleep(2)
    assert third.poll() is None
    other.abort_transaction()
    assert json.loads(third.communicate(timeout=60)[0])["put_back"] == 0
    assert sorted(of_test.back()) == list(range(11))


def test_filters_one_after_the_other(kafka, dead):
    of_test = dead(partitions=2)
    of_test.fill(60)
    time.sleep(1.1)
    later = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
    of_test.send([letter(number, of_test.topics) for number in range(60, 80)])
    every, expected = set(range(80)), set()

    def chosen(*arguments, numbers):
        of_test.settle()
        planned = of_test.summary(*arguments, "--dry-run")
        assert set(of_test.back()) == expected, "it touches nothing"
        done = of_test.summary(*arguments)
        assert planned["chosen"] == done["chosen"] == done["put_back"] == len(numbers - expected)
        assert planned["reasons"] == done["reasons"]
        expected.update(numbers)
        assert set(of_test.back()) == expected

    chosen("--reason", "json_syntax", "--since", later, numbers={62, 67, 72, 77})
    chosen("--event-id", "key-7", "--event-id", "key-9", "--event-id", "nobody", numbers={7, 9})
    by_age = sorted(of_test.letters(), key=lambda message: (message.timestamp()[1], message.partition(), message.offset()))
    oldest = [number for number in (int(message.value().split()[1]) for message in by_age) if number not in expected]
    chosen("--all", "--limit", "5", numbers=set(oldest[:5]))
    chosen("--reason", "unknown_schema", "--reason", "event_too_large", "--until", later,
           numbers={number for number in range(60) if number % 5 < 2})
    chosen("--reason", "avro_bad_value", numbers=set())
    chosen("--all", "--until", "1h", numbers=set())
    chosen("--all", "--since", "1h", numbers=every)
    assert headers_of(of_test.back()[7])["redriven"] == b"1"


def test_nothing_is_done_without_a_choice(kafka, dead):
    of_test = dead()
    of_test.fill(50)
    of_test.send([letter(50, of_test.topics, reason="json_syntax", key=HOSTILE.encode() + b"\xff", detail=HOSTILE)])
    out, said = of_test.run(expect=USAGE)
    assert "nothing was done: choose what is to be put back with --reason, --event-id or --all" in said
    assert re.search(r"^unknown_schema +10 +10  \d{4}-\d\d-\d\dT", out, re.M) and "51 would be put back into" in out
    assert of_test.back() == {}
    _, said = of_test.run("--reason", "json_sintax", expect=USAGE)
    assert '--reason "json_sintax" is no reason of a dead letter' in said
    for extra in ((), ("--json",)):
        ours, theirs = pty.openpty()
        with subprocess.Popen([BINARY, "redrive", "--dry-run", *extra, "--config", of_test.config], stdin=subprocess.DEVNULL,
                              stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            written = b""
            with contextlib.suppress(OSError):  # the other end is closed
                while chunk := os.read(ours, 65536):
                    written += chunk
            assert process.wait(60) == 0
        os.close(ours)
        text = written.decode().replace("\r\n", "\n").replace("\r\x1b[K", "")
        assert "owned" in text and not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text), text


def test_what_cannot_be_put_back(kafka, dead):
    of_test = dead(partitions=1)
    kafka.configure(of_test.topics.input, max_message_bytes=30_000)
    topics = of_test.topics
    kafka.configure(topics.dead_letter, max_message_bytes=2_000_000)
    of_test.send([letter(0, topics), letter(1, topics, length="9000000", sha256="ab"), letter(2, topics, headers=[("redriven", b"3")]),
                  letter(3, topics, headers=[("redriven", b"2"), ("redriven", b"x"), ("redriven_from", b"forged")]),
                  {**letter(4, topics), "headers": [("reason", b"json_syntax")]}, letter(5, topics, partition="-1"),
                  letter(6, topics, topic="elsewhere"), letter(7, topics, reason="json\x1b[31m"), {"value": b"event 8"},
                  letter(9, topics, value=b"event 9 " + os.urandom(100_000)), letter(10, topics),
                  letter(11, topics, headers=[("redrive_receipt", b"1")], value=b"event 11"), letter(12, topics, partition=7)])
    planned = of_test.summary("--dry-run", expect=DATA)
    assert [planned[name] for name in ("chosen", "cut", "too_often", "elsewhere", "foreign", "done")] == [6, 1, 1, 1, 4, 0]
    out, said = of_test.run("--all", expect=DATA)
    assert "5 of 6 put back into" in out and "1 are left: they have only the first part" in out
    assert "does not take it" in said and "3 dead letters that were chosen cannot be put back" in said
    of_test.settle()
    back = {int(message.value().split()[1]): message for message in kafka.read(topics.input)}
    assert sorted(back) == [0, 3, 10, 11, 12]
    headers = headers_of(back[3])
    place = kafka.read(topics.dead_letter)[3].offset()
    assert list(headers.items()) == [("redriven", b"3"), ("redriven_from", f"{topics.dead_letter}/0/{place}".encode()),
                                     ("redriven_reason", b"avro_truncated"), ("traceparent", TRACEPARENT)]
    assert back[3].key() == b"key-3" and headers_of(back[11])["redrive_receipt"] == b"1"
    kafka.configure(topics.input, max_message_bytes=2_000_000)
    assert of_test.summary("--all", "--max-redrives", "4", expect=DATA)["put_back"] == 2
    assert len(kafka.read(topics.input, 7, settle=0.5)) == 7
    kafka.produce(topics.dead_letter, [{"value": b"1-99999", "headers": [("redrive_receipt", b"1")]}])
    _, said = of_test.run("--all", expect=DATA)
    assert "a receipt of a redrive is damaged" in said and topics.dead_letter in said and "with --since" in said
    assert len(kafka.read(topics.input)) == 7
    time.sleep(0.1)
    behind = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
    of_test.send([letter(13, topics)])
    assert of_test.summary("--all", "--since", behind)["put_back"] == 1
    assert len(kafka.read(topics.input, 8, settle=0.5)) == 8


def test_retention_and_a_topic_made_again(kafka, dead):
    of_test = dead(partitions=1)
    of_test.send([letter(number, of_test.topics) for number in range(20)])
    assert of_test.summary("--all", "--limit", "15")["put_back"] == 15
    of_test.settle()
    offsets = [message.offset() for message in of_test.letters()]
    kafka.delete_records(of_test.topics.dead_letter, 0, offsets[17])
    planned = of_test.summary("--dry-run")
    assert (planned["chosen"], planned["done"]) == (3, 0)
    assert of_test.summary("--all")["put_back"] == 3
    assert sorted(of_test.back()) == [*range(15), 17, 18, 19]
    kafka.recreate_topic(of_test.topics.dead_letter, 1)
    of_test.send([letter(number, of_test.topics) for number in range(20, 40)])
    assert of_test.summary("--all")["put_back"] == 20
    assert sorted(of_test.back()) == [*range(15), *range(17, 40)]


def test_untouched_bytes(kafka, dead):
    of_test = dead(partitions=1)
    topics = of_test.topics
    messages = [letter(number, topics, value=value, headers=[("tenant", b"\x00\xff"), ("tenant", b""), ("none", None)])
                for number, value in enumerate((b"\xc3\x01\x00\xff", b"", bytes(range(256))))]
    messages.append({**letter(3, topics), "value": None})
    messages.append({**letter(4, topics), "key": None})
    of_test.send(messages)
    assert of_test.summary("--all")["put_back"] == 5
    back = kafka.read(topics.input, 5)
    assert [message.value() for message in back] == [b"\xc3\x01\x00\xff", b"", bytes(range(256)), None, b"event 4"]
    assert [message.key() for message in back] == [b"key-0", b"key-1", b"key-2", b"key-3", None]
    assert back[0].headers()[3:] == [("traceparent", TRACEPARENT), ("tenant", b"\x00\xff"), ("tenant", b""), ("none", None)]


def test_an_interruption(kafka, dead):
    of_test = dead(transaction_max_events=10)
    of_test.fill()
    reader = Reader(kafka, of_test.topics.input)
    process = of_test.start("--all")
    reader.until(1)
    reader.close()
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    assert process.returncode == TEMPORARY and "interrupted; run it again for those that are left" in said
    put_back = int(re.search(rf"^(\d+) of {LETTERS} put back into", out, re.M)[1])
    assert 0 < put_back < LETTERS and len(of_test.back()) == put_back


def test_the_daemon_scores_what_was_mended(rig, tmp_path):
    """Real dead letters of five reasons; two of the reasons are mended, and one event dies again and again."""
    schema = json.loads((wire.SCHEMAS / "generated_query.avsc").read_text(encoding="utf-8"))
    schema["fields"].append({"name": "later", "type": ["null", "string"], "default": None})
    newer = wire.Codec(json.dumps(schema))
    rig.make(rig.config(partitions=2, judge=None, calibration=None, targets=None))
    rig.daemon.config["kafka"].update(max_message_bytes=20_000, schema_directory=str(tmp_path))
    rig.daemon.start()
    large = [events.event("SELECT 1 -- " + "x" * 30_000) for _ in range(3)]
    late = events.event()
    unreadable = {"json_syntax": b'{"event_id": ', "avro_truncated": events.encode(events.event())[:-9], "unknown_framing": b"SELECT 1",
                  "unknown_schema": newer.encode({**late, "later": "x"})}
    rig.send([events.message(event, headers=[("traceparent", TRACEPARENT)]) for event in large])
    rig.send([{"value": value, "key": reason.encode()} for reason, value in unreadable.items()])
    letters = rig.dead_letters(7)
    assert {headers_of(message)["reason"].decode() for message in letters} == {"event_too_large", *unreadable}
    assert rig.daemon.terminate() == 0
    rig.daemon.config["kafka"]["max_message_bytes"] = 100_000
    (tmp_path / "later.avsc").write_text(json.dumps(schema))
    rig.daemon.start()

    def redrive(*arguments, expect=0):
        done = subprocess.run([BINARY, "redrive", *arguments, "--json", "--config", rig.daemon.config_file], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=120, check=False)
        assert done.returncode == expect, done
        return json.loads(done.stdout)

    assert redrive("--reason", "event_too_large")["put_back"] == 3
    scored = rig.scored(3)
    assert {str(record["event_id"]) for _, record in scored} == {event["event_id"] for event in large}
    assert all(headers_of(message)["traceparent"] == TRACEPARENT for message, _ in scored)
    assert redrive("--reason", "unknown_schema")["put_back"] == 1
    assert late["event_id"] in {str(record["event_id"]) for _, record in rig.scored(4, settle=1)}
    for times in (1, 2, 3):
        assert redrive("--reason", "json_syntax")["put_back"] == 1
        again = Reader(rig.kafka, rig.topics.dead_letter)
        headers = headers_of(again.until_match(lambda message: dict(message.headers()).get("redriven") == str(times).encode()))
        again.close()
        assert headers["reason"] == headers["redriven_reason"] == b"json_syntax"
        assert re.fullmatch(rf"{rig.topics.dead_letter}/\d/\d+", headers["redriven_from"].decode())
    assert redrive("--reason", "json_syntax", expect=DATA)["too_often"] == 1
    shown = subprocess.run([BINARY, "tail", "dead-letters", "--once", "--since", "1h", "--config", rig.daemon.config_file],
                           capture_output=True, text=True, timeout=60, check=True).stdout
    assert "redriven 3 times before" in shown and "put back by a redrive  partition" in shown


def test_rights(topics, tmp_path):
    """Those that the manual names are enough; each that is missing is named, and nothing is put back meanwhile."""
    if os.environ.get("KAFKA_BOOTSTRAP"):
        pytest.skip("KAFKA_BOOTSTRAP names a broker without our user")
    from conftest import Topics, required

    broker = required(lambda: Kafka(users=["assayd"]))
    try:
        of_test = Dead(broker, lambda partitions: Topics(broker, partitions), tmp_path)
        made, rights = of_test.topics, Permissions(broker.bootstrap)
        of_test.send([letter(number, made) for number in range(5)])
        (tmp_path / "password").write_text("assayd")
        (tmp_path / "password").chmod(0o600)
        of_test.write_config(bootstrap_servers=f"127.0.0.1:{broker.facts['users']}", secret_properties=(f"sasl.password={tmp_path}/password",),
                             properties=("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", "sasl.username=assayd"))
        needed = [((TOPIC, made.input, DESCRIBE), "has no permission on topic"), ((TOPIC, made.dead_letter, READ), "grant READ on it"),
                  ((TRANSACTIONAL_ID, f"{made.dead_letter}.redrive", WRITE), "may not use the transactional id"),
                  ((TOPIC, made.dead_letter, WRITE), f'lacks WRITE on topic "{made.dead_letter}"'),
                  ((TOPIC, made.input, WRITE), f'lacks WRITE on topic "{made.input}"')]
        rights.grant("assayd", *(right for right, _ in needed))
        time.sleep(0.5)
        for right, said in needed[1:]:
            rights.take("assayd", right)
            time.sleep(0.5)
            assert said in of_test.run("--all", expect=UNAVAILABLE)[1]
            if right == (TOPIC, made.input, WRITE):
                done = subprocess.run([BINARY, "produce", "--config", of_test.config], input=b'{"sql": "SELECT 1"}', capture_output=True,
                                      timeout=60, check=False)
                assert done.returncode == UNAVAILABLE and said in done.stderr.decode(), done
            rights.grant("assayd", right)
        time.sleep(0.5)
        assert broker.read(made.input) == []
        assert of_test.summary("--all")["put_back"] == 5
        of_test.settle()
        rights.take("assayd", *(right for right, _ in needed[2:]))
        time.sleep(0.5)
        assert of_test.summary("--dry-run")["done"] == 5
        rights.close()
    finally:
        broker.stop()


def test_a_compacted_topic_takes_no_receipts(kafka, dead):
    of_test = dead(partitions=1)
    of_test.send([letter(0, of_test.topics)])
    kafka.configure(of_test.topics.dead_letter, cleanup_policy="compact")
    time.sleep(1)
    _, said = of_test.run("--all", expect=UNAVAILABLE)
    assert "does not take the receipts of a redrive" in said and "cleanup.policy = delete" in said
    assert of_test.back() == {}


@pytest.mark.parametrize("arguments, said", [
    (("--since", "yesterday"), '--since "yesterday" is neither a time span, as 90s, 15m, 24h or 7d, nor a time'),
    (("--until", "0h"), '--until "0h" is neither'), (("--limit", "0"), '--limit "0" is no number from 1'),
    (("--limit", "1x"), '--limit "1x" is no number'), (("--limit", " 1"), '--limit " 1" is no number'), (("--event-id", ""), "--event-id is empty"), (("--max-redrives", "-1"), '--max-redrives "-1" is no number'),
    (("--all", "--reason", "json_syntax"), "--all goes without --reason"), (("--since", "1h", "--until", "2h"), "--since is not before --until"),
    (("all",), '"all" is too much'), (("--reason", "a") * 33, "--reason is given more than 32 times"),
])
def test_what_is_wrong_is_said(tmp_path, arguments, said):
    config = tmp_path / "assayd.conf"
    config.write_text('kafka: { bootstrap_servers = "127.0.0.1:1"; };')
    done = subprocess.run([BINARY, "redrive", *arguments, "--config", config], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, check=False)
    assert (done.returncode, done.stdout) == (USAGE, "") and said in done.stderr, done


def test_no_topic(dead):
    of_test = dead()
    of_test.config.write_text(of_test.config.read_text().replace(of_test.topics.dead_letter, f"no-{uuid.uuid4().hex}"))
    out, said = of_test.run("--dry-run", expect=UNAVAILABLE)
    assert out == "" and "there is no such topic" in said
