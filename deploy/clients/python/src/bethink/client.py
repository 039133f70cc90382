"""Requests to the daemon."""

from __future__ import annotations

import http.client
import json
import os
import re
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import quote, urlencode

from .discovery import connect, find_home
from .events import EventStream
from .problem import Problem
from .proof import ProofError

T = TypeVar("T")

# A compaction by a slow model may take ten minutes.
ANSWER_WITHIN = 660.0
# How long a request is repeated after its connection was lost: a daemon restarts in less.
RETRY_FOR = 10.0
RETRY_AFTER = 0.1


@dataclass(frozen=True)
class Answer:
    """An answer to a request. `etag` is for the header `If-Match` of the next write."""

    status: int
    body: bytes
    etag: str | None

    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body) if self.body else None


class Client:
    """The daemon of a home. A client may be used by several threads at once.

    Paths are written as in `openapi.json`. Fields in a path, and query parameters, are given as keyword arguments:
    `client.get("/v1/sessions/{id}/messages", MessagesPage, id=session["id"], after_seq=7)`.
    """

    def __init__(
        self,
        home: str | os.PathLike[str] | None = None,
        *,
        timeout: float = ANSWER_WITHIN,
        retry_for: float = RETRY_FOR,
    ) -> None:
        self.home = Path(home) if home is not None else find_home()
        self.timeout = timeout
        self.retry_for = retry_for

    def get(self, path: str, returns: type[T], **fields: Any) -> T:
        return cast(T, self.request("GET", path, **fields).json())

    def post(self, path: str, returns: type[T], body: Any = None, **fields: Any) -> T:
        return cast(T, self.request("POST", path, body, **fields).json())

    def put(self, path: str, returns: type[T], body: Any = None, **fields: Any) -> T:
        return cast(T, self.request("PUT", path, body, **fields).json())

    def patch(self, path: str, returns: type[T], body: Any = None, **fields: Any) -> T:
        return cast(T, self.request("PATCH", path, body, **fields).json())

    def delete(self, path: str, **fields: Any) -> None:
        self.request("DELETE", path, **fields)

    def events(self, session: str | None = None, *, last_id: str | None = None) -> EventStream:
        """Returns the events of a session, or of all sessions, after the event `last_id` or from now on."""
        path = "/v1/events" if session is None else target("/v1/sessions/{id}/events", {"id": session})
        return EventStream(self.home, path, last_id)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> Answer:
        """Sends a request and returns its answer. Raises `Problem` if the daemon refuses it.

        A `str` is sent as Markdown, `bytes` as JSON lines, and anything else as JSON. If the connection is lost, the
        request is repeated with the same idempotency key, which is `key` or a new one, so it takes effect once.
        """
        sent = {**media_type(body), **(headers or {})}
        if method != "GET":
            sent["Idempotency-Key"] = key or str(uuid.uuid4())
        request = (method, target(path, fields), encoded(body), sent)
        deadline, wait = time.monotonic() + self.retry_for, RETRY_AFTER
        while True:
            try:
                return self._send(*request)
            except (ConnectionError, http.client.HTTPException, Problem) as error:
                asked = error.retry_after if isinstance(error, Problem) else None
                pause = max(wait, asked or 0.0)
                if not may_pass(error) or time.monotonic() + pause > deadline:
                    raise
            time.sleep(pause)
            wait = min(2 * wait, 1.0)

    def _send(self, method: str, target: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        connection, authorization = connect(self.home, self.timeout)
        try:
            connection.request(method, target, body, {**headers, **authorization})
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if not 200 <= response.status < 300:
            raise Problem.read(response.status, content, response.headers.get("Retry-After"))
        return Answer(response.status, content, response.headers.get("ETag"))


def may_pass(error: Exception) -> bool:
    """Whether the request may succeed if it is repeated."""
    if isinstance(error, ProofError):
        return error.status in (None, HTTPStatus.SERVICE_UNAVAILABLE)
    if isinstance(error, Problem):
        still_runs = error.status == HTTPStatus.CONFLICT and error.retry_after is not None
        return still_runs or error.type == "busy"
    return True  # The connection was lost.


def target(path: str, fields: Mapping[str, Any]) -> str:
    """Fills in the fields of a path. The other fields become query parameters, unless they are `None`."""
    named = set(re.findall(r"{(\w+)}", path))
    filled = path.format(**{name: quote(str(fields[name]), safe="") for name in named})
    query = {name: plain(value) for name, value in fields.items() if name not in named and value is not None}
    return f"{filled}?{urlencode(query, doseq=True)}" if query else filled


def plain(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def media_type(body: Any) -> dict[str, str]:
    if body is None:
        return {}
    if isinstance(body, str):
        return {"Content-Type": "text/markdown"}
    if isinstance(body, bytes):
        return {"Content-Type": "application/x-ndjson"}
    return {"Content-Type": "application/json"}


def encoded(body: Any) -> bytes | None:
    if body is None or isinstance(body, bytes):
        return body
    return (body if isinstance(body, str) else json.dumps(body)).encode()
