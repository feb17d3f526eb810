"""A token endpoint (OAuth 2.0, client credentials) whose tokens a broker verifies by the file of its public key. It answers as
its attributes say, which tests change while it runs. Signatures are made by openssl."""

import base64
import http.server
import json
import pathlib
import ssl
import subprocess
import threading
import time
import urllib.parse


def _base64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """A key that signs tokens; its public half is `jwks.json` in the folder."""

    def __init__(self, folder, name="issuer"):
        self._key = pathlib.Path(folder) / f"{name}.key"
        self.jwks = pathlib.Path(folder) / f"{name}-jwks.json"
        self._openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", str(self._key))
        modulus = self._openssl("rsa", "-in", str(self._key), "-noout", "-modulus").decode().strip().partition("=")[2]
        self.jwks.write_text(json.dumps({"keys": [{"kty": "RSA", "kid": "k1", "use": "sig", "alg": "RS256",
                                                   "n": _base64(bytes.fromhex(modulus)), "e": "AQAB"}]}))

    @staticmethod
    def _openssl(*arguments, data=b""):
        return subprocess.run(["openssl", *arguments], input=data, check=True, capture_output=True, timeout=60).stdout

    def sign(self, claims):
        """A JSON web token."""
        head = {"alg": "RS256", "kid": "k1", "typ": "JWT"}
        text = ".".join(_base64(json.dumps(part).encode()) for part in (head, claims)).encode()
        return (text + b"." + _base64(self._openssl("dgst", "-sha256", "-sign", str(self._key), data=text)).encode()).decode()


class TokenServer:
    """At `url`; `certificate` is a file with key and certificate, for https."""

    def __init__(self, issuer, certificate=None):
        self.issuer = issuer
        self.client_id, self.secret, self.lifetime_s = "assayd-client", "s3cret &/+", 300
        self.claims = {"sub": "assayd-svc", "aud": "kafka", "scope": "kafka"}
        self.answer = None  # (status, bytes or a function of nothing that gives them): instead of a token
        self.requests = []  # (when, fields of the form with the client's name and secret)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                status, body = outer._answer(self)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                pass  # clients that do not trust it

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"http{'s' if certificate else ''}://localhost:{self.port}/token"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def _answer(self, request):
        fields = dict(urllib.parse.parse_qsl(request.rfile.read(int(request.headers["Content-Length"])).decode()))
        header = request.headers.get("Authorization", "")
        if header.startswith("Basic "):
            pair = base64.b64decode(header[6:]).decode().split(":")
            fields["client_id"], fields["client_secret"] = (urllib.parse.unquote(part) for part in pair)
        self.requests.append((time.time(), fields))
        if self.answer:
            status, body = self.answer
            return status, body() if callable(body) else body
        if (fields.get("client_id"), fields.get("client_secret")) != (self.client_id, self.secret):
            return 401, b'{"error": "invalid_client", "error_description": "the client is not known, or its secret is wrong"}'
        if fields.get("grant_type") != "client_credentials":
            return 400, b'{"error": "unsupported_grant_type"}'
        return 200, self.success(self.token())

    def token(self, **changes):
        now = int(time.time())
        return self.issuer.sign({"iss": "https://issuer.test", "iat": now, "exp": now + self.lifetime_s, **self.claims, **changes})

    def success(self, token, **changes):
        return json.dumps({"access_token": token, "token_type": "Bearer", "expires_in": self.lifetime_s, **changes}).encode()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
