"""A client for bethink, a local daemon that gives coding agents a memory.

    import bethink
    from bethink.types import Session

    client = bethink.connect()
    session = client.post("/v1/sessions", Session, {"project_dir": "/src/app"})
    for event in client.events(session["id"]):
        print(event["event"], event["data"])

The daemon's `openapi.json` describes the routes. `bethink.types` has their types.
"""

import os

from . import types
from .client import Answer, Client
from .discovery import NotRunning
from .events import EventStream
from .problem import Problem
from .proof import ProofError

__all__ = ["Answer", "Client", "EventStream", "NotRunning", "Problem", "ProofError", "connect", "types"]


def connect(home: str | os.PathLike[str] | None = None) -> Client:
    """Returns the daemon of `home`, or of the default home. Raises `NotRunning` if there is none."""
    Client(home, timeout=2.0, retry_for=0.0).get("/health", types.Health)
    return Client(home)
