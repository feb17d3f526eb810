#!/usr/bin/python3
"""Memory over a long run: 200,000 events through one daemon, resident memory has to stay flat.

By hand: tests/long/memory.py [EVENTS]. Takes some minutes; starts and ends its own servers.
"""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "harness"))

import events  # noqa: E402
from daemon import Daemon  # noqa: E402
from judge_server import Judge  # noqa: E402
from servers import Kafka, Postgres, Reader  # noqa: E402

BATCH = 10_000
WARM_UP = 4  # batches until caches, arenas and client buffers have their size
ALLOWED_GROWTH_KIB = 16 * 1024
TRUTH = {"sql": "SELECT c.city, count(c.id) AS n FROM customers AS c GROUP BY c.city"}


def templates():
    made = [events.Template(events.sure(question=f"Question {number}?", target="shop")) for number in range(200)]
    made += [events.Template(events.event("DELETE FROM orders", target="shop")),
             events.Template(events.event("SELECT nope FROM orders", target="shop")),
             events.Template(events.event(target="shop", ground_truth=TRUTH))]
    return made


def run(total, kafka, postgres, judge):
    topics = {f"{kind}_topic": f"memory.{kind}" for kind in ("input", "scored", "advisory", "dead_letter", "feedback")}
    kafka.create_topics(topics.values(), 4)
    daemon = Daemon({
        "kafka": {"bootstrap_servers": kafka.bootstrap, "group_id": "memory", "instance_id": "memory-1", **topics},
        "targets": ({"name": "shop", "engine": "postgresql", "dsn": postgres.dsn("shop", "assayd_ro")},),
        "judge": judge.settings(), "calibration": {"dsn": postgres.dsn("calibration")}})
    try:
        daemon.start()
        choices = templates()
        reader = Reader(kafka, topics["scored_topic"])
        sizes, done = [], 0
        started = time.monotonic()
        while done < total:
            kafka.produce(topics["input_topic"], [choices[number % len(choices)].message(partition=number % 4)[1]
                                                  for number in range(BATCH)])
            reader.until(BATCH, 300)
            reader.messages.clear()
            reader.seen_at.clear()
            done += BATCH
            sizes.append(daemon.resident_kib())
            print(f"{done:8} events  {time.monotonic() - started:7.1f} s  {sizes[-1]:8} KiB", flush=True)
        reader.close()
        assert daemon.terminate() == 0
        return sizes
    finally:
        daemon.close()


def main():
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    kafka, postgres, judge = Kafka(), Postgres(), Judge()
    try:
        postgres.new_database("shop", events.SHOP)
        postgres.new_database("calibration")
        sizes = run(total, kafka, postgres, judge)
    finally:
        judge.close()
        postgres.stop()
        kafka.stop()
    growth = sizes[-1] - sizes[min(WARM_UP, len(sizes)) - 1]
    print(f"grown by {growth} KiB since the first {WARM_UP * BATCH} events")
    sys.exit(growth > ALLOWED_GROWTH_KIB)


if __name__ == "__main__":
    main()
