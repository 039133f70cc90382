import assert from "node:assert/strict";
import { test } from "node:test";
import type { HistoryMessage } from "../src/api.ts";
import { wordsUsed } from "../src/used.ts";

const MEMORY = "Fog uses `FogExp2` with FOG_K and setFogDistance, as ordinary words say.";

const message = (role: "user" | "assistant", content: unknown, seq = 1) => ({ seq, id: String(seq), role, created_at: "", message: { role, content } }) as HistoryMessage;

const check = (seen: string, after: HistoryMessage[], used: string[] | null) => assert.deepEqual(wordsUsed(MEMORY, seen, after), used);

test("names of the memory in an answer are used", () => {
  check("", [message("assistant", "It is FogExp2, with FOG_K.")], ["FogExp2", "FOG_K"]);
});

test("ordinary words are not", () => check("", [message("assistant", "ordinary words about fog")], []));

test("what was said before is not", () => check("What is FogExp2?", [message("assistant", "It is FogExp2.")], []));

test("what a tool or the person says first is not", () => {
  const result = message("user", [{ type: "tool_result", tool_use_id: "t", content: "FOG_K = 2" }]);
  check("", [message("assistant", [{ type: "text", text: "I look." }]), result, message("assistant", "FOG_K is 2.")], []);
});

test("what the agent itself searched for is not", () => {
  const call = message("assistant", [{ type: "tool_use", id: "t", name: "Grep", input: { pattern: "FOG_K" } }]);
  check("", [call, message("assistant", "FOG_K is there.")], []);
});

test("without an answer nothing is known", () => check("", [message("user", "And?")], null));
