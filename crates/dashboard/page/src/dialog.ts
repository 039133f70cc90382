// Dialogs. The browser's own element keeps the focus inside, closes on Esc, and returns the focus afterwards.

import { type Child, h } from "./dom.ts";

export interface Question {
  readonly title: string;
  readonly text: Child;
  /** Label of the button that confirms. */
  readonly yes: string;
  readonly no?: string;
  readonly danger?: boolean;
}

export function ask(question: Question): Promise<boolean> {
  return new Promise((answer) => {
    const close = (value: string) => () => dialog.close(value);
    const yes = h("button", { class: question.danger ? "danger" : "primary", onclick: close("yes") }, question.yes);
    const no = h("button", { onclick: close("no") }, question.no ?? "Cancel");
    const dialog = modal(question.title, [h("div", null, question.text), h("div", { class: "buttons" }, no, yes)], () =>
      answer(dialog.returnValue === "yes"),
    );
    // Enter must not confirm something that cannot be undone.
    (question.danger ? no : yes).focus();
  });
}

export function modal(title: string, content: Child, closed: () => void = () => {}): HTMLDialogElement {
  const heading = h("h2", { id: "dialog-title" }, title);
  const dialog = h("dialog", { "aria-labelledby": "dialog-title" }, heading, content);
  dialog.addEventListener("close", () => {
    dialog.remove();
    closed();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close("no");
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Shows a message for a few seconds. Screen readers announce it. `action` adds a button, such as one that undoes. */
export function say(text: string, bad = false, action?: { readonly name: string; readonly run: () => void }): void {
  const place = document.querySelector("#said");
  if (!place) return;
  const note = h("p", { class: bad ? "said bad" : "said" }, text);
  if (action) {
    const run = () => {
      note.remove();
      action.run();
    };
    note.append(" ", h("button", { class: "small", onclick: run }, action.name));
  }
  place.replaceChildren(note);
  setTimeout(() => note.remove(), bad || action ? 12_000 : 6_000);
}
