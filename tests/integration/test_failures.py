"""What the daemon depends on fails: events come out all the same, and say what they lack."""

import collections
import threading
import time

import pytest

import events
from judge_server import Answer
from openmetrics import Metrics, await_metrics
from servers import Postgres, Reader
import wire

TRUTH = {"sql": "SELECT c.city, count(c.id) AS n FROM customers AS c GROUP BY c.city"}


def judged(number, **fields):
    """An event that no cache knows."""
    return events.sure(question=f"Question {number} of {time.monotonic_ns()}?", target="shop", **fields)


def one(rig, event, timeout=180):
    """Sends one event and returns its record."""
    reader = Reader(rig.kafka, rig.topics.scored)
    try:
        rig.send([events.message(event)])
        message = reader.until_match(lambda message: message.key() == event["event_id"].encode(), timeout)
        return rig.decode(message)
    finally:
        reader.close()


def assert_unjudged(record):
    assert record["judge"]["decision"] == "UNJUDGED"
    assert record["judge"]["unjudged_reason"]
    assert record["confidence"]["overall"] == pytest.approx(1.0), "confidence does not hang on the judge"
    errors = [error for error in record["errors"] if error["code"]]
    assert errors and all(error["input"] == str(record["event_id"]) and error["metric"] for error in errors)


def assert_judged_again(rig, patience_s=180):
    """A circuit breaker may take its time before it lets the next call through."""
    deadline = time.monotonic() + patience_s
    number = 0
    while time.monotonic() < deadline:
        number += 1
        if one(rig, judged(number))["judge"]["decision"] == "ACCEPT_HIGH":
            return
        time.sleep(1)
    raise AssertionError(f"still not judging after {patience_s} s")


RUBBISH = {
    "no JSON": dict(text="I think this query is fine."),
    "no number": dict(text='{"score": "very good", "reason": "x"}'),
    "out of range": dict(text='{"score": 150, "reason": "x"}'),
    "a fraction of a point": dict(text='{"score": 80.5, "reason": "x"}'),
    "two verdicts": dict(text='{"score": 10, "reason": "x"} {"score": 100, "reason": "x"}'),
    "empty reply": dict(text=""),
    "body that is no JSON": dict(body="<html>gateway</html>"),
    "empty body": dict(body=""),
    "JSON of another kind": dict(body='{"choices": []}'),
    "a megabyte of nothing": dict(body=" " * 1_000_000),
    "server error": dict(status=500),
    "not authorised": dict(status=401),
}


def test_judge_that_talks_rubbish(rig):
    # One attempt each, so that no row of failures is long enough to look like an outage.
    rig.start(partitions=1, judge={"timeout_ms": 5000, "max_attempts": 1})
    for number, (kind, answer) in enumerate(RUBBISH.items()):
        rig.judge.answer = lambda prompt, answer=answer: Answer(**answer)
        record = one(rig, judged(number))
        assert_unjudged(record)
        rig.judge.answer = lambda prompt: Answer()
        assert one(rig, judged(number))["judge"]["decision"] == "ACCEPT_HIGH", kind


def test_judge_that_is_down(rig):
    rig.judge.halt()
    rig.start(partitions=1, judge={"timeout_ms": 3000})
    # The same rows by a query that only running it shows to be the same: one that reads alike needs no judge.
    event = judged(1, ground_truth={"sql": TRUTH["sql"] + " HAVING count(*) > 0"})
    record = one(rig, event)
    assert_unjudged(record)
    assert record["result_validation"]["score"] == 1.0, "the other metrics go on"
    assert record["evaluation"]["degraded"]
    assert "judge" not in record["evaluation"]["weights"]
    rig.judge.resume()
    assert_judged_again(rig)


def test_judge_that_is_too_slow(rig):
    answered, ended = [], threading.Event()

    def answer(prompt):
        ended.wait(300)
        answered.append(prompt)
        return Answer()

    rig.judge.answer = answer
    rig.start(partitions=1, judge={"timeout_ms": 1000})
    record = one(rig, judged(1))
    assert not answered, "the record does not wait for it"
    ended.set()
    assert_unjudged(record)
    assert any("timeout" in error["message"].lower() for error in record["errors"])


@pytest.fixture
def own_target():
    """A target server that may be broken."""
    server = Postgres()
    server.new_database("shop", events.SHOP)
    yield server
    server.stop()


def target_entry(server):
    return ({"name": "shop", "engine": "postgresql", "dsn": server.dsn("shop", "assayd_ro"), "connections": 2},)


def test_target_that_goes_away_and_comes_back(rig, own_target):
    rig.start(partitions=1, targets=target_entry(own_target), agreement={"execute": True})
    record = one(rig, judged(1, ground_truth=TRUTH))
    assert record["result_validation"]["score"] == 1.0 and not record["evaluation"]["degraded"]

    own_target.kill()
    texts = ["SELECT 1 + count(*) - 1 FROM orders", "SELECT 7"]
    alone = one(rig, judged(5, sql="SELECT count(*) FROM orders", candidates=[{"sql": text, "model": None} for text in texts]))
    assert alone["confidence"]["agreement"]["results"] is None and alone["result_validation"] is None
    assert [error["metric"] for error in alone["errors"]] == ["agreement"] and alone["errors"][0]["code"].startswith("target_")
    assert alone["confidence"]["limiting_factor"] != "agreement", "it is missing, not the share by meaning"
    assert alone["disposition"]["action"] == "VERIFY" and "target_unavailable" in [it["code"] for it in alone["disposition"]["reasons"]]
    # The truth has to be another one: a result of the first may be remembered.
    record = one(rig, judged(2, ground_truth={"sql": TRUTH["sql"] + " HAVING count(*) > 0"}))
    assert record["result_validation"]["status"] == "UNAVAILABLE"
    assert record["evaluation"]["degraded"] and "result" not in record["evaluation"]["weights"]
    assert record["errors"] and record["errors"][0]["message"]
    assert record["safety"]["verdict"] == "SAFE", "the catalog is still there"
    assert record["confidence"]["technical"]["score"] == 100
    assert record["judge"]["decision"] == "ACCEPT_HIGH"
    assert not record["label"] or record["label"]["source"] != "RESULT"
    # an event is counted once its transaction is committed, when its record can be read already
    metrics = await_metrics(rig.daemon, lambda metrics: metrics.value("assayd_result_validations", status="UNAVAILABLE") >= 1 and
                            metrics.value("assayd_metric_errors") >= 1)
    assert metrics.value("assayd_target_up", target="shop") == 0
    assert metrics.value("assayd_ready") == 1, "events can be scored without it"

    own_target.resume()
    deadline = time.monotonic() + 120
    while True:
        record = one(rig, judged(3, ground_truth={"sql": TRUTH["sql"] + " HAVING count(*) > 1"}))
        if record["result_validation"]["status"] != "UNAVAILABLE":
            break
        assert time.monotonic() < deadline
    assert record["result_validation"]["score"] == 1.0
    assert Metrics(rig.daemon).value("assayd_target_up", target="shop") == 1


def test_target_that_was_never_there(rig, own_target):
    own_target.halt()
    rig.start(partitions=1, targets=target_entry(own_target))
    record = one(rig, judged(1, ground_truth=TRUTH))
    assert record["safety"]["verdict"] == "UNKNOWN"
    assert record["confidence"]["technical"] is None
    assert record["confidence"]["overall"] == pytest.approx(1.0), "the other factors decide"
    unsafe = one(rig, events.event("DELETE FROM orders", target="shop"))
    assert unsafe["safety"]["verdict"] == "UNSAFE"
    told = {str(found["event_id"]): found for found in
            (wire.ADVISORY.decode(message.value()) for message in rig.kafka.read(rig.topics.advisory, 2, settle=0.5))}
    away, of_unsafe = told[str(record["event_id"])], told[str(unsafe["event_id"])]
    assert len(told) == 2 and away["kinds"] == ["TARGET_UNAVAILABLE"] and away["action"] == "VERIFY"
    assert "the catalog of target \"shop\" cannot be read: " in away["summary"] and record["disposition"]["reasons"][0]["code"] == "target_unavailable"
    assert of_unsafe["kinds"] == ["UNSAFE_QUERY", "LOW_CONFIDENCE"], "that it is away is said once"

    own_target.resume()
    deadline = time.monotonic() + 120
    while one(rig, judged(2))["safety"]["verdict"] != "SAFE":
        assert time.monotonic() < deadline, "its catalog is never read"
        time.sleep(1)


@pytest.mark.parametrize("when", ["from the start", "in the middle"])
def test_lost_calibration_database_is_made_up_for(rig, when):
    database = Postgres()
    try:
        database.execute("CREATE ROLE assayd LOGIN")
        database.execute("CREATE DATABASE calibration OWNER assayd")
        rig.calibration_server, rig.calibration_database = database, "calibration"
        if when == "from the start":
            database.halt()
        rig.start(partitions=2)
        template = events.Template(events.sure(target="shop"))
        for part in range(4):
            if when == "in the middle" and part == 1:
                database.kill()
            rig.send([template.message(partition=number % 2)[1] for number in range(200)])
            assert len(rig.scored(200 * (part + 1), timeout=180)) == 200 * (part + 1), "scoring waits for nobody"
        away = await_metrics(rig.daemon, lambda metrics: metrics.value("assayd_calibration_lag_seconds") > 0)
        assert away.value("assayd_calibration_database_up") == 0
        assert away.value("assayd_calibration_failures") > 0
        assert rig.daemon.get("/readyz") == (200, "ready\n")
        database.resume()
        records = [record for _, record in rig.scored()]
        assert sum(record["label"] is not None for record in records) == 800
        rig.await_calibration(records)
        back = await_metrics(rig.daemon, lambda metrics: metrics.value("assayd_calibration_lag_seconds") == 0)
        assert back.value("assayd_calibration_database_up") == 1 and back.value("assayd_calibration_lag_offsets") == 0
    finally:
        database.stop()
