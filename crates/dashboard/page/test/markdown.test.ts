// Markdown: what people write, and what must stay text.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Block, type Inline, inline, parse, plain, split } from "../src/markdown.ts";
import { outline } from "../src/prose.ts";

/** A tree in brief: `p(strong(a) b)`. */
function told(blocks: readonly Block[]): string {
  return blocks.map(one).join(" ");
}

function one(block: Block): string {
  switch (block.is) {
    case "heading":
      return `h${block.level}(${some(block.inside)})`;
    case "paragraph":
      return `p(${some(block.inside)})`;
    case "code":
      return `pre${block.info && `.${block.info}`}(${block.text})`;
    case "quote":
      return `quote(${told(block.blocks)})`;
    case "list":
      return `${block.ordered ? "ol" : "ul"}(${block.items.map((item) => `li(${told(item)})`).join("")})`;
    case "table":
      return `table(${[block.head, ...block.rows].map((row) => row.map(some).join("|")).join("/")})`;
    case "rule":
      return "hr";
  }
}

function some(tree: readonly Inline[]): string {
  return tree
    .map((part) => {
      if (part.is === "text") return part.text;
      if (part.is === "code") return `code(${part.text})`;
      if (part.is === "picture") return `picture(${part.alt}:${part.to})`;
      if (part.is === "break") return "br";
      return part.is === "link" ? `link(${some(part.inside)}:${part.to})` : `${part.is}(${some(part.inside)})`;
    })
    .join("");
}

test("what people write", () => {
  const cases: [string, string][] = [
    ["# Title\ntext", "h1(Title) p(text)"],
    ["## Closed ##", "h2(Closed)"],
    ["a **b** _c_ ~~d~~ `e`", "p(a strong(b) em(c) del(d) code(e))"],
    ["***both***", "p(strong(*both)*)"],
    ["snake_case_name and a * b", "p(snake_case_name and a * b)"],
    ["- a\n- b\n  - c\n- d", "ul(li(p(a))li(p(b) ul(li(p(c))))li(p(d)))"],
    ["- a\n\n- b", "ul(li(p(a))li(p(b)))"],
    ["1. a\n2. b\n\ntext", "ol(li(p(a))li(p(b))) p(text)"],
    ["- a\n  more\nlazy", "ul(li(p(a\nmore\nlazy)))"],
    ["> a\n> b", "quote(p(a\nb))"],
    ["```rust\nlet a = `b`;\n```\nafter", "pre.rust(let a = `b`;) p(after)"],
    ["~~~\nunclosed", "pre(unclosed)"],
    ["---", "hr"],
    ["| a | b |\n|---|---|\n| 1 | `2` |\nx", "table(a|b/1|code(2)) p(x)"],
    ["see [the docs](https://a.example/x_(y)) now", "p(see link(the docs:https://a.example/x_(y)) now)"],
    ["https://a.example/b_c_d.", "p(link(https://a.example/b_c_d:https://a.example/b_c_d).)"],
    ["<https://a.example>", "p(link(https://a.example:https://a.example))"],
    ["[https://evil.example](fog.md)", "p(link(https://evil.example:fog.md))"],
    ["[[fog]] and [a](fog.md)", "p(link(fog:fog) and link(a:fog.md))"],
    ["![a cat](https://evil.example/x.png)", "p(picture(a cat:https://evil.example/x.png))"],
    ["\\*not\\* `a``b`", "p(*not* code(a``b))"],
    ["first  \nsecond", "p(first  brsecond)"],
  ];
  for (const [text, expected] of cases) assert.equal(told(parse(text)), expected, text);
});

test("raw HTML is text", () => {
  for (const html of ["<b>x</b>", "<img src=x onerror=alert(1)>", "<!-- c -->", "<script>alert(1)</script>", "&lt;b&gt;"]) {
    assert.equal(told(parse(html)), `p(${html})`);
  }
});

test("no text is hidden, however odd it is", () => {
  let seed = 7;
  const next = (n: number) => (seed = (seed * 48_271) % 2_147_483_647) % n;
  const pieces = ["X", "*", "**", "_", "`", "``", "[", "](", ")", "!", "<", "\n", "\n\n", "- ", "1. ", "> ", "# ", "|", "---", "```", "~~", "~~~", "\\", "https://x.example/X", "  ", "\t", "[[", "]]", " X"];
  const words = (text: string) => text.split("X").length - 1;
  for (let n = 0; n < 5_000; n++) {
    const text = Array.from({ length: 1 + next(30) }, () => pieces[next(pieces.length)]).join("");
    assert.ok(words(told(parse(text))) >= words(text), JSON.stringify([text, told(parse(text))]));
  }
});

test("long and deep texts take their time and no more", () => {
  const start = performance.now();
  const deep = ["> ", "- ", "*", "[", "`a", "**a", "![](", "|", "_a", "<", "\\", "a\n", "- a\n", "[a](", "**a* ", "http", "~~~\n", "|-\n"];
  for (const text of deep) parse(text.repeat(60_000 / text.length));
  assert.ok(performance.now() - start < 4_000, `${performance.now() - start} ms`);
});

test("front matter is apart from the body", () => {
  assert.deepEqual(split("---\nname: a\n---\nbody"), { header: "name: a", body: "body" });
  assert.deepEqual(split("---\r\nname: a\r\n---\r\nbody"), { header: "name: a", body: "body" });
  assert.deepEqual(split("body\n---\nx\n---\n"), { header: "", body: "body\n---\nx\n---\n" });
});

test("the text of a tree", () => {
  assert.equal(plain(inline("a **b `c`** ![d](e)")), "a b c d");
});

test("headings begin at the page's level, and none is skipped", () => {
  const levels = (top: number, own: number[]) => own.map(outline(top));
  assert.deepEqual(levels(4, [2, 2, 3, 2]), [4, 4, 5, 4]);
  assert.deepEqual(levels(2, [1, 4, 6, 2, 1]), [2, 3, 4, 3, 2]);
  assert.deepEqual(levels(5, [1, 2, 3]), [5, 6, 6]);
});
