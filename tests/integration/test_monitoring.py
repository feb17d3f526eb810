"""What a person on call has: metrics in both formats, also beside clients that are slow; rules that speak of what there is;
and a journal that tells of many events in few lines."""

import collections
import contextlib
import fcntl
import html.parser
import json
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import termios
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from prometheus_client import parser as text_parser

import events
import openmetrics
import rules
from daemon import BINARY, config_text
from openmetrics import await_metrics
from receiver import Receiver

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
HOSTILE = 'a"b\\c\n\x1b[31m{}'


def scrape(daemon, accept=None):
    """(content type, text); `accept`: None for no such header."""
    headers = {"Accept": accept} if accept else {}
    request = urllib.request.Request(f"http://127.0.0.1:{daemon.http_port}/metrics", headers=headers)
    with urllib.request.urlopen(request, timeout=60) as reply:
        return reply.headers["Content-Type"], reply.read().decode()


@pytest.fixture
def receiver():
    with contextlib.closing(Receiver()) as server:
        yield server


@pytest.fixture
def busy(rig, receiver, tmp_path):
    """A daemon with something in every family."""
    key, secret = tmp_path / "key", tmp_path / "secret"
    secret.write_text("whsec_" + "MTEx" * 8)
    subprocess.run([BINARY, "audit", "key", "example.com/log", "--output", key], check=True, capture_output=True, timeout=60)
    rig.start(partitions=2, calibration={"model": "map"}, audit={"log": True, "key_file": str(key)},
              webhook={"url": receiver.url, "secret_file": str(secret)},
              otlp={"endpoint": receiver.base}, registry={"urls": ("http://127.0.0.1:1",)})
    made = [events.sure(application=name, question=f"Question {number}?", target="shop", **fields)
            for number, (name, fields) in enumerate([("sales", {}), ("sales", {"ground_truth": {"sql": events.CITY_COUNT}}),
                                                     ("sales", {"ground_truth": {"sql": events.TOTAL}}), (HOSTILE, {})])]
    made.append(events.sure("DELETE FROM orders", application="sales"))
    rig.send([events.message(event) for event in made] + [{"value": b"rubbish"}])
    rig.records = [record for _, record in rig.scored(len(made))]
    await_metrics(rig.daemon, lambda metrics: metrics.value("assayd_events_finished") == len(made) + 1)
    return rig


def test_metrics_come_in_the_format_that_is_asked_for(busy):
    texts = {}
    for accept, wanted in ((None, TEXT), ("*/*", TEXT), ("text/plain", TEXT), ("application/openmetrics-text", OPENMETRICS),
                           (openmetrics.ACCEPT, OPENMETRICS)):
        content_type, texts[wanted] = scrape(busy.daemon, accept)
        assert content_type == wanted, accept

    families = openmetrics.families(texts[OPENMETRICS])
    plain = collections.defaultdict(set)
    for family in text_parser.text_string_to_metric_families(texts[TEXT]):
        assert family.documentation and family.type in ("gauge", "counter", "histogram")
        for sample in family.samples:
            plain[sample.name].add(frozenset(sample.labels.items()))
    named = collections.defaultdict(set)
    for family in openmetrics.parser.text_string_to_metric_families(texts[OPENMETRICS]):
        for sample in family.samples:
            named[sample.name].add(frozenset(sample.labels.items()))
    assert plain == named
    assert set(families) == set(openmetrics.defined())

    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=texts[TEXT], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_metrics_are_broken_down_by_application_and_model(busy):
    now = openmetrics.Metrics(busy.daemon)
    for name in ("sales", HOSTILE):
        records = [record for record in busy.records if record["application"] == name]
        labels = {"application": name.replace("\n", " ").replace("\x1b", " "), "model": "model-a"}
        assert now.value("assayd_application_queries", **labels) == len(records) > 0
        for record in records:
            level = record["confidence"]["level"]
            assert now.value("assayd_application_queries", level=level, **labels) == sum(
                other["confidence"]["level"] == level for other in records)
        assert now.value("assayd_application_safety_verdicts", verdict="UNSAFE", **labels) == sum(
            record["safety"]["verdict"] == "UNSAFE" for record in records)
        for action in ("USE", "USE_WITH_CAUTION", "VERIFY", "WITHHOLD"):
            assert now.value("assayd_application_actions", action=action, **labels) == sum(
                record["disposition"]["action"] == action for record in records)
        assert now.value("assayd_application_decisions", decision="UNJUDGED", **labels) == sum(
            record["judge"]["decision"] == "UNJUDGED" for record in records)
        told = [record["label"] for record in records if record["label"]]
        assert now.value("assayd_application_labels", label="wrong", **labels) == sum(not label["correct"] for label in told)
        assert now.value("assayd_application_labels", **labels) == len(told)
        assert now.value("assayd_application_evaluations", **labels) == sum(bool(record["evaluation"]) for record in records)
    assert now.value("assayd_application_labels", application="sales", label="wrong", source="RESULT") == 1


def test_what_rules_ask_for_is_there(busy):
    """A label whose value does not exist makes a rule that never fires."""
    samples = collections.defaultdict(list)
    for family in text_parser.text_string_to_metric_families(scrape(busy.daemon)[1]):
        for sample in family.samples:
            samples[sample.name].append(sample.labels)
    for name, wanted in rules.selectors():
        wanted.pop("job", None)
        assert name in rules.OTHERS or any(wanted.items() <= labels.items() for labels in samples[name]), (name, wanted)


@pytest.fixture
def prometheus(busy, tmp_path):
    """ask(expression): what a real Prometheus that scrapes the daemon says now."""
    with socket.create_server(("127.0.0.1", 0)) as place:
        port = place.getsockname()[1]
    recording = (rules.FOLDER / "assayd.rules.yml").read_text(encoding="utf-8").replace("interval: 1m", "interval: 1s")
    (tmp_path / "rules.yml").write_text(recording)
    (tmp_path / "prometheus.yml").write_text(
        "global: { scrape_interval: 1s, evaluation_interval: 1s }\n"
        f"rule_files: [ {tmp_path}/rules.yml ]\n"
        f"scrape_configs: [ {{ job_name: assayd, static_configs: [ {{ targets: [ '127.0.0.1:{busy.daemon.http_port}' ] }} ] }} ]\n")
    with open(tmp_path / "prometheus.log", "w", encoding="utf-8") as log:
        server = subprocess.Popen(["prometheus", f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
                                   f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)

    def ask(expression):
        query = urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{query}", timeout=60) as reply:
                return json.load(reply)["data"]["result"]
        except urllib.error.HTTPError as error:
            raise AssertionError((expression, error.read().decode())) from error

    deadline = time.monotonic() + 120
    while True:  # two scrapes make a rate, and rules follow them
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=60).close()
            if ask("count_over_time(assayd_ready[1m]) >= 3") and len(ask("count by (slo) (assayd:slo_budget_left:30d)")) >= 2:
                break
        assert time.monotonic() < deadline, (tmp_path / "prometheus.log").read_text()
        time.sleep(0.5)
    yield ask
    server.terminate()
    server.wait(60)


@pytest.mark.skipif(not shutil.which("prometheus"), reason="there is no prometheus")
def test_every_panel_of_the_dashboard_shows_something(prometheus):
    """Each expression is one of Prometheus' language, and what it asks of a daemon that has everything is there."""
    dashboard = json.loads((rules.FOLDER / "assayd.dashboard.json").read_text(encoding="utf-8"))
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    assert len(panels) > 20 and len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    asked = [(panel["title"], target) for panel in panels for target in panel["targets"]]
    assert len(asked) == len([text for text in rules.expressions() if "$instance" in text])
    for title, target in asked:
        expression = target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")
        found = prometheus(expression)
        assert found, (title, expression)
        assert all(set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= set(series["metric"]) for series in found), (title, found[:2])
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            name, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"]).groups()
            assert all(label in series["metric"] for series in prometheus(name))
    for name in ("queries", "actions", "decisions", "safety_verdicts", "labels", "evaluations"):
        assert any(f"assayd_application_{name}_total" in target["expr"] for _, target in asked), name


def test_idle_clients_do_not_keep_prometheus_out(busy):
    """Silent ones, and some that never come to the end of their request; both come back when they are sent away."""
    address = ("127.0.0.1", busy.daemon.http_port)

    def come(number):
        client = socket.create_connection(address, timeout=60)
        with contextlib.suppress(OSError):
            client.sendall(b"GET /metrics HTTP/1.1\r\nX: " if number % 2 else b"")
        client.setblocking(False)
        return client

    crowd = [come(number) for number in range(500)]
    for _ in range(20):
        assert scrape(busy.daemon)[0] == TEXT
        for number, client in enumerate(crowd):
            try:
                gone = client.recv(1) == b""
                client.send(b"a" if number % 2 else b"")
            except BlockingIOError:
                gone = False
            except OSError:
                gone = True
            if gone:
                client.close()
                crowd[number] = come(number)
    for client in crowd:
        client.close()
    assert busy.daemon.get("/healthz") == (200, "ok\n")


def test_many_dead_letters_are_few_lines_that_tell_how_many(rig):
    count = 5000
    config = rig.config(partitions=2, judge=None, calibration=None, targets=None)
    daemon = rig.make(config)
    daemon.start()
    rig.send([{"value": b'{"event_id": "x", "\x1b[2J%d": ' % number if number % 5 else b"\x1b]0;rubbish\x07"}
              for number in range(count)])
    rig.dead_letters(count)
    deadline = time.monotonic() + 60
    while "dead letter" not in daemon.log():
        assert time.monotonic() < deadline, "it never says so"
        time.sleep(0.1)
    assert daemon.terminate() == 0
    lines = [line for line in daemon.log().splitlines() if re.search(r"\d dead letters?\b", line)]
    assert 1 <= len(lines) <= 10, lines
    told = [int(re.search(r": ([\d,]+) dead letter", line)[1].replace(",", "")) for line in lines]
    assert sum(told) == count
    reasons = collections.Counter()
    for line in lines:
        for number, reason in re.findall(r"([\d,]+) (\w+) \(first: ", line):
            reasons[reason] += int(number.replace(",", ""))
    assert sum(reasons.values()) == count and reasons["unknown_framing"] == count // 5, reasons
    assert f"(first: {rig.topics.input}/" in lines[0]
    assert "\x1b" not in daemon.log() and "\x07" not in daemon.log()


# ---- the status page ----


class Outline(html.parser.HTMLParser):
    """The texts of a page and its tags, of which each is closed where HTML wants that."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.open = collections.Counter(), [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        assert not any(name.startswith("on") for name, _ in attributes)
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags[tag] += 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def page_of(daemon, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{daemon.http_port}{path}", timeout=60) as reply:
        return reply.headers, reply.read().decode()


def test_the_status_page_says_what_metrics_say(busy):
    now = openmetrics.Metrics(busy.daemon)
    headers, text = page_of(busy.daemon, "/status.json")
    status = json.loads(text)
    assert headers["Content-Type"] == "application/json"
    assert status["ready"] and not status["stuck"] and status["reason"] is None
    totals = status["totals"]
    for level in ("HIGH", "MEDIUM", "LOW", "VERY_LOW"):
        assert totals["levels"][f"{level}_CONFIDENCE"] == now.value("assayd_events_finished", level=f"{level}_CONFIDENCE")
    for action, count in totals["actions"].items():
        assert count == sum(record["disposition"]["action"] == action for record in busy.records)
    assert totals["dead_letters"] == 1 and status["received"] == len(busy.records) + 1
    assert [target["name"] for target in status["targets"]] == ["shop"] and status["targets"][0]["up"]
    assert status["judges"][0]["requests"] == now.value("assayd_judge_requests")
    partitions = status["partitions"]
    assert {**partitions, "worst": None} == {"assigned": 2, "paused": 0, "stopped": 0, "recreated": 0, "worst": None}
    assert status["attention"] == []
    assert sum(len(bands) for bands in status["reliability"].values()) >= 1
    for bands in status["reliability"].values():
        assert all(0 <= band["correct"] <= 1 and band["from"] <= band["confidence"] <= band["to"] for band in bands)

    # The history is told once a second, and how partitions stand as often.
    deadline = time.monotonic() + 60
    done = [{"partition": partition, "state": "read", "oldest_age_ms": 0, "map_fill": 0, "behind": 0} for partition in (0, 1)]
    while (sum(sum(span["actions"].values()) for span in status["minutes"]) < len(busy.records)
           or [{**standing, "map_fill": 0} for standing in status["partitions"]["worst"]] != done):
        assert time.monotonic() < deadline
        time.sleep(0.2)
        status = json.loads(page_of(busy.daemon, "/status.json")[1])
    scored = sum(sum(span["actions"].values()) for span in status["hours"])
    assert scored == len(busy.records) == sum(sum(span["actions"].values()) for span in status["minutes"])
    assert (len(status["minutes"]), len(status["hours"])) == (180, 24)

    told = {advisory["event_id"]: advisory for advisory in status["advisories"]}
    unsafe = next(record for record in busy.records if record["safety"]["verdict"] == "UNSAFE")
    assert told[str(unsafe["event_id"])]["kinds"].startswith("UNSAFE_QUERY")
    assert unsafe["disposition"]["reasons"][0]["text"] in told[str(unsafe["event_id"])]["summary"]


def test_the_status_page_is_plain_markup(busy):
    """Nothing of others becomes markup, and the browser is told to run nothing."""
    busy.send([events.message(events.sure("DELETE FROM orders -- <script>alert(1)</script>", target="<b onload='x'>&\u202e",
                                          application="</code><img src=x onerror=alert(1)>"))])
    busy.scored(len(busy.records) + 1)
    headers, page = page_of(busy.daemon, "/status")
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in headers["Content-Security-Policy"] and "unsafe" not in headers["Content-Security-Policy"]
    outline = Outline(page)
    assert outline.tags["script"] == outline.tags["style"] == outline.tags["img"] == outline.tags["b"] == 0
    assert outline.tags["main"] == outline.tags["h1"] == 1 and outline.tags["svg"] >= 4
    text = "".join(outline.texts)
    assert "</code><img src=x onerror=alert(1)>" in text and "<b onload='x'>&\\u202e" in text
    assert "Ready since" in " ".join(text.split())
    policy = headers["Content-Security-Policy"]
    headers, root = page_of(busy.daemon, "/")
    assert headers["Content-Security-Policy"] == policy and "<strong>Ready</strong>" in root
    assert page_of(busy.daemon, "/status.css")[0]["Content-Type"] == "text/css; charset=utf-8"
    assert 'http-equiv="refresh"' in page_of(busy.daemon, "/status/live")[1] and 'http-equiv="refresh"' not in page


def test_the_status_page_tells_what_changed(busy):
    busy.daemon.signal(signal.SIGHUP)
    deadline = time.monotonic() + 30
    while True:
        changes = [change["text"] for change in json.loads(page_of(busy.daemon, "/status.json")[1])["changes"]]
        if "the configuration was loaded again" in changes:
            break
        assert time.monotonic() < deadline, changes
        time.sleep(0.2)
    assert "ready" in changes


def on_terminal(config, *arguments, rows=12, columns=60, frames=0, **environment):
    """What `top` draws; it is interrupted after so many frames, or ends by itself."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    drawn = b""
    with subprocess.Popen([BINARY, "top", "--config", config, *arguments], stdout=theirs, stdin=subprocess.DEVNULL,
                          env={**os.environ, "TERM": "xterm", **environment}) as running:
        os.close(theirs)
        deadline = time.monotonic() + 60
        while frames and drawn.count(b"\x1b[H") < frames and time.monotonic() < deadline:
            drawn += os.read(ours, 65536)
        if frames:
            running.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(ours, 65536):
                drawn += part
        assert running.wait(60) == 0
    os.close(ours)
    return drawn


def test_top_draws_the_page_on_a_terminal(busy, tmp_path):
    """One frame in a pipe; on a terminal again and again, and the screen is as it was when it ends."""
    config = tmp_path / "assayd.conf"
    config.write_text(config_text({**busy.daemon.config, "http": {"listen": f"127.0.0.1:{busy.daemon.http_port}"}}))
    done = subprocess.run([BINARY, "top", "--config", config], capture_output=True, text=True, timeout=60, check=True)
    assert re.match(r"assayd \S+  ready since ", done.stdout) and "target shop  up" in done.stdout and "\x1b" not in done.stdout
    done = subprocess.run([BINARY, "top", "--config", config, "--json"], capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout)["ready"] and done.stdout.count("\n") == 1

    drawn = on_terminal(config, frames=2)
    assert drawn.startswith(b"\x1b[?1049h") and drawn.endswith(b"\x1b[?1049l") and drawn.count(b"\x1b[H") >= 2
    assert drawn.count(b"\x1b[?7l") == drawn.count(b"\x1b[?7h") == 1, "what is too wide is cut off meanwhile"
    first = drawn.split(b"\x1b[H")[1]
    assert first.count(b"\n") == 11 and b"\x1b[32massayd" in first
    first = on_terminal(config, frames=2, rows=1, columns=20, NO_COLOR="1").split(b"\x1b[H")[1]
    assert re.fullmatch(rb"assayd \S+  ready.*\x1b\[K\r\n\x1b\[J", first), first
    assert b"\x1b[32m" in on_terminal(config, frames=2, NO_COLOR="").split(b"\x1b[H")[1]
    assert b"\x1b" not in on_terminal(config, TERM="dumb")
    assert json.loads(on_terminal(config, "--json"))["ready"]

    busy.daemon.terminate()
    done = subprocess.run([BINARY, "top", "--config", config], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 69 and "no answer at http://127.0.0.1:" in done.stderr
