// The rows of a conversation as elements.

import type { HistoryMessage, Session } from "./api.ts";
import type { Row } from "./conversation.ts";
import { diffView } from "./diff-view.ts";
import { type Child, h } from "./dom.ts";
import { blocksOf, resultText } from "./message.ts";
import { long, pretty } from "./message-view.ts";
import { prose } from "./prose.ts";
import { clock } from "./time.ts";
import { editsOf, fileOf, sortOf, summarize, text, todosOf } from "./tools.ts";
import { isObject } from "./message.ts";

/** Number of characters of a message shown at first. */
const FIRST = 1_500;
const MARKS: Readonly<Record<string, string>> = { completed: "●", in_progress: "◐" };

export interface Shown {
  /** Whether prompts show a summary instead of the message. */
  readonly hidden: boolean;
  /** Whether prompts contain only a part of the message. */
  readonly shortened: boolean;
  /** The project's directory, which is left out of paths. */
  readonly project: string;
  /** Who typed, if it was somebody else. Turns are then not counted. */
  readonly person?: string;
  /** Rows that a person has opened, by key. They stay open when they are created again. */
  readonly opened: Set<string>;
  /** Opens the message with all of its content. */
  readonly details: (seq: number) => void;
}

export function dayRow(at: string): HTMLElement {
  const date = new Date(at);
  const words = date.toLocaleDateString("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric" });
  return h("div", { class: "day" }, h("time", { datetime: at }, words));
}

export function saidRow(row: Row<unknown> & { is: "said" }, stored: HistoryMessage | undefined, shown: Shown): HTMLElement {
  const { message, turn } = row;
  const said = stored ? wordsOf(stored) : "";
  const head = turn > 0 && [h("strong", null, shown.person ?? "You"), h("span", { class: "faint" }, shown.person ? "" : `turn ${turn}`)];
  const tail = [shown.shortened && shortened(), numberButton(message.seq, shown), clock(message.created_at)];
  const kind = message.kind === "typed" ? "typed" : message.kind === "assistant" && message.says ? "answer" : "aside-row";
  const box = (...inside: Child[]) => h("article", { class: `said-row ${kind}${shown.hidden ? " hidden" : ""}`, "aria-label": `Message ${message.seq}` }, inside);
  if (!stored) return box(h("p", { class: "row-head" }, h("span", { class: "faint" }, "…"), tail));
  if (kind === "aside-row") return box(folded(message.seq, labelOf(stored), said, shown, tail));
  return box(kind === "typed" ? h("p", { class: "row-head" }, head, tail) : h("p", { class: "row-head unseen-head" }, tail), clipped(`said ${message.seq}`, said, shown), inserted(stored, message.seq, shown));
}

/** One line that opens: thinking, reminders, the text of a skill. */
function folded(seq: number, label: string, whole: string, shown: Shown, tail: Child): Child {
  const key = `aside ${seq}`;
  const open = h("button", { class: "bare fold", "data-main": true, "aria-expanded": "false" }, h("span", { class: "sort" }, label), h("span", { class: "line", dir: "auto" }, oneLine(whole)));
  const inside = h("div", { class: "fold-body" });
  opens(open, inside, key, shown, () => long(whole, "text"));
  return [h("div", { class: "row-head" }, open, tail), inside];
}

export function callRow(row: Row<unknown> & { is: "call" }, stored: HistoryMessage | undefined, answer: HistoryMessage | undefined, children: readonly Session[], shown: Shown, agentLink: (child: Session) => Child): HTMLElement {
  const { call, message, result } = row;
  const block = stored && blocksOf(stored).find((block) => block["type"] === "tool_use" && block["id"] === call.id);
  const back = answer && blocksOf(answer).find((block) => block["type"] === "tool_result" && block["tool_use_id"] === call.id);
  const failed = result?.failed ?? false;
  const told = summarize(call.tool, block?.["input"], back ? resultText(back) : null, failed);
  const ended = told.ended || (failed ? "failed" : result ? "" : "no result");
  const open = h(
    "button",
    { class: "bare fold", "data-main": true, "aria-expanded": "false" },
    h("span", { class: `sort ${failed ? "bad" : ""}` }, call.tool),
    h("span", { class: "line", dir: "auto", title: told.what }, block ? told.what.replaceAll(`${shown.project}/`, "") : (call.path ?? "…")),
    ended !== "" && h("span", { class: `ended ${failed ? "bad" : ""}` }, ended),
  );
  const inside = h("div", { class: "fold-body" });
  opens(open, inside, `call ${call.id}`, shown, () => [callBody(call.tool, block?.["input"]), back ? h("div", { class: failed ? "failed" : null }, long(resultText(back), "code")) : null, detailLinks(message.seq, result?.seq ?? 0, shown)]);
  const tail = [shown.shortened && shortened(), numberButton(message.seq, shown), clock(message.created_at)];
  return h("div", { class: `call-row ${told.sort}${shown.hidden ? " hidden" : ""}` }, h("div", { class: "row-head" }, open, tail), children.map((child) => h("div", { class: "child" }, agentLink(child))), inside);
}

function callBody(tool: string, input: unknown): Child {
  switch (sortOf(tool)) {
    case "edit": {
      const edits = editsOf(input);
      if (edits.length > 0) return [h("p", { class: "faint" }, h("code", null, fileOf(input))), edits.map((edit) => diffView(edit.before, edit.after))];
      return patchView(isObject(input) ? text(input, "patch", "input", "diff") || pretty(input) : pretty(input));
    }
    case "todos":
      return h("ul", { class: "todos" }, todosOf(input).map((todo) => h("li", { class: `todo ${todo.status}` }, h("span", { class: "todo-mark", role: "img", "aria-label": todo.status.replace("_", " ") }, MARKS[todo.status] ?? "○"), h("span", { dir: "auto" }, todo.content))));
    case "plan":
      return prose(isObject(input) ? text(input, "plan") : "", { top: 4 });
    default:
      return long(pretty(input), "code");
  }
}

/** A patch, with added and removed lines coloured. */
function patchView(patch: string): HTMLElement {
  const lines = patch.slice(0, 20_000).split("\n").map((line) => h("span", { class: `line ${line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : ""}` }, h("span"), h("span", null, line === "" ? " " : line)));
  return h("div", { class: "diff", role: "group", "aria-label": "Patch", tabindex: 0 }, lines);
}

/** Opens a row whose words were searched for. */
export function reveal(row: Row<unknown> | undefined, opened: Set<string>): void {
  if (row?.is === "said") opened.add(`aside ${row.message.seq}`).add(`said ${row.message.seq}`);
  else if (row?.is === "call") opened.add(`call ${row.call.id}`);
}

/** Fills `inside` while it is open, so that closed rows cost nothing. */
function opens(button: HTMLElement, inside: HTMLElement, key: string, shown: Shown, body: () => Child): void {
  const set = (open: boolean) => {
    button.setAttribute("aria-expanded", String(open));
    inside.hidden = !open;
    inside.replaceChildren(...(open ? [h("div", null, body())] : []));
  };
  button.addEventListener("click", () => {
    const open = !shown.opened.has(key);
    if (open) shown.opened.add(key);
    else shown.opened.delete(key);
    set(open);
  });
  set(shown.opened.has(key));
}

/** The text as Markdown; at first only its beginning. */
function clipped(key: string, whole: string, shown: Shown): HTMLElement {
  if (whole.length <= FIRST || shown.opened.has(key)) return prose(whole, { top: 3 });
  const box = h("div", null, prose(cut(whole), { top: 3 }));
  const more = () => {
    shown.opened.add(key);
    box.replaceChildren(prose(whole, { top: 3 }));
  };
  box.append(h("p", null, h("button", { class: "quiet-more", "data-main": true, onclick: more }, `Show the other ${(whole.length - cut(whole).length).toLocaleString("en")} characters`)));
  return box;
}

/** Cuts at the end of a line, so that no markup is cut in two. */
function cut(whole: string): string {
  const end = whole.lastIndexOf("\n", FIRST);
  return whole.slice(0, end > FIRST / 2 ? end : FIRST);
}

/** What the client put into the message besides what the person typed. */
function inserted(stored: HistoryMessage, seq: number, shown: Shown): Child {
  if (stored.role === "assistant") return null;
  const all = rawText(stored);
  const typed = wordsOf(stored);
  if (all.length - typed.length < 20) return null;
  const open = h("button", { class: "bare fold", "aria-expanded": "false" }, h("span", { class: "sort" }, "whole message, including what the client inserted"));
  const inside = h("div", { class: "fold-body" });
  opens(open, inside, `inserted ${seq}`, shown, () => long(all, "text"));
  return h("div", { class: "inserted" }, open, inside);
}

/** What a message says: for a person's message, without reminders and the elements that clients add. */
export function wordsOf(stored: HistoryMessage): string {
  const all = rawText(stored);
  if (stored.role === "assistant") return all;
  const typed = withoutInserted(all);
  return typed === "" ? all : typed;
}

export function withoutInserted(all: string): string {
  const command = /^\s*<command-[^]*?<command-name>([^<]*)<\/command-name>[^]*?(?:<command-args>([^]*?)<\/command-args>|$)/.exec(all);
  if (command) return `${command[1] ?? ""} ${command[2] ?? ""}`.trim();
  return all.replace(/<(system-reminder|ide_[a-z_]+|environment_context|local-command-stdout|user_instructions)>[^]*?(?:<\/\1>|$)/g, "").trim();
}

function rawText(stored: HistoryMessage): string {
  const blocks = blocksOf(stored);
  const texts = blocks.map((block) => (block["type"] === "text" ? String(block["text"] ?? "") : block["type"] === "image" ? "*(an image)*" : ""));
  const said = texts.filter((part) => part.trim() !== "").join("\n\n");
  if (said !== "") return said;
  const thought = blocks.map((block) => String(block["thinking"] ?? "")).join(" ").trim();
  return thought || blocks.filter((block) => block["type"] === "tool_result").map(resultText).join("\n");
}

function labelOf(stored: HistoryMessage): string {
  if (stored.role === "assistant") return "thinking";
  return blocksOf(stored).some((block) => block["type"] === "tool_result") ? "result" : "inserted";
}

function oneLine(whole: string): string {
  return whole.slice(0, 800).replace(/\s+/g, " ").trim().slice(0, 240);
}

function shortened(): HTMLElement {
  return h("span", { class: "badge", title: "Prompts no longer contain all of this message" }, "shortened");
}

function numberButton(seq: number, shown: Shown): HTMLElement {
  return h("button", { class: "bare number-button", "aria-label": `Show all of message ${seq}`, title: shown.hidden ? "Prompts show a shorter text instead of this message" : null, onclick: () => shown.details(seq) }, seq);
}

function detailLinks(seq: number, result: number, shown: Shown): Child {
  const to = (at: number, words: string) => at > 0 && h("button", { class: "link", onclick: () => shown.details(at) }, words);
  return h("p", { class: "faint details" }, to(seq, `call: message ${seq}`), result > 0 && " · ", to(result, `result: message ${result}`));
}
