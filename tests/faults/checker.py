"""Compares what came out with what was sent, once the group has caught up."""

import collections
import contextlib
import datetime
import json
import subprocess
import time

import confluent_kafka
import psycopg2

import daemon
import feedback
import recount
import wire
from rig import EXIT_OK, EXIT_TRY_AGAIN, EXIT_UNAVAILABLE
from servers import Reader, headers_of

CATCH_UP_S = 150
CALIBRATION_S = 60
BUSY_S = 10  # seconds in a row with a whole processor that nobody needs

# Lines of levels error and critical that a fault explains: (text, faults that explain it; none: any).
AWAY = ("broker kill", "broker halt", "broker kill, away", "broker full", "kafka held", "kafka cut again and again")
EXPLAINED = (
    ("terminating connection due to", ("postgres kill", "postgres halt", "target kill", "target halt")),  # libpq itself, in a worker that is just connecting
    ("no answer from", AWAY),  # a start that waited for 30 s
    ("publishes as", AWAY + ("kafka forgotten", "kafka slow", "freeze", "freeze, outlast", "zombie")),
    # a transaction that the broker does not know of any more cannot be aborted: librdkafka calls that fatal
    ("transactional operation in an invalid state", AWAY + ("kafka forgotten", "freeze, outlast", "zombie")),
    ("has joined the group", AWAY + ("kafka forgotten", "kafka slow", "freeze", "freeze, outlast", "zombie")),
)

# What an instance is entitled to end with by itself, and the faults that entitle it.
OUTAGES = ("broker kill", "broker halt", "broker kill, away", "broker full", "kafka held", "kafka forgotten",
           "kafka slow", "kafka cut again and again", "freeze", "freeze, outlast", "zombie")
ENTITLED = {EXIT_TRY_AGAIN: OUTAGES, EXIT_UNAVAILABLE: OUTAGES}

# Nobody can tell a topic that takes nothing from a broker that does not answer in time, nor from a record that is too large,
# behind which the others of its transaction wait until they expire (README.md).
EXPLAINED += tuple((text, OUTAGES + ("topic away",)) for text in ("does not take outputs", "not taken by their topics", "were not taken in time"))


class Record:
    """A scored record in either format, as far as the check needs it."""

    def __init__(self, message, wire_format):
        if wire_format == "json":
            self.data = json.loads(message.value())
            self.data["scored_at"] = datetime.datetime.fromtimestamp(self.data["scored_at"] / 1000, datetime.timezone.utc)
        else:
            self.data = wire.SCORED_QUERY.decode(message.value())
        self.key = message.key()
        provenance = self.data["provenance"]
        self.origin = (provenance["partition"], provenance["offset"])


def described(cells):
    """Cases and cells, by where the truth came from."""
    cases = collections.Counter()
    for key, sums in cells.items():
        if key[0] == recount.WIDTHS_S[-1]:  # every case is in one bucket of each width
            cases[key[5]] += sums[0]
    return f"{dict(sorted(cases.items()))} cases in {len(cells)} cells"


def misjudged(record, expected):
    """What the record says that is wrong; what it lacks because something was away it must say. Empty: nothing."""
    verdict, technical = record["safety"]["verdict"], record["confidence"]["technical"]
    if verdict == "UNKNOWN":  # without a catalog
        return "" if technical is None and record["result_validation"] is None else "a verdict of what is unknown"
    if verdict != expected.verdict:
        return f"{verdict} instead of {expected.verdict}"
    if technical is None or technical["score"] != expected.technical:
        return f"technical {technical} instead of {expected.technical}"
    result = record["result_validation"]
    if expected.result is None or expected.verdict != "SAFE":
        return ""
    if result and result["status"] == "COMPARED":
        return "" if result["score"] == expected.result else f"result {result['score']} instead of {expected.result}"
    flagged = any(error["metric"].startswith("result") for error in record["errors"])
    labelled = record["label"] and record["label"]["source"] == "RESULT"
    if result and result["status"] == "UNAVAILABLE" and flagged and not labelled:
        return ""
    return f"result {result and result['status']}, flagged {flagged}, labelled {labelled}"


class Checker:
    def __init__(self, rig, load, faults):
        self.rig, self.load, self.faults, self.plan = rig, load, faults, rig.plan
        self.problems = []
        self.inputs, self._covered = {}, set()
        self.feedback, self.unreadable, self.verdicts, self.remarked = [], 0, {}, 0
        self.doubled = 0
        self.caught_up_s = self.calibrated_s = None
        self._open_readers()

    # ---- reading ----

    def _read_sent(self, topic):
        reader = Reader(self.rig.servers.kafka, topic, "read_uncommitted")
        sent = {(message.partition(), message.offset()): message for message in reader.until(timeout=60)}
        reader.close()
        missing = self.load.acknowledged[topic] - set(sent)
        if missing or self.load.refused:
            self.problems.append(f"harness: the broker lost {len(missing)} messages, refused {self.load.refused[:1]}")
        return sent

    def read_inputs(self):
        self.inputs = self._read_sent(self.rig.topics.input)
        said = self.load.feedback.said
        self.feedback = self._read_sent(self.rig.topics.feedback).values()
        self.unreadable = sum(said[feedback.number_of(message)].correct is None for message in self.feedback)
        self.verdicts = feedback.verdicts(said, self.feedback)

    def _take(self):
        for message in self.scored.messages[self._taken[self.scored]:]:
            record = Record(message, self.plan.wire_format)
            self.records.append(record)
            self._covered.add(record.origin)
        for message in self.dead.messages[self._taken[self.dead]:]:
            headers = headers_of(message)
            self.letters.append((message, headers))
            self._covered.add((int(headers["partition"]), int(headers["offset"])))
        for reader in self._taken:
            self._taken[reader] = len(reader.messages)

    def catch_up(self):
        began = time.monotonic()
        while len(self._covered) < len(self.inputs) and time.monotonic() - began < CATCH_UP_S:
            while self.scored.poll(0.02):
                pass
            while self.dead.poll(0.02):
                pass
            self._take()
        self.caught_up_s = time.monotonic() - began
        if len(self._covered) < len(self.inputs):
            missing = sorted(set(self.inputs) - self._covered)
            stuck = sorted({partition for partition, _ in missing})
            self.problems.append(f"{len(missing)} inputs never came out (partitions {stuck}, first {missing[:5]})")

    def _open_readers(self):
        self.scored = Reader(self.rig.servers.kafka, self.rig.topics.scored)
        self.dead = Reader(self.rig.servers.kafka, self.rig.topics.dead_letter)
        self._taken = {self.scored: 0, self.dead: 0}
        self.records, self.letters = [], []

    def read_again(self):
        """All of it, once nobody writes any more: what came late is a duplicate."""
        self.close()
        self._open_readers()
        self.scored.until(timeout=60)
        self.dead.until(timeout=60)
        self._take()

    # ---- judging ----

    def origins(self):
        """Partition and offset of the input of each output."""
        yield from (record.origin for record in self.records)
        yield from ((int(headers["partition"]), int(headers["offset"])) for _, headers in self.letters)

    def check_once(self):
        times = collections.Counter(self.origins())
        foreign = [origin for origin in times if origin not in self.inputs]
        if foreign:
            self.problems.append(f"{len(foreign)} outputs of inputs that never were: {foreign[:5]}")
        self.doubled = sum(count - 1 for count in times.values())
        if self.doubled and self.plan.delivery == "exactly_once":
            self.problems.append(
                f"{self.doubled} outputs too many: {[origin for origin in times if times[origin] > 1][:5]}")

    def check_contents(self):
        small = self.faults.happened("topic small")
        for record in self.records:
            sent = self.inputs.get(record.origin)
            if sent is not None and (sent.key() != record.key or str(record.data["event_id"]).encode() != record.key):
                self.problems.append(f"the record of {record.origin} is about another event")
        for message, headers in self.letters:
            sent = self.inputs.get((int(headers["partition"]), int(headers["offset"])))
            if sent is None:
                continue
            if (sent.value() or b"") != (message.value() or b"") and "sha256" not in headers:
                self.problems.append(f"the dead letter {headers} is not what was sent")
            if not sent.key().startswith(b"poison") and not small:
                self.problems.append(f"a good event is a dead letter: {headers}")
        del self.problems[20:]

    def check_verdicts(self):
        wrong = collections.Counter()
        for record in self.records:
            expected = self.load.expected(self.inputs[record.origin]) if record.origin in self.inputs else None
            if expected and (text := misjudged(record.data, expected)):
                wrong[text[:400]] += 1
        self.problems += [f"{count} wrong records: {text}" for text, count in wrong.most_common(3)]

    def check_advisories(self):
        reader = Reader(self.rig.servers.kafka, self.rig.topics.advisory)
        times = collections.Counter((message.key(), headers_of(message)["kind"]) for message in reader.until(timeout=60))
        reader.close()
        events = collections.Counter(message.key() for message in self.inputs.values())
        doubled = [name for name, count in times.items()
                   if count > events[name[0]] and name[1] != b"CALIBRATION_DRIFT"]
        if doubled and self.plan.delivery == "exactly_once":
            self.problems.append(f"{len(doubled)} advisories doubled: {doubled[:3]}")

    def check_calibration(self):
        began, found = time.monotonic(), None
        records = [record.data for record in self.records]
        late = feedback.late_truth(records, self.verdicts)
        self.remarked = len(late)
        expected = recount.cells(records + late)
        while found != expected and time.monotonic() - began < CALIBRATION_S:
            time.sleep(0.2)
            with contextlib.suppress(psycopg2.Error):
                found = recount.stored(self.rig.servers.postgres.execute(recount.TABLE, self.rig.database))
        self.calibrated_s = time.monotonic() - began
        if found != expected:
            self.problems.append(f"calibration holds {described(found or {})}, a recount gives {described(expected)}")

    def verify_calibration(self):
        """The daemon's own recount, which reads the topics by itself, is a second opinion."""
        done = subprocess.run([daemon.BINARY, "calibration", "--verify", "--json", "--config",
                               self.rig.instances[0].daemon.config_file], capture_output=True, text=True, timeout=120,
                              check=False)
        expected = {"buckets_differing": 0, "feedback": len(self.feedback), "skipped": self.unreadable}
        with contextlib.suppress(ValueError):
            found = json.loads(done.stdout)
            if done.returncode == 0 and all(found[name] == value for name, value in expected.items()):
                return
        self.problems.append(f"calibration --verify: status {done.returncode} instead of {expected}: "
                             f"{(done.stdout + done.stderr)[-800:]}")

    def check_committed(self):
        """The group's offsets reach the end: nothing is open and no map is left."""
        partitions = [confluent_kafka.TopicPartition(self.rig.topics.input, number)
                      for number in range(self.plan.partitions)]
        consumer = confluent_kafka.Consumer({"bootstrap.servers": self.rig.servers.kafka.bootstrap,
                                             "group.id": self.rig.topics.name, "log_level": 2})
        ends = {}
        for partition, offset in self.inputs:
            ends[partition] = max(ends.get(partition, 0), offset + 1)
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(confluent_kafka.KafkaException):
                committed = {entry.partition: entry.offset for entry in consumer.committed(partitions, timeout=10)}
                behind = [number for number, end in ends.items() if committed.get(number) != end]
                if not behind:
                    break
            if time.monotonic() > deadline:
                self.problems.append(f"offsets of partitions {behind} are not committed to the end: {committed}, {ends}")
                break
            time.sleep(0.5)
        consumer.close()

    def check_open_transactions(self):
        """A read_committed reader sees as far as any other."""
        for topic in (self.rig.topics.scored, self.rig.topics.dead_letter, self.rig.topics.advisory):
            ends = []
            for isolation in ("read_committed", "read_uncommitted"):
                consumer = confluent_kafka.Consumer({"bootstrap.servers": self.rig.servers.kafka.bootstrap, "log_level": 2,
                                                     "group.id": "ends", "isolation.level": isolation})
                ends.append([consumer.get_watermark_offsets(confluent_kafka.TopicPartition(topic, number), timeout=20)[1]
                             for number in range(self.plan.partitions)])
                consumer.close()
            if ends[0] != ends[1]:
                self.problems.append(f"a transaction is left open in {topic}: {ends}")

    # ---- the daemons ----

    def stop_all(self):
        for instance in self.rig.instances:
            self.faults.stop(instance)
            if instance.daemon.leftovers():
                time.sleep(2)
            if left := instance.daemon.leftovers():
                self.problems.append(f"daemon {instance.number} leaves processes behind: {left}")

    def check_daemons(self):
        for number, status, seconds in self.faults.stops:
            if not self._is_fair(number, status):
                self.problems.append(f"daemon {number} stops with status {status} after {seconds:.1f} s")
        for instance in self.rig.everybody():
            for when, status in instance.exits:
                if not self._is_fair(instance.number, status) or status == EXIT_OK:
                    self.problems.append(f"daemon {instance.number} ended with status {status} after "
                                         f"{when - self.rig.began:.1f} s")
            if instance.busiest_s >= BUSY_S:
                self.problems.append(f"daemon {instance.number} kept a processor busy for {instance.busiest_s} s")
            for when, line in instance.log_lines:
                if self._is_unexplained(line):
                    self.problems.append(f"daemon {instance.number} at {when - self.rig.began:.1f} s: {line[:300]}")

    def _is_fair(self, number, status):
        return status == EXIT_OK or self.faults.happened(*ENTITLED.get(status, ()), who=number)

    def _is_unexplained(self, line):
        if line.startswith(("assayd: warning", "assayd: notice", "assayd: info", "assayd: debug")):
            return False
        return not any(text in line and (not kinds or self.faults.happened(*kinds)) for text, kinds in EXPLAINED)

    def run(self):
        """The problems, in the order in which one wants to read them."""
        self.read_inputs()
        self.catch_up()
        self.check_calibration()
        self.check_committed()
        self.stop_all()
        self.read_again()
        self.check_once()
        self.check_contents()
        self.check_verdicts()
        self.check_advisories()
        self.check_open_transactions()
        self.verify_calibration()
        self.rig.end_keeping()
        self.check_daemons()
        return self.faults.problems + self.problems

    def close(self):
        self.scored.close()
        self.dead.close()
