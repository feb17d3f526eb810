"""What a group has committed, with its metadata, read and written as an admin tool does: by Kafka's own protocol, since
this client library knows nothing of metadata. And completion maps, encoded independently of the daemon."""

import base64
import struct
import time
import zlib

from kafka_protocol import Connection, text

OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 8, 9, 10
WORTH_WAITING = {14, 15, 16, 25}  # a coordinator that is loading or not there yet, a group with members
PARTS = 100  # partitions a request: the broker stores those of one request as one batch


class GroupOffsets:
    """For one topic of a group without members."""

    def __init__(self, bootstrap, group, topic):
        self._connection = Connection(bootstrap)
        self._group, self._topic = group, topic
        self._connection.ask(FIND_COORDINATOR, 0, text(group))  # makes the broker create its topic of offsets

    def _one_topic(self, partitions):
        return struct.pack(">i", 1) + text(self._topic) + struct.pack(">i", len(partitions)) + b"".join(partitions)

    def commit(self, offsets, timeout=60):
        """Sets {partition: (offset, metadata)}; waits for the coordinator and until the group's members are gone."""
        entries = [struct.pack(">iq", number, offset) + text(metadata) for number, (offset, metadata) in offsets.items()]
        for start in range(0, len(entries), PARTS):
            body = text(self._group) + struct.pack(">i", -1) + text("") + struct.pack(">q", -1)
            deadline = time.monotonic() + timeout
            while errors := self._commit_part(body + self._one_topic(entries[start:start + PARTS])):
                assert errors <= WORTH_WAITING and time.monotonic() < deadline, f"the broker answers {errors}"
                time.sleep(0.1)

    def _commit_part(self, body):
        answer = self._connection.ask(OFFSET_COMMIT, 2, body)
        at = 4 + 2 + len(self._topic.encode()) + 4
        return {struct.unpack_from(">h", answer, place + 4)[0] for place in range(at, len(answer), 6)} - {0}

    def fetch(self, partitions):
        """{partition: (offset, metadata)}"""
        answer = self._connection.ask(OFFSET_FETCH, 1, text(self._group) + self._one_topic(
            [struct.pack(">i", number) for number in range(partitions)]))
        at, found = 4 + 2 + len(self._topic.encode()) + 4, {}
        while at < len(answer):
            number, offset, size = struct.unpack_from(">iqh", answer, at)
            at += 14 + max(size, 0) + 2
            assert struct.unpack_from(">h", answer, at - 2)[0] == 0
            found[number] = (offset, answer[at - 2 - max(size, 0):at - 2].decode())
        return found

    def close(self):
        self._connection.close()


def without_maps(offsets):
    """{partition: offset} of what was fetched; nothing is done above any of them."""
    for offset, metadata in offsets.values():
        assert metadata.startswith("a1:")
        payload = base64.b64decode(metadata[3:])
        assert not payload or payload[:2] == b"\x01\x01" and struct.unpack_from("<Q", payload, 2)[0] == offset
        # a single run, which is unfinished: the sign of the record before
        assert all(byte & 0x80 for byte in payload[14:-1]) and (not payload or not payload[-1] & 0x80)
    return {number: offset for number, (offset, _) in offsets.items()}


def full_map(base, finished):
    """The metadata of a map of bits: `finished` holds a truth for every offset from `base` on."""
    bits = bytearray((len(finished) + 7) // 8)
    for place, done in enumerate(finished):
        bits[place // 8] |= bool(done) << place % 8
    return "a1:" + base64.b64encode(
        struct.pack("<BBQI", 1, 2, base, zlib.crc32(bits)) + bytes(bits)).decode()
