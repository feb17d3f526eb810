"""An HTTP receiver inside the test's own process, as webhooks and collectors are: a function decides what becomes of each
request, and every request can be looked at. It may be taken away and brought back on the same port."""

import dataclasses
import http.server
import socket
import ssl
import struct
import threading
import time


@dataclasses.dataclass
class Reply:
    """What the receiver does with one request."""

    status: int = 200
    headers: dict = dataclasses.field(default_factory=dict)
    body: bytes = b""
    delay_s: float = 0.0
    drip_s: float = 0.0  # the body, a byte at a time with this between
    reset: bool = False  # the connection, instead of an answer


@dataclasses.dataclass
class Request:
    path: str
    headers: object
    body: bytes
    at: float  # monotonic


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner = None  # the Receiver, in a class of its own for each

    def log_message(self, *_):
        pass

    def do_OPTIONS(self):  # noqa: N802 (the library's name)
        self.send_response(204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):  # noqa: N802
        body = self.rfile.read(int(self.headers["Content-Length"]))
        reply = self.owner.asked(Request(self.path, self.headers, body, time.monotonic()))
        time.sleep(reply.delay_s)
        if reply.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            return
        try:
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            for byte in reply.body if reply.drip_s else ():
                self.wfile.write(bytes([byte]))
                time.sleep(reply.drip_s)
            if not reply.drip_s:
                self.wfile.write(reply.body)
        except OSError:  # who asked has gone
            self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A connection that ends is what some tests are about."""


class Receiver:
    """`answer` maps a Request to a Reply."""

    def __init__(self, certificate=None):
        """`certificate`: a file with key and certificate of localhost; else there is no TLS."""
        self.answer = lambda request: Reply()
        self._certificate = certificate
        self._lock = threading.Condition()
        self._requests = []
        self._server = None
        self.port = 0
        self._handler = type("BoundHandler", (Handler,), {"owner": self})
        self.resume()

    @property
    def url(self):
        return f"{self.base}/hook"

    @property
    def base(self):
        return f"https://localhost:{self.port}" if self._certificate else f"http://127.0.0.1:{self.port}"

    def script(self, *replies):
        """Answers the next requests so, and then 200."""
        left = list(replies)
        self.answer = lambda request: left.pop(0) if left else Reply()

    def asked(self, request):
        with self._lock:
            reply = self.answer(request)
            self._requests.append((request, reply))
            self._lock.notify_all()
        return reply

    def requests(self, count=0, timeout=120):
        """All of them so far, at least `count`: [(Request, Reply)]."""
        with self._lock:
            assert self._lock.wait_for(lambda: len(self._requests) >= count, timeout), \
                f"{len(self._requests)} requests instead of {count} after {timeout} s"
            return list(self._requests)

    def taken(self, count=0, timeout=120):
        """Requests that were answered with 2xx, at least `count`."""
        def good():
            return [request for request, reply in self._requests if reply.status < 300 and not reply.reset]

        with self._lock:
            assert self._lock.wait_for(lambda: len(good()) >= count, timeout), \
                f"{len(good())} instead of {count} after {timeout} s; {len(self._requests)} requests"
            return good()

    def resume(self):
        self._server = Server(("127.0.0.1", self.port), self._handler)
        if self._certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self._certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def halt(self):
        self._server.shutdown()
        self._server.server_close()

    def close(self):
        self.halt()
