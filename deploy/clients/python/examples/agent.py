"""A small agent with a memory. It answers a question about the files in the current directory.

    ANTHROPIC_API_KEY=… python agent.py "What is this project about?"
    ANTHROPIC_API_KEY=… python agent.py --session ID "And how is it tested?"

`ANTHROPIC_BASE_URL` may name any server with the Messages API, and `MODEL` any of its models.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import bethink
from bethink.types import Appended, Prompt, Recovered, Session

BASE_URL = os.environ.get("ANTHROPIC_BASE_URL", "https://api.anthropic.com")
API_KEY = os.environ.get("ANTHROPIC_API_KEY", "")
MODEL = os.environ.get("MODEL", "claude-sonnet-4-5")
CONTEXT_WINDOW, MAX_TOKENS = 200_000, 4_000

SYSTEM = "You answer questions about the files in the current directory. Use `read` to look at them."
READ = {
    "name": "read",
    "description": "Reads a file, or lists a directory.",
    "input_schema": {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "A path, such as `.` or `src/main.py`."}},
        "required": ["path"],
    },
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("question")
    parser.add_argument("--session", help="a session to continue")
    arguments = parser.parse_args()
    client = bethink.connect()
    session = arguments.session or new_session(client)
    append(client, session, {"role": "user", "content": arguments.question})
    while results := turn(client, session):
        append(client, session, {"role": "user", "content": results})
    print(f"session {session}")


def new_session(client: bethink.Client) -> str:
    model = {"name": MODEL, "context_window": CONTEXT_WINDOW, "max_output_tokens": MAX_TOKENS}
    return client.post("/v1/sessions", Session, {"project_dir": os.getcwd(), "model": model})["id"]


def append(client: bethink.Client, session: str, message: dict[str, Any]) -> None:
    client.post("/v1/sessions/{id}/messages", Appended, {"messages": [message]}, id=session)


def turn(client: bethink.Client, session: str) -> list[dict[str, Any]]:
    """Asks the model, stores and prints its answer, and runs the tools that it calls. Returns their results."""
    answer = ask(client, session)
    reply = {
        "role": "assistant",
        "content": answer["content"],
        "assistant_message_id": answer["id"],
        "model": answer["model"],
        "usage": answer["usage"],
    }
    append(client, session, reply)
    for block in answer["content"]:
        if block["type"] == "text":
            print(block["text"])
    return [run(block) for block in answer["content"] if block["type"] == "tool_use"]


def ask(client: bethink.Client, session: str) -> Any:
    """Sends the session's prompt to the model. If the model refuses it, bethink does what can help."""
    max_tokens = MAX_TOKENS
    while True:
        request = {"system": [{"part": "system", "text": SYSTEM}], "tools": [READ]}
        prompt = client.post("/v1/sessions/{id}/context", Prompt, request, id=session)
        status, answer, retry_after = call_model(prompt, max_tokens)
        if status == 200:
            return answer
        refusal = {"status": status, "error": answer, "max_tokens": max_tokens, "retry_after": retry_after}
        recovered = client.post("/v1/sessions/{id}/recover", Recovered, refusal, id=session)
        print(f"the model refused the prompt: {recovered['detail']}")
        if not recovered["retry"]:
            raise SystemExit(1)
        time.sleep((recovered.get("wait_ms") or 0) / 1000)
        max_tokens = recovered.get("max_tokens") or max_tokens


def call_model(prompt: Prompt, max_tokens: int) -> tuple[int, Any, float | None]:
    """Returns the status, the answer, and how many seconds to wait before a retry, if the model says so."""
    body = {"model": MODEL, "max_tokens": max_tokens}
    body |= {name: prompt[name] for name in ("system", "messages", "tools")}
    headers = {"content-type": "application/json", "x-api-key": API_KEY, "anthropic-version": "2023-06-01"}
    request = urllib.request.Request(f"{BASE_URL}/v1/messages", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=600) as response:
            return 200, json.load(response), None
    except urllib.error.HTTPError as error:
        text = error.read().decode(errors="replace")
        wait = error.headers.get("retry-after", "")
        return error.code, text, float(wait) if wait.isdigit() else None


def run(call: dict[str, Any]) -> dict[str, Any]:
    result = {"type": "tool_result", "tool_use_id": call["id"]}
    try:
        path = Path(call["input"]["path"])
        content = "\n".join(sorted(os.listdir(path))) if path.is_dir() else path.read_text()
        return {**result, "content": content}
    except (OSError, KeyError, ValueError) as error:
        return {**result, "content": f"could not read it: {error}", "is_error": True}


if __name__ == "__main__":
    main()
