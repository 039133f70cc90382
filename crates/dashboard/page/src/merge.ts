// Merges two changes of one text, line by line.

import { diff } from "./diff.ts";

export interface Merged {
  readonly text: string;
  /** Number of places that both sides changed differently. The text contains both versions there, theirs first. */
  readonly conflicts: number;
}

/** One change: the lines `from..to` of the base become `lines`. */
interface Edit {
  readonly from: number;
  to: number;
  readonly lines: string[];
}

export function merge(base: string, theirs: string, yours: string): Merged {
  const lines = linesOf(base);
  const sides = [edits(base, theirs), edits(base, yours)] as const;
  const out: string[] = [];
  let [at, conflicts] = [0, 0];
  for (;;) {
    const from = Math.min(...sides.map((side) => side[0]?.from ?? Infinity));
    if (from === Infinity) break;
    const to = endOf(sides, from);
    const [a, b] = sides.map((side) => taken(side, to));
    const [left, right] = [apply(lines, from, to, a ?? []), apply(lines, from, to, b ?? [])];
    out.push(...lines.slice(at, from));
    const same = left.join("\n") === right.join("\n");
    if (a?.length) out.push(...left);
    if (b?.length && !(a?.length && same)) out.push(...right);
    if (a?.length && b?.length && !same) conflicts++;
    at = to;
  }
  out.push(...lines.slice(at));
  return { text: out.length === 0 ? "" : `${out.join("\n")}\n`, conflicts };
}

/** Returns where the region ends that starts at `from`: changes that touch each other belong to one region. */
function endOf(sides: readonly (readonly Edit[])[], from: number): number {
  const all = sides.flat().sort((a, b) => a.from - b.from || a.to - b.to);
  let end = from;
  for (const edit of all) {
    if (edit.from > end) break;
    end = Math.max(end, edit.to);
  }
  return end;
}

/** Removes the changes up to `to` from `side`, and returns them. */
function taken(side: Edit[], to: number): Edit[] {
  const beyond = side.findIndex((edit) => edit.from > to);
  return side.splice(0, beyond === -1 ? side.length : beyond);
}

function apply(lines: readonly string[], from: number, to: number, changes: readonly Edit[]): string[] {
  const out: string[] = [];
  let at = from;
  for (const edit of changes) {
    out.push(...lines.slice(at, edit.from), ...edit.lines);
    at = edit.to;
  }
  return [...out, ...lines.slice(at, to)];
}

function edits(base: string, text: string): Edit[] {
  const found: Edit[] = [];
  let [at, open] = [0, null as Edit | null];
  for (const line of diff(base, text)) {
    if (line.change === "same") {
      open = null;
      at++;
      continue;
    }
    if (!open) found.push((open = { from: at, to: at, lines: [] }));
    if (line.change === "added") open.lines.push(line.text);
    else open.to = ++at;
  }
  return found;
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
