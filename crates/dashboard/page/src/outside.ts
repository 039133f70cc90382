// Links out of the page. A link in a memory may send information to the owner of its address, so the person decides.

import { ask } from "./dialog.ts";
import { h } from "./dom.ts";

export async function askToLeave(to: string): Promise<void> {
  const url = safe(to);
  if (url === null) return;
  const leave = await ask({
    title: "Open this address?",
    text: [
      h("p", null, "This link is part of a memory, a message or a summary. ", h("strong", null, url.host), " will receive everything that the address contains."),
      h("pre", { class: "wrap", tabindex: 0 }, url.href),
    ],
    yes: "Open in a new tab",
    no: "Stay here",
    danger: true,
  });
  if (leave) window.open(url.href, "_blank", "noopener,noreferrer");
}

/** Returns the URL if it is a web page: not a script, and not a file of this machine. */
export function safe(to: string): URL | null {
  if (!URL.canParse(to)) return null;
  const url = new URL(to);
  return url.protocol === "https:" || url.protocol === "http:" ? url : null;
}
