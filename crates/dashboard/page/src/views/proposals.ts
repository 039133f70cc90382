// Proposals for a team's memory, each shown as a difference for a person to approve or reject.

import { ApiError, type MemoriesPage, type Proposal, client } from "../api.ts";
import { ask, say } from "../dialog.ts";
import { diffView } from "../diff-view.ts";
import { type Child, fill, h } from "../dom.ts";
import { shortDir } from "../names.ts";
import { count } from "../number.ts";
import { time } from "../time.ts";
import { sourceWords } from "./memory.ts";
import { type Context, badge, empty, failure, heading, into, later } from "../view.ts";

/** Number of proposals that are open at first. */
const OPENED = 5;

export async function proposals(main: HTMLElement, context: Context): Promise<void> {
  context.title("Proposals");
  const all = h("input", { type: "checkbox", id: "decided" });
  const place = h("div");
  main.append(heading("Proposals", h("div", { class: "filters" }, h("label", { for: "decided" }, all, " Show approved and rejected proposals"))), place);
  const read = () => client.get("/v1/proposals", { query: { all: all.checked || null }, signal: context.signal });
  const draw = () => into(place, context, read, ({ proposals }) => show(proposals, context, () => void draw()));
  all.addEventListener("change", () => void draw());
  await draw();
  const again = later(150, context.signal, () => void draw());
  context.events.listen(context.signal, (event) => {
    if (event.event === "proposal") again();
  });
}

function show(all: readonly Proposal[], context: Context, again: () => void): Child {
  if (all.length === 0) return empty("No proposals to review.", "Memories that you, an agent or bethink's background jobs propose to the team appear here.");
  const open = all.filter((proposal) => proposal.state === "open").length;
  return [h("p", { class: "faint sum" }, `${count(open, "proposal")} to review`), h("div", { class: "proposals" }, all.map((proposal, n) => card(proposal, context, again, n < OPENED)))];
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

/** Returns the team's current topic with this name, or an empty string. The list shows whether there is one. */
async function current(proposal: Proposal, context: Context): Promise<string> {
  if (proposal.state !== "open") return "";
  const { project_dir, name } = proposal;
  const { signal } = context;
  let cursor: string | null | undefined;
  do {
    const page: MemoriesPage = await client.get("/v1/memories", { query: { project_dir, scope: "team", cursor }, signal });
    if (page.memories.some((memory) => memory.name === name)) {
      return client.get("/v1/memories/{scope}/{name}", { path: { scope: "team", name }, query: { project_dir }, signal });
    }
    cursor = page.next_cursor;
  } while (cursor);
  return "";
}

function decide(proposal: Proposal, again: () => void): HTMLElement {
  const { id, name } = proposal;
  const place = h("div");
  const change = async (work: () => Promise<unknown>, done: string, conflict?: () => Child) => {
    for (const button of buttons.querySelectorAll("button")) button.disabled = true;
    try {
      await work();
      say(done);
      again();
    } catch (error) {
      for (const button of buttons.querySelectorAll("button")) button.disabled = false;
      const isConflict = error instanceof ApiError && error.status === 409;
      fill(place, failure(error), isConflict && conflict?.());
    }
  };
  const approve = (replace: boolean) =>
    change(() => client.post("/v1/proposals/{id}/approve", { path: { id }, body: { replace } }), `Approved: ${name} was added to the team's memory.`, () =>
      h("button", { class: "danger", onclick: () => void confirmReplace() }, "Replace the current version…"),
    );
  const confirmReplace = async () => {
    const text = h("p", null, "The topic has changed since this was proposed. The changes shown are relative to the current version. The history keeps both versions.");
    if (await ask({ title: "Replace the current version?", text, yes: "Approve", danger: true })) await approve(true);
  };
  const confirmReject = async () => {
    const text = h("p", null, "Nothing with the same meaning will be proposed again.");
    if (!(await ask({ title: "Reject this proposal?", text, yes: "Reject", danger: true }))) return;
    await change(() => client.post("/v1/proposals/{id}/reject", { path: { id } }), `Rejected the proposal for ${name}.`);
  };
  const buttons = h(
    "div",
    { class: "buttons start" },
    h("button", { class: "primary", onclick: () => void approve(false) }, "Approve"),
    h("button", { onclick: () => void confirmReject() }, "Reject…"),
  );
  return h("div", null, buttons, place);
}

function byWords(by: string): string {
  const words: Record<string, string> = { agent: "an agent", extraction: "an extraction", dream: "a dream", person: "a person" };
  return words[by] ?? by;
}
