"""The scripted judge of test_judge.py inside the test's own process.

For suites that change their mind while they run: a function decides what becomes of each request, and every
prompt can be looked at afterwards. It may be taken away and brought back on the same port.
"""

import dataclasses
import threading
import time

import test_judge


@dataclasses.dataclass
class Answer:
    """What the judge does with one request."""

    score: int = 92  # relevance
    verdict: str = "correct"  # correctness
    delay_s: float = 0.0
    status: int = 200
    message: str = "scripted failure"  # of another status than 200
    text: str = None  # the model's reply, instead of one made from score or verdict
    body: str = None  # the whole HTTP body, instead of a well-formed one
    reset: bool = False  # the connection, in the middle of the answer


class Handler(test_judge.Handler):
    owner = None  # the Judge, in a class of its own for each

    def judge(self, request, step):
        if self.script.key and self.key_sent() != self.script.key:
            return self.answer_error(401, "Incorrect API key provided: " + self.key_sent())
        system, text = test_judge.messages_of(request)
        answer = self.owner.asked(system, text)
        time.sleep(answer.delay_s)
        if answer.reset:
            return self.drop(True)
        if answer.status != 200:
            return self.answer_error(answer.status, answer.message)
        if answer.body is not None:
            return self.answer(200, answer.body)
        if answer.text is not None:
            return self.answer_reply(answer.text)
        return self.answer_reply(test_judge.verdict_of(system, f"[score {answer.score}] [verdict {answer.verdict}]"))


class Judge:
    """`answer` maps the text of a prompt to an Answer."""

    def __init__(self):
        self.answer = lambda prompt: Answer()
        self._lock = threading.Lock()
        self._asked = []  # (whether it is about correctness, prompt), in order of arrival
        self._server = None
        self._port = 0
        script = test_judge.Script(test_judge.options_of([]))
        self._handler = type("BoundHandler", (Handler,), {"owner": self, "script": script})
        self.resume()

    @property
    def base_url(self):
        return f"http://127.0.0.1:{self._port}/v1"

    def settings(self, **changes):
        """The daemon's `judge` group for it."""
        return {"provider": "openai", "base_url": self.base_url, "model": "judge-model", **changes}

    def require_key(self, key):
        """From now on only requests with this key are answered."""
        self._handler.script.key = key

    def resume(self):
        """Serves (again, on the same port)."""
        self._server = test_judge.Server(("127.0.0.1", self._port), self._handler)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def halt(self):
        """Nobody listens any more; requests in progress still get their answer."""
        self._server.shutdown()
        self._server.server_close()
        self._server = None

    def close(self):
        if self._server:
            self.halt()

    def asked(self, system, text):
        """Called by each request: notes it and says what to do."""
        with self._lock:
            self._asked.append(('"verdict"' in system, text))
        return self.answer(text)

    def calls(self, text="", correctness=None):
        """How many requests held that text: about relevance, about correctness, or (None) either."""
        with self._lock:
            return sum(text in prompt and correctness in (None, about_correctness)
                       for about_correctness, prompt in self._asked)
