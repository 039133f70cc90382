"""Finds the daemon of a home and connects to it: by its Unix socket, or else by its address and token."""

from __future__ import annotations

import http.client
import json
import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

from .proof import prove

# The daemon listens only on loopback. The token is sent to no other host.
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class NotRunning(ConnectionError):
    """No daemon is running for this home."""


def find_home() -> Path:
    """Returns `BETHINK_HOME`, else `$XDG_DATA_HOME/bethink`, else `~/.local/share/bethink`."""
    if home := os.environ.get("BETHINK_HOME"):
        return Path(home)
    data = Path(os.environ.get("XDG_DATA_HOME") or ".")
    return (data if data.is_absolute() else Path.home() / ".local/share") / "bethink"


def connect(home: Path, timeout: float) -> tuple[http.client.HTTPConnection, dict[str, str]]:
    """Connects to the daemon of `home`. Returns the connection, and the headers that its requests need.

    A connection over TCP has proved that the daemon is at the other end, and is for one request.
    Looks for the daemon each time, because a new one may have another port and another token.
    """
    path = str(home / "daemon.sock")
    if not os.path.exists(path):
        return connect_over_tcp(home, timeout)
    connection = UnixConnection(path, timeout)
    opened(connection, home)
    return connection, {}  # The daemon checks the user at the other end, so it needs no token.


def connect_over_tcp(home: Path, timeout: float) -> tuple[http.client.HTTPConnection, dict[str, str]]:
    try:
        url = urlsplit(json.loads((home / "daemon.json").read_text())["url"])
        token = (home / "token").read_text().strip()
    except (OSError, ValueError, KeyError) as error:
        raise not_running(home, error) from error
    if url.scheme != "http" or url.hostname not in LOOPBACK:
        raise NotRunning(f"{home / 'daemon.json'} names {url.geturl()!r}, which is not on this computer")
    if not token:
        raise NotRunning(f"could not verify the daemon at {url.netloc}: {home / 'token'} is empty")
    # `localhost` may also be ::1, where another program could pass the question on to the daemon.
    host = "127.0.0.1" if url.hostname == "localhost" else url.hostname
    connection = http.client.HTTPConnection(host, url.port, timeout=timeout)
    opened(connection, home)
    # A lost connection must not be replaced by an unproven one.
    connection.auto_open = 0
    try:
        prove(connection, token, home)
    except BaseException:
        connection.close()
        raise
    return connection, {"Authorization": f"Bearer {token}"}


def opened(connection: http.client.HTTPConnection, home: Path) -> None:
    try:
        connection.connect()
    except OSError as error:
        connection.close()
        raise not_running(home, error) from error


def not_running(home: Path, cause: Exception) -> NotRunning:
    return NotRunning(f"no daemon is running for {home} ({cause}); start it with `bethink up`")


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)
