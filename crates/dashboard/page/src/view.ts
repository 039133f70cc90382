// What a view is given, and what views share: states of waiting, emptiness and failure.

import { Problem } from "./api.ts";
import { say } from "./dialog.ts";
import { type Child, fill, h } from "./dom.ts";
import type { Events } from "./events.ts";
import type { Route } from "./route.ts";

export interface Context {
  readonly route: Route;
  /** Ends when the view is left; reads and listeners end with it. */
  readonly signal: AbortSignal;
  readonly events: Events;
  /** The title of the window. */
  readonly title: (text: string) => void;
  readonly reload: () => void;
}

/** Fills `main`; what it awaits ends with the context's signal. */
export type View = (main: HTMLElement, context: Context) => void | Promise<void>;

/** Shows what `read` gives, or what went wrong with a way to try again. */
export async function into<T>(place: HTMLElement, context: Context, read: () => Promise<T>, show: (value: T) => Child): Promise<void> {
  const waiting = setTimeout(() => fill(place, h("p", { class: "faint", role: "status" }, "Reading…")), 250);
  try {
    const value = await read();
    clearTimeout(waiting);
    if (!context.signal.aborted) fill(place, show(value));
  } catch (error) {
    clearTimeout(waiting);
    if (!context.signal.aborted) fill(place, failure(error, () => void into(place, context, read, show)));
  }
}

/** Work that nobody waits for: what goes wrong is said in passing, unless the view was left meanwhile. */
export function aside(work: Promise<unknown>, signal: AbortSignal): void {
  work.catch((error: unknown) => {
    if (!signal.aborted) say(wordsOf(error), true);
  });
}

export function failure(error: unknown, again?: () => void): HTMLElement {
  const hint = error instanceof Problem ? error.hint : null;
  return h(
    "div",
    { class: "failure", role: "alert" },
    h("p", null, wordsOf(error)),
    hint && h("p", { class: "faint" }, hint),
    again && h("button", { type: "button", onclick: again }, "Try again"),
  );
}

export function wordsOf(error: unknown): string {
  if (error instanceof Problem) return error.message;
  return error instanceof Error ? `The page failed: ${error.message}` : "The page failed.";
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

/** Runs after calls have been quiet for `ms`, once, and at the latest after four times that. */
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
