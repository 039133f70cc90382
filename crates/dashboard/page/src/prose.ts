// A Markdown tree as elements.

import { type Child, h } from "./dom.ts";
import { type Block, type Inline, parse } from "./markdown.ts";
import { askToLeave } from "./outside.ts";

/** Number of characters shown at first. A browser takes long to show 100,000 elements. */
const FIRST = 60_000;

export interface ProseOptions {
  /** Returns the address of a link within the page, or `null` for any other link. */
  readonly within?: (to: string) => string | null;
  /** Returns the address of a message that the text refers to as `[136]`, or `null` if there is none. */
  readonly message?: (seq: number) => string | null;
  /** Level of the top headings, so that they fit into the outline of the page. */
  readonly top?: number;
}

interface Rendering extends ProseOptions {
  /** Returns the level in the page of a heading, from its level in the text. */
  readonly levelOf: (own: number) => number;
}

export function prose(text: string, options: ProseOptions = {}): HTMLElement {
  const box = h("div", { class: "prose", dir: "auto" });
  const show = (part: string) => box.replaceChildren(...blocksOf(parse(part), { ...options, levelOf: outline(options.top ?? 3) }));
  show(text.slice(0, FIRST));
  if (text.length > FIRST) {
    const more = h("button", { onclick: () => show(text) }, `Show all ${text.length} characters`);
    box.append(h("p", null, more));
  }
  return box;
}

/** Headings begin at the top level and go down one level at a time, whatever the text has: screen readers read an outline. */
export function outline(top: number): (own: number) => number {
  const open: number[] = [];
  return (own) => {
    while ((open.at(-1) ?? 0) >= own) open.pop();
    open.push(own);
    return Math.min(6, top + open.length - 1);
  };
}

function blockOf(block: Block, options: Rendering): HTMLElement {
  switch (block.is) {
    case "heading":
      return h(`h${options.levelOf(block.level)}` as "h3", null, inlines(block.inside, options));
    case "paragraph":
      return h("p", null, inlines(block.inside, options));
    case "code":
      return h("pre", { tabindex: 0 }, block.info !== "" && h("span", { class: "faint" }, `${block.info}\n`), h("code", null, block.text));
    case "quote":
      return h("blockquote", null, blocksOf(block.blocks, options));
    case "list":
      return h(block.ordered ? "ol" : "ul", null, block.items.map((item) => h("li", null, itemOf(item, options))));
    case "table":
      return tableOf(block.head, block.rows, options);
    case "rule":
      return h("hr");
  }
}

function blocksOf(blocks: readonly Block[], options: Rendering): HTMLElement[] {
  return blocks.map((block) => blockOf(block, options));
}

/** The first paragraph of an item needs no `p` element. */
function itemOf(item: readonly Block[], options: Rendering): Child {
  const [first, ...rest] = item;
  if (first?.is !== "paragraph") return blocksOf(item, options);
  return [inlines(first.inside, options), blocksOf(rest, options)];
}

function tableOf(head: Inline[][], rows: Inline[][][], options: ProseOptions): HTMLElement {
  const cells = (row: Inline[][], tag: "th" | "td") => row.map((cell) => h(tag, null, inlines(cell, options)));
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": "table" },
    h("table", null, h("thead", null, h("tr", null, cells(head, "th"))), h("tbody", null, rows.map((row) => h("tr", null, cells(row, "td"))))),
  );
}

function inlines(tree: readonly Inline[], options: ProseOptions): Child[] {
  return tree.map((part) => inlineOf(part, options));
}

function inlineOf(part: Inline, options: ProseOptions): Child {
  switch (part.is) {
    case "text":
      return options.message ? withReferences(part.text, options.message) : part.text;
    case "break":
      return h("br");
    case "code":
      return h("code", null, part.text);
    case "picture":
      return h("span", { class: "picture" }, `image: ${part.alt || "no description"} (${part.to})`);
    case "link":
      return linkOf(part.to, inlines(part.inside, options), options);
    default:
      return h(part.is, null, inlines(part.inside, options));
  }
}

function linkOf(to: string, inside: Child[], options: ProseOptions): HTMLElement {
  const within = options.within?.(to) ?? null;
  if (within !== null) return h("a", { href: within }, inside);
  if (!/^https?:\/\//i.test(to)) return h("span", { class: "no-link", title: to }, inside);
  return h("button", { class: "link", title: to, onclick: () => askToLeave(to) }, inside);
}

/** Makes links of `[136]`, and of both numbers of `[136–140]` and `[136, 140]`. */
function withReferences(text: string, message: (seq: number) => string | null): Child[] {
  return text.split(/(\[\d{1,9}(?:(?:[-–]|, ?)\d{1,9})*\])/).map((part, at) => {
    if (at % 2 === 0) return part;
    return part.split(/(\d+)/).map((number, at) => {
      const to = at % 2 === 1 ? message(Number(number)) : null;
      return to === null ? number : h("a", { href: to, title: `Message ${number}` }, number);
    });
  });
}
