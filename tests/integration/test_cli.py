"""The command line: what a person types, and what comes back when it is wrong."""

import json
import os
import re
import sqlite3
import subprocess

import pytest

import events
from daemon import BINARY, config_text, free_port

USAGE, DATA, NO_INPUT, UNAVAILABLE, CONFIG = 64, 65, 66, 69, 78
COMMANDS = ("run", "score", "check", "calibration")


def assayd(*arguments, stdin="", timeout=60):
    return subprocess.run([BINARY, *arguments], input=stdin, capture_output=True, text=True, timeout=timeout,
                          env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"}, check=False)


def one_sentence(done):
    """What it says when it refuses: one line, for a person, on standard error alone."""
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.fixture
def config_file(tmp_path):
    """config_file(text or dict): its path."""
    def write(content):
        path = tmp_path / "assayd.conf"
        path.write_text(content if isinstance(content, str) else config_text(content))
        return str(path)

    return write


def test_help_and_version():
    for arguments in (["--help"], ["-h"]):
        done = assayd(*arguments)
        assert done.returncode == 0 and done.stderr == ""
        for command in COMMANDS:
            assert re.search(rf"\b{command}\b", done.stdout), command
    done = assayd("--version")
    assert done.returncode == 0
    assert re.fullmatch(r"assayd \d+\.\d+\.\d+\n?", done.stdout)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command):
    done = assayd(command, "--help")
    assert done.returncode == 0 and done.stderr == ""
    assert command in done.stdout


WRONG_USAGES = {
    "": "a command is missing",
    "sing": 'unknown command "sing"',
    "--loud": "a command comes before the options",
    "score --loud": "unknown option --loud",
    "score -lc x": "unknown option -l",
    "score --json=1": "--json takes no value",
    "score --config": "--config needs a value",
    "score --window 1h": "assayd score has no option --window",
    "run --config a --json": "assayd run has no option --json",
    "run --config a b": '"b" is too much',
    "check": "assayd check needs --config FILE",
    "calibration --config a --verify --rebuild": "exclude each other",
    "calibration --config a --rebuild --window 1h": "--rebuild takes the whole calibration",
}


@pytest.mark.parametrize("line", WRONG_USAGES)
def test_wrong_usage(line):
    done = assayd(*line.split())
    assert done.returncode == USAGE, done
    assert WRONG_USAGES[line] in one_sentence(done)


@pytest.mark.parametrize("command", ["run", "check", "score"])
def test_missing_file(command, tmp_path):
    done = assayd(command, "--config", str(tmp_path / "nowhere.conf"))
    assert done.returncode == NO_INPUT
    assert "nowhere.conf" in one_sentence(done)


WRONG_CONFIGURATIONS = {
    "unknown setting": ('kafka:\n{\n  group_id = "a";\n  bootstrap_server = "localhost:9092";\n};\n',
                        ["bootstrap_server", "4"]),
    "unknown group": ('kafca: { };\n', ["kafca", "1"]),
    "wrong type": ('pipeline:\n{\n  workers = "two";\n};\n', ["workers", "3"]),
    "out of range": ('pipeline:\n{\n\n  workers = 0;\n};\n', ["workers", "4"]),
    "not one of its values": ('kafka:\n{\n  wire_format = "xml";\n};\n', ["wire_format", "xml", "3"]),
    "syntax": ('kafka:\n{\n  group_id = ;\n};\n', ["3"]),
    "unfinished": ('kafka:\n{\n', ["assayd.conf"]),
    "target without name": ('targets = ( { engine = "postgresql"; dsn = "host=db"; } );\n', ["name"]),
    "two targets of one name": ('targets = ( { name = "a"; engine = "sqlite"; path = "/x"; },\n'
                                '  { name = "a"; engine = "sqlite"; path = "/y"; } );\n', ["a"]),
    "weights that do not sum to 1": ('retrieval: { weights: { top = 0.9; }; };\n', ["1"]),
}


@pytest.mark.parametrize("wrong", WRONG_CONFIGURATIONS)
@pytest.mark.parametrize("command", ["run", "check"])
def test_wrong_configuration(command, wrong, config_file):
    text, mentioned = WRONG_CONFIGURATIONS[wrong]
    done = assayd(command, "--config", config_file(text))
    assert done.returncode == CONFIG, done
    sentence = one_sentence(done)
    for word in ["assayd.conf", *mentioned]:
        assert word in sentence


def test_unreachable_servers(config_file):
    """check names each server that it cannot reach, and ends with the status for that."""
    broker, database, judge = free_port(), free_port(), free_port()
    done = assayd("check", "--config", config_file({
        "kafka": {"bootstrap_servers": f"127.0.0.1:{broker}"},
        "targets": ({"name": "shop", "engine": "postgresql", "dsn": f"host=127.0.0.1 port={database} user=a"},),
        "judge": {"provider": "openai", "base_url": f"http://127.0.0.1:{judge}/v1", "model": "m",
                  "timeout_ms": 2000, "cache_dsn": f"host=127.0.0.1 port={database} user=c"},
        "calibration": {"dsn": f"host=127.0.0.1 port={database} user=a"}}))
    assert done.returncode == UNAVAILABLE
    said = done.stdout + done.stderr
    for place in (f"127.0.0.1:{broker}", str(database), str(judge), "shop", "calibration.dsn: ", "judge.cache_dsn: "):
        assert place in said


def test_missing_password_file(config_file):
    done = assayd("check", "--config", config_file({
        "targets": ({"name": "shop", "engine": "postgresql", "dsn": "host=127.0.0.1", "password_file": "/no/such"},)}))
    assert done.returncode != 0
    assert 'password_file /no/such of target "shop"' in done.stdout + done.stderr


def test_misspelt_required_columns(config_file, tmp_path):
    """A rule whose table or column is not there is told, with what may have been meant."""
    path = str(tmp_path / "shop.db")
    sqlite3.connect(path).execute("CREATE TABLE orders (id INTEGER, tenant_id INTEGER)").connection.close()
    done = assayd("check", "--config", config_file({"targets": (
        {"name": "shop", "engine": "sqlite", "path": path, "required_columns": ("orders.tenantid", "order.id")},
        {"name": "mart", "engine": "sqlite", "path": path, "required_columns": ("main.orders.tenant_id",)})}))
    assert 'FAILED  target "shop": required_columns: "orders.tenantid": table "orders" has no column "tenantid"; ' \
           'did you mean "tenant_id"?; "order.id": there is no table "order"; did you mean "orders"?' in done.stdout
    assert 'ok      target "mart"' in done.stdout


@pytest.mark.parametrize("command", ["run", "score", "check"])
def test_missing_authorities_of_the_judge(command, kafka, topics, config_file):
    done = assayd(command, "--config", config_file({
        "kafka": topics(1).settings(kafka),
        "judge": {"provider": "openai", "base_url": "https://127.0.0.1:1/v1", "model": "m", "ca_file": "/no/such.pem"}}))
    assert done.returncode != 0
    assert "/no/such.pem (judge.ca_file)" in done.stdout + done.stderr


def plain(event):
    return events.encode_json(event).decode()


def test_score_answers_line_by_line():
    lines = [plain(events.sure("SELECT count(*) FROM t")), "not JSON", plain(events.event("DROP TABLE t")),
             '{"question": "no SQL"}', "[]", '{"sql": "SELECT 1 AS one LIMIT 1"}']
    done = assayd("score", stdin="\n".join(lines) + "\n")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(lines)
    assert answers[0]["confidence"]["technical"]["score"] == 100
    assert answers[0]["confidence"]["level"] == "HIGH_CONFIDENCE"
    assert answers[0]["event_id"] == json.loads(lines[0])["event_id"]
    assert answers[2]["safety"]["verdict"] == "UNSAFE"
    assert answers[2]["confidence"]["overall"] == 0
    assert answers[2]["confidence"]["limiting_factor"] == "safety"
    for number in (2, 4, 5):
        assert answers[number - 1]["line"] == number
        assert answers[number - 1]["error"]
    assert answers[5]["confidence"]["technical"]["score"] == 100
    assert done.returncode in (0, DATA)


def scored(event, *options):
    done = assayd("score", *options, stdin=json.dumps(event) + "\n")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def errors_of(record, metric):
    return [(error["code"], error["message"]) for error in record["errors"] if error["metric"] == metric]


@pytest.mark.parametrize("estimate", [85, 1.01, -0.5, 1e308])
def test_an_estimate_outside_its_range_raises_nothing(estimate, config_file):
    options = ("--config", config_file({"confidence": {"factors": ["technical", "generator"]}}))
    event = {"sql": "SELECT 1 AS n", "generator_confidence": 0.5}
    assert scored(event, *options)["confidence"]["overall"] == 0.5
    record = scored({**event, "generator_confidence": estimate}, *options)
    assert record["confidence"]["generator"] is None
    assert record["confidence"]["limiting_factor"] == "technical"
    [(code, message)] = errors_of(record, "generator")
    assert code == "input_out_of_range"
    assert f"generator_confidence is {estimate:g}" in message and "0..1" in message
    only = ("--config", config_file({"confidence": {"factors": ["generator"]}}))
    record = scored({**event, "generator_confidence": estimate}, *only)
    assert record["confidence"]["overall"] is None and record["confidence"]["level"] is None


def test_a_similarity_outside_its_range_gives_no_trust(config_file, tmp_path):
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as shop:
        shop.execute("CREATE TABLE t (a integer)")
    options = ("--config", config_file({"targets": ({"name": "shop", "engine": "sqlite", "path": str(path)},)}))
    for similarity, level, weight in ((0.95, "HIGH_CONFIDENCE", 1), (7, "LOW_CONFIDENCE", 0.5),
                                      (-1, "LOW_CONFIDENCE", 0.5)):
        record = scored({"sql": "SELECT a FROM t LIMIT 1", "target": "shop",
                         "ground_truth": {"sql": "SELECT a FROM t LIMIT 1", "similarity": similarity}}, *options)
        validation = record["result_validation"]
        assert (validation["score"], validation["match_confidence"], validation["weight"]) == (1, level, weight)
        codes = [code for code, message in errors_of(record, "result_validation")
                 if "ground_truth.similarity" in message]
        assert codes == ([] if similarity == 0.95 else ["input_out_of_range"])


def test_results_above_the_limit_count_only_where_they_are_proven(config_file, tmp_path):
    """25,000 rows against the first 10,000 of them, and against themselves the other way round."""
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as shop:
        shop.execute("CREATE TABLE big (n integer, v text)")
        shop.executemany("INSERT INTO big VALUES (?, ?)", ((n, f"v{n}") for n in range(1, 25001)))
    whole, part = "SELECT n, v FROM big ORDER BY n", "SELECT n, v FROM big WHERE n <= 10000 ORDER BY n"
    backwards = ("SELECT v AS name, n AS number FROM big ORDER BY n DESC", "SELECT n, v FROM big")
    expected = {  # by large_results: score, conclusive
        None: {(whole, part): (0.3, True), (part, whole): (0.3, True), (whole, whole): (1, True), backwards: (1, True)},
        "truncate": {(whole, part): (0.3, True), (part, whole): (0.3, True), (whole, whole): (1, False),
                     backwards: (0, False)}}
    for large_results, pairs in expected.items():
        target = {"name": "shop", "engine": "sqlite", "path": str(path)}
        if large_results:
            target["large_results"] = large_results
        options = ("--config", config_file({"targets": (target,)}))
        for (generated, truth), (score, conclusive) in pairs.items():
            record = scored({"sql": generated, "target": "shop", "ground_truth": {"sql": truth}}, *options)
            validation, weights = record["result_validation"], record["evaluation"]["weights"]
            assert (validation["score"], validation["conclusive"]) == (score, conclusive), (generated, truth)
            assert ("result" in weights) == conclusive, weights
            assert record["evaluation"]["degraded"] != conclusive
            assert ((record["label"] or {}).get("source") == "RESULT") == conclusive, record["label"]


def test_a_truth_that_is_not_its_own_equal_says_nothing_against_an_answer(config_file, tmp_path):
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as shop:
        shop.execute("CREATE TABLE t (a integer)")
        shop.executemany("INSERT INTO t VALUES (?)", ((n,) for n in range(100)))
    options = ("--config", config_file({"targets": ({"name": "shop", "engine": "sqlite", "path": str(path)},)}))
    for generated, truth, score, told in (("SELECT random() AS r", "SELECT random() AS r", 0, True),
                                          ("SELECT a FROM t ORDER BY a DESC LIMIT 5", "SELECT a FROM t LIMIT 5", 1, False),
                                          ("SELECT a + 7 FROM t WHERE a = 1", "SELECT a FROM t WHERE a = 1", 0, False)):
        record = scored({"sql": generated, "target": "shop", "ground_truth": {"sql": truth}}, *options)
        validation = record["result_validation"]
        assert (validation["score"], validation["nondeterministic"]) == (score, told), record
        assert validation["conclusive"] != told and ("result" in record["evaluation"]["weights"]) != told
        assert ((record["label"] or {}).get("source") == "RESULT") != told


def test_catalogs_that_cannot_be_kept_are_told_once(config_file, tmp_path):
    targets = [{"name": f"shop{number}", "engine": "sqlite", "path": str(tmp_path / f"{number}.db")}
               for number in range(3)]
    for target in targets:
        with sqlite3.connect(target["path"]) as shop:
            shop.execute("CREATE TABLE t (a integer)")
    config = config_file({"targets": tuple(targets), "pipeline": {"state_directory": str(tmp_path / "nowhere")}})
    lines = "".join(json.dumps({"sql": "SELECT a FROM t LIMIT 1", "target": target["name"]}) + "\n"
                    for target in targets)
    done = assayd("score", "--config", config, stdin=lines)
    assert [json.loads(line)["confidence"]["overall"] for line in done.stdout.splitlines()] == [1, 1, 1]
    [warning] = [line for line in done.stderr.splitlines() if "kept" in line]
    assert str(tmp_path / "nowhere") in warning and "pipeline.state_directory" in warning


def test_a_truth_that_cannot_be_parsed_is_flagged():
    event = {"sql": "SELECT 1 AS n"}
    good = scored({**event, "ground_truth": {"sql": "SELECT 1 AS n"}})
    assert good["structure"]["semantic"] == 1 and not good["evaluation"]["degraded"] and not good["errors"]
    record = scored({**event, "ground_truth": {"sql": "SELEC 1"}})
    assert (record["structure"]["semantic"], record["structure"]["table_accuracy"]) == (0, 0)
    for metric in ("semantic", "table_accuracy"):
        [(code, message)] = errors_of(record, metric)
        assert code == "sql_unparsable" and "ground_truth.sql cannot be parsed" in message
    assert record["evaluation"]["degraded"] and "semantic" not in record["evaluation"]["weights"]
    # with the tables given, they need no truth
    record = scored({**event, "ground_truth": {"sql": "SELEC 1", "tables": []}})
    assert record["structure"]["table_accuracy"] == 1 and not errors_of(record, "table_accuracy")


UNCHECKED = {
    "unknown target": ({"target": "nowhere"}, "target", "target_unknown", "nowhere"),
    "other dialect": ({"target": "shop", "dialect": "MYSQL"}, "target", "dialect_mismatch", "MySQL"),
    "no catalog": ({"target": "shop"}, "technical", "catalog_unavailable", "shop"),
}


@pytest.mark.parametrize("truth", [None, {"sql": "SELECT 1 AS n"}])
@pytest.mark.parametrize("kind", UNCHECKED)
def test_what_is_not_checked_is_not_passed_off_as_checked(kind, truth, config_file, tmp_path):
    named, metric, code, mentioned = UNCHECKED[kind]
    config = config_file({"targets": ({"name": "shop", "engine": "sqlite", "path": str(tmp_path / "none.db")},)})
    event = {"sql": "SELECT 1 AS n", "ground_truth": truth}
    assert not scored(event, "--config", config)["evaluation"]["degraded"]
    record = scored({**event, **named}, "--config", config)
    assert record["confidence"]["technical"] is None and record["safety"]["verdict"] == "UNKNOWN"
    assert record["evaluation"]["degraded"]
    [(said, message)] = errors_of(record, metric)
    assert said == code and mentioned in message


def test_score_answers_as_lines_come():
    with subprocess.Popen([BINARY, "score"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for number in range(3):
            event = events.event(f"SELECT {number} AS n LIMIT 1")
            process.stdin.write(plain(event) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["event_id"] == event["event_id"]
        process.stdin.close()
        assert process.wait(20) == 0


def test_score_keeps_the_order_of_many_lines():
    names = [events.event() for _ in range(500)]
    done = assayd("score", stdin="".join(plain(event) + "\n" for event in names))
    assert [json.loads(line)["event_id"] for line in done.stdout.splitlines()] == [
        event["event_id"] for event in names]


def test_score_of_the_last_line_without_its_end():
    event = events.event()
    done = assayd("score", stdin=plain(event))
    assert json.loads(done.stdout)["event_id"] == event["event_id"]


def test_score_of_a_huge_line():
    done = assayd("score", stdin="x" * 20_000_000 + "\n" + plain(events.event("SELECT 1 AS n LIMIT 1")) + "\n")
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert first["line"] == 1 and first["error"]
    assert second["confidence"]["technical"]["score"] == 100


# Technical confidence: 20 an error, 5 a warning, nothing left of what does not parse or names no known table.
TECHNICAL = [
    ("SELECT id, name FROM customers LIMIT 5", 100, True),
    ("SELECT id, nope FROM customers LIMIT 5", 80, True),
    ("SELECT nope, nada FROM customers LIMIT 5", 60, True),
    ("SELECT id FROM nowhere LIMIT 5", 0, True),
    ("SELEC id FROM customers", 0, False),
    ("SELECT id FROM customers", 95, True),
]


@pytest.mark.parametrize("sql, score, valid", TECHNICAL)
def test_score_with_a_catalog(sql, score, valid, tmp_path):
    catalog = tmp_path / "catalog.sql"
    catalog.write_text("CREATE TABLE customers (id integer PRIMARY KEY, name text);\n")
    done = assayd("score", "--catalog", str(catalog), stdin=json.dumps({"sql": sql}) + "\n")
    technical = json.loads(done.stdout)["confidence"]["technical"]
    assert (technical["score"], technical["valid"]) == (score, valid), technical
    for diagnostic in technical["diagnostics"]:
        assert diagnostic["code"] and diagnostic["message"]


def test_score_with_a_wrong_catalog(tmp_path):
    catalog = tmp_path / "catalog.sql"
    catalog.write_text("CREATE TABEL customers (id integer);\n")
    done = assayd("score", "--catalog", str(catalog), stdin="")
    assert done.returncode == DATA
    assert "catalog.sql" in one_sentence(done)
    assert assayd("score", "--catalog", str(tmp_path / "none.sql")).returncode == NO_INPUT


def test_score_leaves_out_what_of_a_catalog_it_cannot_read(tmp_path):
    catalog = tmp_path / "catalog.sql"
    catalog.write_text("CREATE TABLE customers (id integer);\nCREATE TABEL more (id integer);\n")
    done = assayd("score", "--catalog", str(catalog), stdin='{"sql": "SELECT count(*) FROM customers"}\n')
    assert done.returncode == 0
    assert "catalog.sql: line 2: syntax error" in done.stderr
    assert json.loads(done.stdout)["confidence"]["technical"]["score"] == 100


def test_the_catalog_of_another_dialect_makes_no_names_unknown(tmp_path):
    catalog = tmp_path / "catalog.sql"
    catalog.write_text("CREATE TABLE public.customers (id integer);\n")
    events_of = [{"sql": "SELECT count(*) FROM customers", "dialect": dialect} for dialect in ("SQLITE", "MYSQL")]
    done = assayd("score", "--catalog", str(catalog), stdin="".join(json.dumps(event) + "\n" for event in events_of))
    assert [json.loads(line)["confidence"]["technical"]["score"] for line in done.stdout.splitlines()] == [100, 100]


@pytest.mark.parametrize("dialect", ["POSTGRESQL", "SQLITE", "MYSQL"])
def test_rejections_have_the_same_cause_in_every_dialect(dialect):
    for sql, category in {"DELETE FROM t": "safety", "SELEC a FROM t": "syntax", "SELECT 1; DROP TABLE t": "syntax"}.items():
        event = {"sql": sql, "dialect": dialect, "ground_truth": {"should_pass": False}}
        record = json.loads(assayd("score", stdin=json.dumps(event) + "\n").stdout)
        assert record["grading"]["validation"]["category"] == category, sql


def test_score_runs_on_the_target_and_asks_the_judge(postgres, judge, shop_target, config_file):
    config = config_file({"targets": (shop_target,), "judge": judge.settings()})
    truth = {"sql": "SELECT c.city, count(c.id) AS n FROM customers AS c GROUP BY c.city"}
    done = assayd("score", "--config", config, stdin=plain(events.sure(target="shop", ground_truth=truth)) + "\n")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["result_validation"]["score"] == 1.0
    assert record["judge"]["decision"] == "ACCEPT_HIGH"
    assert record["evaluation"]["passed"] is True
    assert record["provenance"]["catalog_digest"]


def test_check_of_a_working_setup(kafka, topics, postgres, judge, shop_target, calibration_database, config_file):
    config = {"kafka": topics(2).settings(kafka), "targets": (shop_target,), "judge": judge.settings(),
              "calibration": {"dsn": postgres.dsn(calibration_database, "assayd")}}
    done = assayd("check", "--config", config_file(config))
    assert done.returncode == 0, done.stdout + done.stderr


def test_check_names_a_missing_topic(kafka, topics, config_file):
    settings = topics(1).settings(kafka, scored_topic="no-such-topic")
    done = assayd("check", "--config", config_file({"kafka": settings}))
    assert done.returncode == UNAVAILABLE
    assert "no-such-topic" in done.stdout + done.stderr


def test_feedback_topic_that_is_missing(kafka, topics, postgres, calibration_database, make_daemon, config_file):
    """check refuses it, the start says so and goes on, and nobody asks for it where it is not read."""
    settings = topics(1).settings(kafka, feedback_topic="no-such-feedback")
    calibration = {"dsn": postgres.dsn(calibration_database, "assayd")}
    done = assayd("check", "--config", config_file({"kafka": settings, "calibration": calibration}))
    assert done.returncode == 0 and "no-such-feedback" not in done.stdout + done.stderr
    config = {"kafka": settings, "calibration": {**calibration, "feedback_horizon_s": 3600}}
    done = assayd("check", "--config", config_file(config))
    assert done.returncode == UNAVAILABLE
    assert 'kafka.feedback_topic: topic "no-such-feedback"' in done.stdout + done.stderr
    daemon = make_daemon(config)
    daemon.start()
    assert 'kafka.feedback_topic: topic "no-such-feedback"' in daemon.log()


def test_run_without_its_topic(kafka, topics, config_file):
    settings = topics(1).settings(kafka, input_topic="no-such-topic")
    done = assayd("run", "--config", config_file({"kafka": settings}), timeout=90)
    assert done.returncode == UNAVAILABLE
    assert "no-such-topic" in done.stderr


def test_check_remarks_on_topics_that_do_not_fit_each_other(kafka, topics, config_file):
    made = topics(1, max_message_bytes=900_000)
    config = {"kafka": made.settings(kafka, max_message_bytes=500_000)}
    done = assayd("check", "--config", config_file(config))
    assert done.returncode == 0, done.stdout + done.stderr
    notes = [line.partition("note: ")[2] for line in done.stdout.splitlines() if "note: " in line]
    for kind in ("input", "scored", "advisory", "dead_letter"):
        assert f'topic "{getattr(made, kind)}" has a single replica: a lost broker loses messages' in notes
    assert any(made.input in note and "kafka.max_message_bytes is 500000" in note for note in notes), notes
    assert any(made.scored in note and "published without the event" in note for note in notes), notes
    assert not any("large dead letters are cut" in note for note in notes), notes
    assert not any("cleanup.policy" in note or "keeps records" in note for note in notes), notes


def test_check_remarks_on_topics_that_lose_records(kafka, topics, config_file):
    made = topics(1, cleanup_policy="compact", retention_ms=48 * 3600 * 1000)
    done = assayd("check", "--config", config_file({"kafka": made.settings(kafka)}))
    assert done.returncode == 0, done.stdout + done.stderr
    notes = [line.partition("note: ")[2] for line in done.stdout.splitlines() if "note: " in line]
    compacted = [note.split('"')[1] for note in notes if "cleanup.policy = compact" in note]
    assert compacted == [made.input, made.scored, made.advisory, made.dead_letter]
    assert any(f'"{made.scored}" keeps records for 48 h' in note for note in notes), notes
