"""Schema registries of the suites: the real one, which its script starts, a front of it that adds what it lacks, and one
that answers whatever a test wants."""

import contextlib
import http.server
import json
import pathlib
import ssl
import subprocess
import threading
import urllib.error
import urllib.request
import uuid

from servers import Server

ROOT = pathlib.Path(__file__).resolve().parents[3]
CLIENT = ROOT / "tests/harness/fixtures/registry_client.py"
SCHEMAS = ROOT / "schemas"
GENERATED_QUERY = SCHEMAS / "generated_query.avsc"
TYPE = "application/vnd.schemaregistry.v1+json"


class Registry(Server):
    def __init__(self):
        super().__init__("registry/registry.sh")
        self.url, self.python = self.facts["url"], self.facts["python"]

    def ask(self, path, body=None, method=None):
        """What it answers to that; an HTTP error raises."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": TYPE}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def register(self, subject, schema, references=()):
        """The id of a schema (a value or its JSON text) under that subject from now on."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        return self.ask(f"/subjects/{subject}/versions", {"schema": text, "references": list(references)})["id"]

    def _client(self, url, lines, *arguments):
        done = subprocess.run([self.python, str(CLIENT), url or self.url, *map(str, arguments)], input="\n".join(lines) + "\n",
                              capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr[-2000:]
        return [json.loads(line) for line in done.stdout.splitlines()]

    def encode(self, topic, events, form="prefix", schema=GENERATED_QUERY, url=None):
        """Messages with these events, encoded by Confluent's serializer, which registers the schema; `url`: of a front."""
        lines = [json.dumps(event, default=lambda time: time.isoformat()) for event in events]
        return [{"value": bytes.fromhex(message["value"]),
                 "headers": [(name, bytes.fromhex(data)) for name, data in message["headers"]]}
                for message in self._client(url, lines, "encode", topic, form, schema)]

    def decode(self, topic, values):
        """The values, decoded by Confluent's deserializer."""
        return self._client(None, [json.dumps({"value": value.hex()}) for value in values], "decode", topic)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass  # clients that do not trust it


class ScriptedRegistry:
    """Answers by `answer(handler)`, which a test may replace; `asked` has the paths that were asked for. `tls`: over TLS, by
    that context."""

    def __init__(self, answer, tls=None):
        self.answer, self.asked = answer, []
        scripted = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                scripted.asked.append(self.path)
                with contextlib.suppress(ConnectionError):
                    scripted.answer(self)

            do_POST = do_GET

            def log_message(self, *_arguments):
                pass

            def say(self, status, body, headers=(), kind=TYPE):
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                for name, value in headers:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self.url = f"https://localhost:{self.port}" if tls else f"http://127.0.0.1:{self.port}"
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def relay(registry, handler):
    """Status and body of the real registry's answer, and the body that it was asked with."""
    length = int(handler.headers.get("Content-Length", 0))
    body = handler.rfile.read(length) if length else None
    request = urllib.request.Request(registry.url + handler.path, body, {"Content-Type": TYPE})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read(), body
    except urllib.error.HTTPError as error:
        return error.code, error.read(), body


class GuidFront(ScriptedRegistry):
    """The real registry, with what Confluent's own has besides: GUIDs of schemas."""

    def __init__(self, registry):
        super().__init__(self._answer)
        self._registry, self._by_guid = registry, {}

    def _answer(self, handler):
        if handler.path.startswith("/schemas/guids/"):
            known = self._by_guid.get(handler.path.rsplit("/", 1)[1].split("?")[0])
            handler.say(200 if known else 404, known or {"error_code": 40403, "message": "Schema not found"})
            return
        status, said, body = relay(self._registry, handler)
        if status == 200 and isinstance(value := json.loads(said), dict) and "id" in value:
            value["guid"] = str(uuid.uuid5(uuid.NAMESPACE_URL, str(value["id"])))
            schema = value.get("schema") or json.loads(body)["schema"]
            self._by_guid[value["guid"]] = {"schema": schema, "guid": value["guid"]}
            said = value
        handler.say(status, said)


class SecureFront(ScriptedRegistry):
    """The real registry over TLS, with the key and certificate NAME.pem of a folder that `renew` replaces; `clients`: the file of
    an authority, if clients need a certificate of it; `authorization`: what they have to say who they are by, which may change."""

    def __init__(self, registry, folder, name="server", clients=None, authorization=None):
        self._registry, self._folder, self.authorization = registry, pathlib.Path(folder), authorization
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.renew(name)
        if clients:
            self._tls.verify_mode = ssl.CERT_REQUIRED
            self._tls.load_verify_locations(self._folder / clients)
        super().__init__(self._answer, self._tls)

    def renew(self, name):
        self._tls.load_cert_chain(self._folder / f"{name}.pem")

    def _answer(self, handler):
        if self.authorization not in (None, handler.headers.get("Authorization")):
            handler.say(401, {"error_code": 40101, "message": "Unauthorized"})
            return
        handler.say(*relay(self._registry, handler)[:2])
