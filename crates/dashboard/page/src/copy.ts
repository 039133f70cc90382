// Commands and paths to copy, because the page cannot run a command or open a file.

import { say } from "./dialog.ts";
import { h } from "./dom.ts";

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.");
  } catch {
    say("The browser does not allow copying. Select the text and copy it.", true);
  }
}

/** A text with a button that copies it. */
export function copyable(text: string): HTMLElement {
  return h("span", { class: "command" }, h("code", { class: "break" }, text), h("button", { class: "small", "aria-label": `Copy ${text}`, onclick: () => void copy(text) }, "Copy"));
}
