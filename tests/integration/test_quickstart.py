"""packaging/quickstart, the first command of the README, as a newcomer runs it."""

import os
import pathlib
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
