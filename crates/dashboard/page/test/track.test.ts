// Rows of a timeline: every message once, marks where they belong.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answeredIds, briefOf } from "../src/message.ts";
import { Track } from "../src/track.ts";
import type { Collapse, Compaction, HistoryMessage } from "../src/api.ts";

function compaction(first_seq: number, last_seq: number, undone_at?: string): Compaction {
  return { id: `${last_seq}`, covers: { first_seq, last_seq }, ...(undone_at ? { undone_at } : {}) } as Compaction;
}

function collapse(first_seq: number, last_seq: number, state: string): Collapse {
  return { id: `c${last_seq}`, covers: { first_seq, last_seq }, state } as Collapse;
}

test("marks stand behind what they cover", () => {
  const track = new Track(6, [compaction(1, 2), compaction(1, 4)], [collapse(5, 5, "committed")]);
  const rows = Array.from({ length: track.rows }, (_, row) => track.at(row)).map((item) => (typeof item === "number" ? item : item.is === "compaction" ? `x${item.compaction.id}` : item.collapse.id));
  assert.deepEqual(rows, [1, 2, "x2", 3, 4, "x4", 5, "c5", 6]);
  for (let seq = 1; seq <= 6; seq++) assert.equal(track.at(track.rowOf(seq)), seq);
  assert.equal(track.seqNear(2), 2);
});

test("what is behind a summary that counts is hidden", () => {
  const track = new Track(9, [compaction(1, 4, "2026-01-01T00:00:00Z"), compaction(1, 2)], [collapse(5, 6, "staged"), collapse(7, 8, "committed")]);
  const hidden = [1, 2, 3, 4, 5, 6, 7, 8, 9].filter((seq) => track.hides(seq));
  assert.deepEqual(hidden, [1, 2, 7, 8]);
  assert.equal(track.words(), "9 messages, 1 compaction, 1 collapsed span");
});

test("what a prompt was told stands where it was told", () => {
  const decided = { after_seq: 2, at: "" };
  const track = new Track(3, [compaction(1, 2)], [], [
    { ...decided, kind: "attached", what: "memory", name: "private/fog" },
    { ...decided, kind: "attached", what: "todos" },
    { ...decided, kind: "replaced", seqs: [1] },
  ]);
  const rows = Array.from({ length: track.rows }, (_, row) => track.at(row)).map((item) => (typeof item === "number" ? item : item.is));
  assert.deepEqual(rows, [1, 2, "decided", "compaction", 3]);
  assert.deepEqual([track.shortens(1), track.shortens(2)], [true, false]);
  assert.equal(track.words(), "3 messages, 1 recalled memory, 1 compaction");
});

test("a mark beyond the messages waits for them", () => {
  const track = new Track(3, [compaction(1, 5)], []);
  assert.equal(track.rows, 3);
  assert.equal(track.until(5).rows, 6);
});

test("a message in brief", () => {
  const of = (role: string, content: unknown): HistoryMessage => ({ seq: 1, id: "a", role, created_at: "", message: { role, content } });
  const call = { type: "tool_use", id: "t1", name: "Bash", input: { command: "ls\n-la" } };
  assert.deepEqual(briefOf(of("user", " hello\n there ")), { sort: "user", tool: "", text: "hello there", failed: false });
  assert.deepEqual(briefOf(of("assistant", [{ type: "text", text: "look" }, call, call])), { sort: "call", tool: "Bash", text: "look — ls -la — and 1 more", failed: false });
  assert.deepEqual(briefOf(of("user", [{ type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "no" }], is_error: true }])), { sort: "result", tool: "", text: "no", failed: true });
  assert.equal(briefOf(of("assistant", [{ type: "thinking", thinking: "hm" }])).sort, "thinking");
  assert.deepEqual(answeredIds(of("user", [{ type: "tool_result", tool_use_id: "t1" }])), ["t1"]);
});

test("a message that is none of what it should be is told all the same", () => {
  const odd: unknown[] = [null, undefined, 7, {}, [null, 7, "x", []], [{ type: 5 }], [{}], [{ type: "tool_use" }], [{ type: "tool_result", content: { a: 1 } }], [{ type: "text", text: { a: 1 } }]];
  for (const content of odd) {
    const stored = { seq: 1, id: "a", role: "user", created_at: "", message: { content } } as HistoryMessage;
    assert.equal(typeof briefOf(stored).text, "string", JSON.stringify(content));
    answeredIds(stored);
  }
  briefOf({ seq: 1, id: "a", role: "user", created_at: "" } as unknown as HistoryMessage);
});
