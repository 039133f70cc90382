import assert from "node:assert/strict";
import { test } from "node:test";
import { withRecall } from "../src/front-matter.ts";

const check = (text: string, value: "always" | "never" | null, expect: string | null) => assert.equal(withRecall(text, value), expect, JSON.stringify(text));

test("the key is inserted, replaced and removed, and nothing else changes", () => {
  check("---\nname: a\n---\nx\n", "always", "---\nrecall: always\nname: a\n---\nx\n");
  check("---\nname: a\nRecall: always # mine\n---\nx", "never", "---\nname: a\nRecall: never # mine\n---\nx");
  check("---\nname: a\nrecall:\n---\nx", "never", "---\nname: a\nrecall: never\n---\nx");
  check("---\nname: a\nrecall: never\n---\nx", null, "---\nname: a\n---\nx");
  check("---\nname: a\n---\nx", null, "---\nname: a\n---\nx");
  check("\ufeff\n---\r\nname: a\r\n---\r\nx", "never", "\ufeff\n---\r\nrecall: never\nname: a\r\n---\r\nx");
  check("---\r\nname: a\r\n---\r\nx", "never", "---\r\nrecall: never\r\nname: a\r\n---\r\nx");
  check("---\r\nrecall:\r\n---\r\nx", "never", "---\r\nrecall: never\r\n---\r\nx");
});

test("a key of another map is another key", () => {
  check("---\nmetadata:\n  recall: always\n---\n", "never", "---\nmetadata:\n  recall: never\n---\n");
  check("---\nsource:\n  recall: x\n---\n", "never", "---\nrecall: never\nsource:\n  recall: x\n---\n");
  check("---\n  name: a\n---\n", "never", "---\n  recall: never\n  name: a\n---\n");
});

test("a text without front matter gets some, and loses it again", () => {
  for (const text of ["x\n", "", "\nx", "---\n\nA rule above.\n\n---\n", "---\nprose"]) {
    const pinned = withRecall(text, "always");
    assert.match(String(pinned), /^---\nrecall: always\n---\n/);
    assert.ok(pinned?.endsWith(text));
  }
  check("---\nrecall: always\n---\n\nx\n", null, "x\n");
  check("---\n---\nx", "never", "---\nrecall: never\n---\nx");
});

test("what cannot be changed by lines is left to a person", () => {
  check("---\n{name: a}\n---\nx", "never", null);
  check("---\nname: a\nx", "never", null);
});
