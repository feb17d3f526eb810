"""packaging/quickstart, the first command of the README, as a newcomer runs it."""

import contextlib
import os
import pathlib
import shlex
import signal
import subprocess

import pytest

from daemon import BINARY

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_everything_comes_out():
    if pathlib.Path(BINARY).resolve() != ROOT / "build" / "release" / "assayd":
        pytest.skip("it builds and runs build/release, which is not what is tested here")
    done = subprocess.run([ROOT / "packaging" / "quickstart"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=400, check=False,
                          env={name: value for name, value in os.environ.items() if name != "KAFKA_BOOTSTRAP"})
    assert done.returncode == 0, done.stdout
    assert "334 events went in; 333 scored records and 1 dead letter(s) came out." in done.stdout


@contextlib.contextmanager
def kept():
    """The quickstart that goes on: the command that it prints for asking its assistant."""
    with subprocess.Popen([ROOT / "packaging" / "quickstart", "--keep"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, env={name: value for name, value in os.environ.items() if name != "KAFKA_BOOTSTRAP"}) as running:
        said = []
        try:
            for line in running.stdout:
                said.append(line)
                if line.startswith("  packaging/examples/python/ask.py"):
                    break
            else:
                raise AssertionError("".join(said))
            yield shlex.split(line)[:-1]
        finally:
            running.send_signal(signal.SIGINT)
            running.stdout.read()
        assert running.wait(60) == 130


def test_an_assistant_can_be_asked():
    if pathlib.Path(BINARY).resolve() != ROOT / "build" / "release" / "assayd":
        pytest.skip("it builds and runs build/release, which is not what is tested here")
    with kept() as command:
        for question, action, text in [
                ("How many orders are paid?", "", "SELECT count(*) FROM orders WHERE status = 'paid'"),
                ("What did we earn with books?", "WITHHOLD", 'relation "order_item" does not exist; did you mean "order_items"?'),
                ("Please remove the cancelled orders.", "WITHHOLD", "DELETE FROM orders"),
                ("What is the meaning of it all?", "WITHHOLD", 'relation "knowledge" does not exist')]:
            done = subprocess.run([*command, question], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
            assert text in done.stdout and action in done.stdout and done.stderr == "", (question, done)
            assert done.returncode == (1 if action else 0), (question, done)
