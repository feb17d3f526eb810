"""Ground truths in every form, by `assayd score` on an SQLite file: what is accepted, and what is said of the rest."""

import json
import os
import sqlite3
import subprocess

import pytest

from daemon import BINARY, config_text

LIMIT = 64


def on_terminal(command, line):
    """What a person sees, who has typed the line."""
    primary, secondary = os.openpty()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=secondary, text=True) as process:
        os.close(secondary)
        process.stdin.write(line)
        process.stdin.close()
        seen = b""
        try:
            while piece := os.read(primary, 65536):
                seen += piece
        except OSError:
            pass  # the other end is closed
        assert process.wait(20) == 0
    os.close(primary)
    return seen.decode()


@pytest.fixture
def shop(tmp_path):
    """shop(event, settings): the record of an event on a small shop."""
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE items (id integer PRIMARY KEY, name text, price real, sold_on date)")
        database.executemany("INSERT INTO items VALUES (?, ?, ?, ?)",
                             [(1, "apple", 1.5, "2024-01-01"), (2, "pear", 2.25, "2024-01-02"), (3, None, None, None)])

    def score(event, people=False, **settings):
        config = tmp_path / "assayd.conf"
        config.write_text(config_text({
            "targets": ({"name": "shop", "engine": "sqlite", "path": str(path), "max_rows": 100},), **settings}))
        line = json.dumps({"sql": "SELECT id, name FROM items", "target": "shop", **event}) + "\n"
        if people:
            return on_terminal([BINARY, "score", "--config", str(config)], line)
        done = subprocess.run([BINARY, "score", "--config", str(config)], input=line, capture_output=True, text=True,
                              timeout=180, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}, check=False)
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
    assert record["result_validation"]["status"] == "UNAVAILABLE" and record["evaluation"] is None
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


def explained(shop, sql, truth, **settings):
    record = shop({"sql": sql, "ground_truth": truth}, **settings)
    return record["result_validation"]["explanation"]


def test_a_match_needs_no_explanation(shop):
    assert explained(shop, "SELECT id, name FROM items", {"results": [RIGHT]}) is None


def test_rows_that_differ_are_shown(shop):
    why = explained(shop, "SELECT name AS label, id FROM items", {"results": [WRONG]})
    assert why["summary"] == "2 of 3 rows match the truth's"
    assert (why["truth_columns"], why["generated_columns"]) == (2, 2)
    assert why["columns_paired"] == [{"truth": "id", "generated": "id"}, {"truth": "name", "generated": "label"}]
    assert why["rows_missing"] == [["2", "plum"]] and why["rows_extra"] == [["2", "pear"]]
    assert why["columns_missing"] == why["columns_extra"] == [] and not why["other_order"] and not why["shortened"]


def test_rows_are_as_many_as_configured(shop):
    truth = {"sql": "SELECT -id AS n FROM items"}
    for rows in (0, 1, 3, 10):
        why = explained(shop, "SELECT id AS n FROM items", truth, records={"sample_rows": rows})
        assert len(why["rows_missing"]) == len(why["rows_extra"]) == min(rows, 3)
    assert len(explained(shop, "SELECT id AS n FROM items", truth)["rows_extra"]) == 3


def test_columns_and_counts_that_differ_are_named(shop):
    why = explained(shop, "SELECT id, name, price FROM items", {"sql": "SELECT id, sold_on FROM items"})
    assert why["summary"] == "returned 3 columns, the truth has 2; missing: sold_on; not in the truth: name, price"
    assert (why["columns_missing"], why["columns_extra"]) == (["sold_on"], ["name", "price"])
    why = explained(shop, "SELECT id FROM items WHERE id < 3", {"sql": "SELECT id FROM items"})
    assert why["summary"] == "returned 2 rows, the truth has 3; 2 match"
    assert (why["rows_missing"], why["rows_extra"]) == ([["3"]], [])


def test_an_order_that_differs_is_said(shop):
    why = explained(shop, "SELECT id FROM items ORDER BY id DESC", {"sql": "SELECT id FROM items ORDER BY id"})
    assert why["other_order"] and why["summary"] == "the 3 rows of the truth, in another order"


def test_what_the_database_says_is_passed_on(shop):
    event = {"ground_truth": {"sql": "SELECT nowhere FROM items"}}
    why = shop(event)["result_validation"]["explanation"]
    assert why["error"] == "ground_truth_failed" and why["message"] == "no such column: nowhere"
    assert why["summary"] == "the ground truth failed: no such column: nowhere"
    record = shop({"sql": "SELECT abs(-9223372036854775808) AS n", "ground_truth": {"sql": "SELECT 1"}})
    why = record["result_validation"]["explanation"]
    assert record["result_validation"]["status"] == "EXECUTION_FAILED"
    assert record["result_validation"]["generated"]["code"] == 1
    assert why["error"] is None and why["message"] == "integer overflow"
    assert why["summary"] == "the query failed: integer overflow"


def test_the_cause_of_an_unavailable_target_is_in_the_record(tmp_path, shop):
    targets = ({"name": "shop", "engine": "sqlite", "path": str(tmp_path / "gone.db")},)
    record = shop({"ground_truth": {"sql": "SELECT 1"}}, targets=targets)
    assert record["result_validation"]["status"] == "UNAVAILABLE"
    why = record["result_validation"]["explanation"]
    assert why["error"] == "catalog_unavailable" and why["message"] in why["summary"]
    assert record["evaluation"]["degraded"] and not record["evaluation"]["passed"]


@pytest.mark.parametrize("sql, status", [("SELEKT", "INVALID"), ("", "INVALID"), ("DELETE FROM items", "UNSAFE")])
def test_what_was_not_run_has_no_explanation(shop, sql, status):
    validation = shop({"sql": sql, "ground_truth": {"sql": "SELECT 1"}})["result_validation"]
    assert (validation["status"], validation["explanation"]) == (status, None)


def test_explanations_hide_literals(shop):
    hidden = {"records": {"redact_literals": True}}
    why = explained(shop, "SELECT id, 'secret-a' FROM items", {"sql": "SELECT id, 'secret-b' FROM items"}, **hidden)
    assert why["rows_missing"][0] == ["?", "?"] and "secret" not in json.dumps(why)
    why = explained(shop, "SELECT id, 'x', 'secret-c' FROM items", {"sql": "SELECT id, 'y' FROM items"}, **hidden)
    assert "secret" not in json.dumps(why) and why["columns_extra"] and "x" not in why["columns_extra"]
    why = explained(shop, "SELECT id, '" + "secret" * 20 + "' FROM items", {"sql": "SELECT id FROM items"}, **hidden)
    assert "secret" not in json.dumps(why)


def test_a_person_sees_why(shop):
    seen = shop({"ground_truth": {"results": [WRONG]}}, people=True)
    assert "2 of 3 rows match the truth's" in seen
    seen = shop({"ground_truth": {"results": [table([["1"]], ["a\u001b[31m\nb"])]}}, people=True)
    assert "missing: a [31m b" in seen and "\x1b" not in seen


def test_what_the_role_may_not_read_is_no_verdict(postgres, shop_target, tmp_path):
    postgres.execute("CREATE TABLE vault (id integer)", "shop")
    config = tmp_path / "assayd.conf"
    config.write_text(config_text({"targets": (shop_target,)}))
    for sql, truth in (("SELECT id FROM vault LIMIT 1", "SELECT id + 0 AS id FROM vault LIMIT 1"),
                       ("SELECT city FROM customers LIMIT 1", "SELECT id FROM vault LIMIT 1")):
        line = json.dumps({"sql": sql, "target": "shop", "ground_truth": {"sql": truth}}) + "\n"
        done = subprocess.run([BINARY, "score", "--config", str(config)], input=line, capture_output=True, text=True,
                              timeout=180, check=False)
        record = json.loads(done.stdout)
        validation = record["result_validation"]
        assert (validation["status"], validation["explanation"]["error"]) == ("UNAVAILABLE", "target_denied")
        assert validation["explanation"]["message"] == "permission denied for table vault"
        assert validation["explanation"]["summary"].endswith("permission denied for table vault (42501)")
        assert errors_of(record, "target_denied") and record["label"] is None
        assert record["evaluation"]["degraded"] and not record["evaluation"]["passed"]


@pytest.mark.parametrize("truth", [
    "DELETE FROM items", "SELECT id, name FROM items; DROP TABLE items", "SELECT load_extension('x') FROM items",
    "SELEC id FROM items", "SELECT hex(randomblob(900000000)) FROM items"])
def test_a_truth_runs_only_when_it_is_a_read(shop, truth):
    """It comes with the event, like the query does."""
    record = shop({"ground_truth": {"sql": truth}})
    assert record["result_validation"]["status"] == "GROUND_TRUTH_FAILED"
    assert record["label"] is None and (record["evaluation"] or {"degraded": True})["degraded"]
    [error] = [error for error in record["errors"] if error["metric"] == "result_validation"]
    assert error["code"] == "ground_truth_failed" and "ground_truth.sql is not run" in error["message"]
    assert shop({})["safety"]["verdict"] == "SAFE"  # the table is still there

    # Beside one that may run it is left out: who fits that one is right, who does not is not proven wrong.
    right = shop({"ground_truth": {"sql": truth, "alternatives": ["SELECT id, name FROM items ORDER BY id"]}})
    assert right["result_validation"]["score"] == 1.0 and right["result_validation"]["truth_index"] == 1
    assert right["label"]["correct"]
    wrong = shop({"ground_truth": {"sql": truth, "alternatives": ["SELECT id, name FROM items WHERE id = 1"]}})
    assert wrong["result_validation"]["conclusive"] is False and wrong["label"] is None


@pytest.mark.parametrize("truth, place", [
    ({"sql": "SELECT nosuch FROM items", "alternatives": ["SELECT 1 AS id"]}, "ground_truth.sql"),
    ({"sql": "SELECT 1 AS id", "alternatives": ["SELECT nosuch FROM items"]}, "ground_truth.alternatives[0]"),
    ({"sql": "SELECT nosuch FROM items", "results": [table([["1"]], ["id"])]}, "ground_truth.sql")])
def test_a_truth_that_fails_beside_others_is_told(shop, truth, place):
    """It may be what the answer was meant to match."""
    record = shop({"sql": "SELECT id FROM items", "ground_truth": truth})
    [message] = errors_of(record, "ground_truth_failed")
    assert message.startswith(place + " does not run") and "no such column: nosuch" in message
    validation = record["result_validation"]
    assert (validation["status"], validation["conclusive"], validation["score"]) == ("COMPARED", False, 0.3)
    assert record["label"] is None


def test_who_matches_another_truth_than_the_broken_one_is_right(shop):
    record = shop({"ground_truth": {"sql": "SELECT nosuch FROM items", "results": [RIGHT]}})
    assert record["result_validation"]["conclusive"] and record["label"]["correct"]
    assert len(errors_of(record, "ground_truth_failed")) == 1


def test_each_of_several_broken_truths_is_told(shop):
    truth = {"sql": "SELECT one FROM items", "alternatives": ["SELECT two FROM items"]}
    record = shop({"ground_truth": truth})
    assert record["result_validation"]["status"] == "GROUND_TRUTH_FAILED"
    first, second = errors_of(record, "ground_truth_failed")
    assert "ground_truth.sql" in first and "no such column: one" in first
    assert "alternative" in second and "no such column: two" in second
    # boundedly
    truth["alternatives"] = ["SELECT n{} FROM items".format(i) for i in range(20)]
    messages = errors_of(shop({"ground_truth": truth}), "ground_truth_failed")
    assert len(messages) == 6 and messages[5].endswith("(and 15 more do not run)")


def test_rows_that_tie_beyond_those_fetched_are_no_verdict(shop):
    """What the answer returned may be among them, and the sort key is not in the output."""
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i FROM n "
    truth = {"sql": many + "ORDER BY i / 500 LIMIT 5"}
    beyond = shop({"sql": many + "ORDER BY i / 500, i DESC LIMIT 5", "ground_truth": truth})
    assert beyond["result_validation"]["conclusive"] is False and beyond["label"] is None
    # ties that were all seen leave no doubt
    truth = {"sql": many + "ORDER BY i / 50 LIMIT 5"}
    within = shop({"sql": many + "ORDER BY i / 50, i DESC LIMIT 5", "ground_truth": truth})
    assert within["result_validation"]["score"] == 1 and within["label"]["correct"]
    wrong = shop({"sql": many + "ORDER BY i DESC LIMIT 5", "ground_truth": truth})
    assert wrong["result_validation"]["conclusive"] and not wrong["label"]["correct"]


@pytest.mark.parametrize("sql, truth", [
    ("SELECT ('SECRETX' || city)::int AS n FROM customers", {"sql": "SELECT 1 AS n"}),
    ("SELECT 1 AS n", {"sql": "SELECT ('SECRETX' || city)::int AS n FROM customers"}),
    ("SELECT 1 AS n", {"sql": "SELECT ('SECRETX' || city)::int AS n FROM customers", "results": [table([["2"]], ["n"])]}),
])
def test_values_in_messages_of_the_server_are_hidden(shop_target, tmp_path, sql, truth):
    config = tmp_path / "assayd.conf"
    for hidden in (False, True):
        config.write_text(config_text({"targets": (shop_target,), "records": {"redact_literals": hidden}}))
        line = json.dumps({"sql": sql, "target": "shop", "ground_truth": truth}) + "\n"
        done = subprocess.run([BINARY, "score", "--config", str(config)], input=line, capture_output=True, text=True,
                              timeout=180, check=False)
        assert "invalid input syntax for type integer" in done.stdout
        assert ("SECRETX" in done.stdout) is not hidden


MANY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT {} FROM n"


@pytest.mark.parametrize("rows, column, truth, summary", [
    (250, "i", 249, "returned 250 rows, the truth has 249; about 249 match"),
    (249, "i", 250, "returned 249 rows, the truth has 250; about 249 match"),
    (250, "i", 1, "returned more than 100 rows, the truth has 1"),
    (1, "i", 250, "returned 1 rows, the truth has more than 100"),
    (250, "nullif(i, 7) AS i", 250, "about 249 of 250 rows match the truth's"),
    (100, "nullif(i, 7) AS i", 100, "99 of 100 rows match the truth's")])
def test_what_was_not_counted_is_not_told_as_a_count(shop, rows, column, truth, summary):
    """100 rows are fetched; larger results are read in full where they have to be, and compared by a sample."""
    why = explained(shop, MANY.format(rows, column), {"sql": MANY.format(truth, "i")})
    assert why["summary"] == summary


def test_of_rows_that_were_not_fetched_nothing_is_said(tmp_path, shop):
    targets = ({"name": "shop", "engine": "sqlite", "path": str(tmp_path / "shop.db"), "max_rows": 100,
                "large_results": "truncate"},)
    why = explained(shop, MANY.format(250, "nullif(i, 7) AS i"), {"sql": MANY.format(250, "i")}, targets=targets)
    assert why["summary"] == "99 of the first 100 rows match the truth's"
