// The form for a new memory. What is typed stays until it is saved or discarded.

import { type MemoryKind, type MemoryScope, client } from "./api.ts";
import { modal, say } from "./dialog.ts";
import { fill, h, select } from "./dom.ts";
import { draftOf, dropDraft, keepDraft } from "./drafts.ts";
import { addressOf } from "./memory-actions.ts";
import { prose } from "./prose.ts";
import { SCOPE_CHOICES, TYPES } from "./scopes.ts";
import { failure, later } from "./view.ts";

const KEY = "new memory";

export function addMemory(project: string, signal: AbortSignal): void {
  const area = h("textarea", { class: "editor-text short", required: true, rows: 6, placeholder: "One fact or rule, in Markdown" });
  area.value = draftOf(KEY)?.text ?? "";
  const type = select(null, TYPES.map((one) => [one, one]), "project");
  const scope = select(null, SCOPE_CHOICES);
  const name = h("input", { placeholder: "Derived from the text if left empty", spellcheck: "false", autocomplete: "off" });
  const [preview, problem] = [h("div", { class: "paper", role: "group", "aria-label": "Preview" }), h("div")];
  const draw = later(150, signal, () => fill(preview, area.value.trim() !== "" && prose(area.value, { top: 3 })));
  area.addEventListener("input", () => {
    keepDraft(KEY, { text: area.value, base: "", etag: "" });
    draw();
  });
  draw();
  const save = h("button", { type: "submit", class: "primary" }, "Add");
  const add = async () => {
    save.disabled = true;
    try {
      const body = { project_dir: project, text: area.value, type: type.value as MemoryKind, scope: scope.value as MemoryScope, name: name.value.trim() || null };
      const written = await client.post("/v1/memories", { body });
      dropDraft(KEY);
      dialog.close();
      if (written.outcome === "proposed") return say("Proposed to the team.");
      say(`Remembered as ${written.name}.`);
      location.hash = addressOf({ project, scope: written.scope, name: written.name });
    } catch (error) {
      fill(problem, failure(error));
    } finally {
      save.disabled = false;
    }
  };
  const discard = () => {
    dropDraft(KEY);
    dialog.close();
  };
  const form = h(
    "form",
    { class: "editor-form" },
    h("label", null, "Text", area),
    preview,
    h("div", { class: "form-row" }, h("label", null, "Type", type), h("label", null, "Remembered for", scope), h("label", null, "Name", name)),
    problem,
    h("div", { class: "buttons" }, h("button", { onclick: discard }, "Discard"), save),
  );
  form.addEventListener("submit", () => {
    void add();
  });
  const dialog = modal("Add a memory", form);
  dialog.classList.add("wide");
  area.focus();
}
