// What a tool call did, in one line. Arguments may be anything that a model wrote, so every field is checked.

import { type Change, type Line, diff } from "./diff.ts";
import { inputText, isObject } from "./message.ts";

export type ToolSort = "shell" | "search" | "read" | "edit" | "write" | "todos" | "agent" | "plan" | "other";

export interface ToolSummary {
  readonly sort: ToolSort;
  /** What the call asks for: a command, a pattern and its path, a file and its lines. */
  readonly what: string;
  /** How it ended: `exit 1`, `12 lines`, `+3 −1`. Empty while there is no result. */
  readonly ended: string;
}

/** Names without case, `_` and `-`. */
const SORTS: readonly [ToolSort, string][] = [
  ["shell", "bash shell runshellcommand localshell execcommand exec runcommand runterminalcmd executecommand terminal"],
  ["search", "grep glob search searchfiles searchfilecontent ripgrep list ls listdirectory listdir codebasesearch find toolsearch"],
  ["read", "read readfile view viewfile readmanyfiles notebookread cat"],
  ["edit", "edit multiedit strreplace strreplaceeditor strreplacebasededittool replace editfile applypatch patch applydiff notebookedit update"],
  ["write", "write writefile create createfile writetofile"],
  ["todos", "todowrite updateplan todo writetodos updatetodolist"],
  ["agent", "task agent spawnagent delegate"],
  ["plan", "exitplanmode planexit"],
];

export function sortOf(tool: string): ToolSort {
  const name = (tool.split("__").at(-1) ?? tool).toLowerCase().replace(/[_\-.]/g, "");
  return SORTS.find(([, names]) => names.split(" ").includes(name))?.[0] ?? "other";
}

export function summarize(tool: string, input: unknown, result: string | null, failed: boolean): ToolSummary {
  const sort = sortOf(tool);
  return { sort, what: whatOf(sort, input), ended: result === null ? "" : endOf(sort, input, result, failed) };
}

function whatOf(sort: ToolSort, input: unknown): string {
  if (!isObject(input)) return firstLine(inputText(input));
  switch (sort) {
    case "shell":
      return firstLine(Array.isArray(input["command"]) ? input["command"].map(String).join(" ") : inputText(input));
    case "search": {
      const [pattern, path] = [text(input, "pattern", "query", "regex", "glob"), text(input, "path", "directory", "dir_path", "include")];
      return pattern !== "" && path !== "" ? `${pattern} in ${path}` : firstLine(pattern || path || inputText(input));
    }
    case "read": {
      const [from, many] = [number(input["offset"]), number(input["limit"])];
      const lines = from === null && many === null ? "" : many === null ? `, from line ${from}` : `, lines ${from ?? 1} to ${(from ?? 1) + many - 1}`;
      return `${fileOf(input) || firstLine(inputText(input))}${lines}`;
    }
    case "todos": {
      const todos = todosOf(input);
      const now = todos.find((todo) => todo.status === "in_progress")?.content;
      return `${todos.filter((todo) => todo.status === "completed").length} of ${todos.length} done${now ? `, now: ${now}` : ""}`;
    }
    case "agent":
      return [text(input, "subagent_type", "agent"), text(input, "description", "prompt")].filter((part) => part !== "").map(firstLine).join(": ");
    case "plan":
      return firstLine(text(input, "plan").replace(/^[#\s]+/, ""));
    default:
      return fileOf(input) || firstLine(inputText(input));
  }
}

function endOf(sort: ToolSort, input: unknown, result: string, failed: boolean): string {
  const code = /\bexit(?:ed with)?(?: code)?:? (\d+)/i.exec(result.slice(0, 300))?.[1];
  if (sort === "shell") return code !== undefined && (failed || code !== "0") ? `exit ${code}` : failed ? "failed" : lines(result);
  if (failed) return "failed";
  if (sort === "edit") {
    const told = isObject(input) ? changedLines(input) : [];
    const many = (change: Change) => told.filter((line) => line.change === change).length;
    return told.length > 0 ? `+${many("added")} −${many("removed")}` : "";
  }
  if (sort === "write") return lines(isObject(input) ? text(input, "content", "file_text") : "");
  return sort === "read" || sort === "search" || sort === "other" ? lines(result) : "";
}

/** A row is drawn many times, and a large difference takes long to find. */
const known = new WeakMap<object, Line[]>();

function changedLines(input: object): Line[] {
  const told = known.get(input) ?? editsOf(input).flatMap(({ before, after }) => diff(before, after).filter(({ change }) => change !== "same"));
  known.set(input, told);
  return told;
}

/** The replaced and the new text of each edit of a call. */
export function editsOf(input: unknown): { before: string; after: string }[] {
  if (!isObject(input)) return [];
  const all = Array.isArray(input["edits"]) ? input["edits"].filter(isObject) : [input];
  const edits = all.map((edit) => ({ before: text(edit, "old_string", "old_str", "oldText"), after: text(edit, "new_string", "new_str", "newText", "new_source") }));
  return edits.filter((edit) => edit.before !== "" || edit.after !== "");
}

export interface ListedTodo {
  readonly content: string;
  readonly status: string;
}

export function todosOf(input: unknown): ListedTodo[] {
  const listed = isObject(input) ? (input["todos"] ?? input["plan"]) : null;
  if (!Array.isArray(listed)) return [];
  return listed.filter(isObject).map((todo) => ({ content: text(todo, "content", "step", "description", "title"), status: text(todo, "status") }));
}

export function fileOf(input: unknown): string {
  return isObject(input) ? text(input, "file_path", "path", "notebook_path", "filePath") : "";
}

export function text(from: Record<string, unknown>, ...names: string[]): string {
  for (const name of names) if (typeof from[name] === "string" && from[name] !== "") return from[name];
  return "";
}

function number(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) ? value : null;
}

function firstLine(value: string): string {
  const [first = "", ...rest] = value.trim().slice(0, 1000).split("\n");
  return `${first.slice(0, 240)}${rest.length > 0 ? " …" : ""}`;
}

function lineCount(value: string): number {
  return value === "" ? 0 : value.replace(/\n$/, "").split("\n").length;
}

function lines(value: string): string {
  const many = lineCount(value);
  return `${many} ${many === 1 ? "line" : "lines"}`;
}
