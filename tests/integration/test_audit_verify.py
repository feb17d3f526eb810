"""What `assayd audit verify` finds: a real log is tampered with in every place where it lies, one thing at a time, and each has its
name. Beside that: what it does not take for tampering, and what it says of what it has not verified."""

import base64
import copy
import json
import os
import subprocess

from daemon import BINARY, config_text
from test_audit_log import DIFFERS, NAME, USAGE, Log, command, send

TABLES = ("audit_logs", "audit_tiles", "audit_checkpoints", "audit_marks")


class Signed(Log):
    """A log of two partitions whose daemon has ended, all of it signed, with a copy of its tables and an export."""

    def __init__(self, rig, folder):
        super().__init__(rig, folder)
        self.start(partitions=2)
        for batch in (700, 300, 20, 200, 300, 80):
            total = sum(row[0] for row in self.rows().values())
            send(self, batch)
            self.await_logged(total + batch)
            self.await_signed()
        rig.daemon.terminate()
        self.config = rig.daemon.config_file
        for table in TABLES:
            self.sql(f"CREATE TABLE kept_{table} AS TABLE {table}")
        done = command("export", config=self.config)
        assert done.returncode == 0, done
        self.lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.export = folder / "export"
        self.notes = self.file.read_bytes()
        self.sizes = [row[0] for row in self.sql("SELECT size FROM audit_checkpoints WHERE partition = 0 ORDER BY size")]
        assert len(self.sizes) >= 5, self.sizes
        self.write(self.lines)

    def write(self, lines):
        self.export.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    def restore(self):
        self.sql("; ".join(f"TRUNCATE {table}; INSERT INTO {table} TABLE kept_{table}" for table in TABLES))

    def of(self, partition):
        """The positions of its lines."""
        return [at for at, line in enumerate(self.lines) if line["partition"] == partition]

    def verify(self, *arguments, source="export", config=None):
        """Exit status and report; with the database unless told otherwise."""
        from_file = ("--export", str(self.export)) if source == "export" else ()
        with_config = () if config is False else ("--config", config or self.config)
        done = subprocess.run([BINARY, "audit", "verify", "--json", *from_file, *arguments, *with_config], capture_output=True,
                              text=True, timeout=300, check=False)
        assert done.returncode in (0, DIFFERS) and done.stdout, done
        return done.returncode, json.loads(done.stdout)

    def offline(self, *arguments):
        return self.verify("--key", self.key, "--checkpoints", str(self.file), *arguments, config=False)


def notes_of(data):
    """The notes in the bytes of a file, each with the empty line behind it."""
    blocks = data.split(b"\n\n")[:-1]
    return [b"".join(block + b"\n\n" for block in blocks[at:at + 2]) for at in range(0, len(blocks), 2)]


def kinds(report):
    """Of all differences, and "unsigned"."""
    found = [difference["kind"] for part in (report, *report["partitions"]) for difference in part["differences"]]
    return found + ["unsigned" for part in report["partitions"] if part["checkpoints_unsigned"]]


def part_of(report, partition=0):
    return next(part for part in report["partitions"] if part["partition"] == partition)


def flip(text, at=None):
    """Base 64 of the same bytes but for one bit."""
    data = bytearray(base64.b64decode(text))
    data[len(data) // 2 if at is None else at] ^= 1
    return base64.b64encode(data).decode()


# ---- records: name, what becomes of the lines (given those of partition 0), what is found of it with the database, and without

FAR = 1000000


def changed(position, **members):
    def change(log, lines, own):
        at = own[position]
        lines[at] = {**lines[at], **{name: value(lines[at]) if callable(value) else value for name, value in members.items()}}
    return change


def without(start, stop):
    def change(log, lines, own):
        lines[own[0]:own[-1] + 1] = [lines[at] for number, at in enumerate(own) if not start <= number < stop]
    return change


def inserted(position, count=1, **members):
    """Copies of the first record, with offsets from FAR on unless told otherwise."""
    def change(log, lines, own):
        at = own[-1] + 1 if position == -1 else own[position]
        lines[at:at] = [{**lines[own[0]], "offset": FAR + number, **members} for number in range(count)]
    return change


def moved(start, end):
    def change(log, lines, own):
        line = lines.pop(own[start])
        lines.insert(own[end], line)
    return change


def far_ones_out_of_order(log, lines, own):
    inserted(-1, 3)(log, lines, own)
    at = own[-1] + 1
    lines[at], lines[at + 1] = lines[at + 1], lines[at]


def many_changed(log, lines, own):
    for position in range(20, 320):
        changed(position, value=lambda line: flip(line["value"]))(log, lines, own)


RECORDS = [
    ("a bit of a value", changed(300, value=lambda line: flip(line["value"])), ["changed"], ["root"]),
    ("a bit of a key", changed(0, key=lambda line: flip(line["key"])), ["changed"], ["root"]),
    ("no key", changed(-1, key=None), ["changed"], ["root"]),
    ("no value", changed(17, value=None), ["changed"], ["root"]),
    ("300 in a row", many_changed, ["changed"], ["root"]),
    ("an offset that is far", changed(300, offset=FAR), ["inserted", "removed"], ["reordered", "root"]),
    ("the first becomes a far one", changed(0, offset=FAR), ["inserted"], ["reordered", "root"]),
    ("one is gone", without(300, 301), ["removed"], ["root"]),
    ("the last are gone", lambda log, lines, own: lines.__delitem__(slice(own[-1] - 4, own[-1] + 1)), ["removed"], ["removed"]),
    ("a hundred are gone", without(100, 200), ["removed"], ["root"]),
    ("one twice", inserted(1, offset=0), ["reordered"], ["reordered", "root"]),
    ("the first two swapped", moved(0, 1), ["reordered"], ["reordered", "root"]),
    ("two swapped", moved(300, 301), ["reordered"], ["reordered", "root"]),
    ("one moved far forward", moved(400, 20), ["reordered"], ["reordered", "root"]),
    ("the first moved to the end", moved(0, -1), ["reordered"], ["reordered", "root"]),
    ("far in front", inserted(0), ["inserted"], ["reordered", "root"]),
    ("twenty far ones in front", inserted(0, 20), ["inserted"], ["reordered", "root"]),
    ("far in the second place", inserted(1), ["inserted"], ["reordered", "root"]),
    ("far in the middle", inserted(400), ["inserted"], ["reordered", "root"]),
    ("far at the end, out of order", far_ones_out_of_order, ["reordered"], ["reordered"]),
]


def records_that_were_tampered_with_have_a_name(log):
    own = log.of(0)
    for arguments in (log.verify, log.offline):
        status, report = arguments("--all-covered", "--all-kept")
        assert status == 0 and kinds(report) == [], report
        assert all(part["records_verified"] == part["records"] > 700 for part in report["partitions"])
    wrong = []
    for name, change, with_database, without_database in RECORDS:
        lines = copy.deepcopy(log.lines)
        change(log, lines, own)
        log.write(lines)
        for verify, expected in ((log.verify, with_database), (log.offline, without_database)):
            status, report = verify()
            found = sorted(kinds(report))
            if status != DIFFERS or found != sorted(expected) or part_of(report)["verified"] or not part_of(report, 1)["verified"]:
                wrong.append((name, status, found, [one["text"] for one in part_of(report)["differences"]]))
    assert not wrong, "\n".join(map(str, wrong))
    log.write([{**line, "partition": 1 - line["partition"]} for line in log.lines])
    assert log.verify()[0] == log.offline()[0] == DIFFERS


def what_is_not_verified_is_told(log):
    own = log.of(0)
    size = len(own)

    def told(lines, *arguments):
        log.write(lines)
        for verify in (log.verify, log.offline):
            status, report = verify()
            assert status == 0, report
            yield part_of(report)
            assert verify(*arguments)[0] == DIFFERS
    behind = copy.deepcopy(log.lines)
    inserted(-1, 7)(log, behind, own)
    for part in told(behind, "--all-covered"):
        assert part["records"] == size + 7 and part["records_verified"] == size and part["records_unlogged"] == 7
        assert (part["unlogged_from"], part["unlogged_to"]) == (FAR, FAR + 6)
    text = command("verify", "--export", str(log.export), config=log.config)
    assert f"verified: {size} records below {size} leaves" in text.stdout
    assert f"not covered: 7 records, from offset {FAR} to {FAR + 6}, are not in the log yet" in text.stdout
    # the newest checkpoints are known to nobody: the leaves behind the others are covered by none
    covered = log.sizes[-3]
    log.sql(f"DELETE FROM audit_checkpoints WHERE partition = 0 AND size > {covered}")
    older = log.folder / "older"
    older.write_bytes(b"".join(note for note in notes_of(log.notes) if not note.startswith(f"{NAME}/{log.rig.topics.scored}/0\n".encode()) or
                               int(note.split(b"\n")[1]) <= covered))
    log.write(log.lines)
    status, report = log.verify("--checkpoints", str(older))
    part = part_of(report)
    assert status == 0 and part["records_verified"] == covered and part["records_logged_only"] == size - covered, report
    assert log.verify("--checkpoints", str(older), "--all-covered")[0] == DIFFERS
    log.restore()
    # the copy of a file may be older than the database; the daemon's own file may not
    status, report = log.verify("--checkpoints", str(older))
    assert status == 0 and part_of(report)["checkpoints_newer"] == 2 and part_of(report)["records_verified"] == size
    # what has been cleaned up from below is no tampering; it has to be in the file
    log.sql(f"DELETE FROM audit_checkpoints WHERE partition = 0 AND size <= {log.sizes[1]}")
    status, report = log.verify()
    assert status == 0 and part_of(report)["checkpoints_older"] == 2 and part_of(report)["checkpoints_fitting"] == len(log.sizes)
    log.restore()
    # of the beginning, and of a partition, nobody knows whether they expired; without the database they are missing
    for lines, gone in ((log.lines[:own[0]] + log.lines[own[0] + 5:], 5), ([line for line in log.lines if line["partition"]], size)):
        log.write(lines)
        status, report = log.verify()
        assert status == 0 and part_of(report)["leaves_gone"] == gone, report
        assert log.verify("--all-kept")[0] == log.offline()[0] == DIFFERS
    text = command("verify", "--export", str(log.export), config=log.config)
    assert f"not kept: the records of {size} leaves are not there any more" in text.stdout


# ---- the database: what is done to the rows of partition 0, and what is found

def bit(column, byte=0):
    return f"set_byte({column}, {byte}, get_byte({column}, {byte}) # 1)"


OWN = "partition = 0"
MIDDLE = "partition = 0 AND size = (SELECT size FROM audit_checkpoints WHERE partition = 0 ORDER BY size OFFSET 2 LIMIT 1)"
NEWEST = "partition = 0 AND size = (SELECT max(size) FROM audit_checkpoints WHERE partition = 0)"
LAST_TILE = "partition = 0 AND level = 0 AND index = (SELECT max(index) FROM audit_tiles WHERE partition = 0 AND level = 0)"

DATABASE = [
    ("leaf of the first tile", f"UPDATE audit_tiles SET hashes = {bit('hashes', 40)} WHERE {OWN} AND level = 0 AND index = 0", {"changed", "tile", "database"}),
    ("leaf of the last tile", f"UPDATE audit_tiles SET hashes = {bit('hashes', 7)} WHERE {LAST_TILE}", {"changed", "database"}),
    ("hash of an upper tile", f"UPDATE audit_tiles SET hashes = {bit('hashes', 33)} WHERE {OWN} AND level = 1", {"tile"}),
    ("upper tile removed", f"DELETE FROM audit_tiles WHERE {OWN} AND level = 1", {"tile"}),
    ("first tile removed", f"DELETE FROM audit_tiles WHERE {OWN} AND level = 0 AND index = 0", {"tile"}),
    ("last tile removed", f"DELETE FROM audit_tiles WHERE {LAST_TILE}", {"tile"}),
    ("tile shorter", f"UPDATE audit_tiles SET hashes = substr(hashes, 1, 8160) WHERE {OWN} AND level = 0 AND index = 1", {"tile"}),
    ("last tile shorter", f"UPDATE audit_tiles SET hashes = substr(hashes, 1, length(hashes) - 32) WHERE {LAST_TILE}", {"tile"}),
    ("last tile longer", f"UPDATE audit_tiles SET hashes = hashes || substr(hashes, 1, 32) WHERE {LAST_TILE}", {"tile"}),
    ("upper tile longer", f"UPDATE audit_tiles SET hashes = hashes || substr(hashes, 1, 32) WHERE {OWN} AND level = 1", {"tile"}),
    ("tile added", f"INSERT INTO audit_tiles SELECT topic, partition, level, index + 1, hashes FROM audit_tiles WHERE {LAST_TILE}", {"tile"}),
    ("level added", f"INSERT INTO audit_tiles SELECT topic, partition, 2, 0, hashes FROM audit_tiles WHERE {OWN} AND level = 1", {"tile"}),
    ("tile of no partition", f"INSERT INTO audit_tiles SELECT topic, 9, level, index, hashes FROM audit_tiles WHERE {LAST_TILE}", {"log"}),
    ("size less", f"UPDATE audit_logs SET size = size - 1 WHERE {OWN}", {"log", "tile", "inserted", "database"}),
    ("size more", f"UPDATE audit_logs SET size = size + 1 WHERE {OWN}", {"log", "tile"}),
    ("size of a beginning", f"UPDATE audit_logs SET size = 10 WHERE {OWN}", {"log", "tile", "inserted", "database"}),
    ("next offset less", f"UPDATE audit_logs SET next_offset = next_offset - 5, last_offset = last_offset - 5 WHERE {OWN}", {"log", "removed"}),
    ("last offset", f"UPDATE audit_logs SET last_offset = last_offset - 1 WHERE {OWN}", {"log"}),
    ("last leaf", f"UPDATE audit_logs SET last_leaf = {bit('last_leaf', 3)} WHERE {OWN}", {"log"}),
    ("no last leaf", f"UPDATE audit_logs SET last_leaf = NULL, last_offset = NULL WHERE {OWN}", {"log"}),
    ("state", f"UPDATE audit_logs SET state = {bit('state', 12)} WHERE {OWN}", {"log"}),
    ("state of another", "UPDATE audit_logs SET state = (SELECT state FROM kept_audit_checkpoints WHERE partition = 0 ORDER BY size LIMIT 1) "
                         f"WHERE {OWN}", {"log"}),
    ("origin", f"UPDATE audit_logs SET origin = 'another.example/x/0' WHERE {OWN}", {"log"}),
    ("row of the log away", f"DELETE FROM audit_logs WHERE {OWN}", {"log"}),
    ("row of another topic", f"UPDATE audit_logs SET topic = 'other' WHERE {OWN}", {"log"}),
    ("row of another partition", f"UPDATE audit_logs SET partition = 7 WHERE {OWN}", {"log", "tile"}),
    ("stopped", f"UPDATE audit_logs SET stopped = 'as an operator said' WHERE {OWN}", {"stopped"}),
    ("state of a checkpoint", f"UPDATE audit_checkpoints SET state = {bit('state', 11)} WHERE {MIDDLE}", {"checkpoint"}),
    ("next offset of a checkpoint", f"UPDATE audit_checkpoints SET next_offset = next_offset + 4 WHERE {MIDDLE}", {"checkpoint"}),
    ("next offset of a checkpoint less", f"UPDATE audit_checkpoints SET next_offset = next_offset - 4 WHERE {MIDDLE}", {"checkpoint"}),
    ("next offset of the newest", f"UPDATE audit_checkpoints SET next_offset = next_offset + 3 WHERE {NEWEST}", {"log"}),
    ("size of a checkpoint", f"UPDATE audit_checkpoints SET size = size + 1 WHERE {MIDDLE}", {"checkpoint"}),
    ("root of a note", rf"UPDATE audit_checkpoints SET note = regexp_replace(note, E'\n.(.{{43}}\n)', CASE WHEN note ~ E'\n/.{{43}}\n' THEN E'\n+\\1' ELSE E'\n/\\1' END) WHERE {MIDDLE}", {"unsigned", "checkpoint"}),
    ("size in a note", rf"UPDATE audit_checkpoints SET note = regexp_replace(note, E'\n(\\d+)\n', E'\n\\11\n') WHERE {MIDDLE}", {"unsigned", "checkpoint"}),
    ("signature of a note", f"UPDATE audit_checkpoints SET note = overlay(note placing 'AAAA' from length(note) - 40) WHERE {MIDDLE}", {"unsigned", "checkpoint"}),
    ("origin in a note", f"UPDATE audit_checkpoints SET note = replace(note, '/0', '/1') WHERE {MIDDLE}", {"unsigned", "checkpoint"}),
    ("no note", f"UPDATE audit_checkpoints SET note = '' WHERE {MIDDLE}", {"checkpoint"}),
    ("checkpoint of another partition", f"UPDATE audit_checkpoints SET partition = 1, size = size + 100000 WHERE {MIDDLE}", {"checkpoint"}),
    ("checkpoint of another topic", f"UPDATE audit_checkpoints SET topic = 'other' WHERE {MIDDLE}", {"checkpoint"}),
    ("a checkpoint away", f"DELETE FROM audit_checkpoints WHERE {MIDDLE}", {"checkpoint"}),
    ("the newest away", f"DELETE FROM audit_checkpoints WHERE {NEWEST}", {"checkpoint"}),
    ("all away", f"DELETE FROM audit_checkpoints WHERE {OWN}", {"checkpoint"}),
    ("a mark of a record", "INSERT INTO audit_marks SELECT topic, 0, 5, 'gap', 5, 6, '' FROM audit_logs WHERE partition = 0", {"mark", "inserted"}),
    ("a mark behind the end", "INSERT INTO audit_marks SELECT topic, 0, 10000000, 'gap', 5, 6, '' FROM audit_logs WHERE partition = 0", {"mark"}),
    ("a mark of no partition", "INSERT INTO audit_marks SELECT topic, 7, 0, 'gap', 5, 6, '' FROM audit_logs WHERE partition = 0", {"log"}),
    ("all tables emptied", "TRUNCATE audit_logs, audit_tiles, audit_checkpoints, audit_marks", {"log"}),
]


def a_database_that_was_tampered_with_is_found(log):
    wrong = []
    for name, statement, expected in DATABASE:
        log.sql(statement)
        status, report = log.verify()
        log.restore()
        if status != (DIFFERS if expected else 0) or set(kinds(report)) != expected:
            wrong.append((name, status, sorted(set(kinds(report))), [one["text"] for part in report["partitions"] for one in part["differences"]]))
        elif expected and name not in ("all tables emptied", "checkpoint of another partition"):  # one partition does not hide the others
            assert part_of(report, 1)["verified"], (name, report)
    assert not wrong, "\n".join(map(str, wrong))
    # a tile that is not there leaves the tree of the records
    log.sql(f"DELETE FROM audit_tiles WHERE {OWN} AND level = 0 AND index = 1")
    part = part_of(log.verify()[1])
    assert part["from_records_alone"] and part["checkpoints_fitting"] == len(log.sizes) and part["records_verified"] == part["records"]
    log.restore()
    log.sql("UPDATE audit_logs SET stopped = E'by \\x1b[2Jhim' WHERE partition = 1")
    text = command("verify", "--export", str(log.export), config=log.config)
    assert text.returncode == DIFFERS and "stopped: the log was stopped, and nothing is added to it: by \\u001b[2Jhim" in text.stdout
    assert part_of(log.verify()[1], 1)["stopped"] == "by \x1b[2Jhim"


# ---- the file of checkpoints: what its bytes become, and what is found

def cut_note(data, number, keep=0):
    """Without a note, or with some bytes of it only."""
    notes = notes_of(data)
    return b"".join([*notes[:number], notes[number][:keep], *notes[number + 1:]])


def changed_at(data, at, byte=None):
    return data[:at] + bytes([data[at] ^ 1 if byte is None else byte]) + data[at + 1:]


FILE = [
    ("a bit of a signature", lambda data: changed_at(data, data.index(b"\n\n", 600) - 9), {"unsigned", "file"}),
    ("a bit of an origin", lambda data: changed_at(data, 3), {"file"}),
    ("a bit of the last signature", lambda data: changed_at(data, len(data) - 9), {"unsigned", "file"}),
    ("a partition", lambda data: data.replace(b"/0\n", b"/1\n", 1), {"unsigned", "file"}),
    ("a note away", lambda data: cut_note(data, 3), {"file"}),
    ("the first away", lambda data: cut_note(data, 0), {"file"}),
    ("the end away", lambda data: data[:len(data) // 2], {"file"}),
    ("a part of a note away", lambda data: cut_note(data, 3, keep=50), {"file", "unsigned"}),  # and the next one is spoilt
    ("empty", lambda data: b"", {"file"}),
    ("garbage in a note", lambda data: data.replace(b"\n\n\xe2", b"\n\nxyz\n\n\xe2", 1), {"file"}),
    ("garbage between notes", lambda data: b"xyz\n\n" + data, {"file"}),
    ("garbage at the end", lambda data: data + b"xyz\n", {"file"}),
    ("zeroes at the end", lambda data: data + bytes(100), {"file"}),
]


def a_file_of_checkpoints_that_was_tampered_with_is_found(log):
    wrong = []
    for name, change, expected in FILE:
        log.file.write_bytes(change(log.notes))
        status, report = log.verify()
        if status != DIFFERS or set(kinds(report)) != expected:
            wrong.append((name, status, sorted(set(kinds(report))), report["differences"],
                          [one["text"] for part in report["partitions"] for one in part["differences"]]))
    assert not wrong, "\n".join(map(str, wrong))
    log.file.unlink()
    status, report = log.verify()
    assert status == DIFFERS and set(kinds(report)) == {"file"}
    # what an interrupted append leaves is no tampering: the beginning of a note, closed off, and then the note; or the last one
    notes = notes_of(log.notes)
    first, rest = notes[0], log.notes
    signature = first.index(b"\xe2")
    for torn in (1, 10, 40, signature - 1, signature + 1, signature + 2, signature + 4, signature + 20, len(first) - 9):
        log.file.write_bytes(first[:torn] + b"\n\n" + first + rest)
        status, report = log.verify()
        assert status == 0 and report["interrupted_appends"] == 1, (torn, report)
        log.file.write_bytes(rest + first[:torn])
        status, report = log.verify()
        assert status == 0 and report["interrupted_appends"] == 1, (torn, report)
    text = command("verify", "--export", str(log.export), config=log.config)
    assert text.returncode == 0 and "1 appends to the file of checkpoints were interrupted" in text.stderr
    # the file in two parts, as after it was moved away
    (log.folder / "part.1").write_bytes(b"".join(notes[:len(notes) // 2]))
    log.file.write_bytes(b"".join(notes[len(notes) // 2:]))
    assert log.verify()[0] == DIFFERS
    status, report = log.verify("--checkpoints", str(log.folder / "part.1"), "--checkpoints", str(log.file))
    assert status == 0 and all(part["checkpoints_newer"] == 0 for part in report["partitions"]), report
    too_many = command("verify", "--export", str(log.export), *("--checkpoints", "x") * 65, config=log.config)
    assert too_many.returncode == USAGE and "put files one behind the other" in too_many.stderr


def topics_that_were_tampered_with_are_found(log):
    key = f"{NAME}/{log.rig.topics.scored}/0".encode()
    messages = [(message.key(), message.value()) for message in log.rig.kafka.read(log.checkpoint_topic, None, settle=1)]
    oldest = next(value for name, value in messages if name == key)
    status, report = log.verify("--all-covered", "--all-kept", source="topic")
    assert status == 0 and kinds(report) == [], report
    cases = {
        "sound": (messages, set()),
        "twice": (messages + messages, set()),
        "of another log": ([*messages, (b"other", b"another.example/log\n1\nAAAA\n\n\xe2\x80\x94 another.example/log AAAA\n")], set()),
        "none": ([], {"topic"}),
        "older": ([one for one in messages if one[0] != key] + [(key, oldest)], {"topic"}),
        "tombstone": ([*messages, (key, None)], {"topic"}),
        "garbage with the key": ([*messages, (key, b"garbage")], {"topic"}),
        "changed": ([*messages, (key, changed_at(oldest, len(oldest) - 9))], {"unsigned"}),
        "origin changed": ([*messages, (None, changed_at(oldest, 3))], {"topic"}),
    }
    wrong = []
    for number, (name, (content, expected)) in enumerate(cases.items()):
        config = copy.deepcopy(log.rig.daemon.config)
        config["audit"]["checkpoint_topic"] = f"{log.checkpoint_topic}.{number}"
        log.rig.kafka.create_topics([config["audit"]["checkpoint_topic"]], 1)
        log.rig.kafka.produce(config["audit"]["checkpoint_topic"], [{"key": name, "value": value} for name, value in content])
        file = log.folder / f"{number}.conf"
        file.write_text(config_text(config), encoding="utf-8")
        status, report = log.verify(source="topic", config=str(file))
        if status != (DIFFERS if expected else 0) or set(kinds(report)) != expected:
            wrong.append((name, status, kinds(report), [one["text"] for part in (report, *report["partitions"]) for one in part["differences"]]))
    assert not wrong, "\n".join(map(str, wrong))
    # the row of the log is beyond the end of the topic; records that the log has not come to are told
    log.sql("UPDATE audit_logs SET next_offset = next_offset + 100 WHERE partition = 0")
    status, report = log.verify(source="topic")
    assert status == DIFFERS and kinds(report) == ["log"]
    log.restore()
    log.rig.kafka.produce(log.rig.topics.scored, [{"key": b"x", "value": b"forged", "partition": 0}])
    status, report = log.verify(source="topic")
    assert status == 0 and part_of(report)["records_unlogged"] == 1 and part_of(report)["records_verified"] == len(log.of(0))
    assert log.verify("--all-covered", source="topic")[0] == DIFFERS
    done = subprocess.run([BINARY, "show", "x", "--config", log.config], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == DIFFERS and "is no such message" in done.stderr and done.stdout == "", done
    # all of a partition has expired
    last = max(message.offset() for message in log.rig.kafka.read(log.rig.topics.scored, None, settle=1) if message.partition() == 0)
    log.rig.kafka.delete_records(log.rig.topics.scored, 0, last + 1)
    status, report = log.verify(source="topic")
    assert status == 0 and part_of(report)["records"] == 0 and part_of(report)["leaves_gone"] == len(log.of(0)), report


def a_large_file_of_checkpoints_is_not_in_memory_as_a_whole(log):
    large = log.folder / "large"
    with large.open("wb") as file:
        for _ in range(300):
            file.write(log.notes + b"\n" * (1 << 20))
    with (log.folder / "out").open("wb") as out, subprocess.Popen(
            [BINARY, "audit", "verify", "--export", str(log.export), "--key", log.key, "--checkpoints", str(large)],
            stdout=out, env=os.environ | {"ASAN_OPTIONS": "quarantine_size_mb=8"}) as running:  # of what was freed, it keeps much more by itself
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    text = (log.folder / "out").read_text()
    assert running.returncode == 0 and text.count(": verified: ") == 2, text
    assert usage.ru_maxrss * 1024 < large.stat().st_size / 2, usage


def test_whatever_is_tampered_with_is_found(rig, tmp_path):
    log = Signed(rig, tmp_path)
    for part in (records_that_were_tampered_with_have_a_name, what_is_not_verified_is_told, a_database_that_was_tampered_with_is_found,
                 a_file_of_checkpoints_that_was_tampered_with_is_found, a_large_file_of_checkpoints_is_not_in_memory_as_a_whole,
                 topics_that_were_tampered_with_are_found):
        log.write(log.lines)
        log.restore()
        log.file.write_bytes(log.notes)
        part(log)
