// The context of a view, and what views share: loading, empty and failed states.

import { ApiError, ConnectionError } from "./api.ts";
import { say } from "./dialog.ts";
import { type Child, fill, h } from "./dom.ts";
import type { Events } from "./events.ts";
import type { Route } from "./route.ts";

export interface Context {
  readonly route: Route;
  /** Aborted when the view closes, which ends its requests and listeners. */
  readonly signal: AbortSignal;
  readonly events: Events;
  /** Sets the title of the window. */
  readonly title: (text: string) => void;
  readonly reload: () => void;
}

/** Shows a view in `main`. */
export type View = (main: HTMLElement, context: Context) => void | Promise<void>;

/** The newest read for each place: an older read that finishes later must not replace its result. */
const newest = new WeakMap<HTMLElement, object>();
/** What a place shows since its last successful read. */
const contents = new WeakMap<HTMLElement, ChildNode[]>();

/**
 * Shows the result of `read`, or its error with a button to try again. If the daemon does not answer, what was shown before
 * stays.
 */
export async function into<T>(place: HTMLElement, context: Context, read: () => Promise<T>, show: (value: T) => Child): Promise<void> {
  const turn = {};
  newest.set(place, turn);
  const isWanted = () => !context.signal.aborted && newest.get(place) === turn;
  const waiting = setTimeout(() => isWanted() && !place.contains(document.activeElement) && fill(place, h("p", { class: "faint", role: "status" }, "Loading…")), 250);
  try {
    const value = await read();
    clearTimeout(waiting);
    if (!isWanted()) return;
    refill(place, () => show(value));
    contents.set(place, [...place.childNodes]);
  } catch (error) {
    clearTimeout(waiting);
    const before = error instanceof ConnectionError && contents.get(place);
    if (isWanted()) fill(place, failure(error, () => void into(place, context, read, show)), before);
  }
}

/** Replaces the content. The focus stays at its item and button, or else goes to the item in that place, or to the heading. */
function refill(place: HTMLElement, content: () => Child): void {
  const items = () => [...place.querySelectorAll<HTMLElement>("[data-id]")];
  const buttons = (item: HTMLElement) => [...item.querySelectorAll("button")];
  const focused = place.contains(document.activeElement) ? (document.activeElement as HTMLElement) : null;
  const item = focused?.closest<HTMLElement>("[data-id]");
  const at = item ? items().indexOf(item) : -1;
  fill(place, content());
  if (focused?.isConnected) return focused.focus({ preventScroll: true });
  if (!item) return;
  const now = items();
  const same = now.find((other) => other.dataset["id"] === item.dataset["id"]);
  const next = same ? (buttons(same)[buttons(item).indexOf(focused as HTMLButtonElement)] ?? same) : now[Math.min(at, now.length - 1)];
  (next ?? document.querySelector<HTMLElement>("main h1"))?.focus({ preventScroll: true });
}

/** Shows an error of this work as a short message, unless the view has closed. */
export function aside(work: Promise<unknown>, signal: AbortSignal): void {
  work.catch((error: unknown) => {
    if (!signal.aborted) say(wordsOf(error), true);
  });
}

/** Does what a person asked for. Shows its error as a short message. */
export async function attempt(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    say(wordsOf(error), true);
  }
}

export function failure(error: unknown, again?: () => void): HTMLElement {
  const hint = error instanceof ApiError && error.hint;
  return h(
    "div",
    { class: "failure", role: "alert" },
    h("p", null, wordsOf(error)),
    hint && h("p", { class: "faint" }, hint),
    again && h("button", { onclick: again }, "Try again"),
  );
}

export function wordsOf(error: unknown): string {
  if (error instanceof ApiError || error instanceof ConnectionError) return error.message;
  return error instanceof Error ? `Unexpected error: ${error.message}` : "An unexpected error occurred.";
}

export function empty(title: string, ...what: Child[]): HTMLElement {
  return h("div", { class: "empty" }, h("p", { class: "lead" }, title), what.length > 0 && h("p", { class: "faint" }, what));
}

export function heading(text: string, ...beside: Child[]): HTMLElement {
  return h("header", { class: "heading" }, h("h1", { tabindex: -1 }, text), beside);
}

export function badge(text: string, kind = ""): HTMLElement {
  return h("span", { class: `badge ${kind}` }, text);
}

/** Returns a function that calls `run` once, `ms` after its last call, and at most four times `ms` after its first. */
export function later(ms: number, signal: AbortSignal, run: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let first = 0;
  return () => {
    const now = Date.now();
    if (timer === undefined) first = now;
    clearTimeout(timer);
    timer = setTimeout(
      () => {
        timer = undefined;
        if (!signal.aborted) run();
      },
      Math.max(0, Math.min(ms, first + 4 * ms - now)),
    );
  };
}
