"""The Python client against a real daemon, whose home is in `BETHINK_HOME`. Run by `tests/clients/agents.rs`."""

from __future__ import annotations

import hmac
import http.client
import http.server
import json
import os
import re
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bethink
import bethink.proof
from bethink.types import Appended, MessagesPage, Session

HOME = Path(os.environ["BETHINK_HOME"])
SCRATCH = Path(os.environ["SCRATCH"])


def new_session(client: bethink.Client) -> str:
    return client.post("/v1/sessions", Session, {"project_dir": str(SCRATCH)})["id"]


def append(client: bethink.Client, session: str, text: str, **fields: Any) -> Appended:
    body = {"messages": [{"role": "user", "content": text}]}
    return client.post("/v1/sessions/{id}/messages", Appended, body, id=session, **fields)


def a_daemon_is_found_by_its_socket_or_by_its_address() -> None:
    assert bethink.connect().home == HOME
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        (home / "daemon.json").write_text((HOME / "daemon.json").read_text())
        (home / "token").write_text((HOME / "token").read_text())
        assert new_session(bethink.connect(home)), "without a socket, by address and token"


def a_token_is_sent_only_to_this_computer() -> None:
    for url in ("http://example.com:80", "https://127.0.0.1:1", "http://127.0.0.1.example.com:80"):
        with tempfile.TemporaryDirectory() as name:
            home = Path(name)
            (home / "daemon.json").write_text(json.dumps({"url": url}))
            (home / "token").write_text("secret")
            refuses(lambda: bethink.connect(home), bethink.NotRunning, "not on this computer")
            refuses(lambda: bethink.connect(home / "none"), bethink.NotRunning, "bethink up")


class Listener(http.server.ThreadingHTTPServer):
    """Listens at the address in a home's `daemon.json`, and answers each request with `answer(handler)`."""

    def __init__(self, answer: Callable[[http.server.BaseHTTPRequestHandler], tuple[int, str]]) -> None:
        self.seen: list[tuple[int, str, str | None]] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(handler) -> None:
                self.seen.append((handler.client_address[1], handler.path, handler.headers["Authorization"]))
                status, body = answer(handler)
                handler.send_response(status)
                handler.send_header("Content-Length", str(len(body)))
                if status == 503:
                    handler.send_header("Retry-After", "1")
                if handler.close_connection:
                    handler.send_header("Connection", "close")
                handler.end_headers()
                handler.wfile.write(body.encode())

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.home = Path(tempfile.mkdtemp(dir=SCRATCH))
        (self.home / "daemon.json").write_text(json.dumps({"url": f"http://127.0.0.1:{self.server_port}"}))
        (self.home / "token").write_text("secret\n")

    def proof(self, path: str, token: str = "secret", port: int | None = None) -> str:
        asked = re.fullmatch(r"/v1/proof\?nonce=([0-9a-f]{64})", path)
        assert asked, path
        message = f"bethink-proof-1\n{port or self.server_port}\n{asked[1]}"
        return json.dumps({"proof": hmac.new(token.encode(), message.encode(), "sha256").hexdigest()})


def a_daemon_proves_itself_before_it_gets_the_token() -> None:
    sessions = '{"sessions": []}'
    daemon = Listener(lambda it: (200, daemon.proof(it.path) if "proof" in it.path else sessions))
    client = bethink.Client(daemon.home)
    for _ in range(2):
        assert client.get("/v1/sessions", dict) == {"sessions": []}
    ports, paths, tokens = zip(*daemon.seen)
    assert [path.split("?")[0] for path in paths] == ["/v1/proof", "/v1/sessions"] * 2
    assert tokens == (None, "Bearer secret") * 2
    assert ports[0] == ports[1] != ports[2] == ports[3], "proof and request share a connection"


def tcp_is_used_only_without_a_socket_and_localhost_is_127_0_0_1() -> None:
    daemon = Listener(lambda it: (200, daemon.proof(it.path) if "proof" in it.path else "{}"))
    (daemon.home / "daemon.json").write_text(json.dumps({"url": f"http://localhost:{daemon.server_port}"}))
    path = daemon.home / "daemon.sock"
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(path))
    refuses(lambda: bethink.connect(daemon.home), bethink.NotRunning, "bethink up")
    assert not daemon.seen, "the socket of a daemon that is gone"
    path.unlink()
    resolve = socket.getaddrinfo
    socket.getaddrinfo = lambda host, *rest: resolve("256.0.0.1" if host == "localhost" else host, *rest)  # type: ignore
    try:
        bethink.connect(daemon.home)
    finally:
        socket.getaddrinfo = resolve
    assert len(daemon.seen) == 2


def what_cannot_prove_itself_gets_nothing() -> None:
    def hang_up(handler: http.server.BaseHTTPRequestHandler) -> Any:
        handler.connection.close()
        raise ConnectionAbortedError

    answers: dict[str, Any] = {
        "its proof is wrong": [
            lambda it: (200, foreign.proof(it.path, "guessed")),
            lambda it: (200, foreign.proof(it.path, port=1)),
            lambda _: (200, '{"proof": "zz"}'),
            lambda _: (200, "null"),
        ],
        "status 404": [lambda it: (404, foreign.proof(it.path))],
        "no proof": [hang_up],
    }
    for says, answer in [(says, answer) for says, each in answers.items() for answer in each]:
        foreign = Listener(answer)
        foreign.handle_error = lambda *_: None  # type: ignore[method-assign]
        sends_nothing(bethink.Client(foreign.home, retry_for=0.0), says)
        assert all(path.startswith("/v1/proof?") and token is None for _, path, token in foreign.seen), foreign.seen
        assert len(foreign.seen) == 2
    (foreign.home / "token").write_text("\n")
    refuses(bethink.Client(foreign.home).events, bethink.NotRunning, "empty")
    assert len(foreign.seen) == 2, "an empty token proves nothing"


def sends_nothing(client: bethink.Client, says: str) -> None:
    prompt = {"project_dir": "/a", "query": "my prompt"}
    error = refuses(lambda: client.post("/v1/recall", dict, prompt), bethink.ProofError, says)
    assert "is not the daemon of" in str(error)
    refuses(client.events, bethink.ProofError, says)


def a_peer_that_never_answers_is_left() -> None:
    within, bethink.proof.WITHIN = bethink.proof.WITHIN, 0.1
    try:
        with tempfile.TemporaryDirectory() as name, socket.create_server(("127.0.0.1", 0)) as silent:
            home = Path(name)
            (home / "daemon.json").write_text(json.dumps({"url": f"http://127.0.0.1:{silent.getsockname()[1]}"}))
            (home / "token").write_text("secret")
            start = time.monotonic()
            sends_nothing(bethink.Client(home, timeout=10.0, retry_for=0.0), "no proof")
            assert time.monotonic() - start < 9.0
    finally:
        bethink.proof.WITHIN = within


def a_connection_that_ends_after_its_proof_is_not_replaced() -> None:
    def leave(handler: http.server.BaseHTTPRequestHandler) -> tuple[int, str]:
        handler.close_connection = True
        return 200, daemon.proof(handler.path)

    daemon = Listener(leave)
    client = bethink.Client(daemon.home, retry_for=0.0)
    refuses(lambda: client.get("/v1/sessions", dict), (ConnectionError, http.client.HTTPException), "")
    assert all(token is None for _, _, token in daemon.seen), daemon.seen


def a_busy_daemon_is_asked_again_after_the_time_it_names() -> None:
    steps = ["busy proof", "proof", "busy", "proof", "sessions"]
    times: list[float] = []

    def answer(handler: http.server.BaseHTTPRequestHandler) -> tuple[int, str]:
        step = steps[len(daemon.seen) - 1]
        times.append(time.monotonic())
        if step.startswith("busy"):
            return 503, json.dumps({"type": "busy", "title": "", "status": 503, "detail": "try again"})
        return 200, daemon.proof(handler.path) if step == "proof" else "{}"

    daemon = Listener(answer)
    bethink.Client(daemon.home).get("/v1/sessions", dict)
    assert len(times) == len(steps) and times[3] - times[2] >= 1.0, times


def refuses(action: Any, kind: type[Exception], says: str) -> Any:
    try:
        action()
    except kind as error:
        assert says in str(error), error
        return error
    raise AssertionError(f"{kind.__name__} was expected: {says}")


def a_refusal_has_its_fields() -> None:
    client = bethink.connect()
    nothing = "00000000-0000-7000-8000-000000000000"
    problem = refuses(lambda: append(client, nothing, "a"), bethink.Problem, nothing)
    assert (problem.type, problem.status, problem.field) == ("not_found", 404, None)
    session = new_session(client)
    wrong = {"messages": [{"role": "nobody", "content": "a"}]}
    problem = refuses(
        lambda: client.post("/v1/sessions/{id}/messages", Appended, wrong, id=session),
        bethink.Problem,
        "role",
    )
    assert (problem.status, problem.field) == (422, "messages[0].role"), problem.body
    problem = refuses(lambda: append(client, session, "a", key="k" * 256), bethink.Problem, "key")
    assert (problem.limit, problem.actual, problem.field) == (255, 256, "Idempotency-Key")


def text_is_read_and_written_with_its_etag() -> None:
    client = bethink.connect()
    session = new_session(client)
    append(client, session, "Why is the build red?")
    client.request("PUT", "/v1/sessions/{id}/notes", "# Notes\n\nä\n", id=session)
    notes = client.request("GET", "/v1/sessions/{id}/notes", id=session)
    assert notes.text() == "# Notes\n\nä\n" and notes.etag
    stale = {"If-Match": '"stale"'}
    refuses(
        lambda: client.request("PUT", "/v1/sessions/{id}/notes", "x", headers=stale, id=session),
        bethink.Problem,
        "notes",
    )


def a_lost_answer_is_fetched_again_and_nothing_happens_twice() -> None:
    client = bethink.connect()
    session = new_session(client)
    answer, lost = http.client.HTTPConnection.getresponse, []

    def losing(connection: http.client.HTTPConnection) -> http.client.HTTPResponse:
        response = answer(connection)
        if not lost:
            lost.append(response.read())
            raise ConnectionResetError("the test lost the answer")
        return response

    http.client.HTTPConnection.getresponse = losing  # type: ignore[method-assign]
    try:
        appended = append(client, session, "once")
    finally:
        http.client.HTTPConnection.getresponse = answer  # type: ignore[method-assign]
    assert json.loads(lost[0])["last_seq"] == appended["last_seq"] == 1
    page = client.get("/v1/sessions/{id}/messages", MessagesPage, id=session, limit=10)
    assert [message["message"]["content"] for message in page["messages"]] == ["once"]
    places = [append(client, session, "again", key="k")["last_seq"] for _ in range(2)]
    assert places == [2, 2]
    refuses(lambda: append(client, session, "other", key="k"), bethink.Problem, "Idempotency-Key")


def events_are_resumed_after_the_daemon_restarts() -> None:
    """The test that runs this restarts the daemon when `ready` exists, and appends a message while nobody listens."""
    client = bethink.connect()
    session = new_session(client)
    with client.events(session) as stream:
        append(client, session, "before")
        kinds = ((event["event"], event["data"]) for event in stream)
        assert next_message(kinds) == 1
        (SCRATCH / "ready").write_text(session)
        assert next_message(kinds) == 2, "appended while the connection was lost"
        append(client, session, "after")
        assert next_message(kinds) == 3


def next_message(events: Iterator[tuple[str, Any]]) -> int:
    return next(int(data["seq"]) for kind, data in events if kind == "message")


def unknown_events_pass_and_silence_ends_a_connection() -> None:
    streams = [
        b': hello\n\nid: 7\nevent: brand_new\ndata: {"a":\ndata: 1}\n\nid: 8\nevent: cut_off\ndata: {',
        b"id: 9\r\nevent: reset\r\ndata: {}\r\n\r\n:\n\n",
        b"",
    ]
    with tempfile.TemporaryDirectory() as name, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{name}/daemon.sock")
        listener.listen()
        asked: list[str] = []
        threading.Thread(target=serve, args=(listener, streams, asked), daemon=True).start()
        stream = bethink.EventStream(Path(name), "/v1/events", None, silence=0.5)
        events = iter(stream)
        assert next(events) == {"event": "brand_new", "data": {"a": 1}}
        assert (next(events), stream.last_id) == ({"event": "reset", "data": {}}, "9")
        threading.Timer(0.2, stream.close).start()
        assert next(events, None) is None
        assert ["Last-Event-ID: 7" in text for text in asked[:2]] == [False, True], asked


def serve(listener: socket.socket, streams: list[bytes], asked: list[str]) -> None:
    """Sends each stream on a connection of its own. The first one is cut off; the others fall silent."""
    kept = []
    for number, stream in enumerate(streams):
        connection, _ = listener.accept()
        asked.append(connection.recv(65_536).decode())
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + stream)
        if number == 0:
            connection.close()
        kept.append(connection)
    time.sleep(60)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        globals()[name]()
        print(f"ok {name}")
