// A topic of the team that two people changed: its versions, and the choice of one or of a merged text.

import { type OpenConflict, client } from "./api.ts";
import { modal, say } from "./dialog.ts";
import { diffView } from "./diff-view.ts";
import { fill, h } from "./dom.ts";
import { dropDraft, draftOf, keepDraft } from "./drafts.ts";
import { count } from "./number.ts";
import { failure, wordsOf } from "./view.ts";

export async function resolveConflict(project: string, conflict: OpenConflict, done: () => void): Promise<void> {
  const read = ({ name }: { name: string }) => client.text("/v1/memories/{scope}/{name}", { path: { scope: "team", name }, query: { project_dir: project } });
  try {
    const texts = await Promise.all(conflict.versions.map(read));
    showVersions(project, conflict, texts.map(({ text }) => text), done);
  } catch (error) {
    say(wordsOf(error), true);
  }
}

function showVersions(project: string, conflict: OpenConflict, texts: readonly string[], done: () => void): void {
  const key = `conflict ${project} ${conflict.name}`;
  const problem = h("div");
  const resolve = async (choice: { keep: string } | { text: string }) => {
    try {
      await client.post("/v1/team/resolve", { body: { project_dir: project, name: conflict.name, ...choice } });
      dropDraft(key);
      dialog.close();
      say("Conflict resolved. The other versions were removed.");
      done();
    } catch (error) {
      fill(problem, failure(error));
    }
  };
  const [first = "", ...others] = texts;
  const area = h("textarea", { class: "editor-text short", "aria-label": "Merged text", rows: 8 });
  area.value = draftOf(key)?.text ?? first;
  area.addEventListener("input", () => keepDraft(key, { text: area.value, base: first, etag: "" }));
  const choices = conflict.versions.map(({ name, by, mine }) => h("button", { onclick: () => void resolve({ keep: name }) }, mine ? "Keep your version" : by == null ? `Keep version “${name}”` : `Keep the version by ${by}`));
  const merged = h("button", { class: "primary", onclick: () => void resolve({ text: area.value }) }, "Keep the merged text");
  const dialog = modal(`${count(conflict.versions.length, "version")} of ${conflict.name}`, [
    others.map((text, n) => [h("p", { class: "faint" }, `Changes from ${whose(conflict, 0)} to ${whose(conflict, n + 1)}:`), diffView(first, text)]),
    h("details", { open: draftOf(key) !== null }, h("summary", null, "Merge the versions yourself"), area, h("div", { class: "buttons start" }, merged)),
    problem,
    h("div", { class: "buttons" }, h("button", { onclick: () => dialog.close() }, "Cancel"), choices),
  ]);
  dialog.classList.add("wide");
}

function whose(conflict: OpenConflict, at: number): string {
  const version = conflict.versions[at];
  if (version?.mine) return "your version";
  return version?.by == null ? `version “${version?.name ?? ""}”` : `the version by ${version.by}`;
}
