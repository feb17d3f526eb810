"""From the input topic to the scored topic: everything, once, with the right numbers."""

import collections
import json
import socket
import threading
import time

import pytest

import events
import json_forms
import openmetrics
import wire
from judge_server import Answer
from openmetrics import Metrics, await_metrics
from servers import headers_of

QUESTIONS = 10
TRUTH = {"sql": "SELECT c.city, count(c.id) AS n FROM customers AS c GROUP BY c.city"}
NOBODY = "SELECT city, 0 AS customers FROM customers GROUP BY city"
UNKNOWN_COLUMN = "SELECT city, country FROM customers LIMIT 5"
TRACEPARENT = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

# What each kind of event has to come out as: a kind is (event's fields, expectations of its record).
KINDS = {
    "right": (
        dict(sql=events.CITY_COUNT, target="shop", ground_truth=TRUTH, retrieval=events.GOOD_RETRIEVAL,
             response=events.GOOD_RESPONSE),
        dict(technical=100, overall=1.0, level="HIGH_CONFIDENCE", verdict="SAFE", result=1.0,
             label=("RESULT", True))),
    "wrong": (
        dict(sql=NOBODY, target="shop", ground_truth=TRUTH),
        dict(technical=100, overall=1.0, level="MEDIUM_CONFIDENCE", verdict="SAFE", result=0.0,
             label=("RESULT", False))),
    "unknown column": (
        dict(sql=UNKNOWN_COLUMN, target="shop"),
        dict(technical=80, overall=0.8, level="MEDIUM_CONFIDENCE", verdict="SAFE", result=None,
             label=("RELEVANCE", True))),
    "unsafe": (
        dict(sql="DELETE FROM orders", target="shop"),
        dict(overall=0.0, level="VERY_LOW_CONFIDENCE", verdict="UNSAFE", result=None, label=None)),
    "no target": (
        dict(sql="SELECT count(*) FROM anything"),
        dict(technical=100, overall=1.0, level="MEDIUM_CONFIDENCE", verdict="SAFE", result=None,
             label=("RELEVANCE", True))),
}
# One event in ten runs on the target.
SEQUENCE = ["right", "unsafe", "no target", "unknown column", "no target", "wrong", "unknown column", "no target",
            "unknown column", "no target"] + ["no target", "unknown column"] * 5


def question(number):
    return f"Question {number}: how many customers live in each city?"


def make_events(count, encoders, partitions):
    """(messages, kind by event_id)"""
    templates = {(kind, number): events.Template(events.event(question=question(number), **KINDS[kind][0]))
                 for kind in KINDS for number in range(QUESTIONS)}
    messages, kinds = [], {}
    for index in range(count):
        kind = SEQUENCE[index % len(SEQUENCE)]
        template = templates[kind, index // len(SEQUENCE) % QUESTIONS]
        name, message = template.message(encoders[index % len(encoders)], partition=index % partitions)
        kinds[name] = kind
        messages.append(message)
    return messages, kinds


def check(record, kind):
    """Holds a record against what its kind expects."""
    expected = KINDS[kind][1]
    confidence = record["confidence"]
    assert record["safety"]["verdict"] == expected["verdict"]
    assert confidence["overall"] == pytest.approx(expected["overall"], abs=1e-9)
    assert confidence["level"] == expected["level"]
    if "technical" in expected:
        assert confidence["technical"]["score"] == expected["technical"]
    if expected["result"] is None:
        assert record["result_validation"] is None or record["result_validation"]["status"] == "UNSAFE"
    else:
        assert record["result_validation"]["score"] == expected["result"]
    label = record["label"]
    assert (label and (label["source"], label["correct"])) == expected["label"]
    assert record["errors"] == []


def test_ten_thousand_events_come_out_once_with_the_right_numbers(rig):
    count, partitions = 10_000, 4
    rig.start(partitions=partitions)
    messages, kinds = make_events(count, [events.encode], partitions)
    rig.send(messages)

    scored = rig.scored(count, timeout=240, settle=2)
    assert len(scored) == count
    names = collections.Counter(str(record["event_id"]) for _, record in scored)
    assert names == dict.fromkeys(kinds, 1)
    places = {(record["provenance"]["partition"], record["provenance"]["offset"]) for _, record in scored}
    assert len(places) == count
    for message, record in scored:
        assert message.key() == str(record["event_id"]).encode()
        assert record["provenance"]["topic"] == rig.topics.input
        check(record, kinds[str(record["event_id"])])
    assert rig.dead_letters() == []

    # Equal questions are asked once, however many events ask them; what is unsafe is never sent.
    assert rig.judge.calls(correctness=False) == QUESTIONS * (len(KINDS) - 1)
    assert rig.judge.calls(correctness=True) <= QUESTIONS * 2
    assert rig.judge.calls("DELETE FROM orders") == 0

    rig.await_calibration([record for _, record in scored])


def test_json_and_avro_go_in_side_by_side(rig):
    rig.start(partitions=2)
    messages, kinds = make_events(200, [events.encode, events.encode_json, events.encode_json], 2)
    rig.send(messages)
    scored = rig.scored(200)
    assert {str(record["event_id"]) for _, record in scored} == set(kinds)
    for _, record in scored:
        check(record, kinds[str(record["event_id"])])


def test_json_comes_out_where_it_is_asked_for(rig):
    rig.start(partitions=1, kafka={"wire_format": "json"})
    event = events.sure(target="shop", ground_truth=TRUTH, attributes={"tenant": "a"})
    rig.send([events.message(event, events.encode_json)])
    [message] = rig.kafka.read(rig.topics.scored, 1, 60)
    record = json.loads(message.value())
    assert record["event_id"] == event["event_id"]
    assert record["occurred_at"] == int(event["occurred_at"].timestamp() * 1000)
    assert set(record) == {field.name for field in wire.SCORED_QUERY.schema.fields}
    assert record["input"]["sql"] == events.CITY_COUNT
    assert record["input"]["attributes"] == {"tenant": "a"}
    assert record["input"]["generator_confidence"] is None
    check(record, "right")

    # All that comes out is as the JSON Schemas say.
    messages, kinds = make_events(len(SEQUENCE), [events.encode_json], 1)
    rig.send(messages)
    records = [json.loads(message.value()) for message in rig.kafka.read(rig.topics.scored, 1 + len(messages), 60)]
    assert {record["event_id"] for record in records} == {event["event_id"], *kinds}
    advisories = [json.loads(message.value()) for message in rig.kafka.read(rig.topics.advisory, 4, 60)]
    for name, written in (("scored_query", records), ("advisory", advisories)):
        checker = json_forms.validator(name)
        assert [json_forms.faults(checker, value) for value in written] == [[]] * len(written)


def test_what_is_not_known_is_told_and_claims_nothing(rig):
    """Dialects and symbols of nobody, texts that do not parse, functions that nobody knows."""
    rig.start(partitions=1)
    made = {
        "dialect": dict(events.event("SELECT 1 FROM customers")),
        "failure": dict(events.event("SELECT nope FROM customers", target="shop", ground_truth={"should_pass": False})),
        "slip": dict(events.event("SELECT city FORM customers", target="shop", ground_truth=TRUTH)),
        "unknown table": dict(events.event("SELECT * FROM customrs LIMIT 1", target="shop",
                                           ground_truth={"should_pass": False})),
    }
    texts = {name: json.loads(events.encode_json(event)) for name, event in made.items()}
    texts["dialect"]["dialect"] = "KLINGON"
    texts["failure"]["ground_truth"]["expected_failure"] = "MOOD"
    rig.send([events.message(event, lambda _, text=texts[name]: json.dumps(text).encode())
              for name, event in made.items()])
    records = {str(record["event_id"]): record for _, record in rig.scored(len(made))}
    records = {name: records[event["event_id"]] for name, event in made.items()}

    klingon = records["dialect"]
    assert klingon["confidence"]["technical"] is None and klingon["safety"]["verdict"] == "UNKNOWN"
    assert [error["code"] for error in klingon["errors"]] == ["dialect_unsupported"]
    assert "KLINGON" in klingon["errors"][0]["message"]
    assert [error["code"] for error in records["failure"]["errors"]] == ["symbol_unknown"]

    slip = records["slip"]
    assert slip["safety"]["verdict"] == "UNKNOWN" and slip["safety"]["violations"] == [] and slip["safety"]["doubt"]
    assert slip["confidence"]["technical"]["score"] == 0 and slip["confidence"]["level"] == "VERY_LOW_CONFIDENCE"
    assert slip["result_validation"]["status"] == "INVALID" and slip["result_validation"]["score"] == 0.0
    assert slip["label"] == {"value": 0.0, "correct": False, "source": "RESULT", "weight": 1.0}
    assert not slip["evaluation"]["passed"]

    # An unknown table explains why it has to fail: nothing is said of its safety.
    table = records["unknown table"]["grading"]
    assert table["safety"] is None and table["validation"]["class"] == "CORRECT_REJECTION"
    assert table["validation"]["category"] == "schema"
    kinds = {dict(message.headers())["kind"] for message in rig.kafka.read(rig.topics.advisory, 4, 60)}
    # Of what does not parse, of what its truth wants rejected, and of what nobody can read.
    assert kinds == {b"LOW_CONFIDENCE", b"WRONG_ANSWER", b"REVIEW_REQUIRED"}


def test_the_record_explains_its_numbers(rig):
    rig.start(partitions=1)
    event = events.sure(target="shop", ground_truth={**TRUTH, "should_pass": True}, attributes={"tenant": "a"},
                        generator_confidence=0.0)
    rig.send([events.message(event)])
    [(_, record)] = rig.scored(1)
    for field in ("application", "model", "prompt_version", "target", "occurred_at"):
        assert record[field] == event[field]
    assert record["input"] == wire.with_defaults(wire.GENERATED_QUERY.schema, event)
    assert record["confidence"]["generator"] == 0.0
    advisory = record["confidence"]["advisory"]
    assert advisory["confidence"] == pytest.approx(1.0)
    assert [advisory[part] for part in ("retrieval_quality", "source_quality", "response_quality")] == [
        pytest.approx(0.4), pytest.approx(0.3), pytest.approx(0.3)]
    # By hand: scores 1.0 and 0.9, gap 0.1/0.3, both above 0.75, r = 1, deviation 0.05, graph, one document of two.
    assert record["confidence"]["retrieval"]["confidence"] == pytest.approx(
        0.30 * 1.0 + 0.20 * (0.1 / 0.3) + 0.15 * 1 + 0.15 * 1 + 0.10 * (1 - 0.05 / 0.2) + 0.05 * 1 + 0.05 * 0.5)
    assert record["structure"]["structural"] == 1.0
    assert record["structure"]["table_accuracy"] == 1.0
    assert record["structure"]["tables"] == ["customers"]
    assert record["result_validation"]["generated"]["rows"] == 3
    assert record["judge"]["relevance"]["score"] == 92
    assert record["judge"]["decision"] == "ACCEPT_HIGH"
    assert record["judge"]["sampling_probability"] == 1.0
    assert record["judge"]["model"] == "judge-model"
    assert record["grading"]["safety"]["class"] == "TRUE_NEGATIVE"
    assert record["grading"]["validation"]["class"] == "CORRECT_ACCEPTANCE"
    weights = record["evaluation"]["weights"]
    assert weights == pytest.approx({"structural": 0.40, "semantic": 0.15, "judge": 0.15, "result": 0.30})
    assert record["evaluation"]["score"] == pytest.approx(
        0.40 + 0.15 * record["structure"]["semantic"] + 0.15 + 0.30)
    assert record["evaluation"]["passed"] and not record["evaluation"]["degraded"]
    assert record["provenance"]["partition"] == 0 and record["provenance"]["offset"] == 0
    assert len(record["provenance"]["catalog_digest"]) == 64


def test_advisories_can_be_told_apart_by_their_headers(rig):
    answers = {"off topic": 20}
    rig.judge.answer = lambda prompt: Answer(
        score=next((score for text, score in answers.items() if text in prompt), 92))
    rig.start(partitions=1)
    doubtful = {
        "UNSAFE_QUERY": events.event("DROP TABLE orders", target="shop"),
        "LOW_CONFIDENCE": events.event("SELECT nope, nada FROM customers LIMIT 1", target="shop"),
        "LOW_RELEVANCE": events.event(question="off topic", target="shop"),
        "GROUND_TRUTH_FAILED": events.event(target="shop", ground_truth={"sql": "SELECT city FROM nowhere"}),
        "PERFORMANCE_REGRESSION": events.event("SELECT sum(amount) AS total FROM slow_orders(3.0)", target="shop",
                                               ground_truth={"sql": events.TOTAL}),
        "REVIEW_REQUIRED": events.event("SELECT nope FROM customers LIMIT 1", target="shop"),
    }
    levels = {"UNSAFE_QUERY": "VERY_LOW_CONFIDENCE", "LOW_CONFIDENCE": "LOW_CONFIDENCE",
              "LOW_RELEVANCE": "MEDIUM_CONFIDENCE", "GROUND_TRUTH_FAILED": "MEDIUM_CONFIDENCE",
              "PERFORMANCE_REGRESSION": "MEDIUM_CONFIDENCE", "REVIEW_REQUIRED": "MEDIUM_CONFIDENCE"}
    fine = events.sure(target="shop")
    rig.send([events.message(event, headers=[("traceparent", TRACEPARENT), ("other", b"x")])
              for event in [*doubtful.values(), fine]])
    assert len(rig.scored(7)) == 7

    seen = {}
    for message in rig.kafka.read(rig.topics.advisory, len(doubtful), settle=1):
        headers = headers_of(message)
        record = wire.ADVISORY.decode(message.value())
        assert headers["kind"].decode() == record["kinds"][0]
        assert headers["kinds"].decode() == ",".join(record["kinds"])
        assert headers["level"].decode() == record["level"]
        assert headers["action"].decode() == record["action"] and headers["application"].decode() == record["application"]
        assert headers["traceparent"] == TRACEPARENT
        assert record["summary"]
        assert str(record["event_id"]) not in seen, "one for an event"
        seen[str(record["event_id"])] = record["kinds"]
        kind = record["kinds"][0]
        assert record["kind"] == {"REVIEW_REQUIRED": "LOW_CONFIDENCE"}.get(kind, kind), "as the first schema knew it"
        assert record["reasons"][0]["text"] in record["summary"] or kind == "PERFORMANCE_REGRESSION"
        assert record["question"] and record["sql"] and record["remedy"] and record["factors"]
        if kind == "PERFORMANCE_REGRESSION":
            assert record["value"] > 2900 > record["threshold"] > 0, "its time begins when the truth's rows have been read"
        if str(record["event_id"]) == doubtful.get(kind, {}).get("event_id"):
            assert record["level"] == levels[kind]
    for kind, event in doubtful.items():
        assert kind in seen[event["event_id"]]
    assert fine["event_id"] not in seen


def test_traceparent_is_carried_through(rig):
    rig.start(partitions=1)
    traced, plain = events.sure(), events.sure()
    rig.send([events.message(traced, headers=[("traceparent", TRACEPARENT)]), events.message(plain)])
    headers = {str(record["event_id"]): headers_of(message) for message, record in rig.scored(2)}
    assert headers[traced["event_id"]]["traceparent"] == TRACEPARENT
    assert "traceparent" not in headers[plain["event_id"]]


def test_two_events_of_one_name_are_both_scored(rig):
    rig.start(partitions=2)
    event = events.sure()
    rig.send([events.message(event, partition=0), events.message(event, partition=1),
              events.message(event, partition=1)])
    places = sorted((record["provenance"]["partition"], record["provenance"]["offset"])
                    for _, record in rig.scored(3, settle=1))
    assert places == [(0, 0), (1, 0), (1, 1)]


def test_at_least_once_loses_nothing_and_goes_on_where_it_was(rig):
    changes = {"delivery": "at_least_once"}
    rig.start(partitions=2, kafka=changes)
    sent = [events.sure() for _ in range(300)]
    rig.send([events.message(event) for event in sent[:200]])
    first = [str(record["event_id"]) for _, record in rig.scored(200, settle=1)]
    assert sorted(first) == sorted(event["event_id"] for event in sent[:200])
    assert rig.daemon.terminate() == 0
    rig.daemon.start()
    rig.send([events.message(event) for event in sent[200:]])
    names = [str(record["event_id"]) for _, record in rig.scored(300, settle=1)]
    assert sorted(names) == sorted(event["event_id"] for event in sent)  # after an orderly end, once each


def test_metrics_add_up_with_what_was_sent(rig):
    rig.start(partitions=2, calibration={"model": "map"}, pipeline={"max_in_flight": 500})
    messages, _ = make_events(200, [events.encode], 2)
    rig.send(messages + [{"value": b"rubbish", "key": b"x"}] * 3)
    records = [record for _, record in rig.scored(200)]
    rig.await_calibration(records)
    # what is measured once a second, and what the letters' transaction changes
    now = await_metrics(rig.daemon, lambda metrics: metrics.value("assayd_calibration_lag_seconds") == 0 and
                        metrics.value("assayd_input_unread_offsets") == 0 and
                        metrics.value("assayd_events_finished") == 203 and
                        metrics.value("assayd_oldest_unfinished_event_age_seconds") == 0 and
                        metrics.value("assayd_in_flight_events") == 0)
    # those of the audit log, of receivers and of a schema registry come with them
    absent = ("assayd_audit_", "assayd_receiver_", "assayd_registry_", "assayd_calibration_waiting_")
    assert set(now.families) == {name for name in openmetrics.defined() if not name.startswith(absent)}

    assert now.value("assayd_events_received") == 203
    assert now.value("assayd_events_finished") == 203
    assert now.value("assayd_events_finished", result="dead_letter") == 3
    assert now.value("assayd_dead_letters", reason="unknown_framing") == now.value("assayd_dead_letters") == 3
    levels = collections.Counter(record["confidence"]["level"] for record in records)
    for level, count in levels.items():
        assert now.value("assayd_events_finished", result="scored", level=level) == count
    verdicts = collections.Counter(record["safety"]["verdict"] for record in records)
    assert verdicts == {verdict: now.value("assayd_safety_verdicts", verdict=verdict) for verdict in verdicts}
    statuses = collections.Counter(record["result_validation"]["status"] for record in records
                                   if record["result_validation"])
    assert now.value("assayd_result_validations") == sum(statuses.values())
    assert now.value("assayd_result_validations", status="COMPARED") == statuses["COMPARED"] > 0
    evaluated = [record["evaluation"]["passed"] for record in records if record["evaluation"]]
    assert now.value("assayd_evaluations", outcome="passed") == evaluated.count(True) > 0
    assert now.value("assayd_evaluations", outcome="failed") == evaluated.count(False)
    judged = [record["judge"]["relevance"] for record in records if record["judge"]["relevance"]]
    assert now.value("assayd_judge_answers", question="relevance") == len(judged)
    assert now.value("assayd_judge_answers", question="relevance", answer="cached") == sum(
        verdict["cached"] for verdict in judged)
    assert now.value("assayd_judge_requests") == rig.judge.calls()
    tokens = sum(record["judge"]["prompt_tokens"] for record in records)
    assert now.value("assayd_judge_tokens", kind="prompt") == tokens > 0
    assert now.value("assayd_metric_errors") == 0

    assert now.value("assayd_published_records", topic="scored") == 200
    assert now.value("assayd_published_records", topic="dead_letter") == 3
    told = [headers_of(message)["kinds"].decode().split(",") for message in rig.kafka.read(rig.topics.advisory, settle=0.5)]
    told = [kinds for kinds in told if kinds != ["CALIBRATION_DRIFT"]]  # published by the calibrator, perhaps since we looked
    kinds = collections.Counter(kind for kinds in told for kind in kinds)
    assert kinds == {kind: now.value("assayd_advisories", kind=kind) for kind in kinds}
    assert now.value("assayd_published_records", topic="advisory") == len(told) > 0
    assert now.value("assayd_transactions", outcome="committed") > 0

    assert now.value("assayd_ready") == 1
    assert now.value("assayd_oldest_unfinished_event_age_seconds") == 0
    assert now.value("assayd_partitions", state="assigned") == 2
    assert now.value("assayd_in_flight_events") == now.value("assayd_events_at_step") == 0
    assert now.value("assayd_in_flight_limit_events") == 500
    durations = now.families["assayd_event_duration_seconds"]
    assert durations[frozenset({("", "assayd_event_duration_seconds_count")})] == 203
    assert now.value("assayd_target_up", target="shop") == now.value("assayd_calibration_database_up") == 1
    assert now.value("assayd_target_workers_started", target="shop") >= 1
    assert now.value("assayd_calibration_records") == 200
    assert now.value("assayd_calibration_cases") == sum(bool(record["label"]) for record in records)
    assert rig.daemon.get("/healthz") == (200, "ok\n")
    assert rig.daemon.get("/readyz") == (200, "ready\n")


MOST, MAX_BYTES, MAX_PER_TRANSACTION, LARGE = 40, 2 << 20, 10, 60_000


def test_what_is_in_flight_and_in_a_transaction_is_bounded(rig):
    """By events first, then by the memory that they take; what does not fit waits in its topic."""
    go_on = threading.Event()
    rig.judge.answer = lambda prompt: Answer(status=200 if go_on.wait(280) else 500)
    rig.start(partitions=2, calibration=None, targets=None, judge={"when_saturated": "wait", "timeout_ms": 300_000},
              pipeline={"max_in_flight": MOST, "max_in_flight_bytes": MAX_BYTES},
              kafka={"transaction_max_events": MAX_PER_TRANSACTION, "transaction_max_bytes": 65536})
    names, committed, messages = [], 0, []
    # the second kind is as large as two of them make a transaction; each is held as bytes and decoded, and its outputs will hold
    # it, too
    for part, (fields, least, most, events_a_transaction) in enumerate((
            ({}, MOST - 1, MOST, MAX_PER_TRANSACTION), ({"model": "m" * LARGE}, 5, MAX_BYTES // (3 * LARGE), 2))):
        batch = [events.sure(question=f"Question {part}/{number}?", **fields) for number in range(3 * MOST)]
        names += [event["event_id"] for event in batch]
        rig.send([events.message(event, partition=number % 2) for number, event in enumerate(batch)])
        # the last one that came makes it full: nothing more is taken
        await_metrics(rig.daemon, lambda metrics: least <= metrics.value("assayd_in_flight_events") <= most and
                      metrics.value("assayd_events_at_step", step="awaiting") >= least)
        time.sleep(0.7)
        held = Metrics(rig.daemon)
        assert least <= held.value("assayd_in_flight_events") <= most
        assert held.value("assayd_in_flight_bytes") <= held.value("assayd_in_flight_limit_bytes") == MAX_BYTES * 7 / 8
        assert held.value("assayd_in_flight_bytes") >= held.value("assayd_in_flight_events") * 3 * len(batch[0]["model"])
        assert len(names) - held.value("assayd_events_received") >= 3 * MOST - most
        go_on.set()
        messages = rig.kafka.read(rig.topics.scored, len(names), settle=0.3)
        assert sorted(message.key().decode() for message in messages) == sorted(names)
        go_on.clear()
        now = Metrics(rig.daemon).value("assayd_transactions", outcome="committed")
        assert now - committed >= 3 * MOST / events_a_transaction
        committed = now


def test_a_backlog_is_read_in_bounded_memory(rig):
    """What is read ahead and what is in flight, however much there is to read: 20,000 events of 8 kB."""
    count = 20_000
    config = rig.config(partitions=4, judge=None, calibration=None)
    template = events.Template(events.sure(question="Why? " * 1600))
    rig.send([template.message()[1] for _ in range(count)])
    daemon = rig.make(config).start()
    await_metrics(daemon, lambda metrics: metrics.value("assayd_events_finished") == count, timeout=180)
    assert daemon.peak_resident_kib() < 160 * 1024


def test_metrics_show_what_a_slow_event_holds_up(rig):
    go_on = threading.Event()
    rig.judge.answer = lambda prompt: Answer(status=200 if "slow" not in prompt or go_on.wait(280) else 500)
    rig.start(partitions=1, judge={"timeout_ms": 300_000})
    rig.send([events.message(events.sure(question=question)) for question in ["slow"] + ["fast"] * 20])
    rig.scored(20)
    # the lag is measured once a second, and the first time before the broker has told the end
    held = await_metrics(rig.daemon, lambda metrics: metrics.value("assayd_oldest_unfinished_event_age_seconds") > 1 and
                         metrics.value("assayd_input_lag_offsets") >= 21)
    age = held.value("assayd_oldest_unfinished_event_age_seconds")
    assert held.value("assayd_events_finished") == 20
    assert held.value("assayd_events_at_step", step="awaiting") == 1
    assert held.value("assayd_input_unread_offsets") == 0
    assert held.value("assayd_completion_map_fill_ratio") > 0
    assert held.value("assayd_judge_open_requests", state="in_flight") == 1
    await_metrics(rig.daemon, lambda metrics: metrics.value("assayd_oldest_unfinished_event_age_seconds") > age + 1)
    assert rig.daemon.get("/readyz") == (200, "ready\n"), "one slow event is no reason"
    go_on.set()


def test_it_says_what_it_waits_for_and_stops_with_scrapers_connected(make_daemon):
    daemon = make_daemon({"kafka": {"bootstrap_servers": "127.0.0.1:1"}})
    daemon.start(ready_timeout=None)
    deadline = time.monotonic() + 120
    page = None
    while not (isinstance(page, tuple) and page[0] == 503 and page[1].startswith("Starting; waiting for the Kafka broker")):
        assert time.monotonic() < deadline and daemon.running(), (page, daemon.log_tail())
        time.sleep(0.05)
        try:
            page = daemon.get("/readyz")
        except OSError as error:  # it does not listen yet
            page = error
    assert daemon.get("/healthz")[0] == 200
    assert Metrics(daemon).value("assayd_ready") == 0
    with socket.create_connection(("127.0.0.1", daemon.http_port)) as scraper:
        scraper.sendall(b"GET /metrics HTTP/1.1\r\n")
        assert daemon.terminate() == 0


def test_a_port_that_is_taken_is_one_clear_error(make_daemon):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = "127.0.0.1:%d" % taken.getsockname()[1]
        daemon = make_daemon({"http": {"listen": address}})
        daemon.start(ready_timeout=None)
        assert daemon.wait() == 69
    [line] = [line for line in daemon.log().splitlines() if "http.listen" in line]
    assert address in line and "in use" in line
