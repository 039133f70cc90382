// Time, figures, hidden characters, addresses.

import assert from "node:assert/strict";
import { test } from "node:test";
import { brief, bytes, count, dollars, share, whole } from "../src/number.ts";
import { safe } from "../src/outside.ts";
import { shortPaths } from "../src/names.ts";
import { launchToken, link, read } from "../src/route.ts";
import { ago } from "../src/time.ts";
import { hidesSomething, visible } from "../src/visible.ts";

test("times are said as people say them", () => {
  const now = Date.parse("2026-11-22T12:00:00Z");
  const said: [string, string][] = [
    ["2026-11-22T11:59:30Z", "just now"],
    ["2026-11-22T12:00:30Z", "just now"],
    ["2026-11-22T11:59:00Z", "1 min ago"],
    ["2026-11-22T11:20:00Z", "40 min ago"],
    ["2026-11-22T09:00:00Z", "3 h ago"],
    ["2026-11-21T11:00:00Z", "1 day ago"],
    ["2026-10-23T12:00:00Z", "30 days ago"],
    ["2026-01-28T12:00:00Z", "10 months ago"],
    ["2023-11-22T12:00:00Z", "3 years ago"],
    ["2026-11-22T13:00:00Z", "in 1 h"],
    ["yesterday", "at an unknown time"],
  ];
  for (const [then, words] of said) assert.equal(ago(then, now), words, then);
});

test("figures are short and never say more than they are", () => {
  const said: [number, string][] = [[0, "0"], [999, "999"], [1000, "1.0k"], [38_564, "38.6k"], [99_949, "99.9k"], [99_950, "100k"], [999_499, "999k"], [999_500, "1.00M"], [12_345_678, "12.3M"]];
  for (const [n, words] of said) assert.equal(brief(n), words);
  assert.equal(whole(1_234_567), "1,234,567");
  assert.deepEqual([bytes(0), bytes(999), bytes(5_099), bytes(44_000), bytes(4_038_338)], ["0 B", "999 B", "5.1 kB", "44 kB", "4.0 MB"]);
  assert.deepEqual([dollars(0), dollars(0.0042), dollars(1.5)], ["$0", "$0.0042", "$1.50"]);
  assert.equal(share(0.934), "93%");
  assert.deepEqual([count(1, "memory", "memories"), count(2, "memory", "memories"), count(0, "topic")], ["1 memory", "2 memories", "0 topics"]);
});

test("paths are as long as they need to be", () => {
  assert.deepEqual(shortPaths(["a/src/lib.rs", "/b/src/lib.rs", "x/y/z.rs", "/q/a/src/lib.rs", "main.rs"]), ["a/src/lib.rs", "b/src/lib.rs", "y/z.rs", "q/a/src/lib.rs", "main.rs"]);
});

test("what hides is shown", () => {
  const shown: [string, string][] = [
    ["a\u202eb", "a⟦U+202E⟧b".replace("⟦", "\u27e6").replace("⟧", "\u27e7")],
    ["\u001b[31m", "␛[31m"],
    ["\u0000\u0007\u007f", "␀␇␡"],
    ["zero\u200bwidth", "zero\u27e6U+200B\u27e7width"],
    ["\u{e0041}", "\u27e6U+E0041\u27e7"],
    ["\ufeffx", "\u27e6U+FEFF\u27e7x"],
    ["a\rb", "a␍b"],
    ["\ud800", "\u27e6U+D800\u27e7"],
    ["a\u2028b", "a\u27e6U+2028\u27e7b"],
  ];
  for (const [text, expected] of shown) {
    assert.equal(visible(text), expected);
    assert.ok(hidesSomething(text));
  }
});

test("honest text stays as it is", () => {
  const honest = ["tab\tand\nline\r\n", "سلام\u200cها", "👩\u200d💻", "❤\ufe0f", "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}", "日本語 ÄÖÜ"];
  for (const text of honest) assert.equal(visible(text), text);
});

test("only pages of the web are left for", () => {
  for (const to of ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "//evil.example", "notes.md", " java\nscript:alert(1)", "blob:x"]) assert.equal(safe(to), null, to);
  assert.equal(safe("https://example.org/a?b")?.href, "https://example.org/a?b");
});

test("an address is read as it was written", () => {
  const names = ["a/b", "x?y", "#", "100%", "ä ö", "..", "<script>"];
  for (const name of names) {
    const { path, query } = read(link(["memory", "team", name], { project: `/proj/${name}`, q: "" }));
    assert.deepEqual(path, ["memory", "team", name]);
    assert.equal(query.get("project"), `/proj/${name}`);
    assert.equal(query.has("q"), false);
  }
  assert.deepEqual(read("#/%zz").path, ["%zz"]);
  assert.deepEqual(read("").path, []);
  assert.equal(launchToken("#launch=abc"), "abc");
  assert.equal(launchToken("#/launch=abc"), null);
});
