"""The daemon under test: its configuration file, its process and what it says."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

BINARY = os.environ.get(
    "ASSAYD_BIN", str(pathlib.Path(__file__).resolve().parents[3] / "build" / "release" / "assayd"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def config_text(value, depth=0):
    """A libconfig text of nested dicts, lists and scalars."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}L" if abs(value) >= 2**31 else str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, tuple):
        return "( " + ", ".join(config_text(item, depth) for item in value) + " )"
    if isinstance(value, list):
        return "[ " + ", ".join(config_text(item, depth) for item in value) + " ]"
    pad = "    " * depth
    lines = "".join(f"{pad}{name}{' =' if not isinstance(item, dict) else ':'} {config_text(item, depth + 1)};\n"
                    for name, item in value.items() if item is not None)
    return lines if depth == 0 else "{\n" + lines + "    " * (depth - 1) + "}"


class NotifySocket:
    """The service manager's end of sd_notify."""

    def __init__(self, path):
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.bind(path)
        self._socket.settimeout(0.2)
        self.messages = []
        self.times = []  # when each of them was heard
        self.ready = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self):
        while not self._ended.is_set():
            with contextlib.suppress(socket.timeout):
                for line in self._socket.recv(65536).decode(errors="replace").splitlines():
                    self.times.append(time.monotonic())
                    self.messages.append(line)
                    if line == "READY=1":
                        self.ready.set()

    def status(self):
        """The last STATUS= text."""
        return next((line[7:] for line in reversed(self.messages) if line.startswith("STATUS=")), "")

    def close(self):
        self._ended.set()
        self._thread.join()
        self._socket.close()


class Daemon:
    """`assayd run` with a configuration; may be started, ended and started again."""

    def __init__(self, config, environment=None):
        self.folder = tempfile.mkdtemp(prefix="assayd-run.")
        self.config = dict(config)
        self.config.setdefault("http", {"listen": "127.0.0.1:0"})
        self.config_file = os.path.join(self.folder, "assayd.conf")
        self.state = os.path.join(self.folder, "state")
        os.mkdir(self.state)
        self._environment = environment or {}
        self._log = open(os.path.join(self.folder, "log"), "ab")
        self._log_start = 0  # where it stood at the last start
        self._process = None
        self._notify = None
        self._session = None

    def write_config(self):
        with open(self.config_file, "w", encoding="utf-8") as file:
            file.write(config_text(self.config))

    def start(self, ready_timeout=180):
        """Starts it; waits for READY=1 unless `ready_timeout` is None."""
        assert self._process is None, "it runs already"
        self.write_config()
        self._log_start = os.path.getsize(os.path.join(self.folder, "log"))
        notify_path = os.path.join(self.folder, "notify")
        self._notify = NotifySocket(notify_path)
        self._process = subprocess.Popen(
            [BINARY, "run", "--config", self.config_file], stdin=subprocess.DEVNULL, stdout=self._log,
            stderr=self._log, cwd=self.folder, start_new_session=True,
            env={**os.environ, "NOTIFY_SOCKET": notify_path, "STATE_DIRECTORY": self.state, "TZ": "UTC",
                 **self._environment})
        self._session = self._process.pid  # start_new_session makes it the leader
        if ready_timeout is not None:
            self.wait_ready(ready_timeout)
        return self

    def wait_ready(self, timeout=180):
        deadline = time.monotonic() + timeout
        while not self._notify.ready.wait(0.05):
            assert self._process.poll() is None, f"it ended with {self._process.returncode}:\n{self.log_tail()}"
            assert time.monotonic() < deadline, f"not ready after {timeout} s:\n{self.log_tail()}"

    @property
    def pid(self):
        return self._process.pid

    def running(self):
        return self._process is not None and self._process.poll() is None

    def status(self):
        return self._notify.status()

    def notified(self):
        """What the service manager has heard since the last start: (when, line)."""
        return list(zip(self._notify.times, self._notify.messages))

    def log(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def await_log(self, text, count=1, timeout=120):
        """Waits until it has said that so many times."""
        deadline = time.monotonic() + timeout
        while self.log().count(text) < count:
            assert time.monotonic() < deadline, f"it never says {text!r}, {count} times:\n{self.log_tail()}"
            time.sleep(0.1)

    def log_size(self):
        """Bytes since the last start."""
        return os.path.getsize(os.path.join(self.folder, "log")) - self._log_start

    def log_tail(self, lines=40):
        return "\n".join(self.log().splitlines()[-lines:])

    def signal(self, number):
        os.kill(self._process.pid, number)

    def kill(self):
        """kill -9 of the daemon alone; its children have to notice by themselves."""
        self._process.kill()
        self._ended(60)

    def terminate(self, timeout=120):
        """SIGTERM; returns the exit status."""
        self._process.terminate()
        return self._ended(timeout)

    def wait(self, timeout=120):
        """Waits for it to end by itself; returns the exit status."""
        return self._ended(timeout)

    def _ended(self, timeout):
        try:
            status = self._process.wait(timeout)
        except subprocess.TimeoutExpired as expired:
            raise AssertionError(f"still running after {timeout} s:\n{self.log_tail()}") from expired
        self._process = None
        self._notify.close()
        os.unlink(self._notify.path)
        return status

    def leftovers(self):
        """Processes of the daemon's last session that are still there."""
        members = []
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{int(entry)}/stat", encoding="utf-8", errors="replace") as file:
                    fields = file.read().rpartition(")")[2].split()
                if int(fields[3]) == self._session and fields[0] != "Z":
                    members.append(int(entry))
        return members

    def peak_resident_kib(self):
        """The most memory that it has had since its start, without its worker processes."""
        return self._memory_kib("VmHWM")

    def resident_kib(self):
        return self._memory_kib("VmRSS")

    def _memory_kib(self, name):
        with open(f"/proc/{self._process.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(f"{name}:"))

    @property
    def http_port(self):
        """A free one, which it chose at its last start; ConnectionRefusedError before it has."""
        with open(os.path.join(self.folder, "log"), "rb") as file:
            file.seek(self._log_start)
            found = re.search(rb"metrics are at http://127\.0\.0\.1:(\d+)/", file.read())
        if not found:
            raise ConnectionRefusedError("it does not listen yet")
        return int(found[1])

    def get(self, path, timeout=60, accept="*/*"):
        """GET from its HTTP page: (status, text)."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.http_port}{path}", headers={"Accept": accept})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def close(self):
        """Ends whatever is left and removes the folder."""
        if self.running():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._ended(60)
        self._log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
