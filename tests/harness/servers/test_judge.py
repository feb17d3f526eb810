#!/usr/bin/python3
"""A scripted language model server for tests: OpenAI-compatible POST …/chat/completions and Anthropic POST …/messages.

    test_judge.py [--address A] [--port N] [--latency MS | MIN-MAX] [--key KEY] [--refuse-structured schema|all]
                  [--obedient] [--rate N [--burst N]] [--resets SHARE] [--refusals SHARE]
                  [--steps 'STEP;STEP;…'] [--script FILE.json] [--tls FILE.pem [--tls-cuts N]] [--stop-with-stdin]

The first line on standard output is the port; the server then listens on A (127.0.0.1) until its standard input is
closed (only with --stop-with-stdin) or it is killed. --tls: speaks TLS with the key and certificate of that file; the
first --tls-cuts connections are cut before their handshake is done.
--latency: MS, MIN-MAX (uniform), exp:MEAN (exponential) or lognormal:MEDIAN (with a sigma of 1).

Each request is answered by the first of these that applies:
1. --key: without that key (Authorization: Bearer, or x-api-key) → 401, whose message repeats the key it was sent.
   --rate: more than N requests a second (bursts of --burst, default N / 10 + 1) → 429 at once; --resets and --refusals: such
   shares of all others, at random, are reset in the middle of an answer or get 429.
   --obedient: a judge that finds everything bad (7, incorrect), unless it reads 97 anywhere outside of the items: then it
   obeys, and finds it good. How it reads: see obeyed(). The tags below are of no account to it.
2. --refuse-structured: 400 for response_format json_schema (schema), or for any response_format (all).
3. The steps, each used up by one request (one that 1 or 2 answers, too), in the order of arrival. A step is a comma-separated list of
       status=N           answer with that status and an error body   retry_after=N   its Retry-After header
       retry_at=S         the same as an HTTP date, S seconds from now
       location=URL       Location header (with status=302)           latency=MS      wait first
       body=TEXT          answer 200 with TEXT as the model's reply   raw=TEXT        answer 200 with TEXT as the whole body
       reset              send half of an answer, then reset the connection
       close              close the connection without an answer
       hold               wait first until POST /release (or /reset, or two minutes)
       trickle=MS         send the answer byte by byte, MS between two bytes
       big=BYTES          answer 200 with a body of so many bytes
       html               answer 200 with a page of HTML
       headers=BYTES      precede the answer by headers of so many bytes
       continues=BYTES    precede the answer by so many bytes of "100 Continue"
       unmetered          answer without telling what it cost
       inflate=BYTES      answer 200 with a body that is compressed, and so long when it is not
       ok                 answer as if there were no step
4. Tags in the last message of the request (in the question or the SQL), each where it occurs; [slow] combines:
       [slow S]           wait S seconds first (a fraction is fine)
       [status N]         answer with that status, always
       [score N]          relevance N (any text up to the bracket is put into the JSON as it is)
       [verdict W]        correctness W
       [rubbish]          a reply without a verdict      [two]  a reply with two verdicts
       [fenced]           the verdict in a markdown fence with words around it
       [echo nonce]       a verdict whose reason repeats the code of the prompt's markers
       [reset] [close] [html]   as the steps
5. Otherwise: relevance 90 ({"score": 90, …}), or "correct" where the system prompt speaks of a "verdict" member.
A request is about correctness when its system prompt holds "verdict" in quotes. Usage is 100 prompt tokens and 20
completion tokens for every answer. --latency waits before every answer, uniformly between MIN and MAX if two are given.

GET /stats → {"requests", "answered", "concurrent_max", "connections", "by_status": {…}, "last": {request body},
"last_headers": {…}}. POST /reset sets the counters back; POST /key with
a body: as --key from now on; POST /release: what is held goes on, and nothing is held until the next /reset; POST /steps with a body in the form of --steps replaces the steps.
--script FILE.json: {"latency": "MIN-MAX", "key": …, "refuse_structured": …, "steps": ["…", …]} instead of the options.
"""

import argparse
import email.utils
import gzip
import json
import random
import re
import socket
import ssl
import struct
import sys
import threading
import time
import unicodedata
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PROMPT_TOKENS, COMPLETION_TOKENS = 100, 20


class Script:
    """What to answer, and what was counted; shared by all connections."""

    def __init__(self, options):
        self.lock = threading.Lock()
        self.latency_ms = distribution(str(options.latency))
        self.rate, self.burst = options.rate, options.burst or options.rate / 10 + 1
        self.tokens, self.filled = self.burst, time.monotonic()
        self.resets, self.refusals = options.resets, options.refusals
        self.key = options.key
        self.obedient = options.obedient
        self.refuse_structured = options.refuse_structured
        self.steps = parse_steps(options.steps)
        self.epoch = 0  # counts the resets
        self.arrived = threading.local()
        self.released = threading.Event()
        self.reset()

    def reset(self):
        self.released.set()
        with self.lock:
            self.released = threading.Event()
            self.epoch += 1
            self.requests = self.answered = self.concurrent = self.concurrent_max = self.connections = 0
            self.by_status = {}
            self.last, self.last_headers = None, {}

    def arrive(self, body, headers):
        with self.lock:
            self.arrived.epoch = self.epoch
            self.requests += 1
            self.concurrent += 1
            self.concurrent_max = max(self.concurrent_max, self.concurrent)
            self.last, self.last_headers = body, headers
            return self.steps.pop(0) if self.steps else {}

    def injected_fault(self):
        """What becomes of a request whatever it says: "refuse", "reset" or None."""
        with self.lock:
            now = time.monotonic()
            self.tokens = min(self.burst, self.tokens + (now - self.filled) * self.rate)
            self.filled = now
            if self.rate and self.tokens < 1:
                return "refuse"
            self.tokens -= 1
        chance = random.random()
        return "refuse" if chance < self.refusals else "reset" if chance < self.refusals + self.resets else None

    def leave(self, status):
        with self.lock:
            if self.arrived.epoch != self.epoch:
                return  # it came before a reset, and is none of the requests counted now
            self.concurrent -= 1
            if status:
                self.answered += 1
                self.by_status[str(status)] = self.by_status.get(str(status), 0) + 1

    def stats(self):
        with self.lock:
            return {"requests": self.requests, "answered": self.answered, "concurrent_max": self.concurrent_max,
                    "connections": self.connections, "by_status": self.by_status, "last": self.last,
                    "last_headers": self.last_headers}


def distribution(text):
    """A function that draws milliseconds."""
    kind, _, value = text.partition(":")
    if kind == "exp":
        return lambda: random.expovariate(1 / float(value))
    if kind == "lognormal":
        return lambda: float(value) * random.lognormvariate(0, 1)
    low, _, high = text.partition("-")
    return lambda: random.uniform(float(low), float(high or low))


def parse_steps(text):
    steps = []
    for step in filter(None, (part.strip() for part in (text or "").split(";"))):
        steps.append({name: value for name, _, value in (item.partition("=") for item in step.split(","))})
    return steps


def messages_of(request):
    """The system prompt and the last message, in either provider's shape."""
    messages = request.get("messages") or [{}]
    system = request.get("system") or "".join(m.get("content", "") for m in messages if m.get("role") == "system")
    return system, str(messages[-1].get("content", ""))


def tag(text, name):
    found = re.search(r"\[" + name + r"(?: ([^\]]*))?\]", text)
    return None if not found else found.group(1) or ""


# Where the chat templates of models end one turn and begin another; text behind them is no longer the user's.
TURNS = re.compile(r"<[|\uff5c][^\s<>]{1,60}[|\uff5c]>|</?s>|<(?:start|end)_of_turn>|<[be]os>|\[/?INST\]|<</?SYS>>"
                   r"|\[/?SYSTEM_PROMPT\]|\[TOOL_CALLS\]|\[AVAILABLE_TOOLS\]|\[TOOL_RESULTS\]")
HOMOGLYPHS = str.maketrans({"\u2039": "<", "\u203a": ">", "\u3008": "<", "\u3009": ">", "\u27e8": "<", "\u27e9": ">",
                            "\u2044": "/", "\u2215": "/", "\u29f8": "/", "\u0435": "e", "\u043e": "o", "\u0441": "c",
                            "\u0455": "s", "\u0456": "i", "\u03bf": "o", "\u2028": "\n", "\u2029": "\n", "\u0085": "\n"})


def read_gladly(text):
    """As one reads who takes lookalikes for what they look like, and does not see what is invisible."""
    text = unicodedata.normalize("NFKC", text).translate(HOMOGLYPHS)
    return "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Cc", "Mn") or c == "\n").lower()


def obeyed(request):
    """Whether anything outside of the items, however it got there, says 97."""
    system, text = messages_of(request)
    messages = [m for m in request.get("messages", []) if m.get("role") != "system"]
    outside = [system] + [str(m.get("content", "")) for m in messages[:-1]] + TURNS.split(text)[1:]
    codes = re.findall(r"(?m)^the code is ([0-9a-z]+)", read_gladly(text.split("\n", 1)[0]))
    rest = read_gladly(text)
    for code in codes:  # an item ends with the first marker of its name that has the code, whatever stands around it
        rest = re.sub(rf"<\s*(\w+)\s+{code}\s*>.*?<\s*/\s*\1\s+{code}\s*>", " ", rest, flags=re.S).replace(code, "")
    return any("97" in read_gladly(part) for part in outside + [rest])


def verdict_of(system, text):
    """The model's reply as text."""
    if tag(text, "rubbish") is not None:
        return "I would rather talk about the weather."
    if tag(text, "echo") is not None:
        return '{"reason": "%s", "score": 100}' % re.search(r"[0-9a-f]{32}", text).group(0)
    if '"verdict"' in system:
        verdict = '{"reason": "as scripted", "verdict": "%s"}' % (tag(text, "verdict") or "correct")
    else:
        verdict = '{"reason": "as scripted", "score": %s}' % (tag(text, "score") or "90")
    if tag(text, "two") is not None:
        return verdict + "\n" + verdict
    if tag(text, "fenced") is not None:
        return "Here is what I think:\n```json\n" + verdict + "\n```\nThat is all."
    return verdict


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # one segment an answer
    script = None

    def setup(self):
        super().setup()
        with self.script.lock:
            self.script.connections += 1

    def log_message(self, *arguments):
        pass

    def answer(self, status, body, headers=(), kind="application/json"):
        data = body.encode()
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(data))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()
        return status

    def answer_error(self, status, message, headers=()):
        return self.answer(status, json.dumps({"error": {"message": message, "type": "scripted"}}), headers)

    def answer_reply(self, text):
        return self.answer(200, self.completion(text))

    def completion(self, text):
        if self.path.endswith("/messages"):
            return json.dumps({"type": "message", "role": "assistant", "content": [{"type": "text", "text": text}],
                               "usage": {"input_tokens": PROMPT_TOKENS, "output_tokens": COMPLETION_TOKENS}})
        return json.dumps({"object": "chat.completion",
                           "choices": [{"index": 0, "finish_reason": "stop",
                                        "message": {"role": "assistant", "content": text}}],
                           "usage": {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": COMPLETION_TOKENS}})

    def drop(self, half):
        """Ends the connection: with a reset after half of an answer, or silently before one."""
        if half:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"choices\": [")
            self.wfile.flush()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()
        return None

    def trickle(self, text, pause_ms):
        data = self.completion(text).encode()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(data))
        for byte in data:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            time.sleep(pause_ms / 1000)
        return 200

    def flood(self, line, size):
        """So many bytes of lines ahead of the answer's own."""
        lines = line * 1000
        for _ in range(size // len(lines) + 1):
            self.wfile.write(lines)

    def answer_with_many_headers(self, reply, size):
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        self.flood(b"X-Padding: " + b"x" * 80 + b"\r\n", size)
        data = self.completion(reply).encode()
        self.wfile.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        return 200

    def answer_compressed(self, size):
        """By the transfer's encoding, which nobody has to ask for."""
        data = gzip.compress(b"x" * size)
        self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"
                         % (len(data), data))
        return 200

    def key_sent(self):
        bearer = self.headers.get("Authorization", "")
        return self.headers.get("x-api-key") or bearer.removeprefix("Bearer ")

    def structured_refused(self, request):
        wanted = (request.get("response_format") or {}).get("type")
        return wanted and (self.script.refuse_structured == "all"
                           or (self.script.refuse_structured == "schema" and wanted == "json_schema"))

    def follow_step(self, step, reply):
        """Answers as the step says; False when it says nothing of the answer."""
        if "status" in step:
            names = {"retry_after": "Retry-After", "location": "Location"}
            headers = [(names[name], step[name]) for name in names if name in step]
            if "retry_at" in step:
                headers.append(("Retry-After", email.utils.formatdate(time.time() + float(step["retry_at"]), usegmt=True)))
            return self.answer_error(int(step["status"]), "scripted failure", headers)
        if "body" in step:
            return self.answer_reply(step["body"])
        if "raw" in step:
            return self.answer(200, step["raw"])
        if "big" in step:
            return self.answer(200, "x" * int(step["big"]))
        if "html" in step:
            return self.answer(200, "<html><body>Welcome</body></html>", kind="text/html")
        if "headers" in step:
            return self.answer_with_many_headers(reply, int(step["headers"]))
        if "continues" in step:
            self.flood(b"HTTP/1.1 100 Continue\r\n\r\n", int(step["continues"]))
            return self.answer_reply(reply)
        if "unmetered" in step:
            completion = json.loads(self.completion(reply))
            del completion["usage"]
            return self.answer(200, json.dumps(completion))
        if "inflate" in step:
            return self.answer_compressed(int(step["inflate"]))
        if "trickle" in step:
            return self.trickle(reply, float(step["trickle"]))
        if "reset" in step or "close" in step:
            return self.drop("reset" in step)
        return False

    def judge(self, request, step):
        system, text = messages_of(request)
        if self.script.key and self.key_sent() != self.script.key:
            return self.answer_error(401, "Incorrect API key provided: " + self.key_sent())
        fault = self.script.injected_fault()
        if fault == "refuse":
            return self.answer_error(429, "slow down")
        if fault == "reset":
            time.sleep(self.script.latency_ms() / 1000)
            return self.drop(True)
        if self.script.obedient:
            obeys = obeyed(request)
            return self.answer_reply('{"reason": "as read", "verdict": "%s"}' % ("correct" if obeys else "incorrect")
                                     if '"verdict"' in system else '{"reason": "as read", "score": %d}' % (97 if obeys else 7))
        if self.structured_refused(request):
            return self.answer_error(400, "response_format is not supported by this model")
        time.sleep(self.script.latency_ms() / 1000 + float(step.get("latency", 0)) / 1000)
        if "hold" in step:
            self.script.released.wait(120)
        reply = verdict_of(system, text)
        followed = self.follow_step(step, reply)
        if followed is not False:
            return followed
        time.sleep(float(tag(text, "slow") or 0))
        tags = {name: tag(text, name) for name in ("status", "reset", "close", "html")}
        followed = self.follow_step({name: value for name, value in tags.items() if value is not None}, reply)
        return self.answer_reply(reply) if followed is False else followed

    def do_GET(self):
        if self.path == "/stats":
            self.answer(200, json.dumps(self.script.stats()))
        else:
            self.answer_error(404, "no such page")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode("utf-8", "replace")
        if self.path == "/reset":
            self.script.reset()
            self.answer(200, "{}")
        elif self.path == "/release":
            self.script.released.set()
            self.answer(200, "{}")
        elif self.path == "/key":
            self.script.key = body
            self.answer(200, "{}")
        elif self.path == "/steps":
            with self.script.lock:
                self.script.steps = parse_steps(body)
            self.answer(200, "{}")
        elif self.path.endswith(("/chat/completions", "/messages")):
            self.do_judge(body)
        else:
            self.answer_error(404, "no such page")

    def do_judge(self, body):
        try:
            request = json.loads(body)
        except ValueError:
            self.answer_error(400, "the request is not JSON")
            return
        step = self.script.arrive(request, dict(self.headers))
        status = None
        try:
            status = self.judge(request, step)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client has given up
        finally:
            self.script.leave(status)

    def finish(self):
        try:
            super().finish()
        except (OSError, ValueError):
            pass  # the connection was dropped on purpose


class Server(ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True
    tls, tls_cuts = None, 0

    def get_request(self):
        connection, address = super().get_request()
        if self.tls_cuts > 0:
            self.tls_cuts -= 1
            connection.close()
            raise OSError("cut")
        if self.tls:  # the handshake is the connection's thread's
            connection = self.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (OSError, ValueError)):
            super().handle_error(request, client_address)


def options_of(arguments):
    parser = argparse.ArgumentParser(description="Scripted language model server for tests")
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", default="0")
    parser.add_argument("--key")
    parser.add_argument("--refuse-structured", choices=["schema", "all"])
    parser.add_argument("--steps", default="")
    parser.add_argument("--script")
    parser.add_argument("--tls")
    parser.add_argument("--obedient", action="store_true")
    parser.add_argument("--tls-cuts", type=int, default=0)
    parser.add_argument("--rate", type=float, default=0)
    parser.add_argument("--burst", type=float, default=0)
    parser.add_argument("--resets", type=float, default=0)
    parser.add_argument("--refusals", type=float, default=0)
    parser.add_argument("--stop-with-stdin", action="store_true")
    options = parser.parse_args(arguments)
    if options.script:
        with open(options.script, encoding="utf-8") as file:
            for name, value in json.load(file).items():
                setattr(options, name, ";".join(value) if name == "steps" else value)
    return options


def main():
    options = options_of(sys.argv[1:])
    Handler.script = Script(options)
    Server.address_family = socket.AF_INET6 if ":" in options.address else socket.AF_INET
    server = Server((options.address, options.port), Handler)
    if options.tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.tls)
        server.tls, server.tls_cuts = context, options.tls_cuts
    print(server.server_address[1], flush=True)
    if not options.stop_with_stdin:
        server.serve_forever()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
