"""Permissions of a broker's users, granted and taken by Kafka's own protocol: this client library knows nothing of them."""

import socket
import struct

CREATE_ACLS, DELETE_ACLS = 30, 31
TOPIC, GROUP, TRANSACTIONAL_ID = 2, 3, 5
READ, WRITE, DESCRIBE = 3, 4, 8
LITERAL, ALLOW = 3, 3


def _text(value):
    data = value.encode()
    return struct.pack(">h", len(data)) + data


class Permissions:
    """Asks by a listener at which everything is allowed."""

    def __init__(self, bootstrap):
        host, port = bootstrap.split(":")
        self._socket = socket.create_connection((host, int(port)), 20)

    def _ask(self, api, entries):
        body = struct.pack(">hhi", api, 1, 1) + _text("tests") + struct.pack(">i", len(entries)) + b"".join(entries)
        self._socket.sendall(struct.pack(">i", len(body)) + body)
        answer = self._read(struct.unpack(">i", self._read(4))[0])
        count, at = struct.unpack_from(">i", answer, 8)[0], 12
        assert count == len(entries)
        assert struct.unpack_from(">h", answer, at)[0] == 0, answer

    def _read(self, size):
        data = b""
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            assert piece, "the broker has hung up"
            data += piece
        return data

    @staticmethod
    def _entry(user, kind, name, operation):
        return (struct.pack(">b", kind) + _text(name) + struct.pack(">b", LITERAL) + _text(f"User:{user}") + _text("*") +
                struct.pack(">bb", operation, ALLOW))

    def grant(self, user, *rights):
        """Rights are (kind, name, operation)."""
        self._ask(CREATE_ACLS, [self._entry(user, *right) for right in rights])

    def take(self, user, *rights):
        self._ask(DELETE_ACLS, [self._entry(user, *right) for right in rights])

    def close(self):
        self._socket.close()
