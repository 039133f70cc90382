// Marks between messages, and what messages say.

import assert from "node:assert/strict";
import { test } from "node:test";
import { markWords } from "../src/mark-row.ts";
import { answeredIds } from "../src/message.ts";
import { wordsOf } from "../src/row-view.ts";
import { Track } from "../src/track.ts";
import type { Collapse, Compaction, HistoryMessage } from "../src/api.ts";

function compaction(first_seq: number, last_seq: number, undone_at?: string): Compaction {
  return { id: `${last_seq}`, covers: { first_seq, last_seq }, ...(undone_at ? { undone_at } : {}) } as Compaction;
}

function collapse(first_seq: number, last_seq: number, state: string): Collapse {
  return { id: `c${last_seq}`, covers: { first_seq, last_seq }, state } as Collapse;
}

const names = (track: Track) => track.placed.map(({ after, mark }) => `${after} ${mark.is}`);

test("marks stand behind what they cover", () => {
  const track = new Track(6, [compaction(1, 2), compaction(1, 4)], [collapse(5, 5, "committed")]);
  assert.deepEqual(names(track), ["2 compaction", "4 compaction", "5 collapse"]);
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
  assert.deepEqual(names(track), ["2 decided", "2 compaction"]);
  assert.deepEqual([track.shortens(1), track.shortens(2)], [true, false]);
  assert.equal(track.words(), "3 messages, 1 recalled memory, 1 compaction");
});

test("a change to the memory index is not a recalled memory", () => {
  const decided = ["private/fog", "MEMORY.md"].map((name) => ({ after_seq: 1, at: "", kind: "attached", what: "memory", name }));
  const track = new Track(1, [], [], decided);
  assert.deepEqual(track.placed.map(({ mark }) => markWords(mark)), ["Recalled: private/fog", "Changes to the memory index"]);
  assert.equal(track.words(), "1 message, 1 recalled memory");
});

test("a mark beyond the messages waits for them", () => {
  const track = new Track(3, [compaction(1, 5)], []);
  assert.deepEqual(names(track), []);
  assert.deepEqual(names(new Track(5, [compaction(1, 5)], [])), ["5 compaction"]);
});

const stored = (role: string, content: unknown): HistoryMessage => ({ seq: 1, id: "a", role, created_at: "", message: { role, content } }) as HistoryMessage;

test("a person's words are shown without what a client added", () => {
  const said = (text: string) => wordsOf(stored("user", text));
  assert.equal(said("<system-reminder>Be brief.</system-reminder>\nPaint the gate."), "Paint the gate.");
  assert.equal(said("<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>the gate</command-args>"), "/review the gate");
  assert.equal(said("Use <b>bold</b> text"), "Use <b>bold</b> text");
  assert.equal(said("<system-reminder>Only this.</system-reminder>"), "<system-reminder>Only this.</system-reminder>");
  assert.equal(wordsOf(stored("assistant", [{ type: "thinking", thinking: "hm" }])), "hm");
  assert.deepEqual(answeredIds(stored("user", [{ type: "tool_result", tool_use_id: "t1" }])), ["t1"]);
});

test("a message that is none of what it should be has words all the same", () => {
  const odd: unknown[] = [null, undefined, 7, {}, [null, 7, "x", []], [{ type: 5 }], [{}], [{ type: "tool_use" }], [{ type: "tool_result", content: { a: 1 } }], [{ type: "text", text: { a: 1 } }]];
  for (const content of odd) {
    assert.equal(typeof wordsOf(stored("user", content)), "string", JSON.stringify(content));
    answeredIds(stored("user", content));
  }
  wordsOf({ seq: 1, id: "a", role: "user", created_at: "" } as unknown as HistoryMessage);
});
