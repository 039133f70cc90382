// The editor of a Markdown file, such as a memory: text beside its preview, and both sets of changes if the file has changed in the meantime.

import { ApiError, type BothVersions } from "./api.ts";
import { diffView } from "./diff-view.ts";
import { type Child, fill, h } from "./dom.ts";
import { type Draft, draftOf, dropDraft, keepDraft } from "./drafts.ts";
import { split } from "./markdown.ts";
import { merge } from "./merge.ts";
import { prose } from "./prose.ts";
import { failure, later } from "./view.ts";

export interface Editing {
  /** What is edited: `memory`, or `notes`. */
  readonly what: string;
  /** Name of the draft. */
  readonly key: string;
  readonly base: string;
  readonly etag: string;
  readonly signal: AbortSignal;
  /** Writes the text if the file still has this tag. */
  readonly save: (text: string, etag: string) => Promise<unknown>;
  readonly closed: () => void;
  /** Name of the button that saves, if it is not "Save". */
  readonly saveName?: string;
  /** More buttons, which use the text as it is now. */
  readonly buttons?: (text: () => string) => Child;
}

export class Editor {
  readonly node: HTMLElement;
  readonly #editing: Editing;
  readonly #area: HTMLTextAreaElement;
  readonly #preview = h("div", { class: "paper", "aria-label": "Preview", role: "group", tabindex: 0 });
  readonly #problem = h("div");
  readonly #note = h("p", { class: "faint", role: "status" });
  readonly #save = h("button", { class: "primary", title: "Ctrl+Enter", onclick: () => void this.save() }, "Save");
  #base: string;
  #etag: string;

  constructor(editing: Editing) {
    this.#editing = editing;
    const draft: Draft | null = draftOf(editing.key);
    this.#base = draft?.base ?? editing.base;
    this.#etag = draft?.etag ?? editing.etag;
    this.#area = h("textarea", { class: "editor-text", "aria-label": `Text of the ${editing.what}`, spellcheck: "true", rows: 18 });
    this.#area.value = draft?.text ?? editing.base;
    if (draft) this.#note.textContent = "This text has not been saved yet.";
    const draw = later(150, editing.signal, () => this.#draw());
    this.#area.addEventListener("input", () => {
      this.#keep();
      draw();
    });
    this.#area.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      void this.save();
    });
    const cancel = h("button", { onclick: () => this.#close() }, "Discard changes");
    this.node = h("div", { class: "editor" }, this.#note, this.#problem, h("div", { class: "editor-sides" }, this.#area, this.#preview), h("div", { class: "buttons start" }, editing.buttons?.(() => this.#area.value), this.#save, cancel));
    if (editing.saveName) this.#save.textContent = editing.saveName;
    this.#draw();
  }

  focus(): void {
    this.#area.focus();
    this.#area.setSelectionRange(0, 0);
    this.#area.scrollTop = 0;
  }

  async save(): Promise<void> {
    if (this.#save.disabled) return;
    this.#save.disabled = true;
    this.#keep();
    try {
      await this.#editing.save(this.#area.value, this.#etag);
      this.#close();
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#save.disabled = false;
    }
  }

  #failed(error: unknown): void {
    const versions = error instanceof ApiError ? error.problem.versions : null;
    if (versions) return this.#conflict(versions);
    fill(this.#problem, failure(error), h("p", { class: "faint" }, "Your text is kept in this tab. Save again when the problem is solved."));
  }

  /** Merges both changes into the text and lets the person check the result. */
  #conflict({ current, etag }: BothVersions): void {
    const [base, yours, theirs] = [this.#base, this.#area.value, current ?? ""];
    const { text, conflicts } = current == null ? { text: yours, conflicts: 0 } : merge(base, theirs, yours);
    this.#put(text);
    this.#base = theirs;
    this.#etag = etag ?? "";
    this.#keep();
    const { what } = this.#editing;
    const words =
      current == null
        ? `The ${what} was deleted while you were editing it. Save to create it again.`
        : conflicts === 0
          ? `The ${what} changed while you were editing. The text below contains both changes. Check it, then save.`
          : `The ${what} changed while you were editing, and both changes affect the same lines. The text below contains both versions of these lines, yours last. Remove what is wrong, then save.`;
    const side = (title: string, before: string, after: string, use: string) =>
      h("section", null, h("h3", null, title), diffView(before, after), h("button", { class: "small", onclick: () => this.#put(after) }, use));
    fill(
      this.#problem,
      h("div", { class: "failure conflict", role: "alert" }, h("p", null, words)),
      h("div", { class: "editor-sides conflict-sides" }, side("Their change", base, theirs, "Use theirs"), side("Your change", base, yours, "Use mine")),
    );
    this.#save.textContent = current == null ? "Create it again" : conflicts === 0 ? "Save the merged text" : "Save this text";
    (conflicts === 0 ? this.#save : this.#area).focus();
  }

  #put(text: string): void {
    this.#area.value = text;
    this.#keep();
    this.#draw();
  }

  #keep(): void {
    const text = this.#area.value;
    if (text === this.#base && this.#etag === this.#editing.etag) dropDraft(this.#editing.key);
    else keepDraft(this.#editing.key, { text, base: this.#base, etag: this.#etag });
  }

  #draw(): void {
    fill(this.#preview, prose(split(this.#area.value).body, { top: 2 }));
  }

  #close(): void {
    dropDraft(this.#editing.key);
    this.#editing.closed();
  }
}
