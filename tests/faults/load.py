"""The events of a schedule, and what is said about them, sent at a steady rate while everything around them breaks."""

import contextlib
import dataclasses
import random
import threading
import time

import confluent_kafka

import events
from feedback import Feedback

CITY_COUNTS = "SELECT c.city, count(c.id) AS n FROM customers AS c GROUP BY c.city"
TRUTHS = {"": 1.0, " HAVING count(*) > 0": 1.0, " HAVING count(*) > 5": 1.0, " ORDER BY 2 LIMIT 2": 0.3}  # tail: score
POISON_SHARE = 0.01
NAMESAKE_SHARE = 0.005  # events with the event_id of an earlier one, which are events all the same
BATCH_S = 0.05


@dataclasses.dataclass(frozen=True)
class Expected:
    """What a record has to say, unless it says what it lacks."""

    verdict: str = "SAFE"
    technical: float = 100.0
    result: float = None
    advisory: float = None  # confidence
    identity: dict = dataclasses.field(default_factory=dict)  # fields that are carried through
    template: str = ""

    @property
    def overall(self):
        if self.verdict == "UNSAFE":
            return 0.0
        return min(self.technical / 100, 1.0 if self.advisory is None else self.advisory)


def _template(event, **expected):
    made = events.Template(event)
    identity = {name: event.get(name) for name in ("application", "model", "prompt_version", "target")}
    identity["occurred_at"] = round(event["occurred_at"].timestamp() * 1000)
    made.expected = Expected(advisory=1.0 if "retrieval" in event else None, identity=identity, template=event["event_id"], **expected)
    return made


def templates():
    made = []
    for model in ("model-a", "model-b", "model-c"):
        common = {"target": "shop", "model": model}
        made += [_template(events.sure(question=f"Question {number}?", **common)) for number in range(12)]
        made += [_template(events.event(question=f"Question {number}?", ground_truth={"sql": CITY_COUNTS + tail}, **common),
                           result=score) for number, (tail, score) in enumerate(TRUTHS.items())]
        made += [_template(events.event("DELETE FROM orders", **common), verdict="UNSAFE"),
                 _template(events.event("SELECT nope FROM orders", **common), technical=75.0),
                 _template(events.sure(model=model))]
    return made


def poison(pick, number):
    """Something that no reader can make an event of, told apart by its number."""
    mark = b"%d" % number
    return pick.choice((b"\xc3\x01 no event " + mark, b"\xc3\x01" + bytes(range(10)) + mark, b"{\"event_id\": 1, " + mark,
                        b"\xff\xfe" + mark, b"", None, b"x" * 70_000 + mark))


class Load:
    """Sends until stopped. What arrived is what the topics hold; `acknowledged` must be among that."""

    def __init__(self, bootstrap, topics, plan):
        self._topic, self._plan = topics.input, plan
        self._pick, self._pick_namesakes = random.Random(f"load {plan.seed}"), random.Random(f"namesakes {plan.seed}")
        self._latest = None  # event_id
        self._templates = templates()
        self._ended, self._turn = threading.Event(), threading.Lock()
        self._bootstrap, self._producer = bootstrap, self._new_producer(bootstrap)
        self.acknowledged = {topics.input: set(), topics.feedback: set()}  # (partition, offset)
        self.feedback = Feedback(plan, lambda **message: self._producer.produce(
            topics.feedback, on_delivery=self._delivered, **message))
        self.refused = []
        self.kept = {}  # place: message of the input that was deleted since
        self.former = []  # the same of each topic that had the input's name before
        self.gone = set()  # places of those that nobody had finished by then: they need not come out, and once at most
        self.sent = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @staticmethod
    def _new_producer(bootstrap):
        return confluent_kafka.Producer({
            "bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, "message.timeout.ms": 180_000,
            "socket.timeout.ms": 10_000, "topic.metadata.refresh.interval.ms": 500, "reconnect.backoff.max.ms": 500, "log_level": 2})

    @contextlib.contextmanager
    def paused(self):
        """Everything that was sent is acknowledged, and nothing is sent."""
        with self._turn:
            if left := self._producer.flush(120):
                self.refused.append(f"{left} events were never acknowledged")
            yield

    def begin_topic(self, messages):
        """The input (paused) is made again: these were in the former one. A producer knows the partitions of that."""
        if missing := self.acknowledged[self._topic] - set(messages):
            self.refused.append(f"{len(missing)} events of the former topic are not there")
        self.acknowledged[self._topic].clear()
        self.former.append(messages)
        self.kept = {}
        self._producer = self._new_producer(self._bootstrap)

    def expected(self, message):
        """What the record of that input has to say; None: it cannot be read."""
        number = message.header("template")
        return None if number is None else self._templates[int(number)].expected

    def _delivered(self, error, message):
        if error:
            self.refused.append(str(error))
        else:
            self.acknowledged[message.topic()].add((message.partition(), message.offset()))

    def _send_one(self):
        self.sent += 1
        partition = self._pick.randrange(self._plan.input_partitions)
        if self._pick.random() < POISON_SHARE:
            message = {"key": b"poison-%d" % self.sent, "value": poison(self._pick, self.sent)}
        else:
            encoder = self._pick.choice((events.encode, events.encode_json))
            template = self._pick.choice(self._templates)
            event_id, message = self._named(*template.message(encoder))
            message["headers"] = {"template": str(self._templates.index(template))}
            self.feedback.about(event_id, time.monotonic())
        try:
            self._producer.produce(self._topic, partition=partition, on_delivery=self._delivered, **message)
        except confluent_kafka.KafkaException as error:
            if error.args[0].code() != confluent_kafka.KafkaError._UNKNOWN_PARTITION:
                raise
            self._producer.produce(self._topic, partition=partition % self._plan.partitions, on_delivery=self._delivered, **message)

    def _named(self, event_id, message):
        earlier, self._latest = self._latest, event_id
        if earlier is None or self._pick_namesakes.random() >= NAMESAKE_SHARE:
            return event_id, message
        return earlier, {**message, "key": earlier.encode(),
                         "value": message["value"].replace(event_id.encode(), earlier.encode())}

    def _run(self):
        started = time.monotonic()
        while not self._ended.wait(BATCH_S):
            with self._turn:
                due = (time.monotonic() - started) * self._plan.rate
                while self.sent < due:
                    self._send_one()
                self.feedback.send_due(time.monotonic())
                self._producer.poll(0)

    def finish(self):
        self._ended.set()
        self._thread.join()
        self.feedback.send_all()
        left = self._producer.flush(120)
        if left:
            self.refused.append(f"{left} events were never acknowledged")
