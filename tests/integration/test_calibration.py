"""Late truth through the daemon, and the commands that count the calibration again."""

import json
import math
import pathlib
import subprocess
import time

import events
from daemon import BINARY

TRUTH = {"sql": "SELECT c.city, count(c.id) AS n FROM customers AS c GROUP BY c.city"}
DIFFERS, LOST, IO = 65, 69, 74
FEEDBACK = """
SELECT coalesce(sum(cases), 0)::int, coalesce(sum(weight_correct), 0)::int FROM calibration_rollups
WHERE width_s = 3600 AND label_source = 'FEEDBACK'"""


def calibration(rig, *flags):
    return subprocess.run([BINARY, "calibration", "--config", rig.daemon.config_file, *flags],
                          capture_output=True, text=True, timeout=300, check=False)


def say(rig, verdicts):
    """Feedback; the key keeps an event's messages in one partition."""
    rig.send([{"key": event_id, "value": json.dumps({"event_id": event_id, "correct": correct, "source": "test"})}
              for event_id, correct in verdicts], topic=rig.topics.feedback)


def await_feedback(rig, expected, timeout=180):
    deadline = time.monotonic() + timeout
    while (found := rig.postgres.execute(FEEDBACK, rig.calibration_database)[0]) != expected:
        assert time.monotonic() < deadline, (found, rig.daemon.log_tail())
        time.sleep(0.2)


def test_feedback_enters_calibration_and_is_recounted(rig):
    rig.start(judge=None, calibration={"feedback_horizon_s": 86400})
    rig.send([events.message(events.sure(sql=events.CITY_COUNT, target="shop", application="fed", ground_truth=TRUTH))
              for _ in range(40)])
    ids = [record["event_id"] for _, record in rig.scored(40)]
    say(rig, [(event_id, True) for event_id in ids[:20]] + [("nobody's", True)])
    await_feedback(rig, (20, 20))
    say(rig, [(event_id, False) for event_id in ids[10:30]])  # half of them are corrections
    rig.send(["rubbish", b"\xc3\x01rubbish", '{"event_id": 1}'], topic=rig.topics.feedback)
    await_feedback(rig, (30, 10))
    rig.daemon.kill()
    rig.daemon.start()
    say(rig, [(ids[0], True), (ids[0], False), (ids[39], True)])
    await_feedback(rig, (31, 10))
    assert "rubbish" not in rig.daemon.log() and "is not counted" in rig.daemon.log()

    done = calibration(rig, "--verify")
    assert done.returncode == 0, done
    assert ", 0 differ" in done.stdout
    report = json.loads(calibration(rig, "--json", "--application", "fed").stdout)
    assert report["application"] == "fed" and {entry["application"] for entry in report["reports"]} == {"fed"}
    report = json.loads(calibration(rig, "--json").stdout)
    assert report["application"] is None and {entry["application"] for entry in report["reports"]} == {None}

    rig.postgres.execute("""UPDATE calibration_rollups SET weight_correct = weight_correct - 1
                            WHERE width_s = 3600 AND label_source = 'FEEDBACK' AND bucket_start =
                                (SELECT max(bucket_start) FROM calibration_rollups
                                 WHERE width_s = 3600 AND label_source = 'FEEDBACK')""", rig.calibration_database)
    done = calibration(rig, "--verify", "--json")
    assert done.returncode == DIFFERS, done
    found = json.loads(done.stdout)
    assert found["buckets_differing"] == 1 and found["trusted"] and found["skipped"] == 3
    (difference,) = found["differences"]
    assert (difference["application"], difference["label_source"], difference["width_s"]) == ("fed", "FEEDBACK", 3600)
    assert int(difference["counted"]["weight_correct"]) - int(difference["stored"]["weight_correct"]) == 1

    rig.kafka.configure(rig.topics.scored, cleanup_policy="compact")  # from now on records may go away without a trace
    done = calibration(rig, "--verify")
    assert done.returncode == LOST and "cannot be trusted" in done.stderr, done
    assert f"note: {rig.topics.scored} has cleanup.policy = compact" in done.stdout
    done = calibration(rig, "--rebuild")
    assert done.returncode == LOST and "nothing was changed" in done.stderr, done
    rig.kafka.configure(rig.topics.scored, cleanup_policy="delete")

    done = calibration(rig, "--rebuild")
    assert done.returncode == 0 and "1 buckets removed, 1 added" in done.stdout, done
    assert calibration(rig, "--verify").returncode == 0
    say(rig, [(ids[1], False)])  # what is remembered was rebuilt, too
    await_feedback(rig, (31, 9))
    assert calibration(rig, "--verify").returncode == 0


REBUILT = """
SELECT md5(string_agg(line, ' ' ORDER BY line)) FROM (
    SELECT b::text AS line FROM calibration_sums b UNION ALL SELECT e::text FROM calibration_events e
    UNION ALL SELECT p::text FROM calibration_positions p) AS lines"""

ACTIONS = ((), ("--window", "7d"), ("--model",), ("--replay-topic",), ("--verify",), ("--rebuild",), ("--rebuild", "--dry-run"))


def test_output_that_does_not_arrive(rig):
    """Whatever is asked for: nobody got to know it. A rebuild that cannot say what goes leaves it."""
    rig.start(judge=None, calibration={"feedback_horizon_s": 86400})
    rig.send([events.message(events.sure(sql=events.CITY_COUNT, target="shop", ground_truth=TRUTH)) for _ in range(8)])
    rig.await_calibration([record for _, record in rig.scored(8)])
    rig.daemon.terminate()
    rig.postgres.execute("UPDATE calibration_rollups SET cases = cases + 1; DELETE FROM calibration_events",
                         rig.calibration_database)
    spoilt = rig.postgres.execute(REBUILT, rig.calibration_database)
    for flags in (*ACTIONS, *((*flags, "--json") for flags in ACTIONS)):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([BINARY, "calibration", "--config", rig.daemon.config_file, *flags], stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=300, check=False)
        assert done.returncode == IO and "standard output cannot be written" in done.stderr, (flags, done)
    assert rig.postgres.execute(REBUILT, rig.calibration_database) == spoilt
    told = calibration(rig, "--rebuild", "--dry-run")
    assert told.returncode == 0 and "nothing is changed (--dry-run)" in told.stdout, told
    assert rig.postgres.execute(REBUILT, rig.calibration_database) == spoilt
    done = json.loads(calibration(rig, "--rebuild", "--json").stdout)
    assert (done["events_added"], done["events_removed"], done["events"], done["dry_run"]) == (8, 0, 8, False)
    assert "remembered events: 0 removed, 8 added; 8 are there then" in told.stdout
    assert f"{done['buckets_removed']} buckets removed, {done['buckets_added']} added" in told.stdout
    assert calibration(rig, "--verify").returncode == 0


def test_a_rebuild_loses_nothing_that_the_topic_cannot_supply(rig):
    """Records that have expired, another topic, and a topic that was made again: all is kept, and said."""
    rig.start(judge=None, calibration={"feedback_horizon_s": 86400})
    rig.send([events.message(events.sure(sql=events.CITY_COUNT, target="shop", ground_truth=TRUTH)) for _ in range(8)])
    records = [record for _, record in rig.scored(8)]
    say(rig, [(record["event_id"], True) for record in records])
    await_feedback(rig, (8, 8))
    rig.daemon.terminate()
    kept = rig.postgres.execute(REBUILT, rig.calibration_database)

    config = rig.daemon.config_file
    text = pathlib.Path(config).read_text(encoding="utf-8")
    other = f"{rig.topics.name}.other"
    rig.kafka.create_topics([other], rig.topics.partitions)
    pathlib.Path(config).write_text(text.replace(f'"{rig.topics.scored}"', f'"{other}"'), encoding="utf-8")
    for flags in ("--rebuild", "--verify"):
        done = calibration(rig, flags)
        assert done.returncode == LOST and f"nothing of {other} was ever counted" in done.stderr, done
        assert rig.topics.scored in done.stderr and "8 events, 8 feedback messages" in done.stderr, done
    pathlib.Path(config).write_text(text, encoding="utf-8")

    for partition, position in rig.postgres.execute(
            f"SELECT partition, next_offset FROM calibration_positions WHERE topic = '{rig.topics.scored}'",
            rig.calibration_database):
        rig.kafka.delete_records(rig.topics.scored, partition, position)
    done = calibration(rig, "--rebuild")
    assert done.returncode == LOST and f"{rig.topics.scored} has no scored event left" in done.stderr, done
    assert "8 events, 8 feedback messages" in done.stderr
    rig.kafka.recreate_topic(rig.topics.scored, rig.topics.partitions)
    done = calibration(rig, "--rebuild")
    assert done.returncode == LOST and f"of {rig.topics.scored} is counted up to offset" in done.stderr, done
    assert rig.postgres.execute(REBUILT, rig.calibration_database) == kept


def test_a_database_without_tables_is_told(rig):
    """Whatever is asked of it; nobody has to guess that it is the wrong one."""
    rig.make(rig.config()).write_config()
    for flags in ((), ("--json",), ("--model",), ("--model", "--json"), ("--verify",), ("--rebuild",)):
        done = calibration(rig, *flags)
        assert done.returncode == LOST and done.stdout == "", (flags, done)
        assert "there are no calibration tables in this database" in done.stderr and "calibration.dsn" in done.stderr


def test_the_reason_why_nothing_is_counted_is_the_present_one(rig):
    """A cut connection is only the first sign of what keeps the calibration out."""
    rig.start(judge=None)
    rig.send([events.message(events.sure(sql=events.CITY_COUNT, target="shop", ground_truth=TRUTH))])
    rig.await_calibration([record for _, record in rig.scored(1)])
    database = rig.calibration_database
    rig.postgres.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS false')
    try:
        rig.postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")
        rig.send([events.message(events.sure(sql=events.CITY_COUNT, target="shop", ground_truth=TRUTH))])
        deadline = time.monotonic() + 120
        while not any("does not accept updates" in line and "not currently accepting connections" in line
                      for line in rig.daemon.log().splitlines()):
            assert time.monotonic() < deadline, rig.daemon.log_tail()
            time.sleep(0.2)
        told = [line for line in rig.daemon.log().splitlines() if "does not accept updates" in line]
        assert "not currently accepting connections" in told[-1] and len(told) <= 3, told
    finally:
        rig.postgres.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS true')
    rig.await_calibration([record for _, record in rig.scored(2)])


def test_probability_is_learnt_from_labels(rig):
    """Right and wrong answers with labels, then answers without: their records name the model that was learnt."""
    rig.start(judge=None, calibration={"model": "features", "model_interval_s": 10})
    answers = [events.CITY_COUNT, "SELECT c.city FROM customers AS c"]
    rig.send([events.message(events.sure(sql=answers[number % 2], target="shop", application="fed", ground_truth=TRUTH,
                                         question=f"How many customers live in each city of region {number}?"))
              for number in range(400)])
    records = [record for _, record in rig.scored(400)]
    assert all(record["confidence"]["probability"] is None for record in records)
    deadline = time.monotonic() + 300
    while not rig.postgres.execute("SELECT version FROM calibration_models", rig.calibration_database):
        assert time.monotonic() < deadline, rig.daemon.log_tail()
        time.sleep(0.5)
    assert rig.postgres.execute("SELECT count(*) FROM calibration_examples", rig.calibration_database)[0] == (400,)

    sent = 400
    while True:  # until the daemon has read it
        asked = [events.sure(sql=sql, target="shop", application="fed") for sql in answers]
        rig.send([events.message(event) for event in asked])
        sent += 2
        found = {record["event_id"]: record["confidence"]["probability"] for _, record in rig.scored(sent)}
        latest = [found[event["event_id"]] for event in asked]
        if all(latest):
            break
        assert time.monotonic() < deadline, rig.daemon.log_tail()
        time.sleep(1)
    assert latest[0]["value"] > 0.6 > 0.4 > latest[1]["value"], latest
    assert all(each["low"] <= each["value"] <= each["high"] and each["model"] >= 1 for each in latest)


def wilson(right, cases):
    z2, share = 1.959963984540054 ** 2, right / cases
    half = math.sqrt(z2 * share * (1 - share) / cases + z2 * z2 / (4 * cases * cases))
    return [(share + z2 / (2 * cases) + sign * half) / (1 + z2 / cases) for sign in (-1, 1)]


def test_documents_that_come_with_wrong_answers(rig):
    """Counted from the records that came out, by whoever reads them."""
    stale = 'prices "2019"\\old\tä'
    answers = [events.CITY_COUNT, "SELECT c.city FROM customers AS c"]
    rig.start(judge=None, calibration={"model": "map"})

    def retrieval(number):
        names = ["handbook", None, "handbook", stale if number % 3 == 0 else "prices"] + [f"only {number}"] * (number % 7 == 0)
        return {"chunks": [{**events.GOOD_RETRIEVAL["chunks"][0], "chunk_id": f"c{place}", "document_id": name}
                           for place, name in enumerate(names)]}

    rig.send([events.message(events.event(answers[number % 3 == 0 and number % 4 > 0 or number % 20 == 7], target="shop", application="fed",
                                          ground_truth=TRUTH, retrieval=retrieval(number))) for number in range(240)])
    records = [record for _, record in rig.scored(240)]
    rig.await_calibration(records)
    labels = [({chunk["document_id"] for chunk in record["input"]["retrieval"]["chunks"]} - {None}, record["label"]["correct"]) for record in records]
    expected = {}
    for name in set().union(*(names for names, _ in labels)):
        known = [correct for names, correct in labels if name in names]
        rest = [correct for names, correct in labels if name not in names]
        low, high = wilson(sum(known), len(known))
        expected[name] = (len(known), sum(known), sum(known) / len(known), max(0, low), min(1, high), len(rest), sum(rest) / len(rest) if rest else None)
    assert len(expected) > 30 and expected[stale][4] < expected[stale][6] and expected["handbook"][5] == 0

    def near(found):
        return {name: [value if value is None else round(float(value), 9) for value in values] for name, values in found.items()}

    rows = rig.postgres.execute("""SELECT document_id, cases, correct, accuracy, low, high, rest_cases, rest_accuracy FROM calibration_documents
                                   WHERE window_s = 604800 AND application = 'fed'""", rig.calibration_database)
    assert near({name: values for name, *values in rows}) == near(expected)
    found = json.loads(calibration(rig, "--documents", "--json", "--application", "fed").stdout)
    assert found["documents_count"] == len(expected) and found["documents"][0]["document_id"] == stale
    assert near({item["document_id"]: [item[key] for key in ("cases", "correct", "accuracy", "low", "high", "rest_cases", "rest_accuracy")]
                 for item in found["documents"]}) == near(expected)
    assert not json.loads(calibration(rig, "--documents", "--json", "--application", "nobody").stdout)["documents"]
    shown = calibration(rig, "--documents", "--window", "24h").stdout
    first = shown.splitlines()[2]
    assert "worse" in first and 'prices "2019"' in first and "(fed)" in first and "\t" not in first and "only" not in shown, shown
    assert calibration(rig, "--documents", "--window", "1h").returncode == 64

    assert calibration(rig, "--verify").returncode == 0
    rig.postgres.execute("UPDATE calibration_examples SET documents = '[\"made up\"]' WHERE documents ? 'prices'", rig.calibration_database)
    assert calibration(rig, "--verify").returncode == DIFFERS
    assert rig.daemon.terminate() == 0
    assert calibration(rig, "--rebuild").returncode == 0
    assert len(json.loads(calibration(rig, "--documents", "--json").stdout)["documents"]) == len(expected)
