"""Every number of a record follows from the record: computed again by a program that shares nothing with the daemon, and by
`assayd audit recompute`; both find whatever does not follow."""

import contextlib
import copy
import datetime
import hashlib
import io
import json
import os
import pathlib
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import uuid

import psycopg2
import pytest

import recompute
import wire
from daemon import BINARY, config_text
from judge_server import Answer, Judge

ROOT = pathlib.Path(__file__).resolve().parents[2]
OTHERWISE = {"confidence": {"factors": ["technical", "advisory", "retrieval", "generator", "agreement"], "technical_alone": "high",
                            "thresholds": {"high": 0.8, "medium": 0.6, "low": 0.3}},
             "retrieval": {"rrf_scale": 30.0, "consensus_above": 0.6, "gap_scale": 0.5, "spread_scale": 0.4,
                           "weights": {"top": 0.1, "gap": 0.1, "consensus": 0.2, "agreement": 0.2, "low_spread": 0.2, "graph": 0.1,
                                       "low_diversity": 0.1},
                           "thresholds": {"high": 0.7, "medium": 0.55, "low": 0.4}},
             "evaluation": {"pass_score": 0.55}, "advisories": {"low_confidence_below": 0.95, "low_relevance_below": 70.0},
             "diagnostic": {"source": "worst"}, "agreement": {"execute": True}}


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as shop:
        shop.executescript("""
            CREATE TABLE items (id integer PRIMARY KEY, name text, price real, sold_on date);
            CREATE TABLE regions (region_id integer PRIMARY KEY, name text NOT NULL);
            CREATE TABLE customers (customer_id integer PRIMARY KEY, name text, email text, region_id integer, created_on date);
            CREATE TABLE products (product_id integer PRIMARY KEY, name text, category text, price numeric(10, 2));
            CREATE TABLE orders (order_id integer PRIMARY KEY, customer_id integer, ordered_at timestamp, status text);
            CREATE TABLE order_items (order_id integer, line integer, product_id integer, quantity integer, unit_price numeric(10, 2));
            INSERT INTO regions VALUES (1, 'North'), (2, 'South'), (3, 'East'), (4, 'West');""")
        shop.executemany("INSERT INTO items VALUES (?, ?, ?, ?)", [(n, f"item {n}", n / 4, "2024-01-01") for n in range(30)])
        shop.executemany("INSERT INTO customers VALUES (?, ?, 'x', ?, '2024-01-01')", [(n, f"Customer {n}", 1 + n % 4) for n in range(40)])
        shop.executemany("INSERT INTO products VALUES (?, ?, ?, ?)",
                         [(n, f"Product {n}", ["books", "games", "garden", "kitchen", "music"][n % 5], 5 + n * 3) for n in range(30)])
        shop.executemany("INSERT INTO orders VALUES (?, ?, '2024-01-01', ?)",
                         [(n, n % 40, ["paid", "shipped", "cancelled"][n % 3]) for n in range(90)])
        shop.executemany("INSERT INTO order_items VALUES (?, 1, ?, ?, 2.5)", [(n, n % 30, 1 + n % 4) for n in range(90)])
    return path


SQL = ["SELECT id, name FROM items", "SELECT name, id FROM items ORDER BY id", "SELECT id, name FROM items WHERE id < 29",
       "SELECT id, name FROM items WHERE id < 7", "SELECT id FROM items", "SELECT id, name FROM items WHERE id < 0",
       "SELECT id, CASE WHEN id < 2 THEN 'x' ELSE name END AS name FROM items",
       "SELECT id, CASE WHEN id < 20 THEN 'x' ELSE name END AS name FROM items", "SELECT * FROM items", "SELECT nme FROM items",
       "SELECT id FROM itms", "SELEKT", "DELETE FROM items", "SELECT 1; SELECT 2", "```sql\nSELECT id, name FROM items\n```",
       "SELECT abs(id - 9223372036854775807 - 9223372036854775807) FROM items", "SELECT id, name FROM items ORDER BY random() LIMIT 3",
       "SELECT count(*) FROM items i, orders o WHERE i.id = o.order_id GROUP BY i.name HAVING count(*) > 0"]
TABLE = {"columns": ["id", "name"], "rows": [[str(n), f"item {n}"] for n in range(30)]}
TRUTHS = [None, {"sql": "SELECT id, name FROM items"}, {"sql": "SELECT id, name FROM items", "similarity": 0.8},
          {"sql": "SELECT i.id, i.name FROM items i JOIN orders o ON o.order_id = i.id WHERE i.id < 8 ORDER BY i.id LIMIT 5", "similarity": 0.2},
          {"sql": "SELEKT"}, {"sql": "DELETE FROM items"}, {"results": [TABLE]}, {"sql": "SELECT nme FROM items", "alternatives": ["SELECT 1"]},
          {"tables": ["ITEMS", "orders"]}, {"sql": "SELECT id FROM items", "alternatives": ["SELECT id, name FROM items"], "tables": ["items"]},
          {"sql": "SELECT id, name FROM items", "results": [{"columns": [], "rows": []}], "similarity": 7},
          {"sql": "SELECT random() AS r, id FROM items"}]
RAW = ['{"sql": "x", "why": 1}', '{"sql": "x"}', "{}", "prose", '{"sql": null, "why": null}', "[1]", '{"sql": 1, "why": 1, "sql": null}',
       '{"sql": "\\ud800"}', '{"sql": NaN}', '{"sql": 1e999}', '{"sql": 9223372036854775808}', '{"sql": -9223372036854775808, "why": 1e-999}',
       '{"sql": "\\u0000", "why": 1}', '{"sql": 1, "\\u0000": 2}', '{"sql": 1} x']


def event(draw, number):
    """One of all combinations of what an event may bring."""
    truth = draw.choice(TRUTHS)
    if truth is not None and draw.random() < 0.6:
        truth = {**truth, "should_pass": draw.random() < 0.5, "expected_failure": draw.choice([None, "SYNTAX", "SCHEMA", "SAFETY"])}

    def score(most=1.0):
        return draw.choice([None, 0.0, round(draw.uniform(0, most), draw.choice([1, 4, 17]))])

    def chunk(rank):
        return {"chunk_id": f"c{rank}", "document_id": draw.choice([None, "a", "b", f"d{rank}"]),
                "source_type": draw.choice(["GOVERNMENT", "REGULATORY", "MARKET_DATA", "THIRD_PARTY", "UNKNOWN"]), "bm25_score": score(20),
                "dense_score": score(), "rrf_score": score(0.03), "boosted_score": score(1.2), "rerank_score": draw.choice([score(), -0.1]),
                "graph_boost": draw.choice([None, 0.0, 0.2])}

    def texts(*choices):
        return draw.choices(choices, k=draw.randrange(3))

    return {"event_id": f"e{number}", "application": "web", "question": "q", "sql": draw.choice(SQL), "ground_truth": truth,
            "target": draw.choice(["shop", "shop", "shop", "shop", None, "nowhere"]), "dialect": draw.choice([None, None, None, "SQLITE", "MONGODB"]),
            "generator_confidence": draw.choice([None, 0.0, 0.97, 1.0, 17.0]),
            "retrieval": draw.choice([None, {"chunks": [chunk(rank) for rank in range(draw.randrange(6))]}]),
            "response": draw.choice([None, {"raw": draw.choice(RAW), "required_fields": ["sql"], "optional_fields": ["why"]}]),
            "candidates": [{"sql": draw.choice(SQL)} for _ in range(draw.choice([0, 0, 1, 2, 5, 18]))],
            "diagnostic": draw.choice([None, {"valid": draw.random() < 0.8, "errors": texts("table x not found", "bad", "worse"),
                                              "warnings": texts("slow", "odd")}]),
            "validator": draw.choice([None, {"safety_valid": draw.choice([None, True, False]), "is_valid": draw.choice([None, True, False]),
                                             "errors": texts("syntax error", "reparsed", "is not allowed", "column missing")}])}


def opinion(salt):
    """A judge that says the same of the same, and now and then nothing."""
    def answer(prompt):
        text = json.dumps(prompt, sort_keys=True) if not isinstance(prompt, str) else prompt
        question = re.sub(r"\b[0-9A-Za-z_-]{16,}\b", "", text)  # without its nonce
        number = hashlib.sha256((salt + question).encode()).digest()[0]
        if number < 30:
            return Answer(status=400)
        return Answer(score=number * 100 // 255, verdict=["correct", "partial", "incorrect"][number % 3])
    return answer


def records(tmp_path, events, settings):
    config = tmp_path / "assayd.conf"
    config.write_text(config_text(settings))
    done = subprocess.run([BINARY, "score", "--config", str(config)], input="".join(json.dumps(item) + "\n" for item in events),
                          capture_output=True, text=True, timeout=600, check=False,
                          env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(events), done.stderr
    return [record for record in found if "disposition" in record]


def shop_of(path, **changes):
    return ({"name": "shop", "engine": "sqlite", "path": str(path), **changes},)


def audited(found):
    """(what `audit recompute` says of each line in which anything is wrong, what all of it amounts to)"""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as config:
        config.write(config_text({"kafka": {"group_id": "audit"}}))
        config.flush()
        done = subprocess.run([BINARY, "audit", "recompute", "-", "--analyse", "--json", "--config", config.name], capture_output=True, text=True,
                              input="".join(json.dumps(record) + "\n" for record in found), timeout=600, check=False)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert said and "records" in said[-1], done
    assert done.returncode == (65 if len(said) > 1 or not said[-1]["checked"] else 0), done
    return {item["line"]: item for item in said[:-1]}, said[-1]


def assert_follow(found):
    wrong = [(record["event_id"], *difference) for record in found for difference in recompute.recompute(record).differ]
    assert not wrong, f"{len(wrong)}: {wrong[:5]}"
    differ, totals = audited(found)
    assert not differ, f"{len(differ)}: {list(differ.values())[:5]}"
    assert totals["records"] == len(found) and totals["checked"] > 40 * len(found)
    # of targets that the file does not name; nothing is archived here
    left = {name for name in totals["unchecked"] if not name.startswith("analysis")} - {"rules", "disposition.reasons.text"}
    assert not left or unchecked(found)


def assert_both_find(found, draw):
    """Records with one value changed, anywhere: what the other program finds, `audit recompute` finds."""
    spoilt = []
    for record in found:
        values = [(path, value) for path, value in leaves(record) if isinstance(value, (bool, int, float)) and path[0] != "input"]
        for path, value in draw.sample(values, 6):
            spoilt.append((path, changed(record, path, other_value(value))))
    differ, _ = audited([record for _, record in spoilt])
    missed = [path for line, (path, record) in enumerate(spoilt, 1) if recompute.recompute(record).differ and line not in differ]
    assert not missed
    assert len(differ) > len(spoilt) / 5


def unchecked(found):
    return set().union(*(recompute.recompute(record).unchecked for record in found))


def test_sample_events(database, tmp_path):
    sample = subprocess.run([sys.executable, str(ROOT / "packaging/sample/events.py")], capture_output=True, text=True, check=True, timeout=60)
    events = [json.loads(line) for line in sample.stdout.splitlines()]
    found = records(tmp_path, events, {"targets": shop_of(database)})
    assert len(found) > 300
    assert_follow(found)
    assert not unchecked(found)


SETTINGS = {
    "defaults": {},
    "other rules": OTHERWISE,
    "small results": {"targets": {"max_rows": 10, "large_results": "truncate"}},
    "large results": {"targets": {"max_rows": 10}},
    "the event's diagnostic": {"diagnostic": {"source": "event"}, "confidence": {"factors": ["technical"]}},
    "no catalog": {"targets": {"path": "/nowhere.db"}},
    "redacted": {**OTHERWISE, "records": {"redact_literals": True}},
    "without the event": {**OTHERWISE, "records": {"embed_input": False}},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_events_of_all_kinds(name, database, judge, tmp_path):
    settings = {**SETTINGS[name]}
    draw = random.Random(name)
    judge.answer = opinion(name)
    settings["targets"] = shop_of(**{"path": database, **settings.get("targets", {})})
    settings["judge"] = judge.settings(prompt_token_price=1.25, completion_token_price=10.0, sample_rate=0.6,
                                       always_below="MEDIUM_CONFIDENCE", unsafe=name == "other rules")
    found = records(tmp_path, [event(draw, number) for number in range(150)], settings)
    assert_follow(found)
    hidden = {"redacted": {"confidence.technical", "confidence.technical.upstream", "grading.upstream_safety", "grading.upstream_validation"}}
    if name != "without the event":
        assert unchecked(found) <= hidden.get(name, set()) | {"result_validation.content_match_rate"}
    assert_both_find(found, draw)
    # it is not all one case
    statuses = {record["result_validation"]["status"] for record in found if record["result_validation"]}
    assert "UNAVAILABLE" in statuses and ("COMPARED" in statuses or name == "no catalog")
    assert {record["disposition"]["action"] for record in found} >= {"WITHHOLD", "VERIFY"}


def lines_of(postgres, sql):
    """Rows as PostgreSQL writes them: those of COPY, without its escapes; bytes without their \\x."""
    def text(cell):
        plain = re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), cell)
        return None if cell == r"\N" else plain.removeprefix("\\x")

    out = io.StringIO()
    with contextlib.closing(psycopg2.connect(postgres.dsn("postgres"))) as connection, connection.cursor() as cursor:
        cursor.copy_expert(f"COPY ({sql}) TO STDOUT", out)
    return [[text(cell) for cell in line.split("\t")] for line in out.getvalue().splitlines()]


ENGINES = {
    "sqlite": ("SELECT id, name, price, NULL AS none, '' AS empty, X'00FF' AS bytes, 1e100 AS large FROM items",
               "SELECT id, price FROM items WHERE id < 9 ORDER BY id"),
    "postgresql": ("SELECT n, n / 3.0 AS decimal, n / 3.0::float8 AS float, NULL AS none, '' AS empty, '\\x00ff'::bytea AS bytes, n > 3 AS flag,"
                   " date '2026-01-31' + n AS day, E'a\\tb\\\\c' AS text, ARRAY[n, 7] AS list, interval '1 day' * n AS span FROM generate_series(1, 30) n",
                   "SELECT n FROM generate_series(1, 8) n"),
}


@pytest.mark.parametrize("settings", [{}, {"max_rows": 5}, {"max_rows": 5, "large_results": "truncate"}], ids=["whole", "streamed", "truncated"])
@pytest.mark.parametrize("engine", ENGINES)
def test_digests_of_results(engine, settings, database, postgres, tmp_path):
    """Whoever has both results computes their digests, in any order; of a part there is none."""
    sql, truth = ENGINES[engine]
    if engine == "sqlite":
        with contextlib.closing(sqlite3.connect(database)) as shop:
            ours = [["00ff" if column == 5 else cell for column, cell in enumerate(row)] for row in shop.execute(
                "SELECT CAST(id AS TEXT), name, CAST(price AS TEXT), NULL, '', '', CAST(1e100 AS TEXT) FROM items ORDER BY id DESC")]
            theirs = shop.execute("SELECT CAST(id AS TEXT), CAST(price AS TEXT) FROM items WHERE id < 9").fetchall()
        target = shop_of(database, **settings)
    else:
        ours, theirs = lines_of(postgres, sql + " ORDER BY n DESC"), lines_of(postgres, truth)
        target = ({"name": "shop", "engine": "postgresql", "dsn": postgres.dsn("postgres", "postgres"), **settings},)
    assert len(ours) == 30 and len(theirs) > 5
    item = {"event_id": "e", "application": "web", "question": "q", "sql": sql, "target": "shop", "ground_truth": {"sql": truth}}
    table = {**item, "ground_truth": {"results": [{"columns": ["a", "b"], "rows": [["1", None], ["", "x"]]}]}}
    expected = [None if "large_results" in settings else recompute.result_digest(rows) for rows in (ours, theirs)]
    if settings:  # what differs in its columns is not read in full
        same = {**item, "ground_truth": {"sql": sql}}
        expected[1], item = expected[0], same
    found, told = records(tmp_path, [item, table], {"targets": target})
    runs = [found["result_validation"][name] for name in ("generated", "truth")]
    assert [run["digest"] for run in runs] == expected
    assert told["result_validation"]["truth"]["digest"] == recompute.result_digest([["1", None], ["", "x"]])
    hidden, = records(tmp_path, [item], {"targets": target, "records": {"redact_literals": True}})
    assert not any(hidden["result_validation"][name]["digest"] for name in ("generated", "truth"))


def test_rules_of_the_comparison(database, tmp_path):
    """They stand in the record where they are not the defaults."""
    item = {"event_id": "e", "application": "web", "question": "q", "sql": "SELECT price FROM items", "target": "shop",
            "ground_truth": {"sql": "SELECT price + 0.01 FROM items"}}
    wide = {"absolute_tolerance": 0.02, "performance_factor": 3.0, "performance_floor_ms": 100.0}
    record, = records(tmp_path, [item], {"targets": shop_of(database)})
    other, = records(tmp_path, [item], {"targets": shop_of(database), "result": wide})
    assert record["rules"]["result"] is None and other["rules"]["result"] == {**wide, "relative_tolerance": 1e-9}
    assert record["result_validation"]["score"] < other["result_validation"]["score"]


def test_panels(database, tmp_path):
    draw = random.Random("panel")
    with contextlib.ExitStack() as stack:
        judges = []
        for number, name in enumerate(("one", "two", "three")):
            judge = stack.enter_context(contextlib.closing(Judge()))
            judge.answer = opinion(name)
            judges.append({"name": name, **judge.settings(), "max_attempts": 1, "prompt_token_price": number * 1.5})
        found = records(tmp_path, [event(draw, number) for number in range(100)],
                        {"targets": shop_of(database), "judges": tuple(judges), "panel": {"sample_rate": 0.9}})
    assert_follow(found)
    answered = [sum(panelist["relevance"]["status"] == "ok" for panelist in record["judge"]["panel"]) for record in found]
    assert {0, 3} <= set(answered) and {1, 2} & set(answered)


def test_an_identical_answer_is_seen_whether_it_is_sampled_or_not(judge, tmp_path):
    """So it weighs 1, also where a judge sees a quarter of the events; in records of before it weighed as what is asked."""
    made = [{"event_id": f"e{number}", "application": "web", "question": "q", "sql": f"SELECT {number % 2}", "ground_truth": {"sql": "SELECT 1"}}
            for number in range(80)]
    found = records(tmp_path, made, {"judge": judge.settings(sample_rate=0.25, always_below="VERY_LOW_CONFIDENCE")})
    assert_follow(found)
    weights = {(record["judge"]["correctness"] or {}).get("status"): record["label"]["weight"] for record in found if record["label"]}
    assert weights == {"identical": 1, "ok": 4}
    assert {record["judge"]["unjudged_reason"] for record in found if record["label"] and record["label"]["weight"] == 1} == {None, "NOT_SAMPLED"}
    identical = [record for record in found if record["label"] and record["label"]["weight"] == 1]
    assert len(identical) == 40
    former = [changed(changed(record, ("rules", "formulas"), 1), ("label", "weight"), 4) for record in identical]
    assert_follow(former)
    for wrong in (changed(identical[0], ("label", "weight"), 4), changed(identical[0], ("rules", "formulas"), 1)):
        assert recompute.recompute(wrong).differ and audited([wrong])[0]
    later = changed(identical[0], ("rules", "formulas"), 3)
    assert audited([later])[1]["unchecked"]["record.program_version"] == 1


# What was measured, said or found by others: it is what the rest follows from.
GIVEN = re.compile(r"""
    input\..* | scored_at | occurred_at | provenance\..* | stages\..* | errors\..* | .*\.(offset|time_ms|cached|valid|truncated|ordering_matters)
    | (confidence\.technical|structure\.findings)\.diagnostics\..* | structure\.tables\..* | input_shortened | confidence\.features\..*
    | confidence\.retrieval\.non_finite_scores | result_validation\.(truth_index|nondeterministic|limit_cut_tie|truth_cached|one_snapshot|match_rate_.*|explanation\..*|(generated|truth)\.(code|rows|more))
    """, re.VERBOSE)


def leaves(value, path=()):
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, path + (key,))
    else:
        yield path, value


def changed(record, path, value):
    other = copy.deepcopy(record)
    item = other
    for key in path[:-1]:
        item = item[key]
    item[path[-1]] = value
    return other


def other_value(value):
    if isinstance(value, bool):
        return not value
    return value + (1e-6 if isinstance(value, float) else 1)


def test_a_changed_number_is_found(database, judge, tmp_path):
    """Every number that follows, changed by a millionth (a whole one by 1), and every flag, turned round."""
    truth = {"sql": "SELECT i.id, i.name FROM items i WHERE i.id < 25", "similarity": 0.8, "should_pass": True}
    chunks = [{"chunk_id": f"c{n}", "document_id": f"d{n % 2}", "source_type": "REGULATORY", "bm25_score": 7.0 - n * n, "dense_score": 0.9 - n / 10,
               "rrf_score": 0.02 - n / 500, "rerank_score": 0.93 - n / 7, "graph_boost": 0.1} for n in range(4)]
    judge.answer = lambda prompt: Answer(score=62, verdict="partial")
    found = records(tmp_path, [{
        "event_id": "e", "application": "web", "question": "q", "sql": "SELECT id, name FROM items WHERE id < 27", "target": "shop", "ground_truth": truth,
        "generator_confidence": 0.75, "retrieval": {"chunks": chunks}, "response": {"raw": '{"sql": 1}', "required_fields": ["sql"]},
        "candidates": [{"sql": SQL[0]}, {"sql": "SELECT id, name FROM items i WHERE i.id < 27"}, {"sql": SQL[3]}],
        "diagnostic": {"valid": True, "errors": ["bad"]}, "validator": {"safety_valid": True, "is_valid": False, "errors": ["syntax"]}}],
        {**OTHERWISE, "targets": shop_of(database), "judge": judge.settings(prompt_token_price=2.0, completion_token_price=3.0, sample_rate=0.5,
                                                                            always_below="HIGH_CONFIDENCE")})
    [record] = found
    assert_follow(found)
    assert record["result_validation"]["status"] == "COMPARED" and record["evaluation"] and record["label"] and record["grading"]
    numbers = [(path, value) for path, value in leaves(record) if isinstance(value, (bool, int, float))]
    spoilt, missed = {}, []
    for path, value in numbers:
        name = ".".join(map(str, path))
        if not GIVEN.fullmatch(name) and not name.startswith("rules."):
            spoilt[name] = changed(record, path, other_value(value))
            if not recompute.recompute(spoilt[name]).differ:
                missed.append(name)
    assert not missed
    assert len(spoilt) > 50
    differ, _ = audited(spoilt.values())
    missed = [name for line, name in enumerate(spoilt, 1) if line not in differ]
    assert not missed
    for line, name in enumerate(spoilt, 1):  # and it names the field, or one that follows from it
        assert differ[line]["event_id"] == "e" and differ[line]["differences"], name
    for name in ("confidence.level", "confidence.retrieval.level", "confidence.advisory.level", "disposition.action", "judge.decision",
                 "confidence.limiting_factor", "label.source", "grading.validation.class", "evaluation.failed_by"):
        other = changed(record, name.split("."), "MEDIUM_CONFIDENCE")
        assert recompute.recompute(other).differ, name
        assert audited([other])[0], name


def test_the_program_itself(database, tmp_path):
    found = records(tmp_path, [{"event_id": "e", "application": "web", "sql": SQL[8], "target": "shop"}], {"targets": shop_of(database)})
    program = [sys.executable, recompute.__file__]
    whole = json.dumps(found[0]) + "\n"
    done = subprocess.run(program, input=whole, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and done.stdout.startswith("1 records, ") and "0 records differ" in done.stdout
    wrong = whole.replace('"structural": 1', '"structural": 0.5')
    assert wrong != whole
    done = subprocess.run(program, input=wrong, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "structure.structural is 0.5, and 1 follows" in done.stdout


def test_what_is_no_record_and_what_is_of_another_version(database, tmp_path):
    found = records(tmp_path, [{"event_id": "e", "application": "web", "sql": SQL[8], "target": "shop"}], {"targets": shop_of(database)})
    (record,) = found
    other = changed(record, ("provenance", "program_version"), "0.9.0+abc")
    version = record["provenance"]["program_version"]
    old = {**changed(record, ("provenance", "program_version"), version.split("+")[0] + "+former"), "rules": None}
    wrong = changed(record, ("structure", "structural"), 0.25)
    differ, totals = audited([other, old, {"error": {"code": "x"}, "line": 1}, {"event_id": "e"}, wrong])
    assert totals["records"] == 3 and totals["refused"] == 1 and totals["unreadable"] == 1 and totals["differing"] == 1
    assert totals["unchecked"] == {"record.program_version": 1, "record.rules": 1, "analysis.settings": 1, "rules": 1}
    assert "unreadable" in differ[4]
    fields = {item["field"]: item for item in differ[5]["differences"]}
    assert fields["structure.structural"] == {"field": "structure.structural", "said": "0.25", "follows": "1"}
    # the program itself has never left them out
    for name in ("rules", "disposition"):
        differ, _ = audited([{**record, name: None}])
        assert [item["field"] for item in differ[1]["differences"]] == [name]
    config = tmp_path / "audit.conf"
    config.write_text(config_text({"kafka": {"group_id": "audit"}}))
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(wrong) + "\n")

    def run(*arguments):
        return subprocess.run([BINARY, "audit", "recompute", *arguments], capture_output=True, text=True, timeout=60, check=False)

    done = run(str(path), "--config", str(config))
    assert done.returncode == 65 and "e (line 1): structure.structural is 0.25, and 1 follows" in done.stdout
    assert "1 records differ" in done.stdout and "1 of 1 records differ" in done.stderr
    path.write_text(json.dumps(record) + "\n")
    done = run(str(path), "--config", str(config))
    assert done.returncode == 0 and done.stdout.startswith("1 records, ") and "; 0 records differ" in done.stdout
    path.write_text(json.dumps(other) + "\n")
    done = run(str(path), "--config", str(config))
    assert done.returncode == 65 and "of 1 records not one value could be computed again" in done.stderr
    path.write_text("")
    assert run(str(path), "--config", str(config)).returncode == 65
    assert run("/nowhere", "--config", str(config)).returncode == 66
    assert run("--config", str(config)).returncode == 64
    assert run("--topic", "-", "--config", str(config)).returncode == 64
    assert run(str(path)).returncode == 64


def timed(value, name=None):
    """With times as Apache's library wants them."""
    if isinstance(value, dict):
        return {key: timed(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [timed(item) for item in value]
    if name in ("occurred_at", "scored_at", "time"):
        return datetime.datetime.fromtimestamp(value / 1000, datetime.timezone.utc)
    return value


def container(found):
    """An Avro object container of them, as the Avro specification has it, without compression."""
    def number(value):
        value, encoded = value << 1, b""
        while value > 127:
            encoded, value = encoded + bytes([value & 127 | 128]), value >> 7
        return encoded + bytes([value])

    def counted(data):
        return number(len(data)) + data

    sync = hashlib.md5(b"sync").digest()
    messages = [wire.SCORED_QUERY.encode(timed(record)) for record in found]
    schema = (ROOT / "schemas/scored_query.avsc").read_bytes()
    head = b"Obj\x01" + number(2) + counted(b"avro.schema") + counted(schema) + counted(b"avro.codec") + counted(b"null") + number(0) + sync
    return head + number(len(found)) + counted(b"".join(message[10:] for message in messages)) + sync


def test_a_container_of_records(database, tmp_path):
    draw = random.Random("container")
    made = [{**event(draw, number), "event_id": str(uuid.UUID(int=number))} for number in range(40)]
    found = records(tmp_path, made, {"targets": shop_of(database)})
    path, config = tmp_path / "records.avro", tmp_path / "audit.conf"
    config.write_text(config_text({"kafka": {"group_id": "audit"}}))
    path.write_bytes(container(found))
    command = [BINARY, "audit", "recompute", str(path), "--json", "--config", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and json.loads(done.stdout)["records"] == len(found), done
    place = next(number for number, record in enumerate(found) if record["confidence"]["overall"] is not None)
    found[place]["confidence"]["overall"] += 1e-6
    path.write_bytes(container(found))
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    differ = [json.loads(line) for line in done.stdout.splitlines()][:-1]
    assert done.returncode == 65 and [item["line"] for item in differ] == [place + 1], done
    path.write_bytes(container(found)[:-20])
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 65 and "ends early" in done.stderr, done
