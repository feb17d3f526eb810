"""The login to the broker of a schedule's daemons: one user, whose password is changed while they run. Each of them has
it in a file of its own."""

import os
import time
import uuid

FILE = "credentials_kafka"
MECHANISM = "SCRAM-SHA-256"
READ_AGAIN = "the login to Kafka was read again"
PATIENCE_S = 300  # with a broker that is away


class Login:
    def __init__(self, kafka, user):
        self._kafka, self.user = kafka, user
        self.passwords = [uuid.uuid4().hex]  # that there ever were; the last one is what new files get
        self.changes = []  # (instance, when its file had got another one)
        self.enforce()

    def think_up(self):
        """Another password, which nobody knows yet."""
        self.passwords.append(uuid.uuid4().hex)

    def enforce(self):
        """From now on the broker takes the last one and no other."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                return self._kafka.set_password(self.user, self.passwords[-1])
            except (OSError, AssertionError):
                time.sleep(1)  # the broker is away
        raise RuntimeError("the password cannot be changed")

    def settings(self):
        """Of the daemons."""
        return {"properties": ("security.protocol=SASL_PLAINTEXT", f"sasl.mechanism={MECHANISM}", f"sasl.username={self.user}"),
                "secret_properties": (f"sasl.password={FILE}",)}

    def write(self, instance, in_place=False):
        """The last one into the daemon's file: by renaming another file over it, or byte by byte."""
        credentials = os.path.join(instance.daemon.folder, "credentials")
        os.makedirs(credentials, exist_ok=True)
        file = os.path.join(credentials, "kafka")
        with open(file if in_place else file + ".fresh", "w", encoding="utf-8",
                  opener=lambda path, flags: os.open(path, flags, 0o600)) as to:
            for letter in self.passwords[-1] + "\n":
                to.write(letter)
                if in_place:
                    to.flush()
        if not in_place:
            os.rename(file + ".fresh", file)

    def hand_out(self, instance, in_place):
        """To a daemon that may run, and has to notice."""
        self.write(instance, in_place)
        self.changes.append((instance, time.monotonic()))
