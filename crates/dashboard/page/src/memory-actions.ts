// What a person does with a memory: write, rename, move and delete it.

import { type MemoryRecall, type MemoryScope, client, quoted } from "./api.ts";
import { modal, say } from "./dialog.ts";
import { fill, h, select } from "./dom.ts";
import { draftKeys } from "./drafts.ts";
import { withRecall } from "./front-matter.ts";
import { onKey } from "./keys.ts";
import { link } from "./route.ts";
import { SCOPE_CHOICES, SCOPE_WORDS } from "./scopes.ts";
import { failure, wordsOf } from "./view.ts";

export interface Place {
  readonly project: string;
  readonly scope: MemoryScope;
  readonly name: string;
}

const options = ({ project, scope, name }: Place) => ({ path: { scope, name }, query: { project_dir: project } });

/** Writes a memory, if it still has this tag. An empty tag means that it must not exist. */
export function writeMemory(place: Place, text: string, etag: string) {
  const headers: Record<string, string> = etag === "" ? { "if-none-match": "*" } : { "if-match": quoted(etag) };
  return client.put("/v1/memories/{scope}/{name}", { ...options(place), headers, body: text });
}

/** Deletes a memory, and offers to undo that. */
export async function deleteMemory(place: Place, etag: string): Promise<boolean> {
  try {
    await client.delete("/v1/memories/{scope}/{name}", { ...options(place), headers: { "if-match": quoted(etag) } });
  } catch (error) {
    say(wordsOf(error), true);
    return false;
  }
  say(`Deleted ${place.name}.`, false, { name: "Undo", run: () => void restore(place) });
  return true;
}

async function restore(place: Place): Promise<void> {
  try {
    await client.post("/v1/memories/{scope}/{name}/restore", { ...options(place), body: {} });
    say(`Restored ${place.name}.`);
    location.hash = addressOf(place);
  } catch (error) {
    say(wordsOf(error), true);
  }
}

export function addressOf({ project, scope, name }: Place): string {
  return link(["memory", scope, name], { project });
}

/** Name of the draft of a memory. */
export function draftKey({ project, scope, name }: Place): string {
  return JSON.stringify(["memory", project, scope, name]);
}

/** Returns the memories with unsaved text in this tab. */
export function unsaved(): Place[] {
  return draftKeys().flatMap((key) => {
    if (!key.startsWith('["memory"')) return [];
    const [, project, scope, name] = JSON.parse(key) as [string, string, MemoryScope, string];
    return [{ project, scope, name }];
  });
}

/** Writes the memory under its new name before the old one is removed, so that it is never lost. */
async function move(from: Place, to: Place, text: string, etag: string): Promise<string> {
  const { outcome } = await writeMemory(to, renamed(text, from.name, to.name), "");
  if (outcome === "proposed") return "Proposed to the team. The memory stays here until the proposal is approved.";
  try {
    await client.delete("/v1/memories/{scope}/{name}", { ...options(from), headers: { "if-match": quoted(etag) } });
  } catch (error) {
    return `Copied to ${to.name} (${SCOPE_WORDS[to.scope]}). The original could not be deleted: ${wordsOf(error)}`;
  }
  return `Moved to ${to.name} (${SCOPE_WORDS[to.scope]}).`;
}

/** Changes the name in the front matter if it is the file's old name. */
function renamed(text: string, from: string, to: string): string {
  const lines = text.split("\n");
  const end = lines.indexOf("---", 1);
  if (lines[0] !== "---") return text;
  return lines.map((line, at) => (at < end && line.trimEnd() === `name: ${from}` ? `name: ${to}` : line)).join("\n");
}

/** Pins or suppresses a memory, or neither. */
async function setRecall(place: Place, text: string, etag: string, value: string): Promise<void> {
  const changed = withRecall(text, (value || null) as MemoryRecall | null);
  if (changed === null) return say("The front matter has an unusual form. Edit it, and add the line “recall: always” or “recall: never”.", true);
  const done = { always: "Pinned: every session gets it.", never: "Suppressed: no prompt gets it." }[value] ?? "Prompts get it if it is relevant.";
  try {
    const { outcome } = await writeMemory(place, changed, etag);
    say(outcome === "proposed" ? "Proposed to the team." : done);
  } catch (error) {
    say(wordsOf(error), true);
  }
}

export interface Tools {
  readonly place: Place;
  readonly etag: () => string;
  readonly text: () => string;
  readonly edit: () => void;
  /** Called when the memory may have changed. */
  readonly changed: () => void;
  readonly signal: AbortSignal;
}

/**
 * The buttons of a memory, and their keys: e, m and Delete. They are enabled when the memory has been read, since before they
 * would write an empty text. The selection is set and enabled when the list of memories has been read.
 */
export function memoryTools({ place, etag, text, edit, changed, signal }: Tools): HTMLElement {
  const remove = async () => {
    if (await deleteMemory(place, etag())) location.replace(link(["memories"], { project: place.project }));
  };
  const ask = () => moveDialog(place, text(), etag());
  const keys: Record<string, () => void> = { e: edit, m: ask, Delete: () => void remove() };
  onKey(signal, (key) => (etag() === "" ? undefined : keys[key]));
  const recall = select("In prompts", [["", "In prompts if relevant"], ["always", "Pin: in every session"], ["never", "Suppress: never in a prompt"]]);
  recall.disabled = true;
  recall.addEventListener("change", () => void setRecall(place, text(), etag(), recall.value).then(changed));
  return h(
    "div",
    { class: "buttons start memory-tools" },
    h("button", { class: "primary", title: "e", disabled: true, onclick: edit }, "Edit"),
    h("button", { title: "m", disabled: true, onclick: ask }, "Rename or move…"),
    h("button", { title: "Delete", disabled: true, onclick: () => void remove() }, "Delete"),
    recall,
  );
}

function moveDialog(from: Place, text: string, etag: string): void {
  const name = h("input", { value: from.name, required: true, spellcheck: "false", autocomplete: "off" });
  const scope = select(null, SCOPE_CHOICES, from.scope);
  const problem = h("div");
  const submit = async () => {
    const to = { ...from, name: name.value.trim(), scope: scope.value as MemoryScope };
    if (to.name === "" || (to.name === from.name && to.scope === from.scope)) return dialog.close();
    try {
      const done = await move(from, to, text, etag);
      dialog.close();
      say(done);
      if (!done.startsWith("Proposed")) location.replace(addressOf(to));
    } catch (error) {
      fill(problem, failure(error));
    }
  };
  const form = h("form", { class: "editor-form" }, h("label", null, "Name", name), h("label", null, "Remembered for", scope), problem, h("div", { class: "buttons" }, h("button", { onclick: () => dialog.close() }, "Cancel"), h("button", { type: "submit", class: "primary" }, "Move")));
  form.addEventListener("submit", () => {
    void submit();
  });
  const dialog = modal("Rename or move", form);
  name.select();
}
