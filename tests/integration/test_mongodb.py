"""A MongoDB target, and the server that stands for one here."""

import datetime
import json
import pathlib
import socket
import ssl
import subprocess
import sys
import threading

import bson
import pymongo
import pytest

import certificates
import events
import recompute
import servers
import wire
from daemon import BINARY, config_text
from openmetrics import await_metrics
from test_audit import await_archived, send
from test_cli import CONFIG, assayd, plain

OWNER = """
import sys
sys.path.insert(0, {folder!r})
import servers
server = servers.MongoDB()
print(server.dir, server.pid, server.port, flush=True)
sys.stdin.read()
"""


def test_the_server_reads_and_writes(mongodb):
    client = mongodb.connect()
    client.trial.people.insert_many([{"_id": 1, "name": "Ann"}, {"_id": 2, "name": "Bo"}])
    assert client.trial.people.find_one({"name": "Bo"}) == {"_id": 2, "name": "Bo"}
    for last in ({"$out": "copied"}, {"$merge": {"into": "merged"}}):
        client.trial.people.aggregate([{"$match": {"_id": 1}}, last])
    assert client.trial.copied.count_documents({}) == client.trial.merged.count_documents({}) == 1
    client.drop_database("trial")
    client.close()


def test_the_server_goes_with_its_owner(mongodb):
    """Whose end nobody announces."""
    owner = subprocess.Popen([sys.executable, "-c", OWNER.format(folder=str(servers.HERE))], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    with owner:
        folder, pid, port = owner.stdout.readline().split()
        assert pathlib.Path(folder).exists() and pathlib.Path(f"/proc/{pid}/exe").exists()
        owner.kill()
        owner.wait()
    subprocess.run(["tail", f"--pid={pid}", "-f", "/dev/null"], timeout=60, check=True)
    with pytest.raises(pymongo.errors.ServerSelectionTimeoutError):
        pymongo.MongoClient("127.0.0.1", int(port), serverSelectionTimeoutMS=300).trial.people.find_one()


@pytest.fixture(scope="module")
def shop(mongodb):
    """The database that queries run on."""
    client = mongodb.connect()
    client.shop.customers.insert_many([{"_id": i, "name": f"Customer {i}", "city": ("Rome", "Oslo", "Lima")[i % 3],
                                        "since": datetime.datetime(2024, 1, i), "tags": ["new", "old"][:i % 3]}
                                       for i in range(1, 31)])
    client.shop.orders.insert_many([{"_id": bson.ObjectId(f"{i:024x}"), "customer": i % 30 + 1, "amount": bson.Decimal128(f"{i}.50"),
                                     "items": [{"sku": f"s{i % 7}", "count": i % 4}]} for i in range(1, 301)])
    yield client.shop
    client.drop_database("shop")
    client.close()


@pytest.fixture
def mongo_target(mongodb, shop):
    """The `targets` entry for the shop's database."""
    return {"name": "mongo", "engine": "mongodb", "dsn": f"{mongodb.uri}/{shop.name}", "connections": 2}


@pytest.fixture
def score(mongo_target, tmp_path):
    """score(*events): their records."""
    def run(*queries, **settings):
        path = tmp_path / "assayd.conf"
        path.write_text(config_text({"targets": (mongo_target,), "pipeline": {"state_directory": str(tmp_path)}, **settings}))
        done = assayd("score", "--config", str(path), stdin="".join(plain(query) + "\n" for query in queries))
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


def asked(sql, truth, **more):
    return events.event(sql, target="mongo", ground_truth={"sql": truth}, **more)


def test_a_query_is_compared_with_its_truth(score, tmp_path):
    record, = score(events.sure(target="mongo", sql="db.customers.aggregate([{$group: {_id: '$city', n: {$sum: 1}}}, {$sort: {_id: 1}}])",
                                ground_truth={"sql": "db.customers.aggregate([{$sortByCount: '$city'}, {$sort: {_id: 1}}])"}))
    technical = record["confidence"]["technical"]
    assert technical["valid"] and technical["score"] == 100, technical
    assert record["safety"]["verdict"] == "SAFE"
    validation = record["result_validation"]
    assert (validation["status"], validation["score"]) == ("COMPARED", 1.0), validation
    assert validation["generated"]["rows"] == validation["truth"]["rows"] == 3
    assert validation["one_snapshot"] is False  # this server has none
    assert record["evaluation"]["passed"] is True and record["structure"]["tables"] == ["customers"]
    assert record["provenance"]["catalog_digest"] and record["provenance"]["catalog_sampled"] is True
    assert (tmp_path / "catalog-mongo.mongodb").exists()


TRUTH = "db.customers.find({city: 'Rome'}, {_id: 1})"

JUDGED = {
    "another form": ("db.customers.aggregate([{$match: {city: {$eq: 'Rome'}}}, {$project: {_id: 1}}])", "COMPARED", 1.0, None),
    "a command document": ('{"find": "customers", "filter": {"city": "Rome"}, "projection": {"_id": 1}}', "COMPARED", 1.0, None),
    "another city": ("db.customers.find({city: 'Oslo'}, {_id: 1})", "COMPARED", 0.0, None),
    "fewer rows": ("db.customers.find({city: 'Rome', _id: {$gt: 3}}, {_id: 1})", "COMPARED", 0.3, None),
    "no rows": ("db.customers.find({city: 'Rom'}, {_id: 1})", "COMPARED", 0.3, None),
    "more fields": ("db.customers.find({city: 'Rome'})", "COMPARED", 0.1, None),
    "what the server refuses": ("db.customers.aggregate([{$project: {a: {$divide: ['$_id', 0]}}}])", "EXECUTION_FAILED", 0.0, None),
    "a write": ("db.customers.deleteMany({})", "UNSAFE", 0.0, "not_a_read"),
    "a second statement": ("db.customers.find(); db.customers.drop()", "UNSAFE", 0.0, "multiple_statements"),
    "a stage that writes": ("db.customers.aggregate([{$match: {}}, {$out: 'stolen'}])", "UNSAFE", 0.0, "select_into"),
    "one within another": ("db.orders.aggregate([{$lookup: {from: 'customers', pipeline: [{$merge: 'stolen'}], as: 'c'}}])",
                           "UNSAFE", 0.0, "select_into"),
    "JavaScript": ("db.customers.find({$where: 'sleep(10000)'})", "UNSAFE", 0.0, "dangerous_function"),
}


def test_queries_get_what_they_deserve(score, shop):
    before = sorted(shop.list_collection_names())
    records = score(*(asked(sql, TRUTH) for sql, *_ in JUDGED.values()))
    for (what, (_, status, expected, violation)), record in zip(JUDGED.items(), records, strict=True):
        validation = record["result_validation"]
        assert (validation["status"], validation["score"]) == (status, expected), (what, record)
        if violation:
            assert violation in [item["code"] for item in record["safety"]["violations"]], (what, record)
            assert record["disposition"]["action"] == "WITHHOLD" and record["evaluation"]["passed"] is False, what
    assert sorted(shop.list_collection_names()) == before


def test_names_are_those_of_the_sample(score):
    unknown, field, date = score(asked("db.customer.find({city: 'Rome'}, {_id: 1}).limit(3)", TRUTH),
                                 asked("db.orders.find({'items.skuu': 's1'}, {_id: 1}).limit(3)", TRUTH),
                                 asked("db.customers.find({since: {$gt: '2024-01-05'}}, {_id: 1}).limit(3)", TRUTH))
    said = [[(item["code"], item["severity"]) for item in record["confidence"]["technical"]["diagnostics"]]
            for record in (unknown, field, date)]
    assert said == [[("unknown_table", "ERROR")], [("unknown_field", "WARNING")], [("type_mismatch", "WARNING")]], said
    assert unknown["confidence"]["technical"]["score"] == 0
    assert "customers" in unknown["confidence"]["technical"]["diagnostics"][0]["message"]
    assert "items.sku" in field["confidence"]["technical"]["diagnostics"][0]["message"]


def test_digests_are_of_the_documented_texts(score, shop):
    shop.kinds.insert_one({"_id": 1, "a": 2.5, "b": bson.Int64(2**62), "c": bson.Decimal128("0.10"), "d": None, "e": "", "f": "Größe",
                           "g": datetime.datetime(2026, 1, 31, 10), "h": b"\0\xff", "i": True, "j": [1, {"x": None}],
                           "k": bson.ObjectId("0123456789abcdef01234567"), "l": bson.Regex("x", "i"), "m": 1e100})
    record, = score(asked("db.kinds.find()", "db.kinds.find({}, {_id: 1})"))
    shop.kinds.drop()
    generated, truth = record["result_validation"]["generated"], record["result_validation"]["truth"]
    assert truth["digest"] == recompute.result_digest([["1"]])
    assert generated["digest"] == recompute.result_digest([
        ["1", "2.5", "4611686018427387904", "0.10", None, "", "Größe", "2026-01-31T10:00:00.000Z", "00ff", "true", '[1,{"x":null}]',
         "0123456789abcdef01234567", "/x/i", "1e+100"]])


def test_check_looks_at_the_target(mongo_target, tmp_path):
    path = tmp_path / "check.conf"
    path.write_text(config_text({"kafka": {"bootstrap_servers": "127.0.0.1:1"}, "targets": (
        mongo_target, {**mongo_target, "name": "away", "dsn": "mongodb://127.0.0.1:1/shop"})}))
    lines = assayd("check", "--config", str(path)).stdout.splitlines()
    fine, away = (next(at for at, line in enumerate(lines) if f'target "{name}"' in line) for name in ("mongo", "away"))
    assert lines[fine] == 'ok      target "mongo"' and lines[away].startswith('error   target "away"'), lines
    assert [line.partition(": ")[2].partition(" (")[0].partition(",")[0] for line in lines[fine + 1:away]] == [
        "the server has no snapshots", "the dsn names no user"], lines
    for dsn, said in (("mongodb://h/d?tsl=true", '"tls"'), ("mongodb://u:hunter2@h/d", "password_file"), ("mongodb://h", "names no database")):
        path.write_text(config_text({"targets": ({**mongo_target, "dsn": dsn},)}))
        done = assayd("check", "--offline", "--config", str(path))
        line, = (line for line in done.stdout.splitlines() if "targets[0].dsn" in line)
        assert line.startswith("error") and said in line and "hunter2" not in done.stdout, done.stdout
        assert assayd("score", "--config", str(path)).returncode == CONFIG


def test_candidates_agree_by_their_results(score):
    record, = score(asked("db.customers.countDocuments({city: 'Rome'})", TRUTH, candidates=[
        {"sql": "db.customers.aggregate([{$match: {city: 'Rome'}}, {$count: 'n'}])"},
        {"sql": "db.customers.find({city: 'Rome'}).count()"},
        {"sql": "db.customers.countDocuments({city: {$in: ['Oslo', 'Lima']}})"}]), agreement={"execute": True})
    agreement = record["confidence"]["agreement"]
    assert agreement["texts"] == 4 and agreement["results"] == 0.75, agreement


def test_records_of_the_daemon_follow_from_what_is_archived(rig, mongo_target):
    """From Kafka to Kafka, counted, archived, and computed again by both programs."""
    rig.start(targets=(mongo_target,))
    await_metrics(rig.daemon, lambda metrics: metrics.value("assayd_target_up", target="mongo") == 1)
    records = send(rig, [events.sure(target="mongo", sql=sql, ground_truth={"sql": TRUTH}) for sql, *_ in JUDGED.values()])
    await_archived(rig, records)
    records = json.loads(json.dumps(records, default=lambda time: round(time.timestamp() * 1000)))
    statuses = {record["input"]["sql"]: record["result_validation"]["status"] for record in records}
    assert statuses == {sql: status for sql, status, *_ in JUDGED.values()}
    assert not [difference for record in records for difference in recompute.recompute(record).differ]
    done = subprocess.run([BINARY, "audit", "recompute", "-", "--analyse", "--json", "--config", rig.daemon.config_file], capture_output=True, text=True,
                          input="".join(json.dumps(record) + "\n" for record in records), timeout=120, check=False)
    assert done.returncode == 0, done
    totals = json.loads(done.stdout.splitlines()[-1])
    assert totals["records"] == len(records) and not [name for name in totals["unchecked"] if name.startswith("analysis")], totals


def test_a_server_that_is_away_is_one_outage(rig):
    """Its events are scored without it; one advisory tells for all of them."""
    rig.start(targets=({"name": "mongo", "engine": "mongodb", "dsn": "mongodb://127.0.0.1:1/shop", "connections": 1},))
    records = send(rig, [events.sure(target="mongo", sql=TRUTH, ground_truth={"sql": TRUTH}) for _ in range(4)])
    assert {record["safety"]["verdict"] for record in records} == {"UNKNOWN"}
    assert {record["disposition"]["action"] for record in records} <= {"VERIFY", "WITHHOLD"}
    advisories = [wire.ADVISORY.decode(message.value()) for message in rig.kafka.read(rig.topics.advisory, 1, settle=1)]
    kinds = [kind for advisory in advisories for kind in advisory["kinds"]]
    assert kinds.count("TARGET_UNAVAILABLE") == 1, kinds


class Terminator(threading.Thread):
    """TLS in front of the server, which wants a certificate of the client's."""

    def __init__(self, folder, port):
        super().__init__(daemon=True)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(folder / "server.pem")
        self._context.load_verify_locations(folder / "ca.pem")
        self._context.verify_mode = ssl.CERT_REQUIRED
        self._behind, self._listener = port, socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.start()

    @staticmethod
    def _copy(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        target.close()

    def run(self):
        while True:
            plain, _ = self._listener.accept()
            try:
                client = self._context.wrap_socket(plain, server_side=True)
            except OSError:
                continue
            server = socket.create_connection(("127.0.0.1", self._behind))
            for pair in ((client, server), (server, client)):
                threading.Thread(target=self._copy, args=pair, daemon=True).start()


def test_servers_and_clients_are_known_by_their_certificates(mongodb, shop, tmp_path):
    folder = certificates.make(tmp_path)
    certificates.together(folder, "client")
    port, path = Terminator(folder, mongodb.port).port, tmp_path / "tls.conf"
    trusted, client = f"tlsCAFile={folder}/ca.pem", f"tlsCertificateKeyFile={folder}/client.pem"
    cases = {"known": ("localhost", f"{trusted}&{client}", None), "other-authority": ("localhost", f"tlsCAFile={folder}/other_ca.pem&{client}", "tlsCAFile"),
             "other-host": ("127.0.0.1", f"{trusted}&{client}", "; "), "no-certificate": ("localhost", trusted, "; "),
             "no-file": ("localhost", f"tlsCAFile={folder}/none.pem&{client}", "none.pem")}
    path.write_text(config_text({"kafka": {"bootstrap_servers": "127.0.0.1:1"}, "targets": tuple(
        {"name": name, "engine": "mongodb", "dsn": f"mongodb://{host}:{port}/{shop.name}?tls=true&{options}", "connections": 1}
        for name, (host, options, _) in cases.items())}))
    lines = assayd("check", "--config", str(path)).stdout.splitlines()
    for name, (_, _, said) in cases.items():
        line = next(line for line in lines if f'target "{name}"' in line)
        assert line.startswith("error" if said else "ok") and (not said or said in line), lines
