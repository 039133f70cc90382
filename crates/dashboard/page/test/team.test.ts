// The team's history: what a message is, who may remove a session, and how members are listed.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { HistoryMessage, Session } from "../src/api.ts";
import { rowsOf } from "../src/conversation.ts";
import { outlineOf } from "../src/outline.ts";
import { mayRemove } from "../src/team-history.ts";
import { memberWords } from "../src/team-sharing.ts";

const message = (role: "user" | "assistant", content: unknown, seq = 1) => ({ seq, id: String(seq), role, created_at: "2026-11-22T12:00:00Z", message: { role, content } }) as HistoryMessage;

const check = (role: "user" | "assistant", content: unknown, kind: string, says: boolean) => {
  const made = outlineOf(message(role, content));
  assert.deepEqual([made.kind, made.says], [kind, says]);
};

const CALL = { type: "tool_use", id: "t", name: "Bash", input: { command: "ls" } };
const RESULT = { type: "tool_result", tool_use_id: "t", content: "x", is_error: true };
const REMINDER = { type: "text", text: "<system-reminder>be brief</system-reminder>" };

test("messages are outlined as the daemon does it", () => {
  check("user", "why?", "typed", true);
  check("user", [REMINDER, { type: "text", text: "why?" }], "typed", true);
  check("user", [REMINDER], "inserted", true);
  check("user", [RESULT], "results", false);
  check("user", [RESULT, REMINDER], "results", true);
  check("user", [{ type: "image" }], "typed", false);
  check("assistant", [{ type: "text", text: "because" }, CALL], "assistant", true);
  check("assistant", [{ type: "text", text: " " }, CALL], "assistant", false);
});

test("content of any form is outlined", () => {
  for (const content of [null, 7, [null, 1, "x"], [{}], [{ type: "tool_use" }, { type: "tool_result" }, { type: "text", text: 5 }]]) outlineOf(message("user", content));
});

test("a call of a shared session is shown with its result", () => {
  const rows = rowsOf<never>([message("user", "why?", 1), message("assistant", [CALL], 2), message("user", [RESULT], 3)].map(outlineOf), []);
  assert.deepEqual(rows.map((row) => row.is), ["day", "said", "call"]);
  assert.deepEqual(rows[2]?.is === "call" && rows[2].result, { seq: 3, failed: true });
});

test("a session is removed by the person who shared it, or by an admin of its project", () => {
  const shared = { project: "mill", person: "ben" } as TeamSession;
  const project = (name: string, role: string) => ({ name, members: [{ person: "ann", role }, { person: "ben", role: "admin" }], sessions: 1 });
  assert.equal(mayRemove({ person: "ben" }, shared), true);
  assert.equal(mayRemove({ person: "ann", projects: [project("mill", "admin")] }, shared), true);
  assert.equal(mayRemove({ person: "ann", projects: [project("mill", "contributor"), project("other", "admin")] }, shared), false);
  assert.equal(mayRemove({}, shared), false);
});

test("members are listed with their roles", () => {
  const members = [{ person: "ann", role: "admin" }, { person: "ben", role: "contributor" }, { person: "cy", role: "reader" }];
  assert.equal(memberWords({ name: "mill", members, sessions: 41 }), "ann (admin), ben, cy (reader) · 41 shared sessions");
});
