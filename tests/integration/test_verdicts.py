"""What the judge's verdicts cost, where they are kept, and what becomes of events when there are none.

ASSAYD_EVENTS=5000: so many events are repeated instead of 1,000, and some sent one at a time; the storm has as many instead of 200,
and its deadlines are held to 100 ms. ASSAYD_OUTAGE_S=60: the outage lasts a minute instead of some seconds. (What an outage does
to the throughput: tests/bench/throughput --judge-down.)
"""

import collections
import contextlib
import hashlib
import os
import pathlib
import random
import signal
import statistics
import subprocess
import threading
import time
import urllib.error

import events
from daemon import BINARY, free_port
from judge_server import Answer

KEY = "sk-marked-7c1f0a5e6c1f4a639f0c0d6d4a9f3b11"
PASSWORD = "marked-password-2a9f3b11d4"
EVENTS = int(os.environ.get("ASSAYD_EVENTS", "1000"))
OUTAGE_S = float(os.environ.get("ASSAYD_OUTAGE_S", "4"))


def traffic(seed):
    """Questions as people ask them: few of them often, many of them once (Zipf's law)."""
    pick = random.Random(seed)
    ranks = range(1, 3001)
    return [f"Question number {rank}?" for rank in pick.choices(ranks, [1 / rank for rank in ranks], k=EVENTS)]


def messages_of(questions):
    made = {question: events.Template(events.event(question=question, target="shop")) for question in set(questions)}
    return [made[question].message()[1] for question in questions]


def relevance_ms(records):
    """How long the judge's stage of each took."""
    return [stage["duration_us"] / 1000 for record in records for stage in record["stages"] if stage["name"] == "relevance"]


def test_nothing_is_paid_for_twice(rig):
    questions = traffic(1)
    rig.start(judge={"max_in_flight": 16, "when_saturated": "wait", "prompt_token_price": 3, "completion_token_price": 15})
    rig.send(messages_of(questions))
    first = [record for _, record in rig.scored(EVENTS, timeout=240, settle=0)]
    calls = rig.judge.calls()
    assert calls == len(set(questions)), "each question once"
    assert calls <= EVENTS / 2
    assert {record["judge"]["decision"] for record in first} == {"ACCEPT_HIGH"}
    paid = [record["judge"]["cost"] for record in first if not record["judge"]["relevance"]["cached"]]
    assert len(paid) == calls and set(paid) == {(100 * 3 + 20 * 15) / 1e6}
    assert {record["judge"]["cost"] for record in first if record["judge"]["relevance"]["cached"]} == {0}
    assert rig.daemon.terminate() == 0

    rig.daemon.start()
    rig.send(messages_of(questions))
    both = [record for _, record in rig.scored(2 * EVENTS, timeout=240)]
    assert rig.judge.calls() == calls, "a repeat costs nothing"
    again = collections.Counter(record["judge"]["relevance"]["cached"] for record in both)
    assert again == {True: 2 * EVENTS - calls, False: calls}
    hits = relevance_ms(again_of(both, first))
    print(f"{EVENTS} events took {calls} calls, the repeat none; a hit takes {statistics.median(hits):.2f} ms "
          f"(99 %: {statistics.quantiles(hits, n=100)[98]:.2f} ms)")
    if "ASSAYD_EVENTS" in os.environ:
        print(f"one at a time a hit takes {idle_hit_ms(rig, questions, 2 * EVENTS):.2f} ms")
    assert rig.judge.calls() == calls


def again_of(both, first):
    """The repeats: a hit of the first time may have waited for the judge, with the call that it joined."""
    ended = {record["event_id"] for record in first}
    return [record for record in both if record["event_id"] not in ended]


def idle_hit_ms(rig, questions, before):
    """The median for verdicts that only PostgreSQL has."""
    assert rig.daemon.terminate() == 0
    rig.daemon.start()
    alone = sorted(set(questions))[:20]
    for question in alone:
        rig.send(messages_of([question]))
        time.sleep(0.2)
    records = [record for _, record in rig.scored(before + len(alone), timeout=240)]
    last = sorted(records, key=lambda record: record["scored_at"])[-len(alone):]
    return statistics.median(relevance_ms(last))


def test_verdicts_count_for_their_time_to_live(rig):
    """Beside the shared cache, too, which keeps them for longer; after a start; and from memory for what is left of it."""
    ages = []

    def ask(cached, aged=None):
        if aged:
            rig.postgres.execute(f"UPDATE judge_verdicts SET stored_at = now() - interval '{aged}'", rig.calibration_database)
        rig.send(messages_of(["Is it still so?"]))
        ages.append(cached)
        records = sorted((record for _, record in rig.scored(len(ages))), key=lambda record: record["scored_at"])
        assert records[-1]["judge"]["relevance"]["cached"] == cached
        assert rig.judge.calls() == ages.count(False)

    rig.start(judge={"cache_ttl_s": 3600})
    ask(False)
    ask(True)
    for aged, cached in (("2 hours", False), ("50 min", True), ("61 min", False)):
        assert rig.daemon.terminate() == 0
        rig.daemon.start()
        ask(cached, aged)
    assert rig.daemon.terminate() == 0
    rig.daemon.config["judge"]["cache_ttl_s"] = 0
    rig.daemon.start()
    for _ in range(3):
        ask(False)


def test_one_call_for_a_thousand_at_once(rig):
    rig.judge.answer = lambda prompt: Answer(delay_s=2)
    rig.start()
    rig.send(messages_of(["The same question?"] * 1000))
    records = [record for _, record in rig.scored(1000)]
    assert rig.judge.calls() == 1
    assert {record["judge"]["relevance"]["score"] for record in records} == {92}


def test_an_outage_flags_and_delays_nothing(rig):
    """Events go on at their own pace, none of them with a score that nobody gave, none of them in calibration."""
    rig.start(judge={"when_saturated": "wait"})
    rig.send(messages_of(["Before the outage?"]))
    rig.scored(1)
    rig.judge.answer = lambda prompt: Answer(status=503)
    asked, started, sent = rig.judge.calls(), time.monotonic(), 0
    while time.monotonic() < started + OUTAGE_S:
        rig.send(messages_of([f"Outage {sent + number}?" for number in range(100)]))
        sent += 100
        time.sleep(0.5)
    asked, lasted_s = rig.judge.calls() - asked, time.monotonic() - started
    rig.judge.answer = lambda prompt: Answer()
    returned, calls, last = time.monotonic(), rig.judge.calls(), 0
    while rig.judge.calls() == calls and time.monotonic() < returned + 120:
        last += 1
        rig.send(messages_of([f"Is it back, for the {last}th time?"]))
        time.sleep(0.2)
    asked_again_s = time.monotonic() - returned
    sent += last
    records = [record for _, record in rig.scored(1 + sent, timeout=240)][1:]
    print(f"{sent - last} events in {OUTAGE_S:.0f} s without a judge, which was asked {asked} times; asked again "
          f"{asked_again_s:.1f} s after its return")
    assert asked_again_s < (5 if "ASSAYD_OUTAGE_S" in os.environ else 120)
    assert asked <= 64 + 20 + lasted_s, "no more than what was in flight, until the breaker opened, and probes"
    judged = [record for record in records if record["judge"]["decision"] != "UNJUDGED"]
    assert len(judged) <= 64 + 100 + last, "what was in flight when it came back, and at most the last that were sent"
    for record in records:
        if record in judged:
            continue
        assert record["judge"]["unjudged_reason"] == "judge_unavailable"
        assert [error["code"] for error in record["errors"]] == ["judge_unavailable"]
        assert record["label"] is None and record["evaluation"] is None
    rig.send(messages_of(["After the outage?"]))
    rig.await_calibration([record for _, record in rig.scored(2 + sent, timeout=60)])


def test_a_storm_loses_nothing(rig):
    """Of all requests 30 % are one too many, and 10 % are reset: every event ends, in time, judged or flagged."""
    exact = "ASSAYD_EVENTS" in os.environ
    pick, timeout_ms, wait_ms = random.Random(7), 3000 if exact else 1500, 500

    def faulty(prompt):
        chance = pick.random()
        return Answer(delay_s=pick.expovariate(1 / 0.06), status=429 if chance < 0.3 else 200, reset=0.3 <= chance < 0.4)

    rig.judge.answer = faulty
    rig.start(judge={"timeout_ms": timeout_ms, "queue_wait_ms": wait_ms, "cache_wait_ms": wait_ms, "max_attempts": 20})
    ids, count = [], EVENTS if exact else 200
    while len(ids) < count:
        lot = [events.Template(events.event(question=f"Storm {len(ids) + n}?", target="shop")).message() for n in range(100)]
        ids += [event_id for event_id, _ in lot]
        rig.send([message for _, message in lot])
        time.sleep(0.5)
    records = [record for _, record in rig.scored(count, timeout=240)]
    assert sorted(record["event_id"] for record in records) == sorted(ids)
    judged = [record for record in records if record["judge"]["decision"] != "UNJUDGED"]
    assert judged and all(record["judge"]["relevance"]["score"] == 92 for record in judged)
    reasons = collections.Counter(record["judge"]["unjudged_reason"] for record in records if record not in judged)
    assert set(reasons) <= {"SATURATED", "judge_rate_limited", "judge_unavailable", "judge_timeout"}
    assert all(record["errors"] and record["label"] is None for record in records if record not in judged)
    latest_ms = max(relevance_ms(records))
    print(f"{count} events in the storm: {len(judged)} judged, {dict(reasons)}; {rig.judge.calls()} requests; the latest verdict "
          f"after {latest_ms:.0f} ms of {timeout_ms + 2 * wait_ms}")
    assert not exact or latest_ms < timeout_ms + 2 * wait_ms + 100
    rig.await_calibration(records)


def is_sampled(event_id, rate):
    return (int.from_bytes(hashlib.sha256(event_id.encode()).digest()[:8], "big") >> 11) / 2**53 < rate


def test_records_say_why_nobody_judged(rig):
    go_on = threading.Event()
    rig.judge.answer = lambda prompt: Answer(status=200 if "Slow" not in prompt or go_on.wait(280) else 500)
    rig.start(judge={"sample_rate": 0.25, "always_below": "MEDIUM_CONFIDENCE", "max_in_flight": 1, "queue_wait_ms": 200_000,
                     "timeout_ms": 300_000})
    made = [events.event(question="Sampled?") for _ in range(60)]
    made += [events.event("SELECT nothing, nowhere FROM customers", question="Sampled?", target="shop") for _ in range(5)]
    made += [events.event("DELETE FROM orders", question="Sampled?")]
    rig.send([events.message(event) for event in made])
    records = {record["event_id"]: record for _, record in rig.scored(len(made))}
    for event in made[:60]:
        judge, label = records[event["event_id"]]["judge"], records[event["event_id"]]["label"]
        assert judge["sampling_probability"] == 0.25 and not records[event["event_id"]]["errors"]
        if is_sampled(event["event_id"], 0.25):
            assert judge["relevance"]["score"] == 92 and label["weight"] == 4
        else:
            assert (judge["decision"], judge["unjudged_reason"], label) == ("UNJUDGED", "NOT_SAMPLED", None)
    for event in made[60:65]:  # of low confidence: whatever the sample is
        judge, label = records[event["event_id"]]["judge"], records[event["event_id"]]["label"]
        assert (judge["decision"], judge["sampling_probability"], label["weight"]) == ("ACCEPT_HIGH", 1, 1)
    assert records[made[65]["event_id"]]["judge"]["unjudged_reason"] == "UNSAFE"

    slow = []
    while len(slow) < 5:
        event = events.event(question=f"Slow {len(slow)}?")
        slow += [event] if is_sampled(event["event_id"], 0.25) else []
    rig.daemon.config["judge"]["queue_wait_ms"] = 1000
    rig.daemon.write_config()
    rig.daemon.signal(signal.SIGHUP)
    deadline = time.monotonic() + 120
    while [line for _, line in rig.daemon.notified()].count("READY=1") < 2:
        assert time.monotonic() < deadline, "the reload does not end"
        time.sleep(0.05)
    rig.send([events.message(event) for event in slow])
    rig.scored(len(made) + 4)  # one has the place, as long as it is held
    go_on.set()
    records = [record for _, record in rig.scored(len(made) + 5) if record["event_id"] in {event["event_id"] for event in slow}]
    assert sorted(record["judge"]["unjudged_reason"] or "" for record in records) == ["", *["SATURATED"] * 4]
    for record in records:
        if record["judge"]["unjudged_reason"]:
            assert [error["code"] for error in record["errors"]] == ["judge_saturated"]
            assert record["label"] is None and record["evaluation"] is None


def test_secrets_are_never_told(rig, tmp_path):
    """A judge that tells the key to everybody: in errors, in verdicts, in what is no verdict."""
    key_file, password_file = tmp_path / "key", tmp_path / "password"
    key_file.write_text(KEY + "\n")
    password_file.write_text(PASSWORD + "\n")
    answers = [dict(status=401, message=f"Incorrect API key provided: {KEY}"), dict(status=400, message=f"bad \"{KEY}\""),
               dict(status=500, message=KEY), dict(body=f"<html>{KEY}</html>"), dict(text=KEY), dict(text=f'{{"{KEY}": 1}}'),
               dict(text=f'{{"score": 20, "reason": "the key is {KEY}, is it not?"}}'),
               dict(text=f'{{"score": 90, "reason": "{KEY}{KEY}"}}'), dict(text=f'{{"score": "{KEY}"}}')]
    rig.judge.answer = lambda prompt: Answer(**answers[int(prompt.split("Attempt ")[1].split("?")[0])])
    rig.start(judge={"api_key_file": str(key_file), "max_attempts": 2},
              calibration={"password_file": str(password_file)}, log={"level": "debug"})
    rig.send(messages_of([f"Attempt {number}?" for number in range(len(answers))]) + [{"value": b"no event"}])
    scored = [message for message, _ in rig.scored(len(answers))]
    told = [rig.kafka.read(topic) for topic in (rig.topics.advisory, rig.topics.dead_letter)]
    assert any(b"***" in message.value() for message in scored), "the judge did tell it"
    stored = rig.postgres.execute("SELECT coalesce(string_agg(reason, ' '), '') FROM judge_verdicts", rig.calibration_database)
    assert "***" in stored[0][0]
    pages = pages_of(rig)
    assert rig.daemon.terminate() == 0
    assert_untold(rig, [KEY, PASSWORD], [stored[0][0], *pages, *(outside(message) for batch in [scored, *told] for message in batch)])


def outside(message):
    return str((message.value(), message.key(), message.headers()))


def pages_of(rig):
    """Those that are served."""
    pages = []
    for path in ("/metrics", "/status", "/healthz", "/readyz"):
        with contextlib.suppress(urllib.error.URLError):
            pages.append(rig.daemon.get(path)[1])
    return pages


def assert_untold(rig, secrets, texts):
    """Neither in these texts nor in anything that the daemon has said or kept, nor a part of one."""
    kept = [file.read_text(errors="replace") for file in pathlib.Path(rig.daemon.state).rglob("*") if file.is_file()]
    for text in [rig.daemon.log(), str(rig.daemon.notified()), *kept, *texts]:
        for secret in secrets:
            assert secret not in text and secret[3:18] not in text


def test_refused_passwords_are_never_told(rig, tmp_path):
    """Every server refuses, in its own words or those of its client library."""
    hba = pathlib.Path(rig.postgres.dir) / "data" / "pg_hba.conf"
    hba.write_text("host all guarded 127.0.0.1/32 scram-sha-256\n" + hba.read_text())
    rig.postgres.execute("CREATE ROLE guarded LOGIN PASSWORD 'the right one'; SELECT pg_reload_conf()")
    secrets = {name: f"{name}-marked-3f9d0b27c1" for name in ("key", "target", "stock", "cache", "calibration")}
    files = {name: tmp_path / name for name in secrets}
    for name, file in files.items():
        file.write_text(secrets[name] + "\n")
    dsn, closed = rig.postgres.dsn("shop", "guarded"), free_port()
    targets = ({"name": "shop", "engine": "postgresql", "dsn": dsn, "password_file": str(files["target"])},
               {"name": "stock", "engine": "mariadb", "dsn": f"host=127.0.0.1 port={closed} user=assayd_ro dbname=stock",
                "password_file": str(files["stock"])})
    rig.start(targets=targets, calibration={"dsn": dsn, "password_file": str(files["calibration"])}, log={"level": "debug"},
              judge={"base_url": f"http://127.0.0.1:{closed}/v1", "api_key_file": str(files["key"]), "max_attempts": 2,
                     "cache_dsn": dsn, "cache_password_file": str(files["cache"])})
    rig.send([events.Template(events.event(question=f"Is {name} there?", target=name)).message()[1] for name in ("shop", "stock")])
    scored = rig.scored(2)
    assert all(record["judge"]["unjudged_reason"] == "judge_unavailable" for _, record in scored)
    said = [outside(message) for message, _ in scored] + pages_of(rig)
    said += [outside(message) for message in rig.kafka.read(rig.topics.advisory)]
    check = subprocess.run([BINARY, "check", "--config", rig.daemon.config_file], capture_output=True, text=True, timeout=240)
    assert rig.daemon.terminate() == 0
    for client in (rig.daemon.log(), check.stdout + check.stderr):
        assert "password authentication failed" in client, "it was about them"
    assert_untold(rig, secrets.values(), [*said, check.stdout, check.stderr])
