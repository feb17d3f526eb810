"""The tamper-evident log as operators and auditors meet it: a real broker, a real database, and daemons that are stopped in all
ways. The tree is computed again here, from RFC 6962 alone."""

import base64
import hashlib
import json
import os
import pathlib
import shutil
import struct
import subprocess
import time

import confluent_kafka
import psycopg2
import pytest

import events
import manual
import openmetrics
from daemon import BINARY

USAGE, DIFFERS, AGAIN = 64, 65, 75
NAME = "example.com/assayd"


def command(*arguments, config=None):
    return subprocess.run([BINARY, "audit", *arguments, *(["--config", config] if config else [])], capture_output=True,
                          text=True, timeout=300, check=False)


# ---- RFC 6962, apart from the program

def leaf_hash(offset, key, value):
    def text(data):
        return struct.pack(">I", 0xffffffff) if data is None else struct.pack(">I", len(data)) + data
    return hashlib.sha256(b"\0\1" + struct.pack(">Q", offset) + text(key) + text(value)).digest()


def root(leaves):
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + root(leaves[:half]) + root(leaves[half:])).digest()


class Log:
    """A rig with a log: its key, its settings, what its database has."""

    def __init__(self, rig, folder):
        self.rig, self.folder = rig, folder
        made = command("key", NAME, "--output", str(folder / "key"))
        assert made.returncode == 0, made
        self.key = made.stdout.strip()
        self.file = folder / "checkpoints"

    def settings(self, **changes):
        return {"log": True, "key_file": str(self.folder / "key"), "checkpoint_file": str(self.file),
                "checkpoint_interval_s": 1, **changes}

    def start(self, partitions=4, topic=True, changes=None, **groups):
        groups = {"judge": None, "targets": None, **groups}
        config = self.rig.config(partitions=partitions, audit=self.settings(**(changes or {})), **groups)
        self.checkpoint_topic = f"{self.rig.topics.name}.checkpoints"
        if topic:
            self.rig.kafka.create_topics([self.checkpoint_topic], 1, cleanup_policy="compact")
            config["audit"]["checkpoint_topic"] = self.checkpoint_topic
        return self.rig.make(config).start()

    def sql(self, text):
        return self.rig.postgres.execute(text, self.rig.calibration_database)

    def rows(self):
        """By partition: size, root as the newest state's, and whether it is stopped."""
        try:
            return {row[0]: row[1:] for row in self.sql("SELECT partition, size, stopped FROM audit_logs ORDER BY partition")}
        except psycopg2.errors.UndefinedTable:
            return {}

    def leaves(self, partition):
        tiles = self.sql(f"SELECT hashes FROM audit_tiles WHERE level = 0 AND partition = {partition} ORDER BY index")
        data = b"".join(bytes(row[0]) for row in tiles)
        return [data[at:at + 32] for at in range(0, len(data), 32)]

    def records(self):
        """What the topic has: leaf hashes by partition."""
        found = {number: [] for number in range(self.rig.topics.partitions)}
        for message in sorted(self.rig.kafka.read(self.rig.topics.scored, None, settle=3), key=lambda one: one.offset()):
            found[message.partition()].append(leaf_hash(message.offset(), message.key(), message.value()))
        return found

    def end(self):
        """Where partition 0 of the scored topic ends, behind the mark of its last transaction."""
        consumer = confluent_kafka.Consumer({"bootstrap.servers": self.rig.kafka.bootstrap, "group.id": "end", "log_level": 2})
        _, end = consumer.get_watermark_offsets(confluent_kafka.TopicPartition(self.rig.topics.scored, 0), timeout=60)
        consumer.close()
        return end

    def await_logged(self, count, timeout=120):
        deadline = time.monotonic() + timeout
        while (found := sum(row[0] for row in self.rows().values())) < count:
            assert time.monotonic() < deadline, (found, self.rig.daemon.log_tail())
            time.sleep(0.2)

    def await_signed(self, timeout=60):
        """Until all leaves are below a checkpoint that is in the topic and the file."""
        unsigned = """SELECT count(*) FROM audit_logs l WHERE size > 0 AND NOT EXISTS (SELECT FROM audit_checkpoints c WHERE
                      c.partition = l.partition AND c.size = l.size AND in_file_at IS NOT NULL AND in_topic_at IS NOT NULL)"""
        deadline = time.monotonic() + timeout
        while (found := self.sql(unsigned)[0][0]):
            assert time.monotonic() < deadline, (found, self.rig.daemon.log_tail())
            time.sleep(0.2)

    def check_tree(self):
        """The tiles are those of the topic's records, and each newest checkpoint has their root."""
        records = self.records()
        for partition, (size, stopped) in self.rows().items():
            assert stopped is None
            leaves = self.leaves(partition)
            assert len(leaves) == size and leaves == records[partition]
            for note, at in self.sql(f"SELECT note, size FROM audit_checkpoints WHERE partition = {partition}"):
                lines = note.split("\n")
                assert lines[0] == f"{NAME}/{self.rig.topics.scored}/{partition}" and lines[1] == str(at)
                assert base64.b64decode(lines[2]) == root(leaves[:at])


def await_status(daemon, text, timeout=60):
    deadline = time.monotonic() + timeout
    while text not in daemon.status():
        assert time.monotonic() < deadline, daemon.status()
        time.sleep(0.2)


@pytest.fixture
def log(rig, tmp_path):
    return Log(rig, tmp_path)


def send(log, count):
    log.rig.send([events.message(events.sure(sql="SELECT 1")) for _ in range(count)])


def test_a_log_grows_is_signed_and_published(log):
    log.start()
    send(log, 1000)
    log.await_logged(1000)
    log.await_signed()
    log.check_tree()
    metrics = openmetrics.Metrics(log.rig.daemon)
    assert metrics.value("assayd_audit_records") == 1000 and metrics.value("assayd_audit_stopped_partitions") == 0
    notes = {note for (note,) in log.sql("SELECT note FROM audit_checkpoints")}
    in_file = log.file.read_text()
    assert all(note + "\n" in in_file for note in notes) and in_file.count("\n\n\u2014 ") == len(notes)
    newest = {}
    for message in log.rig.kafka.read(log.checkpoint_topic, None, settle=2):
        newest[message.key().decode()] = message.value().decode()
    assert set(newest.values()) <= notes and len(newest) == 4
    assert oct((log.folder / "key").stat().st_mode & 0o777) == "0o600"
    log.rig.daemon.terminate()


def test_the_same_tree_whatever_happens_meanwhile(log, make_daemon):
    """A second instance comes and goes, both are killed in the middle, the database restarts: the tree is that of one quiet run."""
    first = log.start(kafka={"session_timeout_ms": 6000})
    second = make_daemon({**first.config, "kafka": {**first.config["kafka"], "instance_id": f"{log.rig.topics.name}-2"}})
    send(log, 1500)
    log.await_logged(300)
    second.start()
    send(log, 1500)
    log.await_logged(1800)
    first.kill()
    send(log, 1000)
    time.sleep(1)
    second.kill()
    first.start()
    log.rig.postgres.restart()
    send(log, 1000)
    log.await_logged(5000, timeout=180)
    log.await_signed()
    log.check_tree()
    sizes = [row[0] for row in log.rows().values()]
    assert sum(sizes) == 5000 and len(sizes) == 4
    first.terminate()


def test_a_topic_that_was_made_again_stops_the_log_and_nothing_else(log):
    daemon = log.start(partitions=1)
    send(log, 300)
    log.await_logged(300)
    daemon.terminate()
    end = log.end()
    log.rig.kafka.recreate_topic(log.rig.topics.scored, 1)
    daemon.start()
    send(log, 20)
    log.rig.kafka.read(log.rig.topics.scored, 20)  # scoring goes on
    daemon.await_log("it is another topic under the name, or its end was lost; nothing is added to it")
    size, stopped = log.rows()[0]
    assert size == 300 and "ends at offset" in stopped
    await_status(daemon, "stopped: audit log of partition 0")
    nowhere = command("begin-again", "--partition", "1", "--reason", "x", config=daemon.config_file)
    assert nowhere.returncode == USAGE and "has no such partition, only 0 to 0" in nowhere.stderr
    assert list(log.rows()) == [0]  # and no log was begun for it
    assert command("begin-again", "--partition", "0", config=daemon.config_file).returncode == USAGE
    done = command("begin-again", "--partition", "0", "--reason", "made again on Monday", config=daemon.config_file)
    assert done.returncode == 0 and "begins again at offset 0: leaf 300 says so" in done.stdout, done
    log.await_logged(321)
    reached = log.sql("SELECT from_offset FROM audit_marks")[0][0]
    assert reached in (end - 1, end)  # whether the end of the last transaction was passed
    mark = struct.pack(">BBQQI", 2, 2, reached, 0, 20) + b"made again on Monday"
    assert log.leaves(0)[300:] == [hashlib.sha256(b"\0" + mark).digest(), *log.records()[0]]
    assert command("begin-again", "--partition", "0", "--reason", "x", config=daemon.config_file).returncode == USAGE
    daemon.terminate()
    # it is looked at again whenever it is assigned: where it is the logged one after all, it goes on
    log.sql("TRUNCATE audit_logs, audit_tiles, audit_checkpoints")
    daemon.start()
    log.await_logged(20)
    log.sql("UPDATE audit_logs SET stopped = 'another topic'")
    daemon.terminate()
    daemon.start()
    send(log, 20)
    log.await_logged(40)
    assert log.rows()[0][1] is None and "is the topic that was logged: its audit log goes on" in daemon.log()
    log.check_tree()


def test_a_topic_that_was_made_again_while_the_database_was_away_is_noticed(log):
    """The new topic is longer than what was logged of the old one: its end does not tell it."""
    daemon = log.start(partitions=1)
    send(log, 100)
    log.await_logged(100)
    log.await_signed()
    log.rig.postgres.halt()
    try:
        send(log, 1)
        daemon.await_log("the audit log waits")
        log.rig.kafka.recreate_topic(log.rig.topics.scored, 1)
        send(log, 400)
        log.rig.kafka.read(log.rig.topics.scored, 400)
    finally:
        log.rig.postgres.resume()
    daemon.await_log("is not the one that was logged there: it is another topic under the name")
    daemon.await_log("nothing is added to it before that is mended")
    size, stopped = log.rows()[0]
    assert size in (100, 101) and "is not the one that was logged there" in stopped
    done = command("begin-again", "--partition", "0", "--reason", "made again", config=daemon.config_file)
    assert done.returncode == 0, done
    log.await_logged(size + 1 + 400)


def test_a_log_goes_on_unsigned_where_a_start_finds_no_key(log):
    daemon = log.start(partitions=1)
    send(log, 20)
    log.await_logged(20)
    log.await_signed()
    daemon.terminate()
    key = log.folder / "key"
    key.rename(log.folder / "away")
    daemon.start()
    daemon.await_log("the audit log is not signed, and goes on")
    send(log, 20)
    log.await_logged(40)
    (log.folder / "away").rename(key)
    log.await_signed()
    log.check_tree()


def test_records_that_were_deleted_unread_are_a_mark(log):
    daemon = log.start(partitions=1, changes={"log": False})
    send(log, 50)
    log.rig.kafka.read(log.rig.topics.scored, 50)
    daemon.terminate()
    log.rig.kafka.delete_records(log.rig.topics.scored, 0, 20)
    left = log.records()[0]  # marks of transactions may be among what is gone
    assert len(left) >= 30
    daemon.config["audit"]["log"] = True
    daemon.start()
    log.await_logged(1 + len(left))
    assert log.sql("SELECT index, kind, from_offset, to_offset FROM audit_marks") == [(0, "gap", 0, 20)]
    mark = hashlib.sha256(b"\0\2\1" + struct.pack(">QQ", 0, 20) + bytes(4)).digest()
    assert log.leaves(0) == [mark, *left]


# ---- what auditors do


def verified(log, *arguments, config=True):
    """The report as JSON, and the exit status."""
    done = command("verify", "--json", *arguments, config=log.rig.daemon.config_file if config else None)
    assert done.returncode in (0, DIFFERS), done
    return done.returncode, {part["partition"]: part for part in json.loads(done.stdout)["partitions"]}


@pytest.fixture
def signed(log):
    """A log of 1200 records in 2 partitions, all of them signed, whose daemon has ended."""
    log.start(partitions=2)
    send(log, 600)
    log.await_logged(600)
    time.sleep(1.5)
    send(log, 600)
    log.await_logged(1200)
    log.await_signed()
    log.rig.daemon.terminate()
    return log


def test_a_topic_is_verified_with_and_without_the_database(signed):
    log = signed
    for arguments in ((), ("--no-database",), ("--no-database", "--key", log.key, "--checkpoints", str(log.file))):
        status, parts = verified(log, *arguments)
        assert status == 0 and len(parts) == 2
        for partition, (size, _) in log.rows().items():
            part = parts[partition]
            assert part["verified"] and part["leaves_verified"] == part["records"] == size and part["from_records_alone"]
            assert part["records_compared"] == (0 if arguments else size) and part["checkpoints_fitting"] >= 2
    text = command("verify", config=log.rig.daemon.config_file)
    assert text.returncode == 0 and "the tree follows from the records alone" in text.stdout
    # another key: nothing of it is signed
    other = command("key", NAME, "--output", str(log.folder / "other")).stdout.strip()
    status, parts = verified(log, "--key", other)
    assert status == DIFFERS and all(part["checkpoints_unsigned"] for part in parts.values())
    # both may sign: who trusts either verifies
    assert verified(log, "--key", other, "--key", log.key)[0] == 0
    # older records go, the leaves stay
    gone = sum(message.partition() == 0 and message.offset() < 100 for message in log.rig.kafka.read(log.rig.topics.scored, 1200))
    log.rig.kafka.delete_records(log.rig.topics.scored, 0, 100)
    status, parts = verified(log)
    assert status == 0 and parts[0]["leaves_gone"] == gone and not parts[0]["from_records_alone"]
    status, parts = verified(log, "--no-database")
    assert status == DIFFERS and parts[1]["verified"] and "nothing can be verified" in parts[0]["differences"][0]["text"]
    # a database that was set back is found by the checkpoints elsewhere
    log.sql("DELETE FROM audit_checkpoints; UPDATE audit_logs SET size = 10")
    status, parts = verified(log)
    assert status == DIFFERS and {part["differences"][-1]["kind"] for part in parts.values()} == {"database"}


def test_exports_that_were_tampered_with(signed):
    log = signed
    done = command("export", config=log.rig.daemon.config_file)
    assert done.returncode == 0
    lines = done.stdout.splitlines(keepends=True)
    assert len(lines) == 1200
    file = log.folder / "export"
    offline = ("--export", str(file), "--key", log.key, "--checkpoints", str(log.file))
    at = next(number for number, line in enumerate(lines) if json.loads(line)["partition"] == 1) - 200
    record = json.loads(lines[at])
    offset = record["offset"]

    def found(changed):
        """The first difference with the database, and whether it is found without."""
        file.write_text("".join(changed), encoding="utf-8")
        status, parts = verified(log, *offline, config=False)
        assert status == DIFFERS and not parts[0]["verified"] and parts[1]["verified"]
        status, parts = verified(log, "--export", str(file))
        assert status == DIFFERS and parts[1]["verified"] and parts[0]["differences_count"] == 1
        return tuple(parts[0]["differences"][0][name] for name in ("kind", "from_offset", "to_offset"))

    for hostile in ("not JSON", '{"topic": "a\\u001b[2J", "partition": 0, "offset": 1, "key": null, "value": null}'):
        file.write_text(hostile + "\n", encoding="utf-8")
        done = command("verify", *offline)
        assert done.returncode == DIFFERS and "line 1: " in done.stderr and "\x1b" not in done.stdout + done.stderr, done
    file.write_text("".join(lines), encoding="utf-8")
    assert verified(log, *offline, config=False)[0] == 0 and verified(log, "--export", str(file))[0] == 0
    value = bytearray(base64.b64decode(record["value"]))
    value[len(value) // 2] ^= 1
    flipped = json.dumps({**record, "value": base64.b64encode(value).decode()}) + "\n"
    assert found([*lines[:at], flipped, *lines[at + 1:]]) == ("changed", offset, offset)
    kind, start, end = found([*lines[:at], *lines[at + 1:]])
    assert kind == "removed" and start <= offset <= end
    extra = json.dumps({**record, "offset": offset, "key": None}) + "\n"
    assert found([*lines[:at], extra, *lines[at:]]) == ("inserted", offset, offset)
    swapped = [*lines[:at], lines[at + 1], lines[at], *lines[at + 2:]]
    assert found(swapped)[0] == "reordered"


def test_what_is_proven_is_verified_before_it_is_handed_out(signed):
    log = signed
    message = log.rig.kafka.read(log.rig.topics.scored, None, settle=2)[77]
    event_id, config = message.key().decode(), log.rig.daemon.config_file
    done = command("prove", event_id, "--output", str(log.folder), config=config)
    assert done.returncode == 0, done
    stem = log.folder / f"{log.rig.topics.scored}-{message.partition()}-{message.offset()}"
    proof, leaf = pathlib.Path(f"{stem}.tlog-proof").read_text(), pathlib.Path(f"{stem}.leaf").read_bytes()
    assert hashlib.sha256(b"\0" + leaf).digest() == leaf_hash(message.offset(), message.key(), message.value())
    lines = proof.splitlines()
    assert lines[0] == "c2sp.org/tlog-proof@v1" and lines[2].startswith("index ")
    # from the leaf to the root, by RFC 9162
    index, node, size = int(lines[2][6:]), hashlib.sha256(b"\0" + leaf).digest(), int(lines[lines.index("") + 2])
    last = size - 1
    for line in lines[3:lines.index("")]:
        sibling = base64.b64decode(line)
        if index & 1 or index == last:
            node = hashlib.sha256(b"\1" + sibling + node).digest()
            while index and not index & 1:
                index, last = index >> 1, last >> 1
        else:
            node = hashlib.sha256(b"\1" + node + sibling).digest()
        index, last = index >> 1, last >> 1
    assert index == last == 0 and base64.b64encode(node).decode() == lines[lines.index("") + 3]
    done = command("prove", "nobody's", config=config)
    assert done.returncode == DIFFERS and "has no record with the key" in done.stderr
    done = command("prove", event_id, "--partition", "77", config=config)
    assert done.returncode == USAGE and "--partition 77: " in done.stderr and "only 0 to 1" in done.stderr
    log.sql("UPDATE audit_tiles SET hashes = decode(repeat('00', 32), 'hex') || substr(hashes, 33) WHERE level = 0")
    others = [other for other in log.rig.kafka.read(log.rig.topics.scored, None, settle=2)
              if other.partition() == message.partition() and other.offset() > message.offset()]
    done = command("prove", others[-1].key().decode(), "--output", str(log.folder), config=config)
    assert done.returncode == DIFFERS and "do not lead to the signed root" in done.stderr
    log.sql("DELETE FROM audit_checkpoints")
    assert command("prove", event_id, "--output", str(log.folder), config=config).returncode == AGAIN


def test_a_check_says_what_is_wrong_with_the_log(signed):
    log = signed

    def checked(expected=0):
        done = subprocess.run([BINARY, "check", "--config", log.rig.daemon.config_file], capture_output=True, text=True,
                              timeout=300, check=False)
        assert (done.returncode == 0) == (expected == 0), done
        return [line for line in done.stdout.splitlines() if "audit log" in line or "permissions" in line]

    good = checked()
    assert len(good) >= 4 and not any("error" in line or "warning" in line for line in good), good
    log.sql("UPDATE audit_logs SET stopped = 'another topic' WHERE partition = 1")
    assert any("warning" in line and "partition 1 is stopped: another topic" in line for line in checked())
    log.rig.kafka.configure(log.checkpoint_topic, cleanup_policy="delete")
    assert any("warning" in line and "cleanup.policy" in line for line in checked())
    assert command("key", "another.example/name", "--output", str(log.folder / "third")).returncode == 0
    (log.folder / "third").rename(log.folder / "key")
    assert any("error" in line and "use a key of that name" in line for line in checked(1))
    (log.folder / "key").unlink()
    assert any("error" in line and "audit log key" in line for line in checked(1))


def test_a_check_without_servers_looks_at_the_files_of_the_log(log):
    daemon = log.start(topic=False)
    daemon.terminate()
    config = daemon.config
    key, file = log.folder / "key", log.folder / "other"

    def checked(expected, *said, **changes):
        config["audit"].update({"checkpoint_file": str(file), **changes})
        daemon.write_config()
        done = subprocess.run([BINARY, "check", "--offline", "--config", daemon.config_file], capture_output=True, text=True,
                              timeout=60, check=False)
        lines = [line for line in done.stdout.splitlines() if "audit log" in line]
        assert done.returncode == expected and all(any(text in line for line in lines) for text in said), done

    checked(0, "ok      audit log key", "ok      audit log file")
    assert not file.exists()
    checked(78, "is the file of the key", checkpoint_file=str(key))
    file.mkdir()
    checked(74, "a directory")
    file.rmdir()
    file.symlink_to("/dev/null")
    checked(74, "a symbolic link")
    file.unlink()
    key.chmod(0o644)
    checked(0, "is open to others (mode 644)")
    key.write_text("PRIVATE+KEY+nothing\n")
    checked(65, "audit log key")
    key.unlink()
    checked(66, "audit log key")


def test_keys_are_changed_while_the_daemon_runs(log):
    daemon = log.start(partitions=1)
    send(log, 20)
    log.await_logged(20)
    log.await_signed()
    alone = log.file.read_text().count("\u2014 ")  # checkpoints that the first key signs alone
    key = log.folder / "key"
    second = command("key", NAME, "--output", str(log.folder / "second")).stdout.strip()
    key.write_text(key.read_text() + (log.folder / "second").read_text())
    send(log, 20)
    log.await_logged(40)
    log.await_signed()
    assert log.file.read_text().split("\n\n")[-2].count("\u2014 ") == 2
    key.write_text((log.folder / "second").read_text())
    send(log, 20)
    log.await_logged(60)
    log.await_signed()
    key.rename(log.folder / "away")
    send(log, 20)
    log.await_logged(80)
    daemon.await_log("the audit log is not signed, and goes on")
    (log.folder / "away").rename(key)
    log.await_signed()
    assert verified(log, "--key", log.key, "--key", second)[0] == 0
    status, parts = verified(log, "--key", second)
    assert status == DIFFERS and parts[0]["checkpoints_unsigned"] == 3 * alone and parts[0]["differences_count"] == 0
    other = command("key", "another.example/name", "--output", str(log.folder / "third"))
    assert other.returncode == 0
    key.write_text((log.folder / "third").read_text())
    send(log, 20)
    daemon.await_log('the key is now called "another.example/name" instead of "example.com/assayd"')
    daemon.terminate()


# ---- what the manual says of backups


class Administrator:
    """Runs lines of the manual as they stand there, but for where the configuration is and who starts and stops the daemon."""

    def __init__(self, log, folder):
        self.daemon, self._folder, self.etc = log.rig.daemon, folder, folder / "etc"
        for name in (self.etc, folder / "bin"):
            name.mkdir(parents=True)
        (folder / "bin" / "assayd").symlink_to(BINARY)
        shutil.copy(self.daemon.config_file, self.etc / "assayd.conf")
        postgres = os.environ.get("ASSAYD_POSTGRES_BIN", "/usr/lib/postgresql/15/bin")
        self._environment = {"PATH": f"{folder}/bin:{postgres}:/usr/bin:/bin", "PGHOST": "127.0.0.1", "PGPORT": str(log.rig.postgres.port),
                             "PGUSER": "postgres"}

    def run(self, line):
        if line.startswith("systemctl"):
            assert line in ("systemctl stop assayd", "systemctl start assayd")
            return self.daemon.start() if "start" in line else self.daemon.terminate()
        done = subprocess.run(["sh", "-c", line.replace("/etc/assayd", str(self.etc))], cwd=self._folder, env=self._environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
        assert done.returncode == 0, (line, done.stdout, self.daemon.log_tail())
        return done.stdout


def test_backup_and_restore_as_the_manual_has_them(log, shop_target, tmp_path):
    """What was scored after the backup is counted and logged once more, into the same sums and the same tree."""
    log.rig.postgres.execute("CREATE DATABASE assayd OWNER assayd")
    log.rig.calibration_database = "assayd"
    daemon = log.start(partitions=2, targets=(shop_target,))
    administrator = Administrator(log, tmp_path / "administrator")
    configuration = administrator.etc / "assayd.conf"
    kept = configuration.read_text()
    backup, restore, verify, audit_verify = manual.commands("BACKUP AND RESTORE")

    def send_labelled(count):
        log.rig.send([events.message(events.sure(target="shop", ground_truth={"sql": events.CITY_COUNT})) for _ in range(count)])

    def settled(count):
        log.await_logged(count)
        log.await_signed()
        log.rig.await_calibration([record for _, record in log.rig.scored(count)])

    send_labelled(100)
    settled(100)
    for line in backup:
        administrator.run(line)
    send_labelled(60)
    settled(160)
    log.sql("UPDATE calibration_rollups SET cases = cases + 1")
    log.sql("DELETE FROM audit_tiles")
    configuration.write_text("what somebody has made of it")
    for line in restore:
        administrator.run(line)
    assert configuration.read_text() == kept
    settled(160)
    log.check_tree()
    assert ", 0 differ" in administrator.run(*verify)
    assert administrator.run(*audit_verify).count("verified: ") == 2
    daemon.terminate()
