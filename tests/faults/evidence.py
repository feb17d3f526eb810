"""What a schedule has left behind in the topics and in PostgreSQL, as independent clients read it."""

import collections
import contextlib
import dataclasses
import datetime
import hashlib
import json
import struct

import confluent_kafka
import psycopg2

import recount
import wire
from servers import Reader

FORMER = 1_000_000  # more than partitions
EPISODES = "SELECT id::text, published_at IS NOT NULL FROM calibration_drift_episodes"


@dataclasses.dataclass(frozen=True)
class Message:
    """One message, apart from the client that has read it."""

    partition: int
    offset: int
    key: bytes
    value: bytes
    headers: tuple  # of (name, bytes)
    timestamp_ms: int

    @classmethod
    def of(cls, message):
        return cls(message.partition(), message.offset(), message.key(), message.value(),
                   tuple(message.headers() or ()), message.timestamp()[1])

    @property
    def place(self):
        return self.partition, self.offset

    def header(self, name):
        """As text; None: there is none, or there are several."""
        values = [value for other, value in self.headers if other == name]
        return values[0].decode(errors="replace") if len(values) == 1 else None


def _milliseconds(value):
    return round(value.timestamp() * 1000) if isinstance(value, datetime.datetime) else value


class Record:
    """A scored record in either format."""

    def __init__(self, message, wire_format):
        if wire_format == "json":
            self.data = json.loads(message.value)
            self.data["scored_at"] = datetime.datetime.fromtimestamp(self.data["scored_at"] / 1000, datetime.timezone.utc)
        else:
            self.data = wire.SCORED_QUERY.decode(message.value)
            self.data["occurred_at"] = _milliseconds(self.data["occurred_at"])
        self.key = message.key
        provenance = self.data["provenance"]
        self.origin = (provenance["partition"], provenance["offset"])


class Advisory:
    def __init__(self, message, wire_format):
        self.data = json.loads(message.value) if wire_format == "json" else wire.ADVISORY.decode(message.value)
        self.message = message
        self.origin = (self.data["partition"], self.data["offset"])


def former_place(number, place):
    """A place in a former topic of the input's name: apart from all that there can be in the present one."""
    return place[0] - FORMER * (number + 1), place[1]


def origin_of(letter):
    """Where a dead letter says that it comes from; None: it does not."""
    partition, offset = letter.header("partition") or "", letter.header("offset") or ""
    return (int(partition), int(offset)) if partition.isdigit() and offset.isdigit() else None


@dataclasses.dataclass
class Evidence:
    """Everything that is judged about the data."""

    exactly_once: bool
    sample_rate: float
    input_topic: str
    records_may_be_refused: bool  # the scored topic was too small for some time
    inputs: dict = dataclasses.field(default_factory=dict)  # place: message; of former topics, see former_place
    former: tuple = ()  # for each topic that had the input's name before, what was in it; the oldest first
    gone: set = dataclasses.field(default_factory=set)  # places of inputs that were deleted unread: no output is due
    expected: dict = dataclasses.field(default_factory=dict)  # place: what its record has to say; none of poison
    records: list = dataclasses.field(default_factory=list)
    letters: list = dataclasses.field(default_factory=list)
    advisories: list = dataclasses.field(default_factory=list)
    verdicts: dict = dataclasses.field(default_factory=dict)  # see feedback.verdicts
    late: list = dataclasses.field(default_factory=list)  # inputs that did not come out in time
    cells: dict = dataclasses.field(default_factory=dict)  # see recount.cells; as PostgreSQL has them
    counted_late: bool = False  # they were not right when there had been time enough
    episodes: dict = dataclasses.field(default_factory=dict)  # id: whether its advisory is said to be published
    committed: dict = dataclasses.field(default_factory=dict)  # partition: offset
    log: dict = dataclasses.field(default_factory=dict)  # partition: leaves of its log, as PostgreSQL has them
    leaves: dict = dataclasses.field(default_factory=dict)  # partition: what the scored topic gives
    ends: dict = dataclasses.field(default_factory=dict)  # topic: ends for committed and for all readers

    def take(self, scored, letters, wire_format):
        for message in sorted(scored, key=lambda message: message.place):
            self.leaves.setdefault(message.partition, []).append(leaf_hash(message))
        for message in scored:
            record = Record(message, wire_format)
            record.origin = self._of_its_topic(record.origin, record.key)
            self.records.append(record)
        self.letters += letters

    def take_advisories(self, messages, wire_format):
        self.advisories = [Advisory(message, wire_format) for message in messages]
        for advisory in self.advisories:
            advisory.origin = self._of_its_topic(advisory.origin, advisory.message.key)

    def _of_its_topic(self, place, key):
        """Where there were several topics of the name, the key tells which of them the place is of."""
        for number, messages in enumerate(self.former):
            if place in messages and messages[place].key == key:
                return former_place(number, place)
        return place

    def place_of(self, letter):
        return self._of_its_topic(origin_of(letter), letter.key)

    def origins(self):
        """How often something came out of each input."""
        times = collections.Counter(record.origin for record in self.records)
        times.update(map(self.place_of, self.letters))
        return times


# ---- reading ----


def read(kafka, topic, isolation="read_committed"):
    reader = Reader(kafka, topic, isolation)
    try:
        return [Message.of(message) for message in reader.until(timeout=60)]
    finally:
        reader.close()


def read_cells(postgres, database):
    """None: the database is not there or has no tables yet."""
    with contextlib.suppress(psycopg2.Error):
        return recount.stored(postgres.execute(recount.TABLE, database))
    return None


def leaf_hash(message):
    """Of a record in the log (RFC 6962, with the log's own encoding of a record)."""
    def sized(data):
        return b"\xff\xff\xff\xff" if data is None else struct.pack(">I", len(data)) + data
    return hashlib.sha256(b"\0\1" + struct.pack(">Q", message.offset) + sized(message.key) + sized(message.value)).digest()


def read_log(postgres, database):
    """The leaves of each partition's log; None: there are no tables, or PostgreSQL is away."""
    found = {}
    with contextlib.suppress(psycopg2.Error):
        for partition, hashes in postgres.execute("SELECT partition, hashes FROM audit_tiles WHERE level = 0 ORDER BY partition, index",
                                                  database):
            data = bytes(hashes)
            found.setdefault(partition, []).extend(data[i:i + 32] for i in range(0, len(data), 32))
        return found
    return None


def read_committed(kafka, group, topic, partitions):
    """{partition: offset} of the group."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group, "log_level": 2})
    try:
        wanted = [confluent_kafka.TopicPartition(topic, number) for number in range(partitions)]
        return {entry.partition: entry.offset for entry in consumer.committed(wanted, timeout=10)}
    finally:
        consumer.close()


def read_ends(kafka, topic, partitions):
    """How far a reader of committed messages and one of all of them see."""
    found = []
    for isolation in ("read_committed", "read_uncommitted"):
        consumer = confluent_kafka.Consumer({"bootstrap.servers": kafka.bootstrap, "log_level": 2, "group.id": "ends",
                                             "isolation.level": isolation})
        found.append([consumer.get_watermark_offsets(confluent_kafka.TopicPartition(topic, number), timeout=20)[1]
                      for number in range(partitions)])
        consumer.close()
    return tuple(found)
