"""Real servers for the suites: Kafka and PostgreSQL, each started by its script beside this file."""

import os
import pathlib
import subprocess
import time

import confluent_kafka
import psycopg2
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

HERE = pathlib.Path(__file__).resolve().parent


class Unavailable(Exception):
    """A server cannot be had on this machine; the text says why."""


class Server:
    """A server behind a script with the commands start, kill, halt, resume, restart and stop."""

    def __init__(self, script, *arguments):
        self._script = str(HERE / script)
        started = subprocess.run([self._script, "start", "--owner", str(os.getpid()), *arguments],
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180)
        if started.returncode == 77:
            raise Unavailable(started.stderr.strip())
        if started.returncode:
            raise RuntimeError(started.stderr.strip())
        self.facts = dict(line.split("=", 1) for line in started.stdout.splitlines())
        self.dir = self.facts["dir"]

    def _do(self, command):
        done = subprocess.run([self._script, command, self.dir], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120)
        if done.returncode:
            raise RuntimeError(f"{command}: {done.stderr.strip()}")

    def kill(self):
        self._do("kill")

    def halt(self):
        self._do("halt")

    def resume(self):
        self._do("resume")

    def restart(self):
        self._do("restart")

    def stop(self):
        if self.dir:
            self._do("stop")


class Postgres(Server):
    def __init__(self):
        super().__init__("postgres.sh")
        self.port = int(self.facts["port"])

    def dsn(self, database="postgres", user="postgres"):
        return f"host=127.0.0.1 port={self.port} dbname={database} user={user}"

    def connect(self, database="postgres", user="postgres"):
        connection = psycopg2.connect(self.dsn(database, user))
        connection.autocommit = True
        return connection

    def execute(self, sql, database="postgres", user="postgres", arguments=None):
        """Runs statements; the rows of the last one, if it has any."""
        connection = self.connect(database, user)
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql, arguments)
                return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()

    def new_database(self, name, script=""):
        self.execute(f'CREATE DATABASE "{name}"')
        if script:
            self.execute(script, name)


class Kafka(Server):
    """A broker; `behind` are ports of proxies, each of which gets a listener of its own to lead to; `users` have one, too,
    and need permissions; `properties` are lines of its own configuration."""

    def __init__(self, behind=(), users=(), properties=()):
        super().__init__("kafka/kafka.sh", *(text for port in behind for text in ("--behind", str(port))),
                         *(text for user in users for text in ("--user", user)),
                         *(text for line in properties for text in ("--set", line)))
        self.bootstrap = self.facts["bootstrap"]
        self.own = bool(self.dir)
        self._admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})

    def create_topics(self, names, partitions=1, **config):
        """Makes topics and waits until brokers tell about them: the controller knows of a topic a moment earlier."""
        settings = {key.replace("_", "."): str(value) for key, value in config.items()}
        topics = [NewTopic(name, partitions, 1, config=settings) for name in names]
        for result in self._admin.create_topics(topics).values():
            result.result(20)
        deadline = time.monotonic() + 20
        while not all(self._is_there(name, partitions) for name in names):
            assert time.monotonic() < deadline, f"{names} do not appear"
            time.sleep(0.05)

    def _is_there(self, name, partitions):
        topic = self._admin.list_topics(name, timeout=20).topics[name]
        return topic.error is None and len(topic.partitions) == partitions and all(
            partition.leader >= 0 for partition in topic.partitions.values())

    def configure(self, topic, **settings):
        """Sets these settings of a topic; all others become the broker's."""
        resource = ConfigResource("topic", topic, {name.replace("_", "."): str(value) for name, value in settings.items()})
        self._admin.alter_configs([resource])[resource].result(20)

    def produce(self, topic, messages):
        """Sends messages: values, or dicts with value and any of key, headers, partition. All are acknowledged."""
        refused = []

        def delivered(error, _message):
            if error:
                refused.append(error)

        producer = confluent_kafka.Producer({
            "bootstrap.servers": self.bootstrap, "linger.ms": 5, "acks": "all", "enable.idempotence": True,
            "message.max.bytes": 50_000_000, "queue.buffering.max.messages": 1_000_000,
            "queue.buffering.max.kbytes": 1_000_000, "log_level": 2})
        for message in messages:
            fields = message if isinstance(message, dict) else {"value": message}
            producer.produce(topic, on_delivery=delivered, **fields)
            producer.poll(0)
        assert producer.flush(60) == 0, "the broker did not take everything"
        assert not refused, refused[0]

    def read(self, topic, count=None, timeout=30, isolation="read_committed", settle=0.0):
        """All messages of a topic from its beginning. With `count`: waits until there are as many, and then reads on
        for `settle` seconds to see whether more come. Fails with what it has when they do not come in time."""
        reader = Reader(self, topic, isolation)
        try:
            return reader.until(count, timeout, settle)
        finally:
            reader.close()


class Reader:
    """Reads a topic from its beginning, on and on, committed messages only unless told otherwise."""

    def __init__(self, kafka, topic, isolation="read_committed"):
        self.topic = topic
        self._consumer = confluent_kafka.Consumer({
            "bootstrap.servers": kafka.bootstrap, "group.id": "reader", "enable.auto.commit": False,
            "auto.offset.reset": "earliest", "isolation.level": isolation, "enable.partition.eof": True,
            "fetch.message.max.bytes": 50_000_000, "receive.message.max.bytes": 120_000_000,
            "fetch.max.bytes": 50_000_000, "fetch.wait.max.ms": 20, "log_level": 2})
        partitions = self._consumer.list_topics(topic, timeout=20).topics[topic].partitions
        self._consumer.assign([confluent_kafka.TopicPartition(topic, partition, confluent_kafka.OFFSET_BEGINNING)
                               for partition in partitions])
        self._partitions = set(partitions)
        self._at_end = set()
        self.messages = []
        self.seen_at = []

    def poll(self, timeout):
        """One round; returns the new message or None."""
        message = self._consumer.poll(timeout)
        if message is None:
            return None
        if message.error():
            if message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF:
                self._at_end.add(message.partition())
                return None
            if message.error().retriable() or message.error().code() == confluent_kafka.KafkaError._TRANSPORT:
                return None
            raise confluent_kafka.KafkaException(message.error())
        self._at_end.discard(message.partition())
        self.messages.append(message)
        self.seen_at.append(time.monotonic())
        return message

    def until(self, count=None, timeout=30, settle=0.0):
        """Without `count`: reads to the end as it is now."""
        deadline = time.monotonic() + timeout
        enough = (lambda: self._at_end == self._partitions) if count is None else (
            lambda: len(self.messages) >= count)
        while not enough():
            assert time.monotonic() < deadline, (
                f"{self.topic}: {len(self.messages)} messages of {count} after {timeout} s")
            self.poll(0.1)
        deadline = time.monotonic() + settle
        while time.monotonic() < deadline:
            self.poll(0.1)
        return self.messages

    def until_match(self, wanted, timeout=30):
        """The first message that `wanted` accepts, among those seen and those to come."""
        deadline = time.monotonic() + timeout
        checked = 0
        while True:
            for message in self.messages[checked:]:
                if wanted(message):
                    return message
            checked = len(self.messages)
            assert time.monotonic() < deadline, f"{self.topic}: nothing like that among {checked} in {timeout} s"
            self.poll(0.1)

    def close(self):
        self._consumer.close()


def headers_of(message):
    """Headers as a dict of bytes; no name may be there twice."""
    pairs = message.headers() or []
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names), f"doubled headers: {names}"
    return dict(pairs)
