"""The same commands for the SDK's own memory tool on a directory, and for the daemon's: answers and files compared.

Sizes in listings of folders are left out: the helper tells the size of the directory's own entry."""

import json
import os
import random
import re
import urllib.request
from pathlib import Path

from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaAbstractMemoryTool, BetaLocalFilesystemMemoryTool

BASE, TOKEN, PROJECT = os.environ["BASE"], os.environ["TOKEN"], os.environ["PROJECT"]
helper = BetaLocalFilesystemMemoryTool(os.environ["HELPER"])
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def post(path, body):
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    request = urllib.request.Request(BASE + path, json.dumps(body).encode(), headers)
    return json.load(opener.open(request))


class Remote(BetaAbstractMemoryTool):
    """How a program of the SDK plugs the daemon's memory into its own loop of tools."""

    def send(self, command):
        call = {"project_dir": PROJECT, "input": command.model_dump(exclude_none=True)}
        told = post("/v1/memory-tool", call)
        if told["is_error"]:
            raise ToolError(told["content"])
        return told["content"]

    view = create = str_replace = insert = delete = rename = send


def told_by(tool, command):
    try:
        return tool.call(command), False
    except ToolError as error:
        return str(error), True


def helper_files():
    root = Path(os.environ["HELPER"]) / "memories"
    return {str(p.relative_to(root)): p.read_bytes().decode() for p in root.rglob("*") if p.is_file()}


def daemon_files():
    url = f"{BASE}/v1/memories?project_dir={PROJECT}"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    page = json.load(opener.open(urllib.request.Request(url, headers=headers)))
    files = {}
    for memory in page["memories"]:
        name = memory["name"].replace("/", "%2F")
        url = f"{BASE}/v1/memories/private/{name}?project_dir={PROJECT}"
        text = opener.open(urllib.request.Request(url, headers=headers)).read().decode()
        files[memory["name"] + ".md"] = text
    return files


def comparable(text):
    """Without sizes, without the index, which the helper does not keep, and without what the daemon adds."""
    if not text.startswith("Here're the files"):
        return text.split("\nNote: ")[0]
    head, *rows = text.split("\n")
    rows = [re.sub(r"^\S+\t", "", row) for row in rows]
    return "\n".join([head] + sorted(row for row in rows if not row.endswith("/MEMORY.md")))


A, B, C = "/memories/a.md", "/memories/plans/b.md", "/memories/plans/deep/c.md"
COMMANDS = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": A, "file_text": "one\ntwo\nthree\n"},
    {"command": "create", "path": A, "file_text": "again"},
    {"command": "create", "path": B, "file_text": "no newline at the end"},
    {"command": "create", "path": C, "file_text": ""},
    {"command": "view", "path": A},
    {"command": "view", "path": A, "view_range": [2, 3]},
    {"command": "view", "path": A, "view_range": [2, -1]},
    {"command": "view", "path": A, "view_range": [9, 12]},
    {"command": "view", "path": A, "view_range": [3, 1]},
    {"command": "view", "path": C},
    {"command": "view", "path": "/memories/plans"},
    {"command": "view", "path": "/memories/none.md"},
    {"command": "view", "path": "/memories/none"},
    {"command": "view", "path": "/etc/passwd"},
    {"command": "view", "path": "/memories/../../x.md"},
    {"command": "str_replace", "path": A, "old_str": "two", "new_str": "2\n2b"},
    {"command": "str_replace", "path": A, "old_str": "absent", "new_str": ""},
    {"command": "str_replace", "path": A, "old_str": "2", "new_str": ""},
    {"command": "str_replace", "path": A, "old_str": "e\n", "new_str": "E\n"},
    {"command": "str_replace", "path": "/memories/none.md", "old_str": "x", "new_str": "y"},
    {"command": "str_replace", "path": "/memories/plans", "old_str": "x", "new_str": "y"},
    {"command": "insert", "path": A, "insert_line": 0, "insert_text": "first\n"},
    {"command": "insert", "path": A, "insert_line": 2, "insert_text": "between\nand more\n\n"},
    {"command": "insert", "path": A, "insert_line": 99, "insert_text": "x"},
    {"command": "insert", "path": A, "insert_line": -1, "insert_text": "x"},
    {"command": "insert", "path": B, "insert_line": 1, "insert_text": "after it"},
    {"command": "insert", "path": C, "insert_line": 0, "insert_text": "into nothing"},
    {"command": "insert", "path": "/memories/none.md", "insert_line": 0, "insert_text": "x"},
    {"command": "insert", "path": "/memories/plans", "insert_line": 0, "insert_text": "x"},
    {"command": "view", "path": A},
    {"command": "rename", "old_path": A, "new_path": B},
    {"command": "rename", "old_path": A, "new_path": "/memories/new/place/a.md"},
    {"command": "rename", "old_path": A, "new_path": "/memories/x.md"},
    {"command": "rename", "old_path": "/memories", "new_path": "/memories/x.md"},
    {"command": "rename", "old_path": "/memories/plans", "new_path": "/memories/done"},
    {"command": "view", "path": "/memories/done"},
    {"command": "delete", "path": "/memories"},
    {"command": "delete", "path": "/memories/none.md"},
    {"command": "delete", "path": "/memories/done/b.md"},
    {"command": "view", "path": "/memories"},
    {"command": "delete", "path": "/memories/done"},
    {"command": "create", "path": "/memories/crlf.md", "file_text": "a\r\nb\r\nü ✓ 中\r\n"},
    {"command": "view", "path": "/memories/crlf.md"},
    {"command": "insert", "path": "/memories/crlf.md", "insert_line": 1, "insert_text": "x"},
    {"command": "str_replace", "path": "/memories/crlf.md", "old_str": "ü ✓", "new_str": "äöü"},
]


def random_edits(count):
    """Edits of one file as they fall, from a seed."""
    dice = random.Random(7)
    yield {"command": "create", "path": "/memories/r.md", "file_text": "a\nb\nc\n"}
    for _ in range(count):
        letter = dice.choice("abcxyz\n")
        yield dice.choice(
            [
                {"command": "str_replace", "path": "/memories/r.md", "old_str": letter, "new_str": dice.choice(["", "q", "x\ny"])},
                {"command": "insert", "path": "/memories/r.md", "insert_line": dice.randrange(-1, 12), "insert_text": letter * 2},
                {"command": "view", "path": "/memories/r.md", "view_range": [dice.randrange(-2, 9), dice.randrange(-1, 9)]},
            ]
        )


def main():
    different, remote = 0, Remote()
    commands = COMMANDS + list(random_edits(100))
    for command in commands:
        (theirs, their_error), (ours, our_error) = told_by(helper, command), told_by(remote, command)
        same_files = helper_files() == daemon_files()
        if comparable(theirs) != comparable(ours) or their_error != our_error or not same_files:
            different += 1
            print("different:", json.dumps(command))
            print("  helper:", their_error, repr(theirs))
            print("  daemon:", our_error, repr(ours))
            if not same_files:
                print("  files:", helper_files(), daemon_files())
    print(json.dumps({"commands": len(commands), "different": different}))


main()
