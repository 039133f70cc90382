// Differences: right for every pair of texts, and short where they are near.

import assert from "node:assert/strict";
import { test } from "node:test";
import { diff, hunks } from "../src/diff.ts";

function check(before: string, after: string): number {
  const told = diff(before, after);
  const side = (out: "added" | "removed") => told.filter((line) => line.change !== out).map((line) => line.text);
  const lines = (text: string) => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));
  assert.deepEqual(side("added"), lines(before));
  assert.deepEqual(side("removed"), lines(after));
  return told.filter((line) => line.change !== "same").length;
}

test("both sides can be read from a difference", () => {
  assert.equal(check("", ""), 0);
  assert.equal(check("a\n", "a"), 0);
  assert.equal(check("", "a\nb\n"), 2);
  assert.equal(check("a\nb\nc", "a\nc"), 1);
  assert.equal(check("a\nb\nc", "a\nx\nc"), 2);
  assert.equal(check("a\nb\nc\nd", "b\nc\nd\na"), 2);
});

test("random texts", () => {
  let seed = 11;
  const next = (n: number) => (seed = (seed * 48_271) % 2_147_483_647) % n;
  const text = () => Array.from({ length: next(14) }, () => "abcd"[next(4)]).join("\n");
  for (let n = 0; n < 3_000; n++) check(text(), text());
});

test("long texts that share nothing are told all the same", () => {
  const long = (mark: string) => Array.from({ length: 5_000 }, (_, n) => `${mark}${n}`).join("\n");
  assert.equal(check(long("a"), long("b")), 10_000);
});

test("what is far from a change is left out", () => {
  const before = Array.from({ length: 40 }, (_, n) => `line ${n}`);
  const after = before.with(20, "changed");
  const shown = hunks(diff(before.join("\n"), after.join("\n")));
  assert.deepEqual([shown.length, shown[0], shown.at(-1)], [10, null, null]);
  assert.equal(shown[4]?.text, "line 20");
  assert.equal(shown[4]?.number, 21);
});
