// A summary beside the messages that its lines are about.

import { type Compaction, type HistoryMessage, client } from "./api.ts";
import { type Child, h } from "./dom.ts";
import { messageView } from "./message-view.ts";
import { prose } from "./prose.ts";
import { link } from "./route.ts";
import { type Context, into } from "./view.ts";

/** Number of messages shown for a line. */
const MESSAGES = 8;

export function summaryBeside(session: string, context: Context, done: Compaction): HTMLElement {
  const paper = prose(done.summary, { top: 4, message: (seq) => (seq <= done.kept_from_seq ? link(["session", session], { seq }) : null) });
  const hint = h("p", { class: "faint" }, "Choose “messages” next to a line of the summary to see the messages that the line summarizes.");
  const place = h("div", { class: "evidence", tabindex: 0, role: "region", "aria-label": "Messages that the line summarizes", "aria-live": "polite" }, hint);
  const path = { id: session, cid: done.id };
  const show = (line: string) =>
    into(place, context, () => client.get("/v1/sessions/{id}/compactions/{cid}/expand", { path, query: { q: line, limit: MESSAGES }, signal: context.signal }), ({ messages }) => found(session, messages));
  let pressed: HTMLElement | null = null;
  for (const line of paper.querySelectorAll<HTMLElement>("li, p")) {
    const words = ownText(line);
    if (words.length < 8) continue;
    const button = h("button", { class: "bare behind-line", "aria-pressed": "false", "aria-label": `Show the messages for: ${words.slice(0, 80)}` }, "messages");
    button.addEventListener("click", () => {
      pressed?.setAttribute("aria-pressed", "false");
      button.setAttribute("aria-pressed", "true");
      pressed = button;
      void show(words);
    });
    const nested = line.querySelector(":scope > ul, :scope > ol, :scope > pre");
    line.insertBefore(button, nested);
    button.before(" ");
  }
  return h("div", { class: "summary-beside" }, h("div", { class: "paper" }, paper), place);
}

function found(session: string, messages: readonly HistoryMessage[]): Child {
  if (messages.length === 0) return h("p", { class: "faint" }, "No messages found for this line.");
  const toTimeline = ({ seq }: HistoryMessage) => h("a", { href: link(["session", session], { seq }) }, `Message ${seq} in the timeline`);
  return messages.map((stored) => h("div", { class: "message" }, toTimeline(stored), messageView(stored)));
}

/** The text of a line without that of nested lists. */
function ownText(line: HTMLElement): string {
  const copy = line.cloneNode(true) as HTMLElement;
  for (const nested of copy.querySelectorAll("ul, ol, pre")) nested.remove();
  return (copy.textContent ?? "").replace(/\s+/g, " ").trim();
}
