// Tables: of rows with a head, and of names with their values.

import { type Child, h } from "./dom.ts";

/** Columns whose cells are aligned at their ends. */
const FIGURES = new Set(["Progress", "Calls", "Failed", "Input", "Cached", "Output", "Cost"]);

/** A table that scrolls sideways where it does not fit. A column without a name has buttons. */
export function dataTable(label: string, head: readonly string[], rows: Child, foot: Child = null): HTMLElement {
  const columns = head.map((name) => h("th", { scope: "col", class: FIGURES.has(name) ? "number" : null }, name || h("span", { class: "unseen" }, "Action")));
  return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": label }, h("table", { class: "data" }, h("thead", null, h("tr", null, columns)), rows, foot));
}

export function facts(rows: readonly (readonly [string, Child])[]): HTMLElement {
  return h("table", { class: "facts" }, h("tbody", null, rows.map(([name, value]) => h("tr", null, h("th", { scope: "row" }, name), h("td", { class: "break" }, value)))));
}
