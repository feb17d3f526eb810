"""A schema registry that answers wrongly, in a way of its own for each id: the table of lies, with what becomes of an event
whose schema they are about."""

import gzip
import json
import re
import socket
import struct
import time

from schema_registry import GENERATED_QUERY, ScriptedRegistry

EVENT = GENERATED_QUERY.read_text()
LATER, NEVER = b"schema_unavailable", b"incompatible_schema"
RESET = struct.pack("ii", 1, 0)  # of SO_LINGER: what is not sent is thrown away


def _says(body, status=200, headers=()):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda handler, _: handler.say(status, data, headers)


def _schema(schema, **more):
    return _says({"schema": schema if isinstance(schema, str) else json.dumps(schema), **more})


def _refers(*subjects, name=None):
    schema = {"type": "record", "name": name, "fields": []} if name else "int"
    return {"schema": json.dumps(schema), "references": [{"name": name, "subject": name, "version": 1} for name in subjects]}


def _record(*fields, name="GeneratedQuery"):
    return {"type": "record", "name": name, "namespace": "io.assayd", "fields": list(fields)}


def _backwards():
    """The same fields in another order: what they are read from is not what was written."""
    schema = json.loads(EVENT)
    return {**schema, "fields": schema["fields"][::-1]}


def _drip(handler, every_s):
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b" ")
        time.sleep(every_s)


def _break_off(handler, sent, reset=False):
    """Part of an answer, then the end of the connection, or its reset."""
    handler.wfile.write(sent)
    handler.close_connection = True
    if reset:
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        handler.connection.close()


_BEGUN = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"schema\": "
_NESTED = '{"type": "array", "items": ' * 10_000 + '"int"' + "}" * 10_000

# kind: (how it is answered, the reason of the dead letter, what its detail says)
LIES = {
    "ten megabytes": (_says(b'{"schema": "' + b"x" * 10_000_000 + b'"}'), LATER, "2097152 bytes"),
    "two megabytes": (_says(b'{"schema": "' + b"x" * 2_000_000), LATER, "no JSON"),
    "a bomb": (_says(gzip.compress(b" " * 50_000_000), headers=[("Content-Encoding", "gzip")]), LATER, "compressed .gzip."),
    "headers": (_says(b"{}", headers=[(f"X-{n}", "x" * 60_000) for n in range(8)]), LATER, "eader"),
    "redirects": (lambda handler, _: handler.say(302, b"", [("Location", handler.path)]), LATER, "HTTP 302.*redirects are not followed"),
    "elsewhere": (lambda handler, lying: handler.say(307, b"", [("Location", lying.elsewhere.url + handler.path)]), LATER,
                  "HTTP 307.*redirects are not followed"),
    "a byte a second": (lambda handler, _: _drip(handler, 1), LATER, "timed out"),
    "silence": (lambda handler, _: time.sleep(30), LATER, "timed out"),
    "nothing": (lambda handler, _: _break_off(handler, b""), LATER, "Empty reply"),
    "half": (lambda handler, _: _break_off(handler, _BEGUN), LATER, "transfer closed"),
    "half, reset": (lambda handler, _: _break_off(handler, _BEGUN, True), LATER, "reset by peer|transfer closed"),
    "no HTTP": (lambda handler, _: _break_off(handler, b"220 ready\r\n"), LATER, "HTTP/0.9"),
    "a page": (_says(b"<html>Welcome!</html>"), LATER, "no JSON.*is no schema registry"),
    "a page, 404": (_says(b"<html>", 404), LATER, "HTTP 404.*registry.urls"),
    "no content": (_says(b"", 204), LATER, "HTTP 204"),
    "a teapot": (_says({"error_code": 41800, "message": "\x1b[2J\n" + "short and stout " * 10_000}, 418), LATER, r"HTTP 418, \\u001b\[2J\\nshort"),
    "bytes": (_says(b'{"schema": "\xff\xfe"}'), LATER, "no JSON"),
    "keys twice": (_says(b'{"schema": "\\"int\\"", "schema": ' + json.dumps(EVENT).encode() + b"}"), LATER, "duplicate"),
    "brackets": (_says(b"[" * 1_000_000), LATER, "nested too deeply"),
    "an array": (_says([]), LATER, "no text"),
    "a number": (_says({"schema": 7}), LATER, "no text"),
    "a huge number": (_says(b'{"schema": 1e999999}'), LATER, "no JSON"),
    "no version": (_says({"schema": "int", "references": [{"subject": "a", "version": -1}]}), LATER, "reference"),
    "another kind": (_schema("syntax = 'proto3';", schemaType="PROTOBUF"), NEVER, "PROTOBUF"),
    "no schema": (_schema("{"), NEVER, ""),
    "other fields": (_schema(_record({"name": "id", "type": "long"})), NEVER, "event_id"),
    "other record": (_schema(_record({"name": "id", "type": "long"}, name="Order")), NEVER, ""),
    "backwards": (_schema(_backwards()), b"avro_.*|invalid_utf8", ""),
    "nested": (_schema(_NESTED), NEVER, ""),
    "fields": (_schema(_record(*({"name": f"f{n}", "type": "int"} for n in range(40_000)))), NEVER, ""),
    "symbols": (_schema({"type": "enum", "name": "E", "symbols": [f"S{n}" for n in range(100_000)]}), NEVER, ""),
    "a union": (_schema([{"type": "fixed", "name": f"F{n}", "size": 1} for n in range(20_000)]), NEVER, ""),
    "a cycle": (_says(_refers("cycle")), NEVER, "twice|defined|itself|read"),
    "depth": (_says(_refers("depth-0")), NEVER, "16 deep"),
    "breadth": (_says(_refers(*(f"breadth-0-{n}" for n in range(60)))), NEVER, "63 schemas"),
    "references": (_says(_refers(*(f"leaf-{n}" for n in range(10_000)))), NEVER, "10000 references"),
    "references to nothing": (_says(_refers("nothing")), b"unknown_schema", "no such subject"),
}


def difference(kind, number, headers):
    """What of the headers of a dead letter, whose schema has that id, is not as the table has it, or None."""
    _, reason, said = LIES[kind]
    found, detail = headers["reason"], headers["detail"].decode()
    if re.fullmatch(reason, found) and re.search(said, detail) and re.search(rf"\bschema {number}\b", detail):
        return None
    return f"{kind}: {found.decode()}: {detail}"


class LyingRegistry(ScriptedRegistry):
    """Answers for the id n as `kinds[n]` says, and honestly for ids beyond them. `elsewhere` is another server, which nobody is to ask."""

    def __init__(self, kinds):
        self._kinds = kinds
        self.elsewhere = ScriptedRegistry(lambda handler: handler.say(200, {"schema": EVENT}))
        super().__init__(self._answer)

    def _answer(self, handler):
        if "Accept-Encoding" in handler.headers:
            handler.say(400, b"nobody would decode that")
        elif subject := re.fullmatch(r"/subjects/([a-z]+)(?:-(\d+))?(?:-\d+)?/versions/1", handler.path):
            self._refer(handler, subject[1], int(subject[2] or 0))
        else:
            number = int(handler.path.rsplit("/", 1)[1])
            LIES[self._kinds[number]][0](handler, self) if number < len(self._kinds) else handler.say(200, {"schema": EVENT})

    @staticmethod
    def _refer(handler, kind, level):
        if kind == "nothing":
            handler.say(404, {"error_code": 40401, "message": "no such subject"})
        elif kind == "cycle":
            handler.say(200, _refers("other", name="n.Cycle"))
        elif kind == "other":
            handler.say(200, _refers("cycle", "other", name="n.Cycle"))
        elif kind == "depth":
            handler.say(200, _refers(f"depth-{level + 1}", name=f"n.D{level}"))
        elif kind == "breadth":
            handler.say(200, _refers(*(f"breadth-{level + 1}-{n}" for n in range(60)), name=f"n.B{time.monotonic_ns()}"))
        else:
            handler.say(200, _refers(name=f"n.L{level}"))

    def close(self):
        self.elsewhere.close()
        super().close()
