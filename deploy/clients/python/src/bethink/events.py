"""Events as they happen, resumed after a lost connection."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from .discovery import connect
from .problem import Problem
from .types import Event

# The daemon writes at least every 15 seconds, so a longer silence means that the connection is lost.
SILENCE = 45.0
# Seconds before the first attempt to reconnect, and the longest wait between attempts.
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
# Maximum size of one line, in bytes. The daemon's are far smaller.
MAX_LINE = 8 * 1024 * 1024

RESET: Event = {"event": "reset", "data": {}}


class EventStream:
    """The events of a session, or of all sessions, from the moment at which the stream is created.

    Iterating waits for the next event, and ends only after `close`. A lost connection is replaced, and the events in
    between follow. If they are no longer available, an event of the kind `reset` follows: read everything again.
    The kind of an event is `event["event"]`. Ignore kinds that you do not know: a newer daemon may have more.
    """

    def __init__(self, home: Path, path: str, last_id: str | None, silence: float = SILENCE) -> None:
        self.home, self.path, self.silence = home, path, silence
        # ID of the last event received. Another stream can resume after it.
        self.last_id = last_id
        self._closed = threading.Event()
        self._reading = False
        self._connection, self._response = self._open()

    def __iter__(self) -> Iterator[Event]:
        wait = FIRST_WAIT
        self._reading = True
        try:
            while not self._closed.is_set():
                with contextlib.suppress(OSError, http.client.HTTPException):
                    for event in self._decoded():
                        wait = FIRST_WAIT
                        yield event
                self._connection.close()
                # A random part, so that clients of one daemon do not all return at once.
                while not self._closed.wait(wait * random.uniform(0.5, 1.0)) and not self._reopened():
                    wait = min(2 * wait, LONGEST_WAIT)
                if self.last_id is None and not self._closed.is_set():
                    yield RESET
        finally:
            self._reading = False
            self._connection.close()

    def __enter__(self) -> EventStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the stream. Another thread may call it."""
        self._closed.set()
        with contextlib.suppress(OSError, AttributeError):
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        # A response that another thread is reading must not be closed: the end of its socket ends that thread's iteration.
        if not self._reading:
            self._connection.close()

    def _open(self) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection, headers = connect(self.home, self.silence)
        try:
            resume = {"Last-Event-ID": self.last_id} if self.last_id is not None else {}
            headers |= {"Accept": "text/event-stream", **resume}
            connection.request("GET", self.path, headers=headers)
            response = connection.getresponse()
            if response.status != 200:
                raise Problem.read(response.status, response.read(), None)
            return connection, response
        except BaseException:
            connection.close()
            raise

    def _reopened(self) -> bool:
        """Connects again. Returns whether it succeeded; raises `Problem` if it never will."""
        try:
            self._connection, self._response = self._open()
        except (OSError, http.client.HTTPException):
            return False
        except Problem as problem:
            if problem.status < 500:
                raise
            return False
        return True

    def _decoded(self) -> Iterator[Event]:
        """Decodes server-sent events. An event that was cut off is left out: it is sent again after a reconnection."""
        kind, data, last_id = "message", list[str](), self.last_id
        while (line := self._response.readline(MAX_LINE)).endswith(b"\n"):
            field, _, value = line.decode().rstrip("\r\n").partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                kind = value
            elif field == "data":
                data.append(value)
            elif field == "id":
                last_id = value
            elif not line.strip():
                if data:
                    self.last_id = last_id
                    yield cast(Event, {"event": kind, "data": json.loads("\n".join(data))})
                kind, data = "message", []
