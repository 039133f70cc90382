// The way out of the page: a link that somebody wrote into a memory may carry what it knows to a stranger.

import { ask } from "./dialog.ts";
import { h } from "./dom.ts";

export async function askToLeave(to: string): Promise<void> {
  const url = safe(to);
  if (url === null) return;
  const leave = await ask({
    title: "Open this address?",
    text: [
      h("p", null, "It stands in a text that an agent or somebody else wrote. Whoever owns ", h("strong", null, url.host), " learns what the address holds."),
      h("pre", { class: "wrap", tabindex: 0 }, url.href),
    ],
    yes: "Open in a new tab",
    no: "Stay here",
    danger: true,
  });
  if (leave) window.open(url.href, "_blank", "noopener,noreferrer");
}

/** Pages of the web, and nothing that runs or reaches into this machine's files. */
export function safe(to: string): URL | null {
  if (!URL.canParse(to)) return null;
  const url = new URL(to);
  return url.protocol === "https:" || url.protocol === "http:" ? url : null;
}
