#!/usr/bin/python3
"""A language model server that speaks HTTP/2 over TLS and nothing else (RFC 9113, as little of it as answering takes).

    judge_http2.py TLS.pem [--latency MS] [--streams N] [--goaway N] [--refuse N]

The first line on standard output is the port. Ends with its standard input. Every request is answered with relevance 90; the
reason tells "CONNECTIONS connections, STREAMS at once". --streams: more at once on a connection are not allowed; --goaway: a
connection takes so many requests and then says that it takes no more; --refuse: the first N requests are refused unprocessed
(RST_STREAM with REFUSED_STREAM).
"""

import argparse
import asyncio
import json
import logging
import ssl
import struct
import sys

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4
MAX_CONCURRENT_STREAMS = 3
REFUSED_STREAM = 7
STATUS_200 = b"\x88"  # of HPACK's static table


class Counts:
    connections = streams = most_streams = refused = 0


class Connection(asyncio.Protocol):
    def __init__(self, options, counts):
        self.options, self.counts = options, counts
        self.received, self.greeted, self.open, self.taken, self.transport = b"", False, 0, 0, None

    def connection_made(self, transport):
        self.transport = transport
        self.counts.connections += 1
        limit = struct.pack(">HI", MAX_CONCURRENT_STREAMS, self.options.streams) if self.options.streams else b""
        self.send(SETTINGS, 0, 0, limit)

    def send(self, kind, flags, stream, payload=b""):
        if not self.transport.is_closing():
            self.transport.write(struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload)

    def data_received(self, data):
        self.received += data
        if not self.greeted and len(self.received) >= len(PREFACE):
            assert self.received.startswith(PREFACE)
            self.received, self.greeted = self.received[len(PREFACE):], True
        while self.greeted and len(self.received) >= 9:
            length = int.from_bytes(self.received[:3], "big")
            if len(self.received) < 9 + length:
                break
            kind, flags, stream = self.received[3], self.received[4], int.from_bytes(self.received[5:9], "big")
            payload, self.received = self.received[9:9 + length], self.received[9 + length:]
            self.frame(kind, flags, stream, payload)

    def frame(self, kind, flags, stream, payload):
        if kind == SETTINGS and not flags & ACK:
            self.send(SETTINGS, ACK, 0)
        elif kind == PING and not flags & ACK:
            self.send(PING, ACK, 0, payload)
        elif kind == DATA and payload:
            self.send(WINDOW_UPDATE, 0, 0, struct.pack(">I", len(payload)))
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            self.request(stream)

    def request(self, stream):
        if self.counts.refused < self.options.refuse:
            self.counts.refused += 1
            self.send(RST_STREAM, 0, stream, struct.pack(">I", REFUSED_STREAM))
            return
        self.taken += 1
        self.open += 1
        self.counts.most_streams = max(self.counts.most_streams, self.open)
        if self.taken == self.options.goaway:
            self.send(GOAWAY, 0, 0, struct.pack(">II", stream, 0))
        asyncio.get_running_loop().call_later(self.options.latency / 1000, self.answer, stream)

    def answer(self, stream):
        reason = f"{self.counts.connections} connections, {self.counts.most_streams} at once"
        reply = json.dumps({"reason": reason, "score": 90})
        body = json.dumps({"choices": [{"message": {"role": "assistant", "content": reply}}],
                           "usage": {"prompt_tokens": 100, "completion_tokens": 20}}).encode()
        self.send(HEADERS, END_HEADERS, stream, STATUS_200)
        self.send(DATA, END_STREAM, stream, body)
        self.open -= 1
        if self.open == 0 and 0 < self.options.goaway <= self.taken:
            self.transport.close()


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pem")
    for name in ("latency", "streams", "goaway", "refuse"):
        parser.add_argument(f"--{name}", type=int, default=0)
    options = parser.parse_args()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.pem)
    context.set_alpn_protocols(["h2"])
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # clients that go away are no news
    counts, loop = Counts(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(options, counts), "127.0.0.1", 0, backlog=1024, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.buffer.read)


asyncio.run(main())
