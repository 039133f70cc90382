"""The daemon's proof that it has the token of its home. Another program may listen at the address of a daemon that is gone."""

from __future__ import annotations

import hmac
import http.client
import json
import secrets
from http import HTTPStatus
from pathlib import Path

# Seconds until a peer must have answered. A busy daemon needs some hundredths.
WITHIN = 10.0
# Maximum size of the answer, in bytes. A proof has 80.
MAX_BYTES = 4096


class ProofError(ConnectionError):
    """What answers at the daemon's address is not this home's daemon. Nothing was sent to it but a question."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        # The HTTP status of its answer, if there was one.
        self.status = status


def prove(connection: http.client.HTTPConnection, token: str, home: Path) -> None:
    """Raises `ProofError` unless the other end of `connection` proves that it has the token, which is not sent."""
    place = f"{connection.host}:{connection.port}"

    def foreign(why: str, status: int | None = None) -> ProofError:
        what = f"could not send the request: what answers at {place} is not the daemon of {home}"
        return ProofError(f"{what}: {why}; run `bethink status`", status)

    nonce = secrets.token_hex(32)
    try:
        connection.sock.settimeout(WITHIN)
        connection.request("GET", f"/v1/proof?nonce={nonce}")
        response = connection.getresponse()
        body = response.read(MAX_BYTES)
        if connection.sock is not None:  # The answer may have ended the connection.
            connection.sock.settimeout(connection.timeout)
    except (OSError, http.client.HTTPException) as error:
        raise foreign("it gave no proof") from error
    if response.status != HTTPStatus.OK:
        raise foreign(f"it answered with status {response.status}", response.status)
    message = f"bethink-proof-1\n{connection.port}\n{nonce}"
    expected = hmac.digest(token.encode(), message.encode(), "sha256")
    if not hmac.compare_digest(proof_in(body), expected):
        raise foreign("its proof is wrong", response.status)


def proof_in(answer: bytes) -> bytes:
    try:
        return bytes.fromhex(json.loads(answer)["proof"])
    except (ValueError, KeyError, TypeError):
        return b""
