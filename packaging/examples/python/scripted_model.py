#!/usr/bin/python3
"""A model for trying ask.py out: an OpenAI-compatible server that knows a few questions about the quickstart's shop.

    scripted_model.py [--port PORT]     prints its address; ends with Ctrl-C

As with real models some answers are right, some are not, and what it does not know it makes up.
"""

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWERS = {
    "How many orders are paid?": "SELECT count(*) FROM orders WHERE status = 'paid'",
    "Who are our newest customers?": "SELECT name, created_on FROM customers ORDER BY created_on DESC LIMIT 5",
    "What did we earn with books?": "SELECT sum(i.quantity * i.price) FROM order_item i JOIN products p USING (product_id) WHERE p.category = 'books'",
    "Please remove the cancelled orders.": "DELETE FROM orders WHERE status = 'cancelled'",
}
MADE_UP = "SELECT answer FROM knowledge"


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = ANSWERS.get(request["messages"][-1]["content"], MADE_UP)
        body = json.dumps({"object": "chat.completion", "model": request.get("model"), "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--port", type=int, default=0)
    server = ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Model)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
