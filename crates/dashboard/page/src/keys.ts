// Keyboard shortcuts that work in every view. `?` lists them.

import { modal } from "./dialog.ts";
import { h } from "./dom.ts";
import { isModified } from "./movement.ts";
import { link } from "./route.ts";

export const PLACES: readonly { key: string; path: string[]; name: string }[] = [
  { key: "1", path: [], name: "Home" },
  { key: "2", path: ["sessions"], name: "Sessions" },
  { key: "3", path: ["memories"], name: "Memories" },
  { key: "4", path: ["candidates"], name: "Candidates" },
  { key: "5", path: ["proposals"], name: "Proposals" },
  { key: "6", path: ["recall"], name: "Recall" },
  { key: "7", path: ["health"], name: "Health" },
  { key: "8", path: ["team"], name: "Team history" },
];

const HELP: readonly [string, string][] = [
  ["1 to 8", "go to a view"],
  ["/", "search or filter"],
  ["j k, arrows, Page Up/Down, Home, End", "move through a list"],
  ["Enter", "open the selected item"],
  ["[ ]", "go to the previous or next turn of a session"],
  ["Esc", "close, or go back"],
  ["y, e, d", "keep, edit or drop the selected candidate, or the first if none is selected"],
  ["e, m, Delete", "edit, move or delete the memory that is shown"],
  ["a", "add a memory"],
  ["r", "reload"],
  ["t", "switch the theme: light, dark or system"],
  ["?", "show this help"],
];

export interface KeyActions {
  readonly reload: () => void;
  readonly back: () => void;
  readonly theme: () => void;
}

export function listen(actions: KeyActions): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || !event.isTrusted || isModified(event) || isDialogOpen()) return;
    const typing = isTyping(event.target);
    if (event.key === "Escape") {
      if (typing) (event.target as HTMLElement).blur();
      else actions.back();
      return;
    }
    if (typing || !act(event.key, actions)) return;
    event.preventDefault();
  });
}

/** Listens for keys of a view, except while a person types. `find` returns what a key does. */
export function onKey(signal: AbortSignal, find: (key: string) => (() => void) | undefined): void {
  const listener = (event: KeyboardEvent) => {
    const act = event.repeat || isModified(event) || isTyping(event.target) || isDialogOpen() ? undefined : find(event.key);
    if (act) event.preventDefault();
    act?.();
  };
  document.addEventListener("keydown", listener, { signal });
}

export function help(): void {
  const rows = HELP.map(([keys, what]) => h("tr", null, h("th", { scope: "row" }, h("kbd", null, keys)), h("td", null, what)));
  const places = PLACES.map((place) => h("tr", null, h("th", { scope: "row" }, h("kbd", null, place.key)), h("td", null, place.name)));
  const close = h("button", { onclick: () => dialog.close() }, "Close");
  const dialog = modal("Keyboard shortcuts", [
    h("div", { class: "columns" }, h("table", { class: "keys" }, h("tbody", null, rows)), h("table", { class: "keys" }, h("tbody", null, places))),
    h("div", { class: "buttons" }, close),
  ]);
  close.focus({ preventScroll: true });
}

function act(key: string, actions: KeyActions): boolean {
  const place = PLACES.find((place) => place.key === key);
  if (place) location.hash = link(place.path);
  else if (key === "?") help();
  else if (key === "/") document.querySelector<HTMLElement>("main [type=search]")?.focus();
  else if (key === "r") actions.reload();
  else if (key === "t") actions.theme();
  else return "jk[]".includes(key) && enterList(key);
  return true;
}

/** Moves the focus to a list that does not have it yet. */
function enterList(key: string): boolean {
  const row = document.querySelector<HTMLElement>("main .item[tabindex='0'], main .item > [tabindex='0']");
  row?.focus();
  if ("[]".includes(key)) row?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  return row !== null;
}

function isDialogOpen(): boolean {
  return document.querySelector("dialog[open]") !== null;
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches("input, textarea, select, [contenteditable]");
}
