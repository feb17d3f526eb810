"""Servers for many schedules, and the instances of one schedule with somebody who restarts them."""

import contextlib
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time
import uuid

import confluent_kafka
from confluent_kafka.admin import ConfigResource

import daemon
import events
import feedback
from judge_server import Judge
from login import Login
from network import Link
from permissions import DESCRIBE, DESCRIBE_CONFIGS, GROUP, READ, TOPIC, TRANSACTIONAL_ID, Permissions
from servers import Kafka, Postgres, Unavailable

PATIENCE_S = 300  # with a broker that is away
MAX_DAEMONS = 4  # three and a guest
RESTART_S = 1.0
EXIT_OK, EXIT_UNAVAILABLE, EXIT_TRY_AGAIN = 0, 69, 75
# Everybody may do everything with a topic for which no rights are granted; who does not come through a link (the load and
# the checker) may always.
AUTHORIZER = ("authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
              "allow.everyone.if.no.acl.found=true", "super.users=User:ANONYMOUS")
STOP_LIMIT_S = 180  # far above the drain limit and the five seconds of an end


class Servers:
    """One broker, one PostgreSQL for the calibration and one as target, one judge; each instance reaches each of them
    through a link of its own."""

    def __init__(self):
        if os.environ.get("KAFKA_BOOTSTRAP"):
            raise Unavailable("KAFKA_BOOTSTRAP names a broker that is not ours to break")
        self.links = {kind: [Link() for _ in range(MAX_DAEMONS)] for kind in ("kafka", "database", "target", "judge")}
        self.kafka = Kafka([link.port for link in self.links["kafka"]], properties=AUTHORIZER, login=True)
        self.postgres, self.target = Postgres(), Postgres()
        self.judge = Judge()
        for link in self.links["kafka"]:
            link.target = int(self.kafka.facts[f"behind_{link.port}"])
        for kind, server in (("database", self.postgres), ("target", self.target)):
            for link in self.links[kind]:
                link.target = server.port
        for link in self.links["judge"]:
            link.target = int(self.judge.base_url.split(":")[2].split("/")[0])
        self.target.new_database("shop", events.SHOP)
        self.postgres.execute("CREATE ROLE assayd LOGIN")

    def fill_broker_disk(self):
        """Every write of the broker to its logs fails from now on (EFBIG): it ends, as with a full disk."""
        with open(os.path.join(self.kafka.dir, "pid"), encoding="utf-8") as file:
            subprocess.run(["prlimit", "--pid", file.read().strip(), "--fsize=4096:unlimited"], check=True)

    @staticmethod
    def freeze(postgres):
        """Stops all processes of the server; which they are."""
        with open(os.path.join(postgres.dir, "data", "postmaster.pid"), encoding="utf-8") as file:
            stopped = [int(file.readline())]
        os.kill(stopped[0], signal.SIGSTOP)
        children = subprocess.run(["pgrep", "-P", str(stopped[0])], capture_output=True, text=True, check=True)
        for child in map(int, children.stdout.split()):
            os.kill(child, signal.SIGSTOP)
            stopped.append(child)
        return stopped

    @staticmethod
    def thaw(stopped):
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)

    def heal(self):
        for links in self.links.values():
            for link in links:
                link.heal()

    def stop(self):
        for links in self.links.values():
            for link in links:
                link.close()
        self.judge.close()
        self.target.stop()
        self.postgres.stop()
        self.kafka.stop()


class Topics:
    KINDS = ("input", "scored", "advisory", "dead_letter", "feedback")

    def __init__(self, kafka, plan):
        self.name = f"f{plan.seed}.{uuid.uuid4().hex[:6]}"
        self.partitions = plan.partitions
        self.all = {f"{kind}_topic": f"{self.name}.{kind}" for kind in self.KINDS}
        kafka.create_topics(self.all.values(), plan.partitions)
        self._kafka, self._admin = kafka, kafka._admin

    def __getattr__(self, kind):
        return self.all[f"{kind}_topic"]

    def configure(self, topic, **config):
        """Replaces the topic's settings; without any: the defaults."""
        resource = ConfigResource("topic", topic, {name.replace("_", "."): str(value) for name, value in config.items()})
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                return self._admin.alter_configs([resource], request_timeout=5)[resource].result(10)
            except confluent_kafka.KafkaException:
                time.sleep(1)  # the broker is away
        raise RuntimeError(f"{topic} cannot be configured")

    def delete(self):
        """A broker that starts again looks at all that it has."""
        with contextlib.suppress(confluent_kafka.KafkaException):
            for result in self._admin.delete_topics(list(self.all.values()), operation_timeout=30).values():
                result.result(60)

    def allow_reading_only(self, topic, so):
        """The daemons may not write to it as long as it is so."""
        self.leave_rights(so, *((TOPIC, topic, operation) for operation in (READ, DESCRIBE, DESCRIBE_CONFIGS)))

    def leave_rights(self, so, *rights):
        """The daemons have these rights alone on what they are about, as long as it is so; else all."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, AssertionError, struct.error), \
                    contextlib.closing(Permissions(self._kafka.bootstrap)) as permissions:
                return (permissions.grant if so else permissions.take)(self.name, *rights)
            time.sleep(1)  # the broker is away
        raise RuntimeError(f"the rights {rights} cannot be changed")


class Right:
    """One that a daemon's user may lose: what is left to it then, and what is said of the loss."""

    def __init__(self, topics, kind, instance):
        what = kind.removeprefix("no right on ").replace(" ", "_")
        topic = getattr(topics, what) if what in Topics.KINDS else None
        resource, name, operation = {"group": (GROUP, topics.name, "READ"), "input": (TOPIC, topic, "READ"),
                                     "transactional_id": (TRANSACTIONAL_ID, f"{topics.name}-{instance}", "WRITE"),
                                     }.get(what, (TOPIC, topic, "WRITE"))
        self.left = ((resource, name, DESCRIBE),) + (((TOPIC, name, DESCRIBE_CONFIGS),) if topic else ())
        self.text = f'lacks {operation} on {"topic" if topic else what.replace("_", " ")} "{name}"'

    def is_named(self, pages):
        return any(self.text in page for page in pages)


class Instance:
    """One daemon as systemd would keep it: started again when it ends by itself."""

    def __init__(self, number, config, note):
        self.number = number
        self.daemon = daemon.Daemon(config)
        self.exits = []  # (when, status) of those that nobody asked for
        self.frozen = False
        self.started_at = 0.0  # last
        self._note = note
        self._lock = threading.RLock()
        self._wanted, self._restart_at = False, 0.0
        self._busiest_s, self._busy_s, self._cpu = 0, 0, (0.0, 0.0)
        self._log_position = 0
        self.log_lines = []  # (when, line)

    def _collect(self):
        """Notes the end of a process that nobody has asked for."""
        if self.daemon._process is not None and not self.daemon.running():
            status = self.daemon.wait(1)
            self.exits.append((time.monotonic(), status))
            self._note(f"daemon {self.number} ended by itself with status {status}")
            self._restart_at = time.monotonic() + RESTART_S

    def start(self):
        with self._lock:
            self._wanted = True
            self._collect()
            if not self.daemon.running():
                self.daemon.start(ready_timeout=None)
                self.started_at = time.monotonic()

    def kill(self):
        with self._lock:
            self._wanted = False
            self._collect()
            if self.daemon.running():
                self.daemon.kill()

    def terminate(self):
        """SIGTERM; the exit status and how long it took. Not under the lock: it takes its time."""
        with self._lock:
            self._wanted = False
            self._collect()
            if not self.daemon.running():
                return EXIT_OK, 0.0
            self.daemon.signal(signal.SIGTERM)
        began = time.monotonic()
        try:
            status = self.daemon.wait(STOP_LIMIT_S)
        except AssertionError:
            self.daemon.signal(signal.SIGABRT)
            self.daemon.wait(30)
            status = "stuck"
        if status == -signal.SIGTERM and self.daemon.log_size() == 0:
            status = EXIT_OK  # it came before the process could hear signals, and had done nothing
        return status, time.monotonic() - began

    def freeze(self):
        with self._lock:
            if self.daemon.running():
                self.frozen = True
                self.daemon.signal(signal.SIGSTOP)

    def thaw(self):
        with self._lock:
            self.frozen = False
            if self.daemon.running():
                self.daemon.signal(signal.SIGCONT)

    def hang_up(self):
        with self._lock:
            if self.daemon.running() and self.is_ready():
                self.daemon.signal(signal.SIGHUP)

    def is_ready(self):
        with self._lock:
            return self.daemon.running() and self.daemon._notify.ready.is_set()

    def status(self):
        with self._lock:
            return self.daemon.status() if self.daemon.running() else ""

    def look_after(self, now):
        """Called about every 100 ms: restarts what ended, reads the log, measures."""
        self.read_log(now)
        with self._lock:
            if not self._wanted:
                return
            self._collect()
            if self.daemon.running():
                self._measure(now)
            elif now >= self._restart_at:
                self.start()

    def _measure(self, now):
        """Seconds in a row in which nearly a whole processor was used."""
        before, used = self._cpu
        if now - before < 1:
            return
        with contextlib.suppress(OSError), open(f"/proc/{self.daemon.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
            total = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            share = (total - used) / (now - before)
            self._busy_s = self._busy_s + 1 if 0.8 <= share < 64 and before else 0
            self._busiest_s = max(self._busiest_s, self._busy_s)
            self._cpu = (now, total)

    @property
    def busiest_s(self):
        return self._busiest_s

    def read_log(self, now):
        with open(os.path.join(self.daemon.folder, "log"), "rb") as file:
            file.seek(self._log_position)
            data = file.read()
        whole = data[:data.rfind(b"\n") + 1]
        self._log_position += len(whole)
        self.log_lines += [(now, line.decode(errors="replace")) for line in whole.splitlines()]

    def close(self):
        self.thaw()
        self.daemon.close()


class Rig:
    """The instances of one schedule."""

    def __init__(self, servers, plan):
        self.servers, self.plan = servers, plan
        self.began = time.monotonic()
        self.journal = []
        self.topics = Topics(servers.kafka, plan)
        self.login = Login(servers.kafka, self.topics.name)
        self.database = f"calibration_{uuid.uuid4().hex[:8]}"
        servers.postgres.execute(f"CREATE DATABASE {self.database} OWNER assayd")
        self.folder = tempfile.mkdtemp(prefix="assayd-log.")
        self.audit = self._make_audit() if plan.audits else {}
        self.instances = [self._make_instance(number) for number in range(plan.daemons)]
        self.guests = []
        self._ended = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True)

    def note(self, text):
        self.journal.append(f"{time.monotonic() - self.began:7.2f}  {text}")

    def _make_audit(self):
        """Settings of the log, for all instances; they share its key and its file."""
        key = os.path.join(self.folder, "key")
        subprocess.run([daemon.BINARY, "audit", "key", "faults.example/assayd", "--output", key], check=True,
                       capture_output=True, timeout=60)
        return {"log": True, "key_file": key, "checkpoint_file": os.path.join(self.folder, "checkpoints"),
                "checkpoint_interval_s": 1}

    def _config(self, number):
        port = {kind: links[number].port for kind, links in self.servers.links.items()}
        plan = self.plan
        postgres = "host=127.0.0.1 port={} dbname={} user={}".format
        return {
            "kafka": {"bootstrap_servers": f"127.0.0.1:{port['kafka']}", "group_id": self.topics.name,
                      "instance_id": f"{self.topics.name}-{number}", "delivery": plan.delivery,
                      "wire_format": plan.wire_format, "max_message_bytes": 65536, **self.login.settings(),
                      **self.topics.all, **plan.kafka},
            "targets": ({"name": "shop", "engine": "postgresql", "connections": 2, "statement_timeout_ms": 5000,
                         "dsn": postgres(port["target"], "shop", "assayd_ro")},),
            "judge": {"provider": "openai", "base_url": f"http://127.0.0.1:{port['judge']}/v1", "model": "judge-model",
                      **plan.judge},
            "calibration": {"dsn": postgres(port["database"], self.database, "assayd"),
                            "feedback_horizon_s": feedback.HORIZON_S, "model": plan.model},
            "audit": self.audit,
            "pipeline": plan.pipeline, "records": {"embed_input": False},
            "advisories": {"max_per_minute": 1000000},
        }

    def _make_instance(self, number):
        instance = Instance(number, self._config(number), self.note)
        self.login.write(instance)
        return instance

    def new_guest(self):
        guest = self._make_instance(MAX_DAEMONS - 1)
        self.guests.append(guest)
        return guest

    def everybody(self):
        return self.instances + self.guests

    def start(self):
        for instance in self.instances:
            instance.start()
        deadline = time.monotonic() + 180
        while not all(instance.is_ready() for instance in self.instances):
            assert time.monotonic() < deadline, "the daemons do not become ready"
            time.sleep(0.05)
        self.began, self.began_at = time.monotonic(), time.time()
        self._keeper.start()

    def _keep(self):
        while not self._ended.wait(0.1):
            for instance in list(self.everybody()):
                instance.look_after(time.monotonic())

    def end_keeping(self):
        self._ended.set()
        self._keeper.join()
        for instance in self.everybody():
            instance.read_log(time.monotonic())

    def save(self, folder):
        """Everything that somebody who looks into a failure may want."""
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "journal"), "w", encoding="utf-8") as file:
            file.write(f"{self.plan}\n\n" + "\n".join(self.journal) + "\n")
        for place, instance in enumerate(self.everybody()):
            with open(os.path.join(folder, f"daemon-{place}.log"), "w", encoding="utf-8") as file:
                file.writelines(f"{when - self.began:7.2f}  {line}\n" for when, line in instance.log_lines)
            shutil.copy(instance.daemon.config_file, os.path.join(folder, f"daemon-{place}.conf"))
        shutil.copy(os.path.join(self.servers.kafka.dir, "log"), os.path.join(folder, "kafka.log"))
        shutil.copy(os.path.join(self.servers.postgres.dir, "log"), os.path.join(folder, "postgres.log"))
        shutil.copy(os.path.join(self.servers.target.dir, "log"), os.path.join(folder, "target.log"))

    def close(self):
        self._ended.set()
        for instance in self.everybody():
            instance.close()
        self.topics.delete()
        shutil.rmtree(self.folder, ignore_errors=True)
        with contextlib.suppress(Exception):
            self.servers.postgres.execute(f"DROP DATABASE {self.database} WITH (FORCE)")
