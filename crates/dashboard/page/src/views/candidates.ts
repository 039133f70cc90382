// Statements that may be worth remembering, for a person to keep or drop.

import { type Candidate, client } from "../api.ts";
import { say } from "../dialog.ts";
import { type Child, fill, h } from "../dom.ts";
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
    return into(place, context, read, ({ candidates }) => show(candidates, () => void draw()));
  };
  const chosen = await chooser(context, (dir) => {
    project = dir;
    void draw();
  });
  project = chosen.value();
  main.append(heading("Candidates", h("div", { class: "filters" }, h("label", { for: "decided" }, all, " Show decided candidates"), chosen.node)), place);
  all.addEventListener("change", () => void draw());
  const again = later(150, context.signal, () => void draw());
  context.events.listen(context.signal, (event) => {
    if (event.event === "candidate" && project !== "") again();
  });
  if (project === "") place.append(empty("No project yet.", "Enter a project directory above."));
  else await draw();
}

function show(all: readonly Candidate[], again: () => void): Child {
  if (all.length === 0) return empty("No candidates.", "Statements that may be worth remembering appear here. They are not recalled until you keep them.");
  const waiting = all.filter((candidate) => candidate.state === "waiting").length;
  return [h("p", { class: "faint sum" }, `${count(waiting, "statement")} to decide on`), h("div", { class: "proposals" }, all.map((candidate) => card(candidate, again)))];
}

function card(candidate: Candidate, again: () => void): HTMLElement {
  const { session_id, seq, state } = candidate;
  return h(
    "article",
    { class: "proposal candidate", "data-id": candidate.id },
    candidate.context && h("p", { class: "faint", dir: "auto" }, candidate.context),
    h("blockquote", { dir: "auto" }, candidate.sentence),
    h("p", { class: "faint" }, badge(candidate.type), " said in ", h("a", { href: link(["session", session_id], { seq }) }, "a session"), ", ", time(candidate.said_at, true), state !== "waiting" && [". ", badge(state, state === "kept" ? "good" : "")]),
    state === "waiting" && decide(candidate, again),
  );
}

function decide({ id }: Candidate, again: () => void): HTMLElement {
  const place = h("div");
  const change = async (work: () => Promise<string>) => {
    for (const button of buttons.querySelectorAll("button")) button.disabled = true;
    try {
      say(await work());
      again();
    } catch (error) {
      for (const button of buttons.querySelectorAll("button")) button.disabled = false;
      fill(place, failure(error));
    }
  };
  const keep = async () => {
    const { name } = await client.post("/v1/candidates/{id}/keep", { path: { id }, body: {} });
    return `Remembered as ${name}.`;
  };
  const drop = async () => {
    await client.post("/v1/candidates/{id}/drop", { path: { id } });
    return "Dropped: it will not be offered again.";
  };
  const buttons = h(
    "div",
    { class: "buttons start" },
    h("button", { type: "button", class: "primary", onclick: () => void change(keep) }, "Keep"),
    h("button", { type: "button", onclick: () => void change(drop) }, "Drop"),
  );
  return h("div", null, buttons, place);
}
