"""A MariaDB target as its users meet it: events are scored on it, and `check` looks at its account."""

import json
import socket
import sqlite3
import subprocess
import threading

import pytest

import events
import recompute
from conftest import required
from daemon import config_text
from servers import Server
from test_cli import CONFIG, assayd, plain

SHOP = """
CREATE DATABASE shop CHARACTER SET utf8mb4;
USE shop;
CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, city VARCHAR(40) NOT NULL);
CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT NOT NULL, amount DECIMAL(10,2) NOT NULL,
                     placed_at TIMESTAMP NOT NULL);
SET time_zone = '+00:00';
INSERT INTO customers SELECT seq, CONCAT('Customer ', seq), ELT(seq % 3 + 1, 'Rome', 'Oslo', 'Lima') FROM seq_1_to_30;
INSERT INTO orders SELECT seq, seq % 30 + 1, seq * 1.25, '2026-01-01 00:00:00' + INTERVAL seq HOUR FROM seq_1_to_300;
CREATE USER assayd_ro IDENTIFIED BY 'a-Secret';
GRANT SELECT ON shop.* TO assayd_ro;
"""


class MariaDB(Server):
    def __init__(self):
        super().__init__("mariadb.sh")

    def execute(self, sql):
        subprocess.run(["mariadb", "--no-defaults", "--user=root", f"--socket={self.facts['socket']}"], input=sql,
                       capture_output=True, text=True, timeout=180, check=True)


@pytest.fixture(scope="module")
def mariadb():
    server = required(MariaDB)
    server.execute(SHOP)
    yield server
    server.stop()


@pytest.fixture
def maria_target(mariadb, tmp_path):
    """The `targets` entry for the shop's database."""
    secret = tmp_path / "password"
    secret.write_text("a-Secret\n")
    return {"name": "maria", "engine": "mariadb", "password_file": str(secret), "connections": 2,
            "dsn": f"socket={mariadb.facts['socket']} dbname=shop user=assayd_ro"}


@pytest.fixture
def score(tmp_path):
    """score(targets, *events): their records."""
    def run(targets, *queries):
        path = tmp_path / "assayd.conf"
        path.write_text(config_text({"targets": targets, "pipeline": {"state_directory": str(tmp_path)}}))
        done = assayd("score", "--config", str(path), stdin="".join(plain(query) + "\n" for query in queries))
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


def test_a_query_is_compared_with_its_truth(maria_target, score, tmp_path):
    truth = {"sql": "SELECT c.`city`, COUNT(c.`id`) AS n FROM `customers` AS c GROUP BY c.`city`"}
    record, = score((maria_target,), events.sure(target="maria", ground_truth=truth))
    technical = record["confidence"]["technical"]
    assert technical["valid"] and technical["score"] == 100, technical
    assert record["safety"]["verdict"] == "SAFE"
    validation = record["result_validation"]
    assert (validation["status"], validation["score"]) == ("COMPARED", 1.0), validation
    assert validation["generated"]["rows"] == validation["truth"]["rows"] == 3
    assert record["evaluation"]["passed"] is True
    assert record["provenance"]["catalog_digest"]
    assert (tmp_path / "catalog-maria.mariadb").exists()


TRUTH = "SELECT id FROM customers WHERE city = 'Rome'"

JUDGED = {
    "another city": ("SELECT id FROM customers WHERE city = 'Oslo'", "COMPARED", 0.0, None),
    "fewer rows": ("SELECT id FROM customers WHERE city = 'Rome' AND id > 3", "COMPARED", 0.3, None),
    "an unknown column": ("SELECT idd FROM customers", "EXECUTION_FAILED", 0.0, "42S22"),
    "a write": ("DELETE FROM customers", "UNSAFE", 0.0, None),
    "a second statement": ("SELECT id FROM customers; DROP TABLE customers", "UNSAFE", 0.0, None),
    "an executable comment": ("SELECT id FROM customers /*! INTO OUTFILE '/tmp/x' */", "UNSAFE", 0.0, None),
    "a way around the time limit": ("SET STATEMENT max_statement_time = 0 FOR SELECT SLEEP(9)", "UNSAFE", 0.0, None),
}


def test_queries_get_what_they_deserve(maria_target, score):
    records = score((maria_target,), *(events.event(sql, target="maria", ground_truth={"sql": TRUTH})
                                       for sql, *_ in JUDGED.values()))
    for (what, (_, status, expected, sqlstate)), record in zip(JUDGED.items(), records, strict=True):
        validation = record["result_validation"]
        assert (validation["status"], validation["score"]) == (status, expected), (what, record)
        assert validation["generated"]["sqlstate"] == sqlstate, what


EVERYWHERE = ["SELECT city, count(*) AS n FROM customers GROUP BY city ORDER BY city",
              "SELECT sum(amount) AS total, avg(amount) AS mean FROM orders",
              "SELECT id, amount, placed_at FROM orders WHERE id < 5 ORDER BY id"]


def sqlite_copy(path):
    with sqlite3.connect(path) as database:
        database.executescript(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);"
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, amount DECIMAL NOT NULL,"
            " placed_at TIMESTAMP NOT NULL);"
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) INSERT INTO customers"
            " SELECT i, 'Customer ' || i, CASE i % 3 WHEN 0 THEN 'Rome' WHEN 1 THEN 'Oslo' ELSE 'Lima' END FROM n;"
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) INSERT INTO orders"
            " SELECT i, i % 30 + 1, i * 1.25, datetime('2026-01-01', i || ' hours') FROM n")
    return {"name": "lite", "engine": "sqlite", "path": str(path)}


def test_digests_are_of_the_documented_texts(maria_target, score):
    record, = score((maria_target,), events.event(
        "SELECT 1, 18446744073709551615, 2.50, 1.5e0, CAST(0.1 AS FLOAT), NULL, '', 'Größe', DATE '2026-01-31', TIMESTAMP '2026-01-31 10:00:00',"
        " TIME '-01:02:03.5', X'00ff', b'101' UNION ALL SELECT 2, 0, 0.00, 1e100, CAST(3 AS FLOAT), 'x', 'y', 'z', NULL, NULL, NULL, NULL, NULL", target="maria",
        ground_truth={"sql": "SELECT 1"}))
    generated, truth = record["result_validation"]["generated"], record["result_validation"]["truth"]
    assert truth["digest"] == recompute.result_digest([["1"]])
    assert generated["digest"] == recompute.result_digest([
        ["1", "18446744073709551615", "2.50", "1.5", "0.1", None, "", "Größe", "2026-01-31", "2026-01-31 10:00:00", "-01:02:03.500000", "00ff", "05"],
        ["2", "0", "0.00", "1e+100", "3", "x", "y", "z", None, None, None, None, None]])


def test_targets_of_all_kinds_say_the_same(maria_target, shop_target, score, tmp_path):
    """The same queries over the same data: nobody's record tells the engines apart but by its digests and times."""
    targets = (maria_target, shop_target, sqlite_copy(tmp_path / "shop.db"))
    names = [target["name"] for target in targets]
    records = score(targets, *(events.event(sql, target=name, ground_truth={"sql": sql})
                               for sql in EVERYWHERE for name in names))
    for at, sql in enumerate(EVERYWHERE):
        seen = []
        for record in records[at * len(names):(at + 1) * len(names)]:
            validation = record["result_validation"]
            for run in (validation["generated"], validation["truth"]):
                del run["time_ms"], run["digest"]  # the latter is of the texts that an engine writes
            validation.pop("truth_cached", None)
            seen.append((record["confidence"]["technical"]["score"], record["safety"]["verdict"], validation))
        assert seen[0] == seen[1] == seen[2], sql
        assert seen[0][2]["score"] == 1.0


NO_ORDER = "ground_truth.sql has a LIMIT inside without an ORDER BY that decides which rows it takes"
TIE = "ground_truth.sql has a LIMIT inside that cuts through rows that tie by its ORDER BY"

OPEN = {  # truth, answer: why the difference proves nothing
    ("SELECT sum(id) AS n FROM (SELECT id FROM orders LIMIT 10) s", "SELECT 7 AS n"): NO_ORDER,
    ("SELECT name FROM customers WHERE id = (SELECT customer_id FROM orders LIMIT 1)",
     "SELECT name FROM customers WHERE id = 9"): NO_ORDER,
    ("WITH w AS (SELECT id FROM customers LIMIT 3) SELECT count(*) AS n FROM orders JOIN w ON w.id = customer_id",
     "SELECT 7 AS n"): NO_ORDER,
    ("SELECT id, (SELECT o.id FROM orders o WHERE o.customer_id = c.id LIMIT 1) AS n FROM customers c",
     "SELECT id, -1 AS n FROM customers"): NO_ORDER,
    ("SELECT name FROM customers WHERE id = (SELECT id FROM customers ORDER BY city LIMIT 1)", "SELECT 'Nobody' AS name"): TIE,
    ("SELECT sum(id) AS n FROM (SELECT id FROM orders WHERE id < 3 LIMIT 10) s", "SELECT 7 AS n"): None,
    ("SELECT name FROM customers WHERE id = (SELECT id FROM customers ORDER BY id DESC LIMIT 1)", "SELECT 'Nobody' AS name"): None,
    ("SELECT city, 1 AS n FROM customers WHERE city = (SELECT city FROM customers ORDER BY city LIMIT 1)",
     "SELECT city, 2 AS n FROM customers WHERE city = 'Lima'"): None,
}


def test_a_limit_inside_that_is_open_gives_no_label(maria_target, shop_target, score, tmp_path):
    targets = (maria_target, shop_target, sqlite_copy(tmp_path / "shop.db"))
    asked = [(truth, answer, why, target["name"]) for (truth, answer), why in OPEN.items() for target in targets]
    records = score(targets, *(events.event(answer, target=name, ground_truth={"sql": truth})
                               for truth, answer, _, name in asked))
    same = score(targets, *(events.event(truth, target=name, ground_truth={"sql": truth}) for truth, _, _, name in asked))
    for (truth, _, why, name), record, own in zip(asked, records, same, strict=True):
        validation = record["result_validation"]
        assert validation["status"] == "COMPARED" and validation["score"] < 1, (name, truth, record)
        assert (validation["conclusive"], validation["nondeterministic"]) == (why is None, why is not None), (name, truth, record)
        assert validation["explanation"]["message"] == why
        assert (record["label"] is None) == (why is not None), (name, truth)
        assert ("result" in record["evaluation"]["weights"]) == (why is None)
        reasons = {reason["code"]: reason["text"] for reason in record["disposition"]["reasons"]}
        if why:
            assert reasons["result_inconclusive"].startswith(f"the comparison with the truth proves nothing, for {why}: ")
        else:
            assert "result_wrong" in reasons
        assert own["result_validation"]["score"] == 1 and own["label"]["correct"], (name, truth)


def test_check_looks_at_the_accounts(mariadb, maria_target, tmp_path):
    mariadb.execute("CREATE USER careless; GRANT SELECT, FILE ON *.* TO careless")
    dsn = maria_target["dsn"]
    path = tmp_path / "check.conf"
    path.write_text(config_text({"kafka": {"bootstrap_servers": "127.0.0.1:1"}, "targets": (
        maria_target, {"name": "open", "engine": "mariadb", "dsn": dsn.replace("assayd_ro", "careless")})}))
    lines = assayd("check", "--config", str(path)).stdout.splitlines()
    fine, open_ = (next(at for at, line in enumerate(lines) if f'target "{name}"' in line) for name in ("maria", "open"))
    assert lines[fine:open_] == ['ok      target "maria"'], lines
    assert lines[open_ + 1] == ('warning target "open": the account "careless@%" has more than SELECT, namely FILE on *.*: use '
                                'one that may only read'), lines
    path.write_text(config_text({"targets": ({**maria_target, "name": "odd", "dsn": dsn + " sll=on"},)}))
    lines = assayd("check", "--config", str(path)).stdout.splitlines()
    assert any(line.startswith("error") and "targets[0].dsn" in line and "sll" in line for line in lines), lines


def test_check_compares_connections_with_the_limits_of_account_and_server(mariadb, maria_target, tmp_path):
    mariadb.execute("CREATE USER narrow WITH MAX_USER_CONNECTIONS 4; GRANT SELECT ON shop.* TO narrow")
    narrow = {**maria_target, "password_file": None, "dsn": maria_target["dsn"].replace("assayd_ro", "narrow")}
    path = tmp_path / "check.conf"
    path.write_text(config_text({"kafka": {"bootstrap_servers": "127.0.0.1:1"}, "targets": (
        {**narrow, "name": "fits", "connections": 3}, {**narrow, "name": "narrow", "connections": 4},
        {**maria_target, "name": "wide", "connections": 20})}))
    said = assayd("check", "--config", str(path)).stdout.splitlines()
    lines = [line for line in said if "connections = " in line]
    assert [line.partition(", of all")[0] for line in lines] == [
        'warning target "narrow": connections = 4, one more for cancelling, and the account has 4 (MAX_USER_CONNECTIONS)',
        'warning target "wide": connections = 20, one more for cancelling, and the server has 20 (max_connections)'], said


def test_a_password_in_the_connection_string_is_refused(maria_target, tmp_path):
    path = tmp_path / "run.conf"
    path.write_text(config_text({"targets": ({**maria_target, "dsn": "user=a password=b"},)}))
    done = assayd("score", "--config", str(path))
    assert done.returncode == CONFIG and "password" in done.stderr


class Thief(threading.Thread):
    """A MariaDB that lets everybody in and answers the first query by asking for a file of the client's."""

    GREETING = (b"\x0a5.5.5-10.11.6-MariaDB\0" + b"\1\0\0\0" + b"12345678\0" + b"\xfe\xff\x2d\x02\0\xff\x81\x15"
                + b"\0" * 10 + b"123456789012\0" + b"mysql_native_password\0")
    WELCOME = b"\0\0\0\x02\0\0\0"

    def __init__(self, path):
        super().__init__(daemon=True)
        self._path, self._listener = path, socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.got = []

    @staticmethod
    def _send(connection, number, payload):
        connection.sendall(len(payload).to_bytes(3, "little") + bytes([number]) + payload)

    @staticmethod
    def _receive(stream):
        head = stream.read(4)
        return stream.read(int.from_bytes(head[:3], "little")) if len(head) == 4 else b""

    def run(self):
        while True:
            connection, _ = self._listener.accept()
            with connection, connection.makefile("rb") as stream:
                self._send(connection, 0, self.GREETING)
                self._receive(stream)
                self._send(connection, 2, self.WELCOME)
                self.got.append(self._receive(stream))
                self._send(connection, 1, b"\xfb" + self._path.encode())
                self.got.append(stream.read())


def test_no_file_is_given_to_a_server_that_asks(score, tmp_path):
    treasure = tmp_path / "treasure"
    treasure.write_text("a-Treasure\n" * 100)
    thief = Thief(str(treasure))
    thief.start()
    target = {"name": "thief", "engine": "mariadb", "dsn": f"host=127.0.0.1 port={thief.port} user=a"}
    record, = score((target,), events.event("SELECT 1 AS n LIMIT 1", target="thief", ground_truth={"sql": "SELECT 1"}))
    assert record["confidence"]["technical"] is None and record["safety"]["verdict"] == "UNKNOWN"  # there is no catalog
    assert b"SELECT @@GLOBAL.sql_mode" in thief.got[0], thief.got
    assert not any(b"Treasure" in got for got in thief.got), thief.got
