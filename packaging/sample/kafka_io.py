"""Kafka for packaging/quickstart: makes topics, sends the sample events, shows a person what came out."""

import argparse
import collections
import json
import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

MAIN, LEGACY, REVIEWS = "shop-assistant", "legacy-assistant", "review-assistant"  # the sample's applications
DRIFT_WAIT_S = 15
ACTIONS = ("USE", "USE_WITH_CAUTION", "VERIFY", "WITHHOLD")
LEVELS = ["HIGH_CONFIDENCE", "MEDIUM_CONFIDENCE", "LOW_CONFIDENCE", "VERY_LOW_CONFIDENCE"]


def create(arguments):
    admin = AdminClient({"bootstrap.servers": arguments.broker})
    wanted = [NewTopic(name, 1 if "advisories" in name or "dlq" in name else 3, 1) for name in arguments.topics]
    for name, done in admin.create_topics(wanted).items():
        try:
            done.result(timeout=30)
        except KafkaException as error:
            sys.exit(f"topic {name} cannot be created: {error}")


def delete(arguments):
    AdminClient({"bootstrap.servers": arguments.broker}).delete_topics(arguments.topics)
    time.sleep(1)


def send(arguments):
    producer = Producer({"bootstrap.servers": arguments.broker, "linger.ms": 20})
    count = 0
    for line in sys.stdin:
        producer.produce(arguments.topics[0], value=line.strip().encode())
        count += 1
    if producer.flush(30):
        sys.exit("the sample events could not be sent")
    print(count)


def kind_of(message):
    return dict(message.headers() or []).get("kind", b"?").decode()


def read_all(broker, topics, expected, timeout_s):
    """Messages by topic, until as many events as were sent have come out, scored or as dead letters, and calibration
    drift was noticed, which takes a few seconds more."""
    scored, advisories, dead = topics
    consumer = Consumer({"bootstrap.servers": broker, "group.id": f"quickstart-{time.time()}", "auto.offset.reset": "earliest",
                         "isolation.level": "read_committed", "enable.auto.commit": False})
    consumer.subscribe(topics)
    messages = {topic: [] for topic in topics}
    deadline = time.time() + timeout_s
    quiet_until = None
    while time.time() < deadline and (quiet_until is None or time.time() < quiet_until):
        message = consumer.poll(0.2)
        if message is not None and not message.error():
            messages[message.topic()].append(message)
            if sys.stderr.isatty():
                print(f"\r      {len(messages[scored])} of {expected} scored", end="", file=sys.stderr)
        if len(messages[scored]) + len(messages[dead]) >= expected and (quiet_until is None or message is not None):
            noticed = any(kind_of(advisory) == "CALIBRATION_DRIFT" for advisory in messages[advisories])
            quiet_until = time.time() + (1.5 if noticed else DRIFT_WAIT_S)
    consumer.close()
    if sys.stderr.isatty():
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    return messages[scored], messages[advisories], messages[dead]


def headline(text):
    print(f"\n{text}\n{'─' * len(text)}")


def compared(records):
    """(how many were compared with a ground truth, how many of these returned the right rows)"""
    tested = [r for r in records if (r.get("result_validation") or {}).get("status") == "COMPARED"]
    return len(tested), sum(r["result_validation"]["score"] >= 0.5 for r in tested)


def show_levels(records):
    headline("Confidence: known before anyone looks at an answer")
    print(f"  {MAIN}")
    by_level = collections.defaultdict(list)
    for record in records:
        if record["application"] == MAIN:
            by_level[record["confidence"]["level"]].append(record)
    for level in [*LEVELS, None]:
        group = by_level.get(level, [])
        if not group:
            continue
        tested, right = compared(group)
        limits = collections.Counter(r["confidence"]["limiting_factor"] for r in group).most_common(1)[0][0]
        print(f"  {level or 'no level':20} {len(group):4} {'█' * (len(group) // 4):28} "
              f"{f'{100 * right // tested} % of {tested} returned the right rows' if tested else 'not compared with a truth':42}"
              f" mostly limited by {limits or '-'}")


def show_legacy(records):
    sure = [r for r in records if r["application"] == LEGACY and r["confidence"]["level"] == LEVELS[0]]
    tested, right = compared(sure)
    if tested:
        print(f"  {LEGACY}\n  {LEVELS[0]:20} {len(sure):4} {'█' * (len(sure) // 4):28} {100 * right // tested} % of {tested} "
              "returned the right rows: see CALIBRATION_DRIFT below")


def show_reviews(records):
    reviews = sorted((r for r in records if r["application"] == REVIEWS), key=lambda r: r["occurred_at"])
    if not reviews:
        return
    headline("MongoDB: queries of mongosh on a target of their own")
    for record in reviews:
        print(f"  {record['disposition']['action']:16} {record['input']['sql']}\n{'':19}{record['disposition']['reasons'][0]['text']}")


def show_dispositions(records):
    headline("Dispositions: the one conclusion of each record, and what decided it most often")
    by_action = collections.defaultdict(list)
    for record in records:
        by_action[record["disposition"]["action"]].append(record["disposition"]["reasons"][0]["code"])
    for action in ACTIONS:
        codes = collections.Counter(by_action[action]).most_common(4)
        print(f"  {action:16} {len(by_action[action]):4}   {', '.join(f'{code} {count}' for code, count in codes)}")


def show_correctness(records):
    headline("Correctness: learnt afterwards, by running the query beside its ground truth")
    statuses = collections.Counter(r["result_validation"]["status"] for r in records if r.get("result_validation"))
    for status, count in statuses.most_common():
        print(f"  {status:22} {count:4}")
    decisions = collections.Counter(r["judge"]["decision"] for r in records)
    reasons = collections.Counter(r["judge"]["unjudged_reason"] for r in records if r["judge"]["decision"] == "UNJUDGED")
    headline("Decisions of the judge")
    for decision, count in decisions.most_common():
        why = ", ".join(f"{reason} {number}" for reason, number in reasons.items()) if decision == "UNJUDGED" else ""
        print(f"  {decision:22} {count:4}  {why}")
    if decisions.get("UNJUDGED") and reasons.get("NO_JUDGE"):
        print("  There was no judge: run again with --judge URL --judge-model NAME for one (any OpenAI-compatible endpoint).")


def show_advisories(messages):
    headline("Advisories: what would page or mail somebody")
    kinds = collections.defaultdict(list)
    for message in messages:
        kinds[kind_of(message)].append(json.loads(message.value()))
    for kind, group in sorted(kinds.items(), key=lambda item: -len(item[1])):
        held = sum(advisory.get("suppressed", 0) for advisory in group)
        print(f"  {kind:24} {len(group):4}   e.g. {group[0]['summary'][:150]}")
        if held:
            print(f"  {'':24} {'':4}   ({held} more were held back: advisories.max_per_minute)")


def show_dead(messages):
    headline("Dead letters: events that could not be read")
    for message in messages:
        headers = {name: value.decode(errors="replace") for name, value in message.headers() or []}
        print(f"  {headers.get('reason')}: {headers.get('detail')} (partition {headers.get('partition')}, offset {headers.get('offset')})")


def show_one(records):
    doubtful = next((r for r in records if r["confidence"]["level"] == "VERY_LOW_CONFIDENCE"
                     and r["safety"]["verdict"] == "SAFE" and (r["confidence"]["technical"] or {}).get("diagnostics")
                     and r["confidence"]["technical"]["score"] < 100), None)
    if not doubtful:
        return
    headline("One record, as an auditor would read it")
    print(f"  question    {doubtful['input']['question']}")
    print(f"  sql         {doubtful['input']['sql']}")
    for diagnostic in doubtful["confidence"]["technical"]["diagnostics"]:
        print(f"  {diagnostic['severity'].lower():11} {diagnostic['message']}")
    factors = {"technical": doubtful["confidence"]["technical"]["score"] / 100}
    if doubtful["confidence"]["advisory"]:
        factors["advisory"] = doubtful["confidence"]["advisory"]["confidence"]
    print(f"  confidence  {doubtful['confidence']['overall']:.2f}, the smallest of "
          + ", ".join(f"{name} {value:.2f}" for name, value in factors.items()))
    print(f"  disposition {doubtful['disposition']['action']}")
    for reason in doubtful["disposition"]["reasons"]:
        print(f"    {reason['code']:20} {reason['text']}")


def show(arguments):
    scored, advisories, dead = read_all(arguments.broker, arguments.topics, arguments.expected, arguments.timeout)
    if len(scored) + len(dead) != arguments.expected:
        sys.exit(f"{len(scored)} records and {len(dead)} dead letters came out of {arguments.expected} events")
    records = [json.loads(message.value()) for message in scored]
    print(f"\n{arguments.expected} events went in; {len(records)} scored records and {len(dead)} dead letter(s) came out.")
    show_levels(records)
    show_legacy(records)
    show_reviews(records)
    show_correctness(records)
    show_dispositions(records)
    show_advisories(advisories)
    show_dead(dead)
    show_one(records)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["create", "delete", "send", "show"])
    parser.add_argument("--broker", required=True)
    parser.add_argument("--expected", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("topics", nargs="+")
    arguments = parser.parse_args()
    {"create": create, "delete": delete, "send": send, "show": show}[arguments.action](arguments)


if __name__ == "__main__":
    main()
