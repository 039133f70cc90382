// The key `recall` in a memory's front matter, which pins or suppresses the memory.

import type { MemoryRecall } from "./api.ts";

const KEY = /^([ \t]*)([A-Za-z_][\w -]*?)[ \t]*:(?=\s|$)/;

/** Returns the text with this value of `recall`, or without the key, and otherwise unchanged. Returns `null` if the front matter cannot be changed by lines. */
export function withRecall(text: string, value: MemoryRecall | null): string | null {
  const start = text.startsWith("\ufeff") ? 1 : 0;
  const end = /^[^\n]*\r\n/.test(text) ? "\r\n" : "\n";
  const lines = text.slice(start).split("\n");
  const open = lines.findIndex((line) => line.trim() !== "");
  const close = lines.findIndex((line, at) => at > open && /^(---|\.\.\.)\s*$/.test(line));
  const rows = lines.slice(open + 1, close === -1 ? open + 2 : close);
  const isHeader = lines[open]?.trimEnd() === "---" && (rows.some((row) => KEY.test(row)) || (close !== -1 && rows.every((row) => row.trim() === "")));
  if (rows.find((row) => row.trim() !== "")?.trimStart().startsWith("{") || (isHeader && close === -1)) return null;
  if (!isHeader) {
    if (value === null) return text;
    const body = text.slice(start);
    const gap = body === "" || /^[\r\n]/.test(body) ? "" : end;
    return `${text.slice(0, start)}---${end}recall: ${value}${end}---${end}${gap}${body}`;
  }
  const at = place(rows);
  const row = rows[at];
  if (row === undefined) {
    if (value === null) return text;
    const indent = KEY.exec(rows.find((row) => KEY.test(row)) ?? "")?.[1] ?? "";
    // At the top, because only the first lines of long front matter are read.
    rows.unshift(`${indent}recall: ${value}${end.slice(0, -1)}`);
  } else if (value !== null) {
    rows[at] = row.replace(/:[ \t]*[^\s#]*/, `: ${value}`);
  } else {
    rows.splice(at, 1);
    // Front matter that contained only this key was written for it.
    if (rows.length === 0) return text.slice(0, start) + lines.slice(close + 1).join("\n").replace(/^\r?\n/, "");
  }
  return text.slice(0, start) + [...lines.slice(0, open + 1), ...rows, ...lines.slice(close)].join("\n");
}

/** Returns the row of the key: at the top, or else under `metadata`. */
function place(rows: readonly string[]): number {
  let [top, nested, parent] = [-1, -1, ""];
  let indent: string | null = null;
  rows.forEach((row, at) => {
    const [, space, name] = KEY.exec(row) ?? [];
    if (space === undefined || name === undefined) return;
    const key = name.toLowerCase();
    indent ??= space;
    if (space === indent) parent = key;
    if (key !== "recall") return;
    if (space === indent && top === -1) top = at;
    else if (parent === "metadata" && nested === -1) nested = at;
  });
  return top === -1 ? nested : top;
}
