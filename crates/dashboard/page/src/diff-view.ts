// Shows the difference between two strings, line by line. Each changed line has a sign as well as a color.

import { type Line, diff, hunks } from "./diff.ts";
import { type Child, h } from "./dom.ts";
import { count } from "./number.ts";

const SIGNS = { same: " ", added: "+", removed: "−" } as const;
const WORDS = { same: "", added: "added: ", removed: "removed: " } as const;

/** Number of characters up to which the words of a line are compared. */
const LONGEST = 2_000;

export function diffView(before: string, after: string): HTMLElement {
  const told = diff(before, after);
  const changed = told.filter((line) => line.change !== "same").length;
  if (changed === 0) return h("p", { class: "faint" }, "No differences.");
  const other = partners(told);
  const rows = hunks(told).map((line) =>
    line === null
      ? h("span", { class: "gap", role: "separator" }, "⋯")
      : h("span", { class: `line ${line.change}` }, h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[line.change]), h("span", { class: "unseen" }, WORDS[line.change]), h("span", { dir: "auto" }, line.text === "" ? " " : wordsOf(line, other.get(line)))),
  );
  return h("div", { class: "diff", role: "group", "aria-label": `${count(changed, "changed line")}`, tabindex: 0 }, rows);
}

/** Returns for each removed line the added line that replaces it, and the reverse: lines in the same place of a change. */
function partners(told: readonly Line[]): Map<Line, Line> {
  const pairs = new Map<Line, Line>();
  for (let at = 0; at < told.length; ) {
    const change = told[at]?.change;
    let end = at + 1;
    while (end < told.length && told[end]?.change === change) end++;
    for (let n = 0; change === "removed" && n < end - at; n++) {
      const [before, after] = [told[at + n], told[end + n]];
      if (!before || after?.change !== "added") break;
      pairs.set(before, after).set(after, before);
    }
    at = end;
  }
  return pairs;
}

/** The text with its changed words marked, unless most of them changed. */
function wordsOf(line: Line, other: Line | undefined): Child {
  if (!other || line.text.length > LONGEST || other.text.length > LONGEST) return line.text;
  const split = (text: string) => text.split(/(?<=\s)|(?=\s)|\b/).join("\n");
  const told = line.change === "removed" ? diff(split(line.text), split(other.text)) : diff(split(other.text), split(line.text));
  const mine = told.filter((part) => part.change === "same" || part.change === line.change);
  const same = mine.filter((part) => part.change === "same").reduce((sum, part) => sum + part.text.length, 0);
  if (same * 2 < line.text.length) return line.text;
  return mine.map((part) => (part.change === "same" ? part.text : h("mark", { class: "word" }, part.text)));
}
