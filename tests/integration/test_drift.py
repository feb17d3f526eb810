"""Confidence that stops to predict correctness: one episode, whatever the windows, and somebody is told."""

import json
import time
import urllib.request
from random import Random

import psycopg2

import events
import wire

TRUTH = {"sql": "SELECT c.city, count(c.id) AS n FROM customers AS c GROUP BY c.city"}
WRONG = "SELECT city, 0 AS customers FROM customers GROUP BY city"
EPISODES = """
SELECT id::text, application, model, prompt_version, label_source, window_s, opening_score, opening_cases,
       closed_at IS NULL AS open, published_at IS NOT NULL AS published
FROM calibration_drift_episodes ORDER BY window_s, opened_at"""


def answers(count, sql, application):
    return [events.message(events.sure(sql=sql, target="shop", application=application, ground_truth=TRUTH))
            for _ in range(count)]


def episodes(rig):
    try:
        return rig.postgres.execute(EPISODES, rig.calibration_database)
    except psycopg2.errors.UndefinedTable:  # the daemon is about to make it
        return []


def await_episodes(rig, fulfilled, timeout=180):
    deadline = time.monotonic() + timeout
    while not fulfilled(episodes(rig)):
        assert time.monotonic() < deadline, episodes(rig)
        time.sleep(0.2)
    return episodes(rig)


def changes(rig):
    return rig.postgres.execute("""
        SELECT application, window_s, direction, size, (extract(epoch FROM since) * 1000)::float8, published_at IS NOT NULL
        FROM calibration_drift_episodes ORDER BY application""", rig.calibration_database)


def all_published(rows):
    return len(rows) == 1 and rows[0][-1]


def advisories(rig, count, timeout=60):
    """Advisories of drift with their messages, once there are as many; those of events lie between them."""
    deadline = time.monotonic() + timeout
    while True:
        found = [(message, wire.ADVISORY.decode(message.value())) for message in rig.kafka.read(rig.topics.advisory)]
        drift = [(message, advisory) for message, advisory in found if advisory["kind"] == "CALIBRATION_DRIFT"]
        if len(drift) >= count:
            return drift
        assert time.monotonic() < deadline, [advisory["kind"] for _, advisory in found]
        time.sleep(0.2)


def await_listed(rig, applications, timeout=60):
    """The open episodes that the status page lists, when they are those of the applications."""
    deadline = time.monotonic() + timeout
    while True:
        with urllib.request.urlopen(f"http://127.0.0.1:{rig.daemon.http_port}/status.json", timeout=60) as reply:
            status = json.load(reply)
        listed = status["calibration"]["drift_episodes"]
        if [episode["application"] for episode in listed] == applications:
            assert status["calibration"]["drift_open"] == len(applications)
            assert [item["code"] for item in status["attention"]] == ["drift_open"] * bool(applications)
            return listed
        assert time.monotonic() < deadline, listed
        time.sleep(0.2)


def test_an_episode_opens_once_is_told_and_closes(rig):
    rig.start(judge=None, kafka={"cloud_events": True})
    rig.send(answers(60, events.CITY_COUNT, "good"))
    rig.send(answers(30, WRONG, "overconfident"))
    rows = await_episodes(rig, all_published)
    for row in rows:
        assert row[1:6] == ("overconfident", "model-a", "v1", "RESULT", 3600)
        assert row[6] == 0 and 20 <= row[7] <= 30

    told = advisories(rig, 1)
    assert len(told) == 1
    assert {advisory["episode_id"] for _, advisory in told} == {row[0] for row in rows}
    for message, advisory in told:
        headers = dict(message.headers())
        assert dict(ce_specversion=b"1.0", ce_type=b"io.assayd.Advisory", ce_id=message.key(),
                    ce_source=f"/{message.topic()}".encode()).items() <= headers.items()
        assert {name: value for name, value in headers.items() if not name.startswith(("ce_", "content"))} == {
            "kind": b"CALIBRATION_DRIFT", "kinds": b"CALIBRATION_DRIFT", "application": b"overconfident"}
        assert advisory["kinds"] == ["CALIBRATION_DRIFT"] and advisory["action"] is None
        assert advisory["advisory_id"] == advisory["episode_id"] == message.key().decode()
        assert (advisory["application"], advisory["model"], advisory["prompt_version"]) == (
            "overconfident", "model-a", "v1")
        assert (advisory["threshold"], advisory["value"]) == (0.5, 0.0)
        assert "overconfident" in advisory["summary"]
        assert " answers were right where it said" in advisory["summary"] and "Confidence is too high: 0 % of" in advisory["summary"]
        for absent in ("level", "event_id", "occurred_at", "topic", "partition", "offset", "target"):
            assert advisory[absent] is None, absent

    listed, = await_listed(rig, ["overconfident"])
    assert listed["summary"] == told[0][1]["summary"]
    assert listed["opened_at_ms"] == round(told[0][1]["raised_at"].timestamp() * 1000)

    # More of the same changes nothing.
    rig.send(answers(30, WRONG, "overconfident"))
    rig.scored(120)
    time.sleep(5)
    assert {row[0] for row in episodes(rig)} == {row[0] for row in rows}

    # 60 wrong, 940 right: 1 − 3·|0.94 − 0.95| = 0.97. That it is better than before is a change as well, of the same episode,
    # which is over when it has lasted for 500 cases.
    rig.send(answers(940, events.CITY_COUNT, "overconfident"))
    closed = await_episodes(rig, lambda found: not any(row[-2] for row in found))
    assert {row[0] for row in closed} == {row[0] for row in rows}
    assert len(advisories(rig, 1)) == 1
    await_listed(rig, [])


def stream(count, application, accuracy, seed):
    """As many answers, of which so many are right, in any order."""
    random = Random(seed)
    return [answers(1, events.CITY_COUNT if random.random() < accuracy else WRONG, application)[0] for _ in range(count)]


def test_a_change_is_told_and_constant_error_is_none(rig):
    """Three sources that say the same: as right as that, no more so from some moment on, and never."""
    rig.start(judge=None)
    rig.send([message for trio in zip(stream(600, "stable", 0.93, 1), stream(600, "changing", 0.93, 2),
                                      stream(600, "never good", 0.6, 3)) for message in trio])
    rig.await_calibration([record for _, record in rig.scored(1800)])
    sent_ms = time.time() * 1000
    rig.send([message for trio in zip(stream(120, "stable", 0.93, 4), stream(120, "changing", 0.70, 5),
                                      stream(120, "never good", 0.6, 6)) for message in trio])
    rig.await_calibration([record for _, record in rig.scored(2160)])
    deadline = time.monotonic() + 180
    while len(rows := changes(rig)) < 2 or not all(row[-1] for row in rows):
        assert time.monotonic() < deadline, rows
        time.sleep(0.2)
    time.sleep(4)
    rows = changes(rig)
    assert [row[:3] for row in rows] == [("changing", None, "LOWER"), ("never good", 3600, None)]
    (_, _, _, size, since_ms, _), _ = rows
    assert -0.5 < size < -0.1
    assert abs(since_ms - sent_ms) < 60_000
    told = {advisory["application"]: advisory for _, advisory in advisories(rig, 2)}
    assert told.keys() == {"changing", "never good"}
    assert told["changing"]["drift_direction"] == "LOWER"
    assert told["changing"]["drift_size"] < -0.1
    assert told["changing"]["drift_since"] is not None
    assert told["changing"]["value"] is None
    assert told["never good"]["drift_direction"] is None
    assert told["never good"]["value"] < 0.5


def test_what_was_not_told_before_a_stop_is_told_after_it(rig):
    rig.start(judge=None)
    rig.send(answers(30, WRONG, "overconfident"))
    rows = await_episodes(rig, all_published)
    rig.daemon.terminate()
    rig.postgres.execute("""UPDATE calibration_drift_episodes SET published_at = NULL, claimed_until = now()""", rig.calibration_database)
    rig.daemon.start()
    assert await_episodes(rig, all_published) == rows
    told = [advisory["episode_id"] for _, advisory in advisories(rig, 2)]
    assert told == [rows[0][0]] * 2
    await_listed(rig, ["overconfident"])  # though this process has not opened it


def test_what_was_counted_before_a_start_is_judged_after_it(rig):
    rig.start(judge=None)
    rig.send(answers(30, WRONG, "overconfident"))
    await_episodes(rig, all_published)
    rig.daemon.terminate()
    rig.postgres.execute("DELETE FROM calibration_drift_episodes", rig.calibration_database)
    rig.daemon.start()
    await_episodes(rig, all_published)


def test_what_is_old_is_deleted(rig):
    rig.start(judge=None, calibration={"retention_days": 8})
    rig.send(answers(30, events.CITY_COUNT, "good"))
    records = [record for _, record in rig.scored(30)]
    rig.await_calibration(records)
    rig.daemon.terminate()
    for table in ("calibration_buckets", "calibration_rollups"):
        rig.postgres.execute(f"""
            INSERT INTO {table}
            SELECT width_s, bucket_start - interval '10 days', application, model, prompt_version, label_source, level, bin,
                   cases, weight, weight_squared, weight_correct, weight_confidence, weight_squared_error
            FROM {table}""", rig.calibration_database)
    rig.daemon.start()
    rig.await_calibration(records)
