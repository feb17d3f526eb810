"""Requests of Kafka's own protocol, for what the client library of the tests knows nothing of."""

import socket
import struct


def text(value):
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def compact(value):
    """Text or bytes as newer versions of requests have them."""
    data = value.encode() if isinstance(value, str) else value
    assert len(data) < 127
    return bytes((len(data) + 1,)) + data


class Connection:
    """To one broker; one request at a time."""

    def __init__(self, bootstrap):
        host, port = bootstrap.split(":")
        self._socket = socket.create_connection((host, int(port)), 20)

    def ask(self, api, version, body, flexible=False):
        """The answer's body, behind its correlation id. Flexible versions have tags, of which there are none."""
        request = struct.pack(">hhi", api, version, 1) + text("tests") + (b"\0" if flexible else b"") + body
        self._socket.sendall(struct.pack(">i", len(request)) + request)
        return self._read(struct.unpack(">i", self._read(4))[0])[4:]

    def _read(self, size):
        data = b""
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            assert piece, "the broker has hung up"
            data += piece
        return data

    def close(self):
        self._socket.close()
