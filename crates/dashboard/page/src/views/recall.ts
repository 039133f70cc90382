// Which memories would be recalled for a question, and why; and which, if a memory were different.

import { type MemoryScope, type RecallAnswer, type RecallChange, type RecalledMemory, client } from "../api.ts";
import { say } from "../dialog.ts";
import { type Child, fill, h, select } from "../dom.ts";
import { Editor, type Editing } from "../editor.ts";
import { draftKey, writeMemory } from "../memory-actions.ts";
import { listed } from "../names.ts";
import { count, share, whole } from "../number.ts";
import { chooser } from "../project.ts";
import { prose } from "../prose.ts";
import { link, replace } from "../route.ts";
import { RECALL_WORDS, SCOPE_CHOICES } from "../scopes.ts";
import { time } from "../time.ts";
import { type Context, aside, badge, empty, heading, into } from "../view.ts";

const PLACES = ["1st", "2nd", "3rd", "4th", "5th"];
const NEW_TEXT = "---\ndescription: \ntype: project\n---\n\n";

export async function recall(main: HTMLElement, context: Context): Promise<void> {
  context.title("Recall");
  const chosen = await chooser(context, () => view.changeProject());
  const view = new RecallView(context, chosen);
  main.append(view.node);
  await view.ask();
}

class RecallView {
  readonly node: HTMLElement;
  readonly #context: Context;
  readonly #project: () => string;
  readonly #words: HTMLInputElement;
  readonly #trial = h("div", { class: "scrolled-to" });
  readonly #place = h("div", { class: "scrolled-to", role: "status" });
  /** What the question finds without a change. */
  #found: RecallAnswer | null = null;
  #asked = "";

  constructor(context: Context, chosen: { readonly node: HTMLElement; readonly value: () => string }) {
    this.#context = context;
    this.#project = chosen.value;
    this.#words = h("input", { type: "search", placeholder: "A question or a task", "aria-label": "Question or task", value: context.route.query.get("q"), class: "grow" });
    const form = h("form", { class: "filters wide", role: "search" }, this.#words, chosen.node, h("button", { type: "submit", class: "primary" }, "Recall"));
    form.addEventListener("submit", () => {
      void this.ask();
    });
    this.node = h("div", null, heading("Recall"), form, this.#trial, this.#place);
  }

  /** Closes a change of the other project; its text stays as a draft. */
  changeProject(): void {
    fill(this.#trial);
    void this.ask();
  }

  async ask(): Promise<void> {
    const [q, project] = [this.#words.value.trim(), this.#project()];
    replace(["recall"], { project, q });
    this.#found = null;
    this.#asked = JSON.stringify([q, project]);
    if (q === "" || project === "") return this.#place.replaceChildren(empty("Enter a question or a task.", "This view shows the best matches. Those marked “perhaps” or “suppressed” would not be added to a prompt automatically."));
    await into(this.#place, this.#context, () => this.#post([]), (answer) => {
      this.#found = answer;
      return this.#show(answer, null);
    });
  }

  #post(changes: RecallChange[]): Promise<RecallAnswer> {
    return client.post("/v1/recall", { body: { project_dir: this.#project(), query: this.#words.value.trim(), changes }, signal: this.#context.signal });
  }

  #show(answer: RecallAnswer, before: readonly RecalledMemory[] | null): Child {
    const by = answer.strategy === "model" ? "chosen by a model" : "chosen by the built-in algorithm";
    const sum = h("p", { class: "faint sum" }, `${whole(answer.memories.length)} of ${count(answer.searched, "memory", "memories")}, ${by}`);
    const none = answer.memories.length === 0 && empty("No matching memories.", "Nothing would be added to the prompt. Words in a memory's name and description count most.");
    const fallen = before?.flatMap((memory, at) => (placeIn(answer.memories, memory) < 0 ? [`${memory.name} (was ${PLACES[at] ?? ""})`] : [])) ?? [];
    return [
      before && h("div", { class: "beside" }, h("h2", null, "With this change"), h("button", { class: "small", onclick: () => void this.ask() }, "Show the current results")),
      sum,
      none,
      h("ol", { class: "recalled" }, answer.memories.map((memory, at) => this.#item(memory, before && moved(before, memory, at)))),
      fallen.length > 0 && h("p", null, `No longer found: ${fallen.join(", ")}.`),
      !before && h("div", { class: "buttons start" }, h("button", { onclick: () => this.#tryNew() }, "Try a new memory…")),
    ];
  }

  #item(memory: RecalledMemory, change: string | null): HTMLElement {
    const score = h("span", { class: "score", role: "img", "aria-label": `score ${share(memory.score)}` });
    const fill = h("span", { class: "score-fill" });
    fill.style.width = `${Math.round(Math.min(1, memory.score) * 100)}%`;
    score.append(fill);
    return h(
      "li",
      null,
      h("div", { class: "beside" }, h("h2", null, h("a", { href: link(["memory", memory.scope, memory.name], { project: this.#project() }) }, memory.name)), h("span", { class: "marks" }, change && badge(change, "good"), score, h("span", { class: "number" }, memory.score.toFixed(2)), memory.type && badge(memory.type), memory.scope === "team" && badge("team", "team"), memory.recall && badge(RECALL_WORDS[memory.recall] ?? memory.recall), memory.certainty === "perhaps" && badge("perhaps"))),
      memory.description && h("p", null, memory.description),
      h("p", { class: "faint why" }, why(memory), ". Written ", time(memory.modified, true), "."),
      h("details", null, h("summary", null, memory.truncated ? "Text for the prompt (shortened)" : "Text for the prompt"), h("div", { class: "paper" }, prose(memory.content, { top: 3 })), h("p", { class: "faint break" }, memory.path)),
      change === null && h("button", { class: "small", onclick: () => aside(this.#tryChange(memory.scope, memory.name), this.#context.signal) }, "Try a change…"),
    );
  }

  /** Opens a memory's text, to try and then save a change. */
  async #tryChange(scope: MemoryScope, name: string): Promise<void> {
    const place = { project: this.#project(), scope, name };
    const file = await client.text("/v1/memories/{scope}/{name}", { path: { scope, name }, query: { project_dir: place.project }, signal: this.#context.signal });
    const attempt = (text: string | null) => void this.#recall({ scope, name, text }, file.text);
    this.#open(`Try a change to ${name}`, null, {
      key: draftKey(place),
      base: file.text,
      etag: file.etag,
      save: (text, etag) => writeMemory(place, text, etag),
      buttons: (text) => [
        h("button", { onclick: () => attempt(text()) }, "Recall with this change"),
        h("button", { onclick: () => attempt(null) }, "Recall without it"),
      ],
    });
  }

  #tryNew(): void {
    const project = this.#project();
    const name = h("input", { value: "new-memory", required: true, spellcheck: "false", autocomplete: "off" });
    const scope = select(null, SCOPE_CHOICES);
    const place = () => ({ project, scope: scope.value as MemoryScope, name: name.value.trim() });
    const fields = h("div", { class: "editor-form" }, h("div", { class: "form-row" }, h("label", null, "Name", name), h("label", null, "Remembered for", scope)));
    this.#open("Try a new memory", fields, {
      key: `what if ${project}`,
      base: NEW_TEXT,
      etag: "",
      save: (text, etag) => writeMemory(place(), text, etag),
      buttons: (text) => h("button", { onclick: () => void this.#recall({ scope: place().scope, name: place().name, text: text() }, null) }, "Recall with this memory"),
    });
  }

  #open(title: string, fields: Child, editing: Omit<Editing, "what" | "signal" | "closed" | "saveName">): void {
    const editor = new Editor({
      ...editing,
      save: async (text, etag) => {
        await editing.save(text, etag);
        say("Saved.");
      },
      what: "memory",
      signal: this.#context.signal,
      saveName: "Save this change",
      closed: () => {
        fill(this.#trial);
        void this.ask();
        this.#words.focus();
      },
    });
    fill(this.#trial, h("section", { class: "trials", "aria-label": title }, h("h2", null, title), h("p", { class: "faint" }, "Nothing is stored until you save. A text that is tried is matched only by its words."), fields, editor.node));
    this.#trial.scrollIntoView();
    editor.focus();
  }

  /** Recalls with a change. `stored` is the text of the memory now, or `null` if there is none. */
  async #recall(change: RecallChange, stored: string | null): Promise<void> {
    if (this.#found === null || this.#asked !== JSON.stringify([this.#words.value.trim(), this.#project()])) await this.ask();
    const found = this.#found;
    if (found === null) return;
    const read = async () => {
      // No model is asked about a change, so its choice is no measure.
      const before = found.strategy === "model" ? await this.#post([{ ...change, text: stored }]) : found;
      return { before: before.memories, after: await this.#post([change]) };
    };
    await into(this.#place, this.#context, read, ({ before, after }) => this.#show(after, before));
    this.#place.scrollIntoView();
  }
}

function placeIn(memories: readonly RecalledMemory[], { scope, name }: RecalledMemory): number {
  return memories.findIndex((one) => one.scope === scope && one.name === name);
}

/** Says how a memory's place has changed; empty if it has not. */
function moved(before: readonly RecalledMemory[], memory: RecalledMemory, at: number): string {
  const was = placeIn(before, memory);
  return was === -1 ? "new" : was === at ? "" : `was ${PLACES[was] ?? ""}`;
}

function why(memory: RecalledMemory): Child {
  const { terms, by, place } = memory.why;
  const words = terms.map((term, n) => [n > 0 && ", ", h("strong", null, term.term), term.fields.length > 0 && ` in ${listed(term.fields)}`]);
  if (by === "model") return [`Chosen by the model${place == null ? "" : ` as number ${place}`}`, terms.length > 0 && ["; contains ", words]];
  return terms.length === 0 ? "Matches the question" : ["Matches ", words];
}
