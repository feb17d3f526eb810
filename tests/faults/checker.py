"""Compares what came out with what was sent, once the group has caught up."""

import contextlib
import json
import subprocess
import time

import confluent_kafka
import psycopg2

import daemon
import evidence
import feedback
import login
import verdict
from plan import KINDS, LOGIN_KINDS, RESTART_KINDS, RIGHT_KINDS, UPHEAVALS
from rig import EXIT_OK, EXIT_TRY_AGAIN, EXIT_UNAVAILABLE
from servers import Reader

CATCH_UP_S = 600
CALIBRATION_S = 300
COMMITTED_S = 180
LOGGED_S = 180
# A connection that is forgotten while a member joins is noticed when its request to join ends: librdkafka gives it
# max.poll.interval.ms (60 s) and 3 s, and others may have to wait for that member.
READY_S = 150
UNREAD_S = 30  # what is promised of a new partition
END_S, SLACK_S = 5, 15  # of a stop: what is promised beyond the drain limit, and of a machine that does much else
MENDED_S = 10  # what a busy machine takes for a start or a rebalance, beyond the timeouts
READING = ("daemon", "guest", "kafka", "broker", "topic", "login", "right")  # lanes of faults that may hold up reading
BUSY_S = 10  # seconds in a row with a whole processor that nobody needs

# Lines of levels error and critical that a fault explains: (text, faults that explain it; none: any).
AWAY = ("broker kill", "broker halt", "broker kill, away", "broker full", "kafka held", "kafka cut again and again", "refused stop")
ASLEEP = ("deleted records, asleep", "recreated topic, asleep")
EXPLAINED = (
    ("were deleted before they were read", ("deleted records", "deleted records, killed", "deleted records, asleep")),
    ("terminating connection due to", ("postgres kill", "postgres halt", "target kill", "target halt")),  # libpq itself, in a worker that is just connecting
    ("no answer from", AWAY + tuple(LOGIN_KINDS)),  # a start that waited for 30 s
    ("publishes as", AWAY + ("kafka forgotten", "kafka slow", "freeze", "freeze, outlast", "zombie") + ASLEEP),
    # a transaction that the broker does not know of any more cannot be aborted: librdkafka calls that fatal
    ("transactional operation in an invalid state", AWAY + ("kafka forgotten", "freeze, outlast", "zombie") + ASLEEP),
    ("has joined the group", AWAY + ("kafka forgotten", "kafka slow", "freeze", "freeze, outlast", "zombie") + ASLEEP),
)

# What an instance is entitled to end with by itself, and the faults that entitle it.
OUTAGES = ("broker kill", "broker halt", "broker kill, away", "broker full", "kafka held", "kafka forgotten",
           "kafka slow", "kafka cut again and again", "freeze", "freeze, outlast", "zombie", "refused stop") + ASLEEP
ENTITLED = {EXIT_TRY_AGAIN: OUTAGES, EXIT_UNAVAILABLE: OUTAGES}

# Its rights are what is taken away then.
EXPLAINED += (("Kafka denies a permission that events need", ("topic away", *RIGHT_KINDS)),
              ("not even as a dead letter (Broker: Topic authorization failed)", ("no right on dead letter",)))

# Nobody can tell a topic that takes nothing from a broker that does not answer in time, nor from a record that is too large,
# behind which the others of its transaction wait until they expire (README.md).
EXPLAINED += tuple((text, OUTAGES + ("topic away", *LOGIN_KINDS, *RIGHT_KINDS)) for text in ("does not accept the outputs", "do not accept the outputs", "were not accepted in time"))


class Checker:
    def __init__(self, rig, load, faults):
        self.rig, self.load, self.faults, self.plan = rig, load, faults, rig.plan
        self.problems = []
        self.evidence = self._no_evidence()
        self.feedback, self.unreadable, self.remarked = [], 0, 0
        self.events = self.lost = self.doubled = 0
        self.caught_up_s = self.calibrated_s = self.unread_s = None

    def _no_evidence(self):
        return evidence.Evidence(self.plan.delivery == "exactly_once", self.plan.judge["sample_rate"], self.rig.topics.input,
                                 self.faults.happened("topic small"))

    # ---- while the daemons run ----

    def _read_sent(self, topic):
        sent = {message.place: message for message in evidence.read(self.rig.servers.kafka, topic, "read_uncommitted")}
        kept = self.load.kept if topic == self.rig.topics.input else {}
        missing = self.load.acknowledged[topic] - set(sent) - set(kept)
        if missing or self.load.refused:
            self.problems.append(f"harness: the broker lost {len(missing)} messages, refused {self.load.refused[:1]}")
        return sent

    def read_inputs(self):
        found, kept = self.evidence, self.load.kept
        found.inputs = {**kept, **self._read_sent(self.rig.topics.input)}
        found.former, found.gone = self.load.former, self.load.gone
        for number, messages in enumerate(found.former):
            found.inputs.update((evidence.former_place(number, place), message) for place, message in messages.items())
        expected = {place: self.load.expected(message) for place, message in self.evidence.inputs.items()}
        self.evidence.expected = {place: wanted for place, wanted in expected.items() if wanted}
        said = self.load.feedback.said
        self.feedback = self._read_sent(self.rig.topics.feedback).values()
        self.unreadable = sum(said[feedback.number_of(message)].correct is None for message in self.feedback)
        self.evidence.verdicts = feedback.verdicts(said, self.feedback)

    def catch_up(self, limit_s=CATCH_UP_S):
        """Until something has come out of every input."""
        readers = [Reader(self.rig.servers.kafka, topic) for topic in (self.rig.topics.scored, self.rig.topics.dead_letter)]
        found, began = self.evidence, time.monotonic()
        covered, taken = set(), [0, 0]
        found.records, found.letters, found.leaves = [], [], {}
        due = set(found.inputs) - found.gone
        while due - covered and time.monotonic() - began < limit_s:
            new = []
            for place, reader in enumerate(readers):
                while reader.poll(0.02):
                    pass
                new.append([evidence.Message.of(message) for message in reader.messages[taken[place]:]])
                taken[place] = len(reader.messages)
            had = len(found.records)
            found.take(*new, self.plan.wire_format)
            covered.update(record.origin for record in found.records[had:])
            covered.update(map(found.place_of, new[1]))
        self.caught_up_s = time.monotonic() - began
        found.late = sorted(due - covered)
        for reader in readers:
            reader.close()

    def await_calibration(self, limit_s=CALIBRATION_S):
        began = time.monotonic()
        expected, self.remarked = verdict.expected_cells(self.evidence)
        self.evidence.cells = None
        while self.evidence.cells != expected and time.monotonic() - began < limit_s:
            time.sleep(0.2)
            self.evidence.cells = evidence.read_cells(self.rig.servers.postgres, self.rig.database)
        self.calibrated_s = time.monotonic() - began
        self.evidence.counted_late = self.evidence.cells != expected

    def await_log(self, limit_s=LOGGED_S):
        """Until all that is scored is in the log, with a checkpoint above it."""
        postgres, deadline = self.rig.servers.postgres, time.monotonic() + limit_s
        unsigned = ("SELECT count(*) FROM audit_logs AS l WHERE size > coalesce((SELECT max(size) FROM audit_checkpoints AS c "
                    "WHERE c.topic = l.topic AND c.partition = l.partition), 0)")
        while self.plan.audits and time.monotonic() < deadline:
            found = evidence.read_log(postgres, self.rig.database)
            if found == self.evidence.leaves and postgres.execute(unsigned, self.rig.database) == [(0,)]:
                return
            time.sleep(0.5)

    def verify_log(self):
        """The daemon's own verification."""
        if not self.plan.audits:
            return []
        done = subprocess.run([daemon.BINARY, "audit", "verify", "--config", self.rig.instances[0].daemon.config_file],
                              capture_output=True, text=True, timeout=120, check=False)
        return [f"audit verify: status {done.returncode}: {(done.stdout + done.stderr)[-800:]}"] if done.returncode else []

    def await_commits(self, limit_s=COMMITTED_S):
        deadline = time.monotonic() + limit_s
        while True:
            with contextlib.suppress(confluent_kafka.KafkaException):
                self.evidence.committed = evidence.read_committed(
                    self.rig.servers.kafka, self.rig.topics.name, self.rig.topics.input, self.plan.input_partitions)
                if not verdict.behind(self.evidence):
                    return
            if time.monotonic() > deadline:
                return
            time.sleep(0.5)

    def await_ready(self, limit_s=READY_S):
        """Every daemon has to be back, not only somebody who has taken over its partitions."""
        deadline = time.monotonic() + limit_s
        for instance in self.rig.instances:
            while (answer := self.readiness(instance)) != "ready" or self._has_unread_password(instance):
                if time.monotonic() > deadline:
                    self.problems.append(f"daemon {instance.number} is not ready again: {answer}")
                    break
                time.sleep(0.2)

    @staticmethod
    def readiness(instance):
        try:
            return instance.daemon.get("/readyz", timeout=5)[1].strip()
        except (OSError, ValueError) as error:
            return str(error)

    def _has_unread_password(self, instance):
        """It got another password while it ran, has not been started again since, and has not said that it was read."""
        got = max((when for other, when in self.rig.login.changes if other is instance), default=0.0)
        read = any(noted >= got and login.READ_AGAIN in line for noted, line in instance.log_lines)
        return got > instance.started_at and not read

    # ---- once nobody writes any more ----

    def read_outputs(self):
        """All of it: what came late is a duplicate."""
        kafka, topics, found = self.rig.servers.kafka, self.rig.topics, self.evidence
        found.records, found.letters, found.leaves = [], [], {}
        found.log = evidence.read_log(self.rig.servers.postgres, self.rig.database) if self.plan.audits else None
        found.take(evidence.read(kafka, topics.scored), evidence.read(kafka, topics.dead_letter), self.plan.wire_format)
        found.take_advisories(evidence.read(kafka, topics.advisory), self.plan.wire_format)
        found.cells = evidence.read_cells(self.rig.servers.postgres, self.rig.database)
        with contextlib.suppress(psycopg2.errors.UndefinedTable):
            found.episodes = dict(self.rig.servers.postgres.execute(evidence.EPISODES, self.rig.database))
        found.ends = {topic: evidence.read_ends(kafka, topic, self.plan.partitions)
                      for topic in (topics.scored, topics.dead_letter, topics.advisory)}

    def _calm_s(self, begin, end):
        """Seconds between the two (of the clock) while nothing was broken that reading needs, nor just mended."""
        calm, at, after_s = 0.0, begin, self.plan.session_s + self.plan.transaction_s + MENDED_S
        for kind, _, since, until in sorted(self.faults.windows, key=lambda window: window[2]):
            if KINDS[kind][1] in READING or kind in UPHEAVALS or kind in RESTART_KINDS:
                since, until = self.rig.began_at + since, self.rig.began_at + until + after_s
                calm += max(0.0, min(since, end) - at)
                at = max(at, until)
        return calm + max(0.0, end - at)

    def check_new_partitions(self):
        """Each is read soon after its first event, as far as nothing else is broken meanwhile."""
        written, scored = {}, {}
        for (partition, _), message in self.evidence.inputs.items():
            if partition >= self.plan.partitions:
                written[partition] = min(message.timestamp_ms / 1000, written.get(partition, float("inf")))
        for record in self.evidence.records:
            partition = record.origin[0]
            scored[partition] = min(record.data["scored_at"].timestamp(), scored.get(partition, float("inf")))
        self.unread_s = max((scored.get(partition, time.time()) - since for partition, since in written.items()), default=0.0)
        for partition, since in written.items():
            if (calm_s := self._calm_s(since, scored.get(partition, time.time()))) > UNREAD_S:
                self.problems.append(f"a new partition, {partition}, was not read for {calm_s:.1f} s without a reason")

    def verify_calibration(self):
        """The daemon's own recount, which reads the topics by itself, is a second opinion: what it finds wrong."""
        done = subprocess.run([daemon.BINARY, "calibration", "--verify", "--json", "--config",
                               self.rig.instances[0].daemon.config_file], capture_output=True, text=True, timeout=120,
                              check=False)
        expected = {"buckets_differing": 0, "totals_differing": 0, "sequences_differing": 0, "claims_differing": 0,
                    "events_differing": 0, "feedback_differing": 0, "examples_differing": 0, "feedback": len(self.feedback), "skipped": self.unreadable}
        with contextlib.suppress(ValueError):
            found = json.loads(done.stdout)
            if done.returncode == 0 and all(found[name] == value for name, value in expected.items()):
                return []
        return [f"calibration --verify: status {done.returncode} instead of {expected}: "
                f"{(done.stdout + done.stderr)[-800:]}"]

    # ---- the daemons ----

    def stop_all(self):
        for instance in self.rig.instances:
            self.faults.stop(instance)
            if instance.daemon.leftovers():
                time.sleep(2)
            if left := instance.daemon.leftovers():
                self.problems.append(f"daemon {instance.number} leaves processes behind: {left}")

    def check_logins(self):
        """Who got another password while it ran has read it, without a restart; and nobody tells any."""
        for instance in self.rig.instances:
            if self._has_unread_password(instance):
                self.problems.append(f"daemon {instance.number} does not read the password that it has got")
        for instance in self.rig.everybody():
            said = [line for _, line in instance.log_lines + instance.daemon.notified()]
            if any(password in line for line in said for password in self.rig.login.passwords):
                self.problems.append(f"daemon {instance.number} tells its password")

    def check_daemons(self):
        self.check_logins()
        for number, status, seconds in self.faults.stops:
            if not self._is_fair(number, status):
                self.problems.append(f"daemon {number} stops with status {status} after {seconds:.1f} s")
            if seconds > self.stop_limit_s:
                self.problems.append(f"daemon {number} takes {seconds:.1f} s to stop")
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

    @property
    def stop_limit_s(self):
        return self.plan.pipeline["drain_timeout_ms"] / 1000 + END_S + SLACK_S

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
        self.await_calibration()
        self.await_log()
        self.await_commits()
        self.await_ready()
        self.stop_all()
        self.read_outputs()
        times = self.evidence.origins()
        self.events, self.lost = len(self.evidence.inputs), len(set(self.evidence.inputs) - set(times) - self.evidence.gone)
        self.doubled = sum(times.values()) - len(times)
        self.problems += verdict.problems_of(self.evidence)
        self.problems += self.verify_calibration() + self.verify_log()
        self.check_new_partitions()
        self.rig.end_keeping()
        self.check_daemons()
        return self.faults.problems + self.problems
