"""The alert rules and dashboards of conf/monitoring: every rule is tried, and every metric that they name exists.

    tests/harness/house/rules.py      promtool's own checks, then these; exit status 77 without promtool
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "conf" / "monitoring"
DEFINITIONS = pathlib.Path(__file__).resolve().parents[3] / "daemon" / "http" / "metrics.def"
MANUAL = FOLDER.parents[1] / "packaging" / "man" / "assayd-operations.7.in"
OTHERS = {"up"}  # Prometheus' own
SUFFIXES = {"COUNTER": ("_total",), "INFO": ("_info",), "GAUGE": ("",), "HISTOGRAM": ("_bucket", "_count", "_sum")}


def defined():
    """Names of all samples that there may be."""
    lines = re.findall(r'^METRIC\(\w+, (\w+), "(\w+)",', DEFINITIONS.read_text(encoding="utf-8"), re.MULTILINE)
    assert lines
    return {name + suffix for kind, name in lines for suffix in SUFFIXES[kind]}


def expressions():
    """Every expression of rules, and of dashboards where there are some."""
    rules = (FOLDER / "assayd.rules.yml").read_text(encoding="utf-8")
    found = [block or line for block, line in re.findall(r"expr: (?:\|\n((?: {10,}.*\n)+)|(.+))", rules)]
    assert len(found) == rules.count("expr:")
    for dashboard in FOLDER.glob("*.json"):
        found += [text.encode().decode("unicode_escape")
                  for text in re.findall(r'"expr":\s*"((?:[^"\\]|\\.)*)"', dashboard.read_text(encoding="utf-8"))]
    return found


def selectors():
    """(name of a sample, {label: value}) for everything that is asked for; labels that are compared otherwise are left out."""
    for expression in expressions():
        for name, inner in re.findall(r"\b((?:assayd|process)_\w+|up)\b(?:\{([^}]*)\})?", expression):
            yield name, dict(re.findall(r'(\w+)="([^"]*)"', inner))


def unrecorded():
    """Series that are asked for and that no rule records."""
    recorded = re.findall(r"- record: (assayd:\S+)", (FOLDER / "assayd.rules.yml").read_text(encoding="utf-8"))
    return {name for expression in expressions() for name in re.findall(r"\bassayd:[\w:]+", expression)} - set(recorded)


def untried():
    """Rules without a case in which they fire, or without one in which they are quiet."""
    rules = re.findall(r"- alert: (\w+)", (FOLDER / "assayd.rules.yml").read_text(encoding="utf-8"))
    assert len(set(rules)) == len(rules) > 0
    cases = (FOLDER / "assayd.rules.test.yml").read_text(encoding="utf-8")
    for rule in rules:
        found = re.findall(rf"alertname: {rule}\b,?\s*exp_alerts:(\s*\[\])?", cases)
        if not any(found) or all(found):
            yield rule


def untold():
    """Rules without a line that names their place in the manual, or without that place."""
    text = (FOLDER / "assayd.rules.yml").read_text(encoding="utf-8")
    manual = re.findall(r"^\.B (Assayd\w+)$", MANUAL.read_text(encoding="utf-8"), re.MULTILINE)
    for rule in re.findall(r"- alert: (\w+)", text):
        if text.count(f'runbook: "assayd-operations(7), {rule}"') != 1 or manual.count(rule) != 1:
            yield rule
    yield from set(manual) - set(re.findall(r"- alert: (\w+)", text))


def main():
    missing = sorted(({name for name, _ in selectors()} - defined() - OTHERS) | unrecorded())
    problems = [f"no such metric: {name}" for name in missing] + [f"no cases for {rule}, or of one kind only" for rule in untried()]
    problems += [f"{rule}: in the rules and in {MANUAL.name} once each" for rule in untold()]
    if problems:
        sys.exit("\n".join(problems))
    if not shutil.which("promtool"):
        print("no promtool (package prometheus)", file=sys.stderr)
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    for command in (["check", "rules", "assayd.rules.yml"], ["test", "rules", "assayd.rules.test.yml"]):
        subprocess.run(["promtool", *command], cwd=FOLDER, check=True)


if __name__ == "__main__":
    main()
