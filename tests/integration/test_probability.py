"""Probabilities through the daemon: learnt from labels, published, and still there when PostgreSQL is not."""

import json
import random
import signal
import subprocess
import time

import events
from daemon import BINARY
from openmetrics import Metrics

TRUTH = {"sql": "SELECT c.city, count(c.id) AS n FROM customers AS c GROUP BY c.city"}
WRONG = "SELECT city, 0 AS customers FROM customers GROUP BY city"
# What the generator says of itself, and how often it is right then.
TIERS = ((0.95, 0.9), (0.3, 0.1))
LABELS = 400


def answers(count, application="web"):
    """Of each tier in turn; each has a question of its own."""
    chance = random.Random(5)
    for number in range(count):
        said, right = TIERS[number % len(TIERS)]
        yield events.event(events.CITY_COUNT if chance.random() < right else WRONG, target="shop", ground_truth=TRUTH,
                           generator_confidence=said, application=application, question=f"How many live in {number}?")


def send(rig, made):
    """Their records, in the order of the events."""
    made = list(made)
    rig.send([events.message(event) for event in made])
    rig.asked = getattr(rig, "asked", 0) + len(made)
    found = {record["event_id"]: record for _, record in rig.scored(rig.asked)}
    return [found[event["event_id"]] for event in made]


def await_probability(rig, labels=0, timeout=180):
    """The records of one event of each tier, when a model is at hand that has learnt from so many labels."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        records = send(rig, answers(len(TIERS)))
        if all((record["confidence"]["probability"] or {"labels": -1})["labels"] >= labels for record in records):
            return records
        time.sleep(1)
    raise TimeoutError(rig.daemon.log_tail())


ONE, BOTH = ("generator",), ("technical", "generator")


def reload(rig, factors, **calibration):
    """Takes over these factors and settings of the calibration."""
    text = "the configuration was loaded again"
    times = rig.daemon.log().count(text)
    rig.daemon.config["confidence"]["factors"] = factors
    rig.daemon.config["calibration"].update(calibration)
    rig.daemon.write_config()
    rig.daemon.signal(signal.SIGHUP)
    rig.daemon.await_log(text, times + 1)


def learn(rig):
    """From all labels: under rules that have just come into force it is learnt at once, whatever the interval."""
    now = rig.daemon.config["confidence"]["factors"]
    rig.await_calibration([record for _, record in rig.scored(rig.asked)])
    reload(rig, BOTH if now == ONE else ONE)
    reload(rig, now)


def start(rig, model, **changes):
    """Records from before the first model, which is learnt then."""
    rig.start(judge=None, confidence={"factors": ONE}, calibration={"model": model, "model_interval_s": 3600}, **changes)
    records = send(rig, answers(LABELS))
    learn(rig)
    return records


def test_what_was_learnt_is_told(rig, tmp_path):
    for record in start(rig, "map")[:2]:
        confidence = record["confidence"]
        assert confidence["probability"] is None and confidence["level_by"] == "overall" and not confidence["features"]
    records = await_probability(rig)
    for (said, right), record in zip(TIERS, records):
        probability = record["confidence"]["probability"]
        assert probability["low"] < probability["value"] < probability["high"]
        assert probability["low"] < right + 0.1 and right - 0.1 < probability["high"], (said, probability)
        assert probability["model"] >= 1
        assert record["confidence"]["overall"] == said
    metrics = Metrics(rig.daemon)
    assert metrics.value("assayd_model_version") >= records[0]["confidence"]["probability"]["model"]
    assert metrics.value("assayd_model_fits") >= metrics.value("assayd_model_replacements") >= 1
    assert 0 <= metrics.value("assayd_model_age_seconds") < 600 and metrics.value("assayd_model_failures") == 0
    used = records[0]["confidence"]["probability"]
    rows = rig.postgres.execute("SELECT version, kind, labels FROM calibration_models", rig.calibration_database)
    assert (used["model"], "map", used["labels"]) in rows

    def calibration(*flags):
        done = subprocess.run([BINARY, "calibration", "--config", rig.daemon.config_file, *flags], capture_output=True, text=True,
                              timeout=300, check=False)
        assert done.returncode == 0, done
        return done.stdout

    shown = json.loads(calibration("--model", "--json"))
    assert shown["kind"] == "map" and shown["model"]["version"] >= used["model"] and shown["labels"] >= LABELS
    assert [feature["name"] for feature in shown["model"]["features"]] == ["overall"]
    assert f"Version {shown['model']['version']} (map), in use since " in calibration("--model")
    deadline = time.monotonic() + 180
    while True:  # until the labels of those with a probability are counted
        (report,) = json.loads(calibration("--json", "--accuracy", "0.6"))["reports"]
        rankings = {(each["score"], each["computed_from"]): each for each in report["rankings"]}
        if ("probability", "cases") in rankings:
            break
        assert time.monotonic() < deadline, report
        time.sleep(1)
    assert rankings["overall", "tenths"]["cases"] == report["cases"] >= rankings["overall", "cases"]["cases"] > LABELS
    for found in (rankings["overall", "tenths"], rankings["overall", "cases"]):
        assert 0.8 < found["auroc_low"] < found["auroc"] < found["auroc_high"] < 1
        assert found["threshold"]["found"] and 0.45 < found["threshold"]["share"] < 0.55
    assert rankings["overall", "tenths"]["threshold"]["threshold"] == 0.9
    assert rankings["overall", "cases"]["threshold"]["threshold"] == 0.95
    # the records again, by the rules that they were scored by
    lines = [json.dumps(record, default=lambda time: round(time.timestamp() * 1000)) for _, record in rig.scored(rig.asked)]
    path = tmp_path / "records.jsonl"
    path.write_text("\n".join(lines))
    replayed = json.loads(calibration("--replay", str(path), "--model-version", str(used["model"]), "--json"))
    assert replayed["records"] == replayed["kept"] == rig.asked and replayed["unreadable"] == 0, replayed
    assert replayed["rules"]["model_version"] == used["model"] and not replayed["rules"]["level_follows"]
    (labelled,) = replayed["labelled"]
    assert labelled["cases"] == rig.asked and used["labels"] <= labelled["learnt_from"] < rig.asked
    assert labelled["now"]["probability"]["cases"] == rig.asked - labelled["learnt_from"]
    assert labelled["now"]["overall"]["auroc"] == labelled["then"]["overall"]["auroc"]
    of_topic = json.loads(calibration("--replay-topic", "--window", "1h", "--model-version", str(used["model"]), "--json"))
    assert {name: of_topic[name] for name in ("records", "kept", "unreadable", "first_ms", "last_ms", "levels", "rules")} == {
        name: replayed[name] for name in ("records", "kept", "unreadable", "first_ms", "last_ms", "levels", "rules")}
    (found,) = of_topic["labelled"]
    assert found["now"]["levels"] == labelled["now"]["levels"] and found["learnt_from"] == labelled["learnt_from"]
    rig.send(["rubbish"], topic=rig.topics.scored)
    time.sleep(2)
    assert json.loads(calibration("--replay-topic", "--window", "1h", "--json"))["unreadable"] == 1
    late = json.loads(calibration("--replay-topic", "--window", "1s", "--json"))
    assert late["records"] == 0 and late["labelled"] == []
    wrong = subprocess.run([BINARY, "calibration", "--config", rig.daemon.config_file, "--accuracy", "1"], capture_output=True,
                           text=True, timeout=300, check=False)
    assert wrong.returncode == 64 and "write for example 0.9" in wrong.stderr, wrong


def test_features_tell_texts_apart(rig):
    """Of one confidence, by what the query is like."""
    for record in start(rig, "features")[:2]:
        assert record["confidence"]["features"]["technical"] == 1
    await_probability(rig, labels=LABELS / 2)
    right, wrong = send(rig, [events.event(sql, target="shop", generator_confidence=0.3, application="web",
                                           question="How many live in each?") for sql in (events.CITY_COUNT, WRONG)])
    assert right["confidence"]["overall"] == wrong["confidence"]["overall"]
    assert right["confidence"]["probability"]["value"] > wrong["confidence"]["probability"]["value"] + 0.3
    # what is learnt takes effect at the next start only, in every record
    for model in ("map", "off"):
        reload(rig, ONE, model=model)
        assert "at the next start only: calibration.model" in rig.daemon.log()
        (again,) = send(rig, [events.event(events.CITY_COUNT, target="shop", generator_confidence=0.3, application="web",
                                           question="How many live in each?")])
        assert again["confidence"]["features"] == right["confidence"]["features"], model
        assert again["confidence"]["probability"]["value"] > wrong["confidence"]["probability"]["value"], model


def test_the_last_model_serves_without_postgresql(rig):
    start(rig, "map")
    known = await_probability(rig)
    database = rig.calibration_database
    rig.postgres.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS false')
    try:
        rig.postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")
        # it has looked for a newer one
        rig.daemon.await_log("scoring goes on with the last one")
        for former, record in zip(known, send(rig, answers(len(TIERS)))):
            probability = record["confidence"]["probability"]
            assert probability["model"] >= former["confidence"]["probability"]["model"]
        metrics = Metrics(rig.daemon)
        assert metrics.value("assayd_model_age_seconds") > 5 and metrics.value("assayd_model_failures") > 0
        rig.daemon.terminate()
        rig.daemon.start()
        assert "is used as it was kept, until the calibration database says which one is in use" in rig.daemon.log()
        for former, record in zip(known, send(rig, answers(len(TIERS)))):
            assert record["confidence"]["probability"]["model"] >= former["confidence"]["probability"]["model"]
        assert Metrics(rig.daemon).value("assayd_model_age_seconds") > 5
        # under other rules it is left, and under its own again it is at hand at once
        reload(rig, BOTH)
        for record in send(rig, answers(len(TIERS))):
            assert record["confidence"]["probability"] is None
        rig.daemon.await_log("none of the present rules of overall confidence is at hand")
        reload(rig, ONE)
        for former, record in zip(known, send(rig, answers(len(TIERS)))):
            assert record["confidence"]["probability"]["model"] >= former["confidence"]["probability"]["model"]
        # also where those were the rules of the start
        rig.daemon.terminate()
        rig.daemon.config["confidence"]["factors"] = BOTH
        rig.daemon.start()
        for record in send(rig, answers(len(TIERS))):
            assert record["confidence"]["probability"] is None
        reload(rig, ONE)
        for former, record in zip(known, send(rig, answers(len(TIERS)))):
            assert record["confidence"]["probability"]["model"] >= former["confidence"]["probability"]["model"]
        assert "was learnt under other rules" not in rig.daemon.log()
    finally:
        rig.postgres.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS true')


def models_in_use(rig):
    """Number and rules of each, by number."""
    return rig.postgres.execute("SELECT version, rules FROM calibration_model_history WHERE in_use ORDER BY version",
                                rig.calibration_database)


def await_model(rig, present):
    """The records of one event of each tier, when they have a probability, or none."""
    deadline = time.monotonic() + 180
    while True:
        records = send(rig, answers(len(TIERS)))
        if all((record["confidence"]["probability"] is not None) == present for record in records):
            return records
        assert time.monotonic() < deadline, rig.daemon.log_tail()
        time.sleep(1)


def test_a_model_belongs_to_its_rules(rig, make_daemon):
    """Under other factors what was learnt says nothing, and is used again under the former ones."""
    start(rig, "map")
    first = await_probability(rig)[0]["confidence"]["probability"]["model"]
    reload(rig, BOTH)
    for record in send(rig, answers(20)):
        assert record["confidence"]["probability"] is None and record["confidence"]["level_by"] == "overall"
    others = "was learnt under other rules of overall confidence (factors=generator source=own"
    rig.daemon.await_log(others)
    assert Metrics(rig.daemon).value("assayd_model_version") == 0
    done = subprocess.run([BINARY, "calibration", "--config", rig.daemon.config_file, "--model"], capture_output=True, text=True,
                          timeout=300, check=False)
    assert "is passed over: it was learnt under other rules of overall confidence" in done.stdout, done
    present = ", which was learnt under the present rules, is in use"
    told = rig.daemon.log().count(present)
    reload(rig, ONE)
    again = await_model(rig, True)[0]["confidence"]["probability"]
    assert again["model"] >= first and again["labels"] >= 50
    rig.daemon.await_log(present, told + 1)
    # what has labels under the others teaches a model of theirs
    reload(rig, BOTH)
    await_model(rig, False)
    send(rig, answers(LABELS))
    learn(rig)
    other = await_model(rig, True)[0]["confidence"]["probability"]
    assert other["model"] > again["model"]
    rig.daemon.await_log(f"model {other['model']}{present}")
    # that nothing is there is said only where it is so
    missed, told = rig.daemon.log().count(others), rig.daemon.log().count(present)
    for times, factors in enumerate((ONE, BOTH), told + 1):
        reload(rig, factors)
        rig.daemon.await_log(present, times)
    assert rig.daemon.log().count(others) == missed
    used = models_in_use(rig)
    assert [rules for _, rules in used] == ["factors=generator source=own retrieval=formula",
                                            "factors=technical,generator source=own retrieval=formula"], used
    # an instance of the former rules beside it: neither takes the other's place
    kafka = {**rig.daemon.config["kafka"], "instance_id": f"{rig.topics.name}-2"}
    config = {**rig.daemon.config, "kafka": kafka, "confidence": {**rig.daemon.config["confidence"], "factors": ONE},
              "calibration": {**rig.daemon.config["calibration"], "model_interval_s": 10}}
    beside = make_daemon(config).start()
    deadline = time.monotonic() + 180
    found = {}
    while len(found) < 2:
        for record in send(rig, answers(40)):
            factors = tuple(name.lower() for name in record["rules"]["factors"])
            if record["confidence"]["probability"]:
                found.setdefault(factors, set()).add(record["confidence"]["probability"]["model"])
        assert time.monotonic() < deadline, (found, beside.log_tail())
    assert not found[ONE] & found[BOTH], found
    learn(rig)
    time.sleep(12)  # both have been at learning
    assert sorted(rules for _, rules in models_in_use(rig)) == [rules for _, rules in used]
    beside.terminate()
    rig.await_calibration([record for _, record in rig.scored(rig.asked)])
    rig.daemon.terminate()
    done = subprocess.run([BINARY, "calibration", "--config", rig.daemon.config_file, "--verify"], capture_output=True, text=True,
                          timeout=300, check=False)
    assert done.returncode == 0 and ", 0 differ" in done.stdout, done


def sequences(rig):
    return rig.postgres.execute("""
        SELECT claims_open, claims_direction, (SELECT count(*) FROM calibration_claims),
               (SELECT string_agg(expected_by || ' ' || direction, ',') FROM calibration_drift_episodes WHERE closed_at IS NULL)
        FROM calibration_sequences WHERE label_source = 'RESULT'""", rig.calibration_database)[0]


def test_answers_that_are_not_as_right_as_is_said(rig):
    """Probabilities are tested against their labels, whoever else notices; a recount finds the same cases."""
    start(rig, "map")
    records = await_probability(rig)
    said = records[0]["confidence"]["probability"]["value"]
    assert said > 0.8
    records = send(rig, answers(100))
    assert all(record["confidence"]["probability"] for record in records)
    rig.await_calibration([record for _, record in rig.scored(rig.asked)])
    time.sleep(5)
    opened, _, claims, _ = sequences(rig)
    assert not opened and claims >= 100
    chance = random.Random(6)
    send(rig, [events.event(events.CITY_COUNT if chance.random() < 0.5 else WRONG, target="shop", ground_truth=TRUTH,
                            generator_confidence=TIERS[0][0], application="web", question=f"How many died in {number}?")
               for number in range(150)])
    deadline = time.monotonic() + 180
    while True:
        opened, direction, claims, episode = sequences(rig)
        if opened and episode:
            break
        assert time.monotonic() < deadline, (sequences(rig), rig.daemon.log_tail())
        time.sleep(0.5)
    assert direction == "LOWER" and claims >= 250 and episode in ("PAST LOWER", "PROBABILITY LOWER")
    rig.await_calibration([record for _, record in rig.scored(rig.asked)])
    done = subprocess.run([BINARY, "calibration", "--verify", "--json", "--config", rig.daemon.config_file], capture_output=True,
                          text=True, timeout=300, check=False)
    assert done.returncode == 0 and json.loads(done.stdout)["claims_differing"] == 0, done
