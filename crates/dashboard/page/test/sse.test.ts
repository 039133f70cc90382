// Server-sent events, cut at every place.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Parser, type Told } from "../src/sse.ts";

const STREAM = 'retry: 1500\n\n:\n\nid: 7-all-1\nevent: message\ndata: {"seq":1}\n\nid: 7-all-2\r\nevent: reset\r\ndata: {}\r\n\r\ndata: a\ndata:b\n\nevent: empty\n\n';

const EVENTS: Told[] = [
  { id: "7-all-1", kind: "message", data: '{"seq":1}' },
  { id: "7-all-2", kind: "reset", data: "{}" },
  { id: "7-all-2", kind: "message", data: "a\nb" },
];

test("however a stream is cut, it says the same", () => {
  for (let cut = 0; cut <= STREAM.length; cut++) {
    const parser = new Parser();
    const told = [...parser.push(STREAM.slice(0, cut)), ...parser.push(STREAM.slice(cut))];
    assert.deepEqual(told, EVENTS, `cut at ${cut}`);
    assert.equal(parser.retry, 1500);
  }
  const parser = new Parser();
  assert.deepEqual([...STREAM].flatMap((character) => parser.push(character)), EVENTS);
});

test("an event that is not whole is not told", () => {
  assert.deepEqual(new Parser().push("id: 1\ndata: a\n"), []);
});
