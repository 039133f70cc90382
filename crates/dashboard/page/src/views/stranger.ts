// The daemon does not know this page: a launch token is good once, and a tab is known while the daemon runs.

import { Problem } from "../api.ts";
import { h } from "../dom.ts";

export function stranger(root: HTMLElement, error?: unknown): void {
  document.title = "bethink";
  const lost = error instanceof Problem && error.status !== 401 && error.status !== 403 && error.status !== 422;
  root.replaceChildren(
    h(
      "main",
      { class: "stranger" },
      h("h1", { tabindex: -1 }, "bethink"),
      h("p", { class: "lead" }, lost ? "The daemon can't be asked right now." : "This page is not signed in."),
      lost && h("p", null, error.message),
      h("p", null, "Run this in a terminal; it opens the dashboard in a new tab:"),
      h("pre", { tabindex: 0 }, "bethink dashboard"),
      h("p", { class: "faint" }, "An address opens the dashboard once, and in one tab. It ends when the daemon does."),
    ),
  );
  root.querySelector<HTMLElement>("h1")?.focus();
}
