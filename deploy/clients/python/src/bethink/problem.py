"""What the daemon answers when it refuses a request."""

from __future__ import annotations

import json
from typing import cast

from . import types


class Problem(Exception):
    """The daemon refused a request. Attributes that do not apply are `None`."""

    def __init__(self, problem: types.Problem, retry_after: float | None = None) -> None:
        hint = problem.get("hint")
        super().__init__(problem["detail"] + (f"; {hint}" if hint else ""))
        self.type: str = problem["type"]
        self.status = problem["status"]
        self.title = problem["title"]
        self.detail = problem["detail"]
        self.field = problem.get("field")
        self.limit = problem.get("limit")
        self.actual = problem.get("actual")
        self.hint = hint
        # The whole answer, which may have more fields.
        self.body = problem
        # Seconds to wait before the request is repeated.
        self.retry_after = retry_after

    @classmethod
    def read(cls, status: int, body: bytes, retry_after: str | None) -> Problem:
        """Reads an answer. One that is not a problem document becomes a problem of the type `unknown`."""
        try:
            read = json.loads(body)
        except ValueError:
            read = None
        told = read if isinstance(read, dict) else {}
        text = body[:200].decode(errors="replace").strip() or "no reason given"
        known = {
            "type": "unknown",
            "title": f"HTTP {status}",
            "status": status,
            "detail": f"the daemon answered {status}: {text}",
        }
        wait = float(retry_after) if retry_after and retry_after.isdigit() else None
        return cls(cast(types.Problem, {**known, **told}), wait)
