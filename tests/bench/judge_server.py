#!/usr/bin/python3
"""A judge that answers every request after the same time, for tests/bench/judge: cheap for thousands at once.

    judge_server.py LATENCY_MS [TLS.pem]

The first line on standard output is the port. Ends with its standard input.
"""

import asyncio
import json
import ssl
import sys

BODY = json.dumps({"choices": [{"message": {"role": "assistant", "content": '{"reason": "as measured", "score": 90}'}}],
                   "usage": {"prompt_tokens": 400, "completion_tokens": 20}}).encode()
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
LENGTH = b"content-length:"


class Judge(asyncio.Protocol):
    def __init__(self, latency_s):
        self.latency_s = latency_s
        self.transport, self.received = None, b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.received += data
        end = self.received.find(b"\r\n\r\n")
        if end < 0:
            return
        at = self.received.lower().find(LENGTH, 0, end)
        length = int(self.received[at + len(LENGTH):self.received.find(b"\r", at)])
        if len(self.received) >= end + 4 + length:
            self.received = self.received[end + 4 + length:]
            asyncio.get_running_loop().call_later(self.latency_s, self.answer)

    def answer(self):
        if not self.transport.is_closing():
            self.transport.write(ANSWER)


async def main():
    context = None
    if len(sys.argv) > 2:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2])
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Judge(float(sys.argv[1]) / 1000), "127.0.0.1", 0, backlog=4096, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.buffer.read)


asyncio.run(main())
