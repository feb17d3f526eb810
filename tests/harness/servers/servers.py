"""Real servers for the suites: Kafka, PostgreSQL and one for MongoDB's protocol, each started by its script beside this file."""

import hashlib
import os
import pathlib
import struct
import subprocess
import time

import confluent_kafka
import psycopg2
import pymongo
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic

from kafka_protocol import Connection, compact, text

DELETE_RECORDS, ALTER_USER_SCRAM_CREDENTIALS = 21, 51
SCRAM_MECHANISMS, SCRAM_ROUNDS = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}, 4096
HERE = pathlib.Path(__file__).resolve().parent


class Unavailable(Exception):
    """A server cannot be had on this machine; the text says why."""


class Server:
    """A server behind a script with the commands start, kill, halt, resume, restart and stop."""

    def __init__(self, script, *arguments, start=("start",)):
        self._script = str(HERE / script)
        started = subprocess.run([self._script, *start, "--owner", str(os.getpid()), *arguments],
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
        if started.returncode == 77:
            raise Unavailable(started.stderr.strip())
        if started.returncode:
            raise RuntimeError(started.stderr.strip())
        self.facts = dict(line.split("=", 1) for line in started.stdout.splitlines())
        self.dir = self.facts["dir"]

    def _do(self, command):
        done = subprocess.run([self._script, command, self.dir], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=600)
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

    def require_password(self, role):
        """From now on this role has to prove by a password who it is; all others are believed."""
        path = pathlib.Path(self.dir) / "data" / "pg_hba.conf"
        path.write_text(f"host all {role} 127.0.0.1/32 scram-sha-256\n{path.read_text()}")
        self.execute("SELECT pg_reload_conf()")

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


class MongoDB(Server):
    """A server for MongoDB's protocol, in memory: mongodb/mongodb.sh says what it has not. Nobody logs in there."""

    def __init__(self):
        super().__init__("mongodb/mongodb.sh")
        self.port = int(self.facts["port"])
        self.pid = int(self.facts["pid"])
        self.uri = f"mongodb://127.0.0.1:{self.port}"

    def connect(self):
        """A client, which the caller closes."""
        return pymongo.MongoClient(self.uri, serverSelectionTimeoutMS=60000)


class Kafka(Server):
    """A broker; `behind` are ports of proxies, each of which gets a listener of its own to lead to, with `login` for users
    with a password (set_password) alone; `users` have a listener, too, and need permissions; `tls` is a folder of
    certificates (certificates.py); `listeners` are further ones, name to protocol, each with its port in `facts`;
    `properties` are lines of its own configuration."""

    def __init__(self, behind=(), users=(), tls=None, listeners=None, properties=(), login=False):
        super().__init__("kafka/kafka.sh", *(text for port in behind for text in ("--behind", str(port))),
                         *(("--login",) if login else ()), *(text for user in users for text in ("--user", user)), *(("--tls", str(tls)) if tls else ()),
                         *(text for name, protocol in (listeners or {}).items() for text in ("--listener", f"{name}:{protocol}")),
                         *(text for line in properties for text in ("--set", line)))
        self.bootstrap = self.facts["bootstrap"]
        self.own = bool(self.dir)
        self._admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})

    def create_topics(self, names, partitions=1, **config):
        """Makes topics and waits until brokers tell about them: the controller knows of a topic a moment earlier."""
        settings = {key.replace("_", "."): str(value) for key, value in config.items()}
        topics = [NewTopic(name, partitions, 1, config=settings) for name in names]
        for result in self._admin.create_topics(topics).values():
            result.result(90)
        deadline = time.monotonic() + 90
        while not all(self._is_there(name, partitions) for name in names):
            assert time.monotonic() < deadline, f"{names} do not appear"
            time.sleep(0.05)

    def add_partitions(self, name, partitions):
        """Gives a topic more of them, up to so many, and waits until brokers tell about them."""
        for result in self._admin.create_partitions([NewPartitions(name, partitions)]).values():
            result.result(90)
        self._await(lambda: self._is_there(name, partitions), f"the new partitions of {name}")

    def delete_topics(self, names):
        for result in self._admin.delete_topics(names, operation_timeout=60).values():
            result.result(90)

    def recreate_topic(self, name, partitions, away_s=0, **config):
        """Deletes a topic and makes it again, empty."""
        self.delete_topics([name])
        self._await(lambda: name not in self._admin.list_topics(timeout=90).topics, f"the end of {name}")
        time.sleep(away_s)
        self.create_topics([name], partitions, **config)

    def delete_records(self, topic, partition, before):
        """Deletes the records of a partition below an offset."""
        connection = Connection(self.bootstrap)
        answer = connection.ask(DELETE_RECORDS, 0, struct.pack(">i", 1) + text(topic) + struct.pack(
            ">iiqi", 1, partition, before, 20_000))
        connection.close()
        assert struct.unpack(">qh", answer[-10:]) == (before, 0), answer

    def set_password(self, user, password, mechanism="SCRAM-SHA-256"):
        """Makes the user, or changes its password, for connections that are made from now on."""
        number, digest = SCRAM_MECHANISMS[mechanism]
        salt = os.urandom(16)
        salted = hashlib.pbkdf2_hmac(digest, password.encode(), salt, SCRAM_ROUNDS)
        upsertion = (compact(user) + struct.pack(">bi", number, SCRAM_ROUNDS) + compact(salt) + compact(salted) + b"\0")
        connection = Connection(self.bootstrap)
        answer = connection.ask(ALTER_USER_SCRAM_CREDENTIALS, 0, b"\1\2" + upsertion + b"\0", flexible=True)
        connection.close()
        error_at = 1 + 4 + 1 + len(compact(user))  # behind tags, the time to wait, the count and the name
        assert struct.unpack_from(">h", answer, error_at) == (0,), answer

    @staticmethod
    def _await(condition, what):
        deadline = time.monotonic() + 90
        while not condition():
            assert time.monotonic() < deadline, f"{what}: not within 90 s"
            time.sleep(0.05)

    def topics(self):
        """The names of all."""
        return list(self._admin.list_topics(timeout=10).topics)

    def _is_there(self, name, partitions):
        topic = self._admin.list_topics(name, timeout=90).topics[name]
        return topic.error is None and len(topic.partitions) == partitions and all(
            partition.leader >= 0 for partition in topic.partitions.values())

    def configure(self, topic, **settings):
        """Sets these settings of a topic; all others become the broker's."""
        resource = ConfigResource("topic", topic, {name.replace("_", "."): str(value) for name, value in settings.items()})
        self._admin.alter_configs([resource])[resource].result(90)

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
        assert producer.flush(180) == 0, "the broker did not take everything"
        assert not refused, refused[0]

    def read(self, topic, count=None, timeout=180, isolation="read_committed", settle=0.0):
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
        partitions = self._consumer.list_topics(topic, timeout=90).topics[topic].partitions
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

    def until(self, count=None, timeout=180, settle=0.0):
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

    def until_match(self, wanted, timeout=180):
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
