"""The command line: what a person types, and what comes back when it is wrong."""

import contextlib
import gzip
import json
import os
import pathlib
import pty
import re
import select
import socket
import sqlite3
import subprocess
import termios
import threading

import pytest

import certificates
import events
import schema_registry
from daemon import BINARY, config_text, free_port
from judge_server import Answer

USAGE, DATA, NO_INPUT, UNAVAILABLE, IO, CONFIG = 64, 65, 66, 69, 74, 78
COMMANDS = ("run", "score", "check", "calibration", "produce", "redrive")


def assayd(*arguments, stdin="", timeout=180, **environment):
    return subprocess.run([BINARY, *arguments], input=stdin, capture_output=True, text=True, timeout=timeout,
                          env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC", **environment}, check=False)


def found(done, kind):
    """What check has to say of a kind: "ok", "-", "note", "warning" or "error"; without the lines of settings."""
    return [re.sub(r"(?<!configuration): /\S+/assayd\.conf:\d+: ", ": ", line[8:], count=1)
            for line in done.stdout.splitlines() if line.split()[0] == kind]


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


def into_full(arguments, stdin=""):
    """What a command ends with whose standard output takes nothing."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        return subprocess.run([BINARY, *arguments], input=stdin, stdout=full, stderr=subprocess.PIPE, text=True,
                              timeout=180, check=False)


OUTPUTS = ("--help", "--version", *(f"{command} --help" for command in COMMANDS), "run --version",
           "score", "score --json", "check --offline --config FILE",
           "calibration --config FILE --replay -", "calibration --config FILE --replay - --json")


@pytest.mark.parametrize("line", OUTPUTS)
def test_output_that_does_not_arrive(line, config_file):
    file = config_file({"kafka": {"bootstrap_servers": "localhost:9092"}})
    stdin = json.dumps({"event_id": "a", "sql": "SELECT 1 AS one"}) if line.startswith("score") else ""
    done = into_full([file if word == "FILE" else word for word in line.split()], stdin)
    assert done.returncode == IO, done
    assert len(done.stderr.splitlines()) == 1 and "standard output" in done.stderr, done.stderr


WRONG_USAGES = {
    "": "a command is missing",
    "sing": 'unknown command "sing"',
    "config": 'assayd config needs one of: digest',
    "config digest": "assayd config digest needs FILE",
    "config digest a b": '"b" is too much',
    "config digest a --config b": "assayd config digest has no option --config",
    "--loud": "a command comes before the options",
    "score --loud": "unknown option --loud",
    "score -lc x": "unknown option -l",
    "score --json=1": "--json takes no value",
    "calibration --config x --dry-run": "--dry-run needs --rebuild",
    "calibration --config x --verify --dry-run": "--dry-run needs --rebuild",
    "score --config": "--config needs a value",
    "score --window 1h": "assayd score has no option --window",
    "run --config a --json": "assayd run has no option --json",
    "run --config a --offline": "assayd run has no option --offline",
    "run --config a b": '"b" is too much',
    "check": "assayd check needs --config FILE",
    "produce a": "assayd produce needs --config FILE",
    "produce a --config b --replay c": "assayd produce has no option --replay",
    "redrive --all": "assayd redrive needs --config FILE",
    "redrive --config a --reason": "--reason needs a value",
    "score a": '"a" is too much: events come on standard input',
    "calibration --config a --verify --rebuild": "exclude each other",
    "calibration --config a --rebuild --window 1h": "--rebuild goes without --window",
    "calibration --config a --verify --accuracy 0.9": "--verify goes without --accuracy",
    "calibration --config a --accuracy": "--accuracy needs a value",
    "calibration --config a --model --window 1h": "--model goes without --window",
    "calibration --config a --rebuild --model": "--rebuild goes without --model",
    "calibration --config a --replay b --application c": "--replay goes without --application",
    "calibration --config a --replay": "--replay needs a value",
    "calibration --config a --replay b --replay-topic": "--replay goes without --replay-topic",
    "calibration --config a --replay-topic --application c": "--replay-topic goes without --application",
    "calibration --config a --verify --replay-topic": "--verify goes without --replay-topic",
    "calibration --config a --accuracy 0.8 --accuracy 0.9": "--accuracy is given twice",
    "calibration --config a --replay b --replay c": "--replay is given twice and reads one file",
    "calibration --config a --model-version 3": "--model-version needs --replay",
    "calibration --config a --model --model-version 3": "--model-version needs --replay",
}


@pytest.mark.parametrize("line", WRONG_USAGES)
def test_wrong_usage(line):
    done = assayd(*line.split())
    assert done.returncode == USAGE, done
    assert WRONG_USAGES[line] in one_sentence(done)


def test_config_digest(config_file):
    digest = assayd("config", "digest", config_file(""))
    assert digest.returncode == 0 and digest.stderr == "" and re.fullmatch("[0-9a-f]{64}\n", digest.stdout), digest
    assert assayd("config", "digest", config_file("# nothing\n")).stdout == digest.stdout
    assert assayd("config", "digest", config_file("http: { listen = \"127.0.0.1:1\"; };")).stdout != digest.stdout
    assert assayd("config", "--help", "digest").returncode == USAGE
    assert assayd("config", "digest", "--help").returncode == 0
    bad = assayd("config", "digest", config_file("http: { listen = 1; };"))
    assert bad.returncode == CONFIG and "http.listen" in one_sentence(bad)


@pytest.mark.parametrize("command", ["run", "score"])
def test_missing_file(command, tmp_path):
    done = assayd(command, "--config", str(tmp_path / "nowhere.conf"))
    assert done.returncode == NO_INPUT
    assert "nowhere.conf" in one_sentence(done)


@pytest.mark.parametrize("name,said", [
    ("nowhere", "No such file or directory: name the configuration's file with --config"),
    ("folder", "a directory: name the file itself with --config"), ("pipe", "not a regular file: name the file itself with --config"),
    ("huge", "larger than 1048576 bytes: this is not a configuration of assayd; correct --config")])
def test_check_finds_that_there_is_no_configuration(name, said, tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "huge").write_text("#" * ((1 << 20) + 1))
    done = assayd("check", "--config", str(tmp_path / name))
    assert done.returncode == NO_INPUT
    assert done.stdout == f"error   configuration: {tmp_path / name}: {said}\n"
    assert done.stderr == "assayd: 1 error and 0 warnings\n"


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
    "two targets of one name": ('targets = ( { name = "a"; engine = "postgresql"; dsn = "host=x"; },\n'
                                '  { name = "a"; engine = "postgresql"; dsn = "host=y"; } );\n', ["a"]),
    "weights that do not sum to 1": ('retrieval: { weights: { top = 0.9; }; };\n', ["1"]),
}


@pytest.mark.parametrize("wrong", WRONG_CONFIGURATIONS)
@pytest.mark.parametrize("command", ["run", "check"])
def test_wrong_configuration(command, wrong, config_file):
    text, mentioned = WRONG_CONFIGURATIONS[wrong]
    done = assayd(command, "--config", config_file(text))
    assert done.returncode == CONFIG, done
    if command == "check":
        [sentence] = found(done, "error")
        assert done.stderr == "assayd: 1 error and 0 warnings\n"
    else:
        sentence = one_sentence(done)
    for word in ["assayd.conf", *mentioned]:
        assert word in sentence


def test_check_tells_all_mistakes_of_a_file_at_once(config_file):
    done = assayd("check", "--offline", "--config", config_file("""
kafka: { bootstrap_servers = "http://b:9092"; input_topic = "a b"; dead_letter_topic = "scored-queries"; heartbeat_ms = 9000; session_timeout_ms = 9000; };
targets = ( { name = "a"; engine = "sqlite"; path = 5; },
            { name = "b"; engine = "sqlite"; }, 7,
            { name = "b"; engine = "postgresql"; dsn = "password=x"; connections = 0; },
            { name = "b"; engine = "postgresql"; dsn = "password=x"; } );
judge: { base_url = "ftp://x"; };
calibration: { dsn = "host=x password=y"; bucket_s = 7; };
confidence: { thresholds: { high = 0.1; }; };
retrieval: { weights: { top = 0.9; }; thresholds: { hihg = 1; }; };
http: { listen = "nowhere"; };
nothing: { };
"""))
    assert done.returncode == CONFIG, done
    lines = [line.partition("assayd.conf:")[2] for line in found(done, "error")]
    assert [re.sub(r": .*", "", line.replace(": ", " ", 1)) for line in lines] == [
        "3 targets[0].path", "4 targets[2]", "5 targets[3].connections", "7 judge", "10 retrieval.thresholds.hihg", "12 nothing",
        "2 kafka.input_topic", "2 kafka.dead_letter_topic", "2 kafka.heartbeat_ms", "2 kafka.bootstrap_servers",
        "7 judge.base_url", "8 calibration.bucket_s", "8 calibration.dsn", "10 retrieval.weights", "11 http.listen",
        "4 targets[1]", "5 targets[3].dsn", "6 targets[4].name", "6 targets[4].dsn", "9 confidence.thresholds"], lines
    assert done.stderr == f"assayd: {len(lines)} errors and 0 warnings\n"
    assert "kafka: not tried; correct its settings first, see above" in found(done, "-") and not found(done, "ok"), done


GOOD = 'kafka: { group_id = "a"; };\npipeline: { workers = 0x2; };\n'


@pytest.mark.parametrize("encoded", [GOOD.encode("utf-8-sig"), GOOD.replace("\n", "\r\n").encode(),
                                     GOOD.replace("\n", "\r\n").encode("utf-8-sig")])
def test_configuration_as_editors_of_other_systems_write_it(encoded, tmp_path):
    (tmp_path / "assayd.conf").write_bytes(encoded)
    done = assayd("check", "--offline", "--strict", "--config", str(tmp_path / "assayd.conf"))
    assert done.returncode == 0, done


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le"])
def test_configuration_in_another_encoding_is_told(encoding, tmp_path):
    (tmp_path / "assayd.conf").write_bytes(GOOD.encode(encoding))
    done = assayd("check", "--offline", "--config", str(tmp_path / "assayd.conf"))
    assert done.returncode == CONFIG
    [line] = found(done, "error")
    assert "UTF-16" in line and "save it as UTF-8" in line.replace("Save", "save")


def test_check_offline_reaches_nothing_and_tells_all_of_a_machine_that_is_wrong(config_file, tmp_path):
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "relevance.txt").write_text("[system]\nno user\n")
    (tmp_path / "key").write_text("")
    postgresql = {"engine": "postgresql", "dsn": "host=192.0.2.1 user=a"}
    done = assayd("check", "--offline", "--config", config_file({
        "kafka": {"bootstrap_servers": "192.0.2.1:9092", "properties": ["no.such.property=1"],
                  "secret_properties": ["sasl.password=/no/such/kafka"]},
        "targets": ({"name": "good", **postgresql}, {"name": "secret", **postgresql, "password_file": "/no/such/target"},
                    {"name": "dsn", **postgresql, "dsn": "hots=db"}),
        "judge": {"provider": "openai", "base_url": "https://192.0.2.1/v1", "model": "m", "api_key_file": "/no/such/key",
                  "prompt_directory": str(tmp_path / "prompts"), "cache_dsn": "nonsense"},
        "calibration": {"dsn": "host=192.0.2.1", "password_file": str(tmp_path / "key")}}), timeout=180)
    errors = found(done, "error")
    for line, (what, part) in zip(errors, (
            ("configuration", "judge.cache_dsn: not a libpq connection string"),
            ("configuration", 'targets[2].dsn: libpq knows no keyword "hots"; did you mean "host"?'),
            ("kafka", "/no/such/kafka"), ('target "secret"', "/no/such/target"),
            ("judge", "/no/such/key"), ("judge prompts", "prompts/relevance.txt"),
            ("calibration", "calibration.password_file"))):
        assert line.startswith(f"{what}: ") and part in line, errors
    assert len(errors) == 7 and not found(done, "ok"), done
    assert found(done, "-") == ['target "good": not tried; its settings and files are right'], done
    assert done.returncode == CONFIG


def test_check_offline_of_good_files(config_file, tmp_path):
    (tmp_path / "password").write_text("secret\n")
    password = str(tmp_path / "password")
    done = assayd("check", "--offline", "--strict", "--config", config_file({
        "kafka": {"bootstrap_servers": "192.0.2.1:9092", "secret_properties": [f"sasl.password={password}"],
                  "properties": ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", "sasl.username=a"]},
        "targets": ({"name": "shop", "engine": "mariadb", "dsn": "host=192.0.2.1 user=a", "password_file": password},),
        "judge": {"provider": "openai", "base_url": "https://192.0.2.1/v1", "model": "m", "api_key_file": password},
        "calibration": {"dsn": "host=192.0.2.1", "password_file": password}}), timeout=180)
    assert (done.returncode, done.stderr) == (0, ""), done
    assert [line.split(" /")[0] for line in found(done, "ok")] == ["configuration"]
    assert found(done, "-") == [f"{what}: not tried; its settings and files are right"
                                for what in ("kafka", 'target "shop"', "judge", "calibration")]
    assert "secret" not in done.stdout


@pytest.mark.parametrize("listen, warns", [("0.0.0.0:9464", True), ("192.0.2.1:9464", True), ("[::]:9464", True), ("127.0.0.1:9464", False),
                                           ("[::1]:9464", False), ("127.9.9.9:1", False), ("assayd.invalid:9464", False)])
def test_check_offline_warns_of_a_port_that_the_network_reaches(config_file, listen, warns):
    config = config_file({"kafka": {"bootstrap_servers": "192.0.2.1:9092"}, "http": {"listen": listen}})
    done = assayd("check", "--offline", "--strict", "--config", config)
    told = [line for line in found(done, "warning") if line.startswith("http: http.listen is not a loopback address")]
    assert (done.returncode, len(told)) == ((CONFIG, 1) if warns else (0, 0)), done


@pytest.mark.parametrize("groups, warning", [
    ({"confidence": {"level_by": "probability"}}, 'confidence.level_by = "probability" has no effect: nothing learns a probability'),
    ({"confidence": {"level_by": "probability"}, "calibration": {"dsn": "host=192.0.2.1"}}, "set calibration.dsn and calibration.model"),
    ({"calibration": {"dsn": "host=192.0.2.1", "model_reasons": 3}}, 'calibration.model_reasons has no effect: calibration.model is "off"'),
    ({"agreement": {"execute": True}}, "agreement.execute has no effect: there are no targets"),
    ({"confidence": {"level_by": "probability"}, "calibration": {"dsn": "host=192.0.2.1", "model": "map", "model_reasons": 3}}, None),
])
def test_check_warns_of_what_has_no_effect(config_file, groups, warning):
    done = assayd("check", "--offline", "--config", config_file(groups), timeout=180)
    told = [line for line in found(done, "warning") if "has no effect" in line]
    assert done.returncode == 0 and len(told) == (warning is not None), done
    assert warning is None or (told[0].startswith("configuration: ") and warning in told[0])


def test_check_names_a_property_that_the_client_does_not_know(config_file):
    done = assayd("check", "--offline", "--config", config_file({"kafka": {"properties": ["no.such.property=1"]}}))
    assert done.returncode == CONFIG
    assert "no.such.property" in found(done, "error")[0]


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


def test_check_waits_for_all_servers_at_the_same_time(config_file):
    """Servers that take connections and say nothing: there is a moment at which all of them are waited for."""
    waited_for, lasted = threading.Barrier(5), []

    def hold(server):
        connection = server.accept()[0]
        with connection:
            waited_for.wait(120)
            closed = select.poll()
            closed.register(connection, select.POLLRDHUP)
            lasted.append(not closed.poll(0))
            waited_for.wait(120)

    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(waited_for.parties)]
    broker, target, judge, cache, calibration = [server.getsockname()[1] for server in servers]
    holders = [threading.Thread(target=hold, args=(server,), daemon=True) for server in servers]
    for holder in holders:
        holder.start()
    done = assayd("check", "--config", config_file({
        "kafka": {"bootstrap_servers": f"127.0.0.1:{broker}"},
        "targets": ({"name": "shop", "engine": "postgresql", "dsn": f"host=127.0.0.1 port={target} user=a"},),
        "judge": {"provider": "openai", "base_url": f"http://127.0.0.1:{judge}/v1", "model": "m",
                  "timeout_ms": 20000, "cache_dsn": f"host=127.0.0.1 port={cache} user=c"},
        "calibration": {"dsn": f"host=127.0.0.1 port={calibration} user=a"}}))
    for holder in holders:
        holder.join(120)
    for server in servers:
        server.close()
    assert lasted == [True] * len(servers), done
    errors = found(done, "error")
    assert [line.split(":")[0] for line in errors] == [
        "kafka", 'target "shop"', "judge", "the judge's cache", "calibration"], "their order is always the same"


def test_check_of_servers_that_say_nothing_says_what_to_look_at(config_file):
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        port = silent.getsockname()[1]
        done = assayd("check", "--config", config_file({
            "kafka": {"bootstrap_servers": f"127.0.0.1:{port}"},
            "targets": ({"name": "pg", "engine": "postgresql", "dsn": f"host=127.0.0.1 port={port} user=a"},
                        {"name": "my", "engine": "mariadb", "dsn": f"host=127.0.0.1 port={port} user=a"}),
            "registry": {"urls": (f"http://127.0.0.1:{port}",), "timeout_ms": 1000},
            "judge": {"provider": "openai", "base_url": f"http://127.0.0.1:{port}/v1", "model": "m", "timeout_ms": 2000},
            "calibration": {"dsn": f"host=127.0.0.1 port={port} user=a"}}))
    errors = found(done, "error")
    for line, part in zip(errors, (
            "check whether the broker hangs", "whether the server hangs", "check whether the server hangs",
            f"no answer from http://127.0.0.1:{port}/v1 within 2000 ms (judge.timeout_ms)",
            "whether the server hangs", "see whether it hangs (its log)")):
        assert part in line, done
    assert len(errors) == 6, done


def test_check_says_what_answers_in_place_of_a_registry(config_file):
    """A page of something else, whatever its status, and a registry that fails: all of them at once, as addresses of one."""
    page, failed = (b"<html>\n", "text/html; charset=utf-8"), (b'{"error_code": 50001, "message": "store\\u001b[2J"}', "application/json")
    answers = {
        (200, page): "what answers there is no schema registry (HTTP 200, text/html; charset=utf-8); correct registry.urls",
        (404, page): "it answers HTTP 404, text/html; charset=utf-8; what answers there is no schema registry: correct registry.urls",
        (501, page): "see the log of the registry, and of a proxy before it, or correct registry.urls",
        (500, failed): "it answers HTTP 500, store\\u001b[2J; see the log of the registry",
    }

    def answering(status, body, kind):
        return schema_registry.ScriptedRegistry(lambda handler: handler.say(status, body, kind=kind))

    servers = [answering(status, *answer) for status, answer in answers]
    done = assayd("check", "--config", config_file({"kafka": {"bootstrap_servers": f"127.0.0.1:{free_port()}"},
                                                    "registry": {"urls": tuple(server.url for server in servers)}}))
    for server in servers:
        server.close()
    errors = [line for line in found(done, "error") if line.startswith("schema registry ")]
    for line, said in zip(errors, answers.values()):
        assert line.endswith(said), done
    assert len(errors) == len(answers), done


def tls_mistakes(folder):
    """Properties, and what is said of each that is wrong."""
    def at(name):
        return str(folder / name)

    (folder / "broken.pem").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    (folder / "empty.pem").write_text("")
    ssl, client, key = "security.protocol=SSL", f"ssl.certificate.location={at('client.crt')}", f"ssl.key.location={at('client.key')}"
    return {
        "all is well": ([ssl, f"ssl.ca.location={at('ca.pem')}", client, key], CONFIG, []),
        "a folder of authorities": ([ssl, f"ssl.ca.location={folder}"], CONFIG, []),
        "missing": ([ssl, "ssl.ca.location=/no/such.pem"], NO_INPUT, ["ssl.ca.location: /no/such.pem: No such file or directory"]),
        "a key as authority": ([ssl, f"ssl.ca.location={at('ca.key')}"], CONFIG, [f"{at('ca.key')}: it contains no certificate"]),
        "damaged": ([ssl, f"ssl.ca.location={at('broken.pem')}"], CONFIG, [f"{at('broken.pem')}: the certificate in it is damaged"]),
        "empty": ([ssl, f"ssl.ca.location={at('empty.pem')}"], CONFIG, [f"{at('empty.pem')}: the file is empty"]),
        "of another": ([ssl, client, f"ssl.key.location={at('server.key')}"], CONFIG,
                       [f"{at('server.key')}: the key does not belong to the certificate in {at('client.crt')}"]),
        "both": ([ssl, "ssl.ca.location=/no/ca", "ssl.certificate.location=/no/crt", key], NO_INPUT,
                 ["ssl.ca.location: /no/ca", "ssl.certificate.location: /no/crt"]),
        "no key": ([ssl, client], CONFIG, ["set ssl.key.location"]),
        "a certificate as key": ([ssl, client, f"ssl.key.location={at('client.crt')}"], CONFIG, ["it contains no readable private key"]),
        "encrypted": ([ssl, client, f"ssl.key.location={at('locked.key')}"], CONFIG,
                      [f'{at("locked.key")}: the key is encrypted, and no password is given; name the file of its password in '
                       'kafka.secret_properties ("ssl.key.password=FILE"), or write it unencrypted (openssl pkey -in KEY -out NEW)']),
        "Kerberos": (["security.protocol=SASL_SSL"], CONFIG, ["sasl.kerberos.keytab: sasl.mechanism is GSSAPI"]),
        "no mechanism": (["security.protocol=SASL_SSL", "sasl.mechanism=SCRAM-SHA256"], CONFIG,
                         ['sasl.mechanism: "SCRAM-SHA256" is not one of PLAIN, SCRAM-SHA-256']),
        "no login": (["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN"], CONFIG, ["sasl.username", "sasl.password"]),
    }


@pytest.fixture(scope="module")
def certificate_folder(tmp_path_factory):
    folder = certificates.make(tmp_path_factory.mktemp("certificates"))
    certificates.lock(folder, "client", "open")
    return folder


@pytest.mark.parametrize("name", ["all is well", "a folder of authorities", "missing", "a key as authority", "damaged", "empty",
                                  "of another", "both", "no key", "a certificate as key", "encrypted", "Kerberos", "no mechanism", "no login"])
def test_check_looks_into_files_of_tls_and_at_logins(name, certificate_folder, config_file):
    properties, status, said = tls_mistakes(certificate_folder)[name]
    config = config_file({"kafka": {"bootstrap_servers": "127.0.0.1:1", "properties": properties}})
    done = assayd("check", "--offline", "--config", config)
    errors = found(done, "error")
    assert done.returncode == (status if said else 0) and len(errors) == len(said), done
    for line, part in zip(errors, said):
        assert line.startswith("kafka: kafka.properties: ") and part in line, done
    if said:
        assert found(assayd("check", "--config", config), "error") == errors, "the same in both ways"
    if name == "missing":
        done = assayd("run", "--config", config)
        assert done.returncode == status and said[0] in done.stderr, done


def test_a_password_opens_the_key_of_tls(certificate_folder, config_file, tmp_path):
    for password, errors in ("open", []), ("wrong", ["the password does not decrypt the key"]):
        (tmp_path / "password").write_text(password)
        done = assayd("check", "--offline", "--config", config_file({"kafka": {
            "properties": ["security.protocol=SSL", f"ssl.certificate.location={certificate_folder}/client.crt",
                           f"ssl.key.location={certificate_folder}/locked.key"],
            "secret_properties": [f"ssl.key.password={tmp_path}/password"]}}))
        assert [line.endswith(part) for line, part in zip(found(done, "error"), errors)] == [True] * len(errors), done
        assert bool(done.returncode) == bool(errors), done
    pem = [f"ssl.certificate.pem={certificate_folder}/client.crt", f"ssl.key.pem={certificate_folder}/locked.key"]
    for more, said in ([], "the key is encrypted: name the file of its password"), ([f"ssl.key.password={tmp_path}/password"], "the password is wrong: mend"):
        done = assayd("check", "--offline", "--config", config_file({"kafka": {"properties": ["security.protocol=SSL"], "secret_properties": pem + more}}))
        [error] = found(done, "error")
        assert said in error and done.returncode == CONFIG, done


def test_check_tells_what_of_security_has_no_effect(config_file):
    done = assayd("check", "--offline", "--config", config_file({"kafka": {"properties": [
        "ssl.ca.location=/no/such", "sasl.mechanism=PLAIN", "sasl.username=a"]}}))
    assert [line.split(" has no effect while security.protocol is plaintext")[0] for line in found(done, "warning")] == [
        "kafka: ssl.ca.location", "kafka: sasl.mechanism"], done


def test_check_of_files_that_are_no_database(config_file, tmp_path):
    (tmp_path / "text").write_text("no database\n" * 100)
    (tmp_path / "folder").mkdir()
    done = assayd("check", "--config", config_file({"kafka": {"bootstrap_servers": "127.0.0.1:1"}, "targets": tuple(
        {"name": name, "engine": "sqlite", "path": str(tmp_path / name)} for name in ("none", "folder", "text"))}))
    errors = [line for line in found(done, "error") if line.startswith("target")]
    for line, part in zip(errors, ("none: No such file or directory; mend path", "folder: a directory, no database",
                                   "text: file is not a database; mend path")):
        assert part in line, done
    assert len(errors) == 3, done


def test_the_environment_names_no_server(postgres, config_file):
    """Not to a target's worker process, and not to the daemon itself; check says so."""
    dsn = f"port={postgres.port} dbname=shop user=assayd_ro"
    config = config_file({"kafka": {"bootstrap_servers": "127.0.0.1:1"}, "calibration": {"dsn": dsn},
                          "targets": ({"name": "shop", "engine": "postgresql", "dsn": dsn},)})
    done = assayd("check", "--config", config, PGHOST="127.0.0.1", PGUSER="postgres", PGSSLMODE="disable", PGTZ="Asia/Tokyo")
    errors = found(done, "error")
    for line, what in zip(errors[1:], ('target "shop": ', "calibration: calibration.dsn: ")):
        assert line.startswith(f"{what}connection to server on socket") and "set host in the dsn" in line, done
    assert len(errors) == 3, done
    [warning] = found(done, "warning")
    assert warning.startswith("environment: not used is ") and "PGHOST" in warning and "PGUSER" in warning and \
        "PGTZ" in warning and "PGSSLMODE" not in warning, done


def test_check_names_the_lines_of_files_and_hides_what_may_be_a_secret(config_file, tmp_path):
    (tmp_path / "open").write_text("hunter2")
    (tmp_path / "open").chmod(0o646)
    tmp_path.chmod(0o755)
    config = config_file({
        "targets": ({"name": "a", "engine": "postgresql", "dsn": "host=h", "password_file": "s3cr3t"},
                    {"name": "b", "engine": "sqlite", "path": "/no/such.db"}),
        "judge": {"base_url": "http://h/v1", "model": "m", "api_key_file": "s3cr3t"},
        "calibration": {"dsn": "host=h", "password_file": "s3cr3t"},
        "registry": {"urls": ("https://127.0.0.1",), "token_file": "s3cr3t", "ca_file": "/no/ca"},
        "webhook": {"url": "http://127.0.0.1/", "secret_file": "credentials_hook"},
        "otlp": {"endpoint": "http://127.0.0.1:4317", "authorization_file": str(tmp_path / "open")},
        "kafka": {"secret_properties": ("sasl.password=s3cr3t",)}})
    lines = pathlib.Path(config).read_text().splitlines()

    def at(*words):
        """The line of the first of these words behind the ones before."""
        line = 0
        for word in words:
            line = next(i for i in range(line, len(lines)) if word in lines[i])
        return f"{config}:{line + 1}: "

    done = assayd("check", "--offline", "--config", config)
    assert "s3cr3t" not in done.stdout + done.stderr, done
    errors = done.stdout.splitlines()
    for place, setting, said in [
            (at("secret_properties"), "kafka.secret_properties: sasl.password: ", "the path of a file"),
            (at("/no/such.db"), "targets[1].path: ", "/no/such.db: No such file or directory"),
            (at("judge", "api_key_file"), "judge.api_key_file: ", "the path of a file"),
            (at("calibration", "password_file"), "calibration.password_file: ", "the path of a file"),
            (at("registry", "token_file"), "registry.token_file: ", "the path of a file"),
            (at("registry", "ca_file"), "registry.ca_file: ", "/no/ca: No such file or directory"),
            (at("webhook", "secret_file"), "webhook.secret_file: ", "/credentials/hook: No such file or directory")]:
        assert any(f": {place}{setting}" in f": {line}" and said in line for line in errors), (place, setting, said, done.stdout)
    warnings = done.stdout.splitlines()
    assert any(f"{at('otlp', 'authorization_file')}otlp.authorization_file: everybody on this machine may change" in line
               for line in warnings), done.stdout
    assert any("otlp.endpoint: 4317 is the port of collectors for gRPC" in line for line in warnings), done.stdout


def test_check_looks_for_services_and_files_of_tls(certificate_folder, config_file, tmp_path):
    (tmp_path / "services").write_text("# ours\n[shop]\nhost=192.0.2.1\n")
    at = certificate_folder
    names = {
        "service": ("postgresql", "service=shop", None),
        "no service": ("postgresql", "service=shops", "dsn: service=shops: there is no section [shops] in"),
        "missing": ("postgresql", "host=192.0.2.1 sslmode=verify-full sslrootcert=/no/ca", "dsn: sslrootcert=/no/ca: No such file"),
        "not meant": ("postgresql", "host=192.0.2.1 sslmode=disable sslrootcert=/no/ca", None),
        "no certificate": ("postgresql", f"host=192.0.2.1 sslrootcert={at}/ca.key", "it contains no certificate"),
        "pair": ("postgresql", f"host=192.0.2.1 sslcert={at}/client.crt sslkey={at}/server.key", "the key does not belong to"),
        "locked": ("postgresql", f"host=192.0.2.1 sslcert={at}/client.crt sslkey={at}/locked.key", f"{at}/locked.key: the key is encrypted"),
        "locked too": ("mariadb", f"host=192.0.2.1 user=a ssl_cert={at}/client.crt ssl_key={at}/locked.key", f"{at}/locked.key: the key is encrypted"),
        "mariadb": ("mariadb", "host=192.0.2.1 user=a ssl_ca=/no/ca", "dsn: ssl_ca=/no/ca: No such file"),
    }
    config = config_file({
        "targets": tuple({"name": name, "engine": engine, "dsn": dsn} for name, (engine, dsn, _) in names.items()),
        "judge": {"provider": "openai", "base_url": "https://192.0.2.1/v1", "model": "m", "ca_file": str(at / "ca.key")},
        "registry": {"urls": ("https://192.0.2.1",), "ca_file": str(at / "ca.key"), "certificate_file": str(at / "client.crt"),
                     "key_file": str(at / "server.key"), "token_file": "/no/token"},
        "calibration": {"dsn": "host=192.0.2.1 sslrootcert=/no/ca"}})
    done = assayd("check", "--offline", "--config", config, PGSERVICEFILE=str(tmp_path / "services"))
    errors = found(done, "error")
    told = [(f'target "{name}"', said) for name, (_, _, said) in names.items() if said] + [
        ("judge", "ca.key: it contains no certificate"), ("calibration", "dsn: sslrootcert=/no/ca"),
        *(("schema registry files", f"registry.{said}") for said in (
            "token_file: /no/token: No such file", f"ca_file: {at}/ca.key: it contains no certificate",
            f"certificate_file: {at}/server.key: the key does not belong to"))]
    for line, (what, said) in zip(errors, told):
        assert line.startswith(f"{what}: ") and said in line, done
    assert len(errors) == len(told), done


@pytest.mark.parametrize("protocol, warns", [("SASL_PLAINTEXT", True), ("SASL_SSL", False)])
def test_check_warns_of_tokens_in_the_clear(config_file, tmp_path, protocol, warns):
    (tmp_path / "secret").write_text("swordfish")
    done = assayd("check", "--offline", "--config", config_file({"kafka": {
        "properties": [f"security.protocol={protocol}", "sasl.mechanism=OAUTHBEARER"],
        "oauth": {"token_url": "https://192.0.2.1/token", "client_id": "a", "client_secret_file": str(tmp_path / "secret")}}}))
    warned = [line for line in found(done, "warning") if "tokens travel to the brokers unencrypted" in line]
    assert bool(warned) == warns, done.stdout


@pytest.mark.parametrize("token, authorization, said", [
    ("abc", "Bearer abc", {}),
    ("abc", "abc", {"warning": ["otlp files: otlp.authorization_file: no scheme"]}),
    ("Bearer abc", "Authorization: Bearer abc", {"error": ['token: it begins with "Bearer"', "value: it begins with the header's name"]}),
    ("a\rb\r\n", "a b\nc", {"error": ["token: it holds a control character behind 1 bytes", "value: it has 2 lines; leave the secret alone"]}),
])
def test_check_offline_knows_what_a_header_takes(config_file, tmp_path, token, authorization, said):
    files = {"token": token, "value": authorization, "secret": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"}
    for name, content in files.items():
        (tmp_path / name).write_text(content, newline="")
    done = assayd("check", "--offline", "--config", config_file({
        "registry": {"urls": ("https://192.0.2.1", "http://192.0.2.2"), "token_file": str(tmp_path / "token")},
        "webhook": {"url": "http://192.0.2.1/", "secret_file": str(tmp_path / "secret")},
        "otlp": {"endpoint": "https://192.0.2.1:4318", "authorization_file": str(tmp_path / "value")}}))
    errors, warnings = found(done, "error"), found(done, "warning")
    assert len(errors) == len(said.get("error", [])) and all(any(part in line for line in errors) for part in said.get("error", [])), done
    plain = [line for line in warnings if "plain http to another host" in line]
    assert {line.partition(":")[0] for line in plain} == {"schema registry files", "webhook files"} and len(plain) == 2, done
    assert all(any(part in line for line in warnings) for part in said.get("warning", [])), done
    assert ("no scheme" in done.stdout + done.stderr) == ("warning" in said), done


def test_check_offline_names_the_setting_of_a_key(certificate_folder, config_file, tmp_path):
    at = certificate_folder
    for key, said in (("client.crt", f"registry.key_file: {at}/client.crt: it contains no readable private key"), ("no.key", "registry.key_file: "),
                      ("locked.key", f"registry.key_file: {at}/locked.key: the key is encrypted, and no password is given; write it unencrypted"),
                      (None, f"registry.certificate_file: {at}/client.crt: it holds no private key; name that in registry.key_file")):
        done = assayd("check", "--offline", "--config", config_file({"registry": {
            "urls": ("https://192.0.2.1",), "certificate_file": str(at / "client.crt"), **({"key_file": str(at / key)} if key else {})}}))
        [error] = found(done, "error")
        assert said in error, done


def test_check_offline_looks_at_folders_databases_and_passwords(config_file, tmp_path):
    (tmp_path / "empty").write_text("")
    done = assayd("check", "--offline", "--config", config_file({
        "kafka": {"properties": ["acks=1"]}, "pipeline": {"state_directory": "/no/such/folder"},
        "targets": ({"name": "lite", "engine": "sqlite", "path": "no/such.db"},
                    {"name": "shop", "engine": "postgresql", "dsn": "host=a", "password_file": str(tmp_path / "empty")})}))
    errors = found(done, "error")
    for line, part in zip(errors, ("state directory: /no/such/folder", "acks", 'target "lite": targets[0].path: no/such.db: No such file',
                                   "the file is empty; it has to contain a secret")):
        assert part in line, done
    assert len(errors) == 4 and "which is / in its unit" in found(done, "warning")[0], done


def test_check_leaves_nothing_beside_a_database_with_a_log(config_file, tmp_path):
    path = tmp_path / "shop?%.db"
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("CREATE TABLE orders (id INTEGER)")
    writer.commit()
    target = {"name": "shop", "engine": "sqlite", "path": str(path), "required_columns": ["orders.id"]}
    config = config_file({"kafka": {"bootstrap_servers": "127.0.0.1:1"}, "targets": (target,)})
    for away in False, True:
        if away:
            writer.close()
        before = sorted(os.listdir(tmp_path))
        done = assayd("check", "--config", config)
        assert 'target "shop"' in found(done, "ok"), done
        assert sorted(os.listdir(tmp_path)) == before and ("shop?%.db-wal" in before) == (not away)


def test_missing_password_file(config_file):
    done = assayd("check", "--config", config_file({
        "targets": ({"name": "shop", "engine": "postgresql", "dsn": "host=127.0.0.1", "password_file": "/no/such"},)}))
    assert done.returncode != 0
    assert 'the password_file of target "shop" cannot be read: /no/such: No such file' in done.stdout + done.stderr


def test_a_secret_of_several_lines_is_told(config_file, tmp_path):
    """Wherever a password is meant, and not where several secrets or PEM are."""
    lines, key = str(tmp_path / "lines"), str(tmp_path / "hook")
    pathlib.Path(lines).write_text("# ours\nhunter2\n")
    pathlib.Path(key).write_text("whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz\nwhsec_MTEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz\n")
    done = assayd("check", "--offline", "--config", config_file({
        "targets": ({"name": "shop", "engine": "postgresql", "dsn": "host=h", "password_file": lines},),
        "registry": {"urls": ("https://192.0.2.1",), "user": "a", "password_file": lines},
        "calibration": {"dsn": "host=h", "password_file": lines}, "audit": {"dsn": "host=h", "password_file": lines},
        "judge": {"base_url": "http://127.0.0.1/v1", "model": "m", "api_key_file": lines},
        "webhook": {"url": "http://127.0.0.1/", "secret_file": key},
        "kafka": {"properties": ("security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", "sasl.username=a"),
                  "secret_properties": (f"sasl.password={lines}",)}}))
    told = [line for line in found(done, "error") if f"{lines}: it has 2 lines; leave the secret alone, which is one line" in line]
    assert {line.partition(":")[0] for line in told} == {'target "shop"', "schema registry files", "calibration", "archive", "kafka"}, done
    [judged] = [line for line in found(done, "error") if line not in told]
    assert f"{lines} (judge.api_key_file) must hold one key on one line" in judged and "hunter2" not in done.stdout, done


def test_misspelt_required_columns(config_file, tmp_path):
    """A rule whose table or column is not there is told, with what may have been meant."""
    path = str(tmp_path / "shop.db")
    sqlite3.connect(path).execute("CREATE TABLE orders (id INTEGER, tenant_id INTEGER)").connection.close()
    done = assayd("check", "--config", config_file({"targets": (
        {"name": "shop", "engine": "sqlite", "path": path, "required_columns": ("orders.tenantid", "order.id")},
        {"name": "mart", "engine": "sqlite", "path": path, "required_columns": ("main.orders.tenant_id",)})}))
    assert 'targets[0].required_columns: "orders.tenantid": table "orders" has no column "tenantid"; ' \
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
        assert ('; write an object, {"sql": "SELECT …"}' in answers[number - 1]["error"]["message"]) == (number != 4)
    assert answers[5]["confidence"]["technical"]["score"] == 100
    assert done.returncode in (0, DATA)


def scored(event, *options):
    done = assayd("score", *options, stdin=json.dumps(event) + "\n")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def errors_of(record, metric):
    return [(error["code"], error["message"]) for error in record["errors"] if error["metric"] == metric]


def test_a_query_that_is_only_well_formed_is_not_high(config_file):
    plain_event, sure = {"sql": "SELECT 1 AS n"}, events.sure("SELECT 1 AS n")
    confidence = scored(plain_event)["confidence"]
    assert (confidence["overall"], confidence["level"]) == (1, "MEDIUM_CONFIDENCE")
    wanted = config_file({"confidence": {"technical_alone": "high"}})
    assert scored(plain_event, "--config", wanted)["confidence"]["level"] == "HIGH_CONFIDENCE"
    confidence = scored({**plain_event, "generator_confidence": 1})["confidence"]
    assert confidence["level"] == "MEDIUM_CONFIDENCE", "the generator is no factor"
    assert json.loads(assayd("score", stdin=plain(sure) + "\n").stdout)["confidence"]["level"] == "HIGH_CONFIDENCE"


def test_what_was_retrieved_counts_where_there_is_no_response():
    chunks = {"chunks": [{"chunk_id": "a", "rerank_score": 0.2}]}
    confidence = scored({"sql": "SELECT 1 AS n", "retrieval": chunks})["confidence"]
    assert confidence["advisory"] is None and confidence["limiting_factor"] == "retrieval"
    assert confidence["overall"] == confidence["retrieval"]["confidence"] < 1
    confidence = scored({"sql": "SELECT 1 AS n", "retrieval": chunks, "response": {"raw": "{}"}})["confidence"]
    assert confidence["limiting_factor"] == "advisory"


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


def test_candidates_agree_or_not(config_file):
    """What else was written for the question says how far the answer may be trusted, and is hidden where literals are."""
    event = {"sql": "SELECT name FROM shop WHERE id = 7 LIMIT 1",
             "candidates": [{"sql": "select s.name from shop s where s.id = 7 limit 1", "model": "other"},
                            {"sql": "SELECT name FROM shop WHERE id = 8 LIMIT 1"},
                            {"sql": "DROP TABLE shop"}]}
    record = scored(event)
    assert record["confidence"]["agreement"] == {"canonical": 0.5, "results": None, "texts": 4, "left_out": 0}
    assert record["safety"]["verdict"] == "SAFE", "a candidate's findings are its own"
    assert record["confidence"]["limiting_factor"] == "technical"
    assert [candidate["model"] for candidate in record["input"]["candidates"]] == ["other", None, None]
    limited = scored(event, "--config", config_file({"confidence": {"factors": ["technical", "agreement"]}}))
    assert (limited["confidence"]["overall"], limited["confidence"]["limiting_factor"]) == (0.5, "agreement")
    hidden = scored(event, "--config", config_file({"records": {"redact_literals": True}}))
    assert [candidate["sql"] for candidate in hidden["input"]["candidates"]][1] == "SELECT name FROM shop WHERE id = ? LIMIT ?"
    status, seen = on_terminal("score", stdin=(json.dumps(event) + "\n").encode())
    assert status == 0 and b"agree    2 of 4 texts mean the same" in seen


@pytest.fixture
def agreeing(config_file, tmp_path):
    """Options for a target with three rows on which candidates are run."""
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as shop:
        shop.execute("CREATE TABLE shop (id integer primary key, name text)")
        shop.executemany("INSERT INTO shop VALUES (?, ?)", [(1, "apple"), (2, "pear"), (3, "fig")])
    return lambda **agreement: ("--config", config_file({
        "targets": ({"name": "shop", "engine": "sqlite", "path": str(path)},),
        "confidence": {"factors": ["technical", "agreement"]}, "agreement": {"execute": True, **agreement}}))


CANDIDATES = ["SELECT count(id) FROM shop", "SELECT 2 + 1", "SELECT 4", "DROP TABLE shop", "SELECT nothing FROM shop", "SELEKT",
              "SELECT 2 + 1"]


def test_candidates_are_run_beside_the_answer(agreeing):
    """By meaning only the answer's own text agrees; by results one meaning of one text and one of two do."""
    event = {"sql": "SELECT count(*) FROM shop", "target": "shop", "candidates": [{"sql": sql} for sql in CANDIDATES]}
    record = scored(event, *agreeing())
    assert record["confidence"]["agreement"] == {"canonical": 1 / 8, "results": 4 / 8, "texts": 8, "left_out": 0}
    assert record["confidence"]["overall"] == 0.5 and record["confidence"]["limiting_factor"] == "agreement"
    assert record["result_validation"] is None and record["errors"] == []
    judged = scored({**event, "ground_truth": {"sql": "SELECT 3"}}, *agreeing())
    assert judged["confidence"]["agreement"] == record["confidence"]["agreement"]
    assert judged["result_validation"]["score"] == 1


def test_candidates_have_one_budget(agreeing):
    event = {"sql": "SELECT id FROM shop LIMIT 10", "target": "shop",
             "candidates": [{"sql": f"SELECT id FROM shop WHERE id > {-number} LIMIT 10"} for number in range(4)]}
    assert scored(event, *agreeing())["confidence"]["agreement"] == {"canonical": 0.2, "results": 1, "texts": 5, "left_out": 0}
    agreement = scored(event, *agreeing(max_rows=6))["confidence"]["agreement"]
    assert agreement == {"canonical": 0.2, "results": 1, "texts": 5, "left_out": 2}
    status, seen = on_terminal("score", *agreeing(max_rows=6), stdin=(json.dumps(event) + "\n").encode())
    assert status == 0
    assert b"1 of 5 texts mean the same, the answer included; 3 of 3 return the same; results of 2 are left out" in seen


def agreement_errors(record):
    return [code for code, _ in errors_of(record, "agreement")]


def test_candidates_that_return_more_disagree(agreeing):
    """A forgotten join is no candidate that is too large to tell, and takes nothing from those that agree."""
    wrong = [{"sql": f"SELECT a.id + {number} FROM shop a, shop b, shop c LIMIT 20"} for number in range(14)]
    event = {"sql": "SELECT id FROM shop LIMIT 10", "target": "shop",
             "candidates": [*wrong, {"sql": "SELECT id + 0 FROM shop LIMIT 10"}, {"sql": "SELECT id FROM shop LIMIT 10"}]}
    record = scored(event, *agreeing(max_rows=4))
    assert record["confidence"]["agreement"] == {"canonical": 2 / 17, "results": 3 / 17, "texts": 17, "left_out": 0}
    assert record["disposition"]["action"] == "WITHHOLD" and record["errors"] == []


def test_a_few_texts_are_no_agreement(agreeing):
    """What is left out is most of them: there is no share, the record says why, and another factor decides."""
    event = {"sql": "SELECT id FROM shop LIMIT 10", "target": "shop",
             "candidates": [{"sql": f"SELECT id FROM shop WHERE id > {-number} LIMIT 10"} for number in range(4)]}
    record = scored(event, *agreeing(max_rows=3))
    assert record["confidence"]["agreement"] == {"canonical": 0.2, "results": None, "texts": 5, "left_out": 3}
    assert agreement_errors(record) == ["candidates_left_out"]
    assert record["confidence"]["limiting_factor"] == "technical"


@pytest.mark.parametrize("sql, candidates, codes, limited_by, action", [
    ("SELECT count(*) FROM shop", ["SELECT count(*) FROM shop"] * 2, [], "technical", "USE"),
    ("SELECT count(*) FROM shop", ["DROP TABLE shop", "SELEKT"], ["candidates_unproven"], "agreement", "WITHHOLD"),
    ("SELECT abs(id - 9223372036854775807 - 2) FROM shop LIMIT 1", ["SELECT 1", "SELECT 2"], ["answer_failed"], "agreement", "WITHHOLD"),
])
def test_why_nothing_is_known_of_results(agreeing, sql, candidates, codes, limited_by, action):
    record = scored({"sql": sql, "target": "shop", "candidates": [{"sql": text} for text in candidates]}, *agreeing())
    assert record["confidence"]["agreement"]["results"] is None
    assert agreement_errors(record) == codes
    assert record["confidence"]["limiting_factor"] == limited_by and record["disposition"]["action"] == action
    if codes == ["answer_failed"]:
        assert record["confidence"]["overall"] == 0 and record["disposition"]["reasons"][0]["code"] == "execution_failed"
        assert "integer overflow" in record["disposition"]["reasons"][0]["text"]


def test_a_target_that_is_not_configured_leaves_no_agreement(agreeing):
    record = scored({"sql": "SELECT 1", "target": "nowhere", "candidates": [{"sql": "SELECT 2"}, {"sql": "SELECT 1"}]}, *agreeing())
    assert record["confidence"]["agreement"]["results"] is None and agreement_errors(record) == ["target_unknown"]
    assert record["confidence"]["overall"] is None


@pytest.mark.parametrize("sql", ["SELECT nothing FROM shop", "DELETE FROM shop", "SELEKT"])
def test_an_answer_that_does_not_run_agrees_with_nothing_by_results(agreeing, sql):
    record = scored({"sql": sql, "target": "shop", "candidates": [{"sql": "SELECT 1"}, {"sql": sql}]}, *agreeing())
    assert record["confidence"]["agreement"]["results"] is None
    assert record["confidence"]["overall"] < 0.9


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
    assert record["evaluation"] is None, "the structure alone is none"
    assert record["disposition"]["action"] == "VERIFY" and record["review_required"]
    assert record["disposition"]["reasons"][0]["code"] == "ground_truth_failed"
    assert "ground_truth.sql cannot be parsed" in record["disposition"]["reasons"][0]["text"]
    # with the tables given, they need no truth
    record = scored({**event, "ground_truth": {"sql": "SELEC 1", "tables": []}})
    assert record["structure"]["table_accuracy"] == 1 and not errors_of(record, "table_accuracy")


UNCHECKED = {
    "unknown target": ({"target": "nowhere"}, "target", "target_unknown", 'no target "nowhere" is configured; add it to targets'),
    "target with a slip": ({"target": "shopp"}, "target", "target_unknown", 'no target "shopp" is configured; did you mean "shop"?'),
    "other dialect": ({"target": "shop", "dialect": "MYSQL"}, "target", "dialect_mismatch", "MySQL"),
    "no catalog": ({"target": "shop"}, "technical", "catalog_unavailable", "the catalog of target \"shop\" cannot be read"),
}


@pytest.mark.parametrize("truth", [None, {"sql": "SELECT 1 AS n"}])
@pytest.mark.parametrize("kind", UNCHECKED)
def test_what_is_not_checked_is_not_passed_off_as_checked(kind, truth, config_file, tmp_path):
    named, metric, code, mentioned = UNCHECKED[kind]
    config = config_file({"targets": ({"name": "shop", "engine": "sqlite", "path": str(tmp_path / "none.db")},)})
    event = {"sql": "SELECT 1 AS n", "ground_truth": truth}
    checked = scored(event, "--config", config)
    assert not checked["evaluation"]["degraded"] if truth else checked["evaluation"] is None
    record = scored({**event, **named}, "--config", config)
    assert record["confidence"]["technical"] is None and record["safety"]["verdict"] == "UNKNOWN"
    assert record["evaluation"]["degraded"] if truth else record["evaluation"] is None
    assert record["disposition"]["action"] == "WITHHOLD"
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


def replayed(config, records, *flags, stdin=""):
    done = assayd("calibration", "--config", config, "--replay", records, "--json", *flags, stdin=stdin)
    assert done.returncode == 0 and done.stderr == "", done
    return json.loads(done.stdout)


def test_replay_of_what_score_says(config_file, tmp_path):
    """The same rules say the same; other ones what their factors and thresholds make of it."""
    claimed = (0.95, 0.75, 0.6, 0.2, None)
    lines = [json.dumps({"event_id": f"e{number}", "sql": sql, "application": "web",
                         **({} if claim is None else {"generator_confidence": claim})})
             for number, (sql, claim) in enumerate((sql, claim) for sql in ("SELECT 1 AS one", "SELECT * FROM a, b", "DROP TABLE a",
                                                                           "SELEC") for claim in claimed)]
    lines += [json.dumps({"event_id": "full", "sql": "SELECT 1 AS one", **{
        name: events.sure()[name] for name in ("retrieval", "response")}}), "{"]
    config = config_file({"confidence": {"factors": ("technical", "advisory", "generator")}})
    scored = assayd("score", "--config", config, stdin="\n".join(lines) + "\n").stdout
    records = tmp_path / "records.jsonl"
    records.write_text(scored)
    found = replayed(config, str(records))
    assert found["records"] == found["kept"] == 21 and found["unreadable"] == 1 and found["first_fault"]["place"] == 22
    assert found["levels"]["very_low"]["very_low"] >= 10 and found["labelled"] == []
    assert found["first_fault"]["of"] == "line" and found["repeated"] == 0
    assert found["rules"] == {"factors": ["technical", "advisory", "generator"], "technical_alone": "medium",
                              "thresholds": [0.9, 0.7, 0.5],
                              "model_version": None, "level_follows": False}
    assert replayed(config, "-", stdin=scored) == found

    generator = config_file({"confidence": {"factors": ("generator",)}})
    found = replayed(generator, str(records))
    by_claim = {name: sum(row[name] for row in found["levels"].values()) for name in found["levels"]}
    assert by_claim == {"high": 3, "medium": 3, "low": 3, "very_low": 3 + 5, "none": 4}  # an unsafe one is very low, whatever it claims
    stricter = config_file({"confidence": {"factors": ("generator",), "thresholds": {"high": 0.96, "medium": 0.95, "low": 0.75}}})
    found = replayed(stricter, str(records))
    assert sum(row["high"] for row in found["levels"].values()) == 0 and found["lower"] > 0
    said = assayd("calibration", "--config", generator, "--replay", str(records))
    assert said.returncode == 0 and "Replay of 21 records" in said.stdout and "No record has a label" in said.stdout

    twice = replayed(config, "-", stdin=scored + scored)
    assert (twice["records"], twice["repeated"], twice["unreadable"]) == (21, 21, 2)
    assert twice["levels"] == replayed(config, "-", stdin=scored)["levels"]
    assert "  21 came again (topic, partition and offset of an event, or its event_id) and are left out\n" in assayd(
        "calibration", "--config", config, "--replay", "-", stdin=scored + scored).stdout
    for weight in ("0", "-1", "1e308", "1e-300"):
        heavy = json.loads(scored.splitlines()[0]) | {"label": {"value": 1, "correct": True, "source": "RESULT", "weight": float(weight)}}
        done = assayd("calibration", "--config", config, "--replay", "-", stdin=json.dumps(heavy))
        assert done.returncode == DATA and "the first, line 1: its label weighs " in done.stdout, done
        assert "none of the 1 records can be read; the first: its label weighs" in done.stderr, done
    packed, blocked = tmp_path / "records.jsonl.gz", tmp_path / "records.avro"
    packed.write_bytes(gzip.compress(scored.encode()))
    blocked.write_bytes(b"Obj\x01\x02\x14avro.codec\x0abzip2\x00" + bytes(16))
    for arguments, status, sentence in (
            (["--replay", str(packed)], DATA, "is compressed with gzip: decompress it first"),
            (["--replay", str(blocked)], DATA, 'the codec "bzip2"; those that are read are "null" and "deflate"'),
            (["--replay", str(tmp_path / "nothing")], NO_INPUT, "nothing: No such file"),
            (["--replay", str(records), "--accuracy", "90"], USAGE, "write for example 0.9"),
            (["--replay", str(records), "--model-version", "x"], USAGE, '"x" is no number of a model'),
            (["--replay", str(records), "--model-version", "3"], CONFIG, "has no group calibration")):
        done = assayd("calibration", "--config", config, *arguments)
        assert done.returncode == status and sentence in one_sentence(done), done


def test_replay_of_a_topic(kafka, topics, config_file):
    settings = topics(2).settings(kafka)
    done = assayd("calibration", "--config", config_file({"kafka": settings}), "--replay-topic")
    assert done.returncode == 0 and "Replay of 0 records\n" in done.stdout, done
    done = assayd("calibration", "--config", config_file({"kafka": settings}), "--replay-topic", "--window", "1y")
    assert done.returncode == USAGE and "is no time span, or is longer than 366d" in one_sentence(done)
    done = assayd("calibration", "--config", config_file({"kafka": {**settings, "scored_topic": "nowhere"}}), "--replay-topic")
    assert done.returncode == UNAVAILABLE and "nowhere: " in one_sentence(done), done


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
    assert assayd("config", "digest", config).stdout == record["provenance"]["config_digest"] + "\n"


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


def test_check_names_all_missing_topics(kafka, topics, config_file):
    made = topics(1)
    missing = {kind: f"none-{kind}" for kind in ("input_topic", "scored_topic", "dead_letter_topic", "feedback_topic")}
    done = assayd("check", "--config", config_file({
        "kafka": made.settings(kafka, **missing), "calibration": {"dsn": "host=127.0.0.1 port=1", "feedback_horizon_s": 60}}))
    told = [line for line in found(done, "error") if line.startswith("kafka: ")]
    assert [re.search(r'^kafka: kafka.(\w+): topic "([^"]+)" does not exist: create it', line).groups() for line in told] == \
        list(missing.items()), done
    assert f'topic "{made.advisory}" has a single replica' in done.stdout, "the one that is there is looked at"
    assert not set(missing.values()) & set(kafka.topics()), "nothing was made by looking"


@pytest.mark.parametrize("horizon_h,told", [(23, []), (25, ["scored", "feedback"])])
def test_check_compares_retention_with_the_horizon_of_feedback(horizon_h, told, kafka, topics, postgres, calibration_database,
                                                               config_file):
    made = topics(1, retention_ms=48 * 3600 * 1000)
    done = assayd("check", "--config", config_file({
        "kafka": made.settings(kafka),
        "calibration": {"dsn": postgres.dsn(calibration_database, "assayd"), "feedback_horizon_s": horizon_h * 3600}}))
    assert done.returncode == 0, done
    assert [line.split('"')[1] for line in found(done, "warning") if "keeps messages for" in line] == \
        [getattr(made, kind) for kind in told], done


def test_check_compares_connections_with_the_limit_of_the_role(kafka, topics, postgres, shop_target, config_file):
    postgres.execute("CREATE ROLE narrow LOGIN CONNECTION LIMIT 3; ALTER ROLE narrow SET default_transaction_read_only = on;"
                     "GRANT CONNECT ON DATABASE shop TO narrow", "shop")
    dsn = postgres.dsn("shop", "narrow")
    targets = [{**shop_target, "name": "fits", "dsn": dsn, "connections": 3},
               {**shop_target, "name": "role", "dsn": dsn, "connections": 4}, {**shop_target, "name": "free", "connections": 64}]
    done = assayd("check", "--config", config_file({"kafka": topics(1).settings(kafka), "targets": tuple(targets)}))
    warnings = [line for line in found(done, "warning") if "connections = " in line]
    assert len(warnings) == 1, done
    assert 'target "role": connections = 4, and the role "narrow" may have 3 (CONNECTION LIMIT)' in warnings[0], done


def test_check_asks_who_has_the_http_port_and_the_name(rig, config_file):
    kafka = rig.start().config["kafka"]
    rig.send([events.encode(events.sure())])
    rig.scored(1)  # it is in its group

    def check(listen, **settings):
        return assayd("check", "--config", config_file({"kafka": {**kafka, **settings}, "http": {"listen": listen}}))

    def lines(done, kind, part):
        return [line for line in found(done, kind) if part in line]

    name = f'an instance "{kafka["instance_id"]}" is in group "{kafka["group_id"]}"'
    done = check(f"127.0.0.1:{rig.daemon.http_port}")
    assert done.returncode == 0 and lines(done, "note", "an assayd on this machine") and lines(done, "note", name), done
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        done = check(f"127.0.0.1:{somebody.getsockname()[1]}", instance_id="another")
        assert done.returncode == UNAVAILABLE and lines(done, "error", "already in use") and not found(done, "note"), done
    done = check("0.0.0.0:0", instance_id="another")
    assert lines(done, "warning", "http.listen is not a loopback address"), done
    done = check("127.0.0.1:0", instance_id="another")
    assert "http" in found(done, "ok") and not lines(done, "warning", "http"), done


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


def test_check_remarks_on_topics_that_do_not_fit_each_other(kafka, topics, config_file):
    made = topics(1, max_message_bytes=900_000)
    config = {"kafka": made.settings(kafka, max_message_bytes=500_000)}
    done = assayd("check", "--config", config_file(config))
    assert done.returncode == 0, done.stdout + done.stderr
    assert assayd("check", "--strict", "--config", config_file(config)).returncode == CONFIG
    notes = [line.removeprefix("kafka: ") for line in found(done, "warning")]
    for kind in ("input", "scored", "advisory", "dead_letter"):
        assert (f'topic "{getattr(made, kind)}" has a single replica: a lost broker loses messages; give it three where there are as '
                'many brokers') in notes
    assert any(made.input in note and "kafka.max_message_bytes is 500000" in note and note.endswith("set its max.message.bytes to 500000")
               for note in notes), notes
    assert any(made.scored in note and "published without the event" in note and "set its max.message.bytes to " in note
               for note in notes), notes
    assert not any("large dead letters are truncated" in note for note in notes), notes
    assert not any("cleanup.policy" in note or "keeps records" in note for note in notes), notes


def test_check_remarks_on_topics_that_lose_records(kafka, topics, config_file):
    made = topics(1, cleanup_policy="compact", retention_ms=48 * 3600 * 1000)
    config = {"kafka": made.settings(kafka)}
    done = assayd("check", "--config", config_file(config))
    assert done.returncode == 0, done.stdout + done.stderr
    assert assayd("check", "--strict", "--config", config_file(config)).returncode == CONFIG
    notes = [line.removeprefix("kafka: ") for line in found(done, "warning")]
    compacted = [note.split('"')[1] for note in notes if "cleanup.policy = compact" in note]
    assert compacted == [made.input, made.scored, made.advisory, made.dead_letter]
    assert any(f'"{made.scored}" keeps records for 48 h' in note for note in notes), notes


# An operating system command, a cleared screen, C1 in both forms, a turned direction, what ends a line, a deletion.
HOSTILE = "\x1b]0;evil\x07\x1b[2J\u009b31m\u202eevil\u2066\u2028\r\n\b\x7f"


def on_terminal(*arguments, stdin=b"", timeout=120):
    """What a command writes to the terminal that its output and error are: (status, bytes)."""
    ours, theirs = pty.openpty()
    attributes = termios.tcgetattr(theirs)
    attributes[1] &= ~termios.OPOST  # line feeds stay what they are
    termios.tcsetattr(theirs, termios.TCSANOW, attributes)
    with subprocess.Popen([BINARY, *arguments], stdin=subprocess.PIPE, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        process.stdin.write(stdin)
        process.stdin.close()
        said = b""
        with contextlib.suppress(OSError):  # EIO: nobody has the terminal any more
            while some := os.read(ours, 65536):
                said += some
        os.close(ours)
        return process.wait(timeout), said


def assert_fit(said):
    """Valid UTF-8, and nothing in it that a terminal obeys, but for the ends of lines."""
    text = said.decode()  # raises where it is none
    obeyed = re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]", text)
    assert not obeyed, (obeyed, text)
    return text


def test_score_for_a_person_says_what_it_waits_for_and_no_reason_twice(config_file, tmp_path):
    sqlite3.connect(tmp_path / "shop.db").close()
    config = config_file({"targets": ({"name": "shop", "engine": "sqlite", "path": str(tmp_path / "shop.db")},)})
    typed = b'{"sql": "SELECT 1 AS a", "target": "shopp"}\n'
    status, said = on_terminal("score", "--config", config, stdin=typed)
    assert status == 0 and said.count(b'"shopp" is configured; did you mean "shop"?') == 2, said  # because, not had
    ours, theirs = pty.openpty()
    os.write(ours, typed + b"\x04")
    for arguments, expect in (("score",), 0), (("produce", "--dry-run"), DATA):
        done = subprocess.run([BINARY, *arguments, "--config", config], stdin=theirs, capture_output=True, timeout=120, check=False)
        assert done.returncode == expect and done.stderr.startswith(b"assayd: type events, one a line, as {"), done
        os.write(ours, typed + b"\x04")
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_nothing_of_an_event_reaches_a_terminal_unescaped(options, judge, shop_target, config_file, tmp_path):
    judge.answer = lambda prompt: Answer(text=json.dumps({"score": 50, "reason": HOSTILE, "verdict": "incorrect"}))
    config = config_file({"targets": (shop_target,), "judge": judge.settings()})
    catalog = tmp_path / "catalog.sql"
    catalog.write_bytes(b"CREATE TABLE t (a int);\nCREATE TABLE \"\x1b[2J\" (a \"\xc2\x9b[31m\");\nALTER TABLE \"\x1b]0;\" ADD b int;\n")
    lines = [json.dumps(event).encode() for event in (
        {"event_id": HOSTILE, "sql": f"SELEC '{HOSTILE}'", "target": HOSTILE, "question": HOSTILE},
        {"event_id": HOSTILE, "sql": f'SELECT "{HOSTILE}" FROM customers', "target": "shop", "dialect": HOSTILE},
        {"event_id": HOSTILE, "sql": f'SELECT 1 AS "{HOSTILE}"', "target": "shop", "question": HOSTILE,
         "ground_truth": {"sql": f"SELECT '{HOSTILE}'::int", "results": [{"columns": [HOSTILE], "rows": [[HOSTILE]]}]}},
        {"event_id": HOSTILE, "sql": f'DROP TABLE "{HOSTILE}"', HOSTILE: HOSTILE},
        {"event_id": HOSTILE, "sql": 5})]
    lines += [b"\x1b[2J\x9b31m", b'{"sql": "\x9b\x1b[31m"}', json.dumps({"sql": "x"}).encode()[:-1] + HOSTILE.encode()]
    status, said = on_terminal("score", "--config", config, "--catalog", str(catalog), *options, stdin=b"\n".join(lines) + b"\n")
    text = assert_fit(said)
    assert status == 0
    assert "\\u001b]0;evil\\u0007" in text and "\\u009b31m\\u202e" in text, text
    if options:  # escapes of JSON: the same text
        records = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        assert len(records) == len(lines) + 1 and records[0]["event_id"] == HOSTILE


def test_nothing_of_a_configuration_or_server_reaches_a_terminal_unescaped(kafka, topics, postgres, shop_target, config_file):
    evil = "\x1b]0;evil\x07\u009b\u202e"
    written = evil.replace("\x1b", "\\x1b").replace("\x07", "\\x07")
    text = config_text({"kafka": {**topics(1).settings(kafka), "group_id": "EVIL"},
                        "targets": ({"name": "EVIL", **{k: v for k, v in shop_target.items() if k != "name"},
                                     "required_columns": ("EVIL.EVIL",)},
                                    {"name": "other", "engine": "sqlite", "path": "/EVIL"}),
                        "judge": {"provider": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "EVIL", "timeout_ms": 1000},
                        "calibration": {"dsn": postgres.dsn("EVIL", "assayd")}}).replace("EVIL", written)
    config = config_file(text)
    for arguments in (["check"], ["check", "--offline"], ["calibration"], ["score"]):
        status, said = on_terminal(*arguments, "--config", config)
        shown = assert_fit(said)
        assert "\\u001b]0;evil\\u0007\\u009b\\u202e" in shown or arguments == ["score"], (arguments, shown)
    for wrong in (f'kafka: {{ input_topic = "{written}"; }};', f'judge: {{ base_url = "http://127.0.0.1:1/{written}"; }};',
                  f"# \ud83d\n{evil} = 5;", f'kafka: {{ wire_format = "{written}"; }};'):
        path = config_file(wrong.encode("utf-8", "replace").decode())
        for command in ("run", "check"):
            status, said = on_terminal(command, "--config", path)
            assert status == CONFIG and assert_fit(said)


@pytest.mark.parametrize("arguments", [["\x1b[2J"], ["score", "--\x1b[2J"], ["score", "\udc9b31m"],
                                       ["run", "--config", "/no/\x1b[2J\udc9b"], ["check", "--config", "/no/\u202e"],
                                       ["score", "--catalog", "/no/\x1b"]])
def test_nothing_of_an_argument_reaches_a_terminal_unescaped(arguments):
    status, said = on_terminal(*arguments)
    assert status in (USAGE, NO_INPUT) and assert_fit(said)
