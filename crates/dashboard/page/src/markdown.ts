// A parser of Markdown. Raw HTML stays text, and images are named but not loaded.

export type Inline =
  | { readonly is: "text" | "code"; readonly text: string }
  | { readonly is: "strong" | "em" | "del"; readonly inside: Inline[] }
  | { readonly is: "link"; readonly to: string; readonly inside: Inline[] }
  | { readonly is: "picture"; readonly alt: string; readonly to: string }
  | { readonly is: "break" };

export type Block =
  | { readonly is: "heading"; readonly level: number; readonly inside: Inline[] }
  | { readonly is: "paragraph"; readonly inside: Inline[] }
  | { readonly is: "code"; readonly text: string; readonly info: string }
  | { readonly is: "quote"; readonly blocks: Block[] }
  | { readonly is: "list"; readonly ordered: boolean; readonly items: Block[][] }
  | { readonly is: "table"; readonly head: Inline[][]; readonly rows: Inline[][][] }
  | { readonly is: "rule" };

/** Maximum nesting of quotes and lists, and of emphasis. Deeper nesting stays text. */
const DEEPEST = 12;

/** Maximum length of a link or of emphasized text, in characters. Limits the search for a missing end. */
const LONGEST = 3_000;

const FENCE = /^ {0,3}(`{3,}(?!.*`)|~{3,})[ \t]*(.*?)[ \t]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?:\s+|$)/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

export function parse(text: string): Block[] {
  return blocks(text.replace(/\r\n?/g, "\n").split("\n"), 0);
}

function blocks(lines: readonly string[], depth: number): Block[] {
  const out: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const [block, next] = blockAt(lines, at, depth);
    if (block) out.push(block);
    at = Math.max(next, at + 1);
  }
  return out;
}

function blockAt(lines: readonly string[], at: number, depth: number): [Block | null, number] {
  const line = lines[at] ?? "";
  if (line.trim() === "") return [null, at + 1];
  const fence = FENCE.exec(line);
  if (fence) return code(lines, at, fence[1] ?? "```", fence[2] ?? "");
  const heading = HEADING.exec(line);
  if (heading) return [{ is: "heading", level: heading[1]?.length ?? 1, inside: inline(heading[2] ?? "") }, at + 1];
  if (RULE.test(line)) return [{ is: "rule" }, at + 1];
  if (depth < DEEPEST && QUOTE.test(line)) return quote(lines, at, depth);
  if (depth < DEEPEST && ITEM.test(line)) return list(lines, at, depth);
  if (line.includes("|") && TABLE_RULE.test(lines[at + 1] ?? "")) return table(lines, at);
  return paragraph(lines, at);
}

function code(lines: readonly string[], at: number, mark: string, info: string): [Block, number] {
  const end = new RegExp(`^ {0,3}\\${mark[0] ?? "`"}{${mark.length},}\\s*$`);
  let stop = at + 1;
  while (stop < lines.length && !end.test(lines[stop] ?? "")) stop++;
  return [{ is: "code", text: lines.slice(at + 1, stop).join("\n"), info }, stop + 1];
}

function quote(lines: readonly string[], at: number, depth: number): [Block, number] {
  let stop = at;
  while (stop < lines.length && QUOTE.test(lines[stop] ?? "")) stop++;
  const inside = lines.slice(at, stop).map((line) => line.replace(QUOTE, ""));
  return [{ is: "quote", blocks: blocks(inside, depth + 1) }, stop];
}

function list(lines: readonly string[], from: number, depth: number): [Block, number] {
  const ordered = /\d/.test(ITEM.exec(lines[from] ?? "")?.[2] ?? "-");
  const items: Block[][] = [];
  let at = from;
  while (at < lines.length) {
    const item = ITEM.exec(lines[at] ?? "");
    if (!item || /\d/.test(item[2] ?? "-") !== ordered || RULE.test(lines[at] ?? "")) break;
    const width = Math.min(item[0].length, (item[1]?.length ?? 0) + (item[2]?.length ?? 1) + 1);
    let stop = at + 1;
    while (stop < lines.length && continues(lines, stop, width)) stop++;
    const inside = lines.slice(at, stop).map((line, n) => (n === 0 ? line.slice(item[0].length) : dedent(line, width)));
    items.push(blocks(inside, depth + 1));
    at = stop;
    // Items separated by a blank line are still one list.
    if ((lines[at] ?? "").trim() === "" && ITEM.test(lines[at + 1] ?? "")) at++;
  }
  return [{ is: "list", ordered, items }, at];
}

/** Whether a line belongs to a list item whose text starts at column `width`. */
function continues(lines: readonly string[], at: number, width: number): boolean {
  const line = lines[at] ?? "";
  if (line.trim() === "") return indent(lines[at + 1] ?? "") >= Math.min(width, 2) && (lines[at + 1] ?? "").trim() !== "";
  if (indent(line) >= Math.min(width, 2)) return true;
  const before = lines[at - 1] ?? "";
  return before.trim() !== "" && !opens(line);
}

/** Whether a line starts a block that is not a paragraph. */
function opens(line: string): boolean {
  return [FENCE, HEADING, RULE, QUOTE, ITEM].some((pattern) => pattern.test(line));
}

function indent(line: string): number {
  return /^[ \t]*/.exec(line)?.[0].replaceAll("\t", "    ").length ?? 0;
}

function dedent(line: string, width: number): string {
  return line.replaceAll("\t", "    ").replace(new RegExp(`^ {0,${width}}`), "");
}

function table(lines: readonly string[], at: number): [Block, number] {
  let stop = at + 2;
  while (stop < lines.length && (lines[stop] ?? "").includes("|")) stop++;
  const head = cells(lines[at] ?? "");
  const rows = lines.slice(at + 2, stop).map(cells);
  return [{ is: "table", head, rows }, stop];
}

function cells(line: string): Inline[][] {
  const inside = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inside.split(/(?<!\\)\|/).map((cell) => inline(cell.trim().replaceAll("\\|", "|")));
}

function paragraph(lines: readonly string[], at: number): [Block, number] {
  let stop = at + 1;
  while (stop < lines.length && (lines[stop] ?? "").trim() !== "" && !opens(lines[stop] ?? "")) stop++;
  return [{ is: "paragraph", inside: inline(lines.slice(at, stop).join("\n")) }, stop];
}

/** Characters that may start inline markup. */
const START = /[\\`*_~![<h\n]/g;
const ESCAPED = /[!-/:-@[-`{-~]/;
const BARE_URL = /^https?:\/\/[^\s<>"'`\])}]+[^\s<>"'`\])}.,;:!?]/;
const WORD = /[\p{L}\p{N}_]/u;

export function inline(text: string, depth = 0): Inline[] {
  const out: Inline[] = [];
  let plain = "";
  const flush = () => {
    if (plain !== "") out.push({ is: "text", text: plain });
    plain = "";
  };
  let at = 0;
  while (at < text.length) {
    START.lastIndex = at;
    const next = START.exec(text)?.index ?? text.length;
    plain += text.slice(at, next);
    if (next >= text.length) break;
    const found = inlineAt(text, next, depth);
    if (found === null) {
      plain += text[next] ?? "";
      at = next + 1;
    } else if (typeof found[0] === "string") {
      plain += found[0];
      at = found[1];
    } else {
      flush();
      out.push(found[0]);
      at = found[1];
    }
  }
  flush();
  return out;
}

function inlineAt(text: string, at: number, depth: number): [Inline | string, number] | null {
  const rest = text.slice(at, at + LONGEST);
  switch (text[at]) {
    case "\\":
      return ESCAPED.test(text[at + 1] ?? "") ? [text[at + 1] ?? "", at + 2] : null;
    case "`":
      return span(text, at);
    case "\n":
      return / {2}$/.test(text.slice(0, at).slice(-2)) ? [{ is: "break" }, at + 1] : ["\n", at + 1];
    case "!":
    case "[":
      return link(rest, at, depth);
    case "<":
    case "h":
      return url(text, rest, at);
    default:
      return depth < DEEPEST ? emphasis(text, rest, at, depth) : null;
  }
}

function span(text: string, at: number): [Inline | string, number] {
  const mark = /^`+/.exec(text.slice(at, at + 64))?.[0] ?? "`";
  let end = text.indexOf(mark, at + mark.length);
  // A run with a different number of backticks is part of the code.
  while (end >= 0 && (text[end + mark.length] === "`" || text[end - 1] === "`")) {
    while (text[end] === "`") end++;
    end = text.indexOf(mark, end);
  }
  if (end < 0) return [mark, at + mark.length];
  return [{ is: "code", text: text.slice(at + mark.length, end).replace(/^ (.*) $/s, "$1") }, end + mark.length];
}

function link(rest: string, at: number, depth: number): [Inline, number] | null {
  const wiki = /^\[\[([^\]\n]{1,200})\]\]/.exec(rest);
  if (wiki) return [{ is: "link", to: wiki[1] ?? "", inside: [{ is: "text", text: wiki[1] ?? "" }] }, at + wiki[0].length];
  const found = /^(!?)\[((?:\\.|[^\]\\]){0,500})\]\(\s*<?([^\s<>()]*(?:\([^\s()]*\)[^\s<>()]*)*)>?\s*\)/.exec(rest);
  if (!found) return null;
  const [all, picture, label = "", to = ""] = found;
  if (picture) return [{ is: "picture", alt: label, to }, at + all.length];
  return [{ is: "link", to, inside: depth < DEEPEST ? unlinked(inline(label, depth + 1)) : [{ is: "text", text: label }] }, at + all.length];
}

/** Removes links inside of a link, because only the outer one has an effect. */
function unlinked(tree: readonly Inline[]): Inline[] {
  return tree.flatMap((part): Inline[] => {
    if (!("inside" in part)) return [part];
    const inside = unlinked(part.inside);
    return part.is === "link" ? inside : [{ is: part.is, inside }];
  });
}

function url(text: string, rest: string, at: number): [Inline, number] | null {
  const angled = /^<(https?:\/\/[^\s<>]{1,2000})>/.exec(rest);
  if (angled) return [{ is: "link", to: angled[1] ?? "", inside: [{ is: "text", text: angled[1] ?? "" }] }, at + angled[0].length];
  if (rest[0] === "<" || WORD.test(text[at - 1] ?? "")) return null;
  const bare = BARE_URL.exec(rest)?.[0];
  return bare ? [{ is: "link", to: bare, inside: [{ is: "text", text: bare }] }, at + bare.length] : null;
}

function emphasis(text: string, rest: string, at: number, depth: number): [Inline | string, number] | null {
  const found =
    /^(\*\*|__|~~)(?=\S)([^]*?\S)\1/.exec(rest) ?? /^(\*|_)(?=[^\s*_])([^]*?[^\s*_])\1(?!\1)/.exec(rest);
  if (!found) return null;
  const [all, mark = "", inside = ""] = found;
  // snake_case is not emphasis.
  const within = WORD.test(text[at - 1] ?? "") || WORD.test(text[at + all.length] ?? "");
  if (mark.startsWith("_") && within) return [mark, at + mark.length];
  const is = mark === "~~" ? "del" : mark.length === 2 ? "strong" : "em";
  const part: Inline = { is, inside: inline(inside, depth + 1) };
  return [part, at + all.length];
}

/** Returns the text without markup, for labels. */
export function plain(tree: readonly Inline[]): string {
  return tree
    .map((part) => {
      if ("text" in part) return part.text;
      if ("inside" in part) return plain(part.inside);
      return part.is === "picture" ? part.alt : " ";
    })
    .join("");
}

/** Splits a file into front matter and body. */
export function split(file: string): { readonly header: string; readonly body: string } {
  const found = /^\ufeff?---[ \t]*\r?\n([^]*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/.exec(file);
  return found ? { header: found[1] ?? "", body: file.slice(found[0].length) } : { header: "", body: file };
}
