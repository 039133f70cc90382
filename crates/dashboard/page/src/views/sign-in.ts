// The page for a tab that is not signed in. A launch token works once, and a login lasts until the daemon stops.

import { ApiError, ConnectionError } from "../api.ts";
import { h } from "../dom.ts";

export function showSignIn(root: HTMLElement, error?: unknown): void {
  document.title = "bethink";
  const refused = error instanceof ApiError && [401, 403, 422].includes(error.status);
  const failed = error instanceof ConnectionError || (error instanceof ApiError && !refused);
  root.replaceChildren(
    h(
      "main",
      { class: "sign-in" },
      h("h1", { tabindex: -1 }, "bethink"),
      h("p", { class: "lead" }, failed ? "The daemon is not available." : "You are not signed in."),
      failed && h("p", null, error.message),
      h("p", null, "Run this command in a terminal. It opens the dashboard in a new tab:"),
      h("pre", { tabindex: 0 }, "bethink dashboard"),
      h("p", { class: "faint" }, "Each login link works only once, in one tab. The login ends when the daemon stops."),
    ),
  );
  root.querySelector<HTMLElement>("h1")?.focus();
}
