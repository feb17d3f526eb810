"""Ground truths in every form, by `assayd score` on an SQLite file: what is accepted, and what is said of the rest."""

import json
import os
import sqlite3
import subprocess

import pytest

from daemon import BINARY, config_text

LIMIT = 64


@pytest.fixture
def shop(tmp_path):
    """shop(event, settings): the record of an event on a small shop."""
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE items (id integer PRIMARY KEY, name text, price real, sold_on date)")
        database.executemany("INSERT INTO items VALUES (?, ?, ?, ?)",
                             [(1, "apple", 1.5, "2024-01-01"), (2, "pear", 2.25, "2024-01-02"), (3, None, None, None)])

    def score(event, **settings):
        config = tmp_path / "assayd.conf"
        config.write_text(config_text({
            "targets": ({"name": "shop", "engine": "sqlite", "path": str(path), "max_rows": 100},), **settings}))
        line = json.dumps({"sql": "SELECT id, name FROM items", "target": "shop", **event}) + "\n"
        done = subprocess.run([BINARY, "score", "--config", str(config)], input=line, capture_output=True, text=True,
                              timeout=60, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return score


def table(rows, columns=("id", "name"), **more):
    return {"columns": list(columns), "rows": rows, **more}


RIGHT = table([["2", "pear"], ["1", "apple"], ["3", None]])
WRONG = table([["2", "plum"], ["1", "apple"], ["3", None]])


def errors_of(record, code):
    return [error["message"] for error in record["errors"] if error["code"] == code]


def test_an_answer_given_as_a_table_is_a_truth(shop):
    record = shop({"ground_truth": {"results": [RIGHT]}})
    validation = record["result_validation"]
    assert (validation["status"], validation["score"], validation["truth_index"]) == ("COMPARED", 1, 1)
    assert (validation["truth"]["rows"], validation["generated"]["rows"]) == (3, 3)
    assert record["label"]["source"] == "RESULT" and record["label"]["value"] == 1
    # what needs a truth's SQL is not there, and missing is not zero
    assert record["structure"]["semantic"] is None and record["structure"]["table_accuracy"] is None
    assert set(record["evaluation"]["weights"]) == {"structural", "result"}
    assert record["evaluation"]["passed"] and not record["evaluation"]["degraded"] and not record["errors"]
    record = shop({"ground_truth": {"results": [WRONG]}})
    assert record["result_validation"]["score"] == pytest.approx(2 / 3)


def test_tables_come_behind_the_alternatives(shop):
    truth = {"sql": "SELECT id FROM items", "alternatives": ["SELECT name FROM items"], "results": [WRONG, RIGHT]}
    record = shop({"ground_truth": truth})
    assert (record["result_validation"]["score"], record["result_validation"]["truth_index"]) == (1, 3)
    # texts are compared with the first SQL where a table fits best
    assert record["structure"]["semantic"] > 0
    truth["results"] = [WRONG, WRONG]
    assert shop({"ground_truth": truth})["result_validation"]["truth_index"] == 2


def test_an_alternative_is_a_truth_without_a_first_one(shop):
    record = shop({"ground_truth": {"alternatives": ["SELECT id FROM items", "SELECT id, name FROM items"]}})
    assert (record["result_validation"]["score"], record["result_validation"]["truth_index"]) == (1, 2)
    assert record["structure"]["semantic"] == 1


def test_order_columns_and_tolerance_of_a_truth(shop):
    in_order = table([["1", "apple"], ["2", "pear"], ["3", None]], ordered=True)
    event = {"sql": "SELECT id, name FROM items ORDER BY id DESC"}
    cases = [
        (event, {"results": [in_order]}, {}, 1 / 3),
        (event, {"results": [in_order]}, {"ignore_order": True}, 1),
        ({}, {"results": [table([["1"], ["2"], ["3"]], ["id"])]}, {}, 0.1),
        ({}, {"results": [table([["1"], ["2"], ["3"]], ["id"])]}, {"columns": ["ID"]}, 1),
        ({}, {"sql": "SELECT id, price FROM items"}, {"columns": ["id"]}, 1),
        ({"sql": "SELECT 1000.4 AS n"}, {"sql": "SELECT 1000 AS n"}, {"absolute_tolerance": 0.5}, 1),
        ({"sql": "SELECT 1000.4 AS n"}, {"sql": "SELECT 1000 AS n"}, {"absolute_tolerance": 0.1}, 0),
        ({"sql": "SELECT 1000.00004 AS n"}, {"sql": "SELECT 1000 AS n"}, {"absolute_tolerance": 0}, 0),
    ]
    for event, truth, compare, score in cases:
        record = shop({**event, "ground_truth": {**truth, "compare": compare}})
        assert record["result_validation"]["score"] == pytest.approx(score), (event, truth, compare)
        assert not record["errors"]


def test_a_column_that_no_truth_has_is_a_broken_truth(shop):
    record = shop({"ground_truth": {"results": [RIGHT], "compare": {"columns": ["total"]}}})
    assert record["result_validation"]["status"] == "GROUND_TRUTH_FAILED"
    [message] = errors_of(record, "ground_truth_failed")
    assert '"total"' in message and "ground_truth.compare.columns" in message
    assert record["label"] is None


@pytest.mark.parametrize("tolerance", [-0.5, -1e308])
def test_what_is_no_tolerance_is_told(shop, tolerance):
    record = shop({"ground_truth": {"results": [RIGHT], "compare": {"absolute_tolerance": tolerance}}})
    assert record["result_validation"]["score"] == 1
    [message] = errors_of(record, "input_out_of_range")
    assert "ground_truth.compare.absolute_tolerance" in message


def fillers(count):
    return [f"SELECT {number} AS n" for number in range(count)]


def test_the_64th_truth_counts(shop):
    sql = "SELECT id, name FROM items"
    for truth, index in (
            ({"sql": "SELECT 0", "alternatives": fillers(LIMIT - 2) + [sql]}, LIMIT - 1),
            ({"sql": "SELECT 0", "alternatives": fillers(LIMIT - 2), "results": [RIGHT]}, LIMIT - 1),
            ({"results": [WRONG] * (LIMIT - 1) + [RIGHT]}, LIMIT)):
        record = shop({"ground_truth": truth})
        assert (record["result_validation"]["score"], record["result_validation"]["truth_index"]) == (1, index)
        assert not record["errors"]


def test_more_truths_than_64_are_told(shop):
    truth = {"sql": "SELECT 0", "alternatives": fillers(40), "results": [WRONG] * 23 + [RIGHT]}
    record = shop({"ground_truth": truth})
    [message] = errors_of(record, "truth_limit")
    for part in ("65 truths", "sql 1", "alternatives 40", "results 24", "64 allowed"):
        assert part in message
    # the answer may be the one that was left out: nothing is known of it
    validation = record["result_validation"]
    assert (validation["status"], validation["conclusive"]) == ("COMPARED", False) and validation["score"] < 1
    assert record["evaluation"]["degraded"] and "result" not in record["evaluation"]["weights"]
    assert record["label"] is None
    # one that is among the first is right whatever follows
    record = shop({"ground_truth": {**truth, "sql": "SELECT id, name FROM items"}})
    assert errors_of(record, "truth_limit") and record["result_validation"]["score"] == 1
    assert record["label"]["value"] == 1


@pytest.mark.parametrize("broken, parts", [
    (table([["1", "a"], ["2"]]), ("results[1].rows[1]", "1 cells", "2 columns")),
    (table([["1", "a", "b"]]), ("results[1].rows[0]", "3 cells", "2 columns")),
    (table([[]]), ("results[1].rows[0]", "0 cells")),
    (table([], []), ("results[1]", "no columns")),
])
def test_a_ragged_table_is_one_error(shop, broken, parts):
    record = shop({"ground_truth": {"results": [WRONG, broken]}})
    [message] = errors_of(record, "truth_shape")
    for part in parts:
        assert part in message
    assert not record["result_validation"]["conclusive"] and record["label"] is None
    # the others still count
    record = shop({"ground_truth": {"results": [RIGHT, broken]}})
    assert record["result_validation"]["score"] == 1 and errors_of(record, "truth_shape")
    # alone it leaves nothing
    record = shop({"ground_truth": {"results": [broken]}})
    assert record["result_validation"]["status"] == "UNAVAILABLE" and record["evaluation"]["degraded"]
    assert [error["code"] for error in record["errors"]] == ["truth_shape"]


def test_a_table_that_is_too_large_is_told(shop):
    record = shop({"ground_truth": {"results": [table([["1", "a"]] * 101)]}})
    [message] = errors_of(record, "truth_limit")
    assert "101 rows" in message and "max_rows" in message
    assert record["result_validation"]["status"] == "UNAVAILABLE"


def test_cells_of_a_truth_are_hidden_like_literals(shop):
    record = shop({"ground_truth": {"results": [RIGHT]}}, records={"redact_literals": True})
    assert record["result_validation"]["score"] == 1
    assert record["input"]["ground_truth"]["results"][0]["rows"] == [["?", "?"], ["?", "?"], ["?", None]]
    assert "pear" not in json.dumps(record)
    whole = shop({"ground_truth": {"results": [RIGHT]}})
    assert whole["input"]["ground_truth"]["results"] == [{**RIGHT, "ordered": False}]
