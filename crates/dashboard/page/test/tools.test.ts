import assert from "node:assert/strict";
import { test } from "node:test";

import { editsOf, sortOf, summarize, todosOf } from "../src/tools.ts";

const told = (tool: string, input: unknown, result: string | null = "", failed = false) => {
  const { what, ended } = summarize(tool, input, result, failed);
  return [what, ended];
};

test("each kind of tool has its own summary", () => {
  assert.deepEqual(told("Grep", { pattern: "fn main", path: "src" }, "a\nb\n"), ["fn main in src", "2 lines"]);
  assert.deepEqual(told("Bash", { command: "cargo test\necho" }, "Exit code 101\nerror", true), ["cargo test …", "exit 101"]);
  assert.deepEqual(told("shell", { command: ["ls", "-l"] }, "a"), ["ls -l", "1 line"]);
  assert.deepEqual(told("Read", { file_path: "/a.rs", offset: 10, limit: 5 }, "x"), ["/a.rs, lines 10 to 14", "1 line"]);
  assert.deepEqual(told("Edit", { file_path: "/a.rs", old_string: "a\nb", new_string: "c" }), ["/a.rs", "+1 −2"]);
  assert.deepEqual(told("Edit", { file_path: "/a.rs", old_string: "a\nb\nc", new_string: "a\nx\ny\nc" }), ["/a.rs", "+2 −1"]);
  assert.deepEqual(told("Write", { file_path: "/a.rs", content: "a\nb\n" }), ["/a.rs", "2 lines"]);
  assert.deepEqual(told("TodoWrite", { todos: [{ content: "x", status: "completed" }, { content: "y", status: "in_progress" }] }), ["1 of 2 done, now: y", ""]);
  assert.deepEqual(told("Task", { subagent_type: "Explore", description: "find it" }), ["Explore: find it", ""]);
  assert.deepEqual(told("ExitPlanMode", { plan: "# Paint\n\n1. sand" }), ["Paint …", ""]);
  assert.deepEqual(told("mcp__x__odd", { query: "who" }, null), ["who", ""]);
});

test("a call whose input is anything is summarized without an error", () => {
  for (const input of [null, undefined, 7, "text", [], { command: 7 }, { edits: "x" }, { todos: [1, null] }, { file_path: {} }]) {
    for (const tool of ["Bash", "Edit", "Read", "TodoWrite", "Grep", "Task", "constructor", "__proto__"]) {
      assert.equal(typeof summarize(tool, input, "out", true).what, "string");
      editsOf(input);
      todosOf(input);
    }
  }
});

test("names of other agents' tools", () => {
  assert.equal(sortOf("run_shell_command"), "shell");
  assert.equal(sortOf("mcp__files__read_file"), "read");
  assert.equal(sortOf("apply_patch"), "edit");
  assert.equal(sortOf("hasOwnProperty"), "other");
});
