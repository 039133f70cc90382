// Shows the difference between two strings, line by line. Each changed line has a sign as well as a color.

import { diff, hunks } from "./diff.ts";
import { h } from "./dom.ts";
import { count } from "./number.ts";

const SIGNS = { same: " ", added: "+", removed: "−" } as const;
const WORDS = { same: "", added: "added: ", removed: "removed: " } as const;

export function diffView(before: string, after: string): HTMLElement {
  const told = diff(before, after);
  const changed = told.filter((line) => line.change !== "same").length;
  if (changed === 0) return h("p", { class: "faint" }, "No differences.");
  const rows = hunks(told).map((line) =>
    line === null
      ? h("span", { class: "gap", role: "separator" }, "⋯")
      : h("span", { class: `line ${line.change}` }, h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[line.change]), h("span", { class: "unseen" }, WORDS[line.change]), h("span", { dir: "auto" }, line.text === "" ? " " : line.text)),
  );
  return h("div", { class: "diff", role: "group", "aria-label": `${count(changed, "changed line")}`, tabindex: 0 }, rows);
}
