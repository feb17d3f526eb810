"""What the broker refuses: told by check where it can be known, and nothing of it is lost, doubled or stuck in silence."""

import base64
import hashlib
import json
import os
import pathlib
import struct
import subprocess
import time

import confluent_kafka
import pytest

import events
from daemon import BINARY, config_text
from permissions import GROUP, READ, TOPIC, TRANSACTIONAL_ID, WRITE, Permissions
from servers import Kafka, headers_of

USER = "assayd"


@pytest.fixture(scope="module")
def kafka():
    """A broker of our own, that asks who one is, and makes topics that somebody asks for and may make."""
    if os.environ.get("KAFKA_BOOTSTRAP"):
        pytest.skip("KAFKA_BOOTSTRAP names a broker without our user")
    from conftest import required

    server = required(lambda: Kafka(users=[USER], properties=["auto.create.topics.enable=true"]))
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
    return subprocess.run([BINARY, "check", "--config", str(file)], capture_output=True, text=True, timeout=180)


def awaited(attempt, wanted, timeout=120):
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
    assert f"; only with the group can be tested: {hidden}\n" in done.stdout

    permissions.grant(USER, *rights.values())
    done = awaited(lambda: check(config, tmp_path), lambda done: done.returncode == 0)
    assert "ok      kafka permissions" in done.stdout
    for kind in made.KINDS:
        assert not kafka.read(getattr(made, kind), isolation="read_uncommitted")


def test_check_names_what_is_missing_beside_topics_that_cannot_be_used(kafka, permissions, topics, tmp_path):
    """One that is not there, which is not made, and one that may not be seen."""
    made = topics(1)
    late = f"{made.name}.late"
    config = {"kafka": as_user(kafka, tmp_path, made.settings(kafka, advisory_topic=late))}
    permissions.grant(USER, (TOPIC, late, WRITE), (TOPIC, made.input, READ), (TOPIC, made.scored, READ))
    done = awaited(lambda: check(config, tmp_path), lambda done: f'topic "{late}" does not exist' in done.stdout and
                   done.stdout.count("this client has no permission on topic") == 1)
    assert f'kafka.dead_letter_topic: this client has no permission on topic "{made.dead_letter}"' in done.stdout
    lacks = done.stdout.partition("kafka permissions: this client lacks ")[2].partition("; grant")[0].split(", ")
    assert sorted(lacks) == sorted(name for name in rights_of(made) if name.startswith("WRITE") and made.advisory not in name
                                   or name == f'READ on group "{made.name}"')
    done = check({"kafka": made.settings(kafka, advisory_topic=late)}, tmp_path)
    assert done.returncode == 69 and "kafka permissions" not in done.stdout, "one of them could not be tested"
    assert late not in kafka.topics()


def test_a_replay_of_the_topic_reads_it_and_asks_for_nothing_else(kafka, permissions, topics, tmp_path):
    """READ on the topic is enough: no group. A broker that makes topics that are asked for makes none for it."""
    made = topics(2)
    file = tmp_path / "assayd.conf"
    scored = json.dumps({"sql": "SELECT 1 AS one"})
    record = subprocess.run([BINARY, "score", "--json"], input=scored, capture_output=True, text=True, timeout=180, check=True)
    kafka.produce(made.scored, [record.stdout.strip()])

    def replay(**changes):
        file.write_text(config_text({"kafka": as_user(kafka, tmp_path, made.settings(kafka, **changes))}))
        return subprocess.run([BINARY, "calibration", "--config", str(file), "--replay-topic"], capture_output=True, text=True,
                              timeout=180)

    done = replay()
    assert done.returncode == 69 and f"{made.scored}: " in done.stderr and "grant READ on it" in done.stderr, done
    permissions.grant(USER, (TOPIC, made.scored, READ))
    done = awaited(replay, lambda done: done.returncode == 0)
    assert "Replay of 1 record" in done.stdout, done
    missing = f"{made.name}.missing"
    permissions.grant(USER, (TOPIC, missing, READ), (TOPIC, missing, WRITE))
    done = awaited(lambda: replay(scored_topic=missing), lambda done: "grant READ on it" not in done.stderr)
    assert done.returncode == 69 and done.stdout == "", done
    assert f"{missing}: there is no such topic at this broker" in done.stderr and "kafka.bootstrap_servers" in done.stderr
    assert missing not in kafka.topics()


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


def awaited_log(daemon, text, timeout=180):
    deadline = time.monotonic() + timeout
    while text not in daemon.log():
        assert time.monotonic() < deadline, f"it never says {text!r}"
        time.sleep(0.1)


def awaited_status(daemon, text, timeout=180):
    deadline = time.monotonic() + timeout
    while text not in daemon.status():
        assert time.monotonic() < deadline, daemon.status()
        time.sleep(0.1)


def on_partition(number, *values):
    return [{"value": value, "partition": number} for value in values]


def noise(length):
    """Text that does not become shorter by compression, or hardly."""
    return base64.b64encode(os.urandom(length)).decode()[:length]


def letters_of(rig, count):
    return {int(headers_of(letter)["offset"]): letter for letter in rig.dead_letters(count)}


def test_messages_that_are_refused_are_found_and_shortened(rig, kafka):
    """A record that is too large goes without its event, one that is too large even so becomes a dead letter, a letter that is
    too large is cut; those beside them in the same transaction are published once, as they are."""
    config = rig.config(partitions=1, judge=None, calibration=None, targets=None, kafka={"transaction_timeout_ms": 3000})
    kafka.configure(rig.topics.scored, max_message_bytes=20_000)
    kafka.configure(rig.topics.dead_letter, max_message_bytes=100_000)
    ordinary = [events.sure() for _ in range(20)]
    large = events.sure(question=noise(120_000))
    hopeless = events.sure(model=noise(30_000))  # which the record names anyway
    repeated = events.sure(question="why " * 30_000)  # as large, and fits once it is compressed
    junk = os.urandom(200_000)
    values = [events.encode(event) for event in [*ordinary[:10], large, hopeless, *ordinary[10:]]]
    rig.send(on_partition(0, events.encode(repeated)))
    early = rig.make(config)
    early.start()
    assert rig.scored(1)[0][1]["input"]["question"] == repeated["question"]
    assert early.terminate() == 0
    rig.send(on_partition(0, *values[:6], junk, *values[6:]))
    daemon = rig.make(config)
    daemon.start()

    letters = letters_of(rig, 2)
    records = {str(record["event_id"]): record for _, record in rig.scored(len(ordinary) + 2)}
    assert records.keys() == {event["event_id"] for event in [*ordinary, large, repeated]}
    assert records[large["event_id"]]["input"] is None
    assert [name for name, record in records.items() if record["input_shortened"]] == [large["event_id"]]
    assert all(records[event["event_id"]]["input"] for event in ordinary)
    cut, refused = letters[7], letters[13]
    assert headers_of(refused)["reason"] == b"output_refused" and refused.value() == events.encode(hopeless)
    assert junk.startswith(cut.value()) and 0 < len(cut.value()) < len(junk)
    assert headers_of(cut)["length"] == b"200000" and headers_of(cut)["sha256"].decode() == hashlib.sha256(junk).hexdigest()
    again = [events.sure(question=noise(160_000)) for _ in range(50)]  # nobody has to find out again
    rig.send([events.message(event) for event in again])
    assert sum(record["input_shortened"] for _, record in rig.scored(len(ordinary) + 52)) == 51
    assert daemon.terminate() == 0 and "paused" not in daemon.log()


CODECS = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}  # KIP-98, KIP-110: the low bits of a batch's attributes


def batches(kafka, topic):
    """(codec, bytes) of every batch of data in the segments of a topic's first partition; marks of transactions are none."""
    for segment in sorted(pathlib.Path(kafka.dir, "data", f"{topic}-0").glob("*.log")):
        data = segment.read_bytes()
        while len(data) > 61:
            size = 12 + struct.unpack_from(">i", data, 8)[0]
            [attributes] = struct.unpack_from(">h", data, 21)
            if not attributes & 0x20:
                yield CODECS[attributes & 7], size
            data = data[size:]


def test_outputs_are_compressed_unless_told_otherwise(rig, kafka):
    """The same events twice: with the default, and as before."""
    made = [events.sure(question=f"How many customers live in city {number}?") for number in range(500)]
    sizes = {}
    for codec, properties in {"zstd": (), "none": ("compression.type=none",), "gzip": ("compression.codec=gzip",)}.items():
        config = rig.config(partitions=1, judge=None, calibration=None, targets=None, kafka={"properties": properties})
        rig.send([events.message(event) for event in made])
        daemon = rig.make(config)
        daemon.start()
        assert len(rig.scored(len(made))) == len(made)
        assert daemon.terminate() == 0
        found = list(batches(kafka, rig.topics.scored))
        assert {name for name, _ in found} == {codec}
        sizes[codec] = sum(size for _, size in found) / len(made)
    assert sizes["zstd"] < sizes["none"] / 3, sizes


def test_a_letter_that_is_refused_stops_its_partition_until_that_is_mended(rig, kafka):
    """A compacted topic takes no message without a key."""
    config = rig.config(partitions=2, judge=None, calibration=None, targets=None)
    kafka.configure(rig.topics.dead_letter, cleanup_policy="compact")
    daemon = rig.make(config)
    daemon.start()
    first = [events.sure() for _ in range(4)]
    rig.send([*on_partition(0, events.encode(first[0]), b"junk", events.encode(first[1])),
              *on_partition(1, *map(events.encode, first[2:]))])
    awaited_log(daemon, "partition 0 of")
    assert "cannot be published, not even as a dead letter" in daemon.log()
    rig.scored(4)
    awaited_status(daemon, "1 partitions stopped")
    held_back, other = events.sure(), events.sure()
    rig.send([*on_partition(0, events.encode(held_back)), *on_partition(1, events.encode(other))])
    names = [str(record["event_id"]) for _, record in rig.scored(5, settle=1)]
    assert sorted(names) == sorted(event["event_id"] for event in [*first, other])

    kafka.configure(rig.topics.dead_letter, cleanup_policy="delete")
    assert letters_of(rig, 1)[1].value() == b"junk"
    names = [str(record["event_id"]) for _, record in rig.scored(6)]
    assert sorted(names) == sorted(event["event_id"] for event in [*first, other, held_back])
    awaited_log(daemon, "resumes")
    assert daemon.terminate() == 0 and daemon.log().count("cannot be published, not even") == 1


def test_a_dead_letter_topic_that_may_not_be_written_to_holds_up_no_other_partition(rig, kafka, permissions, tmp_path):
    config = rig.config(partitions=2, judge=None, calibration=None, targets=None)
    config["kafka"] = as_user(kafka, tmp_path, config["kafka"])
    rights = rights_of(rig.topics)
    write = rights[f'WRITE on topic "{rig.topics.dead_letter}"']
    permissions.grant(USER, *rights.values(), (TOPIC, rig.topics.dead_letter, READ))
    daemon = rig.make(config)
    daemon.start()
    permissions.take(USER, write)
    awaited(lambda: check(config, tmp_path), lambda done: done.stdout.count(f'lacks WRITE on topic "{rig.topics.dead_letter}";'))
    good = [events.sure() for _ in range(3)]
    rig.send([*on_partition(0, b"junk", events.encode(good[0])), *on_partition(1, *map(events.encode, good[1:]))])
    rig.scored(3)
    awaited_log(daemon, "partition 0 of")
    permissions.grant(USER, write)
    letters_of(rig, 1)
    awaited_log(daemon, "resumes")
    assert len(rig.scored()) == 3 and daemon.running()


def test_a_batch_that_cannot_be_unpacked_is_told(rig, kafka):
    """Six kilobytes on the way, more than a consumer takes when they are unpacked."""
    daemon = rig.start(partitions=2, judge=None, calibration=None, targets=None)
    producer = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap, "compression.type": "zstd", "log_level": 2,
                                         "message.max.bytes": 900_000_000, "queue.buffering.max.kbytes": 1_000_000})
    producer.produce(rig.topics.input, bytes(110_000_000), partition=0)
    assert producer.flush(180) == 0
    rig.send(on_partition(1, events.encode(events.sure())))
    rig.scored(1)
    awaited_log(daemon, "partition 0 of")
    time.sleep(1)
    assert daemon.log().count("cannot be decompressed") == 1 and daemon.terminate() == 0
