import assert from "node:assert/strict";
import { test } from "node:test";
import { merge } from "../src/merge.ts";

const BASE = "one\ntwo\nthree\nfour\nfive\n";

const check = (theirs: string, yours: string, text: string, conflicts = 0) => assert.deepEqual(merge(BASE, theirs, yours), { text, conflicts });

test("changes in different lines are both kept", () => {
  check("ONE\ntwo\nthree\nfour\nfive\n", "one\ntwo\nthree\nfour\nFIVE\n", "ONE\ntwo\nthree\nfour\nFIVE\n");
  check("one\nthree\nfour\nfive\n", "one\ntwo\nthree\nfour\nfive\nsix\n", "one\nthree\nfour\nfive\nsix\n");
});

test("the same change on both sides is made once", () => {
  const both = "one\n2\nthree\nfour\nfive\n";
  check(both, both, both);
});

test("a change on one side only is that side's text", () => {
  check("one\n", BASE, "one\n");
  check(BASE, "one\n", "one\n");
});

test("different changes of one line are both in the text, and counted", () => {
  check("one\nTWO\nthree\nfour\nfive\n", "one\nzwei\nthree\nfour\nfive\n", "one\nTWO\nzwei\nthree\nfour\nfive\n", 1);
});

test("of a deletion and a change of the same line, the change stays and is counted", () => {
  check("one\nthree\nfour\nfive\n", "one\nzwei\nthree\nfour\nfive\n", "one\nzwei\nthree\nfour\nfive\n", 1);
});

test("changes that touch over several lines are one region", () => {
  check("one\nA\nB\nfour\nfive\n", "one\ntwo\nC\nD\nfive\n", "one\nA\nB\nfour\ntwo\nC\nD\nfive\n", 1);
});
