import assert from "node:assert/strict";
import { test } from "node:test";

import type { OutlineMessage } from "../src/api.ts";
import { EVERYTHING, filesOf, rowOf, rowsOf, sameRows } from "../src/conversation.ts";
import { Heights } from "../src/heights.ts";
import { pieceOf } from "../src/minimap.ts";
import { saved, spentOf } from "../src/session-cost.ts";
import { childrenAt } from "../src/subagents.ts";

const at = (minute: number, day = 22) => new Date(2026, 10, day, 10, minute).toISOString();

const MESSAGES: OutlineMessage[] = [
  { seq: 1, kind: "typed", created_at: at(0), says: true },
  { seq: 2, kind: "assistant", created_at: at(1), says: true, calls: [{ id: "a", tool: "Edit", path: "/g/gate.rs", edits: true }, { id: "b", tool: "Bash" }] },
  { seq: 3, kind: "results", created_at: at(2), results: [{ id: "b", failed: true }] },
  { seq: 4, kind: "results", created_at: at(3), results: [{ id: "a" }] },
  { seq: 5, kind: "inserted", created_at: at(4), says: true },
  { seq: 6, kind: "typed", created_at: at(5, 23), says: true },
  { seq: 7, kind: "assistant", created_at: at(6, 23), calls: [{ id: "c", tool: "Read", path: "/g/gate.rs" }] },
];

const words = (rows: ReturnType<typeof rowsOf<string>>) =>
  rows.map((row) => (row.is === "day" ? "day" : row.is === "mark" ? row.mark : row.is === "call" ? `${row.call.id}→${row.result?.seq ?? "-"}` : `${row.message.seq}${row.turn > 0 ? `t${row.turn}` : ""}`));

test("calls have their results, and results have no rows of their own", () => {
  assert.deepEqual(words(rowsOf(MESSAGES, [])), ["day", "1t1", "2", "a→4", "b→3", "5", "day", "6t2", "c→-"]);
});

test("a result whose call is not in the session has a row", () => {
  assert.deepEqual(words(rowsOf([{ seq: 1, kind: "results", created_at: at(0), results: [{ id: "x" }] }], [])), ["day", "1"]);
});

test("marks follow their message, also the last one", () => {
  const marks = [{ after: 2, mark: "compaction" }, { after: 7, mark: "end" }];
  assert.deepEqual(words(rowsOf(MESSAGES, marks)), ["day", "1t1", "2", "a→4", "b→3", "compaction", "5", "day", "6t2", "c→-", "end"]);
});

test("filters show a kind of row, with its days", () => {
  const marks = [{ after: 2, mark: "compaction" }];
  const shown = (filter: Partial<typeof EVERYTHING>) => words(rowsOf(MESSAGES, marks, { ...EVERYTHING, ...filter }));
  assert.deepEqual(shown({ show: "user" }), ["day", "1t1", "day", "6t2"]);
  assert.deepEqual(shown({ show: "errors" }), ["day", "b→3"]);
  assert.deepEqual(shown({ show: "edits" }), ["day", "a→4"]);
  assert.deepEqual(shown({ file: "/g/gate.rs" }), ["day", "a→4", "day", "c→-"]);
  assert.deepEqual(filesOf(MESSAGES, ""), [["/g/gate.rs", 2]]);
  const relative: OutlineMessage = { seq: 8, kind: "assistant", created_at: at(7, 23), calls: [{ id: "d", tool: "Read", path: "gate.rs" }] };
  assert.deepEqual(filesOf([...MESSAGES, relative], "/g"), [["gate.rs", 3]]);
  assert.deepEqual(words(rowsOf([relative, MESSAGES[6]!], [], { show: "all", file: "gate.rs", project: "/g" })), ["day", "d→-", "c→-"]);
});

test("a message is found in its row, and a result in that of its call", () => {
  const rows = rowsOf(MESSAGES, []);
  assert.equal(rowOf(rows, 1), 1);
  assert.equal(rowOf(rows, 3), 4);
  assert.equal(rowOf(rows, 6), 7);
  // The filter hides message 2, so the one before it is shown.
  assert.equal(rowOf(rowsOf(MESSAGES, [], { ...EVERYTHING, show: "user" }), 2), 1);
});

test("rows at the beginning stay when messages are added", () => {
  const more: OutlineMessage = { seq: 8, kind: "assistant", created_at: at(7, 23), says: true };
  const [old, now] = [rowsOf(MESSAGES, []), rowsOf([...MESSAGES, more], [])];
  assert.equal(sameRows(old, now), old.length);
  assert.equal(sameRows(old, rowsOf(MESSAGES, [{ after: 1, mark: "m" }])), 2);
});

test("heights: sums, changes, and the row at a position", () => {
  const heights = new Heights();
  heights.fill(1000, (row) => 10 + (row % 3));
  const slow = (until: number) => Array.from({ length: until }, (_, row) => heights.of(row)).reduce((a, b) => a + b, 0);
  heights.set(500, 200);
  heights.set(0, 1);
  for (const row of [0, 1, 2, 499, 500, 501, 999, 1000]) assert.equal(heights.top(row), slow(row), String(row));
  for (const row of [0, 1, 499, 500, 501, 999]) {
    assert.equal(heights.at(heights.top(row)), row);
    assert.equal(heights.at(heights.top(row) + heights.of(row) - 0.5), row);
  }
  assert.equal(heights.at(1e9), 999);
  assert.equal(heights.at(-5), 0);
  heights.fill(0, () => 1);
  assert.equal(heights.at(10), 0);
});

test("a piece of the map shows its most important message", () => {
  assert.equal(pieceOf(MESSAGES.slice(0, 4)), "failed");
  assert.equal(pieceOf(MESSAGES.slice(0, 2)), "typed");
  assert.equal(pieceOf(MESSAGES.slice(1, 2)), "edits");
  assert.equal(pieceOf(MESSAGES.slice(6)), "work");
});

test("tokens of a session, and those that compactions saved", () => {
  const usage = { prompt: 100, cached: 80, output: 5 };
  const messages: OutlineMessage[] = [{ ...MESSAGES[1]!, usage }, { ...MESSAGES[6]!, usage }];
  assert.deepEqual(spentOf(messages), { calls: 2, prompt: 200, cached: 160, output: 10 });
  const done = { created_at: at(5), tokens_before: 900, tokens_after: 300 } as Parameters<typeof saved>[1][number];
  assert.equal(saved(messages, [done]), 600, "only the later call was smaller");
  assert.equal(saved(messages, [{ ...done, undone_at: at(6) }]), 0);
});

test("a subagent belongs to the call that started it", () => {
  const calls = [2, 8].map((minute, n): OutlineMessage => ({ seq: n + 1, kind: "assistant", created_at: at(minute), calls: [{ id: `t${n}`, tool: "Task" }] }));
  const child = (minute: number) => ({ id: `s${minute}`, created_at: at(minute) }) as Parameters<typeof childrenAt>[1][number];
  const found = childrenAt(calls, [child(9), child(3)]);
  assert.deepEqual([...found].map(([call, sessions]) => [call, sessions.map(({ id }) => id)]), [["t0", ["s3"]], ["t1", ["s9"]]]);
});
