"""What cannot be read goes to the dead-letter topic as it came, and the next event is scored."""

import hashlib
import os
import random
import struct
import time

import pytest

import events
import wire
from servers import headers_of

GOOD = events.encode(events.sure())
TRACEPARENT = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
FIRST_FIELD = 10  # behind marker and fingerprint: length of event_id, then its 36 bytes


def varint(number):
    """Avro's long: zigzag, then seven bits a byte."""
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number & ~0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def with_length(length):
    """An event whose event_id claims to be so long."""
    return GOOD[:FIRST_FIELD] + varint(length) + GOOD[FIRST_FIELD + 1:]


def lying_array():
    """An event whose last field, a map, announces a billion entries and brings none."""
    return GOOD[:-1] + varint(10**9)


UNREADABLE = {
    "empty": b"",
    "one byte": b"\xc3",
    "marker alone": wire.MARKER,
    "header alone": wire.GENERATED_QUERY.header,
    "cut in the first string": GOOD[:20],
    "cut in the middle": GOOD[:len(GOOD) // 2],
    "last byte missing": GOOD[:-1],
    "trailing byte": GOOD + b"\0",
    "another event behind it": GOOD + GOOD,
    "length beyond the end": with_length(10_000),
    "length of a terabyte": with_length(2**40),
    "largest length": with_length(2**63 - 1),
    "negative length": with_length(-1),
    "length without end": GOOD[:FIRST_FIELD] + b"\xff" * 11 + GOOD[FIRST_FIELD + 1:],
    "map of a billion": lying_array(),
    "unknown schema": wire.MARKER + struct.pack("<Q", 0x0123456789ABCDEF) + GOOD[10:],
    "our own output's schema": wire.SCORED_QUERY.header + GOOD[10:],
    "confluent without a registry": b"\0" + struct.pack(">I", 17) + GOOD[10:],
    "random bytes": random.Random(1).randbytes(500),
    "text": b"SELECT 1",
    "half a JSON object": b'{"event_id": "',
    "a JSON array": b"[1, 2, 3]",
    "JSON without SQL": b'{"event_id": "3f0c6f0e-7d8a-4a52-9c39-0d3b2c8c2f11"}',
    "JSON of the wrong types": events.encode_json({**events.sure(), "sql": 17}),
}


# All but those of an earlier stay among the dead letters are kept.
HEADERS = [("traceparent", TRACEPARENT), ("tenant", b"\x00\xff"), ("reason", b"of an earlier stay")]


@pytest.fixture
def running(rig):
    rig.start(partitions=1, topic_config={"max_message_bytes": 20_000_000})
    return rig


def test_unreadable_messages_are_set_aside_untouched(running):
    messages, good, bad = [], [], []
    for name, value in UNREADABLE.items():
        bad.append((len(messages), name, value))
        messages.append({"value": value, "key": name.encode(), "headers": HEADERS})
        event = events.sure()
        good.append(event["event_id"])
        messages.append(events.message(event))
    running.send(messages)

    assert sorted(str(record["event_id"]) for _, record in running.scored(len(good), settle=1)) == sorted(good)
    letters = {int(headers_of(letter)["offset"]): letter for letter in running.dead_letters(len(bad), settle=1)}
    for offset, name, value in bad:
        letter = letters.pop(offset)
        headers = headers_of(letter)
        assert (letter.value() or b"") == value, name
        assert letter.key() == name.encode()
        assert headers["topic"].decode() == running.topics.input
        assert headers["partition"] == b"0"
        assert headers["reason"], name
        assert headers["detail"], name
        assert headers["traceparent"] == TRACEPARENT
        assert headers["tenant"] == b"\x00\xff"
        assert headers["reason"] != b"of an earlier stay"
    assert not letters


def test_a_tombstone_is_set_aside(running):
    event = events.sure()
    running.send([{"value": None, "key": b"gone"}, events.message(event)])
    [(_, record)] = running.scored(1)
    assert str(record["event_id"]) == event["event_id"]
    [letter] = running.dead_letters(1)
    assert letter.value() is None and letter.key() == b"gone"


def test_an_empty_value_stays_empty(running):
    running.send([{"value": b"", "key": b"empty"}])
    [letter] = running.dead_letters(1)
    assert letter.value() == b"" and letter.key() == b"empty"


def test_ten_megabytes_are_set_aside(running):
    value = os.urandom(10_000_000)
    event = events.sure()
    running.send([{"value": value}, events.message(event)])
    [(_, record)] = running.scored(1)
    assert str(record["event_id"]) == event["event_id"]
    [letter] = running.dead_letters(1)
    if letter.value() != value:  # shortened: then it says so
        headers = headers_of(letter)
        assert value.startswith(letter.value()) and len(letter.value()) > 1000
        assert int(headers["length"]) == len(value)
        assert headers["sha256"].decode() == hashlib.sha256(value).hexdigest()


def test_a_readable_event_of_ten_megabytes_is_not_lost(running):
    huge, next_one = events.sure("SELECT '" + "x" * 10_000_000 + "'"), events.sure()
    running.send([events.message(huge), events.message(next_one)])
    assert str(running.scored(1)[-1][1]["event_id"]) == next_one["event_id"]
    [letter] = running.dead_letters(1)
    assert events.encode(huge).startswith(letter.value()[:1000])


# Bytes that Apache's encoder would not write, put in place of ones that it does.
NIL = "00000000-0000-0000-0000-000000000000"
FORGED = {"\N{REPLACEMENT CHARACTER}".encode(): b"\xff\xfe\xfd", NIL.encode(): b"no uuid, but as long as one would be.."[:36]}
UNSAFE_OR_INVALID = {"empty SQL", "NUL in the SQL", "long sum", "deep parentheses", "nested comments",
                     "a megabyte of SQL"}


def hostile_events():
    """Readable, and written to break what looks at them."""
    deep = "(" * 20_000 + "1" + ")" * 20_000
    return {
        "empty SQL": events.sure(""),
        "NUL in the SQL": events.sure("SELECT 1\0; DROP TABLE orders"),
        "long sum": events.sure("SELECT " + "+".join(["1"] * 65_000)),
        "deep parentheses": events.sure(f"SELECT {deep}"),
        "nested comments": events.sure("SELECT " + "/*" * 20_000 + "1" + "*/" * 20_000),
        "a megabyte of SQL": events.sure("SELECT '" + "x" * 1_000_000 + "'"),
        "many joins": events.sure("SELECT 1 FROM a" + " JOIN b ON true" * 4_000),
        "many unions": events.sure("SELECT 1" + " UNION SELECT 1" * 4_000),
        "not a uuid": events.sure(event_id=NIL),
        "scores that are no numbers": events.sure(retrieval={"chunks": [
            {"chunk_id": "c", "rerank_score": float("nan")}, {"chunk_id": "d", "rerank_score": float("inf")}]}),
        "ten thousand chunks": events.sure(retrieval={"chunks": [{"chunk_id": "c", "rrf_score": 0.5}] * 10_000}),
        "unknown target": events.sure(target="no such target"),
        "deep JSON reply": events.sure(response={"raw": "[" * 50_000}),
        "bytes that are no text": events.sure("SELECT '\N{REPLACEMENT CHARACTER}' AS x LIMIT 1"),
    }


def test_hostile_events_end_in_exactly_one_place(running):
    messages = []
    for event in hostile_events().values():
        value = events.encode(event)
        for written, forged in FORGED.items():
            value = value.replace(written, forged)
        messages += [{"value": value}, events.message(events.sure())]
    running.send(messages)

    deadline = time.monotonic() + 180
    places = []
    while len(places) < len(messages) and time.monotonic() < deadline:
        scored = [record for _, record in running.scored(settle=0.2)]
        places = [record["provenance"]["offset"] for record in scored]
        places += [int(headers_of(letter)["offset"]) for letter in running.dead_letters(settle=0.2)]
    assert sorted(places) == list(range(len(messages)))
    by_offset = {record["provenance"]["offset"]: record for record in scored}
    assert set(range(1, len(messages), 2)) <= set(by_offset), "a harmless event was set aside"
    for offset, name in zip(range(0, len(messages), 2), hostile_events()):
        if name in UNSAFE_OR_INVALID and offset in by_offset:
            record = by_offset[offset]
            assert record["safety"]["verdict"] == "UNSAFE" or not record["confidence"]["technical"]["valid"], name
