// Statements that may be worth remembering, for a person to keep or drop.

import { type Candidate, client } from "../api.ts";
import { say } from "../dialog.ts";
import { draftOf, dropDraft, keepDraft } from "../drafts.ts";
import { type Child, fill, h } from "../dom.ts";
import { onKey } from "../keys.ts";
import { count } from "../number.ts";
import { chooser } from "../project.ts";
import { link, replace } from "../route.ts";
import { time } from "../time.ts";
import { type Context, badge, empty, failure, heading, into, later } from "../view.ts";

export async function candidates(main: HTMLElement, context: Context): Promise<void> {
  context.title("Candidates");
  const all = h("input", { type: "checkbox", id: "decided" });
  const place = h("div");
  let project = "";
  const draw = () => {
    replace(["candidates"], { project });
    const read = () => client.get("/v1/candidates", { query: { project_dir: project, all: all.checked || null }, signal: context.signal });
    return into(place, context, read, ({ candidates }) => show(candidates, context, () => void draw()));
  };
  const chosen = await chooser(context, (dir) => {
    project = dir;
    void draw();
  });
  project = chosen.value();
  main.append(heading("Candidates", h("div", { class: "filters" }, h("label", { for: "decided" }, all, " Show kept and dropped candidates"), chosen.node)), place);
  all.addEventListener("change", () => void draw());
  const again = later(150, context.signal, () => void draw());
  context.events.listen(context.signal, (event) => {
    if (event.event === "candidate" && project !== "" && !place.querySelector("textarea")) again();
  });
  if (project === "") place.append(empty("No project yet.", "Enter a project directory above."));
  else await draw();
}

function show(all: readonly Candidate[], context: Context, again: () => void): Child {
  if (all.length === 0) return empty("No candidates.", "Statements that may be worth remembering appear here. They are not recalled until you keep them.");
  const waiting = all.filter((candidate) => candidate.state === "waiting").length;
  return [h("p", { class: "faint sum" }, `${count(waiting, "statement")} to keep or drop`), candidateCards(all, context, again)];
}

/** Cards with their keys, which act on the focused card, or else on the first one. */
export function candidateCards(all: readonly Candidate[], context: Context, again: () => void): HTMLElement {
  const box = h("div", { class: "proposals" }, all.map((candidate) => card(candidate, again)));
  onKey(context.signal, (key) => {
    const focused = document.activeElement?.closest<HTMLElement>(".candidate");
    const card = focused && box.contains(focused) ? focused : box;
    const button = box.isConnected && card.querySelector<HTMLElement>(`button[data-key="${CSS.escape(key)}"]:enabled`);
    // Its buttons are hidden while a candidate is edited.
    return button && !button.closest("[hidden]") ? () => button.click() : undefined;
  });
  return box;
}

function card(candidate: Candidate, again: () => void): HTMLElement {
  const { session_id, seq, state } = candidate;
  return h(
    "article",
    { class: "proposal candidate", "data-id": candidate.id, tabindex: -1 },
    candidate.context && h("p", { class: "faint", dir: "auto" }, candidate.context),
    h("blockquote", { dir: "auto" }, candidate.sentence),
    h("p", { class: "faint" }, badge(candidate.type), " said in ", h("a", { href: link(["session", session_id], { seq }) }, "a session"), ", ", time(candidate.said_at, true), state !== "waiting" && [". ", badge(state, state === "kept" ? "good" : "")]),
    state === "waiting" && decide(candidate, again),
  );
}

function decide(candidate: Candidate, again: () => void): HTMLElement {
  const { id } = candidate;
  const [place, editor] = [h("div"), h("div")];
  const change = async (work: () => Promise<void>) => {
    const all = box.querySelectorAll("button");
    // A disabled button loses the focus.
    if (box.contains(document.activeElement)) box.closest<HTMLElement>(".candidate")?.focus({ preventScroll: true });
    for (const button of all) button.disabled = true;
    try {
      await work();
      dropDraft(id);
      again();
    } catch (error) {
      for (const button of all) button.disabled = false;
      fill(place, failure(error));
    }
  };
  const keep = (text: string | null) => async () => {
    const { name, scope } = await client.post("/v1/candidates/{id}/keep", { path: { id }, body: text === null ? {} : { text } });
    const open = () => (location.hash = link(["memory", scope, name], { project: candidate.project_dir }));
    say(`Remembered as ${name}.`, false, { name: "Open", run: open });
  };
  const drop = async () => {
    await client.post("/v1/candidates/{id}/drop", { path: { id } });
    say("Dropped. The statement will not be offered again.");
  };
  const edit = () => {
    const area = h("textarea", { class: "editor-text short", "aria-label": "What to remember", rows: 3 });
    area.value = draftOf(id)?.text ?? candidate.sentence;
    area.addEventListener("input", () => keepDraft(id, { text: area.value, base: candidate.sentence, etag: "" }));
    const save = h("button", { class: "primary", onclick: () => void change(keep(area.value)) }, "Keep this text");
    const cancel = () => {
      dropDraft(id);
      editor.replaceChildren();
      buttons.hidden = false;
      buttons.querySelector<HTMLElement>('[data-key="e"]')?.focus();
    };
    buttons.hidden = true;
    editor.replaceChildren(area, h("div", { class: "buttons start" }, save, h("button", { onclick: cancel }, "Cancel")));
    area.focus();
  };
  const button = (key: string, name: string, act: () => void, primary = false) =>
    h("button", { class: primary ? "primary" : null, "data-key": key, title: `${name} (${key})`, "aria-keyshortcuts": key, onclick: act }, name);
  const buttons = h("div", { class: "buttons start" }, button("y", "Keep", () => void change(keep(null)), true), button("e", "Edit and keep", edit), button("d", "Drop", () => void change(drop)));
  const box = h("div", null, buttons, editor, place);
  if (draftOf(id)) edit();
  return box;
}
