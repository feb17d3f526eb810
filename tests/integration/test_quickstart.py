"""packaging/quickstart, the first command of the README, as a newcomer runs it."""

import contextlib
import os
import pathlib
import shlex
import signal
import socket
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


def test_a_mongodb_target_is_shown(mongodb):
    """Whose server can be had here, as the fixture says."""
    if pathlib.Path(BINARY).resolve() != ROOT / "build" / "release" / "assayd":
        pytest.skip("it builds and runs build/release, which is not what is tested here")
    assert mongodb.port
    done = subprocess.run([ROOT / "packaging" / "quickstart", "--mongodb"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stdout
    assert "341 events went in; 340 scored records and 1 dead letter(s) came out." in done.stdout
    lines = done.stdout.splitlines()
    at = lines.index("MongoDB: queries of mongosh on a target of their own") + 2
    actions = [line.split()[0] for line in lines[at:at + 14:2]]
    assert actions == ["USE", "USE", "WITHHOLD", "USE_WITH_CAUTION", "WITHHOLD", "WITHHOLD", "WITHHOLD"], done.stdout


@contextlib.contextmanager
def kept():
    """The quickstart that goes on: the commands that it prints, the last one for asking its assistant."""
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
            yield [line.strip() for line in said if line.startswith("  ")]
        finally:
            running.send_signal(signal.SIGINT)
            rest = running.stdout.read()
        assert running.wait(60) == 130
        assert rest.endswith("\nEverything that was started here is stopped and removed.\n"), rest


def shell(command):
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and done.stderr == "", (command, done)
    return done.stdout


def looks_at_what_came_out(commands):
    """As they are printed; `top` needs a terminal, and reads what the status page does."""
    scored, dead, top, produce, show = [line for line in commands if "build/release/assayd " in line]
    assert len(shell(scored).splitlines()) == 10 and "json_shape" in shell(dead), (scored, dead)
    assert "ready since" in shell(f"{top} --once")
    pasted = shell(f"{produce}\n{show}")
    assert "1 produced" in pasted and 'did you mean "orders"?' in pasted, pasted


def test_what_is_kept_can_be_looked_at_and_asked():
    if pathlib.Path(BINARY).resolve() != ROOT / "build" / "release" / "assayd":
        pytest.skip("it builds and runs build/release, which is not what is tested here")
    with kept() as commands:
        looks_at_what_came_out(commands)
        command = shlex.split(commands[-1])[:-1]
        for question, action, text in [
                ("How many orders are paid?", "", "SELECT count(*) FROM orders WHERE status = 'paid'"),
                ("What did we earn with books?", "WITHHOLD", 'relation "order_item" does not exist; did you mean "order_items"?'),
                ("Please remove the cancelled orders.", "WITHHOLD", "DELETE FROM orders"),
                ("What is the meaning of it all?", "WITHHOLD", 'relation "knowledge" does not exist')]:
            done = subprocess.run([*command, question], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
            assert text in done.stdout and action in done.stdout and done.stderr == "", (question, done)
            assert done.returncode == (1 if action else 0), (question, done)
        with socket.create_server(("127.0.0.1", 0)) as gone:
            nobody = f"http://127.0.0.1:{gone.getsockname()[1]}/v1"
        done = subprocess.run([*command, "--model-url", nobody, "Which?"], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 1 and done.stdout == "" and done.stderr.startswith(f"no model answers at {nobody}: ") and \
            done.stderr.count("\n") == 1, done
