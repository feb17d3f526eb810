"""Fixtures of the integration suites: servers for the session, topics and a daemon for each test."""

import concurrent.futures
import contextlib
import os
import pathlib
import sys
import time
import uuid

import psycopg2
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "harness"))

import rooms  # noqa: E402, F401
import events  # noqa: E402
import recount  # noqa: E402
import wire  # noqa: E402
from daemon import Daemon  # noqa: E402
from judge_server import Judge  # noqa: E402
from servers import Kafka, MongoDB, Postgres, Unavailable  # noqa: E402

EXIT_SKIPPED = 77  # what ctest takes for "skipped"


def pytest_sessionfinish(session, exitstatus):
    """A suite of which nothing could run is a skipped one, not a passed one."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == 0 and reporter.stats.get("skipped") and not reporter.stats.get("passed"):
        session.exitstatus = EXIT_SKIPPED


def required(start):
    """A server, or the test is skipped by name; in CI it has to be there."""
    try:
        return start()
    except Unavailable as reason:
        if os.environ.get("CI") == "true":
            pytest.fail(str(reason))
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def early_postgres(request):
    """PostgreSQL on its way, if a test wants it: it starts while Kafka does."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        wanted = any("postgres" in item.fixturenames for item in request.session.items)
        yield pool.submit(Postgres) if wanted else None


@pytest.fixture(scope="session")
def kafka(early_postgres):
    server = required(Kafka)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres(early_postgres):
    server = required(early_postgres.result)
    server.new_database("shop", events.SHOP)
    server.execute("CREATE ROLE assayd LOGIN")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def mongodb():
    server = required(MongoDB)
    yield server
    server.stop()


@pytest.fixture
def calibration_database(postgres):
    """A new, empty database that belongs to the daemon's role; its name."""
    name = f"calibration_{uuid.uuid4().hex[:8]}"
    postgres.execute(f"CREATE DATABASE {name} OWNER assayd")
    return name


@pytest.fixture
def judge():
    server = Judge()
    yield server
    server.close()


class Topics:
    """The five topics of one test, with names of their own."""

    KINDS = ("input", "scored", "advisory", "dead_letter", "feedback")

    def __init__(self, kafka, partitions, **config):
        self.name = f"t{uuid.uuid4().hex[:10]}"
        self.partitions = partitions
        for kind in self.KINDS:
            setattr(self, kind, f"{self.name}.{kind}")
        kafka.create_topics([getattr(self, kind) for kind in self.KINDS], partitions, **config)

    def settings(self, kafka, **changes):
        """The daemon's `kafka` group for them."""
        return {"bootstrap_servers": kafka.bootstrap, "group_id": self.name, "instance_id": f"{self.name}-1",
                **{f"{kind}_topic": getattr(self, kind) for kind in self.KINDS}, **changes}


@pytest.fixture
def topics(kafka):
    """topics(partitions=…, setting=…) makes the topics of a test."""
    return lambda partitions=4, **config: Topics(kafka, partitions, **config)


@pytest.fixture
def make_daemon():
    """make_daemon(config, **environment): a daemon, not started yet, that goes away with the test."""
    made = []

    def make(config, **environment):
        made.append(Daemon(config, environment))
        return made[-1]

    yield make
    for daemon in made:
        # What it said is what one wants to read when the test fails; pytest shows it then and only then.
        print(f"--- log of the daemon\n{daemon.log_tail(60)}")
        daemon.close()


@pytest.fixture
def shop_target(postgres):
    """The `targets` entry for the shop's database."""
    return {"name": "shop", "engine": "postgresql", "dsn": postgres.dsn("shop", "assayd_ro"), "connections": 2}


class Rig:
    """Topics, daemon and all servers put together in the usual way."""

    def __init__(self, kafka, topics, postgres, judge, calibration_database, shop_target, make_daemon):
        self.kafka, self.postgres, self.judge = kafka, postgres, judge
        self.calibration_server, self.calibration_database = postgres, calibration_database
        self._make_topics, self._make_daemon, self._shop_target = topics, make_daemon, shop_target
        self.topics = None
        self.daemon = None

    def config(self, partitions=4, topic_config=None, **changes):
        """The whole configuration; `changes` replaces groups (None leaves one out)."""
        self.topics = self._make_topics(partitions, **(topic_config or {}))
        config = {
            "kafka": self.topics.settings(self.kafka),
            "targets": (self._shop_target,),
            "judge": self.judge.settings(),
            "calibration": {"dsn": self.calibration_server.dsn(self.calibration_database, "assayd")},
            "pipeline": {"workers": 2},
        }
        for group, settings in changes.items():
            config[group] = {**config.get(group, {}), **settings} if isinstance(settings, dict) else settings
        return {name: group for name, group in config.items() if group is not None}

    def make(self, config):
        """A daemon with this configuration, not started yet."""
        self.daemon = self._make_daemon(config)
        return self.daemon

    def start(self, **changes):
        return self.make(self.config(**changes)).start()

    def send(self, messages, topic=None):
        self.kafka.produce(topic or self.topics.input, messages)

    def scored(self, count=None, timeout=180, settle=0.5):
        """All scored records, decoded by Apache's avro, with their messages."""
        return [(message, self.decode(message)) for message in
                self.kafka.read(self.topics.scored, count, timeout, settle=settle)]

    @staticmethod
    def decode(message):
        return wire.SCORED_QUERY.decode(message.value())

    def dead_letters(self, count=None, timeout=180, settle=0.5):
        return self.kafka.read(self.topics.dead_letter, count, timeout, settle=settle)

    def await_calibration(self, records, timeout=180):
        """Waits until PostgreSQL holds what a recount of these records gives, to the last digit."""
        expected, found = recount.cells(records), None
        assert expected, "the test itself has no label"
        deadline = time.monotonic() + timeout
        while found != expected and time.monotonic() < deadline:
            time.sleep(0.2)
            with contextlib.suppress(psycopg2.errors.UndefinedTable):
                found = recount.stored(self.calibration_server.execute(recount.TABLE, self.calibration_database))
        assert found == expected


@pytest.fixture
def rig(kafka, topics, postgres, judge, calibration_database, shop_target, make_daemon):
    return Rig(kafka, topics, postgres, judge, calibration_database, shop_target, make_daemon)

