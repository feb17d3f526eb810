"""A machine under a real systemd (systemd.sh beside this file), and the unit of the daemon on it."""

import os
import subprocess
import time

from daemon import BINARY, config_text
from servers import HERE, Server

UNIT = "assayd.service"
ETC = "/etc/assayd"


class Machine(Server):
    """Where assayd is installed from a build, without a package; with `root` a Debian that was laid out there, as it is. Its
    network is the one outside."""

    def __init__(self, root=None):
        super().__init__("systemd.sh", start=("start", *(("--root", str(root)) if root else (os.path.dirname(BINARY),))))
        if not root:
            self.run("sh", "-c", "systemd-sysusers && systemd-tmpfiles --create && systemctl daemon-reload")

    def command(self, *command):
        """The command outside that runs this one in there, as root."""
        return [str(HERE / "systemd.sh"), "run", self.dir, *command]

    def run(self, *command, expect=0, timeout=150, text=None):
        """What a command in there writes; it has to end with this status unless `expect` is None."""
        done = subprocess.run(self.command(*command), input=text or "", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=timeout, check=False)
        assert expect in (None, done.returncode), f"{command}: {done.returncode}\n{done.stdout}\n{self.journal(40)}"
        return done.stdout.strip()

    def write(self, path, text):
        """As an administrator with an editor does: by root, with the usual umask, by a file that takes the old one's place."""
        self.run("sh", "-c", 'umask 022; cat >"$1.new" && mv "$1.new" "$1"', "sh", path, text=text)

    def journal(self, lines=400):
        return subprocess.run(self.command("journalctl", "-u", UNIT, "-n", str(lines), "-o", "cat", "--no-pager"),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=60, check=False).stdout


class Service:
    """assayd.service on a machine, as it was installed, with a configuration of the test's."""

    def __init__(self, machine, config):
        self.machine = machine
        self.config = dict(config)
        self.config.setdefault("http", {"listen": "127.0.0.1:0"})
        self.write_config()

    def write_config(self, **changes):
        for group, settings in changes.items():
            self.config[group] = {**self.config.get(group, {}), **settings}
        self.machine.write(f"{ETC}/assayd.conf", config_text(self.config))

    def drop_in(self, text):
        """Settings that this machine's administrator adds to the unit."""
        self.machine.run("mkdir", "-p", f"/etc/systemd/system/{UNIT}.d")
        self.machine.write(f"/etc/systemd/system/{UNIT}.d/test.conf", text)
        self.machine.run("systemctl", "daemon-reload")

    def systemctl(self, command, **options):
        return self.machine.run("systemctl", command, UNIT, **options)

    def show(self, name):
        return self.machine.run("systemctl", "show", "--value", "-p", name, UNIT)

    def pid(self):
        return int(self.show("MainPID"))

    def wait(self, condition, what, timeout=60):
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f"{what}: not within {timeout} s\n{self.machine.journal(40)}"
            time.sleep(0.1)

    def remove(self):
        """Stops it and takes back what the test has set."""
        self.machine.run("sh", "-c", f"systemctl kill -s KILL {UNIT}; systemctl stop {UNIT}; systemctl reset-failed {UNIT}; "
                         f"rm -rf /etc/systemd/system/{UNIT}.d {ETC}/credentials/* /var/lib/assayd/*; systemctl daemon-reload",
                         expect=None)
