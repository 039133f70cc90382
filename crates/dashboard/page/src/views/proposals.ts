// What wants to enter a team's memory: looked at as a difference, let in or turned down by a person.

import { Problem, get, post, query, text } from "../api.ts";
import { ask, say } from "../dialog.ts";
import { diffView } from "../diff-view.ts";
import { type Child, h } from "../dom.ts";
import { shortDir } from "../names.ts";
import { count } from "../number.ts";
import { time } from "../time.ts";
import type { Memory, Proposal } from "../types.ts";
import { sourceWords } from "./memory.ts";
import { type Context, badge, empty, failure, heading, into, later, wordsOf } from "../view.ts";

/** Proposals opened at once; the others say what they are and open on demand. */
const OPENED = 5;

export async function proposals(main: HTMLElement, context: Context): Promise<void> {
  context.title("Proposals");
  const all = h("input", { type: "checkbox", id: "decided" });
  const place = h("div");
  main.append(heading("Proposals", h("div", { class: "filters" }, h("label", { for: "decided" }, all, " Show decided ones"))), place);
  const read = () => get<{ proposals: Proposal[] }>(`/v1/proposals${query({ all: all.checked ? "true" : null })}`, context.signal);
  const draw = () => into(place, context, read, ({ proposals }) => show(proposals, context, () => void draw()));
  all.addEventListener("change", () => void draw());
  await draw();
  const again = later(150, context.signal, () => void draw());
  context.events.hear(context.signal, (event) => {
    if (event.kind === "proposal") again();
  });
}

function show(all: readonly Proposal[], context: Context, again: () => void): Child {
  if (all.length === 0) return empty("Nothing waits for you.", "What agents, extractions and dreams would share with a team comes here first.");
  const open = all.filter((proposal) => proposal.state === "open").length;
  return [h("p", { class: "faint sum" }, `${count(open, "proposal")} waiting`), h("div", { class: "proposals" }, all.map((proposal, n) => card(proposal, context, again, n < OPENED)))];
}

function card(proposal: Proposal, context: Context, again: () => void, opened: boolean): HTMLElement {
  const difference = h("div");
  const box = h(
    "details",
    { class: "proposal", open: opened && proposal.state === "open", "data-id": proposal.id },
    h("summary", null, h("span", { class: "title" }, proposal.name), badge(proposal.replaces ? "changes a topic" : "new topic"), proposal.state !== "open" && badge(proposal.state, proposal.state === "approved" ? "good" : ""), time(proposal.proposed_at)),
    h("p", { class: "faint" }, `By ${byWords(proposal.by)} for `, h("span", { title: proposal.project_dir }, shortDir(proposal.project_dir)), proposal.source && [". ", sourceWords(proposal.source)]),
    difference,
    proposal.state === "open" ? decide(proposal, again) : proposal.decided_at && h("p", { class: "faint" }, `${proposal.state} `, time(proposal.decided_at, true)),
  );
  const draw = () => {
    if (box.open && difference.childElementCount === 0) void into(difference, context, () => current(proposal, context), (before) => diffView(before, proposal.text));
  };
  box.addEventListener("toggle", draw);
  draw();
  return box;
}

/** What stands in the team's memory now, under the same name; the list says whether there is such a topic. */
async function current(proposal: Proposal, context: Context): Promise<string> {
  if (proposal.state !== "open") return "";
  const place = { project_dir: proposal.project_dir };
  let cursor: string | undefined;
  do {
    const page: { memories: Memory[]; next_cursor?: string } = await get(`/v1/memories${query({ ...place, scope: "team", cursor })}`, context.signal);
    if (page.memories.some((memory) => memory.name === proposal.name)) {
      return (await text(`/v1/memories/team/${encodeURIComponent(proposal.name)}${query(place)}`, context.signal)).text;
    }
    cursor = page.next_cursor;
  } while (cursor);
  return "";
}

function decide(proposal: Proposal, again: () => void): HTMLElement {
  const place = h("div");
  const act = async (how: "approve" | "reject", body: unknown, done: string) => {
    for (const button of buttons.querySelectorAll("button")) button.disabled = true;
    try {
      await post(`/v1/proposals/${proposal.id}/${how}`, body);
      say(done);
      again();
    } catch (error) {
      for (const button of buttons.querySelectorAll("button")) button.disabled = false;
      place.replaceChildren(failure(error));
      if (how === "approve" && error instanceof Problem && error.status === 409) place.append(replaceButton());
      else say(wordsOf(error), true);
    }
  };
  const replaceButton = () => h("button", { type: "button", class: "danger", onclick: () => void replace() }, "Approve over what stands there…");
  const replace = async () => {
    const yes = await ask({ title: "Approve it all the same?", text: h("p", null, "The topic changed since this was proposed. The difference above is against what stands there now; its history keeps both."), yes: "Approve", danger: true });
    if (yes) await act("approve", { replace: true }, `${proposal.name} is in the team's memory.`);
  };
  const reject = async () => {
    const yes = await ask({ title: "Reject this proposal?", text: h("p", null, "The same text is not proposed again."), yes: "Reject", danger: true });
    if (yes) await act("reject", {}, `${proposal.name} was turned down.`);
  };
  const buttons = h(
    "div",
    { class: "buttons start" },
    h("button", { type: "button", class: "primary", onclick: () => void act("approve", {}, `${proposal.name} is in the team's memory.`) }, "Approve"),
    h("button", { type: "button", onclick: () => void reject() }, "Reject…"),
  );
  return h("div", null, buttons, place);
}

function byWords(by: string): string {
  const words: Record<string, string> = { agent: "an agent", extraction: "what a session taught", dream: "a dream" };
  return words[by] ?? by;
}
