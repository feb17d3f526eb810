"""Several judges: what each says, what all say together, and what becomes of events when one of them does not answer."""

import contextlib
import json
import signal
import subprocess
import threading
import time

import pytest

import events
from daemon import BINARY
from judge_server import Answer, Judge
from openmetrics import Metrics, await_metrics
from test_cli import assayd, config_file, on_terminal, plain  # noqa: F401 (a fixture)

NAMES = ("one", "two", "three")


class Panel:
    """A rig whose daemon asks several judges."""

    def __init__(self, rig, judges):
        self.rig, self.judges = rig, judges

    def settings(self, *changes):
        """The `judges` of a configuration; one dict of changes for each, as far as given."""
        each = [*changes, *({} for _ in self.judges[len(changes):])]
        return tuple({"name": name, **judge.settings(model=f"model-{name}"), "max_attempts": 1, **more}
                     for name, judge, more in zip(NAMES, self.judges, each))

    def start(self, *changes, panel=None, **groups):
        return self.rig.start(judge=None, judges=self.settings(*changes), panel=panel, **groups)

    def say(self, *scores, **more):
        for judge, score in zip(self.judges, scores):
            judge.answer = lambda prompt, score=score: Answer(score=score, **more)


@pytest.fixture
def panel(rig):
    with contextlib.ExitStack() as stack:
        yield Panel(rig, [rig.judge, *(stack.enter_context(contextlib.closing(Judge())) for _ in NAMES[1:])])


def stage(record, name):
    return next(stage for stage in record["stages"] if stage["name"] == name)


def one(rig, count=1):
    """The latest record of so many; partitions are read in any order."""
    return max((record for _, record in rig.scored(count)), key=lambda record: record["scored_at"])


def test_each_verdict_is_published_and_the_mean_decides(panel):
    rig = panel.rig
    panel.start({"prompt_token_price": 1.0}, {"completion_token_price": 10.0}, calibration={"model": "features"})
    panel.say(90, 45, 9)
    truth = {"sql": "SELECT 1 AS one"}
    rig.send([events.message(events.sure(question="Means?", ground_truth=truth))])
    record = one(rig)
    judge = record["judge"]
    assert judge["relevance"]["score"] == 48 and judge["decision"] == "WARN"
    assert judge["relevance_disagreement"] == (45 + 81 + 36) / 3
    assert (judge["relevance"]["status"], judge["correctness"]["score"], judge["correctness_disagreement"]) == ("ok", 1, 0)
    assert [(each["name"], each["model"], each["relevance"]["score"], each["correctness"]["score"], each["unjudged_reason"])
            for each in judge["panel"]] == [("one", "model-one", 90, 1, None), ("two", "model-two", 45, 1, None),
                                            ("three", "model-three", 9, 1, None)]
    assert [each["cost"] for each in judge["panel"]] == [200 * 1 / 1e6, 40 * 10 / 1e6, None]
    assert judge["cost"] == pytest.approx(600e-6) and judge["prompt_tokens"] == 600
    assert judge["provider"] is None and judge["model"] is None
    assert judge["panel"][0]["prompt_digest"] == record["provenance"]["prompt_digest"], "all have the built-in prompts"
    assert record["label"] == {"value": 1, "correct": True, "source": "CORRECTNESS", "weight": 1}
    assert record["confidence"]["features"]["panel_disagreement"] == pytest.approx(0.54)
    assert not record["errors"] and not record["evaluation"]["degraded"]

    rig.send([events.message(events.sure(question="Means?", ground_truth=truth))])
    again = one(rig, 2)["judge"]
    assert all(each["relevance"]["cached"] and each["correctness"]["cached"] for each in again["panel"])
    assert again["relevance"]["cached"] and again["relevance"]["score"] == 48
    assert [judge.calls() for judge in panel.judges] == [2, 2, 2]

    rig.send([events.message(events.sure(question="Relevant?"))])
    record = one(rig, 3)
    assert record["label"] == {"value": 0.48, "correct": False, "source": "RELEVANCE", "weight": 1}
    rig.await_calibration([record for _, record in rig.scored(3)])


def test_one_that_fails_leaves_the_others(panel):
    """Not answering, refusing, and not being there at all; its circuit breaker, errors and metrics are its own."""
    rig = panel.rig
    panel.start({}, {"timeout_ms": 1000})
    panel.say(80, 40, 30)
    panel.judges[1].answer = lambda prompt: Answer(delay_s=5)
    panel.judges[2].halt()
    rig.send([events.message(events.sure(question=f"Who answers the {number}. time?")) for number in range(15)])
    records = [record for _, record in rig.scored(15)]
    for record in records:
        judge = record["judge"]
        assert (judge["relevance"]["score"], judge["decision"], judge["relevance_disagreement"]) == (80, "ACCEPT_HIGH", None)
        assert [each["unjudged_reason"] for each in judge["panel"]] == [None, "judge_timeout", "judge_unavailable"]
        assert [(error["metric"], error["code"]) for error in record["errors"]] == [
            ("relevance", "judge_timeout"), ("relevance", "judge_unavailable")]
        assert [error["message"].split(":")[0] for error in record["errors"]] == ['judge "two"', 'judge "three"']
        assert record["evaluation"]["degraded"] and record["label"]["value"] == 0.8
        assert stage(record, "relevance")["status"] == "ok"
        assert stage(record, "relevance")["duration_us"] >= 990_000, "the slowest one's"
    await_metrics(rig.daemon, lambda metrics: metrics.value("assayd_judge_breaker_open", judge="three") == 1)
    now = Metrics(rig.daemon)
    assert now.value("assayd_judge_breaker_open", judge="one") == 0
    assert now.value("assayd_judge_answers", judge="one", question="relevance", answer="verdict") == 15
    assert now.value("assayd_judge_answers", judge="two", question="relevance", answer="timeout") == 15
    assert now.value("assayd_judge_answers", judge="three", question="relevance", answer="failed") == 15
    assert now.value("assayd_judge_requests", judge="one") == 15
    assert now.value("assayd_judge_tokens", judge="one", kind="prompt") == 1500
    assert now.value("assayd_judge_tokens", judge="three", kind="prompt") == 0


def test_one_whose_tokens_are_spent_leaves_the_others(panel):
    """However long its events would wait for a slot they do not wait for another day, nor after the next start."""
    rig = panel.rig
    daemon = panel.start({}, {"tokens_per_day": 300, "when_saturated": "wait"}, {"tokens_per_day": 300, "queue_wait_ms": 600_000})
    panel.say(90, 40, 50)
    for life, count in enumerate((10, 5)):
        rig.send([events.message(events.sure(question=f"Number {number} of life {life}?")) for number in range(count)])
        records = sorted((record for _, record in rig.scored(10 + life * 5)), key=lambda record: record["scored_at"])[-count:]
        assert [judge.calls() for judge in panel.judges] == [10 + life * 5, 2, 2], "120 tokens a call"
        reasons = [[each["unjudged_reason"] for each in record["judge"]["panel"]] for record in records]
        for number in (1, 2):
            assert sorted(each[number] or "" for each in reasons) == [""] * 2 * (1 - life) + ["TOKENS_SPENT"] * (8 if life == 0 else 5)
        for record, reason in zip(records, reasons):
            failed = [name for name, why in zip(NAMES, reason) if why]
            assert [(error["metric"], error["code"]) for error in record["errors"]] == [
                ("relevance", "judge_tokens_spent")] * len(failed)
            assert [error["message"] for error in record["errors"]] == [
                f"judge \"{name}\": the judge's tokens of the day are spent" for name in failed]
            assert record["evaluation"]["degraded"] == bool(failed) and record["judge"]["decision"] != "UNJUDGED"
        metrics = await_metrics(daemon, lambda now: now.value("assayd_judge_answers", judge="three", question="relevance",
                                                              answer="spent") == (8, 5)[life])
        assert metrics.value("assayd_judge_spent", judge="two") == (8, 5)[life]
        assert metrics.value("assayd_judge_saturated") == metrics.value("assayd_judge_failed") == 0
        assert 'tokens_per_day is used up: no requests to the judge "two"' in daemon.log_tail(200)
        if life == 0:
            assert daemon.terminate() == 0
            daemon.start()


def test_nobody_answers(panel):
    rig = panel.rig
    panel.start({"tokens_per_day": 1}, {"tokens_per_day": 1, "when_saturated": "wait"}, {"tokens_per_day": 1})
    rig.send([events.message(events.sure(question="Before?"))])
    assert one(rig)["judge"]["relevance"]["score"] == 92
    rig.send([events.message(events.sure(question="After?"))])
    record = one(rig, 2)
    assert (record["judge"]["decision"], record["judge"]["unjudged_reason"]) == ("UNJUDGED", "TOKENS_SPENT")
    assert [each["unjudged_reason"] for each in record["judge"]["panel"]] == ["TOKENS_SPENT"] * 3
    assert record["label"] is None and record["judge"]["relevance"]["score"] == 0
    rig.send([events.message(events.sure("DELETE FROM orders"))])
    judge = one(rig, 3)["judge"]
    assert (judge["unjudged_reason"], judge["panel"], judge["relevance"]) == ("UNSAFE", [], None)


def test_whether_to_ask_is_decided_once(panel):
    rig = panel.rig
    panel.start(panel={"sample_rate": 0.5})
    rig.send([events.message(events.sure(question=f"Question {number}?")) for number in range(60)])
    records = [record for _, record in rig.scored(60)]
    asked = [record for record in records if record["judge"]["panel"]]
    assert 0 < len(asked) < 60
    assert {len(record["judge"]["panel"]) for record in asked} == {3}
    assert {record["label"]["weight"] for record in asked} == {2}
    assert [judge.calls() for judge in panel.judges] == [len(asked)] * 3
    assert {record["judge"]["unjudged_reason"] for record in records if record not in asked} == {"NOT_SAMPLED"}


def reload(daemon):
    before = [line for _, line in daemon.notified()].count("READY=1")
    daemon.write_config()
    daemon.signal(signal.SIGHUP)
    deadline = time.monotonic() + 120
    while [line for _, line in daemon.notified()].count("READY=1") <= before:
        assert time.monotonic() < deadline, "the reload does not end"
        time.sleep(0.05)


def test_a_reload_that_leaves_a_judge_out_loses_nothing(panel):
    """It goes on with what it has under way, and until the next start with what comes; the others take their limits over."""
    rig, go_on = panel.rig, threading.Event()
    daemon = panel.start({}, {"prompt_token_price": 5.0}, {"timeout_ms": 300_000})
    panel.judges[1].answer = lambda prompt: Answer(score=50, status=200 if go_on.wait(280) else 500)
    rig.send([events.message(events.sure(question="Held?"))])
    while panel.judges[1].calls() < 1:
        time.sleep(0.05)
    first, _, third = panel.settings({"prompt_token_price": 2.0}, {}, {"max_in_flight": 1})
    daemon.config["judges"] = (third, first)
    reload(daemon)
    assert "these settings take effect at the next start only: judges" in daemon.log_tail(200)
    rig.send([events.message(events.sure(question="Meanwhile?"))])
    while panel.judges[1].calls() < 2:
        time.sleep(0.05)
    go_on.set()
    records = {record["event_id"]: record for _, record in rig.scored(2)}
    for record in records.values():
        assert [each["name"] for each in record["judge"]["panel"]] == list(NAMES)
        assert [each["relevance"]["score"] for each in record["judge"]["panel"]] == [92, 50, 92]
    costs = sorted([each["cost"] for each in record["judge"]["panel"]] != [None, 500e-6, None] for record in records.values())
    assert costs == [False, True], "each event has the prices that it began with"
    assert daemon.terminate() == 0
    daemon.start()
    rig.send([events.message(events.sure(question="After the start?"))])
    last = next(record for _, record in rig.scored(3) if record["event_id"] not in records)
    assert [each["name"] for each in last["judge"]["panel"]] == ["three", "one"]


def test_a_stop_with_judges_under_way_loses_nothing(panel):
    """Each event is scored once, whoever was being asked when the daemon ended, and whether it was given the time to end."""
    rig = panel.rig
    daemon = panel.start(pipeline={"workers": 2, "drain_timeout_ms": 500})
    panel.judges[1].answer = lambda prompt: Answer(delay_s=0.7)
    panel.judges[2].answer = lambda prompt: Answer(delay_s=3)
    made = [events.sure(question=f"Stopped {number}?") for number in range(120)]
    for number, end in enumerate(("terminate", "kill", None)):
        rig.send([events.message(event) for event in made[number * 40:(number + 1) * 40]])
        while panel.judges[2].calls() < 20 * (number + 1):
            time.sleep(0.02)
        if end == "terminate":
            assert daemon.terminate() == 0
        elif end == "kill":
            daemon.signal(signal.SIGKILL)
            daemon.wait()
        if end:
            daemon.start()
    records = [record for _, record in rig.scored(len(made))]
    assert sorted(record["event_id"] for record in records) == sorted(event["event_id"] for event in made)
    for record in records:
        assert len(record["judge"]["panel"]) == 3


def test_score_asks_all_and_shows_them(panel, config_file):
    config = config_file({"judges": panel.settings()})
    panel.say(90, 45, 12)
    panel.judges[2].answer = lambda prompt: Answer(status=400)
    line = plain(events.sure(question="Shown?")) + "\n"
    done = assayd("score", "--config", config, stdin=line)
    assert done.returncode == 0, done.stderr
    judge = json.loads(done.stdout)["judge"]
    assert (judge["relevance"]["score"], judge["relevance_disagreement"]) == (67.5, 45)
    status, said = on_terminal("score", "--config", config, stdin=line.encode())
    shown = said.decode().splitlines()
    assert status == 0
    assert any(text.startswith("  judges   67.5 of 100, 2 of 3 answered, apart by 45: one 90: ") and "; two 45: " in text
               for text in shown), shown
    assert any(text.startswith('  not had  relevance: judge "three": the judge answered HTTP 400') for text in shown), shown


def test_check_reaches_every_judge_and_names_it(panel, kafka, topics, config_file):
    panel.judges[1].answer = lambda prompt: Answer(status=401)
    panel.judges[2].halt()
    config = config_file({"kafka": topics(1).settings(kafka), "judges": panel.settings()})
    done = subprocess.run([BINARY, "check", "--config", config], capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    lines = done.stdout.splitlines()
    assert any(line.split(maxsplit=1) == ["ok", 'judge "one"'] for line in lines), lines
    assert any('judge "two": ' in line and line.endswith("mend the key (judges[1].api_key_file)") for line in lines), lines
    assert any('judge "three": ' in line and "mend judges[2].base_url" in line for line in lines), lines


def test_prompts_are_each_judges_own(panel, tmp_path):
    rig, own = panel.rig, tmp_path / "prompts"
    own.mkdir()
    for name, truth in (("relevance", ""), ("correctness", "{{truth_sql}} {{nonce}}")):
        (own / f"{name}.txt").write_text("[system]\nOwn words: a \"score\" member.\n[user]\n{{dialect}} {{nonce}} {{question}} {{nonce}}"
                                         " {{sql}} {{nonce}} " + truth + "\n")
    panel.start({}, {"prompt_directory": str(own)})
    rig.send([events.message(events.sure(question="Whose words?"))])
    record = one(rig)
    digests = [each["prompt_digest"] for each in record["judge"]["panel"]]
    assert digests[0] == digests[2] != digests[1]
    assert record["provenance"]["prompt_digest"] == f"{digests[0]} {digests[1]}"
