// Which rows of a conversation are shown.

import { EVERYTHING, type Filter, type Show, filesOf } from "./conversation.ts";
import type { OutlineMessage } from "./api.ts";
import { fill, h, select } from "./dom.ts";
import { shortPaths } from "./names.ts";

const SHOWS: readonly [Show, string][] = [
  ["all", "Everything"],
  ["user", "Your messages"],
  ["errors", "Errors"],
  ["edits", "Edits"],
];
/** Number of files to choose from. */
const FILES = 200;

export class FilterBar {
  readonly node: HTMLElement;
  readonly #show = select("Show", SHOWS);
  readonly #file = h("select", { "aria-label": "File", class: "file-filter" });
  readonly #project: string;
  readonly #changed: (filter: Filter) => void;

  constructor(project: string, changed: (filter: Filter) => void) {
    this.#project = project;
    this.#changed = changed;
    this.node = h("div", { class: "filter-bar", role: "group", "aria-label": "Filter" }, this.#show, this.#file);
    this.node.addEventListener("change", () => this.#tell());
    this.files([]);
  }

  /** Offers the files that the session's calls name. Keeps the choice. */
  files(messages: readonly OutlineMessage[]): void {
    const chosen = this.#file.value;
    const files = filesOf(messages, this.#project).slice(0, FILES);
    if (files.length + 1 === this.#file.options.length) return;
    const names = shortPaths(files.map(([path]) => path));
    fill(this.#file, h("option", { value: "" }, "All files"), files.map(([path, count], n) => h("option", { value: path }, `${names[n]} (${count})`)));
    this.#file.value = chosen;
  }

  clear(): void {
    this.#show.value = "all";
    this.#file.value = "";
    this.#tell();
  }

  #tell(): void {
    const filter = { show: this.#show.value as Show, file: this.#file.value, project: this.#project };
    this.#changed(filter.show === "all" && filter.file === "" ? EVERYTHING : filter);
  }
}
