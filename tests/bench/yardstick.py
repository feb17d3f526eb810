"""Whether assayd is faster than anything its users would build instead: what tests/bench/throughput does without an option."""

import contextlib
import dataclasses
import os
import pathlib
import subprocess
import sys

import rooms  # noqa: F401
import events
import other_clients
from daemon import BINARY
from measuring import Bars, drain, fill, machine, make_daemon, outputs, published, ratios, spread
from servers import Postgres
from typical import Typical

PASSTHROUGH = pathlib.Path(BINARY).parent / "tests" / "bench" / "passthrough"
PEER = pathlib.Path(__file__).resolve().parent / "peer"
ENCODERS = {"avro": events.encode, "json": events.encode_json}
AVRO_MOST, AVRO_COUNTED_MOST, JSON_COUNTED_MOST = 10, 12, 20  # times the CPU of the copy
PEER_LEAST = 1.3  # times its events a second
EVENTS_LEAST = 40_000  # of fewer the copy's transactions are so few that its own cost does not show


@dataclasses.dataclass
class Way:
    """One of those that are compared: `run(name)` says what it needed."""

    name: str
    run: callable
    results: list = dataclasses.field(default_factory=list)

    def rates(self):
        return [done.rate for done in self.results]

    def cpu(self):
        return [done.cpu_us for done in self.results]


class Bench:
    """A broker with the same events in both formats, and a PostgreSQL for calibration."""

    def __init__(self, kafka, postgres, arguments):
        self._kafka, self._postgres, self._count = kafka, postgres, arguments.events
        self._base = f"bench-{os.getpid()}"
        for form, encoder in ENCODERS.items():
            typical = Typical(encoder, own_sql=not arguments.repeated_sql)
            fill(kafka, f"{self._base}-{form}.input", arguments.events, typical.message)
            print(f"events   {arguments.events:,} in {form}, {typical.size_bytes:,} bytes each", flush=True)

    def _process(self, name, *command):
        """A process that reads on when it has everything, so that it is there to be asked."""
        with subprocess.Popen([str(word) for word in command]) as process:
            try:
                return drain(self._kafka, f"{name}.scored", self._count, process.pid)
            finally:
                process.kill()

    def copy(self, name):
        name = f"{self._base}-{name}"
        topics = outputs(self._kafka, name)
        return self._process(name, PASSTHROUGH, self._kafka.bootstrap, f"{self._base}-avro.input", topics["scored_topic"], self._count + 1)

    def peer(self, program, name):
        name = f"{self._base}-{name}"
        topics = outputs(self._kafka, name)
        done = self._process(name, program, self._kafka.bootstrap, f"{self._base}-json.input", *topics.values())
        assert published(self._kafka, topics["dead_letter_topic"], 0) == 0
        return done

    def assayd(self, form, counted, name):
        groups = {"log": {"level": "notice"}}  # which names the port of its metrics
        if counted:
            database = f"{self._base}_{name}".replace("-", "_")
            self._postgres.new_database(database)
            groups["calibration"] = {"dsn": self._postgres.dsn(database)}
        topic = {"input_topic": f"{self._base}-{form}.input", **({"wire_format": "json"} if form == "json" else {})}
        with contextlib.closing(make_daemon(self._kafka, self._base, f"-{name}", kafka_more=topic, **groups)) as daemon:
            daemon.start()
            done = drain(self._kafka, f"{self._base}-{name}.scored", self._count, daemon.pid, counting=daemon if counted else None)
        assert published(self._kafka, f"{self._base}-{name}.dead_letter", 0) == 0
        return done


def ways_of(bench):
    """Without the peer where it cannot be built, which is said."""
    made = [Way("copy", bench.copy)]
    for form in ENCODERS:
        for counted in (False, True):
            made.append(Way(f"{form}{', counted' if counted else ''}", lambda name, form=form, counted=counted: bench.assayd(form, counted, name)))
    try:
        program = other_clients.go_program("bench-peer", PEER)
        made.append(Way("Go peer", lambda name: bench.peer(program, name)))
    except other_clients.Unavailable as reason:
        print(f"Go peer  not measured: {reason}", flush=True)
    return made


def hold_bars(ways):
    """Prints the ratios; whether all of them are held."""
    of, bars = {way.name: way for way in ways}, Bars()
    copy = of["copy"].cpu()
    bars.hold_cost("CPU: Avro / copy", of["avro"].cpu(), copy, AVRO_MOST)
    bars.hold_cost("CPU: Avro, counted / copy", of["avro, counted"].cpu(), copy, AVRO_COUNTED_MOST)
    bars.hold_cost("CPU: JSON, counted / copy", of["json, counted"].cpu(), copy, JSON_COUNTED_MOST)
    if "Go peer" in of:
        bars.hold("events a second: JSON / Go peer", ratios(of["json"].rates(), of["Go peer"].rates()), least=PEER_LEAST)
    return bars.kept


def compare(kafka, arguments):
    """Prints everything; whether all bars are held."""
    if arguments.events < EVENTS_LEAST:
        sys.exit(f"A copy is too short with fewer than {EVENTS_LEAST:,} events.")
    print(f"machine  {machine()}")
    postgres = Postgres()
    try:
        bench = Bench(kafka, postgres, arguments)
        ways = ways_of(bench)
        for number in range(arguments.rounds):
            for way in ways[number % len(ways):] + ways[:number % len(ways)]:
                way.results.append(way.run(f"{number}-{way.name.replace(', ', '-').replace(' ', '-').lower()}"))
                done = way.results[-1]
                print(f"round {number + 1}  {way.name:14} {done.rate:10,.0f} events/s  {done.cpu_us:8.1f} µs CPU an event  {done.memory_mib:5.0f} MiB", flush=True)
        for way in ways:
            print(f"median   {way.name:14} {spread(way.rates(), '{:,.0f}'):>28} events/s  {spread(way.cpu()):>24} µs CPU an event  "
                  f"{max(done.memory_mib for done in way.results):5.0f} MiB at most")
        print(f"machine  load {os.getloadavg()[0]:.1f} at the end")
        return hold_bars(ways)
    finally:
        postgres.stop()
