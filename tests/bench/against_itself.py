"""The daemon against itself with another setting: what tests/bench/throughput's options --judge-down, --codecs, --audit-log, --features and
--framings do."""

import contextlib
import json
import os
import pathlib
import random
import statistics
import struct
import subprocess
import tempfile
import time

import rooms  # noqa: F401
import events
import schema_registry
from daemon import BINARY, free_port
from measuring import cpu_seconds, drain, fill, make_daemon, published, show, wait_for
from openmetrics import await_metrics
from samples import PARTITIONS, on_disk, varied
from servers import Postgres

TEMPLATE = events.Template(events.sure(question="How many customers live in city 00000000?"))


def message(number):
    """An event with a question of its own."""
    _, made = TEMPLATE.message(partition=number % PARTITIONS)
    return {**made, "value": made["value"].replace(b"city 00000000", b"city %08d" % number)}


def compare_without_judge(kafka, arguments):
    """Whether a judge that is down costs throughput."""
    down = {"judge": {"provider": "openai", "base_url": f"http://127.0.0.1:{free_port()}/v1", "model": "m"}}
    results = {"no judge": [], "judge down": []}
    name = f"bench-{os.getpid()}"
    fill(kafka, f"{name}.input", arguments.events, message)
    for number in range(arguments.rounds):
        for what, groups in (("no judge", {}), ("judge down", down)):
            mark = f"-{number}-{len(groups)}"
            with contextlib.closing(make_daemon(kafka, name, mark, **groups)) as daemon:
                daemon.start()
                done = drain(kafka, f"{name}{mark}.scored", arguments.events, daemon.pid)
            results[what].append(done)
            show(number, what, (done.rate, done.cpu_us))
    ratio = max(done.rate for done in results["judge down"]) / max(done.rate for done in results["no judge"])
    cpu = min(done.cpu_us for done in results["judge down"]) / min(done.cpu_us for done in results["no judge"])
    print(f"best     judge down / no judge: {ratio:.2f} of the rate, {cpu:.2f} times the CPU")
    return ratio >= 0.9


CODECS = {
    "none": {"properties": ["compression.type=none"]},
    "default": {},
    "default, no input": {"records": {"embed_input": False}},
    "lz4": {"properties": ["compression.type=lz4"]},
    "zstd 3": {"properties": ["compression.type=zstd", "compression.level=3"]},
    "none, no input": {"properties": ["compression.type=none"], "records": {"embed_input": False}},
}


LINE = " {:8,.0f} events/s {:7.1f} µs CPU an event {:7,.0f} bytes a record, {:5,.0f} of advisories an event; {:5,.0f} MB"


def coded(kafka, name, number, count, groups):
    """(events a second, CPU µs an event, bytes a scored record, bytes of advisories an event, resident MB)"""
    daemon = make_daemon(kafka, name, number, **groups)
    try:
        started = time.monotonic()
        daemon.start()
        wait_for(kafka, name, count, group=name + number)
        elapsed = time.monotonic() - started
        cpu, resident = cpu_seconds(daemon.pid), daemon.resident_kib() / 1024
        daemon.terminate()
    finally:
        daemon.close()
    sizes = [on_disk(kafka, f"{name}{number}.{kind}") / count for kind in ("scored", "advisory")]
    return (count / elapsed, cpu / count * 1e6, *sizes, resident)


def compare_codecs(kafka, arguments):
    name = f"bench-{os.getpid()}"
    kafka.create_topics([f"{name}.input"], PARTITIONS)
    kafka.produce(f"{name}.input", varied(arguments.events))
    print(f"input: {on_disk(kafka, name + '.input') / arguments.events:,.0f} bytes an event (JSON, uncompressed)")
    results = {codec: [] for codec in CODECS}
    for number in range(arguments.rounds):
        for index, (codec, groups) in enumerate(CODECS.items()):
            results[codec].append(coded(kafka, name, f"-{number}-{index}", arguments.events, groups))
            print(f"round {number + 1}  {codec:18}" + LINE.format(*results[codec][-1]), flush=True)
    for codec, rounds in results.items():
        print(f"median   {codec:18}" + LINE.format(*(statistics.median(column) for column in zip(*rounds))))


def logged(kafka, postgres, name, number, count, key):
    """Without a log where there is no key: (events a second until all is committed, CPU µs an event until all is logged)"""
    database = f"log{number.replace('-', '_')}"
    postgres.new_database(database)
    audit = {"dsn": postgres.dsn(database), **({"log": True, "key_file": key, "checkpoint_interval_s": 1} if key else {})}
    daemon = make_daemon(kafka, name, number, audit=audit)
    try:
        started = time.monotonic()
        daemon.start()
        wait_for(kafka, name, count, group=name + number)
        elapsed = time.monotonic() - started
        missing = "SELECT %s - coalesce(sum(size), 0) FROM (SELECT max(size) AS size FROM audit_checkpoints GROUP BY partition) c"
        while key and postgres.execute(missing, database, arguments=(count,))[0][0] > 0:
            time.sleep(0.2)
        cpu = cpu_seconds(daemon.pid)
        daemon.terminate()
    finally:
        daemon.close()
    return count / elapsed, cpu / count * 1e6


def compare_audit_log(kafka, arguments):
    results = {"no log": [], "log": []}
    name = f"bench-{os.getpid()}"
    fill(kafka, f"{name}.input", arguments.events, message)
    postgres = Postgres()
    with tempfile.TemporaryDirectory() as folder:
        key = str(pathlib.Path(folder) / "key")
        subprocess.run([BINARY, "audit", "key", "example.com/log", "--output", key], check=True, capture_output=True)
        for number in range(arguments.rounds):
            for what, used in (("no log", None), ("log", key)):
                results[what].append(logged(kafka, postgres, name, f"-{number}-{'y' if used else 'n'}", arguments.events, used))
                show(number, what, results[what][-1])
    postgres.stop()
    rate = {what: statistics.median(result[0] for result in rounds) for what, rounds in results.items()}
    cpu = {what: statistics.median(result[1] for result in rounds) for what, rounds in results.items()}
    print(f"median   log / no log: {rate['log'] / rate['no log']:.2f} of the rate, {cpu['log'] / cpu['no log']:.3f} times the CPU, "
          f"{cpu['log'] - cpu['no log']:.1f} µs more an event")


LABELS = 600


class Learnt:
    """A calibration database with a model that has learnt from feedback."""

    def __init__(self, kafka, postgres, name):
        self._kafka, self._postgres, self._database = kafka, postgres, name.replace("-", "_")
        self._feedback = f"{name}.feedback"
        postgres.new_database(self._database)
        kafka.create_topics([self._feedback], PARTITIONS)

    def settings(self, model, horizon_s, **more):
        return {"dsn": self._postgres.dsn(self._database), "model": model, "feedback_horizon_s": horizon_s, **more}

    def feedback(self, horizon_s):
        return {"feedback_topic": self._feedback} if horizon_s else {}

    def learn(self, name):
        """What the generator is sure of is right more often; all else is chance."""
        self._kafka.create_topics([f"{name}.input"], PARTITIONS)
        daemon = make_daemon(self._kafka, name, calibration=self.settings("features", 3600, model_interval_s=10), kafka_more=self.feedback(3600),
                             log={"level": "info"})
        chance = random.Random(3)
        made = [events.sure(question=f"How many customers live in city {number:08d}?", generator_confidence=chance.choice((0.3, 0.9)),
                            **({"sql": "SELECT city FROM customers"} if number % 2 else {})) for number in range(LABELS)]
        said = [{"event_id": event["event_id"], "correct": chance.random() < event["generator_confidence"]} for event in made]
        try:
            daemon.start()
            for part in range(0, LABELS, LABELS // 6):  # a model is judged by labels later than its own
                self._kafka.produce(f"{name}.input", [events.message(event) for event in made[part:part + LABELS // 6]])
                self._kafka.produce(self._feedback, [{"value": json.dumps(verdict).encode(), "key": verdict["event_id"].encode()}
                                                     for verdict in said[part:part + LABELS // 6]])
                counted = part + LABELS // 6
                await_metrics(daemon, lambda metrics: metrics.value("assayd_calibration_feedback", outcome="counted") >= counted)
            await_metrics(daemon, lambda metrics: metrics.value("assayd_model_version") > 0)
        finally:
            daemon.close()


def learnt(kafka, database, name, number, count, model, horizon_s):
    """(events a second until all is committed, CPU µs an event until all is counted)"""
    daemon = make_daemon(kafka, name, number, calibration=database.settings(model, horizon_s), kafka_more=database.feedback(horizon_s),
                         log={"level": "info"})  # which names the port of its metrics
    try:
        daemon.start()
        started, spent = time.monotonic(), cpu_seconds(daemon.pid)
        wait_for(kafka, name, count, group=name + number)
        elapsed = time.monotonic() - started
        metrics = await_metrics(daemon, lambda metrics: metrics.value("assayd_calibration_records") >= count)
        cpu = cpu_seconds(daemon.pid) - spent
        assert model == "off" or metrics.value("assayd_model_version") > 0
        daemon.terminate()
    finally:
        daemon.close()
    return count / elapsed, cpu / count * 1e6


def compare_features(kafka, arguments):
    name = f"bench-{os.getpid()}"
    postgres = Postgres()
    database = Learnt(kafka, postgres, name)
    database.learn(f"{name}-learn")
    fill(kafka, f"{name}.input", arguments.events, message)
    for horizon_s in (0, 3600):
        results = {"off": [], "features": []}
        for number in range(arguments.rounds):
            for model in results:
                results[model].append(learnt(kafka, database, name, f"-{number}-{model}-{horizon_s}", arguments.events, model, horizon_s))
                show(number, model, results[model][-1])
        cpu = {model: statistics.median(result[1] for result in rounds) for model, rounds in results.items()}
        ratios = sorted(with_it[1] / without[1] for without, with_it in zip(results["off"], results["features"]))
        print(f"median   {'kept for feedback' if horizon_s else 'no feedback'}: features / off: {cpu['features'] / cpu['off']:.3f} times the CPU, "
              f"{cpu['features'] - cpu['off']:.1f} µs more an event (rounds: {ratios[0]:.3f} to {ratios[-1]:.3f})", flush=True)
    postgres.stop()


PREFIX_LIMIT = 1.02
SINGLE_OBJECT_HEADER = 10  # bytes, which the prefix takes the place of
FIRST_OF_OURS = 100


def a_registry():
    """Has the schema of events by every id, and an id for each schema that it is asked for under a subject."""
    ids, schema = {}, schema_registry.GENERATED_QUERY.read_text()

    def answer(handler):
        length = int(handler.headers.get("Content-Length", 0))
        asked = json.loads(handler.rfile.read(length)) if length else None
        if asked is None:
            handler.say(200, {"schema": schema})
        elif handler.path.startswith("/compatibility/"):
            handler.say(200, {"is_compatible": True})
        else:
            given = ids.setdefault(asked["schema"], FIRST_OF_OURS + len(ids))
            handler.say(200, {"subject": handler.path.split("/")[2], "version": 1, "id": given, "schema": asked["schema"]})

    return schema_registry.ScriptedRegistry(answer)


def framed(kafka, name, number, count, registry, wire_format):
    """(events a second, CPU µs an event), from the daemon's start until all is committed"""
    daemon = make_daemon(kafka, name, number, kafka_more={"wire_format": wire_format}, registry={"urls": (registry.url,)})
    try:
        started = time.monotonic()
        daemon.start()
        wait_for(kafka, name, count, group=name + number)
        elapsed = time.monotonic() - started
        cpu = cpu_seconds(daemon.pid)
        daemon.terminate()
    finally:
        daemon.close()
    assert published(kafka, f"{name}{number}.scored", 0) >= count and published(kafka, f"{name}{number}.dead_letter", 0) == 0
    return count / elapsed, cpu / count * 1e6


def compare_framings(kafka, arguments):
    names = {form: f"bench-{os.getpid()}-{form}" for form in ("single", "prefix")}
    for name in names.values():
        kafka.create_topics([f"{name}.input"], PARTITIONS)
    made = [message(number) for number in range(arguments.events)]
    kafka.produce(f"{names['single']}.input", made)
    prefix = struct.pack(">bI", 0, 1)
    kafka.produce(f"{names['prefix']}.input", ({**each, "value": prefix + each["value"][SINGLE_OBJECT_HEADER:]} for each in made))
    ways = {"single": ("single", "single_object"), "prefix": ("prefix", "single_object"), "prefix all": ("prefix", "confluent"),
            "single too": ("single", "single_object")}
    results = {way: [] for way in ways}
    registry = a_registry()
    for number in range(arguments.rounds):
        turns = list(ways.items())
        for way, (form, wire_format) in turns[number % len(turns):] + turns[:number % len(turns)]:
            mark = f"-{number}-{way.replace(' ', '-')}"
            results[way].append(framed(kafka, names[form], mark, arguments.events, registry, wire_format))
            show(number, way, results[way][-1])
    registry.close()
    medians = {}
    for way in ways:
        ratios = sorted(other[1] / single[1] for other, single in zip(results[way], results["single"]))
        medians[way] = statistics.median(ratios)
        print(f"median   {way:10} {statistics.median(result[1] for result in results[way]):8.1f} µs CPU an event, "
              f"{medians[way]:.3f} times that of single (rounds: {ratios[0]:.3f} to {ratios[-1]:.3f})")
    return max(medians["prefix"], medians["prefix all"]) <= PREFIX_LIMIT
