// Server-sent events, split at every position.

import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser, type ServerSentEvent } from "../src/sse.ts";

const STREAM =
  'retry: 1500\n\n:\n\nid: 7-all-1\nevent: message\ndata: {"seq":\ndata: "é…"}\n\nid: 7-all-2\r\nevent: reset\r\ndata: {}\r\n\r\ndata: a\ndata:b\n\nevent: empty\n\ndata: bare\n\n';

const EVENTS: ServerSentEvent[] = [
  { id: "7-all-1", event: "message", data: '{"seq":\n"é…"}' },
  { id: "7-all-2", event: "reset", data: "{}" },
  { id: "7-all-2", event: "message", data: "a\nb" },
  { id: "7-all-2", event: "message", data: "bare" },
];

test("events do not depend on where the stream is split", () => {
  for (let cut = 0; cut <= STREAM.length; cut++) {
    const parser = new EventParser();
    assert.deepEqual([...parser.push(STREAM.slice(0, cut)), ...parser.push(STREAM.slice(cut))], EVENTS, `split at ${cut}`);
    assert.equal(parser.retry, 1500);
  }
  const parser = new EventParser();
  assert.deepEqual([...STREAM].flatMap((character) => parser.push(character)), EVENTS);
});

test("an incomplete event is not returned", () => {
  assert.deepEqual(new EventParser().push("id: 1\ndata: a\n"), []);
});

test("an endless event is an error", () => {
  for (const piece of ["x".repeat(500_000), `data: ${"x".repeat(500_000)}\n`]) {
    const parser = new EventParser();
    assert.throws(() => {
      for (let at = 0; at < 3; at++) parser.push(piece);
    }, /longer than/);
  }
});
