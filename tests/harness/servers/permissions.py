"""Permissions of a broker's users, granted and taken by Kafka's own protocol: this client library knows nothing of them."""

import struct

from kafka_protocol import Connection, text

CREATE_ACLS, DELETE_ACLS = 30, 31
TOPIC, GROUP, TRANSACTIONAL_ID = 2, 3, 5
READ, WRITE, DESCRIBE, DESCRIBE_CONFIGS = 3, 4, 8, 10
LITERAL, PREFIXED, ALLOW = 3, 4, 3


class Permissions:
    """Asks by a listener at which everything is allowed."""

    def __init__(self, bootstrap):
        self._connection = Connection(bootstrap)

    def _ask(self, api, entries):
        answer = self._connection.ask(api, 1, struct.pack(">i", len(entries)) + b"".join(entries))
        assert struct.unpack_from(">i", answer, 4)[0] == len(entries)
        assert struct.unpack_from(">h", answer, 8)[0] == 0, answer

    @staticmethod
    def _entry(user, kind, name, operation, pattern=LITERAL):
        return (struct.pack(">b", kind) + text(name) + struct.pack(">b", pattern) + text(f"User:{user}") + text("*") +
                struct.pack(">bb", operation, ALLOW))

    def grant(self, user, *rights):
        """Rights are (kind, name, operation), or with PREFIXED behind for all names that begin so."""
        self._ask(CREATE_ACLS, [self._entry(user, *right) for right in rights])

    def take(self, user, *rights):
        self._ask(DELETE_ACLS, [self._entry(user, *right) for right in rights])

    def close(self):
        self._connection.close()
