// The rows of a session: turns and days, what was said, and each tool call with its result. Made from the outline, so
// that the rows of 100,000 messages are known before the messages are read.

import type { OutlineCall, OutlineMessage } from "./api.ts";

export type Row<Mark> =
  | { readonly is: "day"; readonly at: string }
  | { readonly is: "said"; readonly message: OutlineMessage; /** Number of the turn that it begins; 0 for others. */ readonly turn: number }
  | { readonly is: "call"; readonly message: OutlineMessage; readonly call: OutlineCall; readonly result: ResultPlace | null }
  | { readonly is: "mark"; readonly mark: Mark; readonly after: number };

export interface ResultPlace {
  readonly seq: number;
  readonly failed: boolean;
}

/** A mark follows message `after`. */
export interface PlacedMark<Mark> {
  readonly after: number;
  readonly mark: Mark;
}

export type Show = "all" | "user" | "errors" | "edits";

export interface Filter {
  readonly show: Show;
  /** Only calls that name this file; empty for all. */
  readonly file: string;
  /** The project's directory: calls name a file in it by its whole path, or by its path in the project. */
  readonly project: string;
}

export const EVERYTHING: Filter = { show: "all", file: "", project: "" };

export function rowsOf<Mark>(messages: readonly OutlineMessage[], marks: readonly PlacedMark<Mark>[], filter: Filter = EVERYTHING): Row<Mark>[] {
  const results = new Map<string, ResultPlace>();
  const called = new Set<string>();
  for (const { seq, calls, results: some } of messages) {
    for (const { id } of calls ?? []) called.add(id);
    // The first result of a call counts.
    for (const { id, failed } of some ?? []) if (!results.has(id)) results.set(id, { seq, failed: failed ?? false });
  }
  const rows: Row<Mark>[] = [];
  const isAll = filter.show === "all" && filter.file === "";
  let [turn, day, next] = [0, "", 0];
  const days = dayReader();
  const place = (until: number) => {
    for (; next < marks.length && (marks[next]?.after ?? 0) < until; next++) {
      const placed = marks[next];
      if (placed && isAll) rows.push({ is: "mark", ...placed });
    }
  };
  for (const message of messages) {
    place(message.seq);
    if (message.kind === "typed") turn++;
    const own = rowsOfMessage<Mark>(message, turn, results, called).filter((row) => matches(row, filter));
    if (own.length === 0) continue;
    const today = days(message.created_at);
    if (today !== day) rows.push({ is: "day", at: message.created_at });
    day = today;
    rows.push(...own);
  }
  place(Infinity);
  return rows;
}

function rowsOfMessage<Mark>(message: OutlineMessage, turn: number, results: ReadonlyMap<string, ResultPlace>, calls: ReadonlySet<string>): Row<Mark>[] {
  const made = (message.calls ?? []).map((call): Row<Mark> => ({ is: "call", message, call, result: results.get(call.id) ?? null }));
  // Results are shown with their calls.
  const answers = message.results ?? [];
  if (message.kind === "results" && answers.length > 0 && answers.every(({ id }) => calls.has(id))) return made;
  if (message.kind === "assistant" && !message.says && made.length > 0) return made;
  return [{ is: "said", message, turn: message.kind === "typed" ? turn : 0 }, ...made];
}

function matches<Mark>(row: Row<Mark>, { show, file, project }: Filter): boolean {
  if (file !== "" && !(row.is === "call" && row.call.path && pathIn(project, row.call.path) === file)) return false;
  switch (show) {
    case "all":
      return true;
    case "user":
      return row.is === "said" && row.message.kind === "typed";
    case "errors":
      return (row.is === "call" && row.result?.failed === true) || (row.is === "said" && (row.message.results ?? []).some(({ failed }) => failed));
    case "edits":
      return row.is === "call" && row.call.edits === true;
  }
}

/** Returns the row of a message, or the nearest one before it: results are in the row of their call. */
export function rowOf<Mark>(rows: readonly Row<Mark>[], seq: number): number {
  let found = 0;
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at];
    if (row?.is === "call" && row.result?.seq === seq) return at;
    const own = row ? seqOf(row) : 0;
    if (own === seq && row?.is !== "mark") return at;
    if (own < seq && row?.is !== "day") found = at;
  }
  return found;
}

export function seqOf<Mark>(row: Row<Mark>): number {
  return row.is === "day" ? 0 : row.is === "mark" ? row.after : row.message.seq;
}

/** The path in the project, if the file is in it. */
function pathIn(project: string, path: string): string {
  return project !== "" && path.startsWith(`${project}/`) ? path.slice(project.length + 1) : path.replace(/^\.\//, "");
}

/** Files that calls name, most frequent first. */
export function filesOf(messages: readonly OutlineMessage[], project: string): [string, number][] {
  const counts = new Map<string, number>();
  const add = (path: string) => counts.set(path, (counts.get(path) ?? 0) + 1);
  for (const { calls } of messages) for (const { path } of calls ?? []) if (path) add(pathIn(project, path));
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/** Like `localDay`, but fast for many times within an hour. */
function dayReader(): (at: string) => string {
  let [hour, day] = ["", ""];
  return (at) => {
    const minute = at.slice(0, 15);
    if (minute !== hour) [hour, day] = [minute, localDay(at)];
    return day;
  };
}

/** `2026-11-22` in the browser's time zone. */
export function localDay(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "" : `${date.getFullYear()}-${date.getMonth() + 1}-${date.getDate()}`;
}

/** How many rows at the beginning are the same in both. */
export function sameRows<Mark>(old: readonly Row<Mark>[], now: readonly Row<Mark>[]): number {
  const what = (row?: Row<Mark>) => (row?.is === "call" ? row.call : row?.is === "said" ? row.message : row?.is === "day" ? row.at : row?.after);
  let same = 0;
  while (same < old.length && what(old[same]) === what(now[same])) same++;
  return same;
}
