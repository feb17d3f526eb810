"""What one instance makes of its machine, its memory, a judge that has no time and one that has: tests/bench/throughput's options --instances,
--memory, --judge-saturated and --judge-requests."""

import contextlib
import os
import pathlib
import subprocess
import sys

import rooms  # noqa: F401
import events
from measuring import Bars, Commits, Watcher, drain, drain_watched, fill, machine, make_daemon, outputs, ratios, spread
from servers import Postgres
from typical import Sized, Typical

ENCODERS = {"avro": events.encode, "json": events.encode_json}
ONE_LEAST, WORKERS_LEAST, SATURATED_LEAST = 0.9, 1.5, 0.9
PROCESSORS_FOR_WORKERS = 4  # two for the workers, and the broker needs its own
LONG_EVENTS = 4_000  # of SQL that leaves the broker with nothing to do beside it
MAX_IN_FLIGHT_BYTES = 64 * 1024 * 1024  # pipeline.max_in_flight_bytes as it is set
MEMORY_MOST_MIB = (64 * 1000 * 1000 + 2.5 * MAX_IN_FLIGHT_BYTES) / 1024 / 1024
BACKLOGS = {500: 50_000, 2000: 40_000, 40_000: 4_000, 500_000: 400}  # size of an event in bytes, events: 25 MB and more
JUDGE = pathlib.Path(__file__).resolve().parent / "judge_server.py"
JUDGE_MS = 1000
JUDGED_EVENTS = 6_000
FEW, MANY = (16, 20), (256, 320)  # requests in flight and what each takes, ms: 800 a second
FEW_MOST = 1.2


def wire(form):
    return {"wire_format": "json"} if form == "json" else {}


def together(kafka, name, mark, form, count, instances, by_records=False, **groups):
    """So many instances of one group drain a backlog. `by_records`: what is published counts, not what is committed, which an
    event that waits for its judge holds back."""
    topics = outputs(kafka, name + mark)
    with contextlib.ExitStack() as stack:
        daemons = [stack.enter_context(contextlib.closing(make_daemon(
            kafka, name, f"{mark}-{place}", topics=topics, kafka_more={"group_id": name + mark, **wire(form)}, **groups))) for place in range(instances)]
        for daemon in daemons:
            daemon.start(ready_timeout=None)
        for daemon in daemons:
            daemon.wait_ready()
        watcher = Watcher(kafka, topics["scored_topic"]) if by_records else Commits(kafka, f"{name}.input", name + mark)
        return drain_watched(watcher, count, *(daemon.pid for daemon in daemons))


def rates_of(results):
    return {way: [each.rate for each in done] for way, done in results.items()}


def rounds_of(arguments, ways):
    """Runs the ways, {name: run(mark)}, in turns; their results, {name: [Drained]}, printed."""
    results = {way: [] for way in ways}
    for number in range(arguments.rounds):
        turns = list(ways.items())
        for way, run in turns[number % len(turns):] + turns[:number % len(turns)]:
            done = run(f"-{number}-{way.replace(' ', '-')}")
            results[way].append(done)
            print(f"round {number + 1}  {way:16} {done.rate:10,.0f} events/s  {done.cpu_us:8.1f} µs CPU an event  {done.memory_mib:5.0f} MiB", flush=True)
    for way, done in results.items():
        print(f"median   {way:16} {spread([each.rate for each in done], '{:,.0f}'):>28} events/s  {spread([each.cpu_us for each in done]):>24} µs CPU an event")
    print(f"machine  load {os.getloadavg()[0]:.1f} at the end")
    return results


def compare_instances(kafka, arguments):
    """One instance against two of the same group, and one worker against two: these with long SQL as well, beside which the broker needs no processor."""
    print(f"machine  {machine()}")

    def backlog(name, count, typical):
        fill(kafka, f"{name}.input", count, typical.message)
        print(f"events   {count:,} in {arguments.format}, {typical.size_bytes:,} bytes each", flush=True)

        def way(instances, **pipeline):
            return lambda mark: together(kafka, name, mark, arguments.format, count, instances, pipeline=pipeline)

        return way

    encoder = ENCODERS[arguments.format]
    way = backlog(f"bench-{os.getpid()}", arguments.events, Typical(encoder))
    rates = rates_of(rounds_of(arguments, {"one instance": way(1), "two instances": way(2), "one worker": way(1, workers=1)}))
    way = backlog(f"bench-{os.getpid()}-long", LONG_EVENTS, Typical(encoder, variants=16, pivot=True))
    long_rates = rates_of(rounds_of(arguments, {"two workers": way(1, workers=2), "one worker": way(1, workers=1)}))
    bars = Bars()
    bars.hold("events a second: one instance / two", ratios(rates["one instance"], rates["two instances"]), least=ONE_LEAST)
    bars.hold("events a second: two workers / one", ratios(rates["one instance"], rates["one worker"]), least=WORKERS_LEAST,
              judged=os.cpu_count() >= PROCESSORS_FOR_WORKERS)
    bars.hold("events a second of long SQL: two workers / one", ratios(long_rates["two workers"], long_rates["one worker"]), least=WORKERS_LEAST)
    return bars.kept


def compare_memory(kafka, arguments):
    """The most memory that draining a backlog takes, for events of several sizes, in both formats, with calibration and without."""
    postgres, bars = Postgres(), Bars()
    try:
        for size, count in BACKLOGS.items():
            for form, encoder in ENCODERS.items():
                name = f"bench-{os.getpid()}-{size}-{form}"
                sized = Sized(size, encoder)
                fill(kafka, f"{name}.input", count, sized.message)
                for counted in (False, True):
                    mark = "-counted" if counted else "-alone"
                    database = (name + mark).replace("-", "_")
                    postgres.new_database(database)
                    groups = {"calibration": {"dsn": postgres.dsn(database)}} if counted else {}
                    with contextlib.closing(make_daemon(kafka, name, mark, kafka_more=wire(form), log={"level": "notice"},
                                                        pipeline={"max_in_flight_bytes": MAX_IN_FLIGHT_BYTES}, **groups)) as daemon:
                        daemon.start()
                        done = drain(kafka, f"{name}{mark}.scored", count, daemon.pid, counting=daemon if counted else None)
                    bars.hold(f"MiB: {count:,} {form} of {sized.size_bytes:,} bytes{', counted' if counted else ''}", [done.memory_mib], most=round(MEMORY_MOST_MIB))
                kafka.delete_topics([f"{name}.input", *(f"{name}-{mark}.{kind}" for mark in ("alone", "counted") for kind in ("scored", "advisory", "dead_letter"))])
        return bars.kept
    finally:
        postgres.stop()


@contextlib.contextmanager
def slow_judge(latency_ms, **more):
    """Settings of a judge whose answers take so long."""
    with subprocess.Popen([sys.executable, JUDGE, str(latency_ms)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        yield {"provider": "openai", "base_url": f"http://127.0.0.1:{int(server.stdout.readline())}/v1", "model": "m", **more}
        server.stdin.close()


def compare_saturated_judge(kafka, arguments):
    """A judge whose answers take a second and who has 64 calls in flight, beside none."""
    print(f"machine  {machine()}")
    name = f"bench-{os.getpid()}"
    fill(kafka, f"{name}.input", arguments.events, Typical().message)

    def way(**groups):
        return lambda mark: together(kafka, name, mark, "avro", arguments.events, 1, by_records=True, **groups)

    with slow_judge(JUDGE_MS, max_in_flight=64, when_saturated="skip") as judge:
        rates = rates_of(rounds_of(arguments, {"no judge": way(), "saturated judge": way(judge=judge)}))
    bars = Bars()
    bars.hold("events a second: saturated judge / none", ratios(rates["saturated judge"], rates["no judge"]), least=SATURATED_LEAST)
    return bars.kept


def compare_judge_requests(kafka, arguments):
    """Few requests in flight with a quick judge beside many with a slow one, as many a second: each event is judged."""
    print(f"machine  {machine()}")
    name = f"bench-{os.getpid()}"
    fill(kafka, f"{name}.input", JUDGED_EVENTS, Typical().message)
    with contextlib.ExitStack() as stack:
        def way(in_flight, latency_ms):
            judge = stack.enter_context(slow_judge(latency_ms, max_in_flight=in_flight, when_saturated="wait"))
            return lambda mark: together(kafka, name, mark, "avro", JUDGED_EVENTS, 1, by_records=True, judge=judge)

        results = rounds_of(arguments, {"few in flight": way(*FEW), "many in flight": way(*MANY)})
    cpu = {way: [each.cpu_us for each in done] for way, done in results.items()}
    bars = Bars()
    bars.hold_cost("µs CPU a judged event: 16 in flight / 256", cpu["few in flight"], cpu["many in flight"], most=FEW_MOST)
    return bars.kept
