"""What records name by digest is in the archive, as it was, whoever was away meanwhile."""

import collections
import contextlib
import copy
import functools
import hashlib
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import time
import zlib

import psycopg2
import pytest

import events
import recompute
from daemon import BINARY, config_text
from judge_server import Answer, Judge
from openmetrics import Metrics, await_metrics
from test_recompute import changed, leaves, other_value

TRUTH = {"sql": "SELECT c.city, count(c.id) AS n FROM customers AS c GROUP BY c.city"}
WRONG = "SELECT city, 0 AS customers FROM customers GROUP BY city"


def audit(config_file, *arguments, stdin=None):
    return subprocess.run([BINARY, "audit", *arguments, "--config", config_file], capture_output=True, input=stdin, timeout=300,
                          check=False)


def show(daemon, name):
    done = audit(daemon.config_file, "show", name)
    assert done.returncode == 0, done
    return done.stdout


def digests(records):
    """(kind, digest or number) of all that they name."""
    named = set()
    for record in records:
        provenance, probability = record["provenance"], record["confidence"]["probability"]
        named.add(("config", provenance["config_digest"]))
        prompts = [provenance["prompt_digest"], *(panelist["prompt_digest"] for panelist in record["judge"]["panel"])]
        named |= {("prompts", digest) for text in prompts if text for digest in text.split(" ")}
        if provenance["catalog_digest"]:
            named.add(("catalog", provenance["catalog_digest"]))
        if probability:
            named.add(("model", f"model:{probability['model']}"))
    return named


def rows(rig):
    with contextlib.suppress(psycopg2.errors.UndefinedTable):
        return rig.postgres.execute("SELECT kind, digest, version FROM audit_archive", rig.calibration_database)
    return []


def await_archived(rig, records, timeout=120):
    named, deadline = digests(records), time.monotonic() + timeout
    while True:
        found = {(kind, f"model:{version}" if version else digest) for kind, digest, version in rows(rig)}
        if named <= found:
            return named
        assert time.monotonic() < deadline, (named - found, rig.daemon.log_tail())
        time.sleep(0.5)


def assert_shown(daemon, named):
    """All of them by themselves, and but for catalogs the digest is that of the text."""
    for kind, name in named:
        text = show(daemon, name)
        if kind in ("config", "prompts"):
            assert hashlib.sha256(text).hexdigest() == name
            assert show(daemon, name[:20].upper()) == text
        elif kind == "catalog":
            assert b"customers" in text
        else:
            assert text.startswith(b"{") and b'"labels"' in text


def send(rig, made):
    rig.send([events.message(event) for event in made])
    rig.asked = getattr(rig, "asked", 0) + len(made)
    found = {record["event_id"]: record for _, record in rig.scored(rig.asked)}
    return [found[event["event_id"]] for event in made]


def labelled(count):
    return [events.event(events.CITY_COUNT if number % 2 else WRONG, target="shop", ground_truth=TRUTH,
                         generator_confidence=0.95 if number % 2 else 0.3, question=f"How many live in {number}?")
            for number in range(count)]


def unchecked(names):
    """As `audit recompute` counts them: those that there are."""
    return {name: count if isinstance(count, int) else len(count) for name, count in names.items() if count}


# What was measured, said or found by others, or is their text.
GIVEN = re.compile(r"""
    scored_at | provenance\.(topic|partition|offset|catalog_age_s|program_version|config_digest|prompt_digest|catalog_digest)
    | stages\.\d+\.duration_us | stages\.\d+\.status | stages\.\d+\.name | errors\.\d+\.(message|time|sql) | safety\.(doubt|violations\.\d+\.detail)
    | (confidence\.technical|structure\.findings)\.diagnostics\.\d+\.message | judge\.(provider|model) | confidence\.features\.agreement_lead
    | result_validation\.(explanation\..*|truth_index|truncated|nondeterministic|conclusive|limit_cut_tie|truth_cached|one_snapshot|ordering_matters|(generated|truth)\.(time_ms|digest|code|sqlstate))
    | rules\.formulas | confidence\.probability\.(judgement|model) | judge\..*\.(reason|cached) | confidence\.retrieval\.non_finite_scores
    """, re.VERBOSE)


def assert_changes_are_found(daemon, records):
    """Every number by a millionth (a whole one by 1), every flag, every name: what is not found is an input."""
    spoilt = []
    for record in records:
        plain = json.loads(json.dumps(record, default=lambda time: round(time.timestamp() * 1000)))
        for path, value in leaves(plain):
            if path[0] != "input" and value is not None:
                other = value + "x" if isinstance(value, str) else other_value(value)
                spoilt.append((".".join(map(str, path)), changed(plain, path, other)))
    lines = b"\n".join(json.dumps(record).encode() for _, record in spoilt)
    done = audit(daemon.config_file, "recompute", "-", "--json", "--analyse", stdin=lines)
    found = {json.loads(line)["line"] for line in done.stdout.splitlines()[:-1]}
    missed = collections.Counter(re.sub(r"\.\d+", ".N", name) for line, (name, _) in enumerate(spoilt, 1)
                                 if line not in found and not GIVEN.fullmatch(name))
    print(f"{len(spoilt)} changes of {len(records)} records: {len(found)} found")
    assert not missed, missed
    assert len(found) > len(spoilt) / 2


def test_all_that_records_name_is_archived(rig, tmp_path):
    """With a judge, a target and a model; after other settings and other prompts; in one copy, though two instances went by it."""
    config = rig.config(calibration={"model": "features", "model_interval_s": 10, "model_reasons": 3}, confidence={"factors": ("generator",)},
                        judge={"sample_rate": 0.0, "always_below": "VERY_LOW_CONFIDENCE"})
    daemon = rig.make(config).start()
    records = send(rig, labelled(200))
    deadline = time.monotonic() + 180
    while not records[-1]["confidence"]["probability"]:
        assert time.monotonic() < deadline, daemon.log_tail()
        time.sleep(1)
        records += send(rig, labelled(2))
    # other prompts, other settings
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    for path in (pathlib.Path(__file__).resolve().parents[2] / "conf/prompts").glob("*.txt"):
        (prompts / path.name).write_text(path.read_text() + "\nBe strict.\n")
    daemon.config["judge"] = {**daemon.config["judge"], "prompt_directory": str(prompts)}
    daemon.config["evaluation"] = {"pass_score": 0.6}
    daemon.write_config()
    daemon.signal(1)
    daemon.await_log("the configuration was loaded again")
    records += send(rig, labelled(2))
    named = await_archived(rig, records)
    assert {kind for kind, _ in named} == {"config", "prompts", "catalog", "model"}
    assert sum(kind == "config" for kind, _ in named) == 2 and sum(kind == "prompts" for kind, _ in named) == 2
    assert_shown(daemon, named)
    config_digest = records[-1]["provenance"]["config_digest"]
    assert re.search(rb"\nevaluation.pass_score=0\.(6|59999)", show(daemon, config_digest))
    assert Metrics(daemon).value("assayd_archive_stored") == len(rows(rig))
    assert Metrics(daemon).value("assayd_archive_lost") == 0 and Metrics(daemon).value("assayd_archive_waiting") == 0
    # every record of the topic follows from itself and the archive, whatever its features are
    records += send(rig, [events.sure(sql, target="shop", candidates=[{"sql": other} for other in candidates])
                          for sql in (events.CITY_COUNT, events.TOTAL, "SELEKT", "SELECT * FROM customers, orders", "SELECT nme FROM customers",
                                      "SELECT name FROM costumers WHERE name = 3", "DELETE FROM orders", f"```sql\n{events.TOTAL}\n```",
                                      "SELECT upperr(name) FROM customers WHERE id = NULL")
                          for candidates in ([], [events.TOTAL, events.CITY_COUNT, WRONG])])
    featured = [record for record in records if record["confidence"]["features"]]
    led = [record for record in featured if record["confidence"]["agreement"]]
    assert len(featured) > 15 and len(led) > 3
    done = audit(daemon.config_file, "recompute", "--topic", "--json")
    assert done.returncode == 0, done
    totals = json.loads(done.stdout)
    assert totals["records"] == rig.asked
    assert totals["unchecked"] == unchecked({"confidence.features": featured, "confidence.features.agreement_lead": led}), totals
    models = {int(name.removeprefix("model:")): json.loads(show(daemon, name)) for kind, name in digests(records) if kind == "model"}
    others = [recompute.recompute(record, models) for record in records]
    assert not [(record["event_id"], found.differ) for record, found in zip(records, others) if found.differ]
    assert not set().union(*(found.unchecked for found in others))
    # and so does the SQL, analysed again by what the archive has; other settings may have said otherwise
    done = audit(daemon.config_file, "recompute", "--topic", "--json", "--analyse")
    assert done.returncode == 0, done.stdout[:3000]
    with_others = sum(record["provenance"]["config_digest"] != config_digest for record in records)
    assert json.loads(done.stdout)["unchecked"] == unchecked({
        "analysis.settings": with_others,
        "confidence.features": [record for record in featured if record["provenance"]["config_digest"] != config_digest],
        "confidence.features.agreement_lead": [record for record in led if record["provenance"]["config_digest"] != config_digest
                                               or record["confidence"]["agreement"]["results"] is not None]})
    assert_changes_are_found(daemon, [spoil for spoil in records if spoil["provenance"]["config_digest"] == config_digest][-27::3] +
                             [next(record for record in reversed(records) if record["confidence"]["probability"])])
    lines = []
    for field in (("safety", "verdict"), ("structure", "tables"), ("confidence", "technical", "diagnostics"), ("confidence", "agreement", "canonical")):
        other = copy.deepcopy(next(record for record in reversed(records) if record["confidence"]["agreement"] and record["structure"]["tables"]))
        inner = functools.reduce(lambda item, key: item[key], field[:-1], other)
        inner[field[-1]] = {"verdict": "UNKNOWN", "tables": ["nowhere"], "diagnostics": [], "canonical": 0.5}[field[-1]]
        lines.append(json.dumps(other, default=lambda time: round(time.timestamp() * 1000)).encode())
    done = audit(daemon.config_file, "recompute", "-", "--json", "--analyse", stdin=b"\n".join(lines))
    found = [{item["field"] for item in json.loads(line)["differences"]} for line in done.stdout.splitlines()[:-1]]
    assert "safety.verdict" in found[0] and "structure.tables" in found[1] and "confidence.agreement.canonical" in found[-1], found
    spoilt = next(record for record in reversed(records) if record["confidence"]["probability"])
    for field, value in (("value", 1e-6), ("low", -1e-6), ("high", 1e-6)):
        other = copy.deepcopy(spoilt)
        other["confidence"]["probability"][field] += value
        line = json.dumps(other, default=lambda time: round(time.timestamp() * 1000)).encode()
        done = audit(daemon.config_file, "recompute", "-", "--json", stdin=line)
        assert done.returncode == 65, done
        assert f"confidence.probability.{field}" in {item["field"] for item in json.loads(done.stdout.splitlines()[0])["differences"]}
    other = copy.deepcopy(spoilt)
    other["confidence"]["features"]["technical"] = 0.123
    done = audit(daemon.config_file, "recompute", "-", stdin=json.dumps(other, default=lambda time: round(time.timestamp() * 1000)).encode())
    assert done.returncode == 65 and b"confidence.features.technical is 0.123, and " in done.stdout, done
    before = sorted(rows(rig))
    rig.postgres.execute("DELETE FROM audit_archive WHERE digest = %s", rig.calibration_database, arguments=(config_digest,))
    rig.postgres.execute("UPDATE audit_archive SET version = version + 1000 WHERE kind = 'model'", rig.calibration_database)
    done = audit(daemon.config_file, "recompute", "--topic", "--json")
    assert done.returncode == 0, done
    with_model = sum(bool(record["confidence"]["probability"]) for record in records)
    with_config = sum(record["provenance"]["config_digest"] == config_digest for record in records)
    left = json.loads(done.stdout)["unchecked"]
    assert (left["confidence.probability"], left["provenance.config_digest"]) == (with_model, with_config)
    assert daemon.terminate() == 0
    daemon.start()
    send(rig, labelled(2))
    await_metrics(daemon, lambda metrics: metrics.value("assayd_archive_waiting") == 0)
    assert [row for row in sorted(rows(rig)) if row[0] != "model"] == [row for row in before if row[0] != "model"]


def test_a_changed_bit_of_the_archive_is_found(rig):
    """By the check of all of it, and by whoever computes records again that name it."""
    rig.start()
    records = send(rig, [events.sure(target="shop")])
    named = await_archived(rig, records)
    lines = json.dumps(records[0], default=lambda time: round(time.timestamp() * 1000)).encode()

    def execute(sql, *arguments):
        return rig.postgres.execute(sql, rig.calibration_database, arguments=arguments)

    def checked():
        done = audit(rig.daemon.config_file, "show", "check")
        return done.returncode, done.stdout.decode()

    def computed():
        return audit(rig.daemon.config_file, "recompute", "-", stdin=lines).returncode

    assert {kind for kind, _ in named} == {"config", "prompts", "catalog"}
    assert checked() == (0, "3 contents, 0 damaged\n") and computed() == 0
    for kind, digest in sorted(named):
        before, = execute("SELECT content, sha256, size_bytes, form FROM audit_archive WHERE kind = %s", kind)
        content, sha256 = bytes(before[0]), bytes(before[1])
        last = bytes([content[-1] ^ 1])
        changes = {"content": content[:-1] + last, "sha256": bytes([sha256[0] ^ 128]) + sha256[1:], "size_bytes": before[2] + 1}
        if kind == "catalog":
            changes["form"] = "sqlite" if before[3] == "postgresql" else "postgresql"
        for column, value in changes.items():
            execute(f"UPDATE audit_archive SET {column} = %s WHERE kind = %s", value, kind)
            code, said = checked()
            assert code == 65 and f"{digest} {kind}" in said and said.endswith("3 contents, 1 damaged\n"), (kind, column, said)
            assert computed() == 65, (kind, column)
            execute("UPDATE audit_archive SET content = %s, sha256 = %s, size_bytes = %s, form = %s WHERE kind = %s", *before, kind)
        # its own bytes with a sum that fits: the digest tells
        other = zlib.compress(zlib.decompress(content) + b"\n#")
        execute("UPDATE audit_archive SET content = %s, sha256 = %s, size_bytes = size_bytes + 2 WHERE kind = %s", other, hashlib.sha256(other).digest(), kind)
        assert checked()[0] == 65 and computed() == 65, kind
        execute("UPDATE audit_archive SET content = %s, sha256 = %s, size_bytes = %s, form = %s WHERE kind = %s", *before, kind)
        renamed = digest[:-1] + ("0" if digest[-1] != "0" else "1")
        execute("UPDATE audit_archive SET digest = %s WHERE kind = %s", renamed, kind)
        assert checked()[0] == 65
        execute("UPDATE audit_archive SET digest = %s WHERE kind = %s", digest, kind)
    for kind, other in (("config", "prompts"), ("prompts", "config")):
        execute("UPDATE audit_archive SET kind = %s WHERE kind = %s", other, kind)
        assert checked()[0] == 65
        execute("UPDATE audit_archive SET kind = %s WHERE kind = %s AND digest = %s", kind, other, dict(named)[kind])
    assert checked() == (0, "3 contents, 0 damaged\n")
    execute("DELETE FROM audit_archive WHERE kind = 'catalog'")
    done = audit(rig.daemon.config_file, "recompute", "-", "--json", stdin=lines)
    assert done.returncode == 0 and json.loads(done.stdout)["unchecked"] == {"provenance.catalog_digest": 1}, done
    assert checked() == (0, "2 contents, 0 damaged\n")


def test_a_panel_and_secrets(rig, tmp_path):
    """Prompts of every judge; no secret, nor the name of a file with one."""
    key = tmp_path / "the-key-file"
    key.write_text("sk-very-secret")
    judges = [Judge(), Judge()]
    try:
        prompts = tmp_path / "prompts"
        prompts.mkdir()
        for path in (pathlib.Path(__file__).resolve().parents[2] / "conf/prompts").glob("*.txt"):
            (prompts / path.name).write_text(path.read_text() + "\nBe kind.\n")
        for judge in judges:
            judge.answer = lambda prompt: Answer(score=62)
        rig.start(judge=None, judges=({"name": "one", **judges[0].settings(api_key_file=str(key))},
                                      {"name": "two", **judges[1].settings(prompt_directory=str(prompts))}))
        named = await_archived(rig, send(rig, [events.sure(target="shop")]))
        assert sum(kind == "prompts" for kind, _ in named) == 2
        assert_shown(rig.daemon, named)
        for _, name in named:
            assert b"sk-very-secret" not in show(rig.daemon, name) and b"the-key-file" not in show(rig.daemon, name)
    finally:
        for judge in judges:
            judge.close()


def test_postgresql_is_away_and_back(rig):
    """Scoring goes on, and what records name meanwhile is archived when it is back."""
    database = rig.calibration_database
    rig.postgres.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS false')
    try:
        rig.start()
        records = send(rig, [events.sure(target="shop")])
        await_metrics(rig.daemon, lambda metrics: metrics.value("assayd_archive_failures") > 1)
        metrics = Metrics(rig.daemon)
        assert metrics.value("assayd_archive_database_up") == 0 and metrics.value("assayd_archive_waiting") >= 3
        rig.daemon.config["evaluation"] = {"pass_score": 0.65}
        rig.daemon.write_config()
        rig.daemon.signal(1)
        rig.daemon.await_log("the configuration was loaded again")
        records += send(rig, [events.sure(target="shop")])
        assert "cannot be archived now" in rig.daemon.log()
    finally:
        rig.postgres.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS true')
    named = await_archived(rig, records)
    assert sum(kind == "config" for kind, _ in named) == 2
    assert_shown(rig.daemon, named)
    await_metrics(rig.daemon, lambda metrics: metrics.value("assayd_archive_database_up") == 1)


@pytest.mark.parametrize("way", ["stop", "kill"])
def test_what_was_not_archived_waits_for_the_next_start(rig, way):
    """However the daemon ends while PostgreSQL is away, the next one archives what was named, also under other settings."""
    database = rig.calibration_database
    rig.postgres.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS false')
    try:
        rig.start()
        records = send(rig, [events.sure(target="shop")])
        waiting = pathlib.Path(rig.daemon.state)
        deadline = time.monotonic() + 30
        while sum(not file.suffix for file in waiting.glob("archive-*")) < len(digests(records)):  # .new: it is being written
            assert time.monotonic() < deadline, list(waiting.iterdir())
            time.sleep(0.05)
        if way == "kill":
            rig.daemon.kill()
        else:
            assert rig.daemon.terminate() == 0
            assert "contents that records name wait in" in rig.daemon.log()
    finally:
        rig.postgres.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS true')
    rig.daemon.config["evaluation"] = {"pass_score": 0.65}
    rig.daemon.start()
    await_archived(rig, records)
    assert not list(waiting.glob("archive-*"))


def test_what_is_lost_is_told(rig, make_daemon):
    """Without a state directory, a stop while PostgreSQL is away names what is lost."""
    database = rig.calibration_database
    rig.postgres.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS false')
    try:
        rig.daemon = make_daemon(rig.config(), STATE_DIRECTORY="").start()
        (record,) = send(rig, [events.sure(target="shop")])
        assert rig.daemon.terminate() == 0
    finally:
        rig.postgres.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS true')
    for kind, digest in digests([record]):
        assert f"the {kind} {digest}, which records name, is not archived" in rig.daemon.log()
    rig.daemon.start()
    await_archived(rig, send(rig, [events.sure(target="shop")]))


def test_damage_is_found(rig):
    """One bit anywhere: nothing is printed."""
    rig.start()
    named = await_archived(rig, send(rig, [events.sure(target="shop")]))
    flip = "UPDATE audit_archive SET content = set_bit(content, {0}, 1 - get_bit(content, {0})) WHERE digest = %s"
    for kind, digest in named:
        ((bits,),) = rig.postgres.execute("SELECT 8 * octet_length(content) FROM audit_archive WHERE digest = %s",
                                          rig.calibration_database, arguments=(digest,))
        for bit in (0, 9, bits // 2, bits - 1):
            rig.postgres.execute(flip.format(bit), rig.calibration_database, arguments=(digest,))
            done = audit(rig.daemon.config_file, "show", digest)
            assert done.returncode == 65 and b"is damaged" in done.stderr and not done.stdout, (kind, bit, done)
            rig.postgres.execute(flip.format(bit), rig.calibration_database, arguments=(digest,))
    assert_shown(rig.daemon, named)
    # another catalog in its place, with all sums right
    (catalog,) = (digest for kind, digest in named if kind == "catalog")
    rig.postgres.execute("UPDATE audit_archive a SET content = b.content, sha256 = b.sha256, size_bytes = b.size_bytes FROM audit_archive b "
                         "WHERE a.kind = 'catalog' AND b.kind = 'config'", rig.calibration_database)
    done = audit(rig.daemon.config_file, "show", catalog)
    assert done.returncode == 65 and b"is not what its digest is of" in done.stderr and not done.stdout, done


def test_names(rig, tmp_path):
    """The beginning of a digest, several, none; a database of its own; nothing configured."""
    rig.start()
    named = await_archived(rig, send(rig, [events.sure(target="shop")]))
    config_file = rig.daemon.config_file
    listed = audit(config_file, "show", "list")
    assert listed.returncode == 0 and {line.split()[0].decode() for line in listed.stdout.splitlines()} == {name for _, name in named}
    first = min(name for _, name in named)
    rig.postgres.execute("INSERT INTO audit_archive (digest, kind, size_bytes, sha256, content, program_version) SELECT left(digest, 63) || "
                         "translate(right(digest, 1), '0123456789abcdef', '123456789abcdef0'), 'config', 0, sha256, content, '1' "
                         "FROM audit_archive WHERE digest = %s", rig.calibration_database, arguments=(first,))
    several = audit(config_file, "show", first[:63])
    assert several.returncode == 65 and len(several.stdout.splitlines()) == 2 and b"write more digits" in several.stderr
    assert audit(config_file, "show", first).returncode == 0
    none = audit(config_file, "show", "0" * 40)
    assert none.returncode == 66 and b"the archive has nothing whose digest begins" in none.stderr
    for wrong in ("xyz", "", "0" * 65, "model:", "model:0", "model:7x"):
        assert audit(config_file, "show", wrong).returncode == 64, wrong
    assert audit(config_file, "show", "model:77").returncode == 66
    nothing = tmp_path / "nothing.conf"
    nothing.write_text(config_text({"kafka": {"group_id": "x"}}))
    done = audit(str(nothing), "show", "list")
    assert done.returncode == 78 and b"write audit.dsn" in done.stderr
    checked = subprocess.run([BINARY, "check", "--config", config_file], capture_output=True, text=True, timeout=120, check=False)
    assert re.search("ok +archive", checked.stdout), checked.stdout


def test_a_database_of_its_own_and_none(rig, tmp_path):
    name = f"audit_{os.urandom(4).hex()}"
    rig.postgres.execute(f"CREATE DATABASE {name} OWNER assayd")
    with sqlite3.connect(tmp_path / "lite.db") as lite:
        lite.execute("CREATE TABLE customers (id integer PRIMARY KEY, city text)")
    targets = (*rig.config()["targets"], {"name": "lite", "engine": "sqlite", "path": str(tmp_path / "lite.db")})
    rig.start(audit={"dsn": rig.postgres.dsn(name, "assayd"), "retention_days": 30}, targets=targets)
    lite, record = send(rig, [events.sure(target="lite"), events.sure(target="shop")])
    await_metrics(rig.daemon, lambda metrics: metrics.value("assayd_archive_waiting") == 0)
    assert b"CREATE TABLE customers" in show(rig.daemon, lite["provenance"]["catalog_digest"])
    assert_shown(rig.daemon, digests([lite]))
    named = digests([record])
    await_metrics(rig.daemon, lambda metrics: metrics.value("assayd_archive_stored") >= len(named))
    assert_shown(rig.daemon, named)
    assert not rig.postgres.execute("SELECT 1 FROM pg_tables WHERE tablename = 'audit_archive'", rig.calibration_database)
    # only what is old and unused is deleted: at the next start, since that looks first
    rig.postgres.execute("UPDATE audit_archive SET last_used = now() - interval '33 days' WHERE kind IN ('config', 'catalog')", name)
    old = rig.postgres.execute("SELECT count(*) FROM audit_archive WHERE last_used < now() - interval '32 days'", name)[0][0]
    assert rig.daemon.terminate() == 0
    rig.daemon.config["evaluation"] = {"pass_score": 0.61}
    rig.daemon.start()
    await_metrics(rig.daemon, lambda metrics: metrics.value("assayd_archive_expired") == old == 3)
    (record,) = send(rig, [events.sure(target="shop")])
    await_metrics(rig.daemon, lambda metrics: metrics.value("assayd_archive_stored") == 2)
    assert_shown(rig.daemon, digests([record]))
    assert rig.daemon.terminate() == 0
    rig.daemon.config["audit"] = {"archive": False}
    rig.daemon.start()
    send(rig, [events.sure(target="shop")])
    assert "assayd_archive" not in rig.daemon.get("/metrics")[1]
