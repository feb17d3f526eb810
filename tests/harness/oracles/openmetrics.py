"""Metrics of the daemon, read by the parser of Prometheus' own Python client, and held against the format's rules."""

import collections
import math
import pathlib
import re
import time

from prometheus_client.openmetrics import parser

ACCEPT = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
DEFINITIONS = pathlib.Path(__file__).resolve().parents[3] / "daemon" / "http" / "metrics.def"


def defined():
    """{family: (type, unit)} as the table of metrics has them."""
    lines = re.findall(r'^METRIC\(\w+, (\w+), "(\w+)", "(\w*)", ".+"\)$', DEFINITIONS.read_text(encoding="utf-8"),
                       re.MULTILINE)
    return {name: (kind.lower(), unit) for kind, name, unit in lines}


def check_histogram(family):
    """Buckets only grow, end at +Inf with the count, and there is a sum."""
    series = collections.defaultdict(list)
    counts = {}
    for sample in family.samples:
        labels = tuple(sorted((name, value) for name, value in sample.labels.items() if name != "le"))
        if sample.name.endswith("_bucket"):
            series[labels].append((float(sample.labels["le"]), sample.value))
        else:
            counts[sample.name.rpartition("_")[2], labels] = sample.value
    assert series
    for labels, buckets in series.items():
        assert buckets == sorted(buckets) and [count for _, count in buckets] == sorted(count for _, count in buckets)
        assert buckets[-1] == (math.inf, counts["count", labels])
        assert counts["sum", labels] >= 0


def families(text):
    """{family: {labels: value}} of an exposition, which has to keep all rules; labels are a frozenset of pairs."""
    assert text.endswith("# EOF\n")
    table, read = defined(), {}
    for family in parser.text_string_to_metric_families(text):
        assert family.documentation and (family.type, family.unit) == table[family.name], family.name
        assert family.name not in read
        assert text.count(f"\n# TYPE {family.name} ") + text.startswith(f"# TYPE {family.name} ") == 1
        assert not family.unit or family.name.endswith("_" + family.unit)
        if family.type == "histogram":
            check_histogram(family)
        suffix = {"counter": "_total", "info": "_info"}.get(family.type, "")
        samples = {}
        for sample in family.samples:
            assert family.type == "histogram" or sample.name == family.name + suffix
            key = frozenset([*sample.labels.items(), ("", sample.name)] if family.type == "histogram"
                            else sample.labels.items())
            assert key not in samples, f"{sample} is there twice"
            assert family.type != "counter" or sample.value >= 0
            samples[key] = sample.value
        read[family.name] = samples
    return read


class Metrics:
    """One look at the metrics of a daemon."""

    def __init__(self, daemon):
        status, text = daemon.get("/metrics", accept=ACCEPT)
        assert status == 200
        self.families = families(text)

    def value(self, family, **labels):
        """The sum of all samples that have these labels."""
        return sum(value for key, value in self.families[family].items() if key >= frozenset(labels.items()))


def await_metrics(daemon, condition, timeout=180):
    """The first metrics for which the condition holds."""
    deadline = time.monotonic() + timeout
    while not condition(metrics := Metrics(daemon)):
        assert time.monotonic() < deadline, metrics.families
        time.sleep(0.1)
    return metrics
