"""Other people's Kafka clients against assayd: the examples of packaging/examples, and programs on the same libraries that do
what tests/long/clients asks (clients/matrix.*): they read a JSON object a line and answer each with one.

    {"do": "write", "topic", "framing", "schema", "events"}     framing: single, prefix, guid, json    -> {}
    {"do": "read", "topic", "count", "framing", "writers", "readers"}    readers: name to schema      -> {"headers", "values"}

Values are plain JSON, times in milliseconds; of a reader that fails the value is the reason. What fails as a whole is {"error"}.

    other_clients.py fetch      has npm and Maven fetch what TypeScript and Java need, and compiles both, into the cache (ASSAYD_CACHE,
                                default ~/.cache/assayd); 77 where one cannot be had. Go is asked for by tests/long/clients alone.
"""

import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

import wire

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "packaging" / "examples"
MATRIX = pathlib.Path(__file__).resolve().parent / "clients"
JAVA_HOME = pathlib.Path("/usr/lib/jvm/java-17-openjdk-amd64")
COMPILER = "org.eclipse.jdt:ecj:3.33.0"  # a JRE has no compiler


class Unavailable(Exception):
    """It cannot be had on this machine; the text says why."""


def _cache():
    return pathlib.Path(os.environ.get("ASSAYD_CACHE") or
                        pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "assayd")


def _made(name, files, make):
    """The folder of the cache that `make(folder)` fills once for these contents."""
    digest = hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
    folder = _cache() / f"{name}-{digest[:16]}"
    if not folder.exists():
        _cache().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="fetch.", dir=_cache()) as work:
            made = pathlib.Path(work, "made")
            made.mkdir()
            for file in files:
                shutil.copy(file, made)
            make(made)
            with contextlib.suppress(OSError):  # somebody else was faster
                made.rename(folder)
    return folder


def _run(what, *command, cwd, fetching, **environment):
    """Runs a step: what a registry does not give is unavailable, what does not compile, or warns, an error."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=600, check=False, env={**os.environ, **environment})
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if "ERR" in line] or done.stdout.splitlines()
        if fetching:
            raise Unavailable(f"{what}: {' '.join(lines[:2])}")
        raise RuntimeError(f"{what}: {done.stdout}")
    if not fetching and done.stdout.strip():
        raise RuntimeError(f"{what} does not go without a word: {done.stdout}")


def _program(name, *places):
    found = next((path for place in (None, *places) if (path := shutil.which(name, path=place))), None)
    if not found:
        raise Unavailable(f"{name} is not installed")
    return found


def typescript():
    """What runs a program of it: client.js and matrix.js are there."""
    node, npm = _program("node"), _program("npm")
    source = EXAMPLES / "typescript"

    def make(folder):
        _run("npm", npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", cwd=folder, fetching=True)
        settings = json.loads((folder / "tsconfig.json").read_text())
        settings["files"].append("matrix.ts")
        (folder / "tsconfig.json").write_text(json.dumps(settings))
        _run("tsc", node, "node_modules/typescript/bin/tsc", cwd=folder, fetching=False)

    folder = _made("clients-typescript", [source / "package.json", source / "tsconfig.json", source / "client.ts", MATRIX / "matrix.ts"], make)
    return {"client": [node, str(folder / "build/client.js")], "matrix": [node, str(folder / "build/matrix.js")]}


def java():
    if not (JAVA_HOME / "bin/java").exists():
        raise Unavailable(f"no Java 17 in {JAVA_HOME} (package openjdk-17-jre-headless)")
    maven, command = _program("mvn"), [str(JAVA_HOME / "bin/java"), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]
    source = EXAMPLES / "java"

    def make(folder):
        plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
        for step in (["dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=jars"],
                     [f"{plugin}:copy", f"-Dartifact={COMPILER}", "-DoutputDirectory=compiler"]):
            _run("Maven", maven, "-B", "-q", "-Dstyle.color=never", *step, cwd=folder, fetching=True, JAVA_HOME=str(JAVA_HOME))
        _run("the Java compiler", *command, "compiler/*", "org.eclipse.jdt.internal.compiler.batch.Main", "-17", "-proc:none", "-failOnWarning",
             "-cp", ":".join(f"jars/{jar.name}" for jar in (folder / "jars").glob("*.jar")), "-d", "classes", "Client.java", "Matrix.java",
             cwd=folder, fetching=False)

    folder = _made("clients-java", [source / "pom.xml", source / "Client.java", MATRIX / "Matrix.java"], make)
    command.append(f"{folder}/classes:{folder}/jars/*")
    return {"client": [*command, "Client"], "matrix": [*command, "Matrix"]}


def _go_module(name, files, arrange, *packages):
    """The folder of the programs that Go makes of a module, whose go.mod is the first file."""
    program = _program("go", "/usr/local/go/bin")
    environment = {"GOTOOLCHAIN": "local", "GOFLAGS": "-trimpath", "GOWORK": "off"}
    wanted = re.search(r"^go (\d+)\.(\d+)", files[0].read_text(), re.MULTILINE)
    version = subprocess.run([program, "env", "GOVERSION"], capture_output=True, text=True, check=False, timeout=60, env={**os.environ, **environment}).stdout
    numbers = re.match(r"go(\d+)\.(\d+)", version)
    if not numbers or tuple(map(int, numbers.groups())) < tuple(map(int, wanted.groups())):
        raise Unavailable(f"Go is too old: {version.strip() or 'of unknown version'}")

    def make(folder):
        arrange(folder)
        _run("Go", program, "mod", "download", cwd=folder, fetching=True, **environment)
        _run("go vet", program, "vet", "./...", cwd=folder, fetching=False, **environment)
        _run("go build", program, "build", "-o", "bin/", *packages, cwd=folder, fetching=False, **environment)

    return _made(name, files, make) / "bin"


def go():
    def arrange(folder):
        (folder / "matrix").mkdir()
        (folder / "matrix.go").rename(folder / "matrix/main.go")

    source = EXAMPLES / "go"
    programs = _go_module("clients-go", [source / "go.mod", source / "go.sum", source / "main.go", MATRIX / "matrix.go"], arrange, ".", "./matrix")
    return {"client": [str(programs / "client")], "matrix": [str(programs / "matrix")]}


def go_program(name, source):
    """The program that Go makes of the module of a folder, which calls it the same; PostgreSQL's parser takes a C compiler, and minutes."""
    _program("cc")
    programs = _go_module(name, [source / "go.mod", source / "go.sum", *sorted(source.glob("*.go"))], lambda folder: None, ".")
    return programs / name


def python(interpreter):
    """By the interpreter that servers/registry/registry.sh made."""
    return {"client": [interpreter, str(EXAMPLES / "python/client.py")], "matrix": [interpreter, str(MATRIX / "matrix.py")]}


class Example:
    """One of the examples against a broker and, unless it is to speak JSON, a registry."""

    def __init__(self, command, bootstrap, registry_url=None):
        self._command = command
        self._environment = {**os.environ, "KAFKA_BOOTSTRAP": bootstrap, "PYTHONUNBUFFERED": "1"}
        self._environment.pop("SCHEMA_REGISTRY_URL", None)
        if registry_url:
            self._environment["SCHEMA_REGISTRY_URL"] = registry_url

    def produce(self, topic, question, sql, *target):
        """The event_id that it prints."""
        done = subprocess.run([*self._command, "produce", topic, question, sql, *target], env=self._environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=180, check=False)
        assert done.returncode == 0 and not done.stderr, done
        return done.stdout.strip()

    def read(self, count, topic, *header):
        """The first lines that it prints; it is ended by what Ctrl-C sends."""
        with subprocess.Popen([*self._command, "read", topic, *header], env=self._environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              # where tests run in the background it is ignored
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as running:
            patience = threading.Timer(180, running.kill)
            patience.start()
            try:
                lines = [running.stdout.readline().strip() for _ in range(count)]
            finally:
                patience.cancel()
                running.send_signal(signal.SIGINT)
                try:
                    running.wait(30)
                except subprocess.TimeoutExpired:
                    running.kill()
            said = running.stderr.read()
        assert not said and all(lines), (lines, said)
        return lines


def _try_mistake(command, environment, words, said):
    done = subprocess.run([*command, *words], env={**os.environ, **environment}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=180, check=False)
    one_line = done.returncode == 1 and not done.stdout and re.fullmatch(said + "\n", done.stderr)
    return [] if one_line else [f"{words}: {said}: {done}"]


def _mistakes(bootstrap, topic, registry_url):
    """Things that an example needs and that are not there: environment, words, and the line that it says, with the exit status 1."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        nobody = f"127.0.0.1:{gone.getsockname()[1]}"
    there, words = {"KAFKA_BOOTSTRAP": bootstrap, "SCHEMA_REGISTRY_URL": registry_url}, ["produce", topic, "Which?", "SELECT 1"]
    return [({**there, "KAFKA_BOOTSTRAP": nobody}, words, f"no broker answers at {nobody}: .*; start it, or correct KAFKA_BOOTSTRAP"),
            (there, ["read", "no.such.topic"], f"{bootstrap} has no topic no.such.topic.*; create it, or correct its name"),
            ({**there, "SCHEMA_REGISTRY_URL": f"http://{nobody}"}, words,
             f"the schema registry http://{nobody}: .*; start it, or correct SCHEMA_REGISTRY_URL")]


def try_example(command, kafka, topics, registry_url, wire_format):
    """What an example does wrong with a daemon of that kafka.wire_format ("confluent", "json"): a text for each fault. One event goes
    in as JSON and one as Avro; records and advisories are read, these by a header, and compared with what Apache's Avro decodes.
    Beside it, what it says of what is not there."""
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        faults = [pool.submit(_try_mistake, command, *mistake) for mistake in _mistakes(kafka.bootstrap, topics.input, registry_url)]
        return sum((fault.result() for fault in faults), _try_work(command, kafka, topics, registry_url, wire_format))


def _try_work(command, kafka, topics, registry_url, wire_format):
    by_avro = Example(command, kafka.bootstrap, registry_url)
    by_json = Example(command, kafka.bootstrap)
    unsafe = by_json.produce(topics.input, "Who has to go?", "DELETE FROM customers")
    broken = by_avro.produce(topics.input, "How many customers live in each city?", "SELECT FROM WHERE")
    nowhere = by_json.produce(topics.input, "How many customers are there?", "SELECT count(*) FROM customers", "nowhere")
    values = [message.value() for message in kafka.read(topics.scored, 3, timeout=60)]
    records = map(json.loads, values) if wire_format == "json" else [wire.SCORED_QUERY.decode(wire.SCORED_QUERY.header + value[5:]) for value in values]
    expected = {f"{record['event_id']} {record['confidence']['level']} {record['disposition']['action']} {record['confidence']['overall']:.2f}"
                if str(record["event_id"]) != nowhere else f"{nowhere} none WITHHOLD none" for record in records}
    faults = []
    reader = by_json if wire_format == "json" else by_avro
    if (read := set(reader.read(3, topics.scored))) != expected or {line.split()[0] for line in read} != {unsafe, broken, nowhere}:
        faults.append(f"records: {read} for {expected}")
    kafka.read(topics.advisory, 3, timeout=60)  # there are three: only that with the header may be printed
    if (read := reader.read(1, topics.advisory, "kind=LOW_CONFIDENCE")) != [f"{broken} VERY_LOW_CONFIDENCE WITHHOLD 0.00"]:
        faults.append(f"advisories: {read}")
    return faults


class Matrix:
    """One process of a client that does many cells."""

    def __init__(self, command, bootstrap, registry_url):
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
                                         env={**os.environ, "KAFKA_BOOTSTRAP": bootstrap, "SCHEMA_REGISTRY_URL": registry_url})

    def ask(self, **task):
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        return json.loads(line) if line else {"error": f"it ended with {self._process.wait()}"}

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()


if __name__ == "__main__":
    status = 0
    for language in (java, typescript):
        try:
            language()
        except Unavailable as reason:
            print(f"{language.__name__} examples: {reason}", file=sys.stderr)
            status = 77
    sys.exit(status)
