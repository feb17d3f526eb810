"""The codec against Apache's own Avro: what one writes the other reads, also a version apart."""

import datetime
import io
import json
import os
import pathlib
import random
import subprocess
import sys

import avro.datafile
import avro.io
import avro.schema
import pytest

import avro_resolution
import json_forms
import wire
from conftest import required
from daemon import BINARY
from schema_versions import newer, older, renamed, without_uuid

UTC = datetime.timezone.utc
FILES = {"query": "generated_query", "scored": "scored_query", "advisory": "advisory"}


def tool_path():
    """avro_tool is built beside the other tools of the harness."""
    if "ASSAYD_AVRO_TOOL" in os.environ:
        return os.environ["ASSAYD_AVRO_TOOL"]
    return str(pathlib.Path(os.environ["ASSAYD_TRIAL_BROKER"]).with_name("avro_tool"))


def tool(*arguments, data, status=0):
    done = subprocess.run([tool_path(), *arguments], input=data, capture_output=True, check=False, timeout=180)
    assert done.returncode == status, done.stderr.decode()
    return done.stdout if status == 0 else done.stderr.decode()


def schema_json(kind):
    return json.loads((wire.SCHEMAS / f"{FILES[kind]}.avsc").read_text())


RECORDS = {kind: wire.Codec(json.dumps(without_uuid(schema_json(kind)))) for kind in FILES}


def plain(value):
    """A datum as the JSON form has it."""
    if isinstance(value, datetime.datetime):
        return round((value - datetime.datetime(1970, 1, 1, tzinfo=UTC)) / datetime.timedelta(milliseconds=1))
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


class Generator:
    """Random data of a schema given as JSON."""

    def __init__(self, seed):
        self._random = random.Random(seed)
        self._names = {}

    def text(self):
        letters = "aZ09 _'\"\\/\n\t\x00\x1fäß€😀"
        return "".join(self._random.choices(letters, k=self._random.choice([0, 1, 7, 40])))

    def number(self):
        return self._random.choice([0.0, 1.0, -1.5, 0.1, 1e-300, 1.7976931348623157e308,
                                    self._random.uniform(-1, 1), self._random.gauss(0, 1e9)])

    def whole(self):
        return self._random.choice([0, -1, 63, 64, 2**31, -2**63, 2**63 - 1, self._random.randrange(10**6)])

    def datum(self, schema):
        if isinstance(schema, list):
            return self.datum(self._random.choice(schema))
        if isinstance(schema, str) and schema in self._names:
            return self.datum(self._names[schema])
        kind = schema if isinstance(schema, str) else schema["type"]
        if isinstance(schema, dict) and "name" in schema:
            self._names[schema["name"]] = schema
        if isinstance(schema, dict) and schema.get("logicalType") == "timestamp-millis":
            return datetime.datetime(2000, 1, 1, tzinfo=UTC) + datetime.timedelta(
                milliseconds=self._random.randrange(-10**11, 10**12))
        make = {"null": lambda: None, "boolean": lambda: self._random.random() < 0.5, "long": self.whole,
                "double": self.number, "string": self.text,
                "enum": lambda: self._random.choice(schema["symbols"]),
                "array": lambda: [self.datum(schema["items"]) for _ in range(self._random.randrange(4))],
                "map": lambda: {self.text().replace("\x00", ""): self.datum(schema["values"])
                                for _ in range(self._random.randrange(4))},
                "record": lambda: {field["name"]: self.datum(field["type"]) for field in schema["fields"]}}
        return make[kind]()

    def learn(self, schema):
        """Enters named types first, so that a reference to one whose definition was not drawn is found."""
        if isinstance(schema, list):
            for branch in schema:
                self.learn(branch)
        elif isinstance(schema, dict):
            if "name" in schema:
                self._names[schema["name"]] = schema
            for part in [schema.get("items"), schema.get("values"), schema.get("type")]:
                if isinstance(part, (dict, list)):
                    self.learn(part)
            for field in schema.get("fields", []):
                self.learn(field["type"])
        return self


@pytest.mark.parametrize("kind", RECORDS)
def test_canonical_form_and_fingerprint(kind):
    text = (wire.SCHEMAS / f"{FILES[kind]}.avsc").read_bytes()
    form = wire.canonical_form(json.loads(text))
    assert tool("canonical", data=text).decode() == form
    assert int(tool("fingerprint", data=text), 16) == wire.crc_64_avro(form) == RECORDS[kind].fingerprint


def test_scored_query_embeds_the_generated_query():
    """scored_query.avsc stands alone: the copy of the other schema inside is the same to the letter."""
    query, scored = schema_json("query"), schema_json("scored")
    del query["namespace"]  # the copy inherits it
    embedded = next(field for field in scored["fields"] if field["name"] == "input")["type"][1]
    assert embedded == query


@pytest.mark.parametrize("kind", RECORDS)
@pytest.mark.parametrize("seed", range(20))
def test_both_ways(kind, seed):
    schema = schema_json(kind)
    datum = Generator(seed).learn(schema).datum(schema)
    message = RECORDS[kind].encode(datum)
    text = tool("decode", kind, data=message)
    assert json.loads(text) == plain(datum)
    assert RECORDS[kind].decode(tool("encode", kind, data=text)) == datum
    assert RECORDS[kind].decode(tool("encode", kind, data=message)) == datum


def minimal_query():
    return {"event_id": "e", "occurred_at": datetime.datetime(2026, 1, 1, tzinfo=UTC), "application": "a",
            "question": "q", "sql": "s"}


def other_version(change):
    """The query's schema after `change`, as a codec."""
    schema = without_uuid(schema_json("query"))
    change(schema)
    text = json.dumps(schema)
    return text, wire.Codec(text)


@pytest.mark.parametrize("path", sorted((wire.SCHEMAS / "former").glob("*.avsc")), ids=lambda path: path.stem)
def test_former_schemas_are_known(path):
    """Whoever has not moved on is read without a schema directory, with defaults for what is new."""
    text = path.read_text()
    kind = {name: kind for kind, name in FILES.items()}[path.stem.rsplit("-", 1)[0]]
    former = wire.Codec(json.dumps(without_uuid(json.loads(text))))
    assert former.fingerprint not in {codec.fingerprint for codec in RECORDS.values()}
    for seed in range(20):
        datum = Generator(seed).learn(json.loads(text)).datum(json.loads(text))
        read = json.loads(tool("decode", kind, data=former.encode(datum)))
        for name, value in plain(datum).items():
            if not isinstance(value, (dict, list, float)):
                assert read[name] == value, name
        assert set(read) >= set(datum)


@pytest.mark.parametrize("path", sorted((wire.SCHEMAS / "former").glob("*.avsc")), ids=lambda path: path.stem)
def test_former_readers_go_on(path):
    """Who reads by a former schema gets what is written by that of today, by Apache's own resolution."""
    kind = {name: kind for kind, name in FILES.items()}[path.stem.rsplit("-", 1)[0]]
    schema = schema_json(kind)
    writer = avro.schema.parse(json.dumps(without_uuid(schema)))
    reader = avro.schema.parse(json.dumps(without_uuid(json.loads(path.read_text()))))
    for seed in range(20):
        datum = Generator(seed).learn(schema).datum(schema)
        data = io.BytesIO(RECORDS[kind].encode(datum)[10:])
        read = avro.io.DatumReader(writer, reader).read(avro.io.BinaryDecoder(data))
        for name, value in plain(read).items():
            if not isinstance(value, (dict, list, float)):
                assert plain(datum)[name] == value, name


def test_older_writer(tmp_path):
    text, codec = other_version(older)
    (tmp_path / "older.avsc").write_text(text)
    datum = {**minimal_query(), "retrieval": {"chunks": [{"chunk_id": "c", "bm25_score": 0.5}]}}
    read = json.loads(tool("decode", "query", str(tmp_path), data=codec.encode(datum)))
    assert read["sql"] == "s" and read["model"] is None and read["attributes"] == {}
    assert read["retrieval"]["chunks"][0]["bm25_score"] == 0.5
    assert read["retrieval"]["chunks"][0]["source_type"] == "UNKNOWN"
    # without its schema the message cannot be read, and the message says what to do
    assert "kafka.schema_directory" in tool("decode", "query", data=codec.encode(datum), status=65)


def test_newer_writer(tmp_path):
    text, codec = other_version(newer)
    (tmp_path / "newer.avsc").write_text(text)
    datum = {**minimal_query(), "tags": ["x", "y"], "costs": {"a": 1.5}, "dialect": "ORACLE", "target": "sales",
             "trace": {"parent": {"parent": None, "id": b"1234"}, "id": b"5678"}}
    read = json.loads(tool("decode", "query", str(tmp_path), data=codec.encode(datum)))
    assert (read["sql"], read["target"], read["dialect"]) == ("s", "sales", None)
    datum["dialect"] = "MYSQL"
    read = json.loads(tool("decode", "query", str(tmp_path), data=codec.encode(datum)))
    assert read["dialect"] == "MYSQL"


def test_renamed_writer(tmp_path):
    text, codec = other_version(renamed)
    (tmp_path / "renamed.avsc").write_text(text)
    datum = {**minimal_query(), "promptVersion": "v2", "retrieval": {"chunks": [{"chunkId": "c", "bm25Score": 0.5, "sourceType": "REGULATORY"}]},
             "groundTruth": {"shouldPass": False, "expectedFailure": "SCHEMA"}}
    datum |= {"eventId": datum.pop("event_id"), "occurredAt": datum.pop("occurred_at")}
    read = json.loads(tool("decode", "query", str(tmp_path), data=codec.encode(datum)))
    assert (read["event_id"], read["prompt_version"], read["sql"]) == ("e", "v2", "s") and read["occurred_at"] > 0
    chunk = read["retrieval"]["chunks"][0]
    assert (chunk["chunk_id"], chunk["bm25_score"], chunk["source_type"]) == ("c", 0.5, "REGULATORY")
    assert (read["ground_truth"]["should_pass"], read["ground_truth"]["expected_failure"]) == (False, "SCHEMA")


def test_writer_of_microseconds(tmp_path):
    """As Apache's writer has them of a time; its resolution would read a number a thousand times as large."""
    def micros(schema):
        next(field for field in schema["fields"] if field["name"] == "occurred_at")["type"]["logicalType"] = "timestamp-micros"
        schema["namespace"] = "io.assayd.micros"  # fingerprints leave logical types out

    text, codec = other_version(micros)
    (tmp_path / "micros.avsc").write_text(text)
    datum = {**minimal_query(), "occurred_at": datetime.datetime(2026, 1, 1, 0, 0, 0, 5999, tzinfo=UTC)}
    read = json.loads(tool("decode", "query", str(tmp_path), data=codec.encode(datum)))
    assert read["occurred_at"] == plain(minimal_query()["occurred_at"]) + 5


@pytest.mark.parametrize("change", [older, newer])
def test_reader_of_another_version(change):
    """What we write can be read by Apache's schema resolution with an older or newer schema."""
    text, _ = other_version(change)
    datum = {**minimal_query(), "model": "m", "dialect": "SQLITE",
             "retrieval": {"chunks": [{"chunk_id": "c", "bm25_score": 0.5}]}}
    message = tool("encode", "query", data=json.dumps(plain(datum)).encode())
    reader = avro.io.DatumReader(RECORDS["query"].schema, avro.schema.parse(text))
    read = reader.read(avro.io.BinaryDecoder(io.BytesIO(message[10:])))
    assert read["sql"] == "s" and read["occurred_at"] == datum["occurred_at"]
    assert read["retrieval"]["chunks"][0]["bm25_score"] == 0.5
    if change is newer:
        assert read["tags"] == [] and read["trace"] is None and read["model"] == "m"
        assert read["dialect"] == "SQLITE"


def test_resolution_is_that_of_apache():
    """Other schemas' data is read to the value that Apache's own resolution has, or by neither; tests/long/evolution tries
    10,000 pairs."""
    resolve_tool = pathlib.Path(tool_path()).with_name("resolve_tool")
    counts, different = required(lambda: avro_resolution.compare(resolve_tool, range(300)))
    assert not different, different[0]
    assert counts["same"] > 200 and counts["refused"] > 20, counts


def test_blocks_with_sizes():
    """Some writers announce the bytes of each block, or send several."""
    schema = RECORDS["query"]
    body = schema.body({**minimal_query(), "attributes": {"k": "v"}})
    assert body.endswith(b"\x02\x02k\x02v\x00")
    blocks = b"\x01\x08\x02k\x02v" + b"\x02\x02l\x02w" + b"\x00"
    read = json.loads(tool("decode", "query", data=schema.header + body[:-6] + blocks))
    assert read["attributes"] == {"k": "v", "l": "w"}


@pytest.mark.parametrize("name, change", [
    ("avro_truncated", lambda body: body[:-1]),
    ("avro_trailing_bytes", lambda body: body + b"\x00"),
    ("avro_bad_length", lambda body: b"\x7e" + body[1:]),
    ("avro_too_many_items", lambda body: body[:-1] + b"\xfe\xff\xff\xff\x0f"),
])
def test_damaged_messages(name, change):
    schema = RECORDS["query"]
    message = schema.header + change(schema.body(minimal_query()))
    assert tool("decode", "query", data=message, status=65).startswith(name + ": ")


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_containers_of_apache_are_replayed(codec, tmp_path):
    """Records in a container as Apache's writer makes it, in blocks of a few."""
    config, path = tmp_path / "assayd.conf", tmp_path / "records.avro"
    config.write_text("")
    datum = {"event_id": "e", "sql": "SELECT 1 AS one"}
    done = subprocess.run([BINARY, "score"], input=json.dumps(datum) + "\n", capture_output=True, text=True, timeout=180, check=True)
    scored = done.stdout
    data = RECORDS["scored"].decode(tool("encode", "scored", data=scored.encode()))
    schema = avro.schema.parse(json.dumps(without_uuid(schema_json("scored"))))
    with avro.datafile.DataFileWriter(open(path, "wb"), avro.io.DatumWriter(), schema, codec=codec) as writer:
        for number in range(7):
            writer.append({**data, "event_id": f"e{number}"})
            if number % 3 == 2:
                writer.sync()
    done = subprocess.run([BINARY, "calibration", "--config", str(config), "--replay", str(path), "--json"], capture_output=True,
                          text=True, timeout=180, check=False)
    assert done.returncode == 0, done
    found = json.loads(done.stdout)
    assert found["records"] == found["kept"] == 7 and found["unreadable"] == 0 and found["levels"]["medium"]["medium"] == 7


# ---- the JSON forms ----

INSTEAD = [None, True, 7, 1.5, -3e2, "x", "7", "-1.5e3", "+1", "007", "2026-01-31T12:00:00Z", "2026-01-31", "", [], [None], {}, {"raw": "x"}]
EVENTS = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "sample" / "events.py"


def paths(value, path=()):
    """Every place of a JSON value but its root."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*path, key)
        yield from paths(value[key], (*path, key))


def mutated(value, chooser):
    """A copy in which one place has something else, or nothing."""
    value = json.loads(json.dumps(value))
    *before, last = chooser.choice(list(paths(value)))
    holder = value
    for key in before:
        holder = holder[key]
    if chooser.random() < 0.2:
        del holder[last]
    else:
        holder[last] = chooser.choice(INSTEAD)
    return value


def both(name, kind, values):
    """Of each value: the validator's faults and the codec's answer."""
    checker = json_forms.validator(name)
    answers = tool("check", kind, data="".join(json.dumps(value) + "\n" for value in values).encode()).decode().splitlines()
    return [(json_forms.faults(checker, value), answer) for value, answer in zip(values, answers, strict=True)]


def sample_events():
    done = subprocess.run([sys.executable, EVENTS], capture_output=True, text=True, check=True, timeout=180)
    values = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    rich = {**values[0], "dialect": "SQLITE", "diagnostic": {"valid": True, "errors": ["e"]}, "validator": {"is_valid": True, "errors": []},
            "candidates": [{"sql": "SELECT 1", "model": None}], "attributes": {"k": "v"}, "occurred_at": "2026-01-31 12:00:00.5+01:00",
            "generator_confidence": "0.25", "ground_truth": {
                "sql": None, "alternatives": ["SELECT 2"], "compare": {"columns": ["a"], "absolute_tolerance": 1}, "tables": ["t"], "similarity": 0.5,
                "results": [{"columns": ["a"], "rows": [["1", None]], "ordered": True}], "expected_failure": "SYNTAX", "should_pass": False}}
    return [value for value in values if value["event_id"] != "not a query"], rich  # one is to become a dead letter


def test_events_are_read_where_their_json_schema_takes_them():
    """Right ones by both, and changed ones by both or by neither, but for symbols that are not known: the daemon tells of them."""
    events, rich = sample_events()
    assert len(events) > 300
    assert all(found == ([], "ok") for found in both("generated_query", "query", [*events, rich]))
    chooser = random.Random(1)
    values = [mutated(rich if number % 4 else chooser.choice(events), chooser) for number in range(1000)]
    counts = {"ok": 0, "refused": 0}
    for value, (wrong, answer) in zip(values, both("generated_query", "query", values)):
        if wrong and answer == "ok":
            assert all(" is not one of [" in text or "is not valid under any of the given schemas" in text for text in wrong), (value, wrong)
            assert symbols(value), (value, wrong)
        else:
            assert bool(wrong) == (answer != "ok"), (value, wrong, answer)
        counts["ok" if answer == "ok" else "refused"] += 1
    assert min(counts.values()) > 200, counts


def symbols(value):
    """Whether a place of an enumeration holds a text that is none of its symbols."""
    truth = value.get("ground_truth") or {}
    chunks = (value.get("retrieval") or {}).get("chunks") or []
    found = [(value.get("dialect"), {"POSTGRESQL", "SQLITE", "MYSQL", "MONGODB"}), (truth.get("expected_failure"), {"SYNTAX", "SCHEMA", "SAFETY"}),
             *((chunk.get("source_type"), {"GOVERNMENT", "REGULATORY", "MARKET_DATA", "THIRD_PARTY", "UNKNOWN"}) for chunk in chunks)]
    return any(isinstance(text, str) and text not in known for text, known in found)


def test_feedback_is_read_where_its_json_schema_takes_it():
    right = {"event_id": "e", "correct": False, "source": "s", "note": None, "more": [1]}
    chooser = random.Random(2)
    values = [right, *(mutated(right, chooser) for _ in range(300))]
    found = both("query_feedback", "feedback", values)
    assert found[0] == ([], "ok")
    for value, (wrong, answer) in zip(values, found):
        assert bool(wrong) == (answer != "ok"), (value, wrong, answer)


@pytest.mark.parametrize("name, kind", [("scored_query", "scored"), ("advisory", "advisory")])
def test_what_is_written_is_as_its_json_schema_says(name, kind):
    """Whatever a record holds; and one that misses a field or has another type is none."""
    checker, chooser, schema, refused = json_forms.validator(name), random.Random(3), schema_json(kind), 0
    for seed in range(8):
        value = json.loads(tool("decode", kind, data=RECORDS[kind].encode(Generator(seed).learn(schema).datum(schema))))
        assert json_forms.faults(checker, value) == []
        for _ in range(5):
            changed = mutated(value, chooser)
            refused += bool(json_forms.faults(checker, changed))
    assert refused > 10
