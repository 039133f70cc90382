// The page for a tab that is not signed in. A launch token works once, and a login lasts until the daemon stops.

import { ApiError, ConnectionError } from "../api.ts";
import { type Child, h } from "../dom.ts";
import { launchToken } from "../route.ts";

/** `signIn` is given if this tab was signed in before, so that there is a view to come back to. */
export function showSignIn(root: HTMLElement, signIn: ((token: string) => void) | null, error?: unknown): void {
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
      signIn ? comeBack(signIn, refused) : [h("p", null, "Run this command in a terminal. It opens the dashboard in a new tab:"), h("pre", { tabindex: 0 }, "bethink dashboard")],
      h("p", { class: "faint" }, "Each login link works only once, in one tab. The login ends when the daemon stops."),
    ),
  );
  root.querySelector<HTMLElement>("h1")?.focus();
}

/** Another tab has neither this view nor the text that was typed here, so the link is opened in this one. */
function comeBack(signIn: (token: string) => void, refused: boolean): Child {
  const field = h("input", { type: "text", required: true, spellcheck: "false", autocomplete: "off" });
  const form = h("form", { class: "fields" }, h("label", null, "Login link", field), h("div", { class: "buttons start" }, h("button", { type: "submit", class: "primary" }, "Sign in")));
  form.addEventListener("submit", () => {
    const link = field.value.trim();
    signIn(launchToken(link.slice(Math.max(0, link.indexOf("#")))) ?? link);
  });
  return [
    refused && h("p", { class: "notice", role: "alert" }, "The login link was not accepted. Each link works once, within a minute."),
    h("p", null, "The daemon has stopped or restarted, or its token was replaced. What you typed is kept in this tab. To continue where you were, run this command in a terminal and paste the link that it prints:"),
    h("pre", { tabindex: 0 }, "bethink dashboard --print"),
    form,
  ];
}
