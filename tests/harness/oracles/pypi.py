"""Libraries from PyPI that Debian does not have, fetched once into the cache (ASSAYD_CACHE, default ~/.cache/assayd)."""

import contextlib
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

REQUIREMENTS = ("cloudevents==2.2.0", "opentelemetry-proto==1.45.2")


class Unavailable(Exception):
    """They cannot be had on this machine; the text says why."""


def fetch():
    """The folder that they are in, to be put on the path."""
    cache = pathlib.Path(os.environ.get("ASSAYD_CACHE") or
                         pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "assayd")
    name = f"{sys.version_info[:2]} {REQUIREMENTS}"
    folder = cache / f"pypi-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    if folder.exists():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetch.", dir=cache) as work:
        made = pathlib.Path(work, "libraries")
        for command in ([sys.executable, "-m", "venv", f"{work}/tools"],  # Debian's Python itself has no pip
                        [f"{work}/tools/bin/pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile",
                         "--only-binary", ":all:", "--target", made, *REQUIREMENTS]):
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
            if done.returncode:
                said = (done.stderr + done.stdout).strip().splitlines()
                raise Unavailable(f"pip cannot fetch {' '.join(REQUIREMENTS)}: {said[-1:]}")
        with contextlib.suppress(OSError):  # somebody else was faster
            made.rename(folder)
    return folder
