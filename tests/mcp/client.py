"""The official client against one transport in one mode; a JSON line for each thing it tried."""

import asyncio
import json
import os
import sys
import traceback

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

TRANSPORT, MODE = sys.argv[1:3]
PROJECT, SESSION = os.environ["PROJECT"], os.environ["SESSION"]


def server():
    if TRANSPORT == "stdio":
        env = {"BETHINK_HOME": os.environ["BETHINK_HOME"]}
        return StdioServerParameters(command=os.environ["BETHINK"], args=["mcp"], env=env, cwd=PROJECT)
    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}", "X-Bethink-Project": PROJECT}
    http = httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False)
    return streamable_http_client(os.environ["BASE"] + "/mcp", http_client=http)


def text(result):
    return result.content[0].text


async def lists(client):
    tools = (await client.list_tools()).tools
    assert [t.name for t in tools][:3] == ["recall", "search_history", "remember"], tools
    assert tools[0].annotations.read_only_hint is True, tools[0]
    again = (await client.list_tools()).tools
    assert [t.name for t in again] == [t.name for t in tools]


async def recall(client):
    found = await client.call_tool("recall", {"query": "How far is the fog?"})
    assert not found.is_error and "800 metres" in text(found), found
    assert found.structured_content["memories"][0]["name"] == "fog"


async def remember(client):
    kept = await client.call_tool("remember", {"text": "The crane in the harbour is yellow."})
    assert not kept.is_error, kept
    found = await client.call_tool("recall", {"query": "Which colour has the crane?"})
    assert "yellow" in text(found), found


async def search(client):
    found = await client.call_tool("search_history", {"query": "tide gauge"})
    assert found.structured_content["hits"][0]["session_id"] == SESSION, found


async def notes_and_todos(client):
    assert not (await client.call_tool("notes", {"session_id": "last"})).is_error
    todos = [{"content": "mend the gauge", "status": "pending"}]
    put = await client.call_tool("todos", {"session_id": SESSION, "todos": todos})
    assert put.structured_content["todos"][0]["priority"] == "medium", put


async def memory(client):
    made = await client.call_tool("memory", {"command": "create", "path": "/memories/a.md", "file_text": "x"})
    assert text(made) == "File created successfully at: /memories/a.md", made
    again = await client.call_tool("memory", {"command": "create", "path": "/memories/a.md", "file_text": "x"})
    assert again.is_error and "already exists" in text(again), again
    assert not (await client.call_tool("memory", {"command": "delete", "path": "/memories/a.md"})).is_error


async def wrong_arguments(client):
    wrong = await client.call_tool("recall", {"query": 5})
    assert wrong.is_error and "must be a string" in text(wrong), wrong


async def unknown_tool(client):
    try:
        await client.call_tool("nothing", {})
    except MCPError as error:
        assert error.code == -32602, error
    else:
        raise AssertionError("an unknown tool was called")


async def resources(client):
    listed = (await client.list_resources()).resources
    assert str(listed[0].uri) == "bethink://memory/private/fog", listed
    read = await client.read_resource("bethink://memory/private/fog")
    assert "800 metres" in read.contents[0].text, read
    assert len((await client.list_resource_templates()).resource_templates) == 2


async def prompts(client):
    assert [p.name for p in (await client.list_prompts()).prompts] == ["recall", "handover"]
    handed = await client.get_prompt("handover", {"session_id": SESSION})
    assert SESSION in handed.messages[0].content.text, handed


async def at_once(client):
    calls = [client.call_tool("recall", {"query": "How far is the fog?"}) for _ in range(50)]
    assert all("800 metres" in text(result) for result in await asyncio.gather(*calls))


async def main():
    expect = {"legacy": "2025-11-25", "auto": "2026-07-28"}[MODE]
    async with Client(server(), mode=MODE) as client:
        version = client.session.protocol_version
        print(json.dumps({"what": f"begin, version {version}", "came": "passed" if version == expect else "another version"}))
        for step in [lists, recall, remember, search, notes_and_todos, memory, wrong_arguments, unknown_tool, resources, prompts, at_once]:
            try:
                await step(client)
                came = "passed"
            except Exception:
                came = "failed: " + traceback.format_exc(limit=-3)
            print(json.dumps({"what": step.__name__, "came": came}), flush=True)


asyncio.run(main())
